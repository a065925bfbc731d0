/*
 * test_golden_arrays.c - the numbers of the articles that come from arrays of queries, keys and
 * values: masks and the three maskings, epsilon, sparse kinds, cosine, scores that are given.
 */
#include "attention/attend.h"
#include "attention/kind.h"
#include "tests/support/npy.h"
#include "tests/support/recording.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double tolerance = 2e-6; /* times max(1, |x|) */

enum { MOST_OUTPUTS = 4 };

/* What goes in, as arrays of tests/golden/FOLDER, a folder or an archive, and what must come out.
 */
struct golden {
    const char *folder;
    const char *q, *k, *v; /* NULL: scores are given */
    const char *scores;
    const char *mask; /* or NULL */
    const char *kind;
    struct attn_attention attention; /* of which `kind` sets the kind */
    struct {
        enum attn_site site;
        const char *name;
    } outputs[MOST_OUTPUTS]; /* those without a name are none */
};

#define EVERY_KEY .mask = ATTN_MASK_NONE, .is_scaled = true, .factor = 1
#define EARLIER_KEYS .mask = ATTN_MASK_CAUSAL, .is_scaled = true, .factor = 1

static const struct golden goldens[] = {
    /* The three ways of masking: -inf before the softmax, zero after it with and without
     * division. */
    {"000_causal.npz",
     "queries",
     "keys",
     "values",
     NULL,
     NULL,
     "full",
     {EVERY_KEY},
     {{ATTN_SITE_QK, "scores"},
      {ATTN_SITE_PATTERN, "weights_unmasked"},
      {ATTN_SITE_Z, "context_unmasked"}}},
    {"000_causal.npz",
     "queries",
     "keys",
     "values",
     NULL,
     NULL,
     "full",
     {EARLIER_KEYS},
     {{ATTN_SITE_PATTERN, "weights_masked_softmax"}, {ATTN_SITE_Z, "context_causal"}}},
    {"000_causal.npz",
     "queries",
     "keys",
     "values",
     NULL,
     NULL,
     "full",
     {EARLIER_KEYS, .masking = ATTN_MASKING_RENORMALIZE},
     {{ATTN_SITE_PATTERN, "weights_renormalised"}, {ATTN_SITE_Z, "context_causal"}}},
    {"000_causal.npz",
     "queries",
     "keys",
     "values",
     NULL,
     NULL,
     "full",
     {EARLIER_KEYS, .masking = ATTN_MASKING_ZERO},
     {{ATTN_SITE_PATTERN, "weights_zeroed"}, {ATTN_SITE_Z, "context_zeroed_only"}}},
#define EPSILON(number, name)                                                                      \
    {                                                                                              \
        ".", "000_causal.npz/queries", "000_causal.npz/keys", "000_causal.npz/values", NULL, NULL, \
            "full", {EVERY_KEY, .eps = (number)},                                                  \
        {                                                                                          \
            {ATTN_SITE_PATTERN, "000_epsilon.npz/eps=" name ".weights"},                           \
            {                                                                                      \
                ATTN_SITE_Z, "000_epsilon.npz/eps=" name ".context"                                \
            }                                                                                      \
        }                                                                                          \
    }
    EPSILON(0, "0"),
    EPSILON(1e-8, "1e-08"),
    EPSILON(1e-6, "1e-06"),
    EPSILON(1e-3, "0.001"),
    EPSILON(0.1, "0.1"),
    EPSILON(1, "1"),
#define SPARSE(kind, seen, name)                                                                   \
    {                                                                                              \
        "001_sparse_attention.npz", "q", "k", "v", NULL, NULL, kind, {seen},                       \
        {                                                                                          \
            {ATTN_SITE_PATTERN, name ".weights"},                                                  \
            {                                                                                      \
                ATTN_SITE_Z, name ".output"                                                        \
            }                                                                                      \
        }                                                                                          \
    }
    SPARSE("full", EVERY_KEY, "full"),
    SPARSE("window:3", EVERY_KEY, "local_w2"),
    SPARSE("window:3", EARLIER_KEYS, "causal_local_w3"),
    SPARSE("strided:4", EARLIER_KEYS, "strided_causal_4"),
    SPARSE("block:4", EVERY_KEY, "block_diag_4"),
    SPARSE("log", EARLIER_KEYS, "dilated_pow2_causal"),
    {"002_journey.npz",
     "x",
     "x",
     "x",
     NULL,
     NULL,
     "full",
     {.mask = ATTN_MASK_NONE, .factor = 1, .similarity = ATTN_SIMILARITY_COSINE},
     {{ATTN_SITE_QK, "cosine"}, {ATTN_SITE_ATTN_SCORES, "cosine"}}},
    {"002_mask4",
     NULL,
     NULL,
     NULL,
     "masked_scores_example",
     NULL,
     "full",
     {.mask = ATTN_MASK_NONE, .factor = 1},
     {{ATTN_SITE_PATTERN, "softmax_of_example"}}},
    {"003_simplified.npz",
     "x",
     "x",
     "x",
     NULL,
     NULL,
     "full",
     {.mask = ATTN_MASK_CAUSAL, .factor = 1},
     {{ATTN_SITE_ATTN_SCORES, "scores"}, {ATTN_SITE_PATTERN, "alpha"}, {ATTN_SITE_Z, "a"}}},
    {"004_score_table.npz",
     NULL,
     NULL,
     NULL,
     "scores",
     NULL,
     "full",
     {.mask = ATTN_MASK_NONE, .factor = 1},
     {{ATTN_SITE_PATTERN, "softmax"}}},
    {"004_simple_attention",
     "q",
     "k",
     "v",
     NULL,
     NULL,
     "full",
     {EVERY_KEY},
     {{ATTN_SITE_ATTN_SCORES, "scores_scaled"},
      {ATTN_SITE_PATTERN, "weights"},
      {ATTN_SITE_Z, "output"}}},
    {"004_simple_attention",
     "q",
     "k",
     "v",
     NULL,
     "causal.mask",
     "full",
     {EVERY_KEY},
     {{ATTN_SITE_PATTERN, "causal.weights"}, {ATTN_SITE_Z, "causal.output"}}},
    {"004_simple_attention",
     "q",
     "k",
     "v",
     NULL,
     "padding.mask",
     "full",
     {EVERY_KEY},
     {{ATTN_SITE_PATTERN, "padding.weights"}, {ATTN_SITE_Z, "padding.output"}}},
};
enum { N_GOLDEN = sizeof goldens / sizeof *goldens };

static struct attn_npy open_array(const char *folder, const char *name)
{
    struct attn_npy array;
    char path[160];

    snprintf(path, sizeof path, "tests/golden/%s/%s.npy", folder, name);
    ck_assert_msg(attn_npy_read(path, &array), "%s is missing", path);
    return array;
}

/* The array as [H, rows, columns], whatever leading axes it lacks. */
struct tensor {
    float *values; /* [n_head * n_row * n_col] owns; NULL: there is none */
    size_t n_head, n_row, n_col;
};

static struct tensor load(const char *folder, const char *name)
{
    struct tensor tensor = {.n_head = 1, .n_row = 1};
    struct attn_npy array;

    if (name == NULL)
        return (struct tensor){0};
    array = open_array(folder, name);
    tensor.n_col = array.shape[array.rank - 1];
    if (array.rank > 1)
        tensor.n_row = array.shape[array.rank - 2];
    if (array.rank > 2)
        tensor.n_head = array.shape[array.rank - 3];
    tensor.values = malloc(array.n * sizeof *tensor.values);
    ck_assert_ptr_nonnull(tensor.values);
    for (size_t i = 0; i < array.n; i++)
        tensor.values[i] = (float)array.values[i];
    attn_npy_release(&array);
    return tensor;
}

/* What a call of attn_attend takes; the arrays are borrowed by `args`. */
struct input {
    struct attn_attend_args args;
    struct tensor q, k, v, scores, mask;
    unsigned char *cells;
};

static void set_mask(struct input *input)
{
    struct attn_attention *attention = &input->args.attention;
    const size_t n = input->mask.n_head * input->mask.n_row * input->mask.n_col;

    if (input->mask.values == NULL)
        return;
    input->cells = malloc(n);
    ck_assert_ptr_nonnull(input->cells);
    for (size_t i = 0; i < n; i++)
        input->cells[i] = input->mask.values[i] == 1;
    attention->mask = ATTN_MASK_MATRIX;
    attention->matrix = (struct attn_mask_matrix){input->cells, input->mask.n_head,
                                                  input->mask.n_row, input->mask.n_col};
}

static void open_input(struct input *input, const struct golden *golden)
{
    struct attn_error err = {0};
    const struct tensor *first = golden->q != NULL ? &input->q : &input->scores;

    input->q = load(golden->folder, golden->q);
    input->k = load(golden->folder, golden->k);
    input->v = load(golden->folder, golden->v);
    input->scores = load(golden->folder, golden->scores);
    input->mask = load(golden->folder, golden->mask);
    input->args = (struct attn_attend_args){
        .size = sizeof(struct attn_attend_args),
        .n_head = first->n_head,
        .n_kv_head = golden->q != NULL ? input->k.n_head : first->n_head,
        .n_query = first->n_row,
        .n_key = golden->q != NULL ? input->k.n_row : first->n_col,
        .d_head = golden->q != NULL ? input->q.n_col : 1,
        .d_value = golden->q != NULL ? input->v.n_col : 1,
        .q = input->q.values,
        .k = input->k.values,
        .v = input->v.values,
        .scores = input->scores.values,
        .attention = golden->attention,
        .isa = ATTN_ISA_BEST,
    };
    ck_assert_msg(attn_attention_parse(golden->kind, &input->args.attention, &err) == ATTN_OK, "%s",
                  err.message);
    set_mask(input);
}

static void close_input(struct input *input)
{
    free(input->q.values);
    free(input->k.values);
    free(input->v.values);
    free(input->scores.values);
    free(input->mask.values);
    free(input->cells);
}

/* Where element I of [H, T, n] lies in a record, which for z is [T, H, n]. */
static size_t place(const struct attn_recorded *record, enum attn_site site, size_t i)
{
    const size_t n = record->shape[2];

    if (attn_site_layout(site) == ATTN_LAYOUT_MATRIX)
        return i;
    return (i / n % record->shape[0] * record->shape[1] + i / n / record->shape[0]) * n + i % n;
}

/* The largest error; counts the values. */
static double check_output(const struct golden *golden, enum attn_site site, const char *name,
                           const struct attn_recording *recording, size_t *n_value)
{
    const struct attn_recorded *record = attn_recording_find(recording, site, 0);
    struct attn_npy wanted = open_array(golden->folder, name);
    double worst = 0;

    ck_assert_msg(record->data != NULL && record->n == wanted.n, "%s: %s has %zu values, not %zu",
                  golden->folder, name, record->n, wanted.n);
    for (size_t i = 0; i < wanted.n; i++) {
        const double x = (double)record->data[place(record, site, i)], y = wanted.values[i];
        const double error = x == y ? 0 : fabs(x - y) / fmax(1, fabs(y));

        ck_assert_msg(error <= tolerance, "%s/%s, %s: element %zu is %.9g, expected %.17g",
                      golden->folder, name, golden->kind, i, x, y);
        worst = fmax(worst, error);
    }
    *n_value += wanted.n;
    attn_npy_release(&wanted);
    return worst;
}

static void check_golden(const struct golden *golden)
{
    struct input input = {0};
    struct attn_recording recording;
    struct attn_error err = {0};
    struct attn_dims dims;
    size_t n_value = 0;
    double worst = 0;

    open_input(&input, golden);
    dims = attn_attend_dims(&input.args);
    attn_recording_init_dims(&recording, &dims);
    input.args.trace = &recording.trace;
    ck_assert_msg(attn_attend(&input.args, &err) == ATTN_OK, "%s, %s: %s", golden->folder,
                  golden->kind, err.message);
    for (int i = 0; i < MOST_OUTPUTS && golden->outputs[i].name != NULL; i++)
        worst = fmax(worst, check_output(golden, golden->outputs[i].site, golden->outputs[i].name,
                                         &recording, &n_value));
    printf("%-24s %-28s %5zu  %.2e\n", golden->folder, golden->outputs[0].name, n_value, worst);
    attn_recording_release(&recording);
    close_input(&input);
}

START_TEST(reproduces_the_numbers_of_the_articles)
{
    printf("largest |x - f64| / max(1, |f64|), %.0e allowed\n", tolerance);
    for (int i = 0; i < N_GOLDEN; i++)
        check_golden(&goldens[i]);
}
END_TEST

ATTN_SUITE("golden arrays", reproduces_the_numbers_of_the_articles)
