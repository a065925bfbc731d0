/*
 * reference.h - the same mathematics in double precision, as plainly as possible, and numbers to
 * feed both.
 *
 * Everything is row-major and contiguous. The only second implementation of a kernel.
 */
#pragma once

#include "kernels/kernels.h"

#include <stdint.h>

struct attn_reference_sizes {
    size_t n_row, n_in, n_out;
};

/* y [n_row, n_out] = x [n_row, n_in] w [n_in, n_out] + bias [n_out]; bias may be NULL. */
void attn_reference_linear(const double *x, const double *w, const double *bias,
                           const struct attn_reference_sizes *sizes, double *y);

/* In place: softmax of x*scale over the first N_VALID entries, 0 for -inf and for the rest. */
void attn_reference_softmax(double *x, size_t n_valid, size_t n, double scale);

void attn_reference_layer_norm(const double *x, const double *w, const double *b, size_t n,
                               double eps, double *y);
double attn_reference_activation(enum attn_activation which, double x);

/* The value of an IEEE half or a bfloat16 from its sign, exponent and fraction; NaN for NaN. */
double attn_reference_half(uint16_t bits);
double attn_reference_bfloat(uint16_t bits);

/* Error of ACTUAL in units of the last place that a float near EXPECTED has. */
double attn_reference_ulps(float actual, double expected);

void attn_reference_widen(const float *x, size_t n, double *y);

/* N floats in -size .. size, the same ones for the same SEED. */
void attn_reference_fill(float *x, size_t n, float size, uint64_t seed);

/* The same numbers, rounded to bfloat16. */
void attn_reference_fill_bf16(uint16_t *y, size_t n, float size, uint64_t seed);
