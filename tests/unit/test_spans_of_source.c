/* test_spans_of_source.c - the numbers of `spans` in a source against the patterns from which they
 * are defined (cmd/manual/spans.md), by head, with a neutral text and with a key mask. */
#include "extra.h"
#include "tests/support/column.h"
#include "tests/support/kept.h"
#include "tests/support/suite.h"

#include <math.h>

enum { N = 7, N_HEAD = 4, N_LAYER = 2, SPAN_FIRST = 1, SPAN_END = 4 };

static const int32_t mask[N] = {1, 1, 0, 1, 1, 1, 1};
static const int32_t tokens[N] = {0, 1009, 780, 776, 782, 809, 652};

/* Returns the request of TEXT [N] with the source TOKENS, of which one key is hidden. */
static struct attn_request request_of(const int32_t *text)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;

    request.input.ids = text, request.input.n_id = N;
    request.source.ids = tokens, request.source.n_id = N;
    request.source.key_mask = mask, request.source.n_key_mask = N;
    return request;
}

/* Keeps the patterns of REQUEST. */
static struct attn_capture *keep(struct attn_host *host, struct attn_request request)
{
    struct attn_capture *capture = NULL;
    struct attn_result result = {0};
    struct attn_error err = {0};

    request.selection.sites = "pattern";
    ck_assert_msg(attn_run_capture(host, &request, &capture, &result, &err) == ATTN_OK, "%s",
                  err.message);
    attn_result_release(&result);
    return capture;
}

/* Asks about the span of the keys SPAN_FIRST to SPAN_END - 1. */
static struct attn_table *ask(struct attn_host *host, struct attn_request request,
                              const char *queries, const struct attn_spans_args *args)
{
    const struct attn_item_place item = {"a", {.text = "1-3"}};
    const struct attn_places places = {.items = &item, .n = 1};
    const struct attn_question_call asked = {"spans", host, &request, args};
    struct attn_table *table = NULL;
    struct attn_error err = {0};

    request.reading.places = &places;
    request.selection.queries.text = queries;
    ck_assert_msg(attn_question_ask(&asked, &table, NULL, &err) == ATTN_OK, "%s", err.message);
    ck_assert_uint_eq(attn_table_n_row(table), (size_t)2 * N_LAYER * N_HEAD);
    return table;
}

/* Checks the number NAME of row ROW of TABLE. */
static void check(const struct attn_table *table, size_t row, const char *name, double expected)
{
    const double found = attn_test_cell(table, row, name).real;

    ck_assert_msg(fabs(found - expected) < 1e-6, "row %zu, %s: %.9g, expected %.9g", row, name,
                  found, expected);
}

/* Checks row ROW of TABLE by the rows of the queries 0 to 2 of PATTERN [N, N]. The next token of a
 * query is that of the source at the same place. */
static void check_row(const struct attn_table *table, size_t row, const float *pattern)
{
    double share = 0, copied = 0;

    for (size_t i = 0; i < 3; i++) {
        const float *weights = pattern + i * N;
        size_t largest = 0;

        for (size_t j = 0; j < N; j++) {
            largest = weights[j] > weights[largest] ? j : largest;
            share += j >= SPAN_FIRST && j < SPAN_END ? (double)weights[j] / 3 : 0;
        }
        copied += largest == i + 1 ? 1.0 / 3 : 0;
    }
    check(table, row, "n_token", 3);
    check(table, row, "share", share);
    check(table, row, "score", share);
    check(table, row, "copied", copied);
    check(table, row, "even", 2.0 / 6);
    check(table, row + 1, "share", 1 - share);
    check(table, row + 1, "even", 4.0 / 6);
    ck_assert(attn_test_cell(table, row, "lookback").type == ATTN_VALUE_MISSING);
}

START_TEST(shares_are_those_of_the_patterns)
{
    struct attn_host *host = NULL;
    struct attn_error err = {0};
    const struct attn_request request = request_of(tokens);

    ck_assert_msg(attn_host_open("models/interpreter", NULL, &host, &err) == ATTN_OK, "%s",
                  err.message);
    struct attn_capture *capture = keep(host, request);
    struct attn_table *table = ask(host, request, "0-2", NULL);

    for (size_t i = 0; i < (size_t)N_LAYER * N_HEAD; i++)
        check_row(table, 2 * i,
                  attn_kept_head(capture, ATTN_SITE_PATTERN, 2 * (int)(i / N_HEAD) + 1,
                                 (int)(i % N_HEAD)));
    attn_table_free(table);
    attn_capture_free(capture);
    attn_host_free(host);
}
END_TEST

/* The queries are replaced in the text, and all keys of the source stay. */
START_TEST(scores_are_less_those_of_a_neutral_text)
{
    static const int32_t other[N] = {0, 1009, 780, 809, 652, 809, 652}, neutral[] = {809, 652};
    struct attn_host *host = NULL;
    struct attn_error err = {0};
    struct attn_spans_args args = ATTN_SPANS_ARGS_DEFAULT;

    args.neutral.ids = neutral, args.neutral.n_id = 2;
    ck_assert_msg(attn_host_open("models/interpreter", NULL, &host, &err) == ATTN_OK, "%s",
                  err.message);
    struct attn_capture *captures[] = {keep(host, request_of(tokens)),
                                       keep(host, request_of(other))};
    struct attn_table *table = ask(host, request_of(tokens), "3-4", &args);

    for (size_t i = 0; i < (size_t)N_LAYER * N_HEAD; i++) {
        double score = 0;

        for (size_t k = 0; k < 4; k++) /* two rows of each text */
            for (size_t j = SPAN_FIRST; j < SPAN_END; j++)
                score += (k < 2 ? 0.5 : -0.5) *
                         (double)attn_kept_head(captures[k / 2], ATTN_SITE_PATTERN,
                                                2 * (int)(i / N_HEAD) + 1,
                                                (int)(i % N_HEAD))[(3 + k % 2) * N + j];
        check(table, 2 * i, "score", score);
    }
    attn_table_free(table);
    attn_capture_free(captures[0]);
    attn_capture_free(captures[1]);
    attn_host_free(host);
}
END_TEST

ATTN_SUITE("spans of a source", shares_are_those_of_the_patterns,
           scores_are_less_those_of_a_neutral_text)
