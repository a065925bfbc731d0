/*
 * blobs.h - how scattered a map over a picture is (Kang et al. 2503.06287). With B = max(0, M - 2
 * mean(M)), cells with B > 0.001 that touch, at a side or a corner, form a blob; p is the share of
 * each blob in the sum of B.
 */
#ifndef ATTN_TOWERS_BLOBS_H
#define ATTN_TOWERS_BLOBS_H

#include "base/status.h"

#include <stddef.h>

/* Returns the entropy -sum p ln p of the blobs of MAP [n_row, n_col], in which NaN counts as 0, and
 * their number in *n_blob; NaN, and 0 blobs, if all B are 0. SCRATCH has room for 2 numbers for
 * each cell. */
double attn_spatial_entropy(const double *map, size_t n_row, size_t n_col, double *scratch,
                            size_t *n_blob);

#endif
