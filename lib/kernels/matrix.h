/*
 * matrix.h - a weight matrix as it lies in a file, whatever its layout and type.
 *
 * It stands for W [n_row, n_col] in y = x W. Element (k, n) lies at
 *     data + (k*row_stride + (n / group)*group_stride + (n % group)*col_stride) elements.
 * GPT-2's Conv1D [in, out]: row_stride = out, col_stride = 1, one group. nn.Linear [out, in]:
 * row_stride = 1, col_stride = in. Per-head W_Q [H, D, E]: group = E, group_stride = D*E,
 * row_stride = E, col_stride = 1.
 */
#ifndef ATTN_KERNELS_MATRIX_H
#define ATTN_KERNELS_MATRIX_H

#include "base/dtype.h"

#include <stddef.h>

struct attn_matrix {
    const void *data;              /* borrowed; any alignment; NULL when there is no such weight */
    enum attn_dtype dtype;         /* F32, F16 or BF16 */
    size_t n_row, n_col;           /* depth k and width n of the product */
    size_t row_stride, col_stride; /* elements */
    size_t group, group_stride;    /* columns in a group; elements from one group to the next */
};

/* A vector of n elements (bias, norm weight) as it lies in a file. */
struct attn_vector {
    const void *data; /* borrowed; any alignment; NULL when there is none */
    enum attn_dtype dtype;
    size_t n;
};

#endif
