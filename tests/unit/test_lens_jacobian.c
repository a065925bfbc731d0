/*
 * test_lens_jacobian.c - a fitted Jacobian lens against derivatives in float64
 * (tests/golden/why/jacobian.npz); the identity, which is the logit lens; files that are not such a
 * lens, or of another number type; and memory that runs out.
 */
#include "base/sink.h"
#include "extra.h"
#include "questions/lens_internal.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/npy.h"
#include "tests/support/open.h"
#include "tests/support/suite.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WHY "tests/golden/why/"

static const int32_t ids[] = {0, 31, 18, 40, 22, 38, 21, 25, 25, 44, 18, 36};

enum { N_ID = sizeof ids / sizeof *ids };

static struct attn_request request_of(void)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;

    request.input.ids = ids;
    request.input.n_id = N_ID;
    return request;
}

/* Fits a lens to the items of the golden data, into the file PATH. */
static enum attn_status fit(struct attn_host *host, const char *path, struct attn_error *err)
{
    const struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;
    struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_lens_args args = ATTN_LENS_ARGS_DEFAULT;
    struct attn_table *table = NULL;
    enum attn_status status;

    options.path = WHY "fit.jsonl";
    args.study = &study;
    args.fit = path;
    args.skip = 2;
    args.first = 10;
    status = attn_items_open(&options, &study.items, err);
    if (status == ATTN_OK)
        status = attn_lens(host, &request, &args, &table, err);
    attn_table_free(table);
    attn_items_free(study.items);
    return status;
}

START_TEST(a_fit_is_the_mean_derivative)
{
    struct attn_host *host = attn_open_host(WHY "models/gpt2_sink", NULL);
    char path[] = "/tmp/attn-jacobian-XXXXXX.npz", member[64];
    struct attn_npy want, got, facts[3];
    static const char *const names[] = {"n_texts", "skip", "first"};
    static const double values[] = {3, 2, 10};
    const int descriptor = mkstemps(path, 4);
    struct attn_error err = {0};
    double most = 0;

    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    ck_assert_msg(fit(host, path, &err) == ATTN_OK, "%s", err.message);
    snprintf(member, sizeof member, "%s/jacobian.npy", path);
    ck_assert(attn_npy_read(WHY "jacobian.npz/jacobian.npy", &want));
    ck_assert(attn_npy_read(member, &got));
    ck_assert_uint_eq(got.n, want.n);
    for (size_t i = 0; i < want.n; i++)
        most = fmax(most, fabs(want.values[i]));
    for (size_t i = 0; i < want.n; i++) /* a quarter of the bound */
        ck_assert_double_le(fabs(got.values[i] - want.values[i]), 2e-5 * most);
    for (size_t i = 0; i < 3; i++) {
        snprintf(member, sizeof member, "%s/%s.npy", path, names[i]);
        ck_assert(attn_npy_read(member, &facts[i]));
        ck_assert_double_eq(facts[i].values[0], values[i]);
        attn_npy_release(&facts[i]);
    }
    attn_npy_release(&want);
    attn_npy_release(&got);
    remove(path);
    attn_host_free(host);
}
END_TEST

/* Writes a lens for the model of HOST to PATH: VALUE times the identity. */
static void write_identity(const struct attn_host *host, const char *path, float value)
{
    const struct attn_config *config = attn_model_config(attn_host_model(host));
    const struct attn_jacobian_facts facts = {.n_text = 1, .corpus = "none"};
    const size_t n = config->n_layer - 1, d = config->d_model;
    struct attn_jacobian jacobian = {.n = n, .d = d, .owned = calloc(n * d * d, sizeof(float))};
    struct attn_error err = {0};
    struct attn_sink *sink;

    for (size_t i = 0; i < n * d; i++)
        jacobian.owned[(i / d * d + i % d) * d + i % d] = value;
    jacobian.data = jacobian.owned;
    ck_assert(attn_sink_create_file(path, &sink, &err) == ATTN_OK);
    ck_assert(attn_jacobian_write(&jacobian, &facts, attn_host_model(host), sink, &err) == ATTN_OK);
    ck_assert(attn_sink_commit(sink, &err) == ATTN_OK);
    attn_sink_free(sink);
    free(jacobian.owned);
}

static void fail_at_note(void *user, enum attn_note code, const char *message)
{
    (void)user;
    ck_abort_msg("note %d: %s", (int)code, message);
}

/* Rows of the outputs of layers have the same bytes; the logit lens has others beside them. */
static void compare_outputs(const struct attn_table *lens, const struct attn_table *logits)
{
    const size_t site = attn_table_find(logits, "site");
    size_t row = 0;

    for (size_t i = 0; i < attn_table_n_row(logits); i++) {
        const struct attn_cell cell = attn_table_cell(logits, i, site);

        if (cell.size != 10 || memcmp(cell.text, "resid_post", 10) != 0)
            continue;
        for (size_t c = 0; c < attn_table_n_column(logits); c++) {
            const struct attn_cell a = attn_table_cell(lens, row, c);
            const struct attn_cell b = attn_table_cell(logits, i, c);

            ck_assert_int_eq(a.type, b.type);
            if (a.type == ATTN_VALUE_REAL)
                ck_assert(memcmp(&a.real, &b.real, sizeof a.real) == 0);
            if (a.type == ATTN_VALUE_INTEGER)
                ck_assert_int_eq(a.integer, b.integer);
        }
        row++;
    }
    ck_assert_uint_eq(row, attn_table_n_row(lens));
}

START_TEST(the_identity_is_the_logit_lens)
{
    static const char *const names[] = {"gpt2_sink", "qwen2", "gemma2"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct attn_request request = request_of();
        struct attn_lens_args args = ATTN_LENS_ARGS_DEFAULT;
        struct attn_table *lens, *logits;
        struct attn_error err = {0};
        char path[128], file[] = "/tmp/attn-identity-XXXXXX.npz";
        const int descriptor = mkstemps(file, 4);
        struct attn_host *host;

        ck_assert_int_ge(descriptor, 0);
        close(descriptor);
        snprintf(path, sizeof path, WHY "models/%s", names[i]);
        host = attn_open_host(path, NULL);
        write_identity(host, file, 1);
        request.selection.queries.text = "4,-1";
        request.selection.sites = "resid_post";
        args.answer.target_id = &ids[3];
        ck_assert_msg(attn_lens(host, &request, &args, &logits, &err) == ATTN_OK, "%s",
                      err.message);
        args.jacobian = file;
        request.selection.sites = NULL;
        request.on_note = fail_at_note;
        ck_assert_msg(attn_lens(host, &request, &args, &lens, &err) == ATTN_OK, "%s", err.message);
        compare_outputs(lens, logits);
        attn_table_free(lens);
        attn_table_free(logits);
        remove(file);
        attn_host_free(host);
    }
}
END_TEST

/* NaN, and numbers from which too large ones are computed: the file is at fault, not the model. */
START_TEST(numbers_that_are_not_finite)
{
    static const float values[] = {NAN, INFINITY, FLT_MAX};
    struct attn_host *host = attn_open_host(WHY "models/gpt2_sink", NULL);
    struct attn_request request = request_of();
    struct attn_lens_args args = ATTN_LENS_ARGS_DEFAULT;
    char file[] = "/tmp/attn-jacobian-XXXXXX.npz", expected[160];
    const int descriptor = mkstemps(file, 4);

    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    args.jacobian = file;
    snprintf(expected, sizeof expected,
             "the jacobian of '%s' makes values of layer 0 that are not finite, expected float32 "
             "numbers",
             file);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct attn_table *table = NULL;
        struct attn_error err = {0};

        write_identity(host, file, values[i]);
        ck_assert(attn_lens(host, &request, &args, &table, &err) == ATTN_FORMAT);
        ck_assert_str_eq(err.message, expected);
        ck_assert(err.stage == ATTN_STAGE_INPUT);
    }
    remove(file);
    attn_host_free(host);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    struct attn_host *host = attn_open_host(WHY "models/gpt2_sink", NULL);
    char path[] = "/tmp/attn-jacobian-XXXXXX.npz";
    const int descriptor = mkstemps(path, 4);
    enum attn_status status = ATTN_NO_MEMORY;
    struct attn_request request = request_of();
    struct attn_lens_args args = ATTN_LENS_ARGS_DEFAULT;
    struct attn_table *table = NULL;
    struct attn_error err = {0};

    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    for (long n = 0; status != ATTN_OK; n++) {
        attn_alloc_fail_at(n);
        status = fit(host, path, &err);
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%s", err.message);
    }
    status = ATTN_NO_MEMORY;
    args.jacobian = path;
    for (long n = 0; status != ATTN_OK; n++) {
        attn_alloc_fail_at(n);
        status = attn_lens(host, &request, &args, &table, &err);
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%s", err.message);
    }
    attn_table_free(table);
    remove(path);
    attn_host_free(host);
}
END_TEST

ATTN_SUITE("lens_jacobian", a_fit_is_the_mean_derivative, the_identity_is_the_logit_lens,
           numbers_that_are_not_finite, every_allocation_may_fail)
