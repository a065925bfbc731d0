/*
 * elements.h - elements of weights in double precision, for arithmetic beside the model's own. For
 * the files of this layer and of those above.
 */
#ifndef ATTN_MODEL_ELEMENTS_H
#define ATTN_MODEL_ELEMENTS_H

#include "kernels/kernels.h"

/* The elements of VECTOR; zeros [n] where there is no such weight. */
void attn_vector_elements(const struct attn_vector *vector, size_t n, double *elements);

/* y [n_col] += x W[row0 .. row0 + n, :]: what N components of an input, X [n], are mapped to. */
void attn_matrix_add_rows(const struct attn_matrix *matrix, size_t row0, size_t n, const double *x,
                          double *y);

/* y [n] = W[row0 .. row0 + n, :] u: how much each of N components of an input writes along
 * U [n_col]. */
void attn_matrix_along(const struct attn_matrix *matrix, size_t row0, size_t n, const double *u,
                       double *y);

/* Column COL [n_row] of W. */
void attn_matrix_column(const struct attn_matrix *matrix, size_t col, double *column);

#endif
