/* host_extra.h - hosts of models that read pictures. */
#ifndef ATTN_HOST_HOST_EXTRA_H
#define ATTN_HOST_HOST_EXTRA_H

#include "host/host.h"
#include "image/pixels.h"

/* The host of TOWER, borrowed from HOST, of a directory that has two (config.h): HOST, or another,
 * whose model is opened when it is first asked for. Of any other directory *FOUND is HOST. Requests
 * do this by themselves: with a picture they run the one tower, without the other. */
ATTN_API enum attn_status attn_host_tower(struct attn_host *host, enum attn_tower tower,
                                          struct attn_host **found, struct attn_error *err);

/* Makes pixels for HOST's model of a picture RGB [height, width, 3]. ATTN_INVALID when the model
 * reads no pictures. PIXELS is untouched on failure, here and below. */
ATTN_API enum attn_status attn_pixels_make(const struct attn_host *host, const unsigned char *rgb,
                                           size_t height, size_t width, struct attn_pixels *pixels,
                                           struct attn_error *err);

/* The same of the picture in the file PATH: PNG, JPEG, WebP, a .npy file of uint8 [H, W, 3]; one of
 * floats [C, H, W] holds the values themselves. */
ATTN_API enum attn_status attn_pixels_read(const struct attn_host *host, const char *path,
                                           struct attn_pixels *pixels, struct attn_error *err);

#endif
