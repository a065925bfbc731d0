/* image_patches.h - turns a picture into the rows of a sequence: positions, patches, and learned
 * positions for a grid other than the learned one. For the files of this layer. */
#ifndef ATTN_MODEL_IMAGE_PATCHES_H
#define ATTN_MODEL_IMAGE_PATCHES_H

#include "kernels/kernels.h"
#include "model/config_fields.h"

/* Returns the number of patches in a picture of IMAGE's own size; 0 if it is not for an image
 * encoder. */
size_t attn_image_n_patch(const struct attn_image_config *image);

/* Returns the number of positions before the patches: [CLS] and registers. */
size_t attn_image_n_front(const struct attn_image_config *image);

/* Returns how many of them have a learned position. */
size_t attn_image_n_placed(const struct attn_image_config *image);

/* Returns the number of patches on a side if they form a square, else 0. */
size_t attn_image_side(const struct attn_image_config *image);

/* Whether positions were learned for pictures of HEIGHT x WIDTH pixels, so that they need no
 * resampling. */
bool attn_image_is_usual(const struct attn_image_config *image, size_t height, size_t width);

/* The positions of a picture: n_front for [CLS] and registers, then its patches, row by row. T =
 * n_front + n_row * n_col. */
struct attn_image_grid {
    size_t n_front, n_row, n_col;
};

/* Writes to NUMBERS [3, T] of GRID by which numbers rotary positions turn: 0, the row and the
 * column of each patch; -1 before the patches. */
void attn_image_place(const struct attn_image_grid *grid, int32_t *numbers);

/* Implements attn_model_image_grid. NAME is the model's. */
enum attn_status attn_image_find_grid(const struct attn_image_config *image, const char *name,
                                      size_t height, size_t width, struct attn_image_grid *grid,
                                      struct attn_error *err);

/* Cuts PIXELS [n_channel, height, width] into ROWS [n_row * n_col, n_channel * patch_height *
 * patch_width]. Within a row the order is channel, row, column. */
void attn_image_cut(const struct attn_image_config *image, const float *pixels, size_t height,
                    size_t width, float *rows);

/* Adds ROWS, as attn_image_cut writes them, to the PIXELS that they were cut from: those of several
 * frames to the same. */
void attn_image_add(const struct attn_image_config *image, const float *rows, size_t height,
                    size_t width, float *pixels);

/* The parameters for resampling learned positions to another grid. */
struct attn_resampling {
    enum attn_resample resample;     /* must not be ATTN_RESAMPLE_NONE */
    const struct attn_tensor *table; /* [n_placed + n * n, d] learned positions */
    size_t n_placed;                 /* positions of [CLS] and DeiT's token */
    size_t n, d;
    const struct attn_image_grid *grid;
    const struct attn_kernels *kernels;
    float *row; /* [d] scratch */
};

/* Writes the position of the patch at ROW, COL of the grid to Y [d]. */
void attn_image_resample(const struct attn_resampling *resampling, size_t row, size_t col,
                         float *y);

#endif
