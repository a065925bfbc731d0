/*
 * test_kernels_backward.c - gradients of what a function reads: central differences of the function
 * in double precision, or where a rule takes a factor for a constant, the function with that factor
 * as it is; and the same bits from every instruction set.
 */
#include "kernels/kernels.h"
#include "tests/support/near.h"
#include "tests/support/reference.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { N = 37 };

static const double step = 1e-4;
static const double allowed = 2e-6; /* of a number, or of 1 */

static float x[N], w[N], u[N], dy[N];

static const struct attn_kernels *kernels_of(int isa)
{
    return attn_kernels_find((enum attn_isa)isa);
}

static void fill(uint64_t seed)
{
    attn_reference_fill(x, N, 3, seed);
    attn_reference_fill(w, N, 1, seed + 1);
    attn_reference_fill(u, N, 2, seed + 2);
    attn_reference_fill(dy, N, 1, seed + 3);
}

/* --- norms ------------------------------------------------------------------------------------ */

static const double eps = 1e-5;

/* The sum of dy times the norm of X; its scale, if FROZEN is above 0, is that. */
static double norm_of(const double *row, bool is_layer_norm, double frozen)
{
    double mean = 0, square = 0, sum = 0, scale;

    for (size_t i = 0; is_layer_norm && i < N; i++)
        mean += row[i] / N;
    for (size_t i = 0; i < N; i++)
        square += (row[i] - mean) * (row[i] - mean) / N;
    scale = frozen > 0 ? frozen : 1 / sqrt(square + eps);
    for (size_t i = 0; i < N; i++)
        sum += (double)dy[i] * (double)w[i] * (row[i] - mean) * scale;
    return sum;
}

static double scale_of(const double *row, bool is_layer_norm)
{
    double mean = 0, square = 0;

    for (size_t i = 0; is_layer_norm && i < N; i++)
        mean += row[i] / N;
    for (size_t i = 0; i < N; i++)
        square += (row[i] - mean) * (row[i] - mean) / N;
    return 1 / sqrt(square + eps);
}

static void check_norm(bool is_layer_norm, bool is_constant)
{
    const struct attn_norm_back norm = {
        .x = x, .w = w, .n = N, .eps = (float)eps, .is_constant = is_constant};
    double row[N], expected[N], frozen;
    float dx[N], best[N];

    attn_reference_widen(x, N, row);
    frozen = is_constant ? scale_of(row, is_layer_norm) : 0;
    for (size_t i = 0; i < N; i++) {
        const double at = row[i];
        double above;

        row[i] = at + step;
        above = norm_of(row, is_layer_norm, frozen);
        row[i] = at - step;
        expected[i] = (above - norm_of(row, is_layer_norm, frozen)) / (2 * step);
        row[i] = at;
    }
    for (int isa = ATTN_ISA_BEST; isa >= 0; isa--) {
        const struct attn_kernels *kernels = kernels_of(isa);

        (is_layer_norm ? kernels->layer_norm_back : kernels->rms_norm_back)(&norm, dy, dx);
        if (isa == ATTN_ISA_BEST)
            memcpy(best, dx, sizeof best);
        attn_assert_same_bits("a norm", dx, best, N);
    }
    attn_assert_near(is_layer_norm ? "LayerNorm" : "RMSNorm", dx, expected, N, allowed);
}

START_TEST(a_norm_goes_back_with_its_scale_or_with_a_constant_one)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        fill(seed);
        for (int kind = 0; kind < 4; kind++)
            check_norm(kind % 2 == 1, kind / 2 == 1);
    }
}
END_TEST

/* --- activations ------------------------------------------------------------------------------ */

/* phi of y = x phi(x). */
static double factor_of(enum attn_activation which, double at)
{
    return attn_reference_activation(which, at) / at;
}

/* What comes of dy by rule, or as a derivative; into *DU that of the gate. */
static double expect(enum attn_activation which, size_t i, bool is_constant, bool is_gated,
                     double *du)
{
    const double at = (double)x[i], d = (double)dy[i];
    const double y = attn_reference_activation(which, at), other = is_gated ? (double)u[i] : 1;
    const double slope = (attn_reference_activation(which, at + step) -
                          attn_reference_activation(which, at - step)) /
                         (2 * step);
    const double half = is_constant && is_gated ? 0.5 : 1;

    *du = d * y * half;
    return d * other * half * (is_constant ? factor_of(which, at) : slope);
}

static void check_activation(enum attn_activation which, bool is_constant, bool is_gated)
{
    double expected[N], expected_du[N];
    float dx[N], du[N], best[N];

    for (size_t i = 0; i < N; i++)
        expected[i] = expect(which, i, is_constant, is_gated, &expected_du[i]);
    for (int isa = ATTN_ISA_BEST; isa >= 0; isa--) {
        const struct attn_activation_back rows = {
            .x = x, .u = is_gated ? u : NULL, .dy = dx, .du = du, .is_constant = is_constant};

        memcpy(dx, dy, sizeof dx);
        kernels_of(isa)->activate_back(which, &rows, N);
        if (isa == ATTN_ISA_BEST)
            memcpy(best, dx, sizeof best);
        attn_assert_same_bits(attn_activation_name(which), dx, best, N);
        if (is_gated)
            attn_assert_near(attn_activation_name(which), du, expected_du, N, allowed);
    }
    attn_assert_near(attn_activation_name(which), dx, expected, N, allowed);
}

START_TEST(an_activation_goes_back_by_its_slope_or_by_its_factor)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        fill(seed);
        for (int which = 0; which < ATTN_N_ACTIVATION; which++)
            for (int kind = 0; kind < 4; kind++)
                check_activation((enum attn_activation)which, kind % 2 == 1, kind / 2 == 1);
    }
}
END_TEST

/* At 0 the factor is the limit: 1 for tanh, a half for gelu and silu, 0 for relu. */
START_TEST(a_factor_at_zero_is_its_limit)
{
    static const float limits[ATTN_N_ACTIVATION] = {[ATTN_ACTIVATION_GELU_NEW] = 0.5F,
                                                    [ATTN_ACTIVATION_GELU] = 0.5F,
                                                    [ATTN_ACTIVATION_SILU] = 0.5F,
                                                    [ATTN_ACTIVATION_TANH] = 1,
                                                    [ATTN_ACTIVATION_QUICK_GELU] = 0.5F};

    for (int which = 0; which < ATTN_N_ACTIVATION; which++) {
        const float zero = 0;
        float d = 1;
        const struct attn_activation_back rows = {.x = &zero, .dy = &d, .is_constant = true};

        kernels_of(ATTN_ISA_BEST)->activate_back((enum attn_activation)which, &rows, 1);
        ck_assert_msg(d == limits[which], "%s: %g",
                      attn_activation_name((enum attn_activation)which), (double)d);
    }
}
END_TEST

/* --- caps, rotations, softmax ----------------------------------------------------------------- */

START_TEST(a_soft_cap_goes_back_by_its_slope_or_by_its_factor)
{
    for (int is_constant = 0; is_constant < 2; is_constant++) {
        const struct attn_cap_back cap = {2, is_constant};
        double expected[N];
        float dx[N];

        fill(5);
        x[3] = 0;
        for (size_t i = 0; i < N; i++) {
            const double y = 2 * tanh((double)x[i] / 2);
            const double factor = x[i] == 0 ? 1 : y / (double)x[i];

            expected[i] = (double)dy[i] * (is_constant ? factor : 1 - y / 2 * (y / 2));
        }
        memcpy(dx, dy, sizeof dx);
        kernels_of(ATTN_ISA_BEST)->soft_cap_back(&cap, x, dx, N);
        attn_assert_near("a soft cap", dx, expected, N, allowed);
    }
}
END_TEST

/* 1 - tanh^2 has no digits left there. */
START_TEST(the_slope_of_a_cap_keeps_its_digits_where_the_cap_is_reached)
{
    const struct attn_cap_back cap = {2, false};
    float d[N];

    for (size_t i = 0; i < N; i++) {
        x[i] = (float)i * (i % 2 == 0 ? 0.25F : -0.25F);
        d[i] = 1;
    }
    kernels_of(ATTN_ISA_BEST)->soft_cap_back(&cap, x, d, N);
    for (size_t i = 0; i < N; i++)
        ck_assert_double_le(fabs((double)d[i] * pow(cosh((double)x[i] / 2), 2) - 1), 1e-6);
}
END_TEST

/* A rotation is undone by its transpose but for the square of its factor. */
START_TEST(a_rotation_goes_back_by_its_transpose)
{
    enum { N_PAIR = N / 2 };
    const float factor = 1.1386F;
    float cosines[N_PAIR], sines[N_PAIR], turned[N];
    double expected[N];

    fill(6);
    memcpy(turned, x, sizeof turned);
    for (size_t i = 0; i < 2 * (size_t)N_PAIR; i++)
        expected[i] = (double)x[i] * (double)factor * (double)factor;
    kernels_of(ATTN_ISA_BEST)->turn(u, N_PAIR, factor, cosines, sines);
    kernels_of(ATTN_ISA_BEST)->rotate(turned, cosines, sines, N_PAIR);
    kernels_of(ATTN_ISA_BEST)->rotate_back(turned, cosines, sines, N_PAIR);
    attn_assert_near("a rotation", turned, expected, 2 * (size_t)N_PAIR, allowed);
}
END_TEST

/* P, the softmax of ROW in double, and PATTERN, the same in float; returns the sum of P dy. */
static double make_pattern(const double row[N], double p[N], float pattern[N])
{
    double r = 0;

    memcpy(p, row, N * sizeof *p);
    attn_reference_softmax(p, N, N, 1);
    for (size_t i = 0; i < N; i++) {
        pattern[i] = (float)p[i];
        r += p[i] * (double)dy[i];
    }
    return r;
}

static double softmax_of(const double *row)
{
    double copy[N], sum = 0;

    memcpy(copy, row, sizeof copy);
    attn_reference_softmax(copy, N, N, 1);
    for (size_t i = 0; i < N; i++)
        sum += (double)dy[i] * copy[i];
    return sum;
}

START_TEST(a_softmax_goes_back_by_its_slope)
{
    double row[N], expected[N], p[N], r;
    float pattern[N], dx[N];

    fill(7);
    attn_reference_widen(x, N, row);
    for (size_t i = 0; i < N; i++) {
        const double at = row[i];
        double above;

        row[i] = at + step;
        above = softmax_of(row);
        row[i] = at - step;
        expected[i] = (above - softmax_of(row)) / (2 * step);
        row[i] = at;
    }
    r = make_pattern(row, p, pattern);
    memcpy(dx, dy, sizeof dx);
    kernels_of(ATTN_ISA_BEST)->softmax_back(pattern, (float)r, dx, N);
    attn_assert_near("a softmax", dx, expected, N, allowed);
}
END_TEST

/* Where one weight is nearly 1 the slopes are far smaller than the rounding of the sum R, ERROR. */
static void check_sure(double lead, double error)
{
    double row[N], p[N], r, rest = 0, largest = 0;
    float pattern[N], dx[N];

    fill(9);
    attn_reference_widen(x, N, row);
    row[3] += lead;
    r = make_pattern(row, p, pattern);
    memcpy(dx, dy, sizeof dx);
    kernels_of(ATTN_ISA_BEST)->softmax_back(pattern, (float)(r * (1 + error)), dx, N);
    for (size_t i = 0; i < N; i++) {
        largest = fmax(largest, fabs(p[i] * ((double)dy[i] - r)));
        rest += i == 3 ? 0 : p[i] * ((double)dy[i] - r);
    }
    for (size_t i = 0; i < N; i++)
        ck_assert_double_le(fabs((double)dx[i] - (i == 3 ? -rest : p[i] * ((double)dy[i] - r))),
                            2e-6 * largest);
}

START_TEST(a_softmax_that_is_nearly_sure_keeps_the_digits_of_its_slope)
{
    check_sure(10, 2e-7);
    check_sure(20, 2e-7);
    check_sure(30, 0);
}
END_TEST

ATTN_SUITE("kernels_backward", a_norm_goes_back_with_its_scale_or_with_a_constant_one,
           an_activation_goes_back_by_its_slope_or_by_its_factor, a_factor_at_zero_is_its_limit,
           a_soft_cap_goes_back_by_its_slope_or_by_its_factor,
           the_slope_of_a_cap_keeps_its_digits_where_the_cap_is_reached,
           a_rotation_goes_back_by_its_transpose, a_softmax_goes_back_by_its_slope,
           a_softmax_that_is_nearly_sure_keeps_the_digits_of_its_slope)
