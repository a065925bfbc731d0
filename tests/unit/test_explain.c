/* test_explain.c - the arithmetic of one row against a recording of the whole run, and what it
 * refuses. What it looks like is tested by tests/cli. */
#include "attention/attend.h"
#include "extra.h"
#include "model/model_internal.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/families.h"
#include "tests/support/near.h"
#include "tests/support/recording.h"
#include "tests/support/suite.h"
#include "trace/blocks_internal.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 7, LAYER = 1, HEAD = 1, QUERY = 4 };

static const int32_t ids[N] = {5, 1, 4, 1, 0, 2, 6};

/* The model of a test, its sizes, and the row that is explained. */
static struct attn_model *model;
static struct attn_dims dims;
static struct attn_selection *selection;
static struct attn_explain_args args;

static void open_model_of(const char *directory, enum attn_compute compute)
{
    struct attn_source source = {.directory = directory};
    struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;
    struct attn_error err = {0};

    options.compute = compute;
    ck_assert_msg(attn_model_open(&source, &options, &model, &err) == ATTN_OK, "%s", err.message);
    dims = attn_config_dims(attn_model_config(model), N);
    ck_assert(attn_selection_create(&dims, &selection, &err) == ATTN_OK);
    ck_assert(attn_selection_add_head(selection,
                                      &(struct attn_location){.layer = LAYER, .head = HEAD},
                                      &err) == ATTN_OK);
    ck_assert(attn_selection_add_queries(selection, ATTN_STACK_ONLY, QUERY, 1, &err) == ATTN_OK);
    args = ATTN_EXPLAIN_ARGS_DEFAULT;
    args.selection = selection;
    args.attention = attn_model_config(model)->attention;
}

static void open_model(void)
{
    open_model_of("tests/fixtures/attn-only-2l", ATTN_COMPUTE_F32);
}

static void close_model(void)
{
    attn_selection_free(selection);
    attn_model_free(model);
}

/* Feeds the ids to a session that EXPLAINER watches, with EDITS [n_edit]. */
static void feed(const struct attn_explainer *explainer, const struct attn_edit *edits,
                 size_t n_edit)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    struct attn_session *session;

    options.n_max = N;
    options.trace = attn_explainer_trace(explainer);
    options.edits = edits;
    options.n_edit = n_edit;
    ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
    ck_assert_msg(attn_session_feed(session, ids, N, &err) == ATTN_OK, "%s", err.message);
    attn_session_free(session);
}

static struct attn_explainer *create(void)
{
    struct attn_error err = {0};
    struct attn_explainer *explainer;

    ck_assert_msg(attn_explainer_create(&args, &explainer, &err) == ATTN_OK, "%s", err.message);
    return explainer;
}

/* Compares ACTUAL with the cell of the row in a recorded matrix. */
static void assert_recorded(const struct attn_recording *recording, enum attn_site site, size_t key,
                            float actual)
{
    const struct attn_recorded *record = attn_recording_find(recording, site, LAYER);

    attn_assert_same_bits(attn_site_name(site), &actual,
                          record->data + ((size_t)HEAD * N + QUERY) * N + key, 1);
}

START_TEST(holds_the_numbers_of_the_run_and_those_between)
{
    struct attn_recording recording;
    struct attn_explainer *explainer;
    const struct attn_explanation *row;
    struct attn_error err = {0};
    double sum = 0;

    open_model();
    explainer = create();
    attn_recording_init(&recording, attn_model_config(model), N);
    ck_assert(attn_recording_run(&recording, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, N, &err) ==
              ATTN_OK);
    feed(explainer, NULL, 0);
    ck_assert_msg(attn_explainer_finish(explainer, &row, &err) == ATTN_OK, "%s", err.message);
    ck_assert_uint_eq(row->n_cell, QUERY + 1);
    ck_assert_uint_eq(row->n_visible, QUERY + 1);
    for (size_t i = 0; i < row->n_cell; i++) {
        const struct attn_explained_key *key = &row->keys[i];

        ck_assert_uint_eq(key->key, i);
        assert_recorded(&recording, ATTN_SITE_QK, i, key->fit);
        assert_recorded(&recording, ATTN_SITE_ATTN_SCORES, i, key->score);
        assert_recorded(&recording, ATTN_SITE_PATTERN, i, key->weight);
        assert_recorded(&recording, ATTN_SITE_PATTERN, i, key->kept);
        ck_assert(key->score <= row->keys[row->largest].score);
        ck_assert_double_eq_tol(key->exponential / row->exponential_sum, (double)key->weight, 1e-6);
        sum += key->exponential;
    }
    ck_assert_double_eq_tol(sum, row->exponential_sum, 1e-12);
    ck_assert_double_eq_tol(row->visible_share, 1, 1e-12);
    ck_assert_double_eq(row->divisor, sqrt((double)dims.d_head));
    const float *z = attn_recording_find(&recording, ATTN_SITE_Z, LAYER)->data +
                     (QUERY * dims.n_head + HEAD) * dims.d_value;
    ck_assert_mem_eq(row->z, z, dims.d_value * sizeof(float));
    attn_explainer_free(explainer);
    attn_recording_release(&recording);
    close_model();
}
END_TEST

START_TEST(the_sites_of_the_run_are_watched_too)
{
    const struct attn_site_set wanted = ATTN_SITES(ATTN_SITE_RESID_POST, ATTN_SITE_PATTERN);
    struct attn_explainer *explainer;
    struct attn_error err = {0};
    const struct attn_selection *watched;

    open_model();
    ck_assert(attn_selection_set_sites(selection, wanted, &err) == ATTN_OK);
    explainer = create();
    watched = attn_explainer_trace(explainer)->selection;
    ck_assert(attn_selection_wants_block(watched, ATTN_SITE_RESID_POST, LAYER));
    ck_assert(attn_selection_wants_block(watched, ATTN_SITE_QK, LAYER));
    ck_assert(!attn_selection_wants_block(watched, ATTN_SITE_MLP_OUT, LAYER));
    ck_assert_uint_eq(attn_selection_count_heads(watched, &(struct attn_location){.layer = LAYER}),
                      1);
    ck_assert(attn_selection_has_query(watched, ATTN_STACK_ONLY, QUERY));
    ck_assert_uint_eq(attn_selection_n_query(watched), 1);
    attn_explainer_free(explainer);
    close_model();
}
END_TEST

/* An edit that the explainer does not know of: the sums differ from what the run says. */
START_TEST(sums_that_differ_are_a_failed_check)
{
    static const struct {
        enum attn_site site;
        const char *what;
    } edited[] = {{ATTN_SITE_ATTN_SCORES, "scores"},
                  {ATTN_SITE_PATTERN, "weights"},
                  {ATTN_SITE_Z, "values of z"}};

    open_model();
    for (size_t i = 0; i < sizeof edited / sizeof *edited; i++) {
        struct attn_edit edit = ATTN_EDIT_DEFAULT;
        struct attn_explainer *explainer = create();
        const struct attn_explanation *row = NULL;
        struct attn_error err = {0};

        edit.at.site = edited[i].site;
        edit.op = ATTN_EDIT_SCALE;
        edit.factor = 0.5F;
        feed(explainer, &edit, 1);
        ck_assert(attn_explainer_finish(explainer, &row, &err) == ATTN_INVALID);
        ck_assert_int_eq(err.stage, ATTN_STAGE_CHECK);
        ck_assert_msg(strstr(err.message, edited[i].what) != NULL, "%s", err.message);
        ck_assert_ptr_null(row);
        attn_explainer_free(explainer);
    }
    close_model();
}
END_TEST

/* Hands on the events of a long row, with one number of SITE multiplied by FACTOR. */
struct meddling {
    const struct attn_trace *trace;
    enum attn_site site;
    float factor;
};

static enum attn_status meddle(void *user, const struct attn_trace_event *event,
                               struct attn_error *err)
{
    const struct meddling *meddling = user;
    struct attn_trace_event changed = *event;
    float *row = malloc(event->n_col * sizeof *row);
    enum attn_status status;

    ck_assert(row != NULL && event->n_row == 1);
    memcpy(row, event->data, event->n_col * sizeof *row);
    row[event->n_col / 2] *= event->at.site == meddling->site ? meddling->factor : 1;
    changed.data = row;
    status = meddling->trace->on_event(meddling->trace->user, &changed, err);
    free(row);
    return status;
}

/* Explains the last row of N_KEY equal ones, of WIDTH components X; whether the check passed. */
static bool explain_equal_rows(size_t n_key, size_t width, float x, struct meddling meddling)
{
    struct attn_attend_args arrays = ATTN_ATTEND_ARGS_DEFAULT;
    float *data = malloc(n_key * width * sizeof *data);
    const struct attn_explanation *row;
    struct attn_explainer *explainer;
    struct attn_trace trace = {.on_event = meddle, .user = &meddling};
    struct attn_error err = {0};
    bool is_right;

    for (size_t i = 0; i < n_key * width; i++)
        data[i] = x;
    arrays.n_head = arrays.n_kv_head = 1, arrays.n_query = arrays.n_key = n_key;
    arrays.d_head = arrays.d_value = width, arrays.q = arrays.k = arrays.v = data;
    arrays.attention.mask = ATTN_MASK_NONE;
    dims = attn_attend_dims(&arrays);
    ck_assert(attn_selection_create(&dims, &selection, &err) == ATTN_OK);
    ck_assert(attn_selection_add_queries(selection, ATTN_STACK_ONLY, n_key - 1, 1, &err) ==
              ATTN_OK);
    args = ATTN_EXPLAIN_ARGS_DEFAULT;
    args.selection = selection, args.attention = &arrays.attention, args.arrays = &arrays;
    explainer = create();
    meddling.trace = attn_explainer_trace(explainer);
    trace.selection = meddling.trace->selection;
    arrays.trace = &trace;
    ck_assert(attn_attend(&arrays, &err) == ATTN_OK);
    is_right = attn_explainer_finish(explainer, &row, &err) == ATTN_OK;
    attn_explainer_free(explainer);
    attn_selection_free(selection);
    free(data);
    return is_right;
}

/* Terms that are equal are rounded alike: nothing makes the error of a sum larger. */
START_TEST(sums_of_many_equal_terms_are_right)
{
    static const size_t n_keys[] = {1, 100, 1000, 3000, 20000};
    static const size_t widths[] = {1, 8, 130};
    static const float values[] = {0.3F, -1.7F, 1e-3F, 1e-30F};
    const struct meddling nothing = {.factor = 1};

    for (size_t i = 0; i < sizeof n_keys / sizeof *n_keys; i++)
        for (size_t j = 0; j < sizeof widths / sizeof *widths; j++)
            for (size_t k = 0; k < sizeof values / sizeof *values; k++)
                ck_assert_msg(explain_equal_rows(n_keys[i], widths[j], values[k], nothing),
                              "%zu rows of %zu times %g", n_keys[i], widths[j], (double)values[k]);
    ck_assert(explain_equal_rows(5, 3000, 0.01F, nothing));
}
END_TEST

/* In 20,000 keys as in 3: also where a weight is far smaller than 1, or a value is. */
START_TEST(one_number_that_is_off_is_found)
{
    static const enum attn_site sites[] = {ATTN_SITE_QK, ATTN_SITE_ATTN_SCORES, ATTN_SITE_PATTERN,
                                           ATTN_SITE_Z};
    static const size_t n_keys[] = {3, 3000, 20000};
    static const float values[] = {0.3F, 1e-3F};

    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
        for (size_t j = 0; j < sizeof n_keys / sizeof *n_keys; j++)
            for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
                const struct meddling meddling = {.site = sites[i], .factor = 1.01F};

                ck_assert_msg(!explain_equal_rows(n_keys[j], 8, values[k], meddling),
                              "%s of %zu rows of %g", attn_site_name(sites[i]), n_keys[j],
                              (double)values[k]);
            }
}
END_TEST

/* Numbers that float32 does not hold are infinite in the run, and NaN what is made of them. */
START_TEST(sums_that_overflow_are_no_failed_check)
{
    const struct meddling nothing = {.factor = 1};

    ck_assert(explain_equal_rows(3, 4, 1e20F, nothing));
    ck_assert(explain_equal_rows(3, 1, 2e19F, nothing));
    ck_assert(explain_equal_rows(3, 1, 3e38F, nothing));
}
END_TEST

/* Explains the last row of HEAD of LAYER: finishing checks every sum against the run. */
static void explain_row(const struct attn_config *config, int layer, int head)
{
    const struct attn_dims of_row = attn_config_dims(config, N);
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    const struct attn_explanation *row;
    struct attn_explainer *explainer;
    struct attn_session *session;
    struct attn_error err = {0};

    ck_assert(attn_selection_create(&of_row, &selection, &err) == ATTN_OK);
    ck_assert(attn_selection_add_head(selection,
                                      &(struct attn_location){.layer = layer, .head = head},
                                      &err) == ATTN_OK);
    ck_assert(attn_selection_add_queries(selection, ATTN_STACK_ONLY, N - 1, 1, &err) == ATTN_OK);
    args = ATTN_EXPLAIN_ARGS_DEFAULT;
    args.selection = selection;
    args.attention = config->attention;
    args.config = config;
    args.compute = attn_model_compute(model);
    explainer = create();
    options.n_max = N;
    options.trace = attn_explainer_trace(explainer);
    ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
    ck_assert(attn_session_feed(session, ids, N, &err) == ATTN_OK);
    ck_assert_msg(attn_explainer_finish(explainer, &row, &err) == ATTN_OK, "%s", err.message);
    ck_assert((row->rotation.normed != NULL) == (config->positions == ATTN_POSITIONS_ROTARY));
    for (size_t i = 0;
         i < config->d_head && row->rotation.normed != NULL && !row->rotation.has_qk_norm; i++)
        ck_assert_double_eq_tol((double)row->rotation.normed[i], (double)row->rotation.projected[i],
                                1e-5);
    for (size_t i = 0; i < row->n_cell && config->attention[layer].score_cap > 0; i++)
        ck_assert_double_lt(fabs((double)row->keys[i].score), fabs(row->keys[i].scaled) + 1e-6);
    attn_session_free(session);
    attn_explainer_free(explainer);
    attn_selection_free(selection);
}

static void explain_families(enum attn_compute compute)
{
    static const char *const directories[] = {ATTN_FAMILY_DIRECTORIES};
    struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;

    options.compute = compute;
    for (int i = 0; i < ATTN_N_FAMILY_DIRECTORY; i++) {
        const struct attn_source source = {.directory = directories[i]};
        const struct attn_config *config;
        struct attn_error err = {0};

        ck_assert(attn_model_open(&source, &options, &model, &err) == ATTN_OK);
        config = attn_model_config(model);
        for (int layer = 0; layer < (int)config->n_layer; layer++)
            for (int head = 0; head < (int)config->n_head; head++)
                explain_row(config, layer, head);
        attn_model_free(model);
    }
}

START_TEST(explains_rows_of_every_family)
{
    explain_families(ATTN_COMPUTE_F32);
    explain_families(ATTN_COMPUTE_BF16);
}
END_TEST

START_TEST(what_the_run_has_rounded_is_rounded)
{
    const struct attn_gemm_engine engine =
        attn_gemm_engine_start_for(ATTN_COMPUTE_BF16, ATTN_GEMM_AUTO, ATTN_ISA_BEST, 0);
    const struct attn_explanation *row;
    struct attn_explainer *explainer;
    struct attn_error err = {0};

    open_model_of("models/fable", ATTN_COMPUTE_BF16);
    for (int is_told = 0; is_told < 2; is_told++) {
        const bool is_rounded = attn_gemm_rounds_attention(&engine, ATTN_COMPUTE_BF16);

        args.compute = is_told ? ATTN_COMPUTE_BF16 : ATTN_COMPUTE_F32;
        explainer = create();
        feed(explainer, NULL, 0);
        if (is_rounded && !is_told) {
            ck_assert(attn_explainer_finish(explainer, &row, &err) == ATTN_INVALID);
        } else {
            ck_assert(attn_explainer_finish(explainer, &row, &err) == ATTN_OK);
            ck_assert(row->is_rounded == is_rounded);
        }
        attn_explainer_free(explainer);
    }
    close_model();
}
END_TEST

static void assert_refused(const struct attn_explain_args *refused, const char *message)
{
    struct attn_explainer *explainer = NULL;
    struct attn_error err = {0};

    ck_assert(attn_explainer_create(refused, &explainer, &err) == ATTN_INVALID);
    ck_assert_msg(strstr(err.message, message) != NULL, "%s", err.message);
    ck_assert_ptr_null(explainer);
}

START_TEST(more_than_one_row_is_refused_and_one_of_them_named)
{
    static const struct {
        const char *heads, *queries, *message, *hint;
    } rows[] = {{"1.1", "0-2", "found 1 head and 3 queries",
                 "`heads 1.1` `queries 2` chooses head 1 of layer "
                 "1 and query 2"},
                {"1.0,1.1", "3", "found 2 heads and 1 query",
                 "`heads 1.0` `queries 3` chooses head 0 of "
                 "layer 1 and query 3"},
                {"0.1,1.*", "2,6", "found 4 heads and 2 queries",
                 "`heads 0.1` `queries -1` chooses head 1 "
                 "of layer 0 and the last query"}};

    open_model();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_explainer *explainer = NULL;
        struct attn_error err = {0};

        ck_assert(attn_selection_set_heads(selection, rows[i].heads, &err) == ATTN_OK);
        ck_assert(attn_selection_set_queries(selection, ATTN_STACK_ONLY, rows[i].queries, &err) ==
                  ATTN_OK);
        ck_assert(attn_explainer_create(&args, &explainer, &err) == ATTN_INVALID);
        ck_assert_msg(strstr(err.message, rows[i].message) != NULL, "%s", err.message);
        ck_assert_str_eq(err.hint, rows[i].hint);
        ck_assert_int_eq(err.stage, ATTN_STAGE_OPTIONS);
    }
    close_model();
}
END_TEST

START_TEST(what_has_no_such_row_is_refused)
{
    struct attn_explain_args refused;
    struct attn_attention linear[2];
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    open_model();
    refused = args;
    memcpy(linear, args.attention, sizeof linear);
    linear[LAYER].kind = ATTN_ATTENTION_LINEAR;
    refused.attention = linear;
    assert_refused(&refused, "softmax");
    refused = args;
    edit.at.layer = LAYER;
    edit.at.head = HEAD;
    refused.edits = &edit;
    refused.n_edit = 1;
    assert_refused(&refused, "ablated");
    close_model();
}
END_TEST

START_TEST(failures_leave_nothing_behind)
{
    struct attn_explainer *explainer = NULL;
    enum attn_status status = ATTN_NO_MEMORY;
    long n;

    open_model();
    for (n = 0; status != ATTN_OK; n++) {
        struct attn_error err = {0};

        ck_assert_ptr_null(explainer);
        attn_alloc_fail_at(n);
        status = attn_explainer_create(&args, &explainer, &err);
        attn_alloc_fail_off();
    }
    ck_assert_int_gt(n, 3);
    attn_explainer_free(explainer);
    close_model();
}
END_TEST

ATTN_SUITE("explain", explains_rows_of_every_family, what_the_run_has_rounded_is_rounded,
           holds_the_numbers_of_the_run_and_those_between, the_sites_of_the_run_are_watched_too,
           sums_that_differ_are_a_failed_check, sums_of_many_equal_terms_are_right,
           one_number_that_is_off_is_found, sums_that_overflow_are_no_failed_check,
           more_than_one_row_is_refused_and_one_of_them_named, what_has_no_such_row_is_refused,
           failures_leave_nothing_behind)
