/* image_patches.h - turns a picture into the rows of a sequence: positions, patches, and learned
 * positions for a grid other than the learned one; and feeds it to an encoder of pictures. For the
 * files of this layer. */
#pragma once

#include "kernels/kernels.h"
#include "model/model_internal.h"

struct attn_session; /* forward/session.h */
struct attn_store;   /* base/memory.h */

/* Returns the number of patches on a side if they form a square, else 0. */
size_t attn_image_side(const struct attn_image_config *image);

/* Whether positions were learned for pictures of HEIGHT x WIDTH pixels, so that they need no
 * resampling. */
bool attn_image_is_usual(const struct attn_image_config *image, size_t height, size_t width);

/* Writes to NUMBERS [3, T] of GRID by which numbers rotary positions turn: 0, the row and the
 * column of each patch; -1 before the patches. */
void attn_image_place(const struct attn_image_grid *grid, int32_t *numbers);

/* Computes the grid of a picture of HEIGHT x WIDTH pixels; a remainder at the right and at the
 * bottom is ignored. Returns ATTN_INVALID if the model reads no pictures, or none of this size. */
enum attn_status attn_model_image_grid(const struct attn_model *model, size_t height, size_t width,
                                       struct attn_image_grid *grid, struct attn_error *err);

/* Sets *numbers [3, patches] to 0, the row and the column of each patch of GRID, if MODEL turns
 * patches by them. STORE owns them. */
enum attn_status attn_model_place_patches(const struct attn_model *model,
                                          const struct attn_image_grid *grid,
                                          struct attn_store **store, int32_t **numbers,
                                          struct attn_error *err);

/* Cuts PIXELS [n_channel, height, width] into ROWS [n_row * n_col, n_channel * patch_height *
 * patch_width]. Within a row the order is channel, row, column. */
void attn_image_cut(const struct attn_image_config *image, const float *pixels, size_t height,
                    size_t width, float *rows);

/* Adds ROWS, as attn_image_cut writes them, to the PIXELS that they were cut from: those of several
 * frames to the same. */
void attn_image_add(const struct attn_image_config *image, const float *rows, size_t height,
                    size_t width, float *pixels);

/* Feeds a picture, PIXELS [n_channel, height, width] from the model's preprocessor, otherwise like
 * attn_session_feed. It is cut into patches, which follow [CLS] and registers;
 * attn_model_image_grid returns the number of positions, which are all in one feed. Returns
 * ATTN_INVALID also for sizes that it refuses, and for numbers that are not finite. */
enum attn_status attn_session_feed_pixels(struct attn_session *session, const float *pixels,
                                          size_t height, size_t width, struct attn_error *err);

/* SigLIP's head, for its config (towers/pool_head.c). */
extern const struct attn_pool_steps attn_siglip_pool;
