/*
 * npy_header.h - the beginning of an NPY array (format 1.0, numpy.lib.format): what it holds.
 */
#ifndef ATTN_ENCODE_NPY_HEADER_H
#define ATTN_ENCODE_NPY_HEADER_H

#include <stddef.h>

enum { ATTN_NPY_HEADER_SIZE = 192, ATTN_NPY_RANK_MAX = 4 };

/*
 * Writes the header of an array in C order of type DTYPE ("<f4") and shape [rank] to OUT. Returns
 * its length, a multiple of 64, so that the numbers after it are aligned in an aligned file.
 */
size_t attn_npy_header(const char *dtype, const size_t *shape, int rank,
                       char out[ATTN_NPY_HEADER_SIZE]);

/* The same of at least LEAST bytes: for a shape that will be written again when it is known. */
size_t attn_npy_header_padded(const char *dtype, const size_t *shape, int rank, size_t least,
                              char out[ATTN_NPY_HEADER_SIZE]);

#endif
