/*
 * elementary.h - exp, tanh and erf on registers of floats; exp and ln on registers of doubles, for
 * sums in double precision. They are polynomials with explicit fma, so that every instruction set
 * gives the same bits (lanes.h).
 *
 * The coefficients for floats were made by tests/tools/fit_polynomials.py (Remez, relative error).
 * tests/unit/test_kernels_elementary.c checks the largest errors: exp 1.0 ulp, tanh 1.4, erf 1.2
 * (every 37th float); for doubles exp 1 ulp, ln 2.
 */
#pragma once

#include "kernels/lanes.h"

/* Returns x * 2^n, rounded once, for integral n in -151 .. 129. Overflows to inf and underflows
 * gradually. */
static inline vf v_scale_by_power(vf x, vf n)
{
#if defined __AVX512F__
    return (vf)_mm512_scalef_ps((__m512)x, (__m512)n);
#else
    vi whole = __builtin_convertvector(n, vi);
    vi half = whole >> 1; /* 2^n may be out of range for a float, but both halves are in range */

    return x * (vf)((half + 127) << 23) * (vf)((whole - half + 127) << 23);
#endif
}

/* exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln(2)/2. Results below 2^-126 are
 * denormals rounded once, below x = -104 (2^-150.04) +0; from 88.73 on inf; NaN stays NaN. */
static inline vf v_exp_below(vf x) /* for x <= 89, or NaN */
{
    /* Adding it rounds to an integer: no bits are left for a fraction. */
    const vf to_integer = v_splat(0x1.8p23f);
    vf n, r, q;

    x = v_max(v_splat(-104.0f), x);
    n = v_fma(x, v_splat(0x1.715476p+0f), to_integer) - to_integer;
    /* Ln 2 is subtracted in two parts; this step is exact. */
    r = v_fma(n, v_splat(-0x1.62e430p-1f), x);
    r = v_fma(n, v_splat(0x1.05c610p-29f), r);
    q = v_splat(0x1.6a242cp-10f);
    q = v_fma(q, r, v_splat(0x1.1239e2p-7f));
    q = v_fma(q, r, v_splat(0x1.5558f2p-5f));
    q = v_fma(q, r, v_splat(0x1.555492p-3f));
    q = v_fma(q, r, v_splat(0x1.fffffcp-2f));
    return v_scale_by_power(1.0f + v_fma(q, r * r, r), n);
}

static inline vf v_exp(vf x)
{
    return v_exp_below(v_min(v_splat(89.0f), x));
}

/* tanh(x) = x + x^3 P(x^2) up to 0.6, then 1 - 2/(exp(2|x|) + 1). */
static inline vf v_tanh(vf x)
{
    vf t = v_abs(x), s = x * x, near, far;

    near = v_splat(-0x1.825830p-8f);
    near = v_fma(near, s, v_splat(0x1.54b898p-6f));
    near = v_fma(near, s, v_splat(-0x1.b898dcp-5f));
    near = v_fma(near, s, v_splat(0x1.1109aep-3f));
    near = v_fma(near, s, v_splat(-0x1.55553ep-2f));
    near = v_fma(near, s * t, t);
    far = 1.0f - 2.0f / (v_exp(t + t) + 1.0f);
    return v_copy_sign(v_select(t < 0.6f, near, far), x);
}

/* erf(x) = x + x P(x^2) up to 1, then 1 - exp(-Q(|x|)) with Q = -ln erfc; 1 from 4 on. */
static inline vf v_erf(vf x)
{
    vf t = v_min(v_splat(4.0f), v_abs(x)), s = t * t, near, far;

    near = v_splat(0x1.4969f6p-14f);
    near = v_fma(near, s, v_splat(-0x1.a3f6e8p-11f));
    near = v_fma(near, s, v_splat(0x1.5405aep-8f));
    near = v_fma(near, s, v_splat(-0x1.b7f90cp-6f));
    near = v_fma(near, s, v_splat(0x1.ce2cf8p-4f));
    near = v_fma(near, s, v_splat(-0x1.81273ep-2f));
    near = v_fma(near, s, v_splat(0x1.06eba8p-3f));
    near = v_fma(near, t, t);
    far = v_splat(-0x1.86da7ap-13f);
    far = v_fma(far, t, v_splat(0x1.825912p-9f));
    far = v_fma(far, t, v_splat(-0x1.65ca80p-6f));
    far = v_fma(far, t, v_splat(0x1.a652c0p-4f));
    far = v_fma(far, t, v_splat(0x1.46bafep-1f));
    far = v_fma(far, t, v_splat(0x1.2088e4p+0f));
    far = v_fma(far, t, v_splat(0x1.66344ap-12f));
    far = 1.0f - v_exp(-far);
    return v_copy_sign(v_select(t < 1.0f, near, far), x);
}

/* --- Doubles: one register of floats becomes two registers of doubles ------------------------- */

enum { HALF = LANES / 2 };

typedef double vd __attribute__((vector_size(8 * HALF)));
typedef int64_t vl __attribute__((vector_size(8 * HALF))); /* bits, or a mask of 0 and -1 */
/* Bits whose sums may overflow (unsigned, so that this is defined). */
typedef uint64_t vul __attribute__((vector_size(8 * HALF)));

static inline vd d_splat(double x)
{
    return (vd){0} + x;
}

static inline vd d_fma(vd a, vd b, vd c)
{
#if defined __AVX512F__
    return (vd)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined __AVX2__
    return (vd)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined __ARM_NEON
    return (vd)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#elif defined __wasm_relaxed_simd__
    return (vd)__builtin_wasm_relaxed_madd_f64x2(a, b, c);
#else
    for (int l = 0; l < HALF; l++)
        a[l] = __builtin_fma(a[l], b[l], c[l]);
    return a;
#endif
}

static inline vd d_select(vl mask, vd yes, vd no)
{
    return (vd)(((vl)yes & mask) | ((vl)no & ~mask));
}

/* Returns the first (HALF 0) or the second half of X as doubles. */
static inline vd d_of_floats(vf x, size_t half)
{
    float part __attribute__((vector_size(4 * HALF)));

    memcpy(&part, (const char *)&x + half * sizeof part, sizeof part);
    return __builtin_convertvector(part, vd);
}

/* exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln(2)/2; exp(r) is its Taylor series. For
 * x <= 709. Below -708 the result is +0; NaN stays NaN. */
static inline vd d_exp(vd x)
{
    static const double factors[] = {
        1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, /* 1/13! .. 1/10! */
        1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
        1.0 / 120,        1.0 / 24,        1.0 / 6,        1.0 / 2};
    /* Adding it rounds to an integer: no bits are left for a fraction. */
    const vd to_integer = d_splat(0x1.8p52);
    const vd shifted = d_fma(x, d_splat(0x1.71547652b82fep0), to_integer), n = shifted - to_integer;
    vd r = d_fma(n, d_splat(-0x1.62e42fefa3800p-1), x); /* ln 2 is subtracted in two parts */
    vd q = d_splat(factors[0]);

    r = d_fma(n, d_splat(-0x1.ef35793c76730p-45), r);
    for (size_t i = 1; i < sizeof factors / sizeof *factors; i++)
        q = d_fma(q, r, d_splat(factors[i]));
    q = 1.0 + d_fma(q, r * r, r);
    /* Adds n to the exponent; n is in the last bits of `shifted`. */
    q = (vd)((vul)q + ((vul)shifted << 52));
    return d_select(x > -708.0, q, d_select(x <= -708.0, d_splat(0), x));
}

/* ln(x) = n ln 2 + ln(m) with m in sqrt(1/2) .. sqrt(2), and ln(m) = 2 atanh(f) by its series,
 * where f = (m - 1) / (m + 1). For finite x >= 2^-1022; NaN stays NaN. */
static inline vd d_log(vd x)
{
    const vul root = (vul)d_splat(0x1.6a09e667f3bcdp-1);
    const vl bits = (vl)((vul)x - root) >> 52 << 52; /* the exponent of x / sqrt(1/2) */
    const vd to_integer = d_splat(0x1.8p52);
    const vd n = (vd)((vl)to_integer + (bits >> 52)) - to_integer;
    const vd m = (vd)((vul)x - (vul)bits), f = (m - 1.0) / (m + 1.0), s = f * f;
    /* Sums pairs of terms independently: a single chain would wait for each fma. */
    const vd s2 = s * s, s4 = s2 * s2;
    vd q[5];

    for (int i = 0; i < 5; i++)
        q[i] = d_fma(d_splat(1.0 / (4 * i + 5)), s, d_splat(1.0 / (4 * i + 3)));
    q[2] = d_fma(q[4], s4, d_fma(q[3], s2, q[2]));
    q[0] = d_fma(q[2], s4, d_fma(q[1], s2, q[0]));
    q[0] = d_fma(f + f, q[0] * s, n * 0x1.ef35793c76730p-45) + (f + f);
    return d_select(x > 0, d_fma(n, d_splat(0x1.62e42fefa3800p-1), q[0]), x);
}

/* The sum of a row in double precision: 16 partial sums, chosen by the index mod 16 as in struct
 * sums. */
enum { N_HALF_PART = 2 * N_PART };

struct double_sums {
    vd part[N_HALF_PART];
};

static inline double double_sums_total(const struct double_sums *sums)
{
    double t[N_PARTIAL];

    memcpy(t, sums->part, sizeof t);
    for (size_t half = N_PARTIAL / 2; half > 0; half /= 2)
        for (size_t l = 0; l < half; l++)
            t[l] += t[l + half];
    return t[0];
}
