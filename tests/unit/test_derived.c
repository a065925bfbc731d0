/*
 * test_derived.c - rollout, weighted_pattern and value_zeroing against tests/golden/experiments,
 * which make_experiments.py computes from the definitions in float64; that a choice of layers,
 * heads, queries and threads changes no bit; and that edits come before them.
 */
#include "tests/support/alloc_fail.h"
#include "tests/support/kept.h"
#include "tests/support/npy.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_LONG = 1100, MOST_LAYERS = 4 };

static const struct {
    enum attn_site site;
    const char *name;
} sites[] = {{ATTN_SITE_ROLLOUT, "rollout"},
             {ATTN_SITE_WEIGHTED_PATTERN, "weighted_pattern"},
             {ATTN_SITE_VALUE_ZEROING, "value_zeroing"}};
enum { N_SITE = sizeof sites / sizeof *sites };

static const char all_sites[] = "rollout,weighted_pattern,value_zeroing";

static const char *const models[] = {"models/tiny-gpt2",
                                     "tests/fixtures/attn-grouped",
                                     "tests/fixtures/attn-mlp",
                                     "tests/fixtures/family-gpt-neox-parallel",
                                     "tests/fixtures/family-gemma2",
                                     "tests/fixtures/family-qwen3",
                                     "tests/fixtures/family-olmo2"};
enum { N_MODEL = sizeof models / sizeof *models };

/* A run that was performed, and what it told. */
struct performed {
    struct attn_host *host;
    struct attn_run *run;
    struct attn_capture *capture;
};

static struct attn_request request_of(const int32_t *ids, size_t n)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;

    request.input.ids = ids;
    request.input.n_id = n;
    request.selection.sites = all_sites;
    return request;
}

static enum attn_status try(struct performed *p, const struct attn_request *request,
                            struct attn_error *err)
{
    struct attn_result result = {0};
    enum attn_status status = attn_run_prepare(p->host, request, &p->run, err);

    if (status == ATTN_OK)
        status = attn_capture_create(attn_run_labels(p->run)->selection, &p->capture, err);
    if (status == ATTN_OK)
        status = attn_run_perform(p->run, attn_capture_trace(p->capture), &result, err);
    attn_result_release(&result);
    return status;
}

static void let_go(struct performed *p)
{
    attn_capture_free(p->capture);
    attn_run_free(p->run);
    attn_host_free(p->host);
}

static struct performed perform_on(const char *model, const struct attn_request *request,
                                   int n_thread)
{
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    struct performed p = {0};
    struct attn_error err = {0};

    options.n_thread = n_thread;
    ck_assert_msg(attn_host_open(model, &options, &p.host, &err) == ATTN_OK, "%s", err.message);
    ck_assert_msg(try(&p, request, &err) == ATTN_OK, "%s: %s", model, err.message);
    return p;
}

static const char *name_of(const char *model)
{
    return strrchr(model, '/') + 1;
}

static int32_t *read_ids(const char *model, size_t *n)
{
    char path[256];

    snprintf(path, sizeof path, "tests/golden/experiments/%s.npz/ids.npy", name_of(model));
    return attn_npy_read_ids(path, n);
}

/* --- Numbers ---------------------------------------------------------------------------------- */

/* A cosine of nearly equal rows is half the square of what float32 leaves of their difference. */
static void compare_site(const struct performed *p, const char *model, size_t i)
{
    struct attn_npy golden;
    size_t n_layer, size;
    char path[256];

    snprintf(path, sizeof path, "tests/golden/experiments/%s.npz/%s.npy", name_of(model),
             sites[i].name);
    ck_assert(attn_npy_read(path, &golden));
    n_layer = golden.shape[0];
    size = golden.n / n_layer;
    for (size_t layer = 0; layer < n_layer; layer++) {
        const float *found = attn_kept(p->capture, sites[i].site, (int)layer);

        for (size_t k = 0; k < size; k++) {
            const double expected = golden.values[layer * size + k];

            ck_assert_msg(fabs((double)found[k] - expected) <= 2e-6 + 1e-5 * fabs(expected),
                          "%s: %s of layer %zu is %.9g at %zu, expected %.9g", model, sites[i].name,
                          layer, (double)found[k], k, expected);
        }
    }
    attn_npy_release(&golden);
}

START_TEST(they_are_what_their_definitions_say)
{
    for (size_t model = 0; model < N_MODEL; model++) {
        size_t n;
        int32_t *ids = read_ids(models[model], &n);
        const struct attn_request request = request_of(ids, n);
        struct performed p = perform_on(models[model], &request, 1);

        for (size_t i = 0; i < N_SITE; i++)
            compare_site(&p, models[model], i);
        let_go(&p);
        free(ids);
    }
}
END_TEST

static double row_sum(const float *row, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)row[i];
    return sum;
}

START_TEST(rows_of_rollout_and_value_zeroing_add_up_to_one)
{
    for (size_t model = 0; model < N_MODEL; model++) {
        size_t n;
        int32_t *ids = read_ids(models[model], &n);
        const struct attn_request request = request_of(ids, n);
        struct performed p = perform_on(models[model], &request, 1);

        for (int layer = 0; layer < 2; layer++)
            for (size_t row = 0; row < n; row++)
                for (size_t i = 0; i < N_SITE; i += 2) {
                    const float *x = attn_kept(p.capture, sites[i].site, layer);

                    ck_assert_double_eq_tol(row_sum(x + row * n, n), 1, 1e-6);
                }
        let_go(&p);
        free(ids);
    }
}
END_TEST

/* --- Against other runs ----------------------------------------------------------------------- */

static void set_kind(struct attn_attention attention[MOST_LAYERS], const char *kind,
                     enum attn_mask mask)
{
    for (size_t layer = 0; layer < MOST_LAYERS; layer++) {
        attention[layer] = ATTN_ATTENTION_DEFAULT;
        ck_assert(attn_attention_parse(kind, &attention[layer], NULL) == ATTN_OK);
        attention[layer].mask = mask;
    }
}

/* A model, its attention, and what is asked of it. */
struct setting {
    const char *model, *kind;          /* kind NULL: the model's own attention */
    enum attn_mask masks[2];           /* of layer 0, and of the others; with a kind */
    const struct attn_ndarray *source; /* or NULL */
    size_t n, n_key;                   /* n_key: of a layer, source or text */
};

enum { MOST_IDS = 9 };

static struct performed perform_setting(const struct setting *setting, const char *asked,
                                        const struct attn_edit *edit)
{
    static const int32_t ids[MOST_IDS] = {1, 5, 2, 7, 2, 10, 3, 5, 9};
    struct attn_attention attention[MOST_LAYERS];
    struct attn_request request = request_of(ids, setting->n);

    request.selection.sites = asked;
    request.edits.items = edit;
    request.edits.n = edit != NULL;
    request.source.embeddings = setting->source;
    if (setting->kind != NULL) {
        set_kind(attention, setting->kind, setting->masks[1]);
        attention[0].mask = setting->masks[0];
        request.attention.layers = attention;
    }
    return perform_on(setting->model, &request, 2);
}

static void assert_cell(const struct setting *setting, const char *what, size_t row, size_t key,
                        float found, double expected)
{
    ck_assert_msg(fabs((double)found - expected) <= 3e-6 * fmax(1, fabs(expected)),
                  "%s of %s, %s: [%zu, %zu] is %.9g, expected %.9g", what, setting->model,
                  setting->kind != NULL ? setting->kind : "its own attention", row, key,
                  (double)found, expected);
}

/* 1 - cos; 1 where one of two unlike rows is zeros. */
static double cosine_distance(const float *x, const float *y, size_t n)
{
    double xy = 0, xx = 0, yy = 0;

    for (size_t i = 0; i < n; i++) {
        xy += (double)x[i] * (double)y[i];
        xx += (double)x[i] * (double)x[i];
        yy += (double)y[i] * (double)y[i];
    }
    if (memcmp(x, y, n * sizeof *x) == 0)
        return 0;
    return xx > 0 && yy > 0 ? 1 - xy / sqrt(xx * yy) : 1;
}

/* value_zeroing of LAYER, by whole runs whose values of one key are set to 0 there. */
static void check_zeroing(const struct setting *setting, int layer)
{
    const size_t n = setting->n, n_key = setting->n_key;
    struct performed p = perform_setting(setting, "value_zeroing,resid_post", NULL);
    const size_t d = attn_model_config(attn_host_model(p.host))->d_model;
    const float *base = attn_kept(p.capture, ATTN_SITE_RESID_POST, layer);
    const float *found = attn_kept(p.capture, ATTN_SITE_VALUE_ZEROING, layer);
    double changed[MOST_IDS * MOST_IDS];

    for (size_t key = 0; key < n_key; key++) {
        struct attn_edit edit = ATTN_EDIT_DEFAULT;
        struct performed without;

        edit.at.site = ATTN_SITE_V, edit.at.layer = layer, edit.op = ATTN_EDIT_ZERO;
        edit.row0 = key, edit.row1 = key + 1;
        without = perform_setting(setting, "resid_post", &edit);
        for (size_t row = 0; row < n; row++)
            changed[row * n_key + key] = cosine_distance(
                base + row * d, attn_kept(without.capture, ATTN_SITE_RESID_POST, layer) + row * d,
                d);
        let_go(&without);
    }
    for (size_t row = 0; row < n; row++) {
        double sum = 0;

        for (size_t key = 0; key < n_key; key++)
            sum += changed[row * n_key + key];
        for (size_t key = 0; key < n_key; key++)
            assert_cell(setting, "value_zeroing", row, key, found[row * n_key + key],
                        sum > 0 ? changed[row * n_key + key] / sum : 0);
    }
    let_go(&p);
}

/* rollout of layer 1, as the product of two matrices made of the patterns of all heads. */
static void check_rollout(const struct setting *setting)
{
    const size_t n = setting->n;
    struct performed p = perform_setting(setting, "rollout,pattern", NULL);
    const size_t n_head = attn_model_config(attn_host_model(p.host))->n_head;
    const float *found = attn_kept(p.capture, ATTN_SITE_ROLLOUT, 1);
    double mixed[2][MOST_IDS * MOST_IDS];

    for (int layer = 0; layer < 2; layer++)
        for (size_t row = 0; row < n; row++) {
            double *out = mixed[layer] + row * n, sum = 1;

            for (size_t key = 0; key < n; key++) {
                out[key] = row == key;
                for (size_t head = 0; head < n_head; head++)
                    out[key] += (double)attn_kept_head(p.capture, ATTN_SITE_PATTERN, layer,
                                                       (int)head)[row * n + key] /
                                (double)n_head;
                sum += out[key] - (row == key);
            }
            for (size_t key = 0; key < n; key++)
                out[key] /= sum;
        }
    for (size_t row = 0; row < n; row++)
        for (size_t key = 0; key < n; key++) {
            double sum = 0;

            for (size_t k = 0; k < n; k++)
                sum += mixed[1][row * n + k] * mixed[0][k * n + key];
            assert_cell(setting, "rollout", row, key, found[row * n + key], sum);
        }
    let_go(&p);
}

/* The causal model, with kinds whose rows are not fed in pieces, or see less; other masks, also one
 * that only the first layer has; heads that share values; no residual stream. */
static const struct setting settings[] = {
    {"models/tiny-gpt2", "full", {ATTN_MASK_NONE, ATTN_MASK_CAUSAL}, NULL, 9, 9},
    {"models/tiny-gpt2", "full", {ATTN_MASK_CAUSAL, ATTN_MASK_NONE}, NULL, 9, 9},
    {"models/tiny-gpt2", "window:3", {ATTN_MASK_CAUSAL, ATTN_MASK_CAUSAL}, NULL, 9, 9},
    {"models/tiny-gpt2", "window:3", {ATTN_MASK_NONE, ATTN_MASK_NONE}, NULL, 9, 9},
    {"models/tiny-gpt2", "strided:2", {ATTN_MASK_CAUSAL, ATTN_MASK_CAUSAL}, NULL, 9, 9},
    {"models/tiny-gpt2", "random:3", {ATTN_MASK_NONE, ATTN_MASK_CAUSAL}, NULL, 9, 9},
    {"models/tiny-gpt2", "block:4", {ATTN_MASK_NONE, ATTN_MASK_NONE}, NULL, 9, 9},
    {"models/tiny-gpt2", "linear", {ATTN_MASK_CAUSAL, ATTN_MASK_CAUSAL}, NULL, 9, 9},
    {"models/tiny-gpt2", "hybrid:2:3", {ATTN_MASK_CAUSAL, ATTN_MASK_CAUSAL}, NULL, 9, 9},
    {.model = "tests/fixtures/attn-bidirectional", .n = 9, .n_key = 9},
    {.model = "tests/fixtures/attn-grouped", .n = 9, .n_key = 9},
};
enum { N_SETTING = sizeof settings / sizeof *settings };

START_TEST(rollout_is_a_product_of_patterns)
{
    for (size_t i = 0; i < N_SETTING; i++)
        check_rollout(&settings[i]);
}
END_TEST

START_TEST(value_zeroing_is_what_runs_without_a_value_show)
{
    static const struct setting stack = {.model = "tests/fixtures/attn-stack", .n = 9, .n_key = 9};

    for (size_t i = 0; i < N_SETTING; i++)
        for (int layer = 0; layer < 2; layer++)
            check_zeroing(&settings[i], layer);
    check_zeroing(&stack, 1);
}
END_TEST

/* Without an output projection what a head writes of a key is its value. */
static void check_weights_of(const char *kind, size_t n, size_t step)
{
    static int32_t ids[N_LONG];
    struct attn_request request = request_of(ids, n);
    struct attn_attention attention[MOST_LAYERS];
    struct performed p;

    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)(i * i % 13);
    set_kind(attention, kind, ATTN_MASK_CAUSAL);
    request.attention.layers = attention;
    request.selection.sites = "weighted_pattern,pattern,v";
    p = perform_on("tests/fixtures/attn-plain", &request, 2);
    const float *pattern = attn_kept_head(p.capture, ATTN_SITE_PATTERN, 1, 0);
    const float *found = attn_kept_head(p.capture, ATTN_SITE_WEIGHTED_PATTERN, 1, 0);
    const float *v = attn_kept_head(p.capture, ATTN_SITE_V, 1, 0);

    for (size_t at = 0; at < n * n; at += step) {
        const size_t key = at % n;
        double square = 0;

        for (size_t i = 0; i < 5; i++)
            square += (double)v[key * 5 + i] * (double)v[key * 5 + i];
        ck_assert_msg(fabs((double)found[at] - (double)pattern[at] * sqrt(square)) <= 1e-6,
                      "%s: [%zu, %zu] is %.9g, expected %.9g", kind, at / n, key, (double)found[at],
                      (double)pattern[at] * sqrt(square));
    }
    let_go(&p);
}

/* Long texts come in pieces, of whole rows and of those that have few keys. */
START_TEST(weights_are_of_the_lengths_of_values)
{
    static const char *const kinds[] = {"full", "window:3", "random:4", "linear"};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        check_weights_of(kinds[i], MOST_IDS, 1);
    check_weights_of("full", N_LONG, 101);
    check_weights_of("window:900", N_LONG, 101);
}
END_TEST

/* --- The same bits ---------------------------------------------------------------------------- */

/* Layer 1, head 1, rows 3, 4 and 7 of NARROW are those of WHOLE. */
static void compare_rows(const struct performed *narrow, const struct performed *whole, size_t n)
{
    static const size_t queries[] = {3, 4, 7};

    for (size_t i = 0; i < N_SITE; i++) {
        const bool has_heads = sites[i].site == ATTN_SITE_WEIGHTED_PATTERN;
        const float *some = attn_kept(narrow->capture, sites[i].site, 1);
        const float *all = attn_kept(whole->capture, sites[i].site, 1);

        ck_assert_ptr_null(attn_kept(narrow->capture, sites[i].site, 0));
        all += has_heads ? n * n : 0;
        for (size_t q = 0; q < 3; q++)
            ck_assert_msg(memcmp(some + q * n, all + queries[q] * n, n * sizeof *all) == 0,
                          "%s of query %zu has other bits", sites[i].name, queries[q]);
    }
}

START_TEST(a_choice_changes_no_bit)
{
    for (size_t model = 0; model < N_MODEL; model++) {
        size_t n;
        int32_t *ids = read_ids(models[model], &n);
        struct attn_request request = request_of(ids, n);
        struct performed whole = perform_on(models[model], &request, 1), narrow;

        request.selection.layers = "1";
        request.selection.heads = "1";
        request.selection.queries.text = "3,4,7";
        narrow = perform_on(models[model], &request, 3);
        compare_rows(&narrow, &whole, n);
        let_go(&narrow);
        let_go(&whole);
        free(ids);
    }
}
END_TEST

/* The rollout of row Q of layer 1 from the patterns of both layers, one head each, in one piece. */
static void check_long_row(const struct performed *p, size_t q)
{
    const size_t n = N_LONG;
    const float *upper = attn_kept_head(p->capture, ATTN_SITE_PATTERN, 1, 0);
    const float *lower = attn_kept_head(p->capture, ATTN_SITE_PATTERN, 0, 0);
    const float *found = attn_kept(p->capture, ATTN_SITE_ROLLOUT, 1) + q * n;

    for (size_t key = 0; key < n; key += 97) {
        double sum = 0;

        for (size_t k = 0; k < n; k++)
            sum += ((double)upper[q * n + k] + (q == k)) / 2 *
                   ((double)lower[k * n + key] + (k == key)) / 2;
        ck_assert_double_eq_tol((double)found[key], sum, 1e-6);
    }
}

START_TEST(long_texts_are_rolled_out_in_pieces)
{
    static int32_t ids[N_LONG];
    struct performed p, narrow;
    struct attn_request request = request_of(ids, N_LONG);

    for (size_t i = 0; i < N_LONG; i++)
        ids[i] = (int32_t)(i * i % 13);
    request.selection.sites = "rollout,pattern";
    p = perform_on("tests/fixtures/attn-plain", &request, 2);
    check_long_row(&p, 0);
    check_long_row(&p, 959);
    check_long_row(&p, N_LONG - 1);
    request.selection.queries.text = "1050";
    narrow = perform_on("tests/fixtures/attn-plain", &request, 1);
    ck_assert_mem_eq(attn_kept(narrow.capture, ATTN_SITE_ROLLOUT, 1),
                     attn_kept(p.capture, ATTN_SITE_ROLLOUT, 1) + 1050 * (size_t)N_LONG,
                     N_LONG * sizeof(float));
    let_go(&narrow);
    let_go(&p);
}
END_TEST

START_TEST(other_tensors_stay_what_they_are)
{
    static const enum attn_site others[] = {ATTN_SITE_PATTERN, ATTN_SITE_RESID_POST};
    size_t n;
    int32_t *ids = read_ids(models[0], &n);
    struct attn_request request = request_of(ids, n);
    struct performed beside, alone;

    request.selection.sites = "value_zeroing,pattern,rollout,resid_post,weighted_pattern,logits";
    request.selection.heads = "1.1";
    beside = perform_on(models[0], &request, 2);
    request.selection.sites = "pattern,resid_post,logits";
    alone = perform_on(models[0], &request, 2);
    for (size_t i = 0; i < 2; i++)
        for (int layer = 1; layer < 2; layer++)
            ck_assert_mem_eq(attn_kept(beside.capture, others[i], layer),
                             attn_kept(alone.capture, others[i], layer),
                             n * (i == 0 ? n : 6) * sizeof(float));
    ck_assert_mem_eq(attn_kept(beside.capture, ATTN_SITE_LOGITS, ATTN_NO_LAYER),
                     attn_kept(alone.capture, ATTN_SITE_LOGITS, ATTN_NO_LAYER), n * sizeof(float));
    let_go(&beside);
    let_go(&alone);
    free(ids);
}
END_TEST

/* --- Edits and attention ---------------------------------------------------------------------- */

START_TEST(edits_come_before_them)
{
    /* no value reaches the output */
    struct attn_edit_texts texts = {.ablate = "1.*,pattern:0,pattern:1"};
    struct attn_error err = {0};
    size_t n;
    int32_t *ids = read_ids(models[0], &n);
    struct attn_request request = request_of(ids, n);
    struct performed p;

    ck_assert(attn_edit_texts_read(&texts, NULL, &request.edits, &err) == ATTN_OK);
    p = perform_on(models[0], &request, 1);
    for (size_t i = 0; i < n * n; i++) {
        ck_assert(attn_kept(p.capture, ATTN_SITE_ROLLOUT, 1)[i] == (i / n == i % n));
        ck_assert(attn_kept(p.capture, ATTN_SITE_WEIGHTED_PATTERN, 1)[i] == 0);
        ck_assert(attn_kept(p.capture, ATTN_SITE_VALUE_ZEROING, 1)[i] == 0);
    }
    let_go(&p);
    attn_edit_texts_release(&texts);
    free(ids);
}
END_TEST

/* An edit of resid_pre that does not give the same twice. */
START_TEST(an_edit_of_a_layers_input_is_made_once)
{
    struct attn_edit edit = ATTN_EDIT_DEFAULT;
    size_t n;
    int32_t *ids = read_ids(models[0], &n);
    struct attn_request request = request_of(ids, n);
    struct performed p;

    edit.at.site = ATTN_SITE_RESID_PRE, edit.at.layer = 1, edit.op = ATTN_EDIT_SCALE,
    edit.factor = -3;
    edit.row0 = 2, edit.row1 = 5, edit.col1 = 3;
    request.edits.items = &edit;
    request.edits.n = 1;
    request.selection.sites = "pattern,v,weighted_pattern";
    p = perform_on(models[0], &request, 1);
    const float *pattern = attn_kept_head(p.capture, ATTN_SITE_PATTERN, 1, 0);
    const float *weighted = attn_kept_head(p.capture, ATTN_SITE_WEIGHTED_PATTERN, 1, 0);

    for (size_t row = 1; row < n; row++) /* a column is the pattern's times one number */
        for (size_t key = 0; key < row; key++)
            ck_assert_double_eq_tol(
                (double)weighted[row * n + key] / (double)pattern[row * n + key],
                (double)weighted[key * n + key] / (double)pattern[key * n + key], 1e-5);
    let_go(&p);
    free(ids);
}
END_TEST

/* The causal model, with masks and kinds whose rows are not fed in pieces, or see less. */
START_TEST(every_attention_with_a_pattern_has_them)
{
    static const char *const kinds[] = {"full",    "window:3", "strided:2", "random:3",
                                        "block:4", "linear",   "hybrid:2:3"};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t n;
        int32_t *ids = read_ids(models[0], &n);
        struct attn_request request = request_of(ids, n);
        struct attn_attention attention[MOST_LAYERS];
        struct performed p;

        for (int mask = 0; mask < 2; mask++) {
            set_kind(attention, kinds[i], mask == 0 ? ATTN_MASK_CAUSAL : ATTN_MASK_NONE);
            request.attention.layers = attention;
            p = perform_on(models[0], &request, 2);
            for (size_t row = 0; row < n; row++) {
                const float *x = attn_kept(p.capture, ATTN_SITE_ROLLOUT, 1);
                const float *y = attn_kept(p.capture, ATTN_SITE_VALUE_ZEROING, 1);

                ck_assert_double_eq_tol(row_sum(x + row * n, n), 1, 1e-6);
                ck_assert_double_eq_tol(row_sum(y + row * n, n), 1, 1e-6);
            }
            let_go(&p);
        }
        free(ids);
    }
}
END_TEST

START_TEST(layers_that_attend_to_a_source_have_two_of_them)
{
    static const int32_t ids[] = {1, 5, 2, 7};
    static float rows[] = {.5F, 1, -1, 0, .25F, -.5F, 2, 1, 1, 0, .75F, -1, 0, .5F, 1};
    const struct attn_ndarray source = {.rank = 2, .shape = {3, 5}, .data = rows};
    struct attn_request request = request_of(ids, 4);
    struct performed p;

    request.selection.sites = "weighted_pattern,value_zeroing";
    request.source.embeddings = &source;
    p = perform_on("tests/fixtures/attn-cross", &request, 1);
    for (size_t row = 0; row < 4; row++) {
        const float *x = attn_kept(p.capture, ATTN_SITE_VALUE_ZEROING, 2);

        ck_assert_double_eq_tol(row_sum(x + row * 3, 3), 1, 1e-6);
    }
    let_go(&p);
    for (size_t tokens = 2; tokens <= 4; tokens += 2) {
        const struct setting setting = {
            .model = "tests/fixtures/attn-cross", .source = &source, .n = tokens, .n_key = 3};

        check_zeroing(&setting, 0);
        check_zeroing(&setting, 2);
    }
}
END_TEST

/* --- Failures --------------------------------------------------------------------------------- */

START_TEST(they_are_refused_where_they_mean_nothing)
{
    static const struct {
        const char *model, *sites, *kind, *message;
    } rows[] = {
        {"models/life-is-short", "rollout", NULL, "residual stream"},
        {"tests/fixtures/attn-cross", "rollout", NULL, "attends to a source"},
        {"models/tiny-gpt2", "pattern_lowrank,value_zeroing", "lowrank:2", "'lowrank' has none"},
    };
    static const int32_t ids[] = {1, 2, 3};
    static float numbers[] = {1, 2, 3, 4, 5};
    const struct attn_ndarray source = {.rank = 2, .shape = {1, 5}, .data = numbers};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_attention attention[MOST_LAYERS];
        struct attn_request request = request_of(ids, 3);
        struct attn_error err = {0};
        struct performed p = {0};

        request.selection.sites = rows[i].sites;
        if (rows[i].kind != NULL) {
            set_kind(attention, rows[i].kind, ATTN_MASK_NONE);
            request.attention.layers = attention;
        }
        if (strstr(rows[i].model, "cross") != NULL)
            request.source.embeddings = &source;
        ck_assert(attn_host_open(rows[i].model, NULL, &p.host, &err) == ATTN_OK);
        ck_assert(try(&p, &request, &err) == ATTN_INVALID);
        ck_assert_msg(strstr(err.message, rows[i].message) != NULL, "%s", err.message);
        ck_assert(err.stage == ATTN_STAGE_OPTIONS);
        let_go(&p);
    }
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    static const int32_t ids[] = {1, 2, 3, 2};
    struct attn_request request = request_of(ids, 4);
    enum attn_status status = ATTN_NO_MEMORY;
    struct performed p = {0};
    struct attn_error err = {0};

    ck_assert(attn_host_open(models[0], NULL, &p.host, &err) == ATTN_OK);
    for (long n = 0; status != ATTN_OK; n++) {
        attn_alloc_fail_at(n);
        status = try(&p, &request, &err);
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%s", err.message);
        attn_capture_free(p.capture);
        attn_run_free(p.run);
        p.capture = NULL;
        p.run = NULL;
    }
    let_go(&p);
}
END_TEST

ATTN_SUITE("derived", they_are_what_their_definitions_say,
           rows_of_rollout_and_value_zeroing_add_up_to_one, rollout_is_a_product_of_patterns,
           value_zeroing_is_what_runs_without_a_value_show, weights_are_of_the_lengths_of_values,
           a_choice_changes_no_bit, long_texts_are_rolled_out_in_pieces,
           other_tensors_stay_what_they_are, edits_come_before_them,
           an_edit_of_a_layers_input_is_made_once, every_attention_with_a_pattern_has_them,
           layers_that_attend_to_a_source_have_two_of_them,
           they_are_refused_where_they_mean_nothing, every_allocation_may_fail)
