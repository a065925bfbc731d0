/*
 * test_edits.c - edits change what they name, before it is used, and nothing else. Each
 * operation is checked at the site against arithmetic on the unedited value, and every site's edit
 * must reach what is computed from it.
 */
#include "edits/edit_texts.h"
#include "extra.h"
#include "tests/support/near.h"
#include "tests/support/npy.h"
#include "tests/support/recording.h"
#include "tests/support/sessions.h"
#include "tests/support/suite.h"
#include "trace/site_set.h"
#include "trace/trace_extra.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_ID = 11 };

static const int32_t ids[N_ID] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};

/* models/tiny-gpt2 without and with edits: 3 layers, 3 heads, d_head 5. */
struct trial {
    struct attn_model *model;
    struct attn_recording plain, edited;
};

static void open_trial(struct trial *trial)
{
    const struct attn_source source = {.directory = "models/tiny-gpt2"};
    struct attn_error err = {0};

    ck_assert_msg(attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &trial->model, &err) ==
                      ATTN_OK,
                  "%s", err.message);
    attn_recording_init(&trial->plain, attn_model_config(trial->model), N_ID);
    attn_recording_init(&trial->edited, attn_model_config(trial->model), N_ID);
    ck_assert(attn_recording_run(&trial->plain, trial->model, &ATTN_SESSION_OPTIONS_DEFAULT, ids,
                                 N_ID, &err) == ATTN_OK);
}

static void run_edits_into(struct attn_recording *recording, const struct trial *trial,
                           const struct attn_edit *edits, size_t n_edit, size_t step)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_error err = {0};

    options.edits = edits;
    options.n_edit = n_edit;
    ck_assert_msg(attn_recording_run(recording, trial->model, &options, ids, step, &err) == ATTN_OK,
                  "%s", err.message);
}

static void run_edits(struct trial *trial, const struct attn_edit *edits, size_t n_edit,
                      size_t step)
{
    run_edits_into(&trial->edited, trial, edits, n_edit, step);
}

static void close_trial(struct trial *trial)
{
    attn_recording_release(&trial->plain);
    attn_recording_release(&trial->edited);
    attn_model_free(trial->model);
}

static bool has_site(const struct trial *trial, int site)
{
    return attn_sites_have(trial->plain.dims.sites, site);
}

static bool is_same(const struct trial *trial, enum attn_site site, int layer)
{
    const struct attn_recorded *a = attn_recording_find(&trial->plain, site, layer);
    const struct attn_recorded *b = attn_recording_find(&trial->edited, site, layer);

    return memcmp(a->data, b->data, a->n * sizeof(float)) == 0;
}

/* Element (head, row, column) of a record, whatever its layout. */
static float at(const struct attn_recording *recording, enum attn_site site, int layer,
                const size_t place[3])
{
    const struct attn_recorded *r = attn_recording_find(recording, site, layer);
    const size_t h = place[0], p = place[1], c = place[2];

    switch (attn_site_layout(site)) {
    case ATTN_LAYOUT_VECTOR:
        return r->data[p * r->shape[1] + c];
    case ATTN_LAYOUT_MATRIX:
        return r->data[(h * r->shape[1] + p) * r->shape[2] + c];
    default:
        return r->data[(p * r->shape[1] + h) * r->shape[2] + c];
    }
}

/* What an edit must make of the value X at the site. */
static float apply(const struct attn_edit *edit, float x)
{
    switch (edit->op) {
    case ATTN_EDIT_ZERO:
        return 0;
    case ATTN_EDIT_SCALE:
        return x * edit->factor;
    case ATTN_EDIT_REPLACE:
        return edit->data[0];
    case ATTN_EDIT_ADD:
        return x + edit->data[0];
    default:
        return -INFINITY;
    }
}

/* Edits one cell of SITE in layer 1 (head 1, position 6, column 2) and looks at all cells of the
 * site. */
static void check_cell(struct trial *trial, enum attn_site site, enum attn_edit_op op)
{
    static const float value = 0.625F;
    const int layer = attn_site_is_in_layer(site) ? 1 : ATTN_NO_LAYER;
    const bool has_heads = attn_site_layout(site) != ATTN_LAYOUT_VECTOR;
    const struct attn_recorded *record = attn_recording_find(&trial->plain, site, layer);
    struct attn_edit edit = ATTN_EDIT_DEFAULT;
    size_t n_different = 0;

    edit.at.site = site, edit.at.layer = 1, edit.at.head = 1, edit.op = op;
    edit.row0 = 6, edit.row1 = 7, edit.col0 = 2, edit.col1 = 3;
    edit.factor = -3, edit.data = &value, edit.ld = 1;
    run_edits(trial, &edit, 1, N_ID);
    for (size_t i = 0; i < record->n; i++) {
        const size_t width = record->shape[record->rank - 1], row = i / width;
        const size_t n_inner = record->rank == 3 ? record->shape[1] : 1;
        const bool is_matrix = attn_site_layout(site) == ATTN_LAYOUT_MATRIX;
        const size_t place[3] = {is_matrix ? row / n_inner : row % n_inner,
                                 is_matrix ? row % n_inner : row / n_inner, i % width};
        const float was = at(&trial->plain, site, layer, place);
        const float is = at(&trial->edited, site, layer, place);
        const bool is_cell = (!has_heads || place[0] == 1) && place[1] == 6 && place[2] == 2;
        const float wanted = is_cell ? apply(&edit, was) : was;

        if (isnan(wanted)) /* hidden cells of qk */
            continue;
        ck_assert_msg(memcmp(&is, &wanted, sizeof is) == 0,
                      "%s op %d at head %zu position %zu column %zu: %g, expected %g",
                      attn_site_name(site), (int)op, place[0], place[1], place[2], (double)is,
                      (double)wanted);
        n_different += is_cell;
    }
    ck_assert_uint_eq(n_different, 1);
}

START_TEST(every_operation_works_at_every_site)
{
    struct trial trial;

    open_trial(&trial);
    for (int site = 0; site < ATTN_N_SITE; site++)
        for (int op = ATTN_EDIT_ZERO; op <= ATTN_EDIT_ADD && has_site(&trial, site); op++)
            check_cell(&trial, (enum attn_site)site, (enum attn_edit_op)op);
    check_cell(&trial, ATTN_SITE_QK, ATTN_EDIT_MASK);
    check_cell(&trial, ATTN_SITE_ATTN_SCORES, ATTN_EDIT_MASK);
    close_trial(&trial);
}
END_TEST

START_TEST(an_edit_reaches_what_is_computed_from_it)
{
    struct trial trial;

    open_trial(&trial);
    for (int site = ATTN_SITE_EMBED; site < ATTN_SITE_LOGITS; site++) {
        struct attn_edit edit = ATTN_EDIT_DEFAULT;

        if (!has_site(&trial, site))
            continue;
        edit.at.site = (enum attn_site)site, edit.at.layer = 1, edit.op = ATTN_EDIT_SCALE;
        edit.factor = 2;
        run_edits(&trial, &edit, 1, N_ID);
        ck_assert_msg(!is_same(&trial, ATTN_SITE_LOGITS, ATTN_NO_LAYER),
                      "doubling %s did not reach the logits", attn_site_name(edit.at.site));
        if (attn_site_is_in_layer(edit.at.site)) {
            ck_assert(is_same(&trial, ATTN_SITE_RESID_POST, 0));
            ck_assert(site <= ATTN_SITE_Q || is_same(&trial, ATTN_SITE_Q, 1));
        }
    }
    close_trial(&trial);
}
END_TEST

START_TEST(a_masked_key_gets_no_weight_and_rows_still_sum_to_one)
{
    struct attn_edit edit = ATTN_EDIT_DEFAULT;
    const struct attn_recorded *pattern;
    struct trial trial;

    edit.at.site = ATTN_SITE_ATTN_SCORES, edit.op = ATTN_EDIT_MASK;
    edit.at.layer = 1, edit.at.head = 2, edit.row0 = 5, edit.col0 = 3, edit.col1 = 5;
    open_trial(&trial);
    run_edits(&trial, &edit, 1, N_ID);
    pattern = attn_recording_find(&trial.edited, ATTN_SITE_PATTERN, 1);
    for (size_t p = 0; p < N_ID; p++) {
        const float *row = pattern->data + (2 * N_ID + p) * N_ID;
        double sum = 0;

        for (size_t j = 0; j < N_ID; j++)
            sum += (double)row[j];
        ck_assert_double_eq_tol(sum, 1, 1e-6);
        ck_assert_int_eq(p >= 5, row[3] == 0 && p >= 3);
    }
    close_trial(&trial);
}
END_TEST

START_TEST(a_row_with_every_key_masked_gives_zeros)
{
    struct attn_edit edit = ATTN_EDIT_DEFAULT;
    struct trial trial;

    edit.at.site = ATTN_SITE_ATTN_SCORES, edit.op = ATTN_EDIT_MASK;
    edit.at.layer = 0, edit.row0 = 4, edit.row1 = 5;
    open_trial(&trial);
    run_edits(&trial, &edit, 1, N_ID);
    for (size_t h = 0; h < 3; h++)
        for (size_t c = 0; c < 5; c++) {
            const size_t cell[] = {h, 4, c}, other[] = {h, 5, c};

            ck_assert(at(&trial.edited, ATTN_SITE_PATTERN, 0, cell) == 0);
            ck_assert(at(&trial.edited, ATTN_SITE_Z, 0, cell) == 0);
            ck_assert(at(&trial.edited, ATTN_SITE_Z, 0, other) ==
                      at(&trial.plain, ATTN_SITE_Z, 0, other));
        }
    close_trial(&trial);
}
END_TEST

START_TEST(edits_that_change_nothing_keep_every_bit)
{
    struct attn_edit edits[ATTN_N_SITE];
    struct trial trial;
    size_t n = 0;

    open_trial(&trial);
    for (int site = 0; site < ATTN_N_SITE; site++) {
        if (!has_site(&trial, site))
            continue;
        edits[n] = ATTN_EDIT_DEFAULT;
        edits[n].at.site = (enum attn_site)site;
        edits[n].op = ATTN_EDIT_SCALE;
        edits[n++].factor = 1;
    }
    run_edits(&trial, edits, n, N_ID);
    attn_assert_same_recording("scaled by 1", &trial.edited, &trial.plain);
    close_trial(&trial);
}
END_TEST

START_TEST(edits_hold_for_any_split_into_feeds)
{
    struct attn_edit edits[2] = {ATTN_EDIT_DEFAULT, ATTN_EDIT_DEFAULT};
    struct attn_recording whole;
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    struct trial trial;

    edits[0].at.site = ATTN_SITE_K, edits[0].op = ATTN_EDIT_SCALE, edits[0].factor = 0.5F;
    edits[0].at.layer = 1, edits[0].row0 = 2, edits[0].row1 = 6;
    edits[1].at.site = ATTN_SITE_PATTERN, edits[1].op = ATTN_EDIT_ZERO, edits[1].at.head = 0;
    open_trial(&trial);
    attn_recording_init(&whole, attn_model_config(trial.model), N_ID);
    options.edits = edits;
    options.n_edit = 2;
    ck_assert(attn_recording_run(&whole, trial.model, &options, ids, N_ID, &err) == ATTN_OK);
    for (size_t step = 1; step < 5; step++) {
        run_edits(&trial, edits, 2, step);
        attn_assert_same_recording("in steps", &trial.edited, &whole);
    }
    attn_recording_release(&whole);
    close_trial(&trial);
}
END_TEST

START_TEST(changed_rows_are_counted)
{
    const struct attn_source source = {.directory = "models/tiny-gpt2"};
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_edit edits[2] = {ATTN_EDIT_DEFAULT, ATTN_EDIT_DEFAULT};
    struct attn_session *session;
    struct attn_model *model;
    struct attn_error err = {0};

    edits[0].at.site = ATTN_SITE_Z, edits[0].at.layer = 0, edits[0].at.head = 2;
    edits[1].at.site = ATTN_SITE_PATTERN, edits[1].at.layer = 1, edits[1].at.head = 0,
    edits[1].row0 = 4;
    options.n_max = N_ID, options.has_logits = true, options.edits = edits, options.n_edit = 2;
    ck_assert(attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err) == ATTN_OK);
    ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
    ck_assert(attn_session_feed(session, ids, N_ID, &err) == ATTN_OK);
    ck_assert_uint_eq(attn_edited_rows(session), N_ID + (N_ID - 4));
    attn_session_free(session);
    attn_model_free(model);
}
END_TEST

/* Rows that edits of MODEL count. */
static size_t count_rows(const struct attn_model *model, const struct attn_edit *edits,
                         size_t n_edit)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session;
    struct attn_error err = {0};
    size_t n;

    options.n_max = N_ID, options.has_logits = true, options.edits = edits, options.n_edit = n_edit;
    ck_assert(attn_session_create(model, &options, &session, &err) == ATTN_OK);
    ck_assert(attn_session_feed(session, ids, N_ID, &err) == ATTN_OK);
    n = attn_edited_rows(session);
    attn_session_free(session);
    return n;
}

/* A row counts when a value of it differs, and once, however many edits change it. */
START_TEST(rows_that_stay_as_they_are_are_not_counted)
{
    struct attn_edit edits[3] = {ATTN_EDIT_DEFAULT, ATTN_EDIT_DEFAULT, ATTN_EDIT_DEFAULT};
    struct trial trial;

    open_trial(&trial);
    for (int i = 0; i < 3; i++)
        edits[i].at.site = ATTN_SITE_ATTN_SCORES, edits[i].at.layer = 1, edits[i].at.head = 1,
        edits[i].op = ATTN_EDIT_MASK, edits[i].row0 = 2, edits[i].row1 = 6;
    edits[0].col0 = 6; /* hidden by the causal mask already */
    ck_assert_uint_eq(count_rows(trial.model, edits, 1), 0);
    edits[0].col0 = 4, edits[0].col1 = 6; /* of rows 4 and 5 alone */
    ck_assert_uint_eq(count_rows(trial.model, edits, 1), 2);
    edits[1].col0 = 0, edits[1].col1 = 1;
    edits[2].col0 = 2, edits[2].col1 = 3;
    ck_assert_uint_eq(count_rows(trial.model, edits, 3), 4);
    edits[0] = ATTN_EDIT_DEFAULT, edits[0].at.site = ATTN_SITE_Z, edits[0].at.layer = 0;
    edits[0].op = ATTN_EDIT_SCALE, edits[0].factor = 1;
    ck_assert_uint_eq(count_rows(trial.model, edits, 1), 0);
    edits[0].factor = 2, edits[1] = edits[0];
    ck_assert_uint_eq(count_rows(trial.model, edits, 2), (size_t)N_ID * 3);
    close_trial(&trial);
}
END_TEST

/* Which of several edits changed a value, for one thread and for three: those do not that come with
 * what is there already, name keys that are hidden, or come after what is wanted. */
START_TEST(edits_without_effect_are_known_one_by_one)
{
    struct attn_edit edits[4] = {ATTN_EDIT_DEFAULT, ATTN_EDIT_DEFAULT, ATTN_EDIT_DEFAULT,
                                 ATTN_EDIT_DEFAULT};
    static const bool expected[4] = {true, false, false, true};
    struct trial trial;

    open_trial(&trial);
    edits[0].at.site = ATTN_SITE_Z, edits[0].at.layer = 0, edits[0].at.head = 2;
    edits[1] = edits[0], edits[1].op = ATTN_EDIT_SCALE, edits[1].factor = 3; /* of zeros */
    edits[2].at.site = ATTN_SITE_ATTN_SCORES, edits[2].at.layer = 1, edits[2].op = ATTN_EDIT_MASK;
    edits[2].row0 = 2, edits[2].row1 = 6, edits[2].col0 = 6;
    edits[3].at.site = ATTN_SITE_RESID_POST, edits[3].at.layer = 2, edits[3].row0 = N_ID - 1;
    for (int n_thread = 1; n_thread <= 3; n_thread += 2) {
        struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
        struct attn_session *session;
        struct attn_pool *pool;
        struct attn_error err = {0};

        ck_assert(attn_pool_create(n_thread, &pool, &err) == ATTN_OK);
        options.n_max = N_ID, options.has_logits = true, options.pool = pool;
        options.edits = edits, options.n_edit = 4;
        ck_assert(attn_session_create(trial.model, &options, &session, &err) == ATTN_OK);
        ck_assert(attn_session_feed(session, ids, N_ID, &err) == ATTN_OK);
        for (size_t i = 0; i < 4; i++)
            ck_assert_msg(attn_edit_counts(session, 0, i) == expected[i], "edit %zu", i);
        attn_session_free(session);
        attn_pool_free(pool);
    }
    close_trial(&trial);
}
END_TEST

/* Creates a session with one edit and expects it to be refused with a message that holds TEXT. */
static void check_refused(const struct attn_model *model, const struct attn_edit *edit,
                          const char *text)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_session *session = NULL;
    struct attn_error err = {0};

    options.n_max = N_ID, options.edits = edit, options.n_edit = 1;
    ck_assert_int_eq(attn_session_create(model, &options, &session, &err), ATTN_INVALID);
    ck_assert_msg(strstr(err.message, text) != NULL, "'%s' lacks '%s'", err.message, text);
    ck_assert_ptr_null(session);
}

/* Steering: one row of data for all positions, also those that are fed later. */
START_TEST(a_vector_is_added_at_every_position)
{
    static const float vector[] = {0.5F, -2};
    struct attn_edit edit = ATTN_EDIT_DEFAULT;
    struct trial trial;

    edit.at.site = ATTN_SITE_RESID_PRE, edit.at.layer = 1, edit.op = ATTN_EDIT_ADD;
    edit.row0 = 2, edit.col0 = 3, edit.col1 = 5, edit.data = vector, edit.ld = 0;
    open_trial(&trial);
    for (size_t step = 1; step <= N_ID; step += 3) {
        run_edits(&trial, &edit, 1, step);
        for (size_t row = 0; row < N_ID; row++)
            for (size_t column = 0; column < trial.plain.dims.d_model; column++) {
                const size_t place[3] = {0, row, column};
                const bool is_meant = row >= 2 && column >= 3 && column < 5;
                const float was = at(&trial.plain, ATTN_SITE_RESID_PRE, 1, place);

                ck_assert(at(&trial.edited, ATTN_SITE_RESID_PRE, 1, place) ==
                          (is_meant ? was + vector[column - 3] : was));
            }
    }
    close_trial(&trial);
}
END_TEST

START_TEST(scores_that_are_masked_stay_so_when_they_are_multiplied)
{
    struct attn_edit edit = ATTN_EDIT_DEFAULT;
    struct trial trial;

    edit.at.site = ATTN_SITE_ATTN_SCORES, edit.at.layer = 0, edit.op = ATTN_EDIT_SCALE,
    edit.factor = 0;
    open_trial(&trial);
    run_edits(&trial, &edit, 1, N_ID);
    for (size_t row = 0; row < N_ID; row++)
        for (size_t key = 0; key < N_ID; key++) {
            const float weight = at(&trial.edited, ATTN_SITE_PATTERN, 0, (size_t[]){0, row, key});

            ck_assert(fabsf(weight - (key <= row ? 1 / (float)(row + 1) : 0)) < 1e-6F);
        }
    close_trial(&trial);
}
END_TEST

START_TEST(edits_that_do_not_fit_the_model_are_refused)
{
    struct attn_edit edit;
    struct trial trial;

    open_trial(&trial);
    edit = ATTN_EDIT_DEFAULT, edit.at.site = ATTN_SITE_Z, edit.at.layer = 3;
    check_refused(trial.model, &edit, "layer 3, expected 0 to 2");
    edit = ATTN_EDIT_DEFAULT, edit.at.site = ATTN_SITE_Z, edit.at.head = 3;
    check_refused(trial.model, &edit, "head 3, expected 0 to 2");
    edit = ATTN_EDIT_DEFAULT, edit.at.site = ATTN_SITE_Z, edit.row0 = N_ID;
    check_refused(trial.model, &edit, "positions");
    edit = ATTN_EDIT_DEFAULT, edit.at.site = ATTN_SITE_Z, edit.col1 = 6;
    check_refused(trial.model, &edit, "columns");
    edit = ATTN_EDIT_DEFAULT, edit.at.site = ATTN_SITE_PATTERN, edit.op = ATTN_EDIT_MASK;
    check_refused(trial.model, &edit, "masks 'pattern'");
    edit = ATTN_EDIT_DEFAULT, edit.at.site = ATTN_SITE_Z, edit.op = ATTN_EDIT_ADD;
    check_refused(trial.model, &edit, "needs data");
    edit.data = &(float){1}, edit.col1 = 2, edit.ld = 2;
    check_refused(trial.model, &edit, "needs data");
    edit.row1 = 1, edit.ld = 1;
    check_refused(trial.model, &edit, "needs data");
    close_trial(&trial);
}
END_TEST

/* --- Functions -------------------------------------------------------------------------------- */

/* What a function was called with, and what it returns. */
struct calls {
    size_t n;
    struct attn_location last;
    size_t n_row;    /* the sum over the calls */
    bool is_ordered; /* by layer, then head; whole rows are consecutive */
    enum attn_status status;
    float value; /* what cell 0 becomes, if it is not 0 */
};

static enum attn_status double_values(void *user, const struct attn_trace_event *event,
                                      float *values, struct attn_error *err)
{
    struct calls *calls = user;

    (void)err;
    ck_assert_ptr_eq(event->data, values);
    ck_assert_uint_eq(event->ld, event->n_col);
    ck_assert(!event->keys && !event->is_causal);
    calls->is_ordered =
        calls->is_ordered &&
        (calls->n == 0 || event->at.layer > calls->last.layer ||
         (event->at.layer == calls->last.layer && event->at.head >= calls->last.head));
    calls->n++;
    calls->n_row += event->n_row;
    calls->last = event->at;
    for (size_t i = 0; i < event->n_row * event->n_col; i++)
        values[i] = values[i] == -INFINITY ? values[i] : 2 * values[i];
    if (calls->value != 0)
        values[0] = calls->value;
    return calls->status;
}

static struct attn_edit function_at(enum attn_site site, struct calls *calls)
{
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    *calls = (struct calls){.is_ordered = true, .status = ATTN_OK};
    edit.at.site = site, edit.op = ATTN_EDIT_FUNCTION;
    edit.function = double_values, edit.user = calls;
    return edit;
}

/* A function that doubles a tensor does what the edit does that doubles it, to the bit. */
START_TEST(a_function_changes_a_tensor_as_other_edits_do)
{
    struct attn_recording scaled;
    struct calls calls;
    struct trial trial;

    open_trial(&trial);
    attn_recording_init(&scaled, attn_model_config(trial.model), N_ID);
    for (int site = 0; site < ATTN_N_SITE; site++) {
        struct attn_edit edit = ATTN_EDIT_DEFAULT;
        const size_t n_head =
            attn_site_layout(site) == ATTN_LAYOUT_VECTOR ? 1 : trial.plain.dims.n_head;

        if (!has_site(&trial, site))
            continue;
        edit.at.site = (enum attn_site)site, edit.op = ATTN_EDIT_SCALE, edit.factor = 2;
        run_edits_into(&scaled, &trial, &edit, 1, N_ID);
        for (size_t step = 4; step <= N_ID; step += 7) {
            edit = function_at((enum attn_site)site, &calls);
            run_edits(&trial, &edit, 1, step);
            attn_assert_same_recording(attn_site_name(edit.at.site), &trial.edited, &scaled);
            ck_assert_uint_eq(calls.n_row, N_ID * n_head * (attn_site_is_in_layer(site) ? 3 : 1));
            ck_assert(calls.is_ordered || step < N_ID);
        }
    }
    attn_recording_release(&scaled);
    close_trial(&trial);
}
END_TEST

/* Edits of one matrix apply in the order given, the function among them. */
START_TEST(functions_apply_in_the_order_of_the_edits)
{
    static const float addend = 0.125F;
    struct attn_recording plain;
    struct attn_edit edits[4];
    struct calls calls;
    struct trial trial;

    open_trial(&trial);
    attn_recording_init(&plain, attn_model_config(trial.model), N_ID);
    for (int site = ATTN_SITE_PATTERN; site <= ATTN_SITE_Z; site++) {
        if (!has_site(&trial, site))
            continue;
        for (size_t i = 0; i < 4; i++)
            edits[i] = ATTN_EDIT_DEFAULT, edits[i].at.site = (enum attn_site)site;
        edits[0].at.site = ATTN_SITE_V, edits[0].op = ATTN_EDIT_SCALE, edits[0].factor = 3;
        edits[1].op = ATTN_EDIT_ADD, edits[1].data = &addend, edits[1].col1 = 1;
        edits[2].op = ATTN_EDIT_SCALE, edits[2].factor = 2, edits[2].at.layer = 1;
        edits[2].at.head = 1, edits[2].row0 = 3, edits[2].row1 = 9;
        edits[3].op = ATTN_EDIT_ADD, edits[3].data = &addend, edits[3].col1 = 1;
        run_edits_into(&plain, &trial, edits, 4, N_ID);
        edits[2] = function_at((enum attn_site)site, &calls);
        edits[2].at.layer = 1, edits[2].at.head = 1, edits[2].row0 = 3, edits[2].row1 = 9;
        run_edits(&trial, edits, 4, N_ID);
        attn_assert_same_recording(attn_site_name(edits[2].at.site), &trial.edited, &plain);
        ck_assert(calls.n == 1 && calls.n_row == 6);
    }
    attn_recording_release(&plain);
    close_trial(&trial);
}
END_TEST

static void check_stops(struct trial *trial, enum attn_site site, const struct calls *as,
                        enum attn_status status, const char *message)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    struct calls calls;
    struct attn_edit edit = function_at(site, &calls);

    calls.status = as->status, calls.value = as->value;
    options.edits = &edit, options.n_edit = 1;
    ck_assert_int_eq(attn_recording_run(&trial->edited, trial->model, &options, ids, N_ID, &err),
                     status);
    ck_assert_msg(strstr(err.message, message), "%s", err.message);
    ck_assert_uint_eq(calls.n, 1);
}

START_TEST(a_function_that_fails_ends_the_run)
{
    static const enum attn_site sites[] = {ATTN_SITE_PATTERN, ATTN_SITE_Z, ATTN_SITE_RESID_PRE};
    const struct calls failing = {.status = ATTN_CANCELED};
    const struct calls not_finite = {.status = ATTN_OK, .value = NAN};
    const struct calls masked = {.status = ATTN_OK, .value = -INFINITY};
    struct calls calls;
    struct attn_edit edit = function_at(ATTN_SITE_ATTN_SCORES, &calls);
    struct trial trial;

    open_trial(&trial);
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        check_stops(&trial, sites[i], &failing, ATTN_CANCELED, "'function' returned the status");
        check_stops(&trial, sites[i], &not_finite, ATTN_INVALID, "gave a value that is not finite");
        check_stops(&trial, sites[i], &masked, ATTN_INVALID, "gave a value that is not finite");
    }
    calls.value = -INFINITY; /* a score may be that */
    run_edits(&trial, &edit, 1, N_ID);
    edit.function = NULL;
    check_refused(trial.model, &edit, "'function' is NULL");
    edit.function = double_values, edit.col1 = 3;
    check_refused(trial.model, &edit, "names columns");
    edit.col1 = SIZE_MAX, edit.at.site = ATTN_SITE_ROLLOUT;
    check_refused(trial.model, &edit, "no site 'rollout'");
    close_trial(&trial);
}
END_TEST

/* Implements attn_edit_fn: x + x * x / 4, as tests/tools/check_hooks.py has it. */
static enum attn_status add_squares(void *user, const struct attn_trace_event *event, float *values,
                                    struct attn_error *err)
{
    (void)user, (void)err;
    for (size_t i = 0; i < event->n_row * event->n_col; i++)
        values[i] += values[i] * values[i] / 4;
    return ATTN_OK;
}

/* The logits of transformers' GPT-2 in float64 with forward hooks, of 16 tokens at each position.
 */
START_TEST(functions_do_what_hooks_of_torch_do)
{
    static const struct {
        const char *name;
        enum attn_site site;
        int layer;
    } cases[] = {
        {"embed", ATTN_SITE_EMBED, ATTN_ALL_LAYERS},
        {"resid_pre", ATTN_SITE_RESID_PRE, ATTN_ALL_LAYERS},
        {"q", ATTN_SITE_Q, ATTN_ALL_LAYERS},
        {"k", ATTN_SITE_K, ATTN_ALL_LAYERS},
        {"v", ATTN_SITE_V, ATTN_ALL_LAYERS},
        {"pattern", ATTN_SITE_PATTERN, ATTN_ALL_LAYERS},
        {"blocks.1.attn.hook_pattern", ATTN_SITE_PATTERN, 1},
        {"z", ATTN_SITE_Z, ATTN_ALL_LAYERS},
        {"blocks.1.attn.hook_z", ATTN_SITE_Z, 1},
        {"attn_out", ATTN_SITE_ATTN_OUT, ATTN_ALL_LAYERS},
        {"mlp_pre", ATTN_SITE_MLP_PRE, ATTN_ALL_LAYERS},
        {"mlp_post", ATTN_SITE_MLP_POST, ATTN_ALL_LAYERS},
        {"blocks.1.mlp.hook_post", ATTN_SITE_MLP_POST, 1},
        {"mlp_out", ATTN_SITE_MLP_OUT, ATTN_ALL_LAYERS},
        {"resid_post", ATTN_SITE_RESID_POST, ATTN_ALL_LAYERS},
        {"ln_final", ATTN_SITE_LN_FINAL, ATTN_ALL_LAYERS},
        {"logits", ATTN_SITE_LOGITS, ATTN_ALL_LAYERS},
    };
    struct trial trial;

    open_trial(&trial);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attn_edit edit = ATTN_EDIT_DEFAULT;
        const struct attn_recorded *logits;
        char path[128];
        size_t n;
        float *wanted;

        edit.at.site = cases[i].site, edit.at.layer = cases[i].layer;
        edit.op = ATTN_EDIT_FUNCTION, edit.function = add_squares;
        run_edits(&trial, &edit, 1, N_ID);
        snprintf(path, sizeof path, "tests/golden/hooks.npz/%s.npy", cases[i].name);
        wanted = attn_npy_load_floats(path, &n);
        ck_assert_uint_eq(n, N_ID * 16);
        logits = attn_recording_find(&trial.edited, ATTN_SITE_LOGITS, ATTN_NO_LAYER);
        for (size_t k = 0; k < n; k++)
            ck_assert_msg(fabsf(logits->data[k / 16 * logits->shape[1] + k % 16] - wanted[k]) <
                              1e-5F * (1 + fabsf(wanted[k])),
                          "%s: logit %zu is %g, expected %g", cases[i].name, k,
                          (double)logits->data[k / 16 * logits->shape[1] + k % 16],
                          (double)wanted[k]);
        free(wanted);
    }
    close_trial(&trial);
}
END_TEST

/* Only the last row is read in the last layer, and functions get all rows of it. */
START_TEST(a_function_gets_whole_tensors)
{
    static const struct {
        enum attn_site site;
        size_t n_call; /* heads and layers */
    } cases[] = {{ATTN_SITE_PATTERN, 32},  {ATTN_SITE_Z, 32},      {ATTN_SITE_ATTN_OUT, 4},
                 {ATTN_SITE_RESID_MID, 4}, {ATTN_SITE_MLP_PRE, 4}, {ATTN_SITE_MLP_OUT, 4},
                 {ATTN_SITE_RESID_POST, 4}};
    struct attn_error err = {0};
    struct attn_host *host;
    char text[100 * 8 + 1] = "";

    for (size_t i = 0; i < 100; i++) /* above the 64 rows that are edited at once */
        memcpy(text + 8 * i, "The keys", 9);
    ck_assert_int_eq(attn_host_open("fable", NULL, &host, &err), ATTN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attn_request request = ATTN_REQUEST_DEFAULT;
        struct calls calls;
        struct attn_edit edit = function_at(cases[i].site, &calls);
        struct attn_result result = {0};

        request.input.text = text, request.input.n_text = strlen(text);
        request.edits.items = &edit, request.edits.n = 1;
        request.predict.top = 1; /* without sites: no other row is watched */
        ck_assert_msg(attn_run_request(host, &request, &result, &err) == ATTN_OK, "%s",
                      err.message);
        ck_assert_uint_ge(result.n_token, 200);
        ck_assert_uint_eq(calls.n, cases[i].n_call);
        ck_assert_msg(calls.n_row == cases[i].n_call * result.n_token, "%s: %zu rows",
                      attn_site_name(cases[i].site), calls.n_row);
        ck_assert_uint_eq(result.n_edited_row, calls.n_row);
        attn_result_release(&result);
    }
    attn_host_free(host);
}
END_TEST

static enum attn_status next_of_none(void *user, struct attn_item **item, struct attn_error *err)
{
    (void)user, (void)item, (void)err;
    return ATTN_OK;
}

static enum attn_status done_of_none(void *user, const struct attn_item_result *result,
                                     struct attn_error *err)
{
    (void)user, (void)result, (void)err;
    return ATTN_OK;
}

/* Whatever runs the model more than once, or backwards, refuses a function by the name of its site.
 */
START_TEST(what_cannot_honour_a_function_refuses_it)
{
    const struct attn_answer_args answer = {.target = " are"};
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_ablate_sum sum = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_many_options many = ATTN_MANY_OPTIONS_DEFAULT;
    struct attn_item_calls none = {.next = next_of_none, .done = done_of_none};
    struct calls calls;
    const struct attn_edit edit = function_at(ATTN_SITE_Z, &calls);
    struct attn_result result = {0};
    struct attn_table *table = NULL;
    struct attn_error err = {0};
    struct attn_host *host;

    ck_assert_int_eq(attn_host_open("fable", NULL, &host, &err), ATTN_OK);
    request.input.text = "The keys to the cabinet", request.input.n_text = 23;
    request.edits.items = &edit, request.edits.n = 1;
    args.answer = answer;
    ck_assert_int_eq(attn_ablate(host, &request, &args, &table, &sum, &err), ATTN_INVALID);
    ck_assert_msg(strstr(err.message, "'z' is a function, and ablate runs"), "%s", err.message);
    many.request = &request;
    err = (struct attn_error){0};
    ck_assert_int_eq(attn_run_many(host, &many, &none, &err), ATTN_INVALID);
    ck_assert_msg(strstr(err.message, "'z' is a function, and a batch runs"), "%s", err.message);
    err = (struct attn_error){0};
    request.selection.sites = "pattern", request.selection.has_gradients = true;
    request.selection.gradients_of = &answer;
    ck_assert_int_eq(attn_run_request(host, &request, &result, &err), ATTN_INVALID);
    ck_assert_msg(strstr(err.message, "through the function that edits 'z'"), "%s", err.message);
    ck_assert_uint_eq(calls.n, 0);
    attn_host_free(host);
}
END_TEST

/* The texts of a command line, with a model that is not known yet. */
START_TEST(texts_are_read_and_their_files_are_listed)
{
    static const char *const knockouts[] = {"1>0", "it>cat@2.*"};
    static const char *const patches[] = {"z:2.5=a.npz", "no file"};
    static const char *const steers[] = {"resid_pre:2=v.npy*1.5", "resid_pre:2=a*b.npy"};
    static const char *const rescales[] = {"z:2.5=0.5"};
    struct attn_edit_texts texts = {.ablate = "0.3,mean:mlp_out:2",
                                    .knockouts = knockouts,
                                    .n_knockout = 2,
                                    .rescales = rescales,
                                    .n_rescale = 1};
    struct attn_request_edits edits = {0};
    struct attn_error err = {0};

    ck_assert_int_eq(attn_edit_texts_read(&texts, NULL, &edits, &err), ATTN_OK);
    ck_assert_uint_eq(edits.n_intervention, 5);
    ck_assert_int_eq(edits.interventions[0].op, ATTN_EDIT_ZERO);
    ck_assert_str_eq(edits.interventions[0].heads.text, "0.3");
    ck_assert_int_eq(edits.interventions[1].op, ATTN_EDIT_MEAN);
    ck_assert_int_eq(edits.interventions[1].at.site, ATTN_SITE_MLP_OUT);
    ck_assert_int_eq(edits.interventions[1].at.layer, 2);
    ck_assert_ptr_null(edits.interventions[1].heads.text);
    ck_assert_str_eq(edits.interventions[3].heads.text, "2.*");
    ck_assert_int_eq(edits.interventions[4].op, ATTN_EDIT_SCALE);
    ck_assert(edits.interventions[4].factor == 0.5F);
    ck_assert_int_eq(attn_edit_texts_read(&texts, NULL, &edits, &err), ATTN_OK); /* again */
    ck_assert_uint_eq(edits.n_intervention, 5);
    attn_edit_texts_release(&texts);

    texts.patches = patches, texts.n_patch = 2;
    texts.steers = steers, texts.n_steer = 2;
    ck_assert_int_eq(attn_edit_texts_read(&texts, NULL, &edits, &err), ATTN_IO);
    ck_assert_int_eq(err.stage, ATTN_STAGE_INPUT);
    attn_edit_texts_release(&texts);
    attn_edit_texts_release(NULL);
}
END_TEST

ATTN_SUITE("edits", every_operation_works_at_every_site, an_edit_reaches_what_is_computed_from_it,
           a_masked_key_gets_no_weight_and_rows_still_sum_to_one,
           a_row_with_every_key_masked_gives_zeros, edits_that_change_nothing_keep_every_bit,
           edits_hold_for_any_split_into_feeds, changed_rows_are_counted,
           rows_that_stay_as_they_are_are_not_counted, edits_without_effect_are_known_one_by_one,
           a_vector_is_added_at_every_position,
           scores_that_are_masked_stay_so_when_they_are_multiplied,
           edits_that_do_not_fit_the_model_are_refused,
           a_function_changes_a_tensor_as_other_edits_do, functions_apply_in_the_order_of_the_edits,
           a_function_that_fails_ends_the_run, functions_do_what_hooks_of_torch_do,
           a_function_gets_whole_tensors, what_cannot_honour_a_function_refuses_it,
           texts_are_read_and_their_files_are_listed)
