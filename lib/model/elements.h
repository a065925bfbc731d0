/*
 * elements.h - elements of weights: in double precision, for arithmetic beside the model's own; and
 * those that are not finite, for such weights are damaged.
 *
 *     const struct attn_non_finite found = attn_tensor_find_non_finite(&entry->tensor);
 *     if (found.n_nan + found.n_infinite > 0)
 *         printf("%s, the first at %zu\n", entry->name, found.first);
 */
#ifndef ATTN_MODEL_ELEMENTS_H
#define ATTN_MODEL_ELEMENTS_H

#include "kernels/kernels.h"

#include <stddef.h>

/* The elements of VECTOR; zeros [n] where there is no such weight. */
void attn_vector_elements(const struct attn_vector *vector, size_t n, double *elements);

/* y [n_col] += x W[row0 .. row0 + n, :]: what N components of an input, X [n], are mapped to. */
void attn_matrix_add_rows(const struct attn_matrix *matrix, size_t row0, size_t n, const double *x,
                          double *y);

/* y [n] = W[row0 .. row0 + n, :] u: how much each of N components of an input adds along U. */
void attn_matrix_along(const struct attn_matrix *matrix, size_t row0, size_t n, const double *u,
                       double *y);

/* Column COL [n_row] of W. */
void attn_matrix_column(const struct attn_matrix *matrix, size_t col, double *column);

/* --- Values that are not finite --------------------------------------------------------------- */

struct attn_non_finite {
    size_t n_nan, n_infinite; /* elements; a complex one is either when a part of it is */
    size_t first;             /* index of the first, row-major; 0 without one */
    double value;             /* its value: NaN, infinity or -infinity */
};

/* Reads every element once, from first to last. Types that have only numbers are not read. */
struct attn_non_finite attn_tensor_find_non_finite(const struct attn_tensor *tensor);

#endif
