/*
 * principal_axes.h - projects rows of numbers on their first principal components (Pearson 1901),
 * the directions in which they vary most.
 *
 *     struct attn_principal_axes axes;
 *     attn_principal_axes_find(rows, n_row, n_col, 2, &axes, &err);
 *     ... axes.points[2 * i], axes.points[2 * i + 1] are row i; axes.shares[0] of the variance ...
 *     attn_principal_axes_release(&axes);
 *
 * Equal rows give bit-identical results. The sign of an axis makes its largest coordinate positive.
 */
#ifndef ATTN_PICTURES_PRINCIPAL_AXES_H
#define ATTN_PICTURES_PRINCIPAL_AXES_H

#include "base/status.h"

#include <stddef.h>

enum { ATTN_MOST_AXES = 3 };

struct attn_principal_axes {
    double *points;                /* [n_row, n_axis] owns */
    double shares[ATTN_MOST_AXES]; /* share of the variance on each axis, 0..1 */
};

/* ROWS [n_row, n_col] must be finite; their mean is subtracted in place. N_AXIS is 1 to 3. */
enum attn_status attn_principal_axes_find(double *rows, size_t n_row, size_t n_col, size_t n_axis,
                                          struct attn_principal_axes *axes, struct attn_error *err);

void attn_principal_axes_release(struct attn_principal_axes *axes);

#endif
