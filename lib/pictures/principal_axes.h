/*
 * principal_axes.h - projects rows of numbers on their first two principal components (Pearson
 * 1901), the directions in which they vary most.
 *
 *     double points[2 * n_row], shares[2];
 *     attn_principal_axes_find(rows, n_row, n_col, points, shares, &err);
 *     ... points[2 * i], points[2 * i + 1] are row i; shares[0] of the variance ...
 *
 * Equal rows give bit-identical results. The sign of an axis makes its largest coordinate positive.
 */
#ifndef ATTN_PICTURES_PRINCIPAL_AXES_H
#define ATTN_PICTURES_PRINCIPAL_AXES_H

#include "base/status.h"

#include <stddef.h>

enum { ATTN_PRINCIPAL_AXES = 2 };

/* ROWS [n_row, n_col] must be finite; their mean is subtracted in place. POINTS [n_row, 2] and
 * SHARES, of the variance on each axis, 0..1, must be zeroed. */
enum attn_status attn_principal_axes_find(double *rows, size_t n_row, size_t n_col, double *points,
                                          double shares[ATTN_PRINCIPAL_AXES],
                                          struct attn_error *err);

#endif
