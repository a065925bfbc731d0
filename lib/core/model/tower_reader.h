/* tower_reader.h - what reads encoders of other things beside a decoder of texts: their configs,
 * and in GGUF files their tensors. */
#ifndef ATTN_MODEL_TOWER_READER_H
#define ATTN_MODEL_TOWER_READER_H

#include "base/buffer.h"
#include "base/source.h"
#include "formats/bundle.h"
#include "model/config_internal.h"
#include "model/family.h"

struct attn_projector {
    const struct attn_bundle *bundle; /* has the tensors of the tower; NULL: `why` says why not */
    struct attn_bundle *file;         /* owns: bundle, if it is another file than the model's */
    bool is_found; /* it lay beside the model and was not named: it may not fit */
    struct attn_error why;
};

struct attn_tower_reader {
    /* Returns part number I of those whose towers are read; NULL after the last. */
    const struct attn_decoder_part *(*part_at)(size_t i);
    /* Reads CONFIG->vision from the config of a model of TYPE, whose decoder was read. TEXT is the
     * object of the decoder, or NULL. CONFIG is unchanged if models of that type have no tower. */
    enum attn_status (*read_config)(const struct attn_json *json, const char *type,
                                    const struct attn_node *text, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err);
    /* Whether the file PATH, or GGUF, is of a tower, without a model of its own. */
    bool (*is_file)(const char *path);
    bool (*is_projector)(const struct attn_bundle *gguf);
    /* Finds the tower of the model GGUF: the part ATTN_MMPROJ_PART of SOURCE, else the model's own
     * tensors, else the only file with a tower in its folder. */
    enum attn_status (*find)(const struct attn_source *source, const struct attn_bundle *gguf,
                             enum attn_load load, struct attn_projector *projector,
                             struct attn_error *err);
    /* Writes the config.json of the model GGUF with the tower PROJECTOR to JSON, but for its
     * decoder and the last brace. Sets *type to the model_type of the decoder; NULL: that of its
     * family. */
    enum attn_status (*write_config)(const struct attn_bundle *gguf,
                                     const struct attn_bundle *projector, const char **type,
                                     struct attn_buffer *json, struct attn_error *err);
    /* Returns the rules for the names of PROJECTOR's tensors. Its config was written. */
    const struct attn_family *(*naming)(const struct attn_bundle *projector);
};

/* lib/parts.c; NULL: none is linked. */
extern const struct attn_tower_reader *const attn_tower_reader;

#endif
