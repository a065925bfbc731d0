/*
 * npy_image.h - .npy files made in memory for tests.
 *
 * The library reads them from blocks of exactly their size, so that ASan sees a read past the end.
 */
#pragma once

#include "formats/npy.h"

#include <stddef.h>

enum { ATTN_NPY_IMAGE_MAX = 4096 };

struct attn_npy_image {
    unsigned char bytes[ATTN_NPY_IMAGE_MAX];
    size_t size, n_header; /* n_header: bytes before the data */
};

/* A file of VERSION (1 to 3) with the header TEXT [n_text] as it is, then DATA [n_data]. */
struct attn_npy_image attn_npy_image_make(int version, const char *text, size_t n_text,
                                          const void *data, size_t n_data);

/* The same from a terminated text, with N_DATA bytes 0. */
struct attn_npy_image attn_npy_image_zeros(const char *text, size_t n_data);

/* Opens the first SIZE bytes of IMAGE as x.npy; checks that failure and success leave *npy and err
 * as they must. End with attn_npy_free. */
enum attn_status attn_npy_image_open(const struct attn_npy_image *image, size_t size,
                                     struct attn_npy_file **npy, struct attn_error *err);

/* Opens and closes. */
enum attn_status attn_npy_image_try(const struct attn_npy_image *image, size_t size,
                                    struct attn_error *err);
