/* model_extra.h - rows of the embedding, the grid of patches of a picture, and whether an address
 * is in mapped weights. */
#ifndef ATTN_MODEL_MODEL_EXTRA_H
#define ATTN_MODEL_MODEL_EXTRA_H

#include "model/model.h"

/* Reads rows IDS [n] of the embedding as float32, without positions, into X [n, d_embed]. For the
 * text that cross-attention reads (attn_session_set_source), or to change embeddings before
 * attn_session_feed_embeddings. Returns ATTN_INVALID for an id outside 0 to n_vocab-1. */
ATTN_API enum attn_status attn_model_embed(const struct attn_model *model, const int32_t *ids,
                                           size_t n, float *x, struct attn_error *err);

/* Returns the word for FIELD of CONFIG, if that is a number of an enum: "layernorm" for "norm", as
 * `inspect` prints it. NULL for other fields. */
ATTN_API const char *attn_config_word(const struct attn_config *config, const char *field);

/* The positions of a picture: n_front for [CLS] and registers, then its patches, row by row. T =
 * n_front + n_row * n_col. */
struct attn_image_grid {
    size_t n_front, n_row, n_col;
};

/* Computes the grid of a picture of HEIGHT x WIDTH pixels; a remainder at the right and at the
 * bottom is ignored. Returns ATTN_INVALID if the model reads no pictures, or none of this size. */
ATTN_API enum attn_status attn_model_image_grid(const struct attn_model *model, size_t height,
                                                size_t width, struct attn_image_grid *grid,
                                                struct attn_error *err);

/* Whether ADDRESS lies in the mapped weights. For the SIGBUS handler of a host, after another
 * program truncated a file. Async-signal-safe. */
ATTN_API bool attn_model_owns_address(const struct attn_model *model, const void *address);

#endif
