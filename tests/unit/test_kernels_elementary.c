/*
 * test_kernels_elementary.c - exp, tanh, erf and the activations against double precision, exp and
 * ln of doubles against long double, and the same bits from every instruction set.
 */
#include "kernels/elementary.h"
#include "kernels/kernels.h"
#include "tests/support/near.h"
#include "tests/support/reference.h"
#include "tests/support/suite.h"

#include <math.h>

static float exp_of(float x)
{
    return v_exp(v_splat(x))[0];
}

static float tanh_of(float x)
{
    return v_tanh(v_splat(x))[0];
}

static float erf_of(float x)
{
    return v_erf(v_splat(x))[0];
}

/* The largest error in ulps of F against G from LOW to HIGH in N steps; fails above ALLOWED. */
static void assert_ulps(float (*f)(float), double (*g)(double), double low, double high, int n,
                        double allowed)
{
    double worst = 0, at = 0;

    for (int i = 0; i <= n; i++) {
        float x = (float)(low + (high - low) * i / n);
        double error = attn_reference_ulps(f(x), g((double)x));

        if (error > worst)
            worst = error, at = (double)x;
    }
    ck_assert_msg(worst <= allowed, "off by %.3f ulp at %.9g, allowed %.2f", worst, at, allowed);
}

START_TEST(exp_is_within_one_ulp)
{
    assert_ulps(exp_of, exp, -1, 1, 400000, 1);
    assert_ulps(exp_of, exp, -104, 88.72, 400000, 1);
    assert_ulps(exp_of, exp, -104, -87, 100000, 1); /* denormal results */
    assert_ulps(exp_of, exp, -1e-6, 1e-6, 10000, 1);
}
END_TEST

START_TEST(exp_keeps_its_promises_at_the_ends)
{
    ck_assert(exp_of(0) == 1);
    ck_assert(exp_of(-0.0f) == 1);
    ck_assert(exp_of(-INFINITY) == 0);
    ck_assert(exp_of(-104) == 0);
    ck_assert(exp_of(-3e38f) == 0);
    ck_assert(exp_of(-103.9f) == 0x1p-149f && exp_of(-103.98f) == 0);
    ck_assert(isfinite(exp_of(88.72283f)) && isinf(exp_of(88.73f)) && isinf(exp_of(3e38f)));
    ck_assert(isinf(exp_of(INFINITY)) && isnan(exp_of(NAN)));
}
END_TEST

START_TEST(tanh_and_erf_are_within_two_ulp)
{
    assert_ulps(tanh_of, tanh, -12, 12, 400000, 2);
    assert_ulps(tanh_of, tanh, 0.5, 0.7, 100000, 2); /* where the two formulas meet */
    assert_ulps(tanh_of, tanh, 0, 1e-3, 10000, 2);
    assert_ulps(erf_of, erf, -5, 5, 400000, 2);
    assert_ulps(erf_of, erf, 0.9, 1.1, 100000, 2);
    assert_ulps(erf_of, erf, 0, 1e-3, 10000, 2);
}
END_TEST

START_TEST(tanh_and_erf_saturate)
{
    ck_assert(tanh_of(INFINITY) == 1 && tanh_of(-INFINITY) == -1 && isnan(tanh_of(NAN)));
    ck_assert(erf_of(INFINITY) == 1 && erf_of(-INFINITY) == -1 && isnan(erf_of(NAN)));
    ck_assert(tanh_of(3e38f) == 1 && erf_of(-3e38f) == -1);
    ck_assert(signbit(tanh_of(-0.0f)) && !signbit(tanh_of(0)));
    ck_assert(signbit(erf_of(-0.0f)) && !signbit(erf_of(0)));
}
END_TEST

enum { N = 4096 };

START_TEST(activations_are_those_of_their_formulas)
{
    /* Of max(1, |x|). GELU's 1 + erf leaves half an ulp of 1 for negative x, as everywhere. */
    static const double allowed[] = {1.5e-7, 1.5e-7, 0, 1.5e-7, 1.5e-7, 1.5e-7, 1e-7};
    static float x[N], y[N];
    static double expected[N];
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);

    for (int f = 0; f < ATTN_N_ACTIVATION; f++)
        for (int range = 1; range <= 256; range *= 4) {
            attn_reference_fill(x, N, (float)range, 7);
            for (int i = 0; i < N; i++) {
                expected[i] = attn_reference_activation((enum attn_activation)f, (double)x[i]);
                y[i] = x[i];
            }
            kernels->activate((enum attn_activation)f, y, N);
            attn_assert_near(attn_activation_name((enum attn_activation)f), y, expected, N,
                             allowed[f]);
        }
}
END_TEST

START_TEST(activations_survive_extreme_values)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);

    for (int f = 0; f < ATTN_N_ACTIVATION; f++) {
        float x[] = {3e38f, -3e38f, 0, NAN, 1e-40f};
        const bool is_tanh = f == ATTN_ACTIVATION_TANH;
        const float largest = f == ATTN_ACTIVATION_RELU2 ? INFINITY : 3e38f;

        kernels->activate((enum attn_activation)f, x, 5);
        ck_assert(x[0] == (is_tanh ? 1 : largest));
        ck_assert(x[1] == (is_tanh ? -1 : 0));
        ck_assert(x[2] == 0);
        ck_assert(isnan(x[3]));
        ck_assert(x[4] >= 0);
    }
}
END_TEST

START_TEST(activations_give_the_same_bits_everywhere)
{
    enum { LENGTH = 300, SHIFT = 5 };
    static float x[LENGTH + SHIFT], expected[LENGTH + SHIFT], y[LENGTH + SHIFT];

    for (int f = 0; f < ATTN_N_ACTIVATION; f++)
        for (size_t n = 0; n <= LENGTH; n += n < 40 ? 1 : 13)
            for (size_t shift = 0; shift < SHIFT; shift++) {
                attn_reference_fill(x, LENGTH + SHIFT, n % 3 == 0 ? 1 : n % 3 == 1 ? 8 : 120, n);
                memcpy(expected, x, sizeof x);
                attn_kernels_find(ATTN_ISA_BASELINE)
                    ->activate((enum attn_activation)f, expected + shift, n);
                for (int isa = ATTN_ISA_AVX2; isa <= ATTN_ISA_BEST; isa++) {
                    memcpy(y, x, sizeof x);
                    attn_kernels_find((enum attn_isa)isa)
                        ->activate((enum attn_activation)f, y + shift, n);
                    attn_assert_same_bits(attn_activation_name((enum attn_activation)f), y,
                                          expected, LENGTH + SHIFT);
                }
            }
}
END_TEST

static double exp_of_double(double x)
{
    return d_exp(d_splat(x))[0];
}

static double log_of_double(double x)
{
    return d_log(d_splat(x))[0];
}

/* Error of F at X in ulps of EXPECTED. */
static double double_ulps(double (*f)(double), double x, long double expected)
{
    const long double error = fabsl((long double)f(x) - expected);

    return (double)(expected == 0 ? error : ldexpl(error, 52 - ilogbl(expected)));
}

START_TEST(doubles_are_within_two_ulp)
{
    double worst_exp = 0, worst_log = 0;

    for (int i = 0; i <= 200000; i++) {
        const double x = -707.9 + 1416.8 * i / 200000, near = -1.5 + 3.0 * i / 200000;
        const double whole = exp(x * 0.99), one = 1 + near / 3;

        worst_exp = fmax(worst_exp, double_ulps(exp_of_double, x, expl((long double)x)));
        worst_exp = fmax(worst_exp, double_ulps(exp_of_double, near, expl((long double)near)));
        worst_log = fmax(worst_log, double_ulps(log_of_double, whole, logl((long double)whole)));
        worst_log = fmax(worst_log, double_ulps(log_of_double, one, logl((long double)one)));
    }
    ck_assert_msg(worst_exp <= 1, "exp is off by %.3f ulp", worst_exp);
    ck_assert_msg(worst_log <= 2, "ln is off by %.3f ulp", worst_log);
}
END_TEST

START_TEST(doubles_keep_their_promises_at_the_ends)
{
    ck_assert(exp_of_double(0) == 1 && exp_of_double(-0.0) == 1);
    ck_assert(exp_of_double(-708) == 0 && exp_of_double(-1e300) == 0);
    ck_assert(exp_of_double(-HUGE_VAL) == 0 && isnan(exp_of_double((double)NAN)));
    ck_assert(log_of_double(1) == 0 && isnan(log_of_double((double)NAN)));
    ck_assert_double_eq_tol(log_of_double(0x1p-149), -149 * log(2), 1e-13); /* the least float */
}
END_TEST

typedef void (*attn_map_fn)(const float *x, size_t n, float *y);

enum { N_MAP = 3 };
static const char *const map_names[N_MAP] = {"elu + 1", "relu + 1e-6", "exp"};

static attn_map_fn feature_map(enum attn_isa isa, int which)
{
    const struct attn_kernels *kernels = attn_kernels_find(isa);

    return which == 0 ? kernels->elu_plus_one : which == 1 ? kernels->relu_plus_tiny : kernels->exp;
}

static double exact_map(int which, double x)
{
    return which == 0 ? (x > 0 ? x + 1 : exp(x)) : which == 1 ? fmax(x, 0) + 1e-6 : exp(x);
}

START_TEST(feature_maps_are_those_of_their_formulas)
{
    static float x[N], y[N];

    for (int which = 0; which < N_MAP; which++)
        for (int range = 1; range <= 64; range *= 4) {
            double worst = 0;

            attn_reference_fill(x, N, (float)range, 3);
            feature_map(ATTN_ISA_BEST, which)(x, N, y);
            for (int i = 0; i < N; i++)
                worst = fmax(worst, attn_reference_ulps(y[i], exact_map(which, (double)x[i])));
            ck_assert_msg(worst <= 1.01, "%s is off by %.3f ulp", map_names[which], worst);
        }
}
END_TEST

START_TEST(feature_maps_of_extreme_values)
{
    const float x[] = {3e38f, -3e38f, 0, NAN, -0.0f, INFINITY, -INFINITY};
    float y[7];

    for (int which = 0; which < N_MAP; which++) {
        const float least = which == 1 ? 1e-6f : 0, of_zero = which == 1 ? 1e-6f : 1;

        feature_map(ATTN_ISA_BEST, which)(x, 7, y);
        ck_assert(which == 2 ? isinf(y[0]) : y[0] == 3e38f);
        ck_assert(y[1] == least && y[2] == of_zero && isnan(y[3]) && y[4] == of_zero);
        ck_assert(isinf(y[5]) && y[6] == least);
    }
}
END_TEST

START_TEST(feature_maps_give_the_same_bits_everywhere_and_in_place)
{
    enum { LENGTH = 100 };
    static float x[LENGTH], expected[LENGTH + 1], y[LENGTH + 1];

    for (int which = 0; which < N_MAP; which++)
        for (size_t n = 0; n <= LENGTH; n++) {
            attn_reference_fill(x, LENGTH, n % 2 ? 1 : 100, n);
            expected[n] = y[n] = 1234;
            feature_map(ATTN_ISA_BASELINE, which)(x, n, expected);
            for (int isa = 0; isa <= ATTN_ISA_BEST; isa++) {
                memcpy(y, x, n * sizeof *y);
                feature_map((enum attn_isa)isa, which)(y, n, y);
                attn_assert_same_bits(map_names[which], y, expected, n + 1);
            }
        }
}
END_TEST

START_TEST(activations_are_found_by_every_name)
{
    for (int f = 0; f < ATTN_N_ACTIVATION; f++)
        ck_assert_int_eq(attn_activation_find(attn_activation_name((enum attn_activation)f)), f);
    ck_assert_int_eq(attn_activation_find("gelu_pytorch_tanh"), ATTN_ACTIVATION_GELU_NEW);
    ck_assert_int_eq(attn_activation_find("gelu_python_tanh"), ATTN_ACTIVATION_GELU_NEW);
    ck_assert_int_eq(attn_activation_find("gelu_accurate"), ATTN_ACTIVATION_GELU_NEW);
    ck_assert_int_eq(attn_activation_find("gelu_fast"), ATTN_ACTIVATION_GELU_NEW);
    ck_assert_int_eq(attn_activation_find("gelu_python"), ATTN_ACTIVATION_GELU);
    ck_assert_int_eq(attn_activation_find("swish"), ATTN_ACTIVATION_SILU);
    ck_assert_int_eq(attn_activation_find("Gelu"), ATTN_N_ACTIVATION);
    ck_assert_int_eq(attn_activation_find(""), ATTN_N_ACTIVATION);
}
END_TEST

ATTN_SUITE("kernels: elementary", exp_is_within_one_ulp, exp_keeps_its_promises_at_the_ends,
           tanh_and_erf_are_within_two_ulp, tanh_and_erf_saturate,
           activations_are_those_of_their_formulas, activations_survive_extreme_values,
           activations_give_the_same_bits_everywhere, activations_are_found_by_every_name,
           doubles_are_within_two_ulp, doubles_keep_their_promises_at_the_ends,
           feature_maps_are_those_of_their_formulas, feature_maps_of_extreme_values,
           feature_maps_give_the_same_bits_everywhere_and_in_place)
