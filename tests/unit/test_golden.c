/*
 * test_golden.c - the numbers of the articles, as PyTorch and float64 give them: the product's
 * definition of right.
 */
#include "attention/kind.h"
#include "base/random.h"
#include "tests/support/expected.h"
#include "tests/support/npy.h"
#include "tests/support/open.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double tolerance = 2e-6; /* times max(1, |x|) */

struct golden {
    const char *folder; /* archive of tests/golden, without .npz */
    const char *model;
    size_t row0; /* the one row of 000_query2 is the second word's */
};

static const struct golden goldens[] = {
    {"000_embedding", "models/life-is-short", 0},
    {"000_self_attention", "tests/fixtures/golden-000-self-attention", 0},
    {"000_self_attention_noavx", "models/self-attention", 0}, /* made by init */
    {"000_query2", "tests/fixtures/golden-000-self-attention", 1},
    {"000_multi_head_1", "tests/fixtures/golden-000-multi-head-1", 0},
    {"000_multi_head_4", "tests/fixtures/golden-000-multi-head-4", 0},
    {"000_causal", "models/life-is-short", 0},
    {"002_journey", "models/your-journey", 0},
    {"002_journey_7", "tests/fixtures/golden-002-journey-7", 0},
    {"002_self_attention_linear", "tests/fixtures/golden-002-linear", 0},
    {"002_self_attention_linear_bias", "tests/fixtures/golden-002-linear-bias", 0},
    {"002_causal_attention_1024", "tests/fixtures/golden-002-causal-attention-1024", 0},
    {"001_multi_head_attention_0", "tests/fixtures/golden-001-multi-head", 0},
    {"001_multi_head_attention_1", "tests/fixtures/golden-001-multi-head", 0},
    {"002_multi_head_attention_0", "tests/fixtures/golden-002-multi-head", 0},
    {"002_multi_head_attention_1", "tests/fixtures/golden-002-multi-head", 0},
    {"003_single_head", "tests/fixtures/golden-003-one-head", 0},
    {"003_multi_head", "tests/fixtures/golden-003-two-heads", 0},
};
enum { N_GOLDEN = sizeof goldens / sizeof *goldens };

/* What one golden file came to. */
struct tally {
    const char *folder;
    double worst; /* largest |x - expected| / max(1, |expected|) */
    size_t n_value;
};

static bool is_hidden(const struct attn_expected_row *row, size_t column)
{
    return row->site == ATTN_SITE_QK && column >= row->n_visible;
}

static void check_row(void *user, const struct attn_expected_row *row)
{
    struct tally *tally = user;

    for (size_t i = 0; i < row->n; i++) {
        double x = (double)row->actual[i], wanted = row->expected[i];
        double error = fabs(x - wanted) / fmax(1, fabs(wanted));

        if (is_hidden(row, i))
            continue;
        tally->n_value++;
        if (isinf(wanted) || i >= row->n_visible)
            error = x == wanted ? 0 : (double)INFINITY;
        ck_assert_msg(error <= tolerance,
                      "%s: %s, head %d, position %zu, component %zu is %.9g, expected %.17g",
                      tally->folder, attn_site_name(row->site), row->head, row->position, i, x,
                      wanted);
        tally->worst = fmax(tally->worst, error);
    }
}

static struct tally check_golden(const struct golden *golden)
{
    struct tally tally = {.folder = golden->folder};
    struct attn_error err = {0};
    struct attn_recording recording;
    struct attn_model *model = attn_open_model(golden->model, NULL);
    char folder[128], path[160];
    size_t n;
    int32_t *ids;

    snprintf(folder, sizeof folder, "tests/golden/%s.npz", golden->folder);
    snprintf(path, sizeof path, "%s/ids.npy", folder);
    ids = attn_npy_read_ids(path, &n);
    attn_recording_init(&recording, attn_model_config(model), n);
    ck_assert_msg(attn_recording_run(&recording, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, n,
                                     &err) == ATTN_OK,
                  "%s", err.message);
    ck_assert_uint_gt(attn_expected_each(folder, &recording, golden->row0, check_row, &tally), 0);
    attn_recording_release(&recording);
    attn_model_free(model);
    free(ids);
    return tally;
}

START_TEST(reproduces_the_numbers_of_the_articles)
{
    struct tally tallies[N_GOLDEN];

    for (int i = 0; i < N_GOLDEN; i++)
        tallies[i] = check_golden(&goldens[i]);
    printf("%-32s %7s  largest |x - f64| / max(1, |f64|), %.0e allowed\n", "golden", "values",
           tolerance);
    for (int i = 0; i < N_GOLDEN; i++)
        printf("%-32s %7zu  %.2e\n", tallies[i].folder, tallies[i].n_value, tallies[i].worst);
}
END_TEST

/* One text of the batch of 002's layer, with the weights that KEEP [4, 5, 5] lets stay. */
static void check_dropout(int text, const unsigned char *keep)
{
    struct attn_model *model = attn_open_model("tests/fixtures/golden-002-multi-head", NULL);
    struct attn_attention attention = attn_model_config(model)->attention[0];
    struct attn_dims dims = attn_config_dims(attn_model_config(model), 5);
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_recording recording;
    struct attn_error err = {0};
    struct tally tally = {.folder = "002_multi_head_attention, dropout"};
    int32_t ids[5];
    char folder[64];

    attention.dropout = 0.1;
    attention.dropout_mask = (struct attn_mask_matrix){keep, 4, 5, 5};
    attn_attention_set_dims(&attention, &dims);
    options.attention = &attention;
    for (int i = 0; i < 5; i++)
        ids[i] = 5 * text + i;
    attn_recording_init_dims(&recording, &dims);
    ck_assert_msg(attn_recording_run(&recording, model, &options, ids, 5, &err) == ATTN_OK, "%s",
                  err.message);
    snprintf(folder, sizeof folder, "tests/golden/002_multi_head_attention_%d_dropout.npz", text);
    ck_assert_uint_eq(attn_expected_each(folder, &recording, 0, check_row, &tally), 3);
    printf("%-32s %7zu  %.2e\n", tally.folder, tally.n_value, tally.worst);
    attn_recording_release(&recording);
    attn_model_free(model);
}

/* The generator that drew the layer and its inputs goes on with which weights stay. */
START_TEST(dropout_goes_on_with_the_generator_of_the_weights)
{
    enum { N_LINEAR = 3 * 32 * 16 + 32 * 32 + 32, N_INPUT = 2 * 5 * 16, N_WEIGHT = 4 * 5 * 5 };
    struct attn_random random;
    unsigned char keep[2][N_WEIGHT];

    attn_random_seed(&random, 123);
    for (int i = 0; i < N_LINEAR + N_INPUT; i++)
        attn_random_u32(&random);
    for (int text = 0; text < 2; text++)
        for (int i = 0; i < N_WEIGHT; i++)
            keep[text][i] = attn_random_bernoulli(&random, 0.9);
    check_dropout(0, keep[0]);
    check_dropout(1, keep[1]);
}
END_TEST

/* Encodes TEXT with the vocabulary of DIRECTORY and compares with the ids of a golden folder. */
static void assert_ids(const char *directory, const char *text, const char *path)
{
    struct attn_source source = {.directory = directory};
    struct attn_error err = {0};
    struct attn_tokenizer *tokenizer;
    struct attn_encoding encoding = {0};
    size_t n;
    int32_t *ids = attn_npy_read_ids(path, &n);

    ck_assert_msg(attn_tokenizer_open(&source, &tokenizer, &err) == ATTN_OK, "%s", err.message);
    ck_assert_msg(attn_tokenizer_encode(tokenizer, text, strlen(text), &ATTN_ENCODE_DEFAULT,
                                        &encoding, &err) == ATTN_OK,
                  "%s", err.message);
    ck_assert_uint_eq(encoding.n, n);
    ck_assert_mem_eq(encoding.ids, ids, n * sizeof *ids);
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
    free(ids);
}

START_TEST(sentences_have_the_ids_of_the_articles)
{
    assert_ids("models/life-is-short", "Life is short, eat dessert first",
               "tests/golden/000_embedding.npz/ids.npy");
    assert_ids("models/your-journey", "Your journey starts with one step",
               "tests/golden/002_journey.npz/ids.npy");
    assert_ids("models/tiny-gpt2", "Life is short, eat dessert first",
               "tests/fixtures/tiny-gpt2/expected.npz/ids.npy");
}
END_TEST

ATTN_SUITE("golden", reproduces_the_numbers_of_the_articles,
           dropout_goes_on_with_the_generator_of_the_weights,
           sentences_have_the_ids_of_the_articles)
