/*
 * test_kernels_rotary.c - what rotary positions, gates and soft caps compute: against long double,
 * the same bits from every instruction set, and the frequencies of every type against PyTorch.
 */
#include "forward/rotary.h"
#include "kernels/kernels.h"
#include "tests/support/near.h"
#include "tests/support/reference.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { N = 4096 };

static float x[N], y[N], z[N], w[N];

static const struct attn_kernels *best(void)
{
    return attn_kernels_find(ATTN_ISA_BEST);
}

START_TEST(cosines_and_sines_are_correctly_rounded)
{
    static const float ranges[] = {1, 100, 1e4F, 1e6F, 0x1p30F};

    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
        attn_reference_fill(x, N, ranges[r], r);
        x[0] = 0;
        best()->turn(x, N, 1, y, z);
        for (size_t i = 0; i < N; i++) {
            const float cosine = (float)cosl((long double)x[i]);
            const float sine = (float)sinl((long double)x[i]);

            ck_assert_msg(y[i] == cosine && z[i] == sine, "%a turns to %a, %a, expected %a, %a",
                          (double)x[i], (double)y[i], (double)z[i], (double)cosine, (double)sine);
        }
    }
}
END_TEST

START_TEST(a_factor_multiplies_what_was_rounded)
{
    attn_reference_fill(x, N, 50, 3);
    best()->turn(x, N, 1, y, z);
    memcpy(w, y, sizeof w);
    best()->turn(x, N, 1.1386F, y, z);
    for (size_t i = 0; i < N; i++)
        ck_assert(y[i] == w[i] * 1.1386F);
}
END_TEST

/* Products and sums are rounded one by one, as PyTorch does it. */
START_TEST(pairs_are_turned)
{
    for (size_t n = 1; n < 70; n++) {
        float turned[140];

        attn_reference_fill(x, 2 * n, 3, n);
        attn_reference_fill(w, n, 6, n + 1);
        best()->turn(w, n, 1, y, z);
        for (size_t i = 0; i < n; i++) {
            const float ac = x[i] * y[i], bs = x[i + n] * z[i];
            const float bc = x[i + n] * y[i], as = x[i] * z[i];

            turned[i] = ac - bs;
            turned[i + n] = bc + as;
        }
        best()->rotate(x, y, z, n);
        attn_assert_same_bits("turned", x, turned, 2 * n);
    }
}
END_TEST

START_TEST(a_gate_multiplies_what_is_activated)
{
    for (int f = 0; f < ATTN_N_ACTIVATION; f++) {
        attn_reference_fill(x, N, 5, 1);
        attn_reference_fill(w, N, 5, 2);
        memcpy(y, x, sizeof y);
        best()->activate((enum attn_activation)f, y, N);
        for (size_t i = 0; i < N; i++)
            y[i] *= w[i];
        best()->gate((enum attn_activation)f, x, w, N);
        attn_assert_same_bits(attn_activation_name((enum attn_activation)f), x, y, N);
    }
}
END_TEST

START_TEST(a_soft_cap_is_its_formula)
{
    static double expected[N];

    for (float range = 1; range < 1e4F; range *= 10) {
        attn_reference_fill(x, N, range, 4);
        for (size_t i = 0; i < N; i++)
            expected[i] = 50 * tanh((double)x[i] / 50);
        best()->soft_cap(x, N, 50);
        attn_assert_near("soft cap", x, expected, N, 3e-7);
    }
    x[0] = -INFINITY;
    best()->soft_cap(x, 1, 50);
    ck_assert(x[0] == -INFINITY); /* it is masked */
}
END_TEST

static void run_all(const struct attn_kernels *kernels, size_t n, float *out)
{
    attn_reference_fill(out, 2 * n, 40, n);
    attn_reference_fill(out + 2 * n, n, 3000, n + 1);
    kernels->turn(out + 2 * n, n, 1.5F, out + 3 * n, out + 4 * n);
    kernels->rotate(out, out + 3 * n, out + 4 * n, n);
    kernels->rms_norm(out, out + 3 * n, n, 1e-6F, out + 5 * n);
    kernels->gate(ATTN_ACTIVATION_SILU, out + 2 * n, out, n);
    kernels->soft_cap(out, 2 * n, 30);
}

START_TEST(instruction_sets_give_the_same_bits)
{
    for (size_t n = 1; n < 200; n++) {
        run_all(attn_kernels_find(ATTN_ISA_BASELINE), n, x);
        for (int isa = ATTN_ISA_AVX2; isa <= ATTN_ISA_BEST; isa++) {
            run_all(attn_kernels_find((enum attn_isa)isa), n, y);
            attn_assert_same_bits("rotary", y, x, 6 * n);
        }
    }
}
END_TEST

/* By tests/tools/rope_frequencies.py: transformers 5.23, torch 2.13. */
static const struct {
    const char *name;
    struct attn_rope rope;
    float expected[32];
} types[] = {
    {"default",
     {.type = ATTN_ROPE_DEFAULT, .d_rotary = 24, .theta = 10000},
     {1.0F, 0.464158893F, 0.215443447F, 0.100000001F, 0.046415884F, 0.0215443484F, 0.00999999978F,
      0.00464158971F, 0.00215443433F, 0.00100000005F, 0.000464158948F, 0.000215443419F}},
    {"linear",
     {.type = ATTN_ROPE_LINEAR, .d_rotary = 24, .theta = 10000, .factor = 3},
     {0.333333343F, 0.154719636F, 0.0718144849F, 0.0333333351F, 0.0154719613F, 0.00718144933F,
      0.00333333318F, 0.00154719653F, 0.000718144758F, 0.000333333359F, 0.000154719644F,
      7.18144729e-05F}},
    {"llama3",
     {.type = ATTN_ROPE_LLAMA3,
      .d_rotary = 24,
      .theta = 5000,
      .factor = 4,
      .low_freq_factor = 1,
      .high_freq_factor = 3,
      .n_original = 24},
     {1.0F, 0.284921855F, 0.0604567751F, 0.0297301784F, 0.014620088F, 0.00718956348F,
      0.00353553402F, 0.00173863163F, 0.000854987826F, 0.000420448196F, 0.000206759316F,
      0.000101675767F}},
    {"yarn",
     {.type = ATTN_ROPE_YARN,
      .d_rotary = 24,
      .theta = 10000,
      .factor = 4,
      .is_truncated = true,
      .n_original = 24,
      .beta_fast = 32,
      .beta_slow = 1},
     {1.0F, 0.290099323F, 0.0538608618F, 0.0250000004F, 0.011603971F, 0.00538608711F,
      0.00249999994F, 0.00116039743F, 0.000538608583F, 0.000250000012F, 0.000116039737F,
      5.38608547e-05F}},
    {"yarn",
     {.type = ATTN_ROPE_YARN,
      .d_rotary = 64,
      .theta = 500000,
      .factor = 2.5,
      .is_truncated = false,
      .n_original = 4096,
      .beta_fast = 32,
      .beta_slow = 1},
     {1.0F,
      0.663601279F,
      0.440366626F,
      0.292227834F,
      0.193922758F,
      0.128687382F,
      0.0853971019F,
      0.0566696189F,
      0.035871394F,
      0.0220326316F,
      0.0134452004F,
      0.00814206805F,
      0.00488535548F,
      0.00289836107F,
      0.00169536471F,
      0.000973750721F,
      0.00056568539F,
      0.000375389558F,
      0.000249108969F,
      0.000165309015F,
      0.000109699271F,
      7.27965744e-05F,
      4.83078984e-05F,
      3.20571817e-05F,
      2.12731829e-05F,
      1.41169112e-05F,
      9.36800006e-06F,
      6.21661593e-06F,
      4.12535383e-06F,
      2.73759042e-06F,
      1.81666826e-06F,
      1.20554319e-06F}},
};

START_TEST(frequencies_are_those_of_transformers)
{
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const size_t n = types[t].rope.d_rotary / 2;

        attn_rope_find_frequencies(&types[t].rope, 0, x);
        for (size_t i = 0; i < n; i++) /* torch's own power may be off by one unit */
            ck_assert_msg(fabsf(x[i] - types[t].expected[i]) <= 0x1p-23F * x[i],
                          "%s, %zu: %a, expected %a", types[t].name, i, (double)x[i],
                          (double)types[t].expected[i]);
    }
}
END_TEST

START_TEST(rows_are_those_of_their_positions)
{
    float frequencies[4] = {1, 0.1F, 0.01F, 0.001F};
    const struct attn_rope rope = {.d_rotary = 8, .theta = 10000};
    const struct attn_rotary all = {&rope, frequencies, x, y, NULL, {0}},
                             some = {&rope, frequencies, z, w, NULL, {0}};

    attn_rotary_fill(&all, best(), 0, 100, 100, NULL);
    attn_rotary_fill(&some, best(), 37, 20, 57, NULL);
    attn_assert_same_bits("cosines", z, x + (size_t)37 * 4, (size_t)20 * 4);
    attn_assert_same_bits("sines", w, y + (size_t)37 * 4, (size_t)20 * 4);
    ck_assert(x[0] == 1 && y[0] == 0 && x[4] == cosf(1.0F));
}
END_TEST

ATTN_SUITE("kernels: rotary", cosines_and_sines_are_correctly_rounded,
           a_factor_multiplies_what_was_rounded, pairs_are_turned,
           a_gate_multiplies_what_is_activated, a_soft_cap_is_its_formula,
           instruction_sets_give_the_same_bits, frequencies_are_those_of_transformers,
           rows_are_those_of_their_positions)
