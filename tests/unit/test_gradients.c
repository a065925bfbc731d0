/*
 * test_gradients.c - gradients of a run, and attributions by them, through the public interface:
 * what they are beside the run's own tensors, that completeness holds, and every allocation that
 * fails.
 */
#include "extra.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/kept.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

static const char text[] = "The keys to the cabinet";

/* What a test asks of a host. */
struct job {
    struct attn_host *host;
    struct attn_request request;
    struct attn_answer_args answer;
    struct attn_run *run;
    struct attn_capture *capture; /* of that */
    struct attn_table *table;     /* of attributions */
};

static struct job open_job(const char *model)
{
    struct job job = {.request = ATTN_REQUEST_DEFAULT,
                      .answer = {.target = " are", .foil = " the"}};

    ck_assert(attn_host_open(model, NULL, &job.host, NULL) == ATTN_OK);
    job.request.input.text = text;
    job.request.input.n_text = strlen(text);
    return job;
}

static void release(struct job *job)
{
    attn_capture_free(job->capture);
    attn_run_free(job->run);
    attn_table_free(job->table);
    job->capture = NULL;
    job->run = NULL;
    job->table = NULL;
}

static void close_job(struct job *job)
{
    release(job);
    attn_host_free(job->host);
}

static enum attn_status run(struct job *job, struct attn_error *err)
{
    struct attn_result result = {0};
    enum attn_status status;

    release(job);
    job->request.selection.gradients_of = &job->answer;
    status = attn_run_prepare(job->host, &job->request, &job->run, err);
    if (status != ATTN_OK)
        return status;
    status = attn_capture_create(attn_run_labels(job->run)->selection, &job->capture, err);
    if (status == ATTN_OK)
        status = attn_run_perform(job->run, attn_capture_trace(job->capture), &result, err);
    attn_result_release(&result);
    return status;
}

static enum attn_status attribute(struct job *job, enum attn_attribute_method method,
                                  struct attn_error *err)
{
    struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;

    release(job);
    args.answer = job->answer;
    args.method = method;
    args.n_point = 40;
    args.baseline = ATTN_BASELINE_GIVEN;
    args.given.text = "The cat to the cabinet";
    args.given.n_text = strlen(args.given.text);
    return attn_attribute(job->host, &job->request, &args, &job->table, err);
}

/* --- what they are ---------------------------------------------------------------------------- */

START_TEST(a_gradient_is_of_the_tensor_beside_it)
{
    struct job job = open_job("fable");
    const float *pattern, *gradient, *product;

    job.request.selection.sites = "pattern,pattern_x_grad";
    job.request.selection.has_gradients = true;
    ck_assert(run(&job, NULL) == ATTN_OK);
    for (int layer = 0; layer < 4; layer++) {
        pattern = attn_kept(job.capture, ATTN_SITE_PATTERN, layer);
        gradient = attn_kept(job.capture, ATTN_SITE_PATTERN_GRAD, layer);
        product = attn_kept(job.capture, ATTN_SITE_PATTERN_X_GRAD, layer);
        for (size_t i = 0; i < (size_t)8 * 5 * 5; i++)
            ck_assert(product[i] == pattern[i] * gradient[i]);
    }
    close_job(&job);
}
END_TEST

/* Integrated gradients from another text add up to the difference of the metric. */
START_TEST(integrated_gradients_are_complete)
{
    struct job job = open_job("fable");
    double sum, model;
    size_t n;

    ck_assert(attribute(&job, ATTN_ATTRIBUTE_IG, NULL) == ATTN_OK);
    n = attn_table_n_row(job.table);
    sum = attn_table_cell(job.table, n - 2, 4).real;
    model = attn_table_cell(job.table, n - 1, 4).real;
    ck_assert_double_eq_tol(sum, model, 1e-2 * fabs(model));
    close_job(&job);
}
END_TEST

/* A position has the same gradients whatever is asked for beside them. */
START_TEST(selections_do_not_change_a_gradient)
{
    struct job job = open_job("fable"), narrow = open_job("fable");

    job.request.selection.sites = "*";
    job.request.selection.has_gradients = true;
    ck_assert(run(&job, NULL) == ATTN_OK);
    narrow.request.selection.sites = "pattern_grad";
    narrow.request.selection.heads = "1.3";
    narrow.request.selection.queries.text = "-1";
    ck_assert(run(&narrow, NULL) == ATTN_OK);
    ck_assert_mem_eq(attn_kept_head(narrow.capture, ATTN_SITE_PATTERN_GRAD, 1, 3),
                     attn_kept_head(job.capture, ATTN_SITE_PATTERN_GRAD, 1, 3) + (size_t)4 * 5,
                     5 * sizeof(float));
    close_job(&job), close_job(&narrow);
}
END_TEST

/* Layers that are kept give the estimates of layers that are computed again, also where some layers
 * do not rotate queries and keys. */
START_TEST(estimates_are_the_same_bits_kept_or_computed_again)
{
    static const char *const models[] = {"tests/fixtures/family-cohere2",
                                         "tests/fixtures/family-exaone4",
                                         "tests/fixtures/family-smollm3", "fable"};
    static const int32_t clean[] = {3, 4, 5, 6, 7, 8}, corrupted[] = {3, 9, 5, 6, 2, 8};
    static const int32_t target = 1;

    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        struct attn_patch_args args = ATTN_PATCH_ARGS_DEFAULT;
        struct job again = open_job(models[m]), kept = open_job(models[m]);
        struct job *jobs[] = {&again, &kept};

        args.answer.target_id = &target;
        args.corrupted = (struct attn_input){.ids = corrupted, .n_id = 6};
        args.site = "q";
        args.method = ATTN_PATCH_RELP;
        args.n_verified = 0;
        for (size_t i = 0; i < 2; i++) {
            struct attn_patch_sum sum = ATTN_PATCH_SUM_DEFAULT;
            struct attn_error err = {0};

            jobs[i]->request.input = (struct attn_input){.ids = clean, .n_id = 6};
            args.kept_bytes = i == 0 ? 0 : (size_t)1 << 30;
            ck_assert_msg(attn_patch(jobs[i]->host, &jobs[i]->request, &args, &jobs[i]->table, &sum,
                                     &err) == ATTN_OK,
                          "%s", err.message);
        }
        ck_assert_uint_gt(attn_table_n_row(kept.table), 0);
        for (size_t row = 0; row < attn_table_n_row(kept.table); row++)
            ck_assert_msg(attn_table_cell(kept.table, row, 3).real ==
                              attn_table_cell(again.table, row, 3).real,
                          "%s, row %zu", models[m], row);
        close_job(&again), close_job(&kept);
    }
}
END_TEST

/* --- memory ----------------------------------------------------------------------------------- */

enum { N_KIND = 4 };

static enum attn_status perform(struct job *job, int kind, struct attn_error *err)
{
    struct attn_attribute_args cells = ATTN_ATTRIBUTE_ARGS_DEFAULT;

    switch (kind) {
    case 0:
        return run(job, err);
    case 1:
        return attribute(job, ATTN_ATTRIBUTE_ATTNLRP, err);
    case 2:
        return attribute(job, ATTN_ATTRIBUTE_RELEVANCE, err);
    default:
        release(job);
        cells.answer = job->answer;
        cells.method = ATTN_ATTRIBUTE_ATTN_X_GRAD;
        return attn_attribute(job->host, &job->request, &cells, &job->table, err);
    }
}

START_TEST(every_allocation_may_fail)
{
    struct job job = open_job("fable");
    struct attn_error err = {0};

    job.request.selection.sites = "pattern,z,relevance";
    job.request.selection.has_gradients = true;
    for (int kind = 0; kind < N_KIND; kind++) {
        long n_allocation;

        attn_alloc_fail_off();
        ck_assert_msg(perform(&job, kind, &err) == ATTN_OK, "%s", err.message);
        n_allocation = attn_alloc_count();
        ck_assert_int_gt(n_allocation, 10);
        for (long n = 0; n < n_allocation; n++) {
            enum attn_status status;

            attn_alloc_fail_at(n);
            status = perform(&job, kind, &err);
            attn_alloc_fail_off();
            ck_assert_msg(status == ATTN_NO_MEMORY || status == ATTN_OK, "%d, %ld: %s", kind, n,
                          err.message);
        }
        ck_assert(perform(&job, kind, &err) == ATTN_OK);
    }
    close_job(&job);
}
END_TEST

ATTN_SUITE("gradients", a_gradient_is_of_the_tensor_beside_it, integrated_gradients_are_complete,
           selections_do_not_change_a_gradient, estimates_are_the_same_bits_kept_or_computed_again,
           every_allocation_may_fail)
