/*
 * pixels.h - what a model sees of a picture: resized, cropped and normalized as its
 * preprocessor_config.json says.
 *
 *     struct attn_pixels pixels = {0};
 *     attn_pixels_read(host, "cat.png", &pixels, &err); // host/host_extra.h
 *     request.input.pixels = &pixels;
 *     ...
 *     attn_pixels_release(&pixels);
 *
 * A request that names its `image` does the same. Bytes are resized as Pillow 12 does it, to the
 * bit; values are made of them as transformers does it.
 */
#ifndef ATTN_IMAGE_PIXELS_H
#define ATTN_IMAGE_PIXELS_H

#include "base/status.h"

#include <stddef.h>

/* A caller may fill these fields, and a request borrows them: with values the first four; with a
 * picture height, width and `shown`, of which the request makes the values. */
struct attn_pixels {
    size_t n_channel, height, width;
    float *values; /* [n_channel, height, width] owns where it was read or made; or NULL */
    /* [height, width, 3] owns likewise: the picture as it was resized and cropped; of an array of
     * floats its values stretched to bytes; or NULL */
    unsigned char *shown;
};

/* Releases what was read or made. {0} is allowed. */
ATTN_API void attn_pixels_release(struct attn_pixels *pixels);

#endif
