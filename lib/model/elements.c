/* elements.c - see elements.h. */
#include "model/elements.h"

#include "base/dtype_internal.h"
#include "kernels/kernels.h"

static double element(const struct attn_kernels *kernels, const void *data, enum attn_dtype dtype,
                      size_t i)
{
    float value;

    kernels->convert((const char *)data + i * (attn_dtype_bits(dtype) / 8), dtype, 1, &value);
    return (double)value;
}

static double matrix_element(const struct attn_kernels *kernels, const struct attn_matrix *m,
                             size_t row, size_t col)
{
    return element(kernels, m->data, m->dtype,
                   row * m->row_stride + col / m->group * m->group_stride +
                       col % m->group * m->col_stride);
}

void attn_vector_elements(const struct attn_vector *vector, size_t n, double *elements)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);

    for (size_t i = 0; i < n; i++)
        elements[i] = vector->data ? element(kernels, vector->data, vector->dtype, i) : 0;
}

void attn_matrix_add_rows(const struct attn_matrix *matrix, size_t row0, size_t n, const double *x,
                          double *y)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);

    for (size_t k = 0; k < n; k++)
        for (size_t col = 0; col < matrix->n_col; col++)
            y[col] += x[k] * matrix_element(kernels, matrix, row0 + k, col);
}

void attn_matrix_along(const struct attn_matrix *matrix, size_t row0, size_t n, const double *u,
                       double *y)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);

    for (size_t k = 0; k < n; k++) {
        y[k] = 0;
        for (size_t col = 0; col < matrix->n_col; col++)
            y[k] += u[col] * matrix_element(kernels, matrix, row0 + k, col);
    }
}

void attn_matrix_column(const struct attn_matrix *matrix, size_t col, double *column)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);

    for (size_t row = 0; row < matrix->n_row; row++)
        column[row] = matrix_element(kernels, matrix, row, col);
}
