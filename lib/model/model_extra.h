/* model_extra.h - the patches of pictures, and where the weights are in memory. */
#ifndef ATTN_MODEL_MODEL_EXTRA_H
#define ATTN_MODEL_MODEL_EXTRA_H

#include "model/model.h"

/* Where the positions of a picture are: n_front of [CLS] and registers, then its patches, row by
 * row. T = n_front + n_row * n_col. */
struct attn_image_grid {
    size_t n_front, n_row, n_col;
};

/* The grid of a picture of HEIGHT x WIDTH pixels, without a remainder at the right and at the
 * bottom. ATTN_INVALID for a model that reads no pictures, or not of this size. */
ATTN_API enum attn_status attn_model_image_grid(const struct attn_model *model, size_t height,
                                                size_t width, struct attn_image_grid *grid,
                                                struct attn_error *err);

/* Whether ADDRESS lies in the mapped weights: for a host's SIGBUS handler, when a file was
 * truncated under it. Async-signal-safe. */
ATTN_API bool attn_model_owns_address(const struct attn_model *model, const void *address);

#endif
