/* model_extra.h - the numbers in which a model computes, rows of its embedding, and which rows it
 * pools. */
#ifndef ATTN_MODEL_MODEL_EXTRA_H
#define ATTN_MODEL_MODEL_EXTRA_H

#include "model/config.h"
#include "model/model.h"

struct attn_kernels;

/* Returns the number format in which sessions multiply the weights, from attn_model_options. */
ATTN_API enum attn_compute attn_model_compute(const struct attn_model *model);

/* Reads row ID of the embedding as float32 into X [De], scaled and normalized as the model does. */
ATTN_API void attn_model_row(const struct attn_model *model, const struct attn_kernels *kernels,
                             int32_t id, float *x);

/* Returns the position whose row is pooled, in a sequence of N positions: 0, or the last one that
 * is not padding. For text_embed and image_embed: [CLS] of a picture; for a text IDS the end token
 * or, as in transformers, its first token if it has no end token; for embeddings (IDS is NULL) the
 * last row. */
ATTN_API size_t attn_config_pooled_row(const struct attn_config *config, const int32_t *ids,
                                       size_t n);

/* Whether at least one layer attends to a source. */
ATTN_API bool attn_config_has_cross(const struct attn_config *config);

#endif
