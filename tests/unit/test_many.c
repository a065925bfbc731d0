/*
 * test_many.c - the same request for many inputs: results in order and with the bits of single
 * runs, records that fail in their places, and what ends it all.
 */
#include "attn.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

/* --- Texts in, results out -------------------------------------------------------------------- */

/* What a test gives and keeps. */
struct many {
    const char *const *texts; /* [n], NULL: a record without a text */
    size_t n, at;
    size_t n_done, n_released, n_failed;
    enum attn_record_failure failures[64]; /* of the results, in their order */
    float *measures[64];                   /* copies [n_measure * L * H], or NULL */
    size_t n_token[64];
};

static enum attn_status give(void *user, struct attn_record *record, bool *is_over,
                             struct attn_error *err)
{
    struct many *many = user;

    (void)err;
    *is_over = many->at == many->n;
    if (*is_over)
        return ATTN_OK;
    ck_assert_uint_eq(record->number, many->at);
    record->input.text = many->texts[many->at];
    record->input.n_text = record->input.text != NULL ? strlen(record->input.text) : 0;
    record->mine = (void *)(uintptr_t)&many->texts[many->at];
    many->at++;
    return ATTN_OK;
}

static enum attn_status take(void *user, const struct attn_many_result *result,
                             struct attn_error *err)
{
    struct many *many = user;
    const size_t n = (size_t)attn_measures_count(result->which) * result->n_layer * result->n_head;

    (void)err;
    ck_assert_uint_eq(result->record->number, many->n_done);
    ck_assert_ptr_eq(result->record->mine, &many->texts[many->n_done]);
    many->failures[many->n_done] = result->record->failure;
    many->n_token[many->n_done] = result->n_token;
    if (result->measures != NULL) {
        many->measures[many->n_done] = malloc(n * sizeof(float));
        memcpy(many->measures[many->n_done], result->measures, n * sizeof(float));
    }
    many->n_failed += result->record->failure != ATTN_RECORD_FAILURE_NONE;
    ck_assert((result->record->failure == ATTN_RECORD_FAILURE_NONE) ==
              (result->record->err.message[0] == '\0'));
    many->n_done++;
    return ATTN_OK;
}

static void forget(void *user, struct attn_record *record)
{
    struct many *many = user;

    ck_assert_ptr_nonnull(record->mine);
    many->n_released++;
}

static struct attn_host *open_host(const char *name, int n_thread)
{
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    struct attn_host *host;

    options.n_thread = n_thread;
    ck_assert_msg(attn_host_open(name, &options, &host, &err) == ATTN_OK, "%s", err.message);
    return host;
}

static void release(struct many *many)
{
    for (size_t i = 0; i < many->n_done; i++)
        free(many->measures[i]);
}

static const struct attn_many_calls calls_of_tests = {
    .next = give, .done = take, .release = forget};

START_TEST(failures_stay_in_their_places)
{
    static const char *const texts[] = {"The cat sat.", "", NULL, "a \xff b", "The dog ran."};
    struct attn_host *host = open_host("fable", 2);
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_many_options options = ATTN_MANY_OPTIONS_DEFAULT;
    struct many many = {.texts = texts, .n = 5};
    struct attn_many_calls calls = calls_of_tests;
    struct attn_error err = {0};

    calls.user = &many;
    options.request = &request;
    options.measures = ATTN_MEASURES_ALL;
    ck_assert_msg(attn_run_many(host, &options, &calls, &err) == ATTN_OK, "%s", err.message);
    ck_assert_uint_eq(many.n_done, 5);
    ck_assert_uint_eq(many.n_released, 5);
    ck_assert_int_eq(many.failures[0], ATTN_RECORD_FAILURE_NONE);
    ck_assert_int_eq(many.failures[1], ATTN_RECORD_FAILURE_EMPTY);
    ck_assert_int_eq(many.failures[2], ATTN_RECORD_FAILURE_NO_TEXT);
    ck_assert_int_eq(many.failures[3], ATTN_RECORD_FAILURE_BAD_TEXT);
    ck_assert_int_eq(many.failures[4], ATTN_RECORD_FAILURE_NONE);
    ck_assert_ptr_null(many.measures[1]);
    ck_assert_ptr_nonnull(many.measures[4]);
    release(&many);
    attn_host_free(host);
}
END_TEST

ATTN_SUITE("many", failures_stay_in_their_places)
