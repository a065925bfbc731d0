/*
 * image_resize.h - makes a picture larger or smaller, in integers, with the bits of Pillow 12's
 * Image.resize. For the library alone.
 */
#ifndef ATTN_FORMATS_IMAGE_RESIZE_H
#define ATTN_FORMATS_IMAGE_RESIZE_H

#include "formats/image_file.h"

/* The numbers are Pillow's. */
enum attn_image_filter {
    ATTN_IMAGE_LANCZOS = 1,
    ATTN_IMAGE_BILINEAR = 2,
    ATTN_IMAGE_BICUBIC = 3,
};

/* Resizes IMAGE, which has pixels, to HEIGHT x WIDTH, neither 0; the caller owns *resized.
 * ATTN_UNSUPPORTED if the result or the intermediate image has more than ATTN_IMAGE_MAX_PIXELS. */
enum attn_status attn_image_resize(const struct attn_image *image, size_t height, size_t width,
                                   enum attn_image_filter filter, struct attn_image *resized,
                                   struct attn_error *err);

#endif
