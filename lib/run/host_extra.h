/* host_extra.h - hosts of models with two tokenizers, and of models that read pictures. */
#ifndef ATTN_RUN_HOST_EXTRA_H
#define ATTN_RUN_HOST_EXTRA_H

#include "input/pixels.h"
#include "run/host.h"

/* As attn_host_tokenizer, for source texts. It is another tokenizer only for Marian. */
ATTN_API enum attn_status attn_host_source_tokenizer(const struct attn_host *host,
                                                     const struct attn_tokenizer **tokenizer,
                                                     struct attn_error *err);

/* Sets *found to the host of TOWER, borrowed from HOST. If the directory has two towers (config.h),
 * it is HOST or a second host, whose model is opened at the first call. Else it is HOST. Requests
 * call this themselves: one with a picture runs only the tower for pictures. */
ATTN_API enum attn_status attn_host_tower(struct attn_host *host, enum attn_tower tower,
                                          struct attn_host **found, struct attn_error *err);

/* Makes the pixels that HOST's model reads from a picture RGB [height, width, 3]. ATTN_INVALID if
 * the model reads no pictures. PIXELS is unchanged on failure. */
ATTN_API enum attn_status attn_pixels_make(const struct attn_host *host, const unsigned char *rgb,
                                           size_t height, size_t width, struct attn_pixels *pixels,
                                           struct attn_error *err);

/* As attn_pixels_make, for a picture in the file PATH: PNG, JPEG, WebP, or a .npy file of uint8 [H,
 * W, 3]. A .npy file of floats [C, H, W] is taken as the pixels themselves. */
ATTN_API enum attn_status attn_pixels_read(const struct attn_host *host, const char *path,
                                           struct attn_pixels *pixels, struct attn_error *err);

#endif
