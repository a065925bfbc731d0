/* reference.c - see reference.h. */
#include "tests/support/reference.h"

#include "tests/support/assert.h"

#include <math.h>
#include <stdlib.h>

void attn_reference_linear(const double *x, const double *w, const double *bias,
                           const struct attn_reference_sizes *sizes, double *y)
{
    size_t n_in = sizes->n_in, n_out = sizes->n_out;

    for (size_t i = 0; i < sizes->n_row; i++)
        for (size_t j = 0; j < n_out; j++) {
            double sum = bias ? bias[j] : 0;

            for (size_t k = 0; k < n_in; k++)
                sum += x[i * n_in + k] * w[k * n_out + j];
            y[i * n_out + j] = sum;
        }
}

void attn_reference_softmax(double *x, size_t n_valid, size_t n, double scale)
{
    double max = -HUGE_VAL, sum = 0;

    for (size_t j = 0; j < n_valid; j++) {
        x[j] = x[j] == -HUGE_VAL ? x[j] : x[j] * scale;
        max = fmax(max, x[j]);
    }
    for (size_t j = 0; j < n_valid; j++) {
        x[j] = x[j] == -HUGE_VAL ? 0 : exp(x[j] - max);
        sum += x[j];
    }
    for (size_t j = 0; j < n; j++)
        x[j] = j < n_valid && sum > 0 ? x[j] / sum : 0;
}

void attn_reference_layer_norm(const double *x, const double *w, const double *b, size_t n,
                               double eps, double *y)
{
    double mean = 0, variance = 0;

    for (size_t j = 0; j < n; j++)
        mean += x[j] / (double)n;
    for (size_t j = 0; j < n; j++)
        variance += (x[j] - mean) * (x[j] - mean) / (double)n;
    for (size_t j = 0; j < n; j++)
        y[j] = (x[j] - mean) / sqrt(variance + eps) * w[j] + (b ? b[j] : 0);
}

double attn_reference_activation(enum attn_activation which, double x)
{
    switch (which) {
    case ATTN_ACTIVATION_GELU_NEW: /* 1 + tanh u as 2 / (1 + exp -2u), which keeps small digits */
        return x / (1 + exp(-2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case ATTN_ACTIVATION_GELU:
        return 0.5 * x * erfc(-x / sqrt(2));
    case ATTN_ACTIVATION_RELU:
        return x > 0 ? x : 0;
    case ATTN_ACTIVATION_SILU:
        return x / (1 + exp(-x));
    case ATTN_ACTIVATION_TANH:
        return tanh(x);
    case ATTN_ACTIVATION_QUICK_GELU:
        return x / (1 + exp(-1.702 * x));
    case ATTN_ACTIVATION_RELU2:
        return x > 0 ? x * x : 0;
    case ATTN_N_ACTIVATION:
        break;
    }
    return (double)NAN;
}

/* sign, N_EXPONENT bits of exponent, N_FRACTION bits of fraction */
static double decode(unsigned bits, int n_exponent, int n_fraction)
{
    int bias = (1 << (n_exponent - 1)) - 1, special = (1 << n_exponent) - 1;
    int exponent = (int)(bits >> n_fraction) & special;
    double fraction = (double)(bits & ((1U << n_fraction) - 1)) / (double)(1U << n_fraction);
    double sign = bits >> (n_exponent + n_fraction) ? -1 : 1;

    if (exponent == special)
        return fraction > 0 ? (double)NAN : sign * HUGE_VAL;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias);
    return sign * ldexp(1 + fraction, exponent - bias);
}

double attn_reference_half(uint16_t bits)
{
    return decode(bits, 5, 10);
}

double attn_reference_bfloat(uint16_t bits)
{
    return decode(bits, 8, 7);
}

double attn_reference_ulps(float actual, double expected)
{
    int exponent = expected == 0 ? -126 : ilogb(expected);

    if ((double)actual == expected)
        return 0;
    if (!isfinite(actual) || !isfinite(expected))
        return HUGE_VAL;
    return fabs((double)actual - expected) / ldexp(1, (exponent < -126 ? -126 : exponent) - 23);
}

void attn_reference_widen(const float *x, size_t n, double *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = (double)x[i];
}

void attn_reference_fill(float *x, size_t n, float size, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) { /* splitmix64 */
        uint64_t z = seed += 0x9e3779b97f4a7c15U;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
        z = (z ^ z >> 27) * 0x94d049bb133111ebU;
        z ^= z >> 31;
        x[i] = size * ((float)(z >> 40) * 0x1p-23f - 1);
    }
}

void attn_reference_fill_bf16(uint16_t *y, size_t n, float size, uint64_t seed)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    float *x = malloc(n * sizeof *x);

    ck_assert_ptr_nonnull(x);
    attn_reference_fill(x, n, size, seed);
    kernels->round_bf16(x, n, y);
    free(x);
}
