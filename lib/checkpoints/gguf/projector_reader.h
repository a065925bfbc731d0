/* projector_reader.h - what reads pictures for a model in a GGUF file: a second file, or tensors of
 * the first. lib/parts.c lists it. */
#pragma once

#include "base/buffer.h"
#include "base/source.h"
#include "formats/bundle.h"

struct attn_projector {
    const struct attn_bundle *bundle; /* has the tensors of the tower; NULL: `why` says why not */
    struct attn_bundle *file;         /* owns: bundle, if it is another file than the model's */
    bool is_found; /* it lay beside the model and was not named: it may not fit */
    struct attn_error why;
};

struct attn_projector_reader {
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

extern const struct attn_projector_reader *const attn_projectors;
