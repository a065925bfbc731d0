/*
 * elements.h - single elements of weights: in double precision, for arithmetic outside the model;
 * and NaN and infinity, which mean that weights are damaged.
 *
 *     const struct attn_non_finite found = attn_tensor_find_non_finite(&entry->tensor);
 *     if (found.n_nan + found.n_infinite > 0)
 *         printf("%s, the first at %zu\n", entry->name, found.first);
 */
#pragma once

#include "kernels/kernels.h"

#include <stddef.h>

/* Reads elements FIRST to FIRST + n - 1 of V into ELEMENTS [n]; zeros if the model lacks the
 * vector. */
void attn_vector_elements(const struct attn_vector *v, size_t first, size_t n, double *elements);

/* Maps N components of an input: y [n_col] += x [n] W[row0 .. row0 + n, :]. */
void attn_matrix_add_rows(const struct attn_matrix *matrix, size_t row0, size_t n, const float *x,
                          double *y);

/* Computes y [n] = W[row0 .. row0 + n, :] u: how much each of N components of an input adds in the
 * direction U. */
void attn_matrix_along(const struct attn_matrix *matrix, size_t row0, size_t n, const double *u,
                       double *y);

/* Reads the rows ROW0 .. ROW0 + N - 1 of W into ROWS [n, n_col]. */
void attn_matrix_rows(const struct attn_matrix *matrix, size_t row0, size_t n, double *rows);

/* Reads column COL of W into COLUMN [n_row]. */
void attn_matrix_column(const struct attn_matrix *matrix, size_t col, double *column);

/* --- Values that are not finite --------------------------------------------------------------- */

struct attn_non_finite {
    size_t n_nan, n_infinite; /* numbers of elements; a complex one counts if either part does */
    size_t first;             /* index of the first of them, row-major; 0 without one */
    double value;             /* its value: NaN, infinity or -infinity */
};

/* Reads every element once, in order. Tensors of types without NaN and infinity are not read. */
struct attn_non_finite attn_tensor_find_non_finite(const struct attn_tensor *tensor);
