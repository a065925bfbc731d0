/* The generator gives PyTorch's numbers, bit for bit. */
#include "base/random.h"
#include "tests/support/near.h"
#include "tests/support/npy.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 123, N_MAX = 600 };

/* Array NAME of the golden numbers; fails the test when it is not there. */
static struct attn_npy read_golden(const char *name)
{
    struct attn_npy array;
    char path[128];

    snprintf(path, sizeof path, "tests/golden/%s.npy", name);
    ck_assert_msg(attn_npy_read(path, &array), "%s is missing", path);
    ck_assert_uint_le(array.n, N_MAX);
    return array;
}

static void assert_golden(const char *name, const float *x)
{
    struct attn_npy array = read_golden(name);
    float expected[N_MAX];

    for (size_t i = 0; i < array.n; i++)
        expected[i] = (float)array.values[i];
    attn_assert_same_bits(name, x, expected, array.n);
    attn_npy_release(&array);
}

START_TEST(words_are_those_of_the_twister)
{
    struct attn_npy golden = read_golden("rng_123.npz/raw_u32_first8");
    struct attn_random random;
    uint32_t word = 0;

    attn_random_seed(&random, SEED);
    for (size_t i = 0; i < golden.n; i++)
        ck_assert_uint_eq(attn_random_u32(&random), (uint32_t)golden.values[i]);
    attn_npy_release(&golden);

    /* The number that the authors' and the C++ standard's generator must give after 10000 steps. */
    attn_random_seed(&random, 5489);
    for (int i = 0; i < 10000; i++)
        word = attn_random_u32(&random);
    ck_assert_uint_eq(word, 4123659995U);
}
END_TEST

START_TEST(a_seed_counts_by_its_low_32_bits)
{
    struct attn_random narrow, wide;

    attn_random_seed(&narrow, 7);
    attn_random_seed(&wide, (1ULL << 32) + 7);
    for (int i = 0; i < 1000; i++)
        ck_assert_uint_eq(attn_random_u32(&narrow), attn_random_u32(&wide));
}
END_TEST

/* Sizes below 16, above it, with and without a rest modulo 16. */
START_TEST(tensors_are_those_of_rand_and_randn)
{
    static const struct {
        const char *shape;
        size_t n;
    } sizes[] = {{"3x2", 6}, {"3x4", 12}, {"6x3", 18}, {"4x5", 20}, {"8x3", 24}, {"100", 100}};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct attn_random random;
        float x[N_MAX];
        char name[64];

        attn_random_seed(&random, SEED);
        attn_random_fill_uniform(&random, x, sizes[i].n, 0, 1);
        snprintf(name, sizeof name, "rng_123.npz/rand_%s", sizes[i].shape);
        assert_golden(name, x);
        attn_random_seed(&random, SEED);
        attn_random_fill_normal(&random, x, sizes[i].n, 0, 1);
        snprintf(name, sizeof name, "rng_123.npz/randn_%s", sizes[i].shape);
        assert_golden(name, x);
    }
}
END_TEST

START_TEST(a_normal_number_is_left_over_for_the_next_tensor)
{
    struct attn_random random;
    float x[6], other[6];

    attn_random_seed(&random, SEED);
    attn_random_fill_normal(&random, x, 3, 0, 1);
    attn_random_fill_normal(&random, x + 3, 3, 0, 1);
    assert_golden("rng_123.npz/randn_3_then_3", x);

    /* It survives uniform numbers in between, but no seed. */
    attn_random_seed(&random, SEED);
    attn_random_fill_normal(&random, other, 3, 0, 1);
    attn_random_u32(&random);
    attn_random_fill_normal(&random, other + 3, 1, 0, 1);
    attn_assert_same_bits("after a word", other, x, 4);
    attn_random_seed(&random, SEED);
    attn_random_fill_normal(&random, other, 1, 0, 1);
    attn_random_seed(&random, SEED);
    attn_random_fill_normal(&random, other, 1, 0, 1);
    attn_assert_same_bits("after a seed", other, x, 1);
}
END_TEST

START_TEST(mean_and_deviation_move_and_stretch)
{
    static const size_t sizes[] = {5, 16, 37};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct attn_random random;
        float x[37], y[37];
        double expected[37];

        attn_random_seed(&random, SEED);
        attn_random_fill_normal(&random, x, sizes[i], 0, 1);
        attn_random_seed(&random, SEED);
        attn_random_fill_normal(&random, y, sizes[i], -3, 0.25F);
        for (size_t k = 0; k < sizes[i]; k++)
            expected[k] = (double)x[k] * 0.25 - 3;
        attn_assert_near("moved", y, expected, sizes[i], 1e-7);
    }
}
END_TEST

/* The golden ones are those of a torch with AVX2, which rounds u * width + from once. */
static void assert_linear(const char *name, const float *x)
{
    struct attn_npy array = read_golden(name);

    attn_assert_near(name, x, array.values, array.n, 6e-8);
    attn_npy_release(&array);
}

START_TEST(linear_layers_begin_as_in_torch)
{
    struct attn_random random;
    float weight[N_MAX], bias[8];

    attn_random_seed(&random, SEED);
    attn_random_fill_linear(&random, weight, NULL, 2, 3);
    assert_linear("rng_123.npz/linear_3_2_weight", weight);
    attn_random_seed(&random, SEED);
    attn_random_fill_linear(&random, weight, bias, 5, 7);
    assert_linear("rng_123.npz/linear_7_5_weight", weight);
    assert_linear("rng_123.npz/linear_7_5_bias", bias);
    attn_random_seed(&random, SEED);
    attn_random_fill_linear(&random, weight, NULL, 32, 16);
    assert_linear("rng_123.npz/linear_16_32_weight", weight);
}
END_TEST

START_TEST(permutations_are_those_of_randperm)
{
    struct attn_npy golden = read_golden("rng_123.npz/randperm_10");
    struct attn_random random;
    size_t order[10];

    attn_random_seed(&random, SEED);
    attn_random_permutation(&random, order, golden.n);
    for (size_t i = 0; i < golden.n; i++)
        ck_assert_uint_eq(order[i], (size_t)golden.values[i]);
    attn_npy_release(&golden);
    attn_random_permutation(&random, order, 0);
}
END_TEST

/* The first row of 50000 x 3 is far from the tail that is drawn anew: the article's table. */
START_TEST(the_embedding_of_the_article_is_row_0_to_5_of_50000)
{
    enum { N_ROW = 50000, D = 3 };
    static const int32_t ids[] = {0, 4, 5, 2, 1, 3};
    static float table[N_ROW * D];
    struct attn_random random;
    float x[6 * D];

    attn_random_seed(&random, SEED);
    attn_random_fill_normal(&random, table, N_ROW * D, 0, 1);
    for (size_t i = 0; i < 6; i++)
        memcpy(x + i * D, table + ids[i] * D, D * sizeof *x);
    assert_golden("000_embedding.npz/embedded_noavx", x);
}
END_TEST

START_TEST(doubles_have_53_bits_and_decide_what_dropout_keeps)
{
    enum { N = 20000 };
    struct attn_random random, same;
    double sum = 0;
    int n_kept = 0;

    attn_random_seed(&random, SEED);
    same = random;
    for (int i = 0; i < N; i++) {
        uint64_t high = attn_random_u32(&same), low = attn_random_u32(&same);
        double u = attn_random_double(&random);

        ck_assert(u >= 0 && u < 1);
        ck_assert(u == ldexp((double)(((high & 0x1fffff) << 32) + low), -53));
        sum += u;
    }
    ck_assert(fabs(sum / N - 0.5) < 0.01);
    for (int i = 0; i < N; i++)
        n_kept += attn_random_bernoulli(&random, 0.9);
    ck_assert(abs(n_kept - 9 * N / 10) < N / 100);
}
END_TEST

ATTN_SUITE("random", words_are_those_of_the_twister, a_seed_counts_by_its_low_32_bits,
           tensors_are_those_of_rand_and_randn, a_normal_number_is_left_over_for_the_next_tensor,
           mean_and_deviation_move_and_stretch, linear_layers_begin_as_in_torch,
           permutations_are_those_of_randperm, the_embedding_of_the_article_is_row_0_to_5_of_50000,
           doubles_have_53_bits_and_decide_what_dropout_keeps)
