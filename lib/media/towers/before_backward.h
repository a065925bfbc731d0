/* before_backward.h - the backward pass of what makes the rows of the pictures in a text: from the
 * gradient of the rows that the decoder reads, through connector and tower, to that of the pixels.
 */
#ifndef ATTN_TOWERS_BEFORE_BACKWARD_H
#define ATTN_TOWERS_BEFORE_BACKWARD_H

#include "towers/before_pictures.h"

/* Encodes each picture of PASS, with its edits, and goes back from D_CELLS [1 + n_deep,
 * seen.n_row, d_embed], the gradient of the rows that were made, those of DeepStack last. The
 * trace of PASS, if it has one, gets the gradients of the tower that it selects, of the shown
 * pictures. D_PIXELS receives the gradient of the pixels of each picture, one after another; or
 * NULL. */
enum attn_status attn_before_back(const struct attn_before_pass *pass, const float *d_cells,
                                  float *d_pixels, struct attn_error *err);

#endif
