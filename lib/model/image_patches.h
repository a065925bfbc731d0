/* image_patches.h - a picture as the rows of a sequence: its positions, its patches, and learned
 * positions for another grid than the learned one. For the files of this layer. */
#ifndef ATTN_MODEL_IMAGE_PATCHES_H
#define ATTN_MODEL_IMAGE_PATCHES_H

#include "kernels/kernels.h"
#include "model/model_extra.h"

/* Patches of a picture of IMAGE's own size; 0 where it is no image encoder's. */
size_t attn_image_n_patch(const struct attn_image_config *image);

/* How many patches make a side, where all of them make a square; else 0. */
size_t attn_image_side(const struct attn_image_config *image);

/* Whether positions were learned for this size, HEIGHT x WIDTH pixels, and not resampled. */
bool attn_image_is_usual(const struct attn_image_config *image, size_t height, size_t width);

/* The implementation of attn_model_image_grid; NAME is the model's. */
enum attn_status attn_image_find_grid(const struct attn_image_config *image, const char *name,
                                      size_t height, size_t width, struct attn_image_grid *grid,
                                      struct attn_error *err);

/* Cuts PIXELS [n_channel, height, width] into ROWS [n_row * n_col, n_channel * patch_height *
 * patch_width], whose pixels are in the order channel, row, column. */
void attn_image_cut(const struct attn_image_config *image, const float *pixels, size_t height,
                    size_t width, float *rows);

/* How learned positions are resampled for another grid of patches. */
struct attn_resampling {
    enum attn_resample resample;     /* not none */
    const struct attn_tensor *table; /* [1 + n * n, d] */
    size_t n, d;
    const struct attn_image_grid *grid;
    const struct attn_kernels *kernels;
    float *row; /* [d] scratch */
};

/* The position of the patch at ROW, COL of the grid, into Y [d]. */
void attn_image_resample(const struct attn_resampling *resampling, size_t row, size_t col,
                         float *y);

#endif
