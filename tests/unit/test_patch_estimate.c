/*
 * test_patch_estimate.c - estimates of patches against tests/golden/estimates.csv, which automatic
 * differentiation in float64 made (PROVENANCE.md): every site, method and direction of five models.
 * The same bits however they are computed, and those of attn_patch where they are checked.
 */
#include "kernels/kernels.h"
#include "tests/support/column.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_IDS = 400, N_METHOD = 3, MOST_ROWS = 20000 };

/* A model with a question. */
struct pair {
    struct attn_host *host;
    struct attn_request request;
    int32_t clean[MOST_IDS], corrupted[MOST_IDS], answer[2];
    size_t n;
    struct attn_error err;
};

static void open_model(struct pair *pair, const char *name, const struct attn_host_options *options)
{
    char path[128];

    snprintf(path, sizeof path, "%s%s", strcmp(name, "fable") == 0 ? "" : "tests/fixtures/", name);
    attn_host_free(pair->host);
    pair->host = NULL;
    pair->request = ATTN_REQUEST_DEFAULT;
    ck_assert_msg(attn_host_open(path, options, &pair->host, &pair->err) == ATTN_OK, "%s: %s", path,
                  pair->err.message);
    pair->request.input.ids = pair->clean;
}

static struct attn_patch_args args_of(const struct pair *pair, const char *site)
{
    struct attn_patch_args args = ATTN_PATCH_ARGS_DEFAULT;

    args.corrupted = (struct attn_input){.ids = pair->corrupted, .n_id = pair->n};
    args.answer =
        (struct attn_answer_args){.target_id = &pair->answer[0], .foil_id = &pair->answer[1]};
    args.site = site;
    args.method = ATTN_PATCH_ATP;
    args.n_verified = 0;
    return args;
}

static struct attn_table *estimate(struct pair *pair, const struct attn_patch_args *args)
{
    struct attn_patch_sum sum = ATTN_PATCH_SUM_DEFAULT;
    struct attn_table *table;

    if (pair->request.input.ids)
        pair->request.input.n_id = pair->n;
    ck_assert_msg(attn_patch(pair->host, &pair->request, args, &table, &sum, &pair->err) == ATTN_OK,
                  "%s: %s", args->site, pair->err.message);
    return table;
}

/* A text of N made-up tokens, and another. */
static void make_up(struct pair *pair, size_t n)
{
    const int32_t n_vocab = (int32_t)attn_model_config(attn_host_model(pair->host))->n_vocab;

    pair->n = n;
    for (size_t i = 0; i < n; i++) {
        pair->clean[i] = (int32_t)(i * 37 + 11) % n_vocab;
        pair->corrupted[i] = i % 7 == 3 ? (int32_t)(i * 11 + 5) % n_vocab : pair->clean[i];
    }
    pair->answer[0] = n_vocab / 3;
    pair->answer[1] = n_vocab / 2;
}

/* --- float64 ---------------------------------------------------------------------------------- */

/* "1 2 3 / 1 4 3 / 7 8" */
static void read_question(struct pair *pair, char *text)
{
    int32_t *lists[] = {pair->clean, pair->corrupted, pair->answer};
    size_t n[3] = {0};

    for (size_t list = 0; *text != '\0' && *text != '\n';)
        if (*text == '/') {
            ck_assert(++list < 3);
            text++;
        } else {
            ck_assert(n[list] < 2 || list < 2);
            lists[list][n[list]++] = (int32_t)strtol(text, &text, 10);
            text += strspn(text, " ");
        }
    ck_assert_uint_eq(n[0], n[1]);
    ck_assert_uint_eq(n[2], 2);
    pair->n = n[0];
}

/* A line of the golden file. */
struct golden {
    char site[16], direction[16], by[16], layer[8], head[8], position[8];
    double estimates[N_METHOD]; /* NaN: none */
};

static void read_golden(char *line, struct golden *golden)
{
    char *fields[9], *at = line;

    for (size_t i = 0; i < 9; i++) {
        fields[i] = at;
        at = strchr(at, ',');
        ck_assert(at);
        *at++ = '\0';
    }
    snprintf(golden->site, sizeof golden->site, "%s", fields[0]);
    snprintf(golden->direction, sizeof golden->direction, "%s", fields[1]);
    snprintf(golden->by, sizeof golden->by, "%s", fields[2]);
    snprintf(golden->layer, sizeof golden->layer, "%s", fields[3]);
    snprintf(golden->head, sizeof golden->head, "%s", fields[4]);
    snprintf(golden->position, sizeof golden->position, "%s", fields[5]);
    for (size_t i = 0; i < N_METHOD; i++)
        golden->estimates[i] = fields[6 + i][0] != '\0' ? strtod(fields[6 + i], NULL) : (double)NAN;
}

static bool is_number(const struct attn_table *table, size_t row, const char *name,
                      const char *expected)
{
    return expected[0] == '\0' ||
           attn_test_cell(table, row, name).integer == (int64_t)strtol(expected, NULL, 10);
}

/* The rows of GOLDEN [n], of one site, direction and kind. */
static void check_rows(struct pair *pair, const struct golden *golden, size_t n)
{
    struct attn_patch_args args = args_of(pair, golden->site);
    const bool is_of_keys = strcmp(golden->site, "k") == 0 || strcmp(golden->site, "v") == 0;

    args.direction = strcmp(golden->direction, "noise") == 0 ? ATTN_PATCH_DIRECTION_NOISE
                                                             : ATTN_PATCH_DIRECTION_AUTO;
    args.is_by_position = strcmp(golden->by, "position") == 0;
    for (int method = 0; method < N_METHOD; method++) {
        struct attn_table *table;
        double largest = 0;

        args.method = (enum attn_patch_method)(ATTN_PATCH_ATP + method);
        if (isnan(golden->estimates[method]))
            continue;
        table = estimate(pair, &args);
        ck_assert_uint_eq(attn_table_n_row(table), n + 2);
        for (size_t i = 0; i < n; i++)
            largest = fmax(largest, fabs(golden[i].estimates[method]));
        for (size_t i = 0; i < n; i++) {
            const double expected = golden[i].estimates[method];
            const double found = attn_test_cell(table, i + 2, "estimate").real;

            ck_assert(is_number(table, i + 2, "layer", golden[i].layer) &&
                      is_number(table, i + 2, is_of_keys ? "kv_head" : "head", golden[i].head) &&
                      is_number(table, i + 2, "position", golden[i].position));
            /* float32 itself is off by 1.5e-5 at most, and never where both texts agree. */
            ck_assert_msg(fabs(found - expected) <= 5e-5 * largest + 2e-5 &&
                              (expected < 0 || expected > 0 || (found <= 0 && !signbit(found))),
                          "%s, %s by %s, method %d, row %zu: %.9g, expected %.9g", golden->site,
                          golden->direction, golden->by, method, i, found, expected);
        }
        attn_table_free(table);
    }
}

START_TEST(estimates_are_those_of_float64)
{
    FILE *file = fopen("tests/golden/estimates.csv", "r");
    struct golden *golden = calloc(MOST_ROWS, sizeof *golden);
    struct pair pair = {0};
    size_t n = 0, n_group = 0;
    char line[4096];

    ck_assert(file && golden);
    for (bool is_over = false; !is_over;) {
        is_over = !fgets(line, sizeof line, file);
        if (!is_over && line[0] != '@')
            read_golden(line, &golden[n]);
        if (n > 0 && (is_over || line[0] == '@' || strcmp(golden[n].site, golden->site) != 0 ||
                      strcmp(golden[n].direction, golden->direction) != 0 ||
                      strcmp(golden[n].by, golden->by) != 0)) {
            check_rows(&pair, golden, n);
            n_group++;
            golden[0] = golden[n];
            n = 0;
        }
        if (!is_over && line[0] == '@') {
            char *ids = strchr(line, ' ');

            *ids = '\0';
            open_model(&pair, line + 1, NULL);
            read_question(&pair, ids + 1);
        } else {
            n++;
        }
    }
    ck_assert_msg(n_group >= 100, "%zu", n_group);
    attn_host_free(pair.host);
    free(golden);
    fclose(file);
}
END_TEST

/* --- differences ------------------------------------------------------------------------------ */

/* Embeddings of N made-up rows: X + STEP times a direction. */
static void make_rows(float *x, size_t n, size_t d, double step)
{
    for (size_t i = 0; i < n * d; i++)
        x[i] = (float)(sin((double)i * 0.7) * 0.3 + step * cos((double)i * 1.3));
}

/* Where two texts are nearly the same, the straight line is the way between them: the mean of both
 * directions, a central difference, is that of the effects. */
static void check_differences(struct pair *pair, const char *site, const struct attn_ndarray *rows)
{
    struct attn_patch_args args = args_of(pair, site);
    struct attn_patch_sum sum = ATTN_PATCH_SUM_DEFAULT;
    struct attn_table *tables[2];
    double largest = 0, worst = 0;
    size_t n_row;

    args.corrupted = (struct attn_input){.embeddings = &rows[1]};
    args.n_verified = 1000;
    pair->request.input = (struct attn_input){.embeddings = &rows[0]};
    for (int noise = 0; noise < 2; noise++) {
        args.direction = noise ? ATTN_PATCH_DIRECTION_NOISE : ATTN_PATCH_DIRECTION_AUTO;
        ck_assert_msg(attn_patch(pair->host, &pair->request, &args, &tables[noise], &sum,
                                 &pair->err) == ATTN_OK,
                      "%s: %s", site, pair->err.message);
    }
    n_row = attn_table_n_row(tables[0]);
    for (size_t row = 2; row < n_row; row++) {
        double estimate = 0, effect = 0;

        for (int noise = 0; noise < 2; noise++) {
            estimate += attn_test_cell(tables[noise], row, "estimate").real / 2;
            effect += attn_test_cell(tables[noise], row, "effect").real / 2;
        }
        largest = fmax(largest, fabs(effect));
        worst = fmax(worst, fabs(estimate - effect));
    }
    ck_assert_msg(largest > 0 && worst <= 1e-2 * largest, "%s: off by %g of %g", site, worst,
                  largest);
    attn_table_free(tables[0]);
    attn_table_free(tables[1]);
}

START_TEST(estimates_are_central_differences_of_patches)
{
    static const char *const models[] = {"fable", "family-olmo2", "family-gemma2", "family-qwen3"};
    static const char *const sites[] = {"resid_pre", "resid_mid", "attn_out", "mlp_out", "q",
                                        "k",         "v",         "z",        "pattern"};
    struct pair pair = {0};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct attn_ndarray rows[2];
        float *x;
        size_t d;

        open_model(&pair, models[i], NULL);
        make_up(&pair, 8);
        d = attn_model_config(attn_host_model(pair.host))->d_model;
        x = calloc(2 * pair.n * d, sizeof *x);
        ck_assert(x);
        for (size_t k = 0; k < 2; k++) {
            make_rows(x + k * pair.n * d, pair.n, d, k == 0 ? 3e-3 : -3e-3);
            rows[k] =
                (struct attn_ndarray){.data = x + k * pair.n * d, .rank = 2, .shape = {pair.n, d}};
        }
        for (size_t k = 0; k < sizeof sites / sizeof *sites; k++)
            check_differences(&pair, sites[k], rows);
        free(x);
    }
    attn_host_free(pair.host);
}
END_TEST

/* --- bits ------------------------------------------------------------------------------------- */

static const struct {
    const char *site;
    bool is_by_position;
    enum attn_patch_method method;
} asked[] = {{"z", true, ATTN_PATCH_ATP},         {"v", false, ATTN_PATCH_RELP},
             {"q", true, ATTN_PATCH_ATP},         {"k", false, ATTN_PATCH_ATP},
             {"k", true, ATTN_PATCH_RELP},        {"pattern", true, ATTN_PATCH_IG},
             {"mlp_post", false, ATTN_PATCH_ATP}, {"resid_pre", false, ATTN_PATCH_IG},
             {"k", true, ATTN_PATCH_IG}};
enum { N_ASKED = sizeof asked / sizeof *asked };

/* All estimates of what is ASKED, into NUMBERS; returns how many. */
static size_t collect(struct pair *pair, size_t i, size_t kept_bytes, double *numbers)
{
    struct attn_patch_args args = args_of(pair, asked[i].site);
    struct attn_table *table;
    size_t n;

    args.is_by_position = asked[i].is_by_position;
    args.method = asked[i].method;
    args.n_point = 2;
    args.kept_bytes = kept_bytes;
    table = estimate(pair, &args);
    n = attn_table_n_row(table);
    ck_assert(n <= MOST_ROWS);
    for (size_t row = 0; row < n; row++)
        numbers[row] = attn_test_cell(table, row, "estimate").real;
    attn_table_free(table);
    return n;
}

static void compare_bits(const char *name, size_t n_token)
{
    double *expected = calloc((size_t)N_ASKED * MOST_ROWS, sizeof *expected);
    double *found = calloc(MOST_ROWS, sizeof *found);
    struct attn_host_options ways[16];
    size_t n_way = 0;
    struct pair pair = {0};

    ck_assert(expected && found);
    for (size_t i = 0; i < 3; i++) {
        ways[n_way] = ATTN_HOST_OPTIONS_DEFAULT;
        ways[n_way++].n_thread = i == 0 ? 1 : i == 1 ? 2 : 5;
    }
    for (int isa = 0; n_token < 50 && isa < ATTN_ISA_BEST; isa++) { /* others are slow */
        ways[n_way] = ATTN_HOST_OPTIONS_DEFAULT;
        ways[n_way].n_thread = 1;
        ways[n_way++].isa = (enum attn_isa)isa;
    }
    ways[n_way] = ATTN_HOST_OPTIONS_DEFAULT;
    ways[n_way++].reuse = true;
    for (size_t way = 0; way < n_way; way++) {
        open_model(&pair, name, &ways[way]);
        make_up(&pair, n_token);
        for (size_t i = 0; i < N_ASKED; i++) {
            double *first = expected + i * MOST_ROWS;
            const size_t n = collect(&pair, i, way % 2 == 0 ? (size_t)1 << 30 : 0, found);

            if (way == 0)
                memcpy(first, found, n * sizeof *found);
            ck_assert_msg(memcmp(first, found, n * sizeof *found) == 0, "%s: %s, way %zu", name,
                          asked[i].site, way);
        }
    }
    attn_host_free(pair.host);
    free(expected);
    free(found);
}

START_TEST(bits_do_not_depend_on_threads_instructions_or_what_was_kept)
{
    if (attn_one_of(2) == 1) { /* else one of each */
        compare_bits("fable", 80);
        compare_bits("family-olmo2", 20);
    }
    compare_bits("fable", 10);
    compare_bits("family-gemma2", 20);
    compare_bits("family-gpt-neox-parallel", 20);
}
END_TEST

/* The estimates of SITE, of the texts or of their embeddings ROWS [2]: those are fed one after the
 * other, short texts together. */
static struct attn_table *estimate_rows(struct pair *pair, const char *site,
                                        const struct attn_ndarray *rows)
{
    struct attn_patch_args args = args_of(pair, site);

    args.is_by_position = true;
    if (rows)
        args.corrupted = (struct attn_input){.embeddings = &rows[1]};
    pair->request.input = rows ? (struct attn_input){.embeddings = &rows[0]}
                               : (struct attn_input){.ids = pair->clean, .n_id = pair->n};
    return estimate(pair, &args);
}

START_TEST(texts_that_are_fed_together_have_the_bits_of_each_alone)
{
    static const char *const models[] = {"fable", "family-olmo2", "family-gemma2"};
    static const char *const sites[] = {"q", "k", "v", "z"};
    struct pair pair = {0};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct attn_ndarray rows[2];
        const struct attn_model *model;
        size_t d;
        float *x;

        open_model(&pair, models[i], NULL);
        make_up(&pair, 12);
        model = attn_host_model(pair.host);
        d = attn_model_config(model)->d_model;
        x = calloc(2 * pair.n * d, sizeof *x);
        ck_assert(x);
        for (size_t k = 0; k < 2; k++) {
            ck_assert_int_eq(attn_model_embed(model, k == 0 ? pair.clean : pair.corrupted, pair.n,
                                              x + k * pair.n * d, NULL),
                             ATTN_OK);
            rows[k] =
                (struct attn_ndarray){.data = x + k * pair.n * d, .rank = 2, .shape = {pair.n, d}};
        }
        for (size_t k = 0; k < sizeof sites / sizeof *sites; k++) {
            struct attn_table *together = estimate_rows(&pair, sites[k], NULL);
            struct attn_table *alone = estimate_rows(&pair, sites[k], rows);

            for (size_t row = 2; row < attn_table_n_row(together); row++) {
                const double a = attn_test_cell(together, row, "estimate").real;
                const double b = attn_test_cell(alone, row, "estimate").real;

                ck_assert_msg(memcmp(&a, &b, sizeof a) == 0, "%s: %s, row %zu", models[i], sites[k],
                              row);
            }
            attn_table_free(together);
            attn_table_free(alone);
        }
        free(x);
    }
    attn_host_free(pair.host);
}
END_TEST

/* --- checks ----------------------------------------------------------------------------------- */

/* Rows that are checked have the bits of attn_patch. */
static void check_patched(struct pair *pair, const char *site, bool is_to_noise)
{
    struct attn_patch_args args = args_of(pair, site);
    struct attn_patch_args exact = ATTN_PATCH_ARGS_DEFAULT;
    struct attn_patch_sum sum = ATTN_PATCH_SUM_DEFAULT;
    struct attn_table *table, *patched;
    size_t n_checked = 0;

    args.n_verified = 3;
    args.direction = exact.direction =
        is_to_noise ? ATTN_PATCH_DIRECTION_NOISE : ATTN_PATCH_DIRECTION_RESTORE;
    exact.corrupted = args.corrupted;
    exact.answer = args.answer;
    exact.site = site;
    table = estimate(pair, &args);
    ck_assert(attn_patch(pair->host, &pair->request, &exact, &patched, &sum, &pair->err) ==
              ATTN_OK);
    ck_assert_uint_eq(attn_table_n_row(table), attn_table_n_row(patched));
    for (size_t row = 0; row < attn_table_n_row(table); row++) {
        const bool is_run = row < 2;

        if (!is_run && attn_test_cell(table, row, "check").type == ATTN_VALUE_MISSING) {
            ck_assert_int_eq(attn_test_cell(table, row, "value").type, ATTN_VALUE_MISSING);
            continue;
        }
        n_checked += !is_run;
        for (size_t i = 0; i < 2; i++) {
            const char *name = i == 0 ? "value" : "effect";
            const double a = attn_test_cell(table, row, name).real,
                         b = attn_test_cell(patched, row, name).real;

            ck_assert_msg(!(a < b || a > b), "%s, row %zu: %s %.17g, expected %.17g", site, row,
                          name, a, b);
        }
    }
    ck_assert_uint_eq(n_checked, attn_table_n_row(table) < 8 ? attn_table_n_row(table) - 2 : 6);
    attn_table_free(table);
    attn_table_free(patched);
}

START_TEST(checked_rows_have_the_bits_of_patches)
{
    static const char *const models[] = {"fable", "family-olmo2", "family-gemma2"};
    static const char *const sites[] = {"resid_pre", "attn_out", "mlp_out", "q",
                                        "k",         "v",        "z",       "pattern"};
    struct pair pair = {0};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        open_model(&pair, models[i], NULL);
        make_up(&pair, 12);
        for (size_t k = 0; k < sizeof sites / sizeof *sites; k++)
            check_patched(&pair, sites[k], k % 2 == 1);
    }
    attn_host_free(pair.host);
}
END_TEST

/* And estimates of the largest are near their effects: a neuron is a small part. */
START_TEST(neurons_are_the_largest_and_those_that_were_drawn)
{
    struct attn_patch_sum sum = ATTN_PATCH_SUM_DEFAULT;
    struct attn_patch_args args;
    struct attn_table *table;
    struct pair pair = {0};
    double before = (double)INFINITY;

    open_model(&pair, "fable", NULL);
    make_up(&pair, 12);
    args = args_of(&pair, "mlp_post");
    args.n_most = 5;
    args.n_verified = 4;
    pair.request.input.n_id = pair.n;
    ck_assert(attn_patch(pair.host, &pair.request, &args, &table, &sum, &pair.err) == ATTN_OK);
    ck_assert_uint_eq(attn_table_n_row(table), 2 + 5 + 4);
    ck_assert_uint_eq(sum.n_part, 2048);
    for (size_t row = 2; row < 7; row++) {
        const double size = fabs(attn_test_cell(table, row, "estimate").real);

        ck_assert(size <= before);
        before = size;
    }
    for (size_t row = 7; row < 11; row++)
        ck_assert(memcmp(attn_test_cell(table, row, "check").text, "random", 6) == 0);
    for (size_t row = 2; row < 6; row++)
        ck_assert(fabs(attn_test_cell(table, row, "estimate").real -
                       attn_test_cell(table, row, "effect").real) <
                  0.5 * fabs(attn_test_cell(table, row, "effect").real));
    ck_assert(sum.top.n == 4 && sum.random.n == 4);
    ck_assert(fabs(sum.most_missed - (1 - pow(0.05, 0.25))) < 1e-9 || sum.n_above > 0);
    attn_table_free(table);
    attn_host_free(pair.host);
}
END_TEST

START_TEST(all_parts_checked_leave_none_to_draw)
{
    struct attn_patch_sum sum = ATTN_PATCH_SUM_DEFAULT;
    struct attn_patch_args args;
    struct attn_table *table;
    struct pair pair = {0};

    open_model(&pair, "family-qwen3", NULL);
    make_up(&pair, 8);
    args = args_of(&pair, "z");
    args.n_verified = 1000;
    pair.request.input.n_id = pair.n;
    ck_assert(attn_patch(pair.host, &pair.request, &args, &table, &sum, &pair.err) == ATTN_OK);
    ck_assert_uint_eq(sum.top.n, sum.n_part);
    ck_assert(sum.random.n == 0 && isnan(sum.most_missed) && isnan(sum.random_most));
    attn_table_free(table);
    attn_host_free(pair.host);
}
END_TEST

ATTN_SUITE("patch_estimate", estimates_are_those_of_float64,
           estimates_are_central_differences_of_patches,
           bits_do_not_depend_on_threads_instructions_or_what_was_kept,
           texts_that_are_fed_together_have_the_bits_of_each_alone,
           checked_rows_have_the_bits_of_patches, neurons_are_the_largest_and_those_that_were_drawn,
           all_parts_checked_leave_none_to_draw)
