/*
 * ndarray.h - arrays of numbers with a shape, as numpy has them: in memory, or read from a .npy
 * file.
 *
 *     struct attn_ndarray q = {.name = "q", .rank = 2, .shape = {6, 64}, .data = values};
 *
 *     struct attn_ndarray k = {0};
 *     attn_ndarray_read("k.npy", 2, 4, "[T, E], [H, T, E] or [B, H, T, E]", &k, &err);
 *     ...
 *     attn_ndarray_release(&k);
 */
#ifndef ATTN_FORMATS_NDARRAY_H
#define ATTN_FORMATS_NDARRAY_H

#include "base/dtype.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct attn_npy_file;

/* An array of float32. A caller with numbers in memory sets the first four fields, which are then
 * borrowed. */
struct attn_ndarray {
    const char *name;            /* its name in messages, which is the path of the file. Borrowed */
    int rank;                    /* 0: no array */
    size_t shape[ATTN_MAX_RANK]; /* [rank] */
    const float *data;           /* all elements in C order */
    struct attn_npy_file *file;  /* owns the data of an array that was read; or NULL */
    float *converted; /* owns the converted numbers of a file that is not float32; or NULL */
};

/* An array of cells that are 0 or 1: which query may attend to which key. */
struct attn_mask_array {
    const char *name; /* its name in messages, which is the path of the file. Borrowed */
    int rank;
    size_t shape[ATTN_MAX_RANK];
    const unsigned char *cells; /* all elements in C order; NULL: the elements are in the file */
    struct attn_npy_file *file; /* owns, if attn_mask_array_open was called; or NULL */
};

/* Reads the array of PATH: floats of 2, 4 or 8 bytes, rounded to float32. The array's name borrows
 * PATH. The file is read, not mapped: later changes of it have no effect. ATTN_INVALID for other
 * types, for a rank outside RANK_MIN..RANK_MAX (the message gives AXES as the expected shape) and
 * for arrays without elements; otherwise fails as attn_npy_open does. *array is unchanged on
 * failure. */
ATTN_API enum attn_status attn_ndarray_read(const char *path, int rank_min, int rank_max,
                                            const char *axes, struct attn_ndarray *array,
                                            struct attn_error *err);
ATTN_API void attn_ndarray_release(struct attn_ndarray *array); /* {0} is allowed */

#endif
