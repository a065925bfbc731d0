/*
 * bundle.h - one file that is a whole model: its config, its tensors and its vocabulary. What a
 * reader of such files gives to the rooms that open models and vocabularies; lib/parts.c lists it.
 */
#ifndef ATTN_FORMATS_BUNDLE_H
#define ATTN_FORMATS_BUNDLE_H

#include "base/buffer.h"
#include "base/file.h"
#include "base/source.h"
#include "base/status.h"
#include "formats/tensor_files.h"

struct attn_bundle; /* one file or several shards; owns them */
struct attn_config;
struct attn_config_layers;
struct attn_family;
struct attn_tokenizer;

struct attn_bundle_reader {
    const char *part, *kind; /* the part of a source that is the file; its name in messages */
    const char *tower_part;  /* the part that is a second one, which reads pictures for the first */
    /* Whether the model in SOURCE is such a file. */
    bool (*is_source)(const struct attn_source *source);
    /* Reads FILE, or all shards if FILE is the first one. Takes FILE over, and releases it also on
     * failure. */
    enum attn_status (*take)(struct attn_file *file, enum attn_load load, struct attn_bundle **out,
                             struct attn_error *err);
    void (*free)(struct attn_bundle *bundle); /* NULL is allowed */
    const struct attn_tensor_files *(*files)(const struct attn_bundle *bundle);
    /* Writes the config.json for BUNDLE, with that of its tower, which PROJECTOR has, or NULL. */
    enum attn_status (*write_config)(const struct attn_bundle *bundle,
                                     const struct attn_bundle *projector, struct attn_buffer *json,
                                     struct attn_error *err);
    /* Adds to CONFIG, which was read from that text, what no config.json can contain. */
    enum attn_status (*finish_config)(const struct attn_bundle *bundle, struct attn_config *config,
                                      struct attn_config_layers *layers, struct attn_error *err);
    /* Returns the rules for the names of tensors in FILES, of a model of CONFIG. */
    const struct attn_family *(*naming)(const struct attn_config *config,
                                        const struct attn_tensor_files *files);
    /* Reads TOKENIZER from its part of SOURCE. */
    enum attn_status (*read_vocabulary)(struct attn_tokenizer *tokenizer,
                                        const struct attn_source *source, struct attn_error *err);
};

extern const struct attn_bundle_reader *const attn_bundles; /* NULL: refused. In lib/parts.c */

/* Whether the model in SOURCE is such a file, and its reader is linked. */
static inline bool attn_bundle_is_source(const struct attn_source *source)
{
    return attn_bundles && attn_bundles->is_source(source);
}

#endif
