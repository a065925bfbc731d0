/*
 * test_kernels_rows.c - softmax, layer norm and sums: their properties, double precision, the same
 * bits from every instruction set and for every length and alignment, and no byte out of bounds.
 */
#include "kernels/kernels.h"
#include "tests/support/near.h"
#include "tests/support/reference.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 16384 };

static float x[MOST], y[MOST], w[MOST], b[MOST];
static double wide[MOST], wide_w[MOST], wide_b[MOST], expected[MOST];

static const struct attn_kernels *best(void)
{
    return attn_kernels_find(ATTN_ISA_BEST);
}

static double total(const float *row, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)row[i];
    return sum;
}

START_TEST(softmax_of_three_numbers)
{
    float row[] = {1, 2, 3};
    const double answer[] = {0.09003057317038046, 0.24472847105479767, 0.6652409557748219};

    best()->softmax(row, 3, 3, 1);
    attn_assert_near("softmax", row, answer, 3, 1e-7);
}
END_TEST

START_TEST(softmax_rows_sum_to_one_and_match_double)
{
    double worst_sum = 0;

    for (size_t n = 1; n <= MOST; n = n < 200 ? n + 1 : n * 2)
        for (int size = 1; size <= 100; size *= 10) {
            attn_reference_fill(x, n, (float)size, n);
            attn_reference_widen(x, n, wide);
            attn_reference_softmax(wide, n, n, 0.25);
            best()->softmax(x, n, n, 0.25f);
            worst_sum = fmax(worst_sum, fabs(total(x, n) - 1));
            attn_assert_near("softmax", x, wide, n, 2e-7);
        }
    ck_assert_msg(worst_sum <= 5e-7, "a row sums to 1 + %g", worst_sum);
}
END_TEST

START_TEST(softmax_gives_a_lone_key_exactly_one)
{
    float row[] = {-INFINITY, 0.7f, -INFINITY, -INFINITY}, single[] = {-12.3f};

    best()->softmax(row, 4, 4, 0.3f);
    ck_assert(row[0] == 0 && row[1] == 1 && row[2] == 0 && row[3] == 0);
    best()->softmax(single, 1, 1, 7.7f);
    ck_assert(single[0] == 1);
}
END_TEST

START_TEST(softmax_clears_what_is_not_valid)
{
    attn_reference_fill(x, 50, 1, 1);
    x[20] = NAN; /* beyond the valid part nothing counts */
    best()->softmax(x, 20, 50, 1);
    ck_assert(fabs(total(x, 20) - 1) < 1e-6);
    for (size_t i = 20; i < 50; i++)
        ck_assert(x[i] == 0 && !signbit(x[i]));
    attn_reference_fill(x, 50, 1, 1);
    best()->softmax(x, 0, 50, 1);
    for (size_t i = 0; i < 50; i++)
        ck_assert(x[i] == 0);
}
END_TEST

START_TEST(softmax_counts_minus_infinity_as_masked_for_any_scale)
{
    const float scales[] = {1, 0, -2};

    for (size_t s = 0; s < 3; s++) {
        float row[] = {-INFINITY, 1, 1, -INFINITY, 1, 1}, none[20];

        best()->softmax(row, 6, 6, scales[s]);
        ck_assert(row[0] == 0 && row[3] == 0 && row[1] == 0.25f && row[5] == 0.25f);
        for (size_t i = 0; i < 20; i++)
            none[i] = -INFINITY;
        best()->softmax(none, 20, 20, scales[s]);
        for (size_t i = 0; i < 20; i++)
            ck_assert(none[i] == 0 && !signbit(none[i]));
    }
}
END_TEST

START_TEST(softmax_survives_huge_scores)
{
    float row[] = {3e38f, -3e38f, 3e38f, 0}, far[] = {-3e38f, -3e38f};

    best()->softmax(row, 4, 4, 1);
    ck_assert(row[0] == 0.5f && row[1] == 0 && row[2] == 0.5f && row[3] == 0);
    best()->softmax(far, 2, 2, 1);
    ck_assert(far[0] == 0.5f && far[1] == 0.5f);
}
END_TEST

START_TEST(softmax_turns_nan_and_infinity_into_nan)
{
    for (size_t n = 1; n < 40; n++)
        for (size_t at = 0; at < n; at++)
            for (int which = 0; which < 3; which++) {
                for (size_t i = 0; i < n; i++)
                    x[i] = which == 2 ? -INFINITY : 1;
                x[at] = which == 1 ? INFINITY : NAN;
                best()->softmax(x, n, n, 1);
                for (size_t i = 0; i < n; i++)
                    ck_assert_msg(isnan(x[i]), "%zu of %zu is %g", i, n, (double)x[i]);
            }
}
END_TEST

START_TEST(softmax_does_not_see_how_long_the_row_could_be)
{
    for (size_t n = 1; n < 70; n++) {
        attn_reference_fill(x, 100, 5, n);
        memcpy(y, x, 100 * sizeof *x);
        for (size_t i = n; i < 100; i++)
            y[i] = -INFINITY; /* masked instead of not valid */
        best()->softmax(x, n, 100, 1);
        best()->softmax(y, 100, 100, 1);
        attn_assert_same_bits("masked", y, x, 100);
    }
}
END_TEST

/* Softmax of x [n] in blocks of SIZE entries, as attention over blocks of keys uses it. */
static struct attn_running_softmax softmax_in_blocks(const struct attn_kernels *kernels, float *row,
                                                     size_t n, size_t size, float scale)
{
    struct attn_running_softmax running = ATTN_RUNNING_SOFTMAX_START;

    for (size_t at = 0; at < n; at += size) {
        const size_t n_here = n - at < size ? n - at : size;
        const float factor = kernels->softmax_block(row + at, n_here, n_here, scale, &running);

        for (size_t i = 0; i < at; i++)
            row[i] *= factor;
    }
    for (size_t i = 0; i < n; i++)
        row[i] *= 1 / running.sum;
    return running;
}

START_TEST(softmax_in_blocks_is_softmax)
{
    for (size_t n = 1; n <= 4096; n = n < 70 ? n + 1 : n * 2)
        for (size_t size = 1; size <= 1024; size = size * 4 + 1)
            for (int range = 1; range <= 100; range *= 10) {
                struct attn_running_softmax running;
                double max = -HUGE_VAL;

                attn_reference_fill(x, n, (float)range, n);
                attn_reference_widen(x, n, wide);
                for (size_t i = 0; i < n; i++)
                    max = fmax(max, wide[i] * 0.25);
                attn_reference_softmax(wide, n, n, 0.25);
                running = softmax_in_blocks(best(), x, n, size, 0.25f);
                attn_assert_near("softmax", x, wide, n, 3e-7);
                ck_assert((double)running.max == max && running.sum >= 1);
            }
}
END_TEST

START_TEST(softmax_of_one_block_is_softmax_bit_for_bit)
{
    for (size_t n = 1; n < 100; n++) {
        struct attn_running_softmax running = ATTN_RUNNING_SOFTMAX_START;

        attn_reference_fill(x, 100, 9, n);
        memcpy(y, x, 100 * sizeof *x);
        best()->softmax(x, n, 100, 0.3f);
        ck_assert(best()->softmax_block(y, n, 100, 0.3f, &running) == 0);
        best()->scale(y, 1 / running.sum, n, y);
        attn_assert_same_bits("one block", y, x, 100);
    }
}
END_TEST

START_TEST(blocks_with_nothing_allowed_change_nothing)
{
    struct attn_running_softmax running = ATTN_RUNNING_SOFTMAX_START;
    float none[] = {-INFINITY, -INFINITY}, some[] = {2, -INFINITY}, far[] = {-3e38f};

    ck_assert(best()->softmax_block(none, 2, 2, -1, &running) == 1);
    ck_assert(none[0] == 0 && none[1] == 0 && running.sum == 0 && running.max == -INFINITY);
    ck_assert(best()->softmax_block(none, 0, 2, 1, &running) == 1 && running.sum == 0);
    ck_assert(best()->softmax_block(some, 2, 2, 1, &running) == 0);
    ck_assert(some[0] == 1 && some[1] == 0 && running.sum == 1 && running.max == 2);
    none[0] = none[1] = -INFINITY;
    ck_assert(best()->softmax_block(none, 2, 2, 1, &running) == 1);
    ck_assert(none[0] == 0 && running.sum == 1 && running.max == 2);
    ck_assert(best()->softmax_block(far, 1, 1, 1, &running) == 1 && far[0] == 0);
}
END_TEST

START_TEST(nan_and_infinity_in_one_block_spoil_the_sum)
{
    const float bad[] = {NAN, INFINITY};

    for (size_t size = 1; size < 5; size++)
        for (size_t at = 0; at < 12; at++)
            for (int which = 0; which < 4; which++) {
                for (size_t i = 0; i < 12; i++)
                    x[i] = which < 2 ? 1 : -INFINITY;
                x[at] = bad[which % 2];
                ck_assert(isnan(softmax_in_blocks(best(), x, 12, size, 1).sum));
            }
}
END_TEST

START_TEST(layer_norm_matches_double)
{
    for (size_t n = 1; n <= 4096; n = n < 70 ? n + 1 : n * 2)
        for (int has_bias = 0; has_bias < 2; has_bias++) {
            attn_reference_fill(x, n, 3, n);
            attn_reference_fill(w, n, 2, n + 1);
            attn_reference_fill(b, n, 2, n + 2);
            for (size_t i = 0; i < n; i++)
                x[i] += 5; /* a mean far from 0 must not cancel */
            attn_reference_widen(x, n, wide);
            attn_reference_widen(w, n, wide_w);
            attn_reference_widen(b, n, wide_b);
            attn_reference_layer_norm(wide, wide_w, has_bias ? wide_b : NULL, n, 1e-5, expected);
            best()->layer_norm(x, w, has_bias ? b : NULL, n, 1e-5f, y);
            attn_assert_near("layer norm", y, expected, n, n == 2 ? 1e-4 : 4e-6);
            best()->layer_norm(x, w, has_bias ? b : NULL, n, 1e-5f, x);
            attn_assert_same_bits("in place", x, y, n);
        }
}
END_TEST

START_TEST(rms_norm_matches_double)
{
    for (size_t n = 1; n <= 4096; n = n < 70 ? n + 1 : n * 2) {
        double squares = 0;

        attn_reference_fill(x, n, 3, n);
        attn_reference_fill(w, n, 2, n + 1);
        for (size_t i = 0; i < n; i++)
            squares += (double)x[i] * (double)x[i] / (double)n;
        for (size_t i = 0; i < n; i++)
            expected[i] = (double)x[i] / sqrt(squares + 1e-5) * (double)w[i];
        best()->rms_norm(x, w, n, 1e-5f, y);
        attn_assert_near("RMSNorm", y, expected, n, 2e-6);
        best()->rms_norm(x, w, n, 1e-5f, x);
        attn_assert_same_bits("in place", x, y, n);
    }
}
END_TEST

START_TEST(layer_norm_of_equal_numbers_is_the_bias)
{
    for (size_t i = 0; i < 37; i++)
        x[i] = 2.5f, w[i] = 3, b[i] = (float)i;
    best()->layer_norm(x, w, b, 37, 1e-5f, y);
    attn_assert_same_bits("equal numbers", y, b, 37);
}
END_TEST

START_TEST(sums_add_by_index_mod_sixteen_in_a_fixed_tree)
{
    for (size_t n = 0; n < 200; n++) {
        float part[16] = {0}, sum;

        attn_reference_fill(x, n, 1, n);
        for (size_t i = 0; i < n; i++)
            part[i % 16] += x[i];
        for (size_t half = 8; half > 0; half /= 2)
            for (size_t l = 0; l < half; l++)
                part[l] += part[l + half];
        for (int isa = 0; isa <= ATTN_ISA_BEST; isa++) {
            sum = attn_kernels_find((enum attn_isa)isa)->sum(x, n);
            attn_assert_same_bits("sum", &sum, part, 1);
        }
    }
}
END_TEST

START_TEST(is_finite_finds_one_bad_number_anywhere)
{
    const float bad[] = {INFINITY, -INFINITY, NAN};

    for (size_t n = 1; n < 70; n++) {
        for (size_t i = 0; i < n; i++)
            x[i] = i % 2 ? 3.4028235e38f : -1e-45f;
        x[n] = NAN; /* just beyond */
        ck_assert(best()->is_finite(x, n));
        for (size_t at = 0; at < n; at++) {
            float good = x[at];

            x[at] = bad[at % 3];
            ck_assert(!best()->is_finite(x, n));
            x[at] = good;
        }
    }
    ck_assert(best()->is_finite(x, 0));
}
END_TEST

START_TEST(log_sum_exp_matches_double)
{
    for (size_t n = 1; n <= MOST; n = n < 70 ? n + 1 : n * 2) {
        double max = -HUGE_VAL, sum = 0;

        attn_reference_fill(x, n, 60, n);
        for (size_t i = 0; i < n; i++)
            max = fmax(max, (double)x[i]);
        for (size_t i = 0; i < n; i++)
            sum += exp((double)x[i] - max);
        ck_assert_double_eq_tol(best()->log_sum_exp(x, n, NULL), max + log(sum), 4e-14);
    }
}
END_TEST

START_TEST(log_sum_exp_of_the_infinite)
{
    float row[] = {-INFINITY, -INFINITY, 3};

    ck_assert(best()->log_sum_exp(row, 2, NULL) == -HUGE_VAL);
    ck_assert(best()->log_sum_exp(row, 0, NULL) == -HUGE_VAL);
    ck_assert(best()->log_sum_exp(row, 3, NULL) == 3);
    row[0] = INFINITY;
    ck_assert(best()->log_sum_exp(row, 3, NULL) == HUGE_VAL);
    row[1] = NAN;
    ck_assert(isnan(best()->log_sum_exp(row, 3, NULL)));
}
END_TEST

/* sum p ln(p/q) of the softmax of P and of Q, one term after the other */
static double divergence_of(const float *p, const float *q, size_t n)
{
    double p_sum = 0, q_sum = 0, sum = 0;

    for (size_t i = 0; i < n; i++)
        p_sum += exp((double)p[i]), q_sum += exp((double)q[i]);
    for (size_t i = 0; i < n; i++)
        sum += exp((double)p[i]) / p_sum * ((double)p[i] - log(p_sum) - (double)q[i] + log(q_sum));
    return sum;
}

START_TEST(divergence_matches_double)
{
    const struct attn_kernels *k = best();

    for (size_t n = 1; n <= 300; n++) {
        attn_reference_fill(x, n, 10, n);
        attn_reference_fill(w, n, 10, n + 1);
        ck_assert_double_eq_tol(
            k->divergence(x, k->log_sum_exp(x, n, NULL), w, k->log_sum_exp(w, n, NULL), n),
            divergence_of(x, w, n), 1e-12);
        ck_assert(k->divergence(x, k->log_sum_exp(x, n, NULL), x, k->log_sum_exp(x, n, NULL), n) ==
                  0);
    }
}
END_TEST

START_TEST(entropy_matches_double)
{
    const float zeros[] = {0, 1, 0, -0.0F}, below[] = {0.5F, -0.5F}, nan[] = {0.5F, NAN};
    double terms[301];

    for (size_t n = 1; n <= 300; n++) {
        double sum = 0;

        attn_reference_fill(x, n, 10, n);
        best()->softmax(x, n, n, 1);
        for (size_t i = 0; i < n; i++)
            sum -= (double)x[i] * log((double)x[i]);
        ck_assert_double_eq_tol(best()->entropy(x, n, NULL), sum, 1e-14);
        terms[n] = 7;
        ck_assert(best()->entropy(x, n, terms) == best()->entropy(x, n, NULL) && terms[n] == 7);
        for (size_t i = 0; i < n; i++)
            ck_assert_double_eq_tol(terms[i], (double)x[i] * log((double)x[i]), 1e-15);
    }
    ck_assert(best()->entropy(zeros, 4, NULL) == 0 && best()->entropy(zeros, 0, NULL) == 0);
    ck_assert(isnan(best()->entropy(below, 2, NULL)) && isnan(best()->entropy(nan, 2, NULL)));
}
END_TEST

START_TEST(divergence_of_the_infinite)
{
    const float here[] = {0, -INFINITY}, there[] = {-INFINITY, 0}, both[] = {1, 1};

    ck_assert(best()->divergence(here, 0, there, 0, 2) == HUGE_VAL);
    ck_assert(best()->divergence(here, 0, here, 0, 2) == 0); /* 0 ln 0 = 0 */
    ck_assert_double_eq_tol(best()->divergence(here, 0, both, 1 + log(2), 2), log(2), 1e-15);
}
END_TEST

/* Everything that makes a row out of rows, at SHIFT floats from an aligned place, into OUT. */
static void run_all(const struct attn_kernels *kernels, size_t n, size_t shift, float *out)
{
    float *row = out + shift;
    float *const places[] = {row,        row + 300,  row + 600, row + 900,
                             row + 1200, row + 1500, row + 1750};
    struct attn_running_softmax running = {.max = 1.5f, .sum = 2.5f};
    double lse, kl, entropy;

    memset(out, 0, 2200 * sizeof *out);
    for (int i = 0; i < 3; i++)
        memcpy(places[i], x + shift, n * sizeof *x);
    kernels->softmax(places[0], n, n, 0.37f);
    kernels->softmax(places[1], n - n / 3, n, -1.5f);
    kernels->layer_norm(x + shift, w + shift, b + shift, n, 1e-5f, places[2]);
    kernels->layer_norm(x + shift, w + shift, NULL, n, 1e-5f, places[3]);
    kernels->add(x + shift, w + shift, n, places[4]);
    kernels->scale(x + shift, 0.3f, n, places[5]);
    lse = kernels->log_sum_exp(x + shift, n, NULL);
    entropy = kernels->entropy(places[0], n, NULL);
    kl = kernels->divergence(x + shift, lse, w + shift, 1, n);
    memcpy(places[6], x + shift, n * sizeof *x);
    out[2180] = kernels->softmax_block(places[6], n - n / 4, n, 0.1f, &running);
    memcpy(out + 2182, &running, sizeof running);
    memcpy(out + 2190, &lse, sizeof lse);
    memcpy(out + 2192, &kl, sizeof kl);
    memcpy(out + 2194, &entropy, sizeof entropy);
}

START_TEST(rows_are_the_same_bits_everywhere)
{
    static float of_baseline[2200], of_other[2200];

    for (size_t n = 1; n <= 200; n++)
        for (size_t shift = 0; shift < 4; shift++) {
            attn_reference_fill(x, 300, 20, n);
            attn_reference_fill(w, 300, 2, n + 1);
            attn_reference_fill(b, 300, 2, n + 2);
            run_all(attn_kernels_find(ATTN_ISA_BASELINE), n, shift, of_baseline);
            for (int isa = ATTN_ISA_AVX2; isa <= ATTN_ISA_BEST; isa++) {
                run_all(attn_kernels_find((enum attn_isa)isa), n, shift, of_other);
                attn_assert_same_bits("row", of_other, of_baseline, 2200);
            }
        }
}
END_TEST

START_TEST(rows_are_added_up_in_double)
{
    for (size_t n = 1; n <= 70; n++)
        for (int isa = ATTN_ISA_BASELINE; isa <= ATTN_ISA_BEST; isa++) {
            const struct attn_kernels *k = attn_kernels_find((enum attn_isa)isa);
            static double first;
            double scaled[71] = {0}, sums[71] = {0}, total, sum = 0;

            attn_reference_fill(x, n, 20, n);
            scaled[0] = 3;
            total = k->add_weighted(x, n, 0.3, scaled, sums);
            first = isa == ATTN_ISA_BASELINE ? total : first;
            for (size_t i = 0; i < n; i++) {
                ck_assert(scaled[i] == (i == 0 ? 3 : 0) + 0.3 * (double)x[i] &&
                          sums[i] == (double)x[i]);
                sum += (double)x[i];
            }
            ck_assert(scaled[n] == 0 && sums[n] == 0 && total == first);
            ck_assert_double_eq_tol(total, sum, 1e-12);
            k->add_product(-0.7, 1.1, scaled, n, sums);
            for (size_t i = 0; i < n; i++)
                ck_assert(sums[i] == (double)x[i] + -0.7 * (1.1 * scaled[i]));
            ck_assert(sums[n] == 0);
        }
}
END_TEST

/* Floats that end where memory ends. */
static float *allocate_before_the_end(size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *block = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    ck_assert(block != MAP_FAILED && n * sizeof(float) <= page);
    ck_assert_int_eq(mprotect(block + page, page, PROT_NONE), 0);
    return (float *)(void *)(block + page) - n;
}

START_TEST(nothing_beyond_a_row_is_touched)
{
    enum { LONGEST = 70 };
    float *end_x = allocate_before_the_end(LONGEST) + LONGEST;
    float *end_y = allocate_before_the_end(LONGEST) + LONGEST;

    for (int isa = 0; isa <= ATTN_ISA_BEST; isa++)
        for (size_t n = 1; n < LONGEST; n++) {
            const struct attn_kernels *kernels = attn_kernels_find((enum attn_isa)isa);
            struct attn_running_softmax running = ATTN_RUNNING_SOFTMAX_START;
            float *p = end_x - n, *q = end_y - n;

            p[-1] = 1234;
            kernels->add(p, p, n, q);
            kernels->scale(p, 2, n, q);
            kernels->layer_norm(p, p, p, n, 1e-5f, q);
            kernels->rms_norm(p, p, n, 1e-5f, q);
            kernels->turn(p, n, 1, q, q);
            kernels->rotate(p, q, q, n / 2);
            kernels->gate(ATTN_ACTIVATION_SILU, q, p, n);
            kernels->soft_cap(p, n, 3);
            kernels->softmax(p, n, n, 1);
            kernels->softmax_block(p, n, n, 1, &running);
            kernels->elu_plus_one(p, n, q);
            kernels->relu_plus_tiny(p, n, q);
            kernels->exp(p, n, q);
            kernels->multiply_row(p, 1, p, n, q);
            kernels->add_outer(p, 1, p, n, q);
            kernels->activate(ATTN_ACTIVATION_GELU, p, n);
            ck_assert(kernels->is_finite(p, n) && isfinite(kernels->sum(p, n)) &&
                      isfinite(kernels->log_sum_exp(p, n, NULL)) &&
                      isfinite(kernels->divergence(p, 0, p, 1, n)));
            for (size_t size = 2; size <= 4; size += 2)
                kernels->convert((char *)end_x - n * size,
                                 size == 2 ? ATTN_DTYPE_F16 : ATTN_DTYPE_F32, n, q);
            ck_assert(p[-1] == 1234);
        }
}
END_TEST

/* Y [n_total] after AT floats that stay, and one behind that stays. */
static void check_stream(const struct attn_kernels *kernels, size_t at, size_t n, size_t n_total)
{
    for (size_t i = 0; i < n_total + at + 1; i++)
        y[i] = -7;
    kernels->stream(x + 1, n, 0.5F, n_total, y + at);
    for (size_t i = 0; i < n_total + at + 1; i++) {
        const bool is_mine = i >= at && i < at + n_total;
        const float expected_here = !is_mine ? -7 : i < at + n ? x[1 + i - at] : 0.5F;

        ck_assert_msg(y[i] == expected_here, "%s: %zu of %zu at %zu: [%zu] is %g, expected %g",
                      attn_isa_name(kernels->isa), n, n_total, at, i, (double)y[i],
                      (double)expected_here);
    }
}

START_TEST(rows_are_streamed_as_they_are_at_any_place)
{
    attn_reference_fill(x, 200, 1, 3);
    for (int isa = ATTN_ISA_BASELINE; isa <= ATTN_ISA_BEST; isa++)
        for (size_t at = 0; at < 17; at++)
            for (size_t n = 0; n < 70; n++)
                for (size_t n_total = n; n_total < n + 40; n_total += 13)
                    check_stream(attn_kernels_find((enum attn_isa)isa), at, n, n_total);
}
END_TEST

ATTN_SUITE("kernels: rows", softmax_of_three_numbers, softmax_rows_sum_to_one_and_match_double,
           softmax_gives_a_lone_key_exactly_one, softmax_clears_what_is_not_valid,
           softmax_counts_minus_infinity_as_masked_for_any_scale, softmax_survives_huge_scores,
           softmax_turns_nan_and_infinity_into_nan, softmax_does_not_see_how_long_the_row_could_be,
           softmax_in_blocks_is_softmax, softmax_of_one_block_is_softmax_bit_for_bit,
           blocks_with_nothing_allowed_change_nothing, nan_and_infinity_in_one_block_spoil_the_sum,
           layer_norm_matches_double, rms_norm_matches_double,
           layer_norm_of_equal_numbers_is_the_bias, sums_add_by_index_mod_sixteen_in_a_fixed_tree,
           is_finite_finds_one_bad_number_anywhere, log_sum_exp_matches_double,
           log_sum_exp_of_the_infinite, divergence_matches_double, entropy_matches_double,
           divergence_of_the_infinite, rows_are_the_same_bits_everywhere,
           rows_are_added_up_in_double, nothing_beyond_a_row_is_touched,
           rows_are_streamed_as_they_are_at_any_place)
