/*
 * test_experiments.c - the experiments against tests/golden/experiments, which make_experiments.py
 * computes from the definitions in float64: GPT-2, our own type with grouped heads, and families
 * with rotary positions, a parallel residual, norms behind and soft caps.
 */
#include "base/random.h"
#include "extra.h"
#include "frame/parts.h"
#include "run/prepared_extra.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/column.h"
#include "tests/support/kept.h"
#include "tests/support/npy.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Directories, and the archive of each. */
static const struct {
    const char *directory, *name;
} models[] = {
    {"models/tiny-gpt2", "tiny-gpt2"},
    {"tests/fixtures/attn-grouped", "attn-grouped"},
    {"tests/fixtures/attn-mlp", "attn-mlp"},
    {"tests/fixtures/family-gpt-neox-parallel", "family-gpt-neox-parallel"},
    {"tests/fixtures/family-gemma2", "family-gemma2"},
    {"tests/fixtures/family-qwen3", "family-qwen3"},
    {"tests/fixtures/family-olmo2", "family-olmo2"},
};
enum { N_MODEL = sizeof models / sizeof *models, N_LONG = 1100 };

/* A model with its questions. */
struct fixture {
    const char *name;
    struct attn_host *host;
    struct attn_request request;
    int32_t *ids, *corrupted, *answer; /* answer: the target, the foil */
    struct attn_error err;
};

static bool read_golden(const struct fixture *f, const char *array, struct attn_npy *golden)
{
    char path[256];

    snprintf(path, sizeof path, "tests/golden/experiments/%s.npz/%s.npy", f->name, array);
    return attn_npy_read(path, golden);
}

static int32_t *read_ids(const struct fixture *f, const char *array, size_t *n)
{
    char path[256];

    snprintf(path, sizeof path, "tests/golden/experiments/%s.npz/%s.npy", f->name, array);
    return attn_npy_read_ids(path, n);
}

static void fixture_open(struct fixture *f, size_t model)
{
    size_t n;

    *f = (struct fixture){.name = models[model].name, .request = ATTN_REQUEST_DEFAULT};
    ck_assert_msg(attn_host_open(models[model].directory, NULL, &f->host, &f->err) == ATTN_OK,
                  "%s: %s", f->name, f->err.message);
    f->ids = read_ids(f, "ids", &f->request.input.n_id);
    f->corrupted = read_ids(f, "corrupted", &n);
    f->answer = read_ids(f, "answer", &n);
    f->request.input.ids = f->ids;
}

static void fixture_close(struct fixture *f)
{
    attn_host_free(f->host);
    free(f->ids);
    free(f->corrupted);
    free(f->answer);
}

static struct attn_answer_args answer_of(const struct fixture *f)
{
    return (struct attn_answer_args){.target_id = &f->answer[0], .foil_id = &f->answer[1]};
}

static double number_at(const struct attn_table *table, size_t row, const char *name)
{
    const struct attn_cell cell = attn_test_cell(table, row, name);

    switch (cell.type) {
    case ATTN_VALUE_REAL:
        return cell.real;
    case ATTN_VALUE_INTEGER:
    case ATTN_VALUE_BOOLEAN:
        return (double)cell.integer;
    default:
        return (double)NAN;
    }
}

/* Whether a number is the golden one: float32 and its rounding on the way lie between. */
static void assert_near(const struct fixture *f, const char *what, size_t row, double actual,
                        double expected)
{
    ck_assert_msg((isnan(actual) && isnan(expected)) ||
                      fabs(actual - expected) <= 1e-5 * fmax(1, fabs(expected)),
                  "%s: %s of row %zu is %.9g, expected %.9g", f->name, what, row, actual, expected);
}

/* Rows FIRST and on of column NAME against column COLUMN of the array WHAT [n, ...]. */
static void compare_column(const struct fixture *f, const struct attn_table *table, size_t first,
                           const char *name, const char *what, size_t column)
{
    struct attn_npy golden;

    ck_assert_msg(read_golden(f, what, &golden), "%s has no '%s'", f->name, what);
    const size_t width = golden.rank == 2 ? golden.shape[1] : 1;

    for (size_t row = 0; row < golden.n / width; row++)
        assert_near(f, what, row, number_at(table, first + row, name),
                    golden.values[row * width + column]);
    attn_npy_release(&golden);
}

/* --- Scores ----------------------------------------------------------------------------------- */

static void score_all(struct fixture *f)
{
    struct attn_table *table;
    struct attn_score_sum sum = ATTN_SCORE_SUM_DEFAULT;

    ck_assert_msg(attn_score(f->host, &f->request, NULL, &table, &sum, &f->err) == ATTN_OK, "%s",
                  f->err.message);
    compare_column(f, table, 0, "nats", "score", 0);
    compare_column(f, table, 0, "rank", "score", 1);
    compare_column(f, table, 0, "top_prob", "score", 3);
    ck_assert_uint_eq(sum.n_token, f->request.input.n_id - 1);
    attn_table_free(table);
}

/* A window is a text by itself: the scores are those of its run. */
static void score_in_windows(struct fixture *f)
{
    struct attn_score_args args = ATTN_SCORE_ARGS_DEFAULT;
    const size_t n_ctx = attn_model_config(attn_host_model(f->host))->n_ctx;
    int32_t ids[200];
    struct attn_table *table, *window;
    struct attn_score_sum sum = ATTN_SCORE_SUM_DEFAULT;

    if (n_ctx > 100)
        return;
    for (size_t i = 0; i < 2 * n_ctx; i++)
        ids[i] = f->ids[(i * i + i) % f->request.input.n_id];
    f->request.input = (struct attn_input){.ids = ids, .n_id = 2 * n_ctx};
    args.stride = 3;
    ck_assert(attn_score(f->host, &f->request, &args, &table, &sum, &f->err) == ATTN_OK);
    ck_assert_uint_eq(sum.n_token, 2 * n_ctx - 1);
    for (size_t begin = 0; begin + n_ctx <= 2 * n_ctx; begin += 3) {
        f->request.input = (struct attn_input){.ids = ids + begin, .n_id = n_ctx};
        ck_assert(attn_score(f->host, &f->request, NULL, &window, &sum, &f->err) == ATTN_OK);
        for (size_t i = begin == 0 ? 1 : n_ctx - 3; i < n_ctx; i++)
            ck_assert_double_eq(number_at(table, begin + i, "nats"), number_at(window, i, "nats"));
        attn_table_free(window);
    }
    attn_table_free(table);
    f->request.input.ids = ids;
    f->request.input.n_id = 2 * n_ctx;
    ck_assert(attn_score(f->host, &f->request, NULL, &table, &sum, NULL) == ATTN_INVALID);
}

/* --- The lens --------------------------------------------------------------------------------- */

static void read_with_the_lens(struct fixture *f)
{
    struct attn_lens_args args = ATTN_LENS_ARGS_DEFAULT;
    struct attn_table *table;

    args.answer.target_id = &f->answer[0];
    ck_assert_msg(attn_lens(f->host, &f->request, &args, &table, &f->err) == ATTN_OK, "%s",
                  f->err.message);
    compare_column(f, table, 0, "target_rank", "lens", 0);
    compare_column(f, table, 0, "prob", "lens", 1);
    compare_column(f, table, 0, "logit", "lens", 2);
    attn_table_free(table);
}

static void read_heads_with_the_lens(struct fixture *f)
{
    struct attn_lens_args args = ATTN_LENS_ARGS_DEFAULT;
    struct attn_table *table;
    struct attn_npy golden;

    args.answer.target_id = &f->answer[0];
    args.reads_heads = true;
    ck_assert(attn_lens(f->host, &f->request, &args, &table, &f->err) == ATTN_OK);
    ck_assert(read_golden(f, "lens_of_heads", &golden));
    ck_assert_uint_eq(attn_table_n_row(table), golden.n);
    for (size_t row = 0; row < golden.n; row++)
        assert_near(f, "lens_of_heads", row, number_at(table, row, "logit"), golden.values[row]);
    attn_npy_release(&golden);
    attn_table_free(table);
}

/* The last reading is what the model says, to the bit. */
static void compare_lens_with_run(struct fixture *f)
{
    struct attn_result result = {0};
    struct attn_table *table, *top, *next;
    struct attn_error err = {0};

    ck_assert(attn_lens(f->host, &f->request, NULL, &table, &err) == ATTN_OK);
    f->request.predict.top = 3;
    ck_assert(attn_run_request(f->host, &f->request, &result, &err) == ATTN_OK);
    ck_assert(attn_result_tables(&result, &top, &next, &err) == ATTN_OK);
    for (size_t i = 0; i < 3; i++) {
        const size_t row = attn_table_n_row(table) - 3 + i;

        ck_assert_double_eq(number_at(table, row, "id"), number_at(top, i, "id"));
        ck_assert_double_eq(number_at(table, row, "prob"), number_at(top, i, "prob"));
    }
    attn_table_free(table);
    attn_table_free(top);
    attn_table_free(next);
    attn_result_release(&result);
}

/* NAMES [N] of TABLE and their NAME_sd against the array WHAT [n_row, N, 2]. */
static void compare_means(const struct fixture *f, const struct attn_table *table,
                          const char *const *names, size_t n, const char *what)
{
    struct attn_npy golden;

    ck_assert_msg(read_golden(f, what, &golden), "%s has no '%s'", f->name, what);
    ck_assert_uint_eq(attn_table_n_row(table) * n * 2, golden.n);
    for (size_t row = 0; row < attn_table_n_row(table); row++) {
        for (size_t i = 0; i < n; i++) {
            const double *expected = golden.values + (row * n + i) * 2;
            char deviation[32];

            snprintf(deviation, sizeof deviation, "%s_sd", names[i]);
            assert_near(f, names[i], row, number_at(table, row, names[i]), expected[0]);
            assert_near(f, deviation, row, number_at(table, row, deviation), expected[1]);
        }
        ck_assert_double_eq(number_at(table, row, "n"), 2);
    }
    attn_npy_release(&golden);
}

/* Makes STUDY one of the texts INPUTS [n], for one experiment. The caller frees its items. */
static enum attn_status begin_study(const struct attn_input *inputs, size_t n,
                                    struct attn_study_args *study, struct attn_error *err)
{
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;

    options.inputs = inputs;
    options.n_input = n;
    *study = ATTN_STUDY_ARGS_DEFAULT;
    return attn_items_open(&options, &study->items, err);
}

static struct attn_study_args study_of(const struct attn_input *inputs, size_t n)
{
    struct attn_study_args study;

    ck_assert(begin_study(inputs, n, &study, NULL) == ATTN_OK);
    return study;
}

/* Two texts of different lengths, each read at positions 1 and -1. */
static void read_texts_with_the_lens(struct fixture *f)
{
    static const char *const of_target[] = {"target_rank", "prob", "logit"},
                             *const of_place[] = {"prob"},
                             *const of_head[] = {"target_rank", "logit"};
    const struct attn_input texts[] = {f->request.input, {.ids = f->corrupted, .n_id = 6}};
    struct attn_study_args study = study_of(texts, 2);
    struct attn_lens_args args = ATTN_LENS_ARGS_DEFAULT;
    struct attn_table *table;

    args.study = &study;
    f->request.selection.queries.text = "1,-1";
    ck_assert_msg(attn_lens(f->host, &f->request, &args, &table, &f->err) == ATTN_OK, "%s",
                  f->err.message);
    compare_means(f, table, of_place, 1, "lens_texts_places");
    attn_table_free(table);
    attn_items_free(study.items);
    study = study_of(texts, 2);
    args.answer.target_id = &f->answer[0];
    ck_assert(attn_lens(f->host, &f->request, &args, &table, &f->err) == ATTN_OK);
    compare_means(f, table, of_target, 3, "lens_texts");
    attn_table_free(table);
    attn_items_free(study.items);
    study = study_of(texts, 2);
    args.reads_heads = true;
    ck_assert(attn_lens(f->host, &f->request, &args, &table, &f->err) == ATTN_OK);
    compare_means(f, table, of_head, 2, "lens_texts_heads");
    attn_table_free(table);
    attn_items_free(study.items);
}

/* --- Attribution ------------------------------------------------------------------------------ */

static void attribute_all(struct fixture *f)
{
    struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;
    struct attn_table *table;
    double largest = 0;
    size_t n;

    args.answer = answer_of(f);
    ck_assert_msg(attn_attribute(f->host, &f->request, &args, &table, &f->err) == ATTN_OK, "%s",
                  f->err.message);
    n = attn_table_n_row(table);
    compare_column(f, table, 0, "attribution", "attribute", 0);
    for (size_t row = 0; row + 2 < n; row++)
        largest = fmax(largest, fabs(number_at(table, row, "attribution")));
    ck_assert_double_le(
        fabs(number_at(table, n - 2, "attribution") - number_at(table, n - 1, "attribution")),
        1e-4 * largest);
    attn_table_free(table);
}

/* What a head reads from all keys is what it writes. */
static void attribute_by_token(struct fixture *f)
{
    struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;
    double sums[64] = {0};
    const size_t n_head = attn_model_config(attn_host_model(f->host))->n_head;
    struct attn_table *parts, *keys;

    args.answer = answer_of(f);
    args.answer.at.text = "4";
    ck_assert(attn_attribute(f->host, &f->request, &args, &parts, &f->err) == ATTN_OK);
    args.by = ATTN_ATTRIBUTE_BY_TOKEN;
    args.n_most = 9999;
    ck_assert(attn_attribute(f->host, &f->request, &args, &keys, &f->err) == ATTN_OK);
    for (size_t row = 0; row < attn_table_n_row(keys); row++) {
        ck_assert_double_le(number_at(keys, row, "key"), 4);
        sums[(size_t)number_at(keys, row, "layer") * n_head +
             (size_t)number_at(keys, row, "head")] += number_at(keys, row, "attribution");
    }
    for (size_t row = 0; row < attn_table_n_row(parts); row++) {
        const double head = number_at(parts, row, "head");

        if (!isnan(head))
            assert_near(f, "keys of a head", row,
                        sums[(size_t)number_at(parts, row, "layer") * n_head + (size_t)head],
                        number_at(parts, row, "attribution"));
    }
    attn_table_free(parts);
    attn_table_free(keys);
}

/* --- Generation ------------------------------------------------------------------------------- */

/* Each token is the most probable one of a run over all before it. */
static void generate_greedily(struct fixture *f)
{
    struct attn_generate_args args = ATTN_GENERATE_ARGS_DEFAULT;
    struct attn_generation made = ATTN_GENERATION_DEFAULT;

    args.n_most = 4;
    f->request.input.n_id -= 3; /* one model takes no more */
    ck_assert_msg(attn_generate(f->host, &f->request, &args, &made, &f->err) == ATTN_OK, "%s",
                  f->err.message);
    f->request.predict.top = 1;
    for (size_t i = 0; i < made.n; i++) {
        struct attn_result result = {0};

        f->request.input = (struct attn_input){.ids = made.ids, .n_id = made.n_prompt + i};
        ck_assert(attn_run_request(f->host, &f->request, &result, &f->err) == ATTN_OK);
        ck_assert_int_eq(made.ids[made.n_prompt + i], result.predictions.top[0].id);
        assert_near(f, "log-probability", i, made.log_probs[i],
                    log(result.predictions.top[0].prob));
        attn_result_release(&result);
    }
    attn_generation_release(&made);
}

/* Over many seeds the first token comes as often as it is probable. */
static void generate_by_chance(struct fixture *f)
{
    enum { N_DRAW = 400 };
    struct attn_generate_args args = ATTN_GENERATE_ARGS_DEFAULT;
    const struct attn_config *config = attn_model_config(attn_host_model(f->host));
    struct attn_result result = {0};
    double p, n_first = 0;

    f->request.input.n_id--; /* one model takes no more */
    f->request.predict.top = 1;
    ck_assert(attn_run_request(f->host, &f->request, &result, &f->err) == ATTN_OK);
    p = result.predictions.top[0].prob;
    f->request.predict.top = 0;
    args.n_most = 1;
    args.temperature = 1;
    for (args.seed = 0; args.seed < N_DRAW; args.seed++) {
        struct attn_generation made = ATTN_GENERATION_DEFAULT;

        ck_assert(attn_generate(f->host, &f->request, &args, &made, &f->err) == ATTN_OK);
        if (made.n == 1) /* else it was the end of the text */
            n_first += made.ids[made.n_prompt] == result.predictions.top[0].id;
        else
            n_first += config->end_ids[0] == result.predictions.top[0].id;
        attn_generation_release(&made);
    }
    ck_assert_double_le(fabs(n_first - N_DRAW * p), 4 * sqrt(N_DRAW * p * (1 - p)) + 1);
    attn_result_release(&result);
}

/* --- Differences ------------------------------------------------------------------------------ */

static struct attn_request corrupted_of(const struct fixture *f)
{
    struct attn_request request = f->request;

    request.input = (struct attn_input){.ids = f->corrupted, .n_id = f->request.input.n_id};
    return request;
}

static void differ(struct fixture *f)
{
    const struct attn_request corrupted = corrupted_of(f);
    struct attn_diff_args args = ATTN_DIFF_ARGS_DEFAULT;
    struct attn_diff_sum sum = ATTN_DIFF_SUM_DEFAULT;
    struct attn_table *table;

    args.request = &corrupted;
    ck_assert_msg(attn_diff(f->host, &f->request, &args, &table, &sum, &f->err) == ATTN_OK, "%s",
                  f->err.message);
    ck_assert_uint_eq(sum.n_same, 2); /* ids 2 and 5 differ */
    compare_column(f, table, 0, "tv", "diff", 0);
    compare_column(f, table, 0, "tv_max", "diff", 1);
    compare_column(f, table, 0, "position", "diff", 2);
    compare_column(f, table, 0, "js", "diff", 3);
    attn_table_free(table);
}

static void differ_from_itself(struct fixture *f)
{
    struct attn_diff_sum sum = ATTN_DIFF_SUM_DEFAULT;
    struct attn_table *table;

    ck_assert(attn_diff(f->host, &f->request, NULL, &table, &sum, &f->err) == ATTN_OK);
    ck_assert_uint_eq(sum.n_same, 0);
    ck_assert_uint_eq(sum.n_row, f->request.input.n_id);
    for (size_t row = 0; row < attn_table_n_row(table); row++) {
        ck_assert_double_eq(number_at(table, row, "tv_max"), 0);
        ck_assert_double_eq(number_at(table, row, "js"), 0);
    }
    attn_table_free(table);
}

/* A token more: what comes before it is the same, and its end is compared. */
static void differ_in_length(struct fixture *f)
{
    int32_t ids[16];
    const size_t n = f->request.input.n_id - 1;
    struct attn_request shorter = f->request;
    struct attn_diff_args args = ATTN_DIFF_ARGS_DEFAULT;
    struct attn_diff_sum sum = ATTN_DIFF_SUM_DEFAULT;
    struct attn_table *table;

    for (size_t i = 0; i < n; i++) /* without the token at 3 */
        ids[i] = f->ids[i < 3 ? i : i + 1];
    shorter.input = (struct attn_input){.ids = ids, .n_id = n};
    args.request = &shorter;
    ck_assert_msg(attn_diff(f->host, &f->request, &args, &table, &sum, &f->err) == ATTN_OK, "%s",
                  f->err.message);
    ck_assert(sum.is_aligned);
    ck_assert_uint_eq(sum.n_same, 3);
    ck_assert_uint_eq(sum.n_row, n - 3);
    for (size_t row = 0; row < attn_table_n_row(table); row++) {
        ck_assert_double_le(number_at(table, row, "tv_max"), 1 + 1e-6);
        ck_assert_double_ge(number_at(table, row, "position"), 4);
    }
    attn_table_free(table);
}

/* --- Ablation --------------------------------------------------------------------------------- */

/* Ablates PARTS, and compares the rows with the array NAME, which some models lack. */
static void ablate_parts(struct fixture *f, enum attn_ablate_by parts, enum attn_replacement with,
                         const char *name)
{
    static const char *const hows[] = {[ATTN_REPLACEMENT_ZERO] = "zero",
                                       [ATTN_REPLACEMENT_MEAN] = "mean",
                                       [ATTN_REPLACEMENT_UNIFORM] = "uniform"};
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_ablate_sum sum = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_table *table;
    struct attn_npy golden;
    size_t n_each = 1; /* rows that the first part changes for a position */
    char array[64];

    snprintf(array, sizeof array, "ablate_%s_%s", name, hows[with]);
    if (!read_golden(f, array, &golden))
        return;
    attn_npy_release(&golden);
    args.answer = answer_of(f);
    args.by = parts;
    args.layer = 1;
    args.replacement = with;
    ck_assert_msg(attn_ablate(f->host, &f->request, &args, &table, &sum, &f->err) == ATTN_OK, "%s",
                  f->err.message);
    compare_column(f, table, 0, "value", "ablate_base", 0);
    compare_column(f, table, 1, "value", array, 0);
    compare_column(f, table, 1, "kl", array, 1);
    compare_column(f, table, 1, "same_top", array, 2);
    if (parts == ATTN_ABLATE_BY_LAYER && strstr(sum.sites, "and"))
        n_each = 2;
    else if (parts == ATTN_ABLATE_BY_ATTN && with == ATTN_REPLACEMENT_UNIFORM)
        n_each = attn_model_config(attn_host_model(f->host))->n_head;
    ck_assert_uint_eq(sum.n_row, f->request.input.n_id * n_each);
    attn_table_free(table);
}

static void ablate_all(struct fixture *f)
{
    ablate_parts(f, ATTN_ABLATE_BY_HEAD, ATTN_REPLACEMENT_ZERO, "heads");
    ablate_parts(f, ATTN_ABLATE_BY_HEAD, ATTN_REPLACEMENT_MEAN, "heads");
    ablate_parts(f, ATTN_ABLATE_BY_HEAD, ATTN_REPLACEMENT_UNIFORM, "heads");
    ablate_parts(f, ATTN_ABLATE_BY_ATTN, ATTN_REPLACEMENT_ZERO, "attn");
    ablate_parts(f, ATTN_ABLATE_BY_ATTN, ATTN_REPLACEMENT_UNIFORM, "attn");
    ablate_parts(f, ATTN_ABLATE_BY_ATTN, ATTN_REPLACEMENT_MEAN, "attn");
    ablate_parts(f, ATTN_ABLATE_BY_MLP, ATTN_REPLACEMENT_ZERO, "mlp");
    ablate_parts(f, ATTN_ABLATE_BY_MLP, ATTN_REPLACEMENT_MEAN, "mlp");
    ablate_parts(f, ATTN_ABLATE_BY_LAYER, ATTN_REPLACEMENT_ZERO, "layers");
    ablate_parts(f, ATTN_ABLATE_BY_LAYER, ATTN_REPLACEMENT_MEAN, "layers");
    ablate_parts(f, ATTN_ABLATE_BY_NEURON, ATTN_REPLACEMENT_ZERO, "neurons");
}

enum { MOST_CHANGES = 64 };

/* Runs that go side by side from the layer of their change have the bits of those from the start,
 * each by itself. FIRST: what they begin with. */
static void restart_many(struct fixture *f, enum attn_answer_metric metric, const char *at,
                         enum attn_site first)
{
    const struct attn_config *config = attn_model_config(attn_host_model(f->host));
    struct attn_answer_args args = answer_of(f);
    struct attn_edit edits[MOST_CHANGES];
    struct attn_trial_change changes[MOST_CHANGES];
    struct attn_trial_outcome side_by_side[MOST_CHANGES], alone[MOST_CHANGES];
    struct attn_trials trials;
    struct attn_answer answer;
    struct attn_run *run;
    size_t n = 0;

    args.metric = metric, args.at.text = at;
    ck_assert(attn_run_prepare(f->host, &f->request, &run, &f->err) == ATTN_OK);
    ck_assert(attn_run_find_answer(run, &args, &answer, &f->err) == ATTN_OK);
    ck_assert(attn_trials_start(run, &answer, first, &trials, &f->err) == ATTN_OK);
    for (int layer = (int)config->n_layer - 1; layer >= 0; layer--)
        for (int head = 0; head < (int)config->n_head && n < MOST_CHANGES - 1; head++) {
            edits[n] = ATTN_EDIT_DEFAULT;
            edits[n].at.site = ATTN_SITE_Z;
            edits[n].at.layer = layer, edits[n].at.head = head;
            edits[n].row0 = n % 2;
            changes[n] = (struct attn_trial_change){n, 1};
            n++;
        }
    changes[n++] = (struct attn_trial_change){0, 0};
    ck_assert(trials.can_skip);
    ck_assert(attn_trials_perform(&trials, edits, changes, n, side_by_side, &f->err) == ATTN_OK);
    trials.can_skip = false;
    ck_assert(attn_trials_perform(&trials, edits, changes, n, alone, &f->err) == ATTN_OK);
    for (size_t i = 0; i < n; i++) {
        ck_assert_double_eq(side_by_side[i].reply.value, alone[i].reply.value);
        ck_assert_double_eq(side_by_side[i].reply.kl, alone[i].reply.kl);
        ck_assert_int_eq(side_by_side[i].reply.first, alone[i].reply.first);
        ck_assert_uint_eq(side_by_side[i].n_row, alone[i].n_row);
    }
    ck_assert_double_eq(side_by_side[n - 1].reply.value, trials.base.value);
    ck_assert_double_ne(side_by_side[0].reply.value, trials.base.value);
    attn_trials_release(&trials);
    attn_run_free(run);
}

static void restart_all(struct fixture *f)
{
    restart_many(f, ATTN_ANSWER_LOG_PROB, NULL, ATTN_SITE_Z);
    restart_many(f, ATTN_ANSWER_LOG_PROB, NULL, ATTN_SITE_QK);
    restart_many(f, ATTN_ANSWER_LOG_PROB, "1", ATTN_SITE_Z);
    restart_many(f, ATTN_ANSWER_CE, NULL, ATTN_SITE_Z);
}

/* A run that begins at the layer of its change has the bits of one from the start. */
static void restart(struct fixture *f)
{
    const struct attn_answer_args args = answer_of(f);
    struct attn_edit edit = ATTN_EDIT_DEFAULT;
    const struct attn_trial_change change = {0, 1};
    struct attn_trial_outcome late, whole;
    struct attn_trials trials;
    struct attn_answer answer;
    struct attn_run *run;

    ck_assert(attn_run_prepare(f->host, &f->request, &run, &f->err) == ATTN_OK);
    ck_assert(attn_run_find_answer(run, &args, &answer, &f->err) == ATTN_OK);
    ck_assert(attn_trials_start(run, &answer, ATTN_SITE_Z, &trials, &f->err) == ATTN_OK);
    edit.at.site = ATTN_SITE_Z;
    edit.at.layer = 1;
    edit.at.head = 0;
    ck_assert(trials.can_skip);
    ck_assert(attn_trials_perform(&trials, &edit, &change, 1, &late, &f->err) == ATTN_OK);
    trials.can_skip = false;
    ck_assert(attn_trials_perform(&trials, &edit, &change, 1, &whole, &f->err) == ATTN_OK);
    ck_assert_double_eq(late.reply.value, whole.reply.value);
    ck_assert_double_eq(late.reply.kl, whole.reply.kl);
    ck_assert_double_ne(late.reply.value, trials.base.value);

    edit.op = ATTN_EDIT_SCALE; /* by 1: nothing is changed */
    edit.factor = 1;
    trials.can_skip = true;
    ck_assert(attn_trials_perform(&trials, &edit, &change, 1, &late, &f->err) == ATTN_OK);
    ck_assert_double_eq(late.reply.value, trials.base.value);
    attn_trials_release(&trials);
    attn_run_free(run);
}

/* All heads at the end of the curve are as all of them by --control; the first is the least. */
static void ablate_one_after_another(struct fixture *f)
{
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_ablate_sum sum = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_table *table, *alone;
    size_t n;

    args.answer = answer_of(f);
    ck_assert(attn_ablate(f->host, &f->request, &args, &alone, &sum, &f->err) == ATTN_OK);
    args.is_cumulative = true;
    args.n_control = 3;
    ck_assert(attn_ablate(f->host, &f->request, &args, &table, &sum, &f->err) == ATTN_OK);
    n = attn_table_n_row(table);
    ck_assert_uint_eq(n, attn_table_n_row(alone));
    for (size_t row = 1; row < n; row++)
        ck_assert_double_le(fabs(number_at(table, 1, "change")),
                            fabs(number_at(alone, row, "change")));
    assert_near(f, "control", n - 1, number_at(table, n - 1, "control"),
                number_at(table, n - 1, "change"));
    ck_assert_double_le(number_at(table, n - 1, "control_sd"), 1e-6);
    ck_assert_double_gt(number_at(table, 1, "control_sd"), 0);
    attn_table_free(table);
    attn_table_free(alone);
}

/* The rows of the text itself in place of a part change nothing, to the bit. */
static void ablate_with_rows(struct fixture *f)
{
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    const struct attn_input references[] = {f->request.input};
    struct attn_ablate_sum sum = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_table *table;

    args.answer = answer_of(f);
    args.replacement = ATTN_REPLACEMENT_RESAMPLE;
    args.references = references;
    args.n_reference = 1;
    for (args.by = ATTN_ABLATE_BY_HEAD; args.by <= ATTN_ABLATE_BY_LAYER; args.by++) {
        if (attn_ablate(f->host, &f->request, &args, &table, &sum, NULL) != ATTN_OK)
            continue; /* there is no MLP */
        for (size_t row = 1; row < attn_table_n_row(table); row++)
            ck_assert_double_eq(number_at(table, row, "change"), 0);
        attn_table_free(table);
    }
}

/* --- Patching --------------------------------------------------------------------------------- */

static const char *const patched_sites[] = {
    "resid_pre", "resid_mid", "resid_post", "attn_out", "mlp_out", "q", "k", "v", "z", "pattern"};
enum { N_PATCHED_SITE = sizeof patched_sites / sizeof *patched_sites };

static struct attn_patch_args patch_of(const struct fixture *f, const char *site)
{
    struct attn_patch_args args = ATTN_PATCH_ARGS_DEFAULT;

    args.corrupted = corrupted_of(f).input;
    args.answer = answer_of(f);
    args.site = site;
    return args;
}

static void patch_all(struct fixture *f)
{
    for (size_t i = 0; i < N_PATCHED_SITE; i++) {
        struct attn_patch_args args = patch_of(f, patched_sites[i]);
        struct attn_patch_sum sum = ATTN_PATCH_SUM_DEFAULT;
        struct attn_table *table;
        struct attn_npy golden;
        char array[64];

        snprintf(array, sizeof array, "patch_%s", patched_sites[i]);
        if (!read_golden(f, array, &golden))
            continue;
        ck_assert_msg(attn_patch(f->host, &f->request, &args, &table, &sum, &f->err) == ATTN_OK,
                      "%s", f->err.message);
        ck_assert_uint_eq(attn_table_n_row(table), golden.n + 2);
        for (size_t row = 0; row < golden.n; row++)
            ck_assert_msg(fabs(number_at(table, row + 2, "effect") - golden.values[row]) <=
                              1e-5 * fmax(1, fabs(golden.values[row])) /
                                  fmin(1, fabs(sum.clean - sum.corrupted)),
                          "%s: %s of row %zu is %.9g, expected %.9g", f->name, array, row,
                          number_at(table, row + 2, "effect"), golden.values[row]);
        ck_assert_double_eq(number_at(table, 0, "effect"), 0);
        ck_assert_double_eq(number_at(table, 1, "effect"), 1);
        attn_npy_release(&golden);
        attn_table_free(table);
    }
}

/* The last stream at the last position is all that the answer is made of; what both texts share
 * restores nothing. To the bit, in both directions. */
static void patch_everything_and_nothing(struct fixture *f)
{
    const size_t n = f->request.input.n_id;
    const size_t n_layer = attn_model_config(attn_host_model(f->host))->n_layer;
    struct attn_patch_sum sum = ATTN_PATCH_SUM_DEFAULT;
    struct attn_table *table;

    for (int noise = 0; noise < 2; noise++) {
        struct attn_patch_args args = patch_of(f, "resid_post");

        args.direction = noise == 1 ? ATTN_PATCH_DIRECTION_NOISE : ATTN_PATCH_DIRECTION_AUTO;
        ck_assert(attn_patch(f->host, &f->request, &args, &table, &sum, &f->err) == ATTN_OK);
        for (size_t at = 0; at + 1 < n; at++)
            ck_assert_double_eq(number_at(table, 2 + (n_layer - 1) * n + at, "effect"), 0);
        ck_assert_double_eq(number_at(table, 1 + n_layer * n, "effect"), 1);
        ck_assert_double_eq(number_at(table, 2, "effect"), 0); /* position 0 is before both */
        attn_table_free(table);
    }
}

/* Controls are the effects of heads that a generator of the same seed draws, one at a time. */
static void patch_random_heads(struct fixture *f)
{
    enum { N = 6, SEED = 11 };
    struct attn_patch_args args = patch_of(f, "v");
    struct attn_patch_sum sum = ATTN_PATCH_SUM_DEFAULT;
    struct attn_table *table;
    struct attn_random random;
    double effects[N], mean = 0, squares = 0;
    size_t *order, n;

    args.n_control = N;
    args.seed = SEED;
    ck_assert(attn_patch(f->host, &f->request, &args, &table, &sum, &f->err) == ATTN_OK);
    n = attn_table_n_row(table) - 2;
    order = malloc(n * sizeof *order);
    ck_assert_ptr_nonnull(order);
    attn_random_seed(&random, SEED);
    for (size_t i = 0; i < N; i++) {
        attn_random_permutation(&random, order, n);
        effects[i] = number_at(table, 2 + order[0], "effect");
        mean += effects[i] / N;
    }
    for (size_t i = 0; i < N; i++)
        squares += (effects[i] - mean) * (effects[i] - mean);
    for (size_t row = 0; row < n + 2; row++) {
        assert_near(f, "control", row, number_at(table, row, "control"),
                    row < 2 ? (double)NAN : mean);
        assert_near(f, "control_sd", row, number_at(table, row, "control_sd"),
                    row < 2 ? (double)NAN : sqrt(squares / (N - 1)));
    }
    free(order);
    attn_table_free(table);
    args.site = "resid_post";
    ck_assert(attn_patch(f->host, &f->request, &args, &table, &sum, NULL) == ATTN_INVALID);
}

/* Without the positions that are chosen a head is as it was. */
static void patch_chosen_positions(struct fixture *f)
{
    struct attn_patch_args args = patch_of(f, "z");
    struct attn_patch_sum sum = ATTN_PATCH_SUM_DEFAULT;
    struct attn_table *all, *none;

    f->request.selection.queries.text = "0,1"; /* the texts differ from position 2 on */
    ck_assert(attn_patch(f->host, &f->request, &args, &none, &sum, &f->err) == ATTN_OK);
    ck_assert_uint_eq(sum.n_row, 0);
    f->request.selection.queries.text = "0-8";
    ck_assert(attn_patch(f->host, &f->request, &args, &all, &sum, &f->err) == ATTN_OK);
    for (size_t row = 2; row < attn_table_n_row(none); row++)
        ck_assert_double_eq(number_at(none, row, "effect"), 0);
    ck_assert_double_ne(number_at(all, 2, "effect"), 0);
    attn_table_free(all);
    attn_table_free(none);
}

/* --- Surveys ---------------------------------------------------------------------------------- */

static void survey_heads(struct fixture *f)
{
    static const char *const columns[] = {"entropy",   "entropy_norm", "max",         "distance",
                                          "self",      "previous",     "first",       "duplicate",
                                          "induction", "far",          "n_duplicate", "n_induction",
                                          "mul",       "abs",          "weight",      "percentile"};
    struct attn_heads_args args = ATTN_HEADS_ARGS_DEFAULT;
    struct attn_ndarray own = {0};
    float cells[81];
    struct attn_table *table;
    struct attn_npy golden;
    size_t n;

    ck_assert(read_golden(f, "own", &golden));
    ck_assert_uint_eq(golden.n, sizeof cells / sizeof *cells);
    own.data = cells;
    own.rank = 2;
    own.shape[0] = own.shape[1] = f->request.input.n_id;
    for (size_t i = 0; i < golden.n; i++)
        cells[i] = (float)golden.values[i];
    attn_npy_release(&golden);
    args.pattern = &own;
    args.from.text = "6";
    args.to.text = "2";
    ck_assert_msg(attn_heads(f->host, &f->request, &args, &table, &f->err) == ATTN_OK, "%s",
                  f->err.message);
    n = sizeof columns / sizeof *columns;
    if (strcmp(f->name, "tiny-gpt2") == 0) /* its tokens are parts of words */
        n--;
    for (size_t i = 0; i < n; i++)
        compare_column(f, table, 0, columns[i], "survey", i);
    attn_table_free(table);
}

/* Of tokens that are words, parts of words and bytes; PUNCTUATED of make_experiments.py. */
START_TEST(punctuation_is_found_in_the_texts_of_tokens)
{
    static const char *const directories[] = {"models/tiny-gpt2",
                                              "tests/fixtures/family-whole-tinyllama",
                                              "tests/fixtures/family-whole-smollm2"};
    static const char text[] = "Hi, (I) + b. \xe2\x80\x9c\n";
    struct fixture f = {.name = "punctuation", .request = ATTN_REQUEST_DEFAULT};
    struct attn_heads_args args = ATTN_HEADS_ARGS_DEFAULT;
    struct attn_input input = {.text = text, .n_text = sizeof text - 1};
    struct attn_table *table;

    ck_assert(attn_measures_parse("punctuation,n_punctuation", &args.measures, &f.err) == ATTN_OK);
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        const char *name = strrchr(directories[i], '/') + 1;

        f.request.input = input;
        ck_assert(attn_host_open(directories[i], NULL, &f.host, &f.err) == ATTN_OK);
        for (int is_many = 0; is_many < 2; is_many++) { /* alone, and as a record */
            const struct attn_study_args study = study_of(&input, 1);

            args.study = is_many ? &study : NULL;
            ck_assert_msg(attn_heads(f.host, &f.request, &args, &table, &f.err) == ATTN_OK, "%s",
                          f.err.message);
            ck_assert_uint_eq(attn_table_n_column(table), is_many ? 15 : 10);
            compare_column(&f, table, 0, "punctuation", name, 0);
            compare_column(&f, table, 0, "n_punctuation", name, 1);
            attn_table_free(table);
            attn_items_free(study.items);
        }
        attn_host_free(f.host);
    }
}
END_TEST

/* The weight of a head on key 3 from the queries 1050 and 1051, and the share of smaller pairs. */
static void check_long_head(const float *pattern, const struct attn_table *table, size_t row)
{
    const size_t n = N_LONG;
    const double weight = ((double)pattern[1050 * n + 3] + (double)pattern[1051 * n + 3]) / 2;
    size_t n_below = 0;
    double previous = 0;

    for (size_t i = 1; i < n; i++) {
        previous += (double)pattern[i * n + i - 1] / (double)(n - 1);
        for (size_t key = 0; key < i; key++)
            n_below += (double)pattern[i * n + key] < weight;
    }
    ck_assert_double_eq_tol(number_at(table, row, "weight"), weight, 1e-12);
    ck_assert_double_eq_tol(number_at(table, row, "percentile"),
                            (double)n_below / ((double)n * (double)(n - 1) / 2), 1e-12);
    ck_assert_double_eq_tol(number_at(table, row, "previous"), previous, 1e-12);
}

/* A text that is fed in pieces; each of its tokens is a word. */
START_TEST(long_texts_are_surveyed_in_pieces)
{
    static int32_t ids[N_LONG];
    struct attn_heads_args args = ATTN_HEADS_ARGS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_capture *capture;
    struct attn_result result = {0};
    struct attn_error err = {0};
    struct attn_table *table;
    struct attn_host *host;
    struct attn_run *run;

    for (size_t i = 0; i < N_LONG; i++)
        ids[i] = (int32_t)(i * i % 13);
    request.input.ids = ids;
    request.input.n_id = N_LONG;
    request.selection.sites = "pattern";
    args.from.text = "1050-1051";
    args.to.text = "3";
    ck_assert(attn_host_open("tests/fixtures/attn-plain", NULL, &host, &err) == ATTN_OK);
    ck_assert_msg(attn_heads(host, &request, &args, &table, &err) == ATTN_OK, "%s", err.message);
    ck_assert(attn_run_prepare(host, &request, &run, &err) == ATTN_OK);
    ck_assert(attn_capture_create(attn_run_selection(run), &capture, &err) == ATTN_OK);
    ck_assert(attn_run_perform(run, attn_capture_trace(capture), &result, &err) == ATTN_OK);
    for (int layer = 0; layer < 2; layer++)
        check_long_head(attn_kept(capture, ATTN_SITE_PATTERN, layer), table, (size_t)layer);
    attn_capture_free(capture);
    attn_run_free(run);
    attn_table_free(table);
    attn_host_free(host);
}
END_TEST

/* Over texts each measure is a mean; a probe is a text of its own. */
static void survey_many(struct fixture *f)
{
    const struct attn_input texts[] = {f->request.input, corrupted_of(f).input};
    const struct attn_study_args study = study_of(texts, 2);
    struct attn_heads_args args = ATTN_HEADS_ARGS_DEFAULT;
    struct attn_request other = corrupted_of(f);
    struct attn_table *both, *one, *two;

    ck_assert(attn_heads(f->host, &f->request, NULL, &one, &f->err) == ATTN_OK);
    ck_assert(attn_heads(f->host, &other, NULL, &two, &f->err) == ATTN_OK);
    args.study = &study;
    ck_assert(attn_heads(f->host, &f->request, &args, &both, &f->err) == ATTN_OK);
    attn_items_free(study.items);
    for (size_t row = 0; row < attn_table_n_row(both); row++) {
        const double a = number_at(one, row, "entropy"), b = number_at(two, row, "entropy");

        assert_near(f, "mean", row, number_at(both, row, "entropy"), (a + b) / 2);
        assert_near(f, "deviation", row, number_at(both, row, "entropy_sd"), fabs(a - b) / sqrt(2));
        ck_assert_double_eq(number_at(both, row, "n"), 2);
    }
    attn_table_free(both);
    attn_table_free(one);
    attn_table_free(two);
}

/* The effect is the change that an ablation finds, and rows are sorted by its size. */
static void survey_effects(struct fixture *f)
{
    struct attn_heads_args args = ATTN_HEADS_ARGS_DEFAULT;
    struct attn_ablate_args ablation = ATTN_ABLATE_ARGS_DEFAULT;
    const size_t n_head = attn_model_config(attn_host_model(f->host))->n_head;
    struct attn_ablate_sum sum = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_table *table, *effects;

    args.has_effect = true;
    args.sort = "change";
    args.answer = ablation.answer = answer_of(f);
    ck_assert(attn_heads(f->host, &f->request, &args, &table, &f->err) == ATTN_OK);
    ck_assert(attn_ablate(f->host, &f->request, &ablation, &effects, &sum, &f->err) == ATTN_OK);
    for (size_t row = 0; row < attn_table_n_row(table); row++) {
        const size_t head =
            (size_t)number_at(table, row, "layer") * n_head + (size_t)number_at(table, row, "head");

        ck_assert_double_eq(number_at(table, row, "change"),
                            number_at(effects, head + 1, "change"));
        if (row > 0)
            ck_assert_double_le(fabs(number_at(table, row, "change")),
                                fabs(number_at(table, row - 1, "change")));
    }
    attn_table_free(table);
    attn_table_free(effects);
}

/* --- Memory ----------------------------------------------------------------------------------- */

/* Makes one table of F, or none. */
typedef enum attn_status (*attempt_fn)(struct fixture *f, struct attn_table **table,
                                       struct attn_error *err);

static enum attn_status attempt_score(struct fixture *f, struct attn_table **table,
                                      struct attn_error *err)
{
    struct attn_score_sum sum = ATTN_SCORE_SUM_DEFAULT;

    return attn_score(f->host, &f->request, NULL, table, &sum, err);
}

static enum attn_status attempt_lens(struct fixture *f, struct attn_table **table,
                                     struct attn_error *err)
{
    return attn_lens(f->host, &f->request, NULL, table, err);
}

static enum attn_status attempt_lens_texts(struct fixture *f, struct attn_table **table,
                                           struct attn_error *err)
{
    const struct attn_input texts[] = {f->request.input, corrupted_of(f).input};
    struct attn_study_args study;
    struct attn_lens_args args = ATTN_LENS_ARGS_DEFAULT;
    enum attn_status status = begin_study(texts, 2, &study, err);

    if (status != ATTN_OK)
        return status;
    args.study = &study;
    args.reads_heads = true;
    status = attn_lens(f->host, &f->request, &args, table, err);
    attn_items_free(study.items);
    return status;
}

static enum attn_status attempt_similarity(struct fixture *f, struct attn_table **table,
                                           struct attn_error *err)
{
    return attn_similarity(f->host, &f->request, 0, table, err);
}

static enum attn_status attempt_attribute(struct fixture *f, struct attn_table **table,
                                          struct attn_error *err)
{
    struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;

    args.answer = answer_of(f);
    args.by = ATTN_ATTRIBUTE_BY_TOKEN;
    return attn_attribute(f->host, &f->request, &args, table, err);
}

static enum attn_status attempt_diff(struct fixture *f, struct attn_table **table,
                                     struct attn_error *err)
{
    const struct attn_request corrupted = corrupted_of(f);
    struct attn_diff_args args = ATTN_DIFF_ARGS_DEFAULT;
    struct attn_diff_sum sum = ATTN_DIFF_SUM_DEFAULT;

    args.request = &corrupted;
    return attn_diff(f->host, &f->request, &args, table, &sum, err);
}

static enum attn_status attempt_ablate(struct fixture *f, struct attn_table **table,
                                       struct attn_error *err)
{
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_ablate_sum sum = ATTN_ABLATE_SUM_DEFAULT;

    args.answer = answer_of(f);
    args.by = ATTN_ABLATE_BY_ATTN;
    args.replacement = ATTN_REPLACEMENT_MEAN;
    args.is_cumulative = true;
    args.n_control = 1;
    return attn_ablate(f->host, &f->request, &args, table, &sum, err);
}

static enum attn_status attempt_patch(struct fixture *f, struct attn_table **table,
                                      struct attn_error *err)
{
    struct attn_patch_args args = patch_of(f, "v");
    struct attn_patch_sum sum = ATTN_PATCH_SUM_DEFAULT;

    args.n_control = 2;
    return attn_patch(f->host, &f->request, &args, table, &sum, err);
}

static enum attn_status attempt_survey(struct fixture *f, struct attn_table **table,
                                       struct attn_error *err)
{
    struct attn_heads_args args = ATTN_HEADS_ARGS_DEFAULT;

    args.from.text = "3";
    args.to.text = "1";
    args.sort = "weight";
    return attn_heads(f->host, &f->request, &args, table, err);
}

static enum attn_status attempt_edits(struct fixture *f, struct attn_table **table,
                                      struct attn_error *err)
{
    const struct attn_intervention both[] = {{.op = ATTN_EDIT_MEAN, .heads = {.text = "0.1"}},
                                             {.op = ATTN_EDIT_MASK,
                                              .positions = {.text = "2,4"},
                                              .keys = {.text = "0-1"},
                                              .heads = {.text = "1.*"}}};
    struct attn_request request = f->request;
    struct attn_score_sum sum = ATTN_SCORE_SUM_DEFAULT;

    request.edits.interventions = both;
    request.edits.n_intervention = 2;
    return attn_score(f->host, &request, NULL, table, &sum, err);
}

static enum attn_status attempt_life(struct fixture *f, struct attn_table **table,
                                     struct attn_error *err)
{
    struct attn_table *tokens;
    const enum attn_status status = attn_life(f->host, &f->request, NULL, &tokens, table, err);

    ck_assert(status == ATTN_OK || tokens == NULL);
    if (status == ATTN_OK)
        attn_table_free(tokens);
    return status;
}

/* Every allocation fails once: that is said, nothing leaks, and the next attempt succeeds. */
static void fail_each(struct fixture *f, attempt_fn attempt)
{
    struct attn_table *table = NULL;
    enum attn_status status = ATTN_NO_MEMORY;

    for (long n = 0; status != ATTN_OK; n++) {
        struct attn_error err = {0};

        attn_alloc_fail_at(n);
        status = attempt(f, &table, &err);
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%s", err.message);
        ck_assert(status == ATTN_OK || table == NULL);
    }
    ck_assert_uint_gt(attn_table_n_row(table), 0);
    attn_table_free(table);
}

START_TEST(a_failing_allocation_leaves_nothing_behind)
{
    static const attempt_fn attempts[] = {attempt_score,     attempt_lens,   attempt_lens_texts,
                                          attempt_attribute, attempt_diff,   attempt_ablate,
                                          attempt_patch,     attempt_survey, attempt_similarity,
                                          attempt_edits,     attempt_life};
    struct fixture f;

    fixture_open(&f, 1);
    f.request.input.n_id = 6;
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++)
        fail_each(&f, attempts[i]);
    fixture_close(&f);
}
END_TEST

/* --- The life of a position ------------------------------------------------------------------- */

/* The parts of a life at QUERIES add up to the sum of the attribution there. What each head brings
 * from a key is a cell of attn_attribute. */
static void live(struct fixture *f, const char *queries)
{
    struct attn_request request = f->request;
    struct attn_lens_args args = ATTN_LENS_ARGS_DEFAULT;
    struct attn_attribute_args how = ATTN_ATTRIBUTE_ARGS_DEFAULT;
    struct attn_table *tokens, *parts, *cells;
    double sum = 0, heads = 0, from_heads = 0;
    size_t last, n_head = 0;

    args.answer = how.answer = answer_of(f);
    request.selection.queries.text = how.answer.at.text = queries;
    ck_assert_msg(attn_life(f->host, &request, &args, &tokens, &parts, &f->err) == ATTN_OK,
                  "%s: %s", f->name, f->err.message);
    how.by = ATTN_ATTRIBUTE_BY_TOKEN;
    how.n_most = SIZE_MAX;
    ck_assert(attn_attribute(f->host, &f->request, &how, &cells, &f->err) == ATTN_OK);
    last = attn_table_n_row(parts) - 1;
    for (size_t i = 0; i < last; i++) {
        sum += number_at(parts, i, "value");
        ck_assert(isnan(number_at(parts, i, "key")) == isnan(number_at(parts, i, "head")));
        if (!isnan(number_at(parts, i, "key")))
            heads += number_at(parts, i, "value"), n_head++;
    }
    ck_assert_uint_eq(n_head, attn_table_n_row(cells));
    for (size_t i = 0; i < attn_table_n_row(cells); i++)
        from_heads += number_at(cells, i, "attribution");
    assert_near(f, "sum of a life", 0, sum, number_at(parts, last, "value"));
    assert_near(f, "heads of a life", 0, heads, from_heads);
    ck_assert_uint_eq(attn_table_n_row(tokens), /* one reading of each layer, and the output */
                      attn_model_config(attn_host_model(f->host))->n_layer + 1);
    attn_table_free(tokens);
    attn_table_free(parts);
    attn_table_free(cells);
}

static void live_all(struct fixture *f)
{
    live(f, "-1");
    live(f, "3");
}

START_TEST(a_life_is_of_one_position_of_one_text)
{
    struct attn_table *tokens, *parts;
    struct attn_lens_args args = ATTN_LENS_ARGS_DEFAULT;
    struct fixture f;

    fixture_open(&f, 0);
    f.request.selection.queries.text = "1,2";
    ck_assert(attn_life(f.host, &f.request, &args, &tokens, &parts, &f.err) == ATTN_INVALID);
    ck_assert_ptr_nonnull(strstr(f.err.message, "names several"));
    f.request.selection.queries.text = NULL;
    f.err = (struct attn_error){0};
    args.reads_heads = true;
    ck_assert(attn_life(f.host, &f.request, &args, &tokens, &parts, &f.err) == ATTN_INVALID);
    ck_assert_ptr_nonnull(strstr(f.err.message, "`heads_out` has no effect on `figure life`"));
    f.err = (struct attn_error){0};
    args.reads_heads = false;
    args.top = 3;
    ck_assert(attn_life(f.host, &f.request, &args, &tokens, &parts, &f.err) == ATTN_INVALID);
    ck_assert_ptr_nonnull(strstr(f.err.message, "`top` has no effect on `figure life`"));
    fixture_close(&f);
}
END_TEST

/* --- All models ------------------------------------------------------------------------------- */

static void for_each_model(void (*try)(struct fixture *f))
{
    for (size_t model = 0; model < N_MODEL; model++) {
        struct fixture f;

        fixture_open(&f, model);
        try(&f);
        fixture_close(&f);
    }
}

#define FOR_EACH_MODEL(sentence, try)                                                              \
    START_TEST(sentence)                                                                           \
    {                                                                                              \
        for_each_model(try);                                                                       \
    }                                                                                              \
    END_TEST

FOR_EACH_MODEL(scores_are_those_of_a_softmax_in_float64, score_all)
FOR_EACH_MODEL(scores_of_a_window_are_those_of_its_text, score_in_windows)
FOR_EACH_MODEL(a_lens_reads_what_the_output_layer_would, read_with_the_lens)
FOR_EACH_MODEL(a_lens_reads_what_each_head_adds, read_heads_with_the_lens)
FOR_EACH_MODEL(the_last_reading_is_the_models_own, compare_lens_with_run)
FOR_EACH_MODEL(a_lens_over_texts_gives_a_mean_and_a_deviation, read_texts_with_the_lens)
FOR_EACH_MODEL(attributions_are_right_and_add_up_to_the_logit, attribute_all)
FOR_EACH_MODEL(keys_of_a_head_add_up_to_it, attribute_by_token)
FOR_EACH_MODEL(a_life_adds_up_to_its_logit, live_all)
FOR_EACH_MODEL(greedy_tokens_are_those_of_a_run_over_all_before, generate_greedily)
FOR_EACH_MODEL(drawn_tokens_come_as_often_as_they_are_probable, generate_by_chance)
FOR_EACH_MODEL(rows_of_two_texts_differ_as_in_float64, differ)
FOR_EACH_MODEL(a_text_does_not_differ_from_itself, differ_from_itself)
FOR_EACH_MODEL(texts_of_two_lengths_are_compared_at_their_ends, differ_in_length)
FOR_EACH_MODEL(parts_matter_as_in_float64, ablate_all)
FOR_EACH_MODEL(a_run_from_a_later_layer_has_the_bits_of_a_whole_one, restart)
FOR_EACH_MODEL(runs_side_by_side_have_the_bits_of_each_alone, restart_all)
FOR_EACH_MODEL(parts_go_one_after_another_beside_controls, ablate_one_after_another)
FOR_EACH_MODEL(rows_of_the_same_text_change_nothing, ablate_with_rows)
FOR_EACH_MODEL(pieces_restore_what_they_do_in_float64, patch_all)
FOR_EACH_MODEL(everything_restores_everything_and_nothing_nothing, patch_everything_and_nothing)
FOR_EACH_MODEL(only_chosen_positions_are_patched, patch_chosen_positions)
FOR_EACH_MODEL(controls_are_effects_of_heads_that_were_drawn, patch_random_heads)
FOR_EACH_MODEL(heads_are_measured_as_in_float64, survey_heads)
FOR_EACH_MODEL(many_texts_give_a_mean_and_a_deviation, survey_many)
FOR_EACH_MODEL(the_effect_of_a_head_is_that_of_its_ablation, survey_effects)

/* --- TransformerLens ---------------------------------------------------------------------------
 */

/* Its detector NAME is sum A P / sum A of the whole matrix, and sum A is the number of rows; ours
 * is the mean over the rows that have a target: the factor is their share. */
static void compare_detector(struct fixture *f, const struct attn_table *heads, const char *name,
                             double n_row)
{
    char array[64];
    struct attn_npy golden, rows;

    snprintf(array, sizeof array, "detect_%s", name);
    ck_assert(read_golden(f, array, &golden));
    snprintf(array, sizeof array, "rows_%s", name);
    ck_assert(read_golden(f, array, &rows));
    for (size_t i = 0; i < golden.n; i++)
        assert_near(f, name, i, number_at(heads, i, name) * rows.values[0] / n_row,
                    golden.values[i]);
    attn_npy_release(&golden);
    attn_npy_release(&rows);
}

static void compare_detectors(struct fixture *f)
{
    struct attn_request request = f->request;
    struct attn_table *heads;
    size_t n;
    int32_t *repeated = read_ids(f, "repeated", &n);

    request.input = (struct attn_input){.ids = repeated, .n_id = n};
    ck_assert_msg(attn_heads(f->host, &request, NULL, &heads, &f->err) == ATTN_OK, "%s",
                  f->err.message);
    compare_detector(f, heads, "previous", (double)n);
    compare_detector(f, heads, "duplicate", (double)n);
    compare_detector(f, heads, "induction", (double)n);
    attn_table_free(heads);
    free(repeated);
}

/* The rows of TABLE whose part is NAME, in their order, against an array. */
static void compare_parts(const struct fixture *f, const struct attn_table *table, const char *name,
                          const char *array)
{
    struct attn_npy golden;
    size_t n = 0;

    ck_assert(read_golden(f, array, &golden));
    for (size_t row = 0; row < attn_table_n_row(table); row++) {
        const struct attn_cell part = attn_table_cell(table, row, 0);

        if (part.size != strlen(name) || memcmp(part.text, name, part.size) != 0)
            continue;
        ck_assert_uint_lt(n, golden.n);
        assert_near(f, name, row, number_at(table, row, "attribution"), golden.values[n++]);
    }
    ck_assert_uint_eq(n, golden.n);
    attn_npy_release(&golden);
}

START_TEST(numbers_are_those_of_transformer_lens)
{
    struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;
    struct attn_table *table;
    struct fixture f;

    fixture_open(&f, 0);
    f.name = "transformer-lens"; /* the same model and ids, by other functions */
    compare_detectors(&f);
    patch_all(&f);
    args.answer = answer_of(&f);
    ck_assert(attn_attribute(f.host, &f.request, &args, &table, &f.err) == ATTN_OK);
    compare_parts(&f, table, "head", "attribute_heads");
    compare_parts(&f, table, "mlp", "attribute_mlp");
    compare_parts(&f, table, "embed", "attribute_embed");
    compare_parts(&f, table, "pos", "attribute_pos");
    attn_table_free(table);
    fixture_close(&f);
}
END_TEST

/* The squares of these numbers are rounded to multiples of 128. */
START_TEST(controls_have_a_deviation_that_is_small_beside_their_mean)
{
    const double effects[] = {1e9 + 1, 1e9 + 2, 1e9 + 3};
    struct attn_cell cells[3];

    attn_control_put(effects, 3, 1e9 + 2, cells);
    ck_assert_double_eq(cells[0].real, 1e9 + 2);
    ck_assert_double_eq(cells[1].real, 1);
    ck_assert_double_eq(cells[2].real, 0.75);
    attn_control_put(effects, 1, -2e9, cells);
    ck_assert_double_eq(cells[1].real, 0);
    ck_assert_double_eq(cells[2].real, 0.5);
}
END_TEST

ATTN_SUITE("experiments", controls_have_a_deviation_that_is_small_beside_their_mean,
           scores_are_those_of_a_softmax_in_float64, scores_of_a_window_are_those_of_its_text,
           a_lens_reads_what_the_output_layer_would, a_lens_reads_what_each_head_adds,
           the_last_reading_is_the_models_own, a_lens_over_texts_gives_a_mean_and_a_deviation,
           attributions_are_right_and_add_up_to_the_logit, keys_of_a_head_add_up_to_it,
           a_life_adds_up_to_its_logit, a_life_is_of_one_position_of_one_text,
           greedy_tokens_are_those_of_a_run_over_all_before,
           drawn_tokens_come_as_often_as_they_are_probable, rows_of_two_texts_differ_as_in_float64,
           a_text_does_not_differ_from_itself, texts_of_two_lengths_are_compared_at_their_ends,
           parts_matter_as_in_float64, a_run_from_a_later_layer_has_the_bits_of_a_whole_one,
           runs_side_by_side_have_the_bits_of_each_alone,
           parts_go_one_after_another_beside_controls, rows_of_the_same_text_change_nothing,
           pieces_restore_what_they_do_in_float64,
           everything_restores_everything_and_nothing_nothing, only_chosen_positions_are_patched,
           controls_are_effects_of_heads_that_were_drawn, heads_are_measured_as_in_float64,
           long_texts_are_surveyed_in_pieces, punctuation_is_found_in_the_texts_of_tokens,
           many_texts_give_a_mean_and_a_deviation, the_effect_of_a_head_is_that_of_its_ablation,
           numbers_are_those_of_transformer_lens, a_failing_allocation_leaves_nothing_behind)
