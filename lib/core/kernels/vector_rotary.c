/*
 * vector_rotary.c - rotary positions: cosines and sines, and the rotation of pairs by them.
 *
 * Cosine and sine are Taylor polynomials in double precision, after the angle was reduced to -pi/4
 * .. pi/4. Their error is below 1e-16, so the rounded float is the correct one, except for ties,
 * which no angle comes near. C libraries differ in the last digits; these operations do not.
 */
#include "kernels/vector.h"

/* Returns r in x = n pi/2 + r, and n in *N. pi/2 is the sum of three parts. The first two have so
 * few bits that their products with n, below 2^30, are exact; so are the differences, except for
 * the last. */
static inline double reduce(double x, double *n)
{
    /* Adding it rounds to an integer: no bits are left for a fraction. */
    const double to_integer = 0x1.8p52;

    *n = (x * 0x1.45f306dc9c883p-1 + to_integer) - to_integer; /* 2/pi */
    return ((x - *n * 0x1.921fbp0) - *n * 0x5.4442dp-24) - *n * 0x1.8469898cc517p-48;
}

/* sin r = r - r^3/3! + ... - r^15/15! */
static inline double sine_near(double r)
{
    const double s = r * r;
    double p = -1.0 / 1307674368000.0;

    p = p * s + 1.0 / 6227020800.0;
    p = p * s - 1.0 / 39916800.0;
    p = p * s + 1.0 / 362880.0;
    p = p * s - 1.0 / 5040.0;
    p = p * s + 1.0 / 120.0;
    p = p * s - 1.0 / 6.0;
    return r + r * s * p;
}

/* cos r = 1 - r^2/2! + ... + r^16/16! */
static inline double cosine_near(double r)
{
    const double s = r * r;
    double p = 1.0 / 20922789888000.0;

    p = p * s - 1.0 / 87178291200.0;
    p = p * s + 1.0 / 479001600.0;
    p = p * s - 1.0 / 3628800.0;
    p = p * s + 1.0 / 40320.0;
    p = p * s - 1.0 / 720.0;
    p = p * s + 1.0 / 24.0;
    p = p * s - 0.5;
    return 1.0 + s * p;
}

void ATTN_FOR_ISA(attn_vector_turn)(const float *angles, size_t n, float factor, float *cosines,
                                    float *sines)
{
    for (size_t i = 0; i < n; i++) {
        double quarter;
        const double r = reduce((double)angles[i], &quarter);
        const double c = cosine_near(r), s = sine_near(r);
        const int turns = (int)quarter & 3; /* quarter turns, modulo a full turn */
        const double cosine = turns % 2 == 0 ? c : s, sine = turns % 2 == 0 ? s : c;

        cosines[i] = (float)(turns == 1 || turns == 2 ? -cosine : cosine) * factor;
        sines[i] = (float)(turns >= 2 ? -sine : sine) * factor;
    }
}

void ATTN_FOR_ISA(attn_vector_rotate)(float *x, const float *cosines, const float *sines, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        const vf a = v_load_some(x + i, n - i), b = v_load_some(x + n + i, n - i);
        const vf c = v_load_some(cosines + i, n - i), s = v_load_some(sines + i, n - i);

        v_store_some(x + i, a * c - b * s, n - i);
        v_store_some(x + n + i, b * c + a * s, n - i);
    }
}
