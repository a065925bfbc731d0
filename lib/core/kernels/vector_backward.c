/*
 * vector_backward.c - the backward passes of functions of a row or of an element: dx, the gradient
 * of the input, from dy, the gradient of the result. Each belongs to a function of vector_rows.c,
 * vector_elements.c or vector_rotary.c. is_constant means that the factor of x is treated as a
 * constant, for relevance.
 *
 * Sums use struct sums (lanes.h), so the bits do not depend on the register width.
 */
#include "kernels/elementary.h"
#include "kernels/vector.h"

#include <math.h>

/* --- norms ------------------------------------------------------------------------------------ */

/* The sums over a row of u = w dy, of u (x - mean) and of (x - mean)^2. */
struct norm_sums {
    float u, ux, square;
};

static struct norm_sums add_row(const struct attn_norm_back *norm, const float *dy, float mean)
{
    const vf shift = v_splat(mean);
    struct sums u = {0}, ux = {0}, square = {0};

    for (size_t i = 0; i < norm->n; i += N_PARTIAL)
#pragma GCC unroll 4
        for (size_t p = 0; p < N_PART; p++) {
            const size_t at = i + p * LANES, left = norm->n - at;
            vf a, b;

            if (at >= norm->n)
                break;
            a = v_load_some(norm->w + at, left) * v_load_some(dy + at, left);
            b = v_keep_some(v_load_some(norm->x + at, left) - shift, left);
            u.part[p] += a;
            ux.part[p] = v_fma(a, b, ux.part[p]);
            square.part[p] = v_fma(b, b, square.part[p]);
        }
    return (struct norm_sums){sums_total(&u), sums_total(&ux), sums_total(&square)};
}

/* dx = s (u - u_mean - c k), where c = x - mean and k = s^2 mean(u c). */
struct norm_line {
    float s, mean, u_mean, k;
};

static void apply(const struct attn_norm_back *norm, const struct norm_line *line, const float *dy,
                  float *dx)
{
    const vf s = v_splat(line->s), mean = v_splat(line->mean), u_mean = v_splat(line->u_mean);
    const vf k = v_splat(line->k);

    for (size_t i = 0; i < norm->n; i += LANES) {
        const size_t left = norm->n - i;
        const vf u = v_load_some(norm->w + i, left) * v_load_some(dy + i, left);
        const vf c = v_load_some(norm->x + i, left) - mean;

        v_store_some(dx + i, s * ((u - u_mean) - c * k), left);
    }
}

void ATTN_FOR_ISA(attn_vector_rms_norm_back)(const struct attn_norm_back *norm, const float *dy,
                                             float *dx)
{
    const struct norm_sums sums = add_row(norm, dy, 0);
    const float n = (float)norm->n, s = 1.0f / sqrtf(sums.square / n + norm->eps);
    const struct norm_line line = {.s = s, .k = norm->is_constant ? 0 : s * s * (sums.ux / n)};

    apply(norm, &line, dy, dx);
}

void ATTN_FOR_ISA(attn_vector_layer_norm_back)(const struct attn_norm_back *norm, const float *dy,
                                               float *dx)
{
    const float n = (float)norm->n, mean = ATTN_FOR_ISA(attn_vector_sum)(norm->x, norm->n) / n;
    const struct norm_sums sums = add_row(norm, dy, mean);
    const float s = 1.0f / sqrtf(sums.square / n + norm->eps);
    const struct norm_line line = {.s = s,
                                   .mean = mean,
                                   .u_mean = sums.u / n,
                                   .k = norm->is_constant ? 0 : s * s * (sums.ux / n)};

    apply(norm, &line, dy, dx);
}

/* --- activations ------------------------------------------------------------------------------ */

/* Returns 1 / (1 + exp -t), and in *SLOPE its derivative, in a form that keeps its precision for
 * large |t|. */
static inline vf sigmoid(vf t, vf *slope)
{
    const vf e = v_exp(-v_abs(t)), p = 1.0f / (1.0f + e);

    *slope = e * p * p;
    return v_select(t < 0, e * p, p);
}

/* Returns phi = f(x) / x for an activation f(x) = x phi(x); for tanh it is 1 at x = 0. *SLOPE
 * receives the derivative of f. WHICH must be a constant, because the function is inlined. */
static inline vf ratio_of(enum attn_activation which, vf x, vf *slope)
{
    const vf zero = v_splat(0), one = v_splat(1);
    vf phi, bell, y;

    switch (which) {
    case ATTN_ACTIVATION_GELU_NEW: {
        const vf two_root = v_splat(1.5957691216f); /* 2 sqrt(2/pi) */

        phi = sigmoid(two_root * v_fma(x * x * x, v_splat(0.044715f), x), &bell);
        y = x * bell * two_root * v_fma(x * x, v_splat(0.134145f), one);
        /* The exception: x^2 overflows, and y would be NaN. */
        *slope = v_select(bell == 0, phi, phi + y);
        return phi;
    }
    case ATTN_ACTIVATION_GELU:
        phi = 0.5f * (1.0f + v_erf(x * 0.70710678119f));
        *slope = v_fma(x, v_exp(-0.5f * x * x) * 0.3989422804f, phi); /* 1 / sqrt(2 pi) */
        return phi;
    case ATTN_ACTIVATION_RELU:
        phi = v_select(x > 0, one, zero);
        *slope = phi;
        return phi;
    case ATTN_ACTIVATION_RELU2:
        phi = v_max(x, zero);
        *slope = phi + phi;
        return phi;
    case ATTN_ACTIVATION_SILU:
        phi = sigmoid(x, &bell);
        *slope = v_fma(x, bell, phi);
        return phi;
    case ATTN_ACTIVATION_QUICK_GELU:
        phi = sigmoid(x * 1.702f, &bell);
        *slope = v_fma(x * 1.702f, bell, phi);
        return phi;
    case ATTN_ACTIVATION_TANH:
        sigmoid(x + x, &bell);
        *slope = 4.0f * bell;
        return v_select(x == 0, one, v_tanh(x) / x);
    case ATTN_N_ACTIVATION:
        break;
    }
    *slope = one;
    return one;
}

/* The backward pass of y = act(x) = x phi, or with a gate. Inlined with a constant WHICH. */
static inline void each_back(enum attn_activation which, const struct attn_activation_back *rows,
                             size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        const vf x = v_load_some(rows->x + i, n - i), dy = v_load_some(rows->dy + i, n - i);
        vf slope, phi = ratio_of(which, x, &slope), dx = dy;

        if (rows->u) {
            const vf half = v_splat(rows->is_constant ? 0.5f : 1.0f);

            dx = dy * v_load_some(rows->u + i, n - i) * half;
            v_store_some(rows->du + i, dy * (x * phi) * half, n - i);
        }
        v_store_some(rows->dy + i, dx * (rows->is_constant ? phi : slope), n - i);
    }
}

void ATTN_FOR_ISA(attn_vector_activate_back)(enum attn_activation which,
                                             const struct attn_activation_back *rows, size_t n)
{
    switch (which) {
#define EACH_BACK(name, text)                                                                      \
    case ATTN_ACTIVATION_##name:                                                                   \
        each_back(ATTN_ACTIVATION_##name, rows, n);                                                \
        return;
        ATTN_ACTIVATION_MAP(EACH_BACK)
#undef EACH_BACK
    case ATTN_N_ACTIVATION:
        return;
    }
}

void ATTN_FOR_ISA(attn_vector_soft_cap_back)(const struct attn_cap_back *cap, const float *x,
                                             float *dy, size_t n)
{
    const vf caps = v_splat(cap->cap);

    for (size_t i = 0; i < n; i += LANES) {
        vf slope, ratio;

        ratio = ratio_of(ATTN_ACTIVATION_TANH, v_load_some(x + i, n - i) / caps, &slope);
        v_store_some(dy + i, v_load_some(dy + i, n - i) * (cap->is_constant ? ratio : slope),
                     n - i);
    }
}

/* --- attention -------------------------------------------------------------------------------- */

void ATTN_FOR_ISA(attn_vector_rotate_back)(float *x, const float *cosines, const float *sines,
                                           size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        const vf a = v_load_some(x + i, n - i), b = v_load_some(x + n + i, n - i);
        const vf c = v_load_some(cosines + i, n - i), s = v_load_some(sines + i, n - i);

        v_store_some(x + i, a * c + b * s, n - i);
        v_store_some(x + n + i, b * c - a * s, n - i);
    }
}

/* Rows that are processed side by side: a single chain would wait for each fma. */
enum { N_CHAIN = 8 };

void ATTN_FOR_ISA(attn_vector_dots)(const float *a, const float *b, size_t ld, size_t n_row,
                                    size_t n, float *r)
{
    size_t row = 0;

    for (; n_row - row >= N_CHAIN; row += N_CHAIN, a += N_CHAIN * ld, b += N_CHAIN * ld) {
        float c[N_CHAIN] = {0};

        for (size_t i = 0; i < n; i++)
#pragma GCC unroll 8
            for (size_t l = 0; l < N_CHAIN; l++)
                c[l] = __builtin_fmaf(a[l * ld + i], b[l * ld + i], c[l]);
        memcpy(r + row, c, sizeof c);
    }
    for (; row < n_row; row++, a += ld, b += ld) {
        float c = 0;

        for (size_t i = 0; i < n; i++)
            c = __builtin_fmaf(a[i], b[i], c);
        r[row] = c;
    }
}

void ATTN_FOR_ISA(attn_vector_softmax_back)(const float *p, float r, float *dp, size_t n)
{
    const vf mean = v_splat(r);
    struct sums rest = {0};
    float left_over;
    vf more;

    for (size_t i = 0; i < n; i += N_PARTIAL)
#pragma GCC unroll 4
        for (size_t k = 0; k < N_PART; k++) {
            const size_t at = i + k * LANES, left = n - at;

            if (at >= n)
                break;
            rest.part[k] =
                v_fma(v_load_some(p + at, left), v_load_some(dp + at, left) - mean, rest.part[k]);
        }
    left_over = sums_total(&rest);
    more = v_splat(fabsf(left_over) <= 1e-16f * fabsf(r) ? 0 : left_over);
    for (size_t i = 0; i < n; i += LANES)
        v_store_some(dp + i,
                     v_load_some(p + i, n - i) * ((v_load_some(dp + i, n - i) - mean) - more),
                     n - i);
}
