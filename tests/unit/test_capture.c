/* test_capture.c - a capture holds what a session told, head by head: vectors and matrices. */
#include "tests/support/alloc_fail.h"
#include "tests/support/kept.h"
#include "tests/support/near.h"
#include "tests/support/open.h"
#include "tests/support/recording.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 7 };

static const int32_t ids[N] = {5, 1, 4, 1, 0, 2, 6};

static struct attn_selection *select_sites(const struct attn_model *model, const char *list,
                                           const char *layers)
{
    const struct attn_dims dims = attn_config_dims(attn_model_config(model), N);
    struct attn_error err = {0};
    struct attn_selection *selection;
    struct attn_site_set sites;

    ck_assert(attn_selection_create(&dims, &selection, &err) == ATTN_OK);
    ck_assert(attn_sites_parse(list, &sites, &err) == ATTN_OK);
    ck_assert(attn_selection_set_sites(selection, sites, &err) == ATTN_OK);
    ck_assert(attn_selection_set_layers(selection, layers, &err) == ATTN_OK);
    return selection;
}

/* Feeds the ids STEP at a time, with ATTENTION [n_layer] or the model's own. */
static void feed(const struct attn_model *model, const struct attn_attention *attention,
                 const struct attn_capture *capture, size_t step)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    struct attn_session *session;

    options.n_max = N;
    options.attention = attention;
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
    const struct attn_recorded *record = attn_recording_find(expected, site, layer);
    const float *tensor = attn_kept(capture, site, layer);
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
    struct attn_model *model = attn_open_model("tests/fixtures/attn-grouped", NULL);
    struct attn_selection *selection = select_sites(model, "q,k,v,z,resid_post,embed", "0");
    struct attn_recording expected;
    struct attn_error err = {0};

    attn_recording_init(&expected, attn_model_config(model), N);
    ck_assert(attn_recording_run(&expected, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, N, &err) ==
              ATTN_OK);
    for (size_t step = N; step > 0; step -= 2) { /* 7, 5, 3, 1 */
        struct attn_capture *capture;

        ck_assert(attn_capture_create(selection, &capture, &err) == ATTN_OK);
        feed(model, NULL, capture, step);
        assert_holds(capture, &expected, ATTN_SITE_Q, 0);
        assert_holds(capture, &expected, ATTN_SITE_K, 0);
        assert_holds(capture, &expected, ATTN_SITE_V, 0);
        assert_holds(capture, &expected, ATTN_SITE_Z, 0);
        assert_holds(capture, &expected, ATTN_SITE_RESID_POST, 0);
        assert_holds(capture, &expected, ATTN_SITE_EMBED, ATTN_NO_LAYER);
        ck_assert_ptr_null(attn_kept(capture, ATTN_SITE_ATTN_OUT, 0));
        attn_capture_free(capture);
        if (step == 1)
            break;
    }
    attn_recording_release(&expected);
    attn_selection_free(selection);
    attn_model_free(model);
}
END_TEST

START_TEST(keeps_only_layers_that_are_wanted)
{
    struct attn_model *model = attn_open_model("tests/fixtures/attn-only-2l", NULL);
    struct attn_selection *selection = select_sites(model, "z", "1");
    struct attn_capture *capture;
    struct attn_error err = {0};

    ck_assert(attn_capture_create(selection, &capture, &err) == ATTN_OK);
    ck_assert_ptr_null(attn_kept(capture, ATTN_SITE_Z, 0));
    ck_assert_ptr_nonnull(attn_kept(capture, ATTN_SITE_Z, 1));
    attn_capture_free(capture);
    attn_selection_free(selection);
    attn_model_free(model);
}
END_TEST

/* Cell by cell against the record of a whole run, whose matrices are [H, T, S] as well. */
static void assert_holds_matrix(const struct attn_capture *capture,
                                const struct attn_recording *expected, enum attn_site site,
                                int layer)
{
    const struct attn_selection *selection = attn_capture_trace(capture)->selection;
    const struct attn_recorded *record = attn_recording_find(expected, site, layer);
    const float *next = attn_kept(capture, site, layer);

    for (size_t head = 0; head < record->shape[0]; head++) {
        const float *matrix = attn_kept_head(capture, site, layer, (int)head);

        if (!attn_selection_has_head(selection,
                                     &(struct attn_location){.layer = layer, .head = (int)head})) {
            ck_assert_ptr_null(matrix);
            continue;
        }
        ck_assert_ptr_eq(matrix, next);
        for (size_t row = 0; row < N; row++) {
            if (!attn_selection_has_query(selection, ATTN_STACK_ONLY, row))
                continue;
            attn_assert_same_bits(attn_site_name(site), next, record->data + (head * N + row) * N,
                                  site == ATTN_SITE_QK ? row + 1 : N);
            next += N;
        }
    }
}

START_TEST(holds_the_selected_part_of_matrices)
{
    static const char *const selections[][2] = {{"all", "all"}, {"0.1,1.0", "1,4-5"}};
    struct attn_model *model = attn_open_model("tests/fixtures/attn-only-2l", NULL);
    struct attn_recording expected;
    struct attn_error err = {0};

    attn_recording_init(&expected, attn_model_config(model), N);
    ck_assert(attn_recording_run(&expected, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, N, &err) ==
              ATTN_OK);
    for (int i = 0; i < 2; i++) {
        struct attn_selection *selection = select_sites(model, "qk,attn_scores,pattern", "all");

        ck_assert(attn_selection_set_heads(selection, selections[i][0], &err) == ATTN_OK);
        ck_assert(attn_selection_set_queries(selection, ATTN_STACK_ONLY, selections[i][1], &err) ==
                  ATTN_OK);
        for (size_t step = 1; step <= N; step += 3) { /* 1, 4, 7 */
            struct attn_capture *capture;

            ck_assert(attn_capture_create(selection, &capture, &err) == ATTN_OK);
            feed(model, NULL, capture, step);
            for (int layer = 0; layer < 2; layer++) {
                assert_holds_matrix(capture, &expected, ATTN_SITE_QK, layer);
                assert_holds_matrix(capture, &expected, ATTN_SITE_ATTN_SCORES, layer);
                assert_holds_matrix(capture, &expected, ATTN_SITE_PATTERN, layer);
            }
            attn_capture_free(capture);
        }
        attn_selection_free(selection);
    }
    attn_recording_release(&expected);
    attn_model_free(model);
}
END_TEST

START_TEST(cells_that_attention_leaves_out_are_masked)
{
    struct attn_model *model = attn_open_model("tests/fixtures/attn-only-2l", NULL);
    struct attn_selection *selection = select_sites(model, "qk,attn_scores,pattern", "1");
    const struct attn_config *config = attn_model_config(model);
    struct attn_attention attention[2] = {config->attention[0], config->attention[1]};
    struct attn_capture *capture;
    struct attn_error err = {0};

    for (int layer = 0; layer < 2; layer++) {
        attention[layer].kind = ATTN_ATTENTION_WINDOW;
        attention[layer].window = 2;
    }
    ck_assert(attn_capture_create(selection, &capture, &err) == ATTN_OK);
    feed(model, attention, capture, N);
    const float *qk = attn_kept_head(capture, ATTN_SITE_QK, 1, 0);
    const float *scores = attn_kept_head(capture, ATTN_SITE_ATTN_SCORES, 1, 0);
    const float *pattern = attn_kept_head(capture, ATTN_SITE_PATTERN, 1, 0);
    for (size_t query = 0; query < N; query++)
        for (size_t key = 0; key < N; key++) {
            const size_t cell = query * N + key;
            const bool is_kept = key <= query && query - key < 2;

            ck_assert(is_kept ? isfinite(qk[cell]) : isnan(qk[cell]));
            ck_assert(is_kept ? isfinite(scores[cell]) : isinf(scores[cell]) && scores[cell] < 0);
            ck_assert(is_kept ? pattern[cell] > 0 : !(pattern[cell] > 0 || pattern[cell] < 0));
        }
    attn_capture_free(capture);
    attn_selection_free(selection);
    attn_model_free(model);
}
END_TEST

START_TEST(vectors_and_keys_are_those_of_selected_heads_and_queries)
{
    struct attn_model *model = attn_open_model("tests/fixtures/attn-grouped", NULL);
    struct attn_selection *selection = select_sites(model, "q,k,z,resid_post", "0");
    const struct attn_config *config = attn_model_config(model);
    const int head = (int)config->n_head - 1, kv_head = (int)config->n_kv_head - 1;
    struct attn_selection *all = select_sites(model, "q,k,z,resid_post", "0");
    struct attn_capture *part, *whole;
    struct attn_error err = {0};

    ck_assert(attn_selection_set_heads(selection, "-1", &err) == ATTN_OK);
    ck_assert(attn_selection_set_queries(selection, ATTN_STACK_ONLY, "2,6", &err) == ATTN_OK);
    ck_assert(attn_capture_create(selection, &part, &err) == ATTN_OK);
    ck_assert(attn_capture_create(all, &whole, &err) == ATTN_OK);
    feed(model, NULL, part, 2);
    feed(model, NULL, whole, 2);
    const float *q = attn_kept(part, ATTN_SITE_Q, 0);
    const float *k = attn_kept(part, ATTN_SITE_K, 0);
    const float *x = attn_kept(part, ATTN_SITE_RESID_POST, 0);
    const size_t d_head = config->d_head, d_model = config->d_model;

    ck_assert_ptr_eq(q, attn_kept_head(part, ATTN_SITE_Q, 0, head));
    ck_assert_ptr_null(attn_kept_head(part, ATTN_SITE_Q, 0, 0));
    ck_assert_ptr_eq(k, attn_kept_head(part, ATTN_SITE_K, 0, kv_head));
    ck_assert_mem_eq(k, attn_kept_head(whole, ATTN_SITE_K, 0, kv_head), N * d_head * sizeof(float));
    for (size_t i = 0; i < 2; i++) {
        const size_t row = i == 0 ? 2 : 6;

        ck_assert_mem_eq(q + i * d_head, attn_kept_head(whole, ATTN_SITE_Q, 0, head) + row * d_head,
                         d_head * sizeof(float));
        ck_assert_mem_eq(x + i * d_model, attn_kept(whole, ATTN_SITE_RESID_POST, 0) + row * d_model,
                         d_model * sizeof(float));
    }
    attn_capture_free(part);
    attn_capture_free(whole);
    attn_selection_free(selection);
    attn_selection_free(all);
    attn_model_free(model);
}
END_TEST

START_TEST(failures_leave_nothing_behind)
{
    struct attn_model *model = attn_open_model("tests/fixtures/attn-only-2l", NULL);
    struct attn_selection *selection = select_sites(model, "pattern,z", "all");
    struct attn_capture *capture = NULL;
    enum attn_status status = ATTN_NO_MEMORY;
    long n;

    for (n = 0; status != ATTN_OK; n++) {
        struct attn_error err = {0};

        ck_assert_ptr_null(capture);
        attn_alloc_fail_at(n);
        status = attn_capture_create(selection, &capture, &err);
        attn_alloc_fail_off();
    }
    ck_assert_int_gt(n, 4);
    attn_capture_free(capture);
    attn_selection_free(selection);
    attn_model_free(model);
}
END_TEST

enum { N_LARGE = 1000, N_FIRST = 700 }; /* tokens, and those of the first of two events */

/* Has CAPTURE keep SITE of HEAD, of which DATA [N_LARGE, N_LARGE] has the rows. */
static void keep_large(const struct attn_capture *capture, enum attn_site site, int head,
                       const float *data)
{
    const struct attn_trace *trace = attn_capture_trace(capture);
    struct attn_trace_event event = {.at = {.site = site, .head = head},
                                     .n_row = N_FIRST,
                                     .n_col = N_LARGE,
                                     .ld = N_LARGE,
                                     .data = data,
                                     .is_causal = true};

    ck_assert(trace->on_event(trace->user, &event, NULL) == ATTN_OK);
    event.row0 = N_FIRST;
    event.n_row = N_LARGE - N_FIRST;
    event.data = data + (size_t)N_FIRST * N_LARGE;
    ck_assert(trace->on_event(trace->user, &event, NULL) == ATTN_OK);
}

static void assert_kept(const struct attn_capture *capture, enum attn_site site, int head,
                        const float *data)
{
    const float *kept = attn_kept_head(capture, site, 0, head);
    const float masked = site == ATTN_SITE_PATTERN ? 0 : -INFINITY;

    for (size_t i = 0; i < (size_t)N_LARGE * N_LARGE; i++) {
        const bool is_visible = site == ATTN_SITE_QK || i % N_LARGE <= i / N_LARGE;

        if (kept[i] != (is_visible ? data[i] : masked) ||
            attn_kept_cell(capture, site, 0, (size_t)head * N_LARGE * N_LARGE + i) != is_visible)
            ck_abort_msg("%s, head %d, cell %zu: %g", attn_site_name(site), head, i,
                         (double)kept[i]);
    }
}

/* All matrices of N_HEAD heads, which POOL copies. Those of 6 heads are stored past the caches. */
static void check_large(struct attn_pool *pool, int n_head)
{
    static const enum attn_site sites[] = {ATTN_SITE_QK, ATTN_SITE_ATTN_SCORES, ATTN_SITE_PATTERN};
    const struct attn_site_set all =
        ATTN_SITES(ATTN_SITE_QK, ATTN_SITE_ATTN_SCORES, ATTN_SITE_PATTERN);
    const struct attn_dims dims = {.n_layer = 1,
                                   .n_head = (size_t)n_head,
                                   .n_kv_head = (size_t)n_head,
                                   .n_position = N_LARGE,
                                   .sites = all};
    float *data = attn_alloc((size_t)N_LARGE * N_LARGE, sizeof *data, NULL);
    struct attn_selection *selection;
    struct attn_capture *capture;

    for (size_t i = 0; i < (size_t)N_LARGE * N_LARGE; i++)
        data[i] = (float)(i + 1);
    ck_assert(attn_selection_create(&dims, &selection, NULL) == ATTN_OK);
    ck_assert(attn_selection_set_sites(selection, all, NULL) == ATTN_OK);
    ck_assert(attn_capture_create_in(NULL, pool, selection, &capture, NULL) == ATTN_OK);
    for (int i = 0; i < 3 * n_head; i++)
        keep_large(capture, sites[i % 3], i / 3, data);
    for (int i = 0; i < 3 * n_head; i++)
        assert_kept(capture, sites[i % 3], i / 3, data);
    attn_capture_free(capture);
    attn_selection_free(selection);
    attn_free(data);
}

START_TEST(threads_copy_large_events)
{
    struct attn_pool *pool;

    ck_assert(attn_pool_create(3, &pool, NULL) == ATTN_OK);
    check_large(pool, 1);
    check_large(pool, 6);
    check_large(NULL, 6);
    attn_pool_free(pool);
}
END_TEST

ATTN_SUITE("capture", holds_what_was_told_head_by_head, keeps_only_layers_that_are_wanted,
           holds_the_selected_part_of_matrices, cells_that_attention_leaves_out_are_masked,
           vectors_and_keys_are_those_of_selected_heads_and_queries, threads_copy_large_events,
           failures_leave_nothing_behind)
