/*
 * test_directions.c - directions that are added and projected out, control vectors, and the weight
 * that keys receive, against torch in float64 (small_words.py of the set that made
 * tests/fixtures/words-directions).
 */
#include "attn.h"
#include "extra.h"
#include "tests/support/kept.h"
#include "tests/support/npy.h"
#include "tests/support/suite.h"
#include "tool.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "tests/fixtures/words-directions/"

enum { MOST = 2, N_LAYER = 3, N_HEAD = 4, N_VOCAB = 64, N = 9 };

/* A case: its texts, in the order of the rows of expected.npz. */
static const struct {
    const char *steers[MOST], *projects[MOST];
} cases[] = {
    {{0}, {0}},
    {{0}, {"resid_post:0=" FOLDER "a.npy"}},
    {{0}, {"resid_post:1=" FOLDER "b.npy*0.5"}},
    {{0}, {"resid_post:all=" FOLDER "c.npy"}},
    {{0}, {"resid_post:0-1@-1=" FOLDER "a.npy*2"}},
    {{0}, {"mlp_out:1=" FOLDER "a.npy"}},
    {{0}, {"resid_post:1=" FOLDER "b.npy*1+4.5"}},
    {{0}, {"resid_post:0=" FOLDER "c.npy*0.5-3"}},
    {{0}, {"resid_post:0=" FOLDER "a.npy", "resid_post:0=" FOLDER "b.npy"}},
    {{"resid_post:1=" FOLDER "b.npy*3"}, {"resid_post:1=" FOLDER "a.npy"}},
    {{"resid_post:1=" FOLDER "b.npy*3"}, {"resid_post:1=" FOLDER "a.npy"}},
    {{"resid_post:all=" FOLDER "a.npy*0.25"}, {0}},
    {{"resid_post:all=" FOLDER "control.gguf*1.5"}, {0}},
    {{0}, {"resid_post:all=" FOLDER "control.gguf"}},
    {{"resid_post:2=" FOLDER "control.gguf"}, {0}},
};
enum { N_CASE = sizeof cases / sizeof *cases };

static size_t count(const char *const *texts)
{
    size_t n = 0;

    while (n < MOST && texts[n])
        n++;
    return n;
}

/* Runs the ids of the set with TEXTS. The caller frees *host and the capture. */
static enum attn_status run(struct attn_host *host, struct attn_edit_texts *texts,
                            struct attn_request *request, struct attn_capture **capture,
                            struct attn_error *err)
{
    struct attn_run *prepared = NULL;
    struct attn_result result = {0};
    enum attn_status status = attn_edit_texts_read(texts, NULL, &request->edits, err);

    *capture = NULL;
    if (status == ATTN_OK)
        status = attn_run_prepare(host, request, &prepared, err);
    if (status == ATTN_OK)
        status = attn_capture_create(attn_run_labels(prepared)->selection, capture, err);
    if (status == ATTN_OK)
        status = attn_run_perform(prepared, attn_capture_trace(*capture), &result, err);
    attn_result_release(&result);
    attn_run_free(prepared);
    return status;
}

static struct attn_host *open_host(int n_thread)
{
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    struct attn_host *host;
    struct attn_error err = {0};

    options.n_thread = n_thread;
    ck_assert_msg(attn_host_open(FOLDER, &options, &host, &err) == ATTN_OK, "%s", err.message);
    return host;
}

static void compare(const char *what, size_t which, const float *found, const double *expected,
                    size_t n)
{
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(fabs((double)found[i] - expected[i]) <= 5e-6 + 2e-6 * fabs(expected[i]),
                      "%s %zu is %.9g at %zu, expected %.9g", what, which, (double)found[i], i,
                      expected[i]);
}

START_TEST(directions_are_added_and_projected_out)
{
    struct attn_host *host = open_host(2);
    struct attn_npy logits, pattern;
    size_t n_id;
    int32_t *ids = attn_npy_read_ids(FOLDER "expected.npz/ids.npy", &n_id);

    ck_assert(attn_npy_read(FOLDER "expected.npz/logits.npy", &logits));
    ck_assert(attn_npy_read(FOLDER "expected.npz/pattern.npy", &pattern));
    for (size_t i = 0; i < N_CASE; i++) {
        struct attn_edit_texts texts = {.steers = cases[i].steers,
                                        .projects = cases[i].projects,
                                        .n_steer = count(cases[i].steers),
                                        .n_project = count(cases[i].projects)};
        struct attn_request request = ATTN_REQUEST_DEFAULT;
        struct attn_capture *capture;
        struct attn_error err = {0};

        request.input.ids = ids;
        request.input.n_id = n_id;
        request.selection.sites = "logits,pattern";
        request.selection.queries.text = "-1";
        ck_assert_msg(run(host, &texts, &request, &capture, &err) == ATTN_OK, "%s", err.message);
        compare("the logits of case", i, attn_kept(capture, ATTN_SITE_LOGITS, ATTN_NO_LAYER),
                logits.values + i * N_VOCAB, N_VOCAB);
        compare("the pattern of case", i, attn_kept(capture, ATTN_SITE_PATTERN, N_LAYER - 1),
                pattern.values + i * N_HEAD * N, N_HEAD * N);
        attn_capture_free(capture);
        attn_edit_texts_release(&texts);
    }
    attn_npy_release(&logits);
    attn_npy_release(&pattern);
    free(ids);
    attn_host_free(host);
}
END_TEST

/* Two projections of one tensor do not commute, so the way back has the other order. */
START_TEST(gradients_go_through_projections)
{
    static const int32_t ids[] = {1, 2, 3}, target = 5;
    static const struct attn_answer_args answer = {.metric = ATTN_ANSWER_LOGIT,
                                                   .target_id = &target};
    const char *const projects[] = {"resid_post:0=" FOLDER "a.npy*0.5-3",
                                    "resid_post:0=" FOLDER "b.npy", "v:1.0=" FOLDER "head.npy"};
    struct attn_edit_texts texts = {.projects = projects, .n_project = 3};
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_host *host = open_host(1);
    struct attn_npy gradient;
    struct attn_capture *capture;
    struct attn_error err = {0};

    request.input.ids = ids;
    request.input.n_id = 3;
    request.selection.sites = "resid_pre_grad";
    request.selection.gradients_of = &answer;
    ck_assert_msg(run(host, &texts, &request, &capture, &err) == ATTN_OK, "%s", err.message);
    ck_assert(attn_npy_read(FOLDER "expected.npz/gradient.npy", &gradient));
    for (size_t i = 0; i < gradient.n; i++)
        ck_assert_double_eq_tol((double)attn_kept(capture, ATTN_SITE_RESID_PRE_GRAD, 0)[i],
                                gradient.values[i], 2e-5);
    attn_capture_free(capture);
    attn_npy_release(&gradient);
    attn_edit_texts_release(&texts);
    attn_host_free(host);
}
END_TEST

START_TEST(keys_receive_the_weights_of_the_chosen_queries)
{
    static const char *const queries[] = {NULL, "6-8", "-1"};
    struct attn_npy received;
    size_t n_id;
    int32_t *ids = attn_npy_read_ids(FOLDER "expected.npz/ids.npy", &n_id);

    ck_assert(attn_npy_read(FOLDER "expected.npz/received.npy", &received));
    for (size_t i = 0; i < 6; i++) { /* each with one thread and with three */
        struct attn_host *host = open_host(i < 3 ? 1 : 3);
        struct attn_edit_texts texts = {0};
        struct attn_request request = ATTN_REQUEST_DEFAULT;
        struct attn_capture *capture;
        struct attn_error err = {0};

        request.input.ids = ids;
        request.input.n_id = n_id;
        request.selection.sites = "received";
        request.selection.queries.text = queries[i % 3];
        ck_assert_msg(run(host, &texts, &request, &capture, &err) == ATTN_OK, "%s", err.message);
        for (size_t layer = 0; layer < N_LAYER; layer++)
            compare("received of window", i % 3, attn_kept(capture, ATTN_SITE_RECEIVED, (int)layer),
                    received.values + (i % 3 * N_LAYER + layer) * N_HEAD * N, N_HEAD * N);
        attn_capture_free(capture);
        attn_edit_texts_release(&texts);
        attn_host_free(host);
    }
    attn_npy_release(&received);
    free(ids);
}
END_TEST

/* A struct of a C program: vectors of layers, a list of numbers, and edits in its own order. */
START_TEST(a_program_gives_directions_as_numbers)
{
    static const int32_t ids[] = {1, 2, 3};
    static const int64_t last[] = {-1}, of_layers[] = {2, 1}, beyond[] = {3, 1};
    float values[2 * 16] = {[0] = 1, [17] = 2};
    struct attn_intervention given = ATTN_INTERVENTION_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_host *host = open_host(1);
    struct attn_edit_texts none = {0};
    struct attn_capture *capture;
    struct attn_error err = {0};
    struct attn_run *prepared;

    given.op = ATTN_EDIT_PROJECT;
    given.at.site = ATTN_SITE_RESID_POST;
    given.layers = (struct attn_number_list){.items = last, .n = 1};
    given.values = (struct attn_ndarray){.rank = 2, .shape = {2, 16}, .data = values};
    given.vector_layers = of_layers, given.n_vector = 2;
    given.offset = 7;
    request.input.ids = ids, request.input.n_id = 3;
    request.selection.sites = "resid_post";
    ck_assert_int_eq(attn_edit_texts_read(&none, NULL, &request.edits, &err), ATTN_OK);
    request.edits.interventions = &given, request.edits.n_intervention = 1;
    ck_assert_msg(attn_run_prepare(host, &request, &prepared, &err) == ATTN_OK, "%s", err.message);
    ck_assert_int_eq(attn_capture_create(attn_run_labels(prepared)->selection, &capture, &err),
                     ATTN_OK);
    ck_assert_int_eq(
        attn_run_perform(prepared, attn_capture_trace(capture), &(struct attn_result){0}, &err),
        ATTN_OK);
    for (size_t row = 0; row < 3; row++) {
        ck_assert_double_eq((double)attn_kept(capture, ATTN_SITE_RESID_POST, 2)[row * 16], 7);
        ck_assert_double_ne((double)attn_kept(capture, ATTN_SITE_RESID_POST, 1)[row * 16], 7);
        ck_assert_double_ne((double)attn_kept(capture, ATTN_SITE_RESID_POST, 1)[row * 16 + 1], 7);
    }
    attn_capture_free(capture);
    attn_run_free(prepared);
    given.layers = (struct attn_number_list){.text = "0-1"};
    ck_assert_int_eq(attn_run_prepare(host, &request, &prepared, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "project: 'values' has no direction.0");
    given.vector_layers = beyond;
    err = (struct attn_error){0};
    ck_assert_int_eq(attn_run_prepare(host, &request, &prepared, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message,
                     "project: 'values' has direction.3, and the model has layers 0 to 2");
    attn_edit_texts_release(&none);
    attn_host_free(host);
}
END_TEST

ATTN_SUITE("directions", directions_are_added_and_projected_out, gradients_go_through_projections,
           keys_receive_the_weights_of_the_chosen_queries, a_program_gives_directions_as_numbers)
