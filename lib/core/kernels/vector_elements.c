/* vector_elements.c - elementwise functions: add, scale, activations, feature maps. */
#include "kernels/elementary.h"
#include "kernels/vector.h"

#include <math.h>

void ATTN_FOR_ISA(attn_vector_add)(const float *a, const float *b, size_t n, float *y)
{
    for (size_t i = 0; i < n; i += LANES)
        v_store_some(y + i, v_load_some(a + i, n - i) + v_load_some(b + i, n - i), n - i);
}

void ATTN_FOR_ISA(attn_vector_scale)(const float *a, float factor, size_t n, float *y)
{
    size_t i = 0;

    for (; n - i >= LANES; i += LANES)
        v_store(y + i, v_load(a + i) * factor);
    if (i < n)
        v_store_first(y + i, v_load_first(a + i, n - i) * factor, n - i);
}

void ATTN_FOR_ISA(attn_vector_stream)(const float *x, size_t n, float fill, size_t n_total,
                                      float *y)
{
    const size_t off = (uintptr_t)y / sizeof *y % LANES;
    size_t i = off == 0 ? 0 : LANES - off;

    i = i < n ? i : n;
    memcpy(y, x, i * sizeof *y);
    for (; n - i >= LANES; i += LANES)
        v_stream(y + i, v_load(x + i));
    for (; i < n; i++)
        y[i] = x[i];
    for (; i < n_total && (uintptr_t)(y + i) / sizeof *y % LANES != 0; i++)
        y[i] = fill;
    for (; n_total - i >= LANES; i += LANES)
        v_stream(y + i, v_splat(fill));
    for (; i < n_total; i++)
        y[i] = fill;
}

void ATTN_FOR_ISA(attn_vector_drain)(void)
{
    v_drain();
}

/* Returns x / (1 + exp -t); with t = x this is silu. For t << 0 it keeps digits that a form with 1
 * + tanh would lose. */
static inline vf gate(vf x, vf t)
{
    return x / (1.0f + v_exp(-t));
}

/* Uses 0.5 (1 + tanh u) = 1 / (1 + exp(-2u)) with u = sqrt(2/pi) (x + 0.044715 x^3). */
static inline vf gelu_new(vf x)
{
    const vf two_root = v_splat(1.5957691216f); /* 2 sqrt(2/pi) */

    return gate(x, two_root * v_fma(x * x * x, v_splat(0.044715f), x));
}

static inline vf gelu(vf x)
{
    return 0.5f * x * (1.0f + v_erf(x * 0.70710678119f));
}

static inline vf relu(vf x)
{
    return v_max(v_splat(0), x); /* NaN stays NaN */
}

static inline vf relu2(vf x)
{
    const vf positive = relu(x);

    return positive * positive;
}

/* Applies an activation to a register. WHICH is a constant in each call. */
static inline vf activated(enum attn_activation which, vf x)
{
    switch (which) {
    case ATTN_ACTIVATION_GELU_NEW:
        return gelu_new(x);
    case ATTN_ACTIVATION_GELU:
        return gelu(x);
    case ATTN_ACTIVATION_RELU:
        return relu(x);
    case ATTN_ACTIVATION_SILU:
        return gate(x, x);
    case ATTN_ACTIVATION_TANH:
        return v_tanh(x);
    case ATTN_ACTIVATION_QUICK_GELU:
        return gate(x, x * 1.702f);
    case ATTN_ACTIVATION_RELU2:
        return relu2(x);
    case ATTN_N_ACTIVATION:
        break;
    }
    return x;
}

/* Applies an activation to N elements in place. Inlined with a constant WHICH. */
static inline void each(enum attn_activation which, float *x, size_t n)
{
    for (size_t i = 0; i < n; i += LANES)
        v_store_some(x + i, activated(which, v_load_some(x + i, n - i)), n - i);
}

void ATTN_FOR_ISA(attn_vector_activate)(enum attn_activation which, float *x, size_t n)
{
    each(which, x, n);
}

void ATTN_FOR_ISA(attn_vector_gate)(enum attn_activation which, float *x, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i += LANES)
        v_store_some(x + i, activated(which, v_load_some(x + i, n - i)) * v_load_some(y + i, n - i),
                     n - i);
}

void ATTN_FOR_ISA(attn_vector_soft_cap)(float *x, size_t n, float cap)
{
    const vf masked = v_splat(-INFINITY), caps = v_splat(cap);

    for (size_t i = 0; i < n; i += LANES) {
        const vf v = v_load_some(x + i, n - i);

        v_store_some(x + i, v_select(v == masked, masked, v_tanh(v / caps) * caps), n - i);
    }
}

/* Adds BIAS to y, if there is a bias. Returns the mask of lanes in which y was not finite. */
static inline vi add_bias(const float *bias, float *y, size_t n)
{
    vi bad = {0};

    for (size_t i = 0; i < n; i += LANES) {
        vf v = v_load_some(y + i, n - i);

        if (bias) {
            v += v_load_some(bias + i, n - i);
            v_store_some(y + i, v, n - i);
        }
        bad |= v_not_finite(v);
    }
    return bad;
}

/* Adds y to SUM. Returns the mask of lanes in which the sum was not finite. */
static inline vi add_to_sum(const float *y, float *sum, size_t n)
{
    vi bad = {0};

    for (size_t i = 0; i < n; i += LANES) {
        const vf v = v_load_some(sum + i, n - i) + v_load_some(y + i, n - i);

        v_store_some(sum + i, v, n - i);
        bad |= v_not_finite(v);
    }
    return bad;
}

bool ATTN_FOR_ISA(attn_vector_finish)(const struct attn_finish *finish, float *y, size_t n_row,
                                      size_t n_col)
{
    vi bad = {0};

    for (size_t i = 0; i < n_row; i++, y += finish->ld) {
        bad |= add_bias(finish->bias, y, n_col);
        if (finish->has_activation)
            each(finish->activation, y, n_col);
        if (finish->sum)
            bad |= add_to_sum(y, finish->sum + i * finish->ld, n_col);
    }
    return !v_any(bad);
}

/* elu(x) + 1 is exp(x) for x below 0. Computing it directly keeps the digits that exp(x) - 1 + 1
 * would lose. */
void ATTN_FOR_ISA(attn_vector_elu_plus_one)(const float *x, size_t n, float *y)
{
    for (size_t i = 0; i < n; i += LANES) {
        vf v = v_load_some(x + i, n - i);

        v_store_some(y + i, v_select(v > 0, v + 1.0f, v_exp(v)), n - i);
    }
}

void ATTN_FOR_ISA(attn_vector_relu_plus_tiny)(const float *x, size_t n, float *y)
{
    for (size_t i = 0; i < n; i += LANES)
        v_store_some(y + i, relu(v_load_some(x + i, n - i)) + 1e-6f, n - i);
}

void ATTN_FOR_ISA(attn_vector_exp)(const float *x, size_t n, float *y)
{
    for (size_t i = 0; i < n; i += LANES)
        v_store_some(y + i, v_exp(v_load_some(x + i, n - i)), n - i);
}
