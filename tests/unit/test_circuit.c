/*
 * test_circuit.c - edges between parts against tests/golden/edges.csv, which was computed in
 * float64 (PROVENANCE.md): of five models, with grouped keys, parallel blocks, and norms after the
 * heads.
 */
#include "tests/support/column.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_IDS = 40, MOST_ROWS = 2000, N_NUMBER = 4, N_GOLDEN = 5 };

/* A line of the golden file: an edge and its numbers. */
struct golden {
    char kind[16], from[32], to[32];
    double numbers[N_NUMBER];
};

/* A model with a question, and the lines about it. */
struct asked {
    struct attn_host *host;
    struct attn_request request;
    int32_t clean[MOST_IDS], corrupted[MOST_IDS], answer[2];
    size_t n;
    struct golden *lines; /* [n_line] owns */
    size_t n_line;
};

/* "@MODEL 1 2 3 / 1 4 3 / 7 8" */
static void open_model(struct asked *asked, char *line, const struct attn_host_options *options)
{
    int32_t *lists[] = {asked->clean, asked->corrupted, asked->answer};
    size_t n[3] = {0}, list = 0;
    struct attn_error err;
    char path[512], *text = strchr(line, ' ');

    ck_assert(text);
    *text++ = '\0';
    snprintf(path, sizeof path, "%s%s", strcmp(line, "@fable") == 0 ? "" : "tests/fixtures/",
             line + 1);
    for (; *text != '\0' && *text != '\n'; text += strspn(text, " "))
        if (*text == '/') {
            ck_assert(++list < 3);
            text++;
        } else {
            ck_assert(n[list] < (list < 2 ? MOST_IDS : 2));
            lists[list][n[list]++] = (int32_t)strtol(text, &text, 10);
        }
    ck_assert(n[0] == n[1] && n[2] == 2);
    asked->n = n[0];
    ck_assert_msg(attn_host_open(path, options, &asked->host, &err) == ATTN_OK, "%s: %s", path,
                  err.message);
    asked->request = ATTN_REQUEST_DEFAULT;
    asked->request.input.ids = asked->clean;
    asked->request.input.n_id = asked->n;
}

static void read_line(char *line, struct golden *golden)
{
    char *fields[3], *at = line;

    for (size_t i = 0; i < 3; i++) {
        fields[i] = at;
        at = strchr(at, ',');
        ck_assert(at);
        *at++ = '\0';
    }
    snprintf(golden->kind, sizeof golden->kind, "%s", fields[0]);
    snprintf(golden->from, sizeof golden->from, "%s", fields[1]);
    snprintf(golden->to, sizeof golden->to, "%s", fields[2]);
    for (size_t i = 0; i < N_NUMBER; i++) {
        golden->numbers[i] = strtod(at, &at);
        at += *at == ',';
    }
}

/* Opens model number I of the golden file, and reads its lines of KIND. False after the last. */
static bool find_model(struct asked *asked, size_t i, const char *kind,
                       const struct attn_host_options *options)
{
    FILE *file = fopen("tests/golden/edges.csv", "r");
    size_t n_model = 0;
    char line[400];

    *asked = (struct asked){.lines = calloc(MOST_ROWS, sizeof *asked->lines)};
    ck_assert(file && asked->lines);
    while (fgets(line, sizeof line, file) && n_model <= i + 1) {
        n_model += line[0] == '@';
        if (n_model != i + 1)
            continue;
        if (line[0] == '@')
            open_model(asked, line, options);
        else if (strncmp(line, kind, strlen(kind)) == 0)
            read_line(line, &asked->lines[asked->n_line++]);
        ck_assert_uint_lt(asked->n_line, MOST_ROWS);
    }
    fclose(file);
    if (!asked->host)
        free(asked->lines);
    return asked->host;
}

/* Opens model number I of those whose identities are tested: of the golden file, then with experts,
 * and with limits of q, k and v. False after the last. */
static bool find_any_model(struct asked *asked, size_t i)
{
    static const char *const more[] = {"@decoder-gpt-oss 1 2 3 7 5 9 / 1 4 3 7 6 9 / 5 6",
                                       "@decoder-qwen2-moe 1 2 3 7 5 9 / 1 4 3 7 6 9 / 5 6",
                                       "@decoder-olmoe 1 2 3 7 5 9 / 1 4 3 7 6 9 / 5 6",
                                       "@family-olmo 1 2 3 7 5 9 / 1 4 3 7 6 9 / 5 6"};
    char line[80];

    if (find_model(asked, i, "score", NULL))
        return true;
    *asked = (struct asked){.lines = NULL};
    if (i >= N_GOLDEN + sizeof more / sizeof *more)
        return false;
    snprintf(line, sizeof line, "%s", more[i - N_GOLDEN]);
    open_model(asked, line, NULL);
    return true;
}

static void release(struct asked *asked)
{
    attn_host_free(asked->host);
    free(asked->lines);
}

/* Returns the row of TABLE with the edge of GOLDEN. */
static size_t find_row(const struct attn_table *table, const struct golden *golden)
{
    size_t row = 0;

    while (row < attn_table_n_row(table)) {
        const struct attn_cell from = attn_test_cell(table, row, "from");
        const struct attn_cell to = attn_test_cell(table, row, "to");

        if (from.type == ATTN_VALUE_TEXT && from.size == strlen(golden->from) &&
            to.size == strlen(golden->to) && memcmp(from.text, golden->from, from.size) == 0 &&
            memcmp(to.text, golden->to, to.size) == 0)
            break;
        row++;
    }
    ck_assert_msg(row < attn_table_n_row(table), "no edge from %s to %s", golden->from, golden->to);
    return row;
}

/* Compares number NUMBER of the lines with COLUMN of TABLE. */
static void compare(const struct asked *asked, const struct attn_table *table, size_t number,
                    const char *column)
{
    double largest = 0;

    for (size_t i = 0; i < asked->n_line; i++)
        largest = fmax(largest, fabs(asked->lines[i].numbers[number]));
    for (size_t i = 0; i < asked->n_line; i++) {
        const struct golden *line = &asked->lines[i];
        const double found = attn_test_cell(table, find_row(table, line), column).real;

        /* float32 itself is off by 4.1e-6 */
        ck_assert_msg(fabs(found - line->numbers[number]) <= 1.6e-5 + 1e-4 * largest,
                      "%s from %s to %s, number %zu: %.9g, expected %.9g", line->kind, line->from,
                      line->to, number, found, line->numbers[number]);
    }
}

/* Patches PATHS. The caller frees the table. */
static struct attn_table *patch(const struct asked *asked, const char *paths, bool is_to_noise,
                                bool is_frozen)
{
    struct attn_patch_args args = ATTN_PATCH_ARGS_DEFAULT;
    struct attn_patch_sum sum = ATTN_PATCH_SUM_DEFAULT;
    struct attn_table *table;
    struct attn_error err;

    args.corrupted = (struct attn_input){.ids = asked->corrupted, .n_id = asked->n};
    args.answer =
        (struct attn_answer_args){.target_id = &asked->answer[0], .foil_id = &asked->answer[1]};
    args.path = paths;
    args.direction = is_to_noise ? ATTN_PATCH_DIRECTION_NOISE : ATTN_PATCH_DIRECTION_RESTORE;
    args.is_frozen = is_frozen;
    ck_assert_msg(attn_patch(asked->host, &asked->request, &args, &table, &sum, &err) == ATTN_OK,
                  "%s", err.message);
    return table;
}

START_TEST(paths_are_those_of_float64)
{
    struct asked asked;
    size_t n_model = 0;

    for (; find_model(&asked, n_model, "path", NULL); n_model++) {
        ck_assert_uint_gt(asked.n_line, 50);
        for (size_t i = 0; i < N_NUMBER; i++) {
            struct attn_table *table = patch(&asked, "*:*", i >= 2, i % 2 == 1);

            compare(&asked, table, i, "effect");
            attn_table_free(table);
        }
        release(&asked);
    }
    ck_assert_uint_eq(n_model, N_GOLDEN);
}
END_TEST

START_TEST(paths_have_the_same_bits_alone_and_beside_others_on_any_threads)
{
    static const char *const chosen[] = {"input:1.0.k", "0.1:0.mlp", "0.mlp:1.2.q", "1.0:logits"};
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    struct attn_table *table;
    struct asked asked;

    ck_assert(find_model(&asked, 3, "path", NULL)); /* norms after the heads, grouped keys */
    table = patch(&asked, "*:*", false, false);
    release(&asked);
    for (int n_thread = 1; n_thread <= 3; n_thread += 2) {
        options.n_thread = n_thread;
        ck_assert(find_model(&asked, 3, "path", &options));
        for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
            struct attn_table *alone = patch(&asked, chosen[i], false, false);
            struct golden edge = {.kind = "path"};
            const char *colon = strchr(chosen[i], ':');

            memcpy(edge.from, chosen[i], (size_t)(colon - chosen[i]));
            memcpy(edge.to, colon + 1, strlen(colon));
            const double expected = attn_test_cell(table, find_row(table, &edge), "value").real;
            const double found = attn_test_cell(alone, find_row(alone, &edge), "value").real;

            ck_assert_uint_eq(attn_table_n_row(alone), 3);
            ck_assert_msg(found <= expected && found >= expected, "%s", chosen[i]);
            attn_table_free(alone);
        }
        release(&asked);
    }
    attn_table_free(table);
}
END_TEST

/* Scores the edges, those of the circuit with N_EDGE edges, or if that is 0 all. The caller frees
 * the table. */
static struct attn_table *score(const struct asked *asked, enum attn_circuit_method method,
                                size_t n_edge)
{
    struct attn_circuit_args args = ATTN_CIRCUIT_ARGS_DEFAULT;
    struct attn_table *table;
    struct attn_error err;

    args.corrupted = (struct attn_input){.ids = asked->corrupted, .n_id = asked->n};
    args.answer =
        (struct attn_answer_args){.target_id = &asked->answer[0], .foil_id = &asked->answer[1]};
    args.method = method;
    args.n_edge = n_edge;
    ck_assert_msg(attn_circuit(asked->host, &asked->request, &args, &table, &err) == ATTN_OK, "%s",
                  err.message);
    return table;
}

START_TEST(scores_are_those_of_float64)
{
    struct asked asked;
    size_t n_model = 0;

    for (; find_model(&asked, n_model, "score", NULL); n_model++) {
        for (size_t i = 0; i < 2; i++) {
            struct attn_table *table =
                score(&asked, i == 0 ? ATTN_CIRCUIT_EAP : ATTN_CIRCUIT_EAP_IG, 0);

            ck_assert_uint_eq(attn_table_n_row(table), asked.n_line);
            compare(&asked, table, i, "score");
            attn_table_free(table);
        }
        release(&asked);
    }
    ck_assert_uint_eq(n_model, N_GOLDEN);
}
END_TEST

/* Returns the estimate of SITE in LAYER, of HEAD unless that is -1, summed over positions. */
static double estimate(const struct asked *asked, const char *site, int layer, int head,
                       enum attn_patch_method method)
{
    struct attn_patch_args args = ATTN_PATCH_ARGS_DEFAULT;
    struct attn_patch_sum sum = ATTN_PATCH_SUM_DEFAULT;
    struct attn_table *table;
    struct attn_error err;
    double found = 0;

    args.corrupted = (struct attn_input){.ids = asked->corrupted, .n_id = asked->n};
    args.answer =
        (struct attn_answer_args){.target_id = &asked->answer[0], .foil_id = &asked->answer[1]};
    args.site = site;
    args.method = method;
    args.n_point = 5;
    args.n_verified = 0;
    args.direction = ATTN_PATCH_DIRECTION_NOISE;
    ck_assert_msg(attn_patch(asked->host, &asked->request, &args, &table, &sum, &err) == ATTN_OK,
                  "%s", err.message);
    for (size_t row = 2; row < attn_table_n_row(table); row++)
        if (attn_test_cell(table, row, "layer").integer == layer &&
            (head < 0 || attn_test_cell(table, row, "head").integer == head))
            found += attn_test_cell(table, row, "estimate").real;
    attn_table_free(table);
    return found;
}

/* Returns the sum of the scores of the edges from WRITER. */
static double sum_scores(const struct attn_table *table, const char *writer)
{
    double sum = 0;

    for (size_t row = 0; row < attn_table_n_row(table); row++) {
        const struct attn_cell from = attn_test_cell(table, row, "from");

        if (from.size == strlen(writer) && memcmp(from.text, writer, from.size) == 0)
            sum += attn_test_cell(table, row, "score").real;
    }
    return sum;
}

START_TEST(scores_of_a_writer_add_up_to_its_estimate)
{
    static const enum attn_circuit_method methods[] = {ATTN_CIRCUIT_EAP, ATTN_CIRCUIT_EAP_IG};
    static const enum attn_patch_method estimates[] = {ATTN_PATCH_ATP, ATTN_PATCH_IG};
    struct asked asked;

    for (size_t i = 0; find_any_model(&asked, i); i++) {
        for (size_t k = 0; k < 2; k++) {
            struct attn_table *table = score(&asked, methods[k], 0);
            const double head = estimate(&asked, "z", 0, 1, estimates[k]);
            const double mlp = estimate(&asked, "mlp_out", 1, -1, estimates[k]);
            const double input = estimate(&asked, "resid_pre", 0, -1, estimates[k]);

            ck_assert(fabs(sum_scores(table, "0.1") - head) < 2e-5);
            ck_assert(fabs(sum_scores(table, "1.mlp") - mlp) < 2e-5);
            ck_assert(fabs(sum_scores(table, "input") - input) < 4e-5);
            attn_table_free(table);
        }
        release(&asked);
    }
}
END_TEST

START_TEST(parts_of_a_circuit_have_the_sum_of_their_edges_and_a_place)
{
    struct asked asked;

    for (size_t i = 0; find_any_model(&asked, i); i++) {
        struct attn_table *all = score(&asked, ATTN_CIRCUIT_EAP_IG, 0);
        struct attn_table *table = score(&asked, ATTN_CIRCUIT_EAP_IG, attn_table_n_row(all));
        size_t n_looking = 0;

        for (size_t row = 0; row < attn_table_n_row(table); row++) {
            const struct attn_cell from = attn_test_cell(table, row, "from");
            const int64_t position = attn_test_cell(table, row, "position").integer;
            const struct attn_cell key = attn_test_cell(table, row, "key");
            char name[32];

            snprintf(name, sizeof name, "%.*s", (int)from.size, from.text);
            ck_assert_msg(fabs(sum_scores(all, name) - attn_test_cell(table, row, "own").real) <
                              2e-5,
                          "%s", name);
            ck_assert_int_lt(position, (int64_t)asked.n);
            if (strcmp(name, "input") == 0)
                ck_assert_int_ne(asked.corrupted[position], asked.request.input.ids[position]);
            ck_assert(key.type == ATTN_VALUE_MISSING || key.integer <= position);
            n_looking += key.type == ATTN_VALUE_INTEGER;
        }
        ck_assert_uint_gt(n_looking, 0);
        attn_table_free(all);
        attn_table_free(table);
        release(&asked);
    }
}
END_TEST

/* Runs circuits of the sizes in CURVE. The caller frees the table. */
static struct attn_table *run_curve(const struct asked *asked, enum attn_circuit_method method,
                                    bool is_by_score, const char *curve)
{
    struct attn_circuit_args args = ATTN_CIRCUIT_ARGS_DEFAULT;
    struct attn_table *table;
    struct attn_error err;

    args.corrupted = (struct attn_input){.ids = asked->corrupted, .n_id = asked->n};
    args.answer =
        (struct attn_answer_args){.target_id = &asked->answer[0], .foil_id = &asked->answer[1]};
    args.method = method;
    args.is_by_score = is_by_score;
    args.curve = curve;
    args.n_random = 0;
    ck_assert_msg(attn_circuit(asked->host, &asked->request, &args, &table, &err) == ATTN_OK, "%s",
                  err.message);
    return table;
}

START_TEST(circuits_keep_what_those_of_float64_keep)
{
    struct asked asked;
    size_t n_circuit = 0;

    for (size_t i = 0; find_model(&asked, i, "curve", NULL); i++) {
        for (size_t k = 0; k < asked.n_line; k++, n_circuit++) {
            const struct golden *line = &asked.lines[k];
            char size[32];

            snprintf(size, sizeof size, "%.0f", line->numbers[0]);
            struct attn_table *table = run_curve(
                &asked, strcmp(line->from, "eap") == 0 ? ATTN_CIRCUIT_EAP : ATTN_CIRCUIT_EAP_IG,
                strcmp(line->to, "top") == 0, size);

            ck_assert_int_eq(attn_test_cell(table, 0, "n_edge").integer, (int64_t)line->numbers[0]);
            ck_assert_int_eq(attn_test_cell(table, 0, "n_kept").integer, (int64_t)line->numbers[1]);
            ck_assert(fabs(attn_test_cell(table, 0, "value").real - line->numbers[2]) <
                      3e-5 + 1e-4 * fabs(line->numbers[2]));
            ck_assert(fabs(attn_test_cell(table, 0, "faithfulness").real - line->numbers[3]) <
                      1e-4);
            attn_table_free(table);
        }
        release(&asked);
    }
    ck_assert_uint_eq(n_circuit, 80);
}
END_TEST

START_TEST(all_edges_are_the_clean_run_and_all_but_one_is_its_path)
{
    struct asked asked;

    for (size_t i = 0; find_any_model(&asked, i); i++) {
        struct attn_table *scores = score(&asked, ATTN_CIRCUIT_EAP, 0);
        const size_t n = attn_table_n_row(scores);
        const struct attn_cell from = attn_test_cell(scores, n - 1, "from"),
                               to = attn_test_cell(scores, n - 1, "to");
        char sizes[64], path[80];

        snprintf(sizes, sizeof sizes, "%zu,%zu", n - 1, n);
        snprintf(path, sizeof path, "%.*s:%.*s", (int)from.size, from.text, (int)to.size, to.text);
        struct attn_table *curve = run_curve(&asked, ATTN_CIRCUIT_EAP, true, sizes);
        struct attn_table *alone = patch(&asked, path, true, false);
        const double clean = attn_test_cell(alone, 0, "value").real;

        /* in OLMo 2 the query of one head moves the norm of all */
        ck_assert(fabs(attn_test_cell(curve, 1, "value").real - clean) < 1e-4);
        ck_assert_msg(fabs(attn_test_cell(curve, 0, "value").real -
                           attn_test_cell(alone, 2, "value").real) < 1e-4,
                      "%s", path);
        attn_table_free(scores);
        attn_table_free(curve);
        attn_table_free(alone);
        release(&asked);
    }
}
END_TEST

ATTN_SUITE("circuit", circuits_keep_what_those_of_float64_keep,
           all_edges_are_the_clean_run_and_all_but_one_is_its_path, scores_are_those_of_float64,
           scores_of_a_writer_add_up_to_its_estimate,
           parts_of_a_circuit_have_the_sum_of_their_edges_and_a_place, paths_are_those_of_float64,
           paths_have_the_same_bits_alone_and_beside_others_on_any_threads)
