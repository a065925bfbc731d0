/*
 * test_similarity.c - the Jensen-Shannon divergence of two heads against its other form, the
 * entropy of the mean less the mean of the entropies; what it is of heads that are alike, and of
 * memory that runs out.
 */
#include "extra.h"
#include "model/config_fields.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/kept.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { N = 11 };

static const int32_t ids[N] = {1, 5, 3, 2, 5, 3, 8, 1, 5, 9, 4};

static struct attn_request request_of(void)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;

    request.input.ids = ids;
    request.input.n_id = N;
    request.selection.sites = "pattern";
    return request;
}

/* -x ln x, 0 of 0. */
static double surprise(double x)
{
    return x > 0 ? -x * log(x) : 0;
}

static double mean_divergence(const float *p, const float *q)
{
    double sum = 0;

    for (size_t i = 0; i < (size_t)N * N; i++)
        sum += surprise(((double)p[i] + (double)q[i]) / 2) -
               (surprise((double)p[i]) + surprise((double)q[i])) / 2;
    return sum / N;
}

static int64_t integer_at(const struct attn_table *table, size_t row, size_t column)
{
    return attn_table_cell(table, row, column).integer;
}

static void check_rows(const struct attn_table *table, const struct attn_capture *capture)
{
    for (size_t row = 0; row < attn_table_n_row(table); row++) {
        const double js = attn_table_cell(table, row, 6).real;
        const float *p = attn_kept_head(capture, ATTN_SITE_PATTERN, (int)integer_at(table, row, 0),
                                        (int)integer_at(table, row, 1));
        const float *q = attn_kept_head(capture, ATTN_SITE_PATTERN, (int)integer_at(table, row, 3),
                                        (int)integer_at(table, row, 4));

        ck_assert_int_lt(integer_at(table, row, 2), integer_at(table, row, 5));
        ck_assert_double_eq_tol(js, mean_divergence(p, q), 1e-6);
        ck_assert(js > 0 && js < log(2));
        if (row > 0)
            ck_assert(js >= attn_table_cell(table, row - 1, 6).real);
    }
}

START_TEST(pairs_diverge_as_their_rows_do)
{
    struct attn_request request = request_of();
    struct attn_capture *capture;
    struct attn_result result = {0};
    struct attn_error err = {0};
    struct attn_table *table;
    struct attn_host *host;
    struct attn_run *run;
    size_t n;

    ck_assert(attn_host_open("models/tiny-gpt2", NULL, &host, &err) == ATTN_OK);
    ck_assert_msg(attn_similarity(host, &request, 0, &table, &err) == ATTN_OK, "%s", err.message);
    ck_assert(attn_run_prepare(host, &request, &run, &err) == ATTN_OK);
    ck_assert(attn_capture_create(attn_run_selection(run), &capture, &err) == ATTN_OK);
    ck_assert(attn_run_perform(run, attn_capture_trace(capture), &result, &err) == ATTN_OK);
    n = attn_model_config(attn_host_model(host))->n_layer *
        attn_model_config(attn_host_model(host))->n_head;
    ck_assert_uint_eq(attn_table_n_row(table), n * (n - 1) / 2);
    check_rows(table, capture);
    attn_capture_free(capture);
    attn_run_free(run);
    attn_table_free(table);
    attn_host_free(host);
}
END_TEST

/* Without their patterns two heads have no weights, and do not diverge. */
START_TEST(heads_that_are_alike_come_first)
{
    const struct attn_intervention patterns[] = {
        {.op = ATTN_EDIT_ZERO, .at = {.site = ATTN_SITE_PATTERN, .layer = 1, .head = 0}},
        {.op = ATTN_EDIT_ZERO, .at = {.site = ATTN_SITE_PATTERN, .layer = 2, .head = 2}}};
    struct attn_request request = request_of();
    struct attn_error err = {0};
    struct attn_table *table;
    struct attn_host *host;

    request.edits.interventions = patterns, request.edits.n_intervention = 2;
    ck_assert(attn_host_open("models/tiny-gpt2", NULL, &host, &err) == ATTN_OK);
    ck_assert_msg(attn_similarity(host, &request, 2, &table, &err) == ATTN_OK, "%s", err.message);
    ck_assert_uint_eq(attn_table_n_row(table), 2);
    ck_assert_int_eq(integer_at(table, 0, 0), 1);
    ck_assert_int_eq(integer_at(table, 0, 1), 0);
    ck_assert_int_eq(integer_at(table, 0, 5), 2 * 3 + 2);
    ck_assert(attn_table_cell(table, 0, 6).real == 0);
    attn_table_free(table);
    attn_host_free(host);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    struct attn_request request = request_of();
    enum attn_status status = ATTN_NO_MEMORY;
    struct attn_table *table = NULL;
    struct attn_error err = {0};
    struct attn_host *host;

    ck_assert(attn_host_open("models/tiny-gpt2", NULL, &host, &err) == ATTN_OK);
    for (long n = 0; status != ATTN_OK; n++) {
        attn_alloc_fail_at(n);
        status = attn_similarity(host, &request, 0, &table, &err);
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%s", err.message);
    }
    attn_table_free(table);
    attn_host_free(host);
}
END_TEST

ATTN_SUITE("similarity", pairs_diverge_as_their_rows_do, heads_that_are_alike_come_first,
           every_allocation_may_fail)
