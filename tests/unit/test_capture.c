/* test_capture.c - a capture holds what a session told, head by head. */
#include "attn.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/near.h"
#include "tests/support/recording.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

enum { N = 7 };

static const int32_t ids[N] = {5, 1, 4, 1, 0, 2, 6};

static struct attn_model *open_model(const char *directory)
{
    struct attn_source source = {.directory = directory};
    struct attn_error err = {0};
    struct attn_model *model;

    ck_assert_msg(attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err) == ATTN_OK,
                  "%s", err.message);
    return model;
}

static struct attn_selection *select_sites(const struct attn_model *model, const char *list,
                                           const char *layers)
{
    const struct attn_dims dims = attn_config_dims(attn_model_config(model), N);
    struct attn_error err = {0};
    struct attn_selection *selection;
    uint64_t sites;

    ck_assert(attn_selection_create(&dims, &selection, &err) == ATTN_OK);
    ck_assert(attn_sites_parse(list, &sites, &err) == ATTN_OK);
    ck_assert(attn_selection_set_sites(selection, sites, &err) == ATTN_OK);
    ck_assert(attn_selection_set_layers(selection, layers, &err) == ATTN_OK);
    return selection;
}

static void feed(const struct attn_model *model, const struct attn_capture *capture, size_t step)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    struct attn_session *session;

    options.n_max = N;
    options.trace = attn_capture_trace(capture);
    ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
    for (size_t i = 0; i < N; i += step)
        ck_assert_msg(attn_session_feed(session, ids + i, N - i < step ? N - i : step, &err) ==
                          ATTN_OK,
                      "%s", err.message);
    attn_session_free(session);
}

/* A record has rows before heads where a capture has heads before rows. */
static void assert_holds(const struct attn_capture *capture, const struct attn_recording *expected,
                         enum attn_site site, int layer)
{
    const struct attn_record *record = attn_recording_find(expected, site, layer);
    const float *tensor = attn_capture_tensor(capture, site, layer);
    const size_t n_head = record->rank == 3 ? record->shape[1] : 1;
    const size_t width = record->shape[record->rank - 1];

    ck_assert_ptr_nonnull(tensor);
    for (size_t head = 0; head < n_head; head++)
        for (size_t row = 0; row < N; row++)
            attn_assert_same_bits(attn_site_name(site), tensor + (head * N + row) * width,
                                  record->data + (row * n_head + head) * width, width);
}

START_TEST(holds_what_was_told_head_by_head)
{
    struct attn_model *model = open_model("tests/fixtures/attn-grouped");
    struct attn_selection *selection = select_sites(model, "q,k,v,z,resid_post,embed", "0");
    struct attn_recording expected;
    struct attn_error err = {0};

    attn_recording_init(&expected, attn_model_config(model), N);
    ck_assert(attn_recording_run(&expected, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, N, &err) ==
              ATTN_OK);
    for (size_t step = N; step > 0; step -= 2) { /* 7, 5, 3, 1 */
        struct attn_capture *capture;

        ck_assert(attn_capture_create(selection, &capture, &err) == ATTN_OK);
        feed(model, capture, step);
        assert_holds(capture, &expected, ATTN_SITE_Q, 0);
        assert_holds(capture, &expected, ATTN_SITE_K, 0);
        assert_holds(capture, &expected, ATTN_SITE_V, 0);
        assert_holds(capture, &expected, ATTN_SITE_Z, 0);
        assert_holds(capture, &expected, ATTN_SITE_RESID_POST, 0);
        assert_holds(capture, &expected, ATTN_SITE_EMBED, ATTN_NO_LAYER);
        ck_assert_ptr_null(attn_capture_tensor(capture, ATTN_SITE_ATTN_OUT, 0));
        attn_capture_free(capture);
        if (step == 1)
            break;
    }
    attn_recording_release(&expected);
    attn_selection_free(selection);
    attn_model_close(model);
}
END_TEST

START_TEST(keeps_only_layers_that_are_wanted)
{
    struct attn_model *model = open_model("tests/fixtures/attn-only-2l");
    struct attn_selection *selection = select_sites(model, "z", "1");
    struct attn_capture *capture;
    struct attn_error err = {0};

    ck_assert(attn_capture_create(selection, &capture, &err) == ATTN_OK);
    ck_assert_ptr_null(attn_capture_tensor(capture, ATTN_SITE_Z, 0));
    ck_assert_ptr_nonnull(attn_capture_tensor(capture, ATTN_SITE_Z, 1));
    attn_capture_free(capture);
    attn_selection_free(selection);
    attn_model_close(model);
}
END_TEST

START_TEST(refuses_matrices_and_missing_queries)
{
    struct attn_model *model = open_model("tests/fixtures/attn-only-2l");
    struct attn_selection *matrices = select_sites(model, "z,pattern", "all");
    struct attn_selection *rows = select_sites(model, "z", "all");
    struct attn_capture *capture = NULL;
    struct attn_error err = {0};

    ck_assert(attn_capture_create(matrices, &capture, &err) == ATTN_INVALID);
    ck_assert_str_eq(err.message, "a capture keeps no matrices, got 'pattern'");
    err = (struct attn_error){0};
    ck_assert(attn_selection_set_queries(rows, "0-2", &err) == ATTN_OK);
    ck_assert(attn_capture_create(rows, &capture, &err) == ATTN_INVALID);
    ck_assert_str_eq(err.message, "a capture keeps all queries, got 3 of 7");
    ck_assert_ptr_null(capture);
    attn_selection_free(matrices);
    attn_selection_free(rows);
    attn_model_close(model);
}
END_TEST

ATTN_SUITE("capture", holds_what_was_told_head_by_head, keeps_only_layers_that_are_wanted,
           refuses_matrices_and_missing_queries)
