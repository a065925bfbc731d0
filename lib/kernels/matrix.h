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

#include "base/dtype_internal.h"

#include <stddef.h>

struct attn_matrix {
    const void *data;              /* borrowed; any alignment; NULL when there is no such weight */
    enum attn_dtype dtype;         /* F32, F16 or BF16 */
    size_t n_row, n_col;           /* depth k and width n of the product */
    size_t row_stride, col_stride; /* elements */
    size_t group, group_stride;    /* columns in a group; elements from one group to the next */
};

/* Bytes from the first element of MATRIX to the end of its first N_COL columns, at least one. */
static inline size_t attn_matrix_extent(const struct attn_matrix *matrix, size_t n_col)
{
    const size_t group = (n_col - 1) / matrix->group, rest = (n_col - 1) % matrix->group;
    const size_t last = group * matrix->group_stride + rest * matrix->col_stride +
                        (matrix->n_row - 1) * matrix->row_stride;

    return (last + 1) * (attn_dtype_bits(matrix->dtype) / 8);
}

/*
 * A vector of n elements (bias, norm weight) as it lies in a file: element i lies at
 *     data + ((i / group)*group_stride + i % group) elements.
 */
struct attn_vector {
    const void *data; /* borrowed; any alignment; NULL when there is none */
    enum attn_dtype dtype;
    size_t n;
    size_t group, group_stride; /* elements in a group; from one group to the next */
};

#endif
