/*
 * bundle.h - one file that is a whole model: its config, its tensors and its vocabulary. What a
 * reader of such files gives to the rooms that open models and vocabularies; lib/parts.c lists it.
 */
#pragma once

#include "base/file.h"
#include "base/source.h"
#include "base/status.h"
#include "formats/tensor_files.h"

struct attn_bundle; /* one file or several shards; owns them */
struct attn_config;
struct attn_family;
struct attn_model;
struct attn_tokenizer;

struct attn_bundle_reader {
    const char *part, *kind; /* the part of a source that is the file; its name in messages */
    const char *tower_part;  /* the part that is a second one, which reads pictures for the first */
    /* Whether the model in SOURCE is such a file. */
    bool (*is_source)(const struct attn_source *source);
    /* Opens the file of SOURCE, or all shards if it is the first one, with what reads pictures for
     * it, and sets the configs of MODEL and its tower, and where their tensors are. */
    enum attn_status (*read)(const struct attn_source *source, enum attn_load load,
                             struct attn_model *model, struct attn_error *err);
    void (*free)(struct attn_bundle *bundle); /* NULL is allowed */
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
