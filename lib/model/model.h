/*
 * model.h - an open model: config and weights. Immutable; any number of sessions on any threads
 * share it.
 *
 *     struct attn_source source = {.directory = "gpt2"};
 *     struct attn_model *model;
 *     attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err);
 *     ...
 *     attn_model_free(model);
 *
 * Opening reads config.json and the directories of the weight files, and checks every name and
 * shape; weights are mapped and touched when a session needs them.
 */
#ifndef ATTN_MODEL_MODEL_H
#define ATTN_MODEL_MODEL_H

#include "base/note.h"
#include "base/pool.h"
#include "base/source.h"
#include "kernels/gemm.h"
#include "kernels/isa.h"
#include "model/config.h"

#include <stdint.h>

struct attn_model;

struct attn_model_options {
    size_t size;               /* of this struct */
    enum attn_load load;       /* how weights are brought in */
    bool reuse;                /* many runs will follow: weights are packed now, as products read
                                  them. Speed only; takes 4 bytes for each, or 2 for BF16. Blocks
                                  stay as they are in float32, and where their panels would take
                                  more than a quarter of the machine's memory */
    enum attn_compute compute; /* in which numbers sessions multiply the weights */
    struct attn_pool *pool; /* borrowed while opening, to pack; NULL: the caller's thread alone */
    attn_note_fn on_note;   /* or NULL */
    void *user;             /* for on_note */
    enum attn_tower tower;  /* the one to open, if a directory has two */
};

#define ATTN_MODEL_OPTIONS_DEFAULT                                                                 \
    ((struct attn_model_options){.size = sizeof(struct attn_model_options)})

/* OPTIONS may be NULL: the defaults. ATTN_FORMAT when a file is malformed, a tensor missing or of
 * the wrong shape; ATTN_UNSUPPORTED for an architecture or config value this version lacks (named);
 * ATTN_IO when a file cannot be read. *model is untouched on failure. */
ATTN_API enum attn_status attn_model_open(const struct attn_source *source,
                                          const struct attn_model_options *options,
                                          struct attn_model **model, struct attn_error *err);

/* Sessions on it must be freed first. NULL is allowed. */
ATTN_API void attn_model_free(struct attn_model *model);

ATTN_API const struct attn_config *attn_model_config(const struct attn_model *model);

/* The name of the model in its source, or its directory. */
ATTN_API const char *attn_model_name(const struct attn_model *model);

/* Rows IDS [n] of the embedding as float32, without positions: X [n, d_embed]. For the text that
 * cross-attention reads (attn_session_set_source), or for attn_session_feed_embeddings of changed
 * tokens. ATTN_INVALID for an id outside 0..n_vocab-1. */
ATTN_API enum attn_status attn_model_embed(const struct attn_model *model, const int32_t *ids,
                                           size_t n, float *x, struct attn_error *err);

#endif
