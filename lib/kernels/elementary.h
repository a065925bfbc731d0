/*
 * elementary.h - exp, tanh and erf on registers of floats: polynomials with explicit fma.
 *
 * Coefficients by tests/tools/fit_polynomials.py (Remez, relative error).
 * tests/unit/test_kernels_elementary.c holds the largest errors: exp 1.0 ulp, tanh 1.4, erf 1.2
 * (every 37th float).
 */
#ifndef ATTN_KERNELS_ELEMENTARY_H
#define ATTN_KERNELS_ELEMENTARY_H

#include "kernels/lanes.h"

/* x * 2^n for integral n in -151 .. 129, rounded once: overflows to inf, underflows gradually. */
static inline vf v_scale_by_power(vf x, vf n)
{
#if defined __AVX512F__
    return (vf)_mm512_scalef_ps((__m512)x, (__m512)n);
#else
    vi whole = __builtin_convertvector(n, vi);
    vi half = whole >> 1; /* 2^n itself need not be a float, the two halves are */

    return x * (vf)((half + 127) << 23) * (vf)((whole - half + 127) << 23);
#endif
}

/*
 * exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln(2)/2. Results below 2^-126 are
 * denormals rounded once, below x = -104 (2^-150.04) +0; from 88.73 on inf; NaN stays NaN.
 */
static inline vf v_exp_below(vf x) /* for x <= 89, or NaN */
{
    const vf to_integer = v_splat(0x1.8p23f); /* adding it leaves no bits for a fraction */
    vf n, r, q;

    x = v_max(v_splat(-104.0f), x);
    n = v_fma(x, v_splat(0x1.715476p+0f), to_integer) - to_integer;
    r = v_fma(n, v_splat(-0x1.62e430p-1f), x); /* ln 2 in two parts; this step is exact */
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

#endif
