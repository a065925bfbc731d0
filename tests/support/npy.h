/*
 * npy.h - reads the small arrays that tests expect: .npy files of float32, float64 or int64,
 * little-endian, or of bytes, C order. The path "all.npz/x.npy" is member x.npy of the archive
 * all.npz.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATTN_NPY_MAX_RANK = 5 };

/* An array in memory; values are widened to double, which holds float32 and small integers exactly.
 */
struct attn_npy {
    int rank;
    size_t shape[ATTN_NPY_MAX_RANK];
    size_t n;       /* elements */
    double *values; /* [n], owned */
};

/* False when there is no such file or member. Fails the current test when it is malformed. */
bool attn_npy_read(const char *path, struct attn_npy *array);
void attn_npy_release(struct attn_npy *array);

/* The values [n] of a float32 file that must exist, or of a float64 file rounded; free them with
 * free(). */
float *attn_npy_load_floats(const char *path, size_t *n);

/* The ids [n] of an int64 file that must exist; free them with free(). */
int32_t *attn_npy_read_ids(const char *path, size_t *n);
