/*
 * pixels.h - what a model reads of a picture: resized, cropped and normalized as the model's
 * preprocessor_config.json says.
 *
 *     unsigned char rgb[224 * 224 * 3];
 *     struct attn_pixels pixels = {.height = 224, .width = 224, .shown = rgb};
 *     request.input.pixels = &pixels;
 *
 * A request that names an `image` reads the file. Bytes are resized to the same bits as
 * Pillow 12.1; values are computed from them as transformers does.
 */
#ifndef ATTN_TOWERS_PIXELS_H
#define ATTN_TOWERS_PIXELS_H

#include "base/status.h"

#include <stddef.h>

/* A caller fills the fields, which a request borrows: either values and the three
 * sizes, or height, width and `shown`, from which the request makes the values. */
struct attn_pixels {
    size_t n_channel, height, width;
    /* [n_channel, height, width], in a prompt [n_picture, n_channel, height, width]; or NULL */
    float *values;
    /* [height, width, 3] the picture after resizing and cropping; for
     * an array of floats, its values scaled to bytes; or NULL */
    unsigned char *shown;
    /* Set for a picture in a prompt, which was read or made; else 0: */
    size_t n_picture;                 /* the tiles, row by row, and last the whole picture */
    size_t tile_rows, tile_cols;      /* 0: no tiles */
    size_t given_height, given_width; /* size of the picture in the file */
    size_t shown_height, shown_width; /* `shown` has this size: the picture before all steps, at
                                         most 720 pixels a side */
};

/* Checks that the picture PIXELS, called NAME in messages, is not too large. Only its height and
 * width are read, so that a caller can check them before it makes the bytes. */
ATTN_API enum attn_status attn_pixels_check_size(const struct attn_pixels *pixels, const char *name,
                                                 struct attn_error *err);

#endif
