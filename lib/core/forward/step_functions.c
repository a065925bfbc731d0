/* step_functions.c - calls the functions that edit matrices of a layer. A tile holds a part of a
 * matrix, and a function gets the matrix of a head: so each is computed, with the edits before the
 * function, and kept with what the function made of it. The heads then run with these values. */
#include "forward/step_internal.h"

#include "trace/trace_internal.h"

#include <math.h>

/* A matrix of one head that is being computed for a function. */
struct calling {
    struct attn_forward *f;
    const struct attn_heads *heads; /* those of the layer */
    struct attn_edit_calls calls;
    float **answers;                  /* [n_edit, n_head] owns them */
    struct attn_heads_memory memory;  /* that of the layer, with room for one watched matrix */
    struct attn_selection *selection; /* owns; all heads and queries */
    enum attn_site site;
    int head;
    float *values; /* [n_row, n_key] the matrix */
};

static bool needs_head(const void *context, int head)
{
    const struct calling *calling = context;

    return head == calling->head;
}

static bool needs_no_rows(const void *context, size_t row0, size_t n_row)
{
    (void)context, (void)row0, (void)n_row;
    return false;
}

static bool is_stopped(void *context)
{
    const struct calling *calling = context;

    return attn_forward_is_stopped(calling->f);
}

/* Copies the rows of EVENT. Products that were not computed become 0. */
static void keep_rows(void *context, const struct attn_trace_event *event)
{
    const struct calling *calling = context;
    const size_t n_key = calling->calls.n_key;

    for (size_t i = 0; i < event->n_row; i++) {
        float *row = calling->values + (event->row0 - calling->calls.row0 + i) * n_key;

        attn_event_copy_row(event, i, row, n_key);
        for (size_t j = 0; j < n_key && event->at.site == ATTN_SITE_QK; j++)
            row[j] = isnan(row[j]) ? 0 : row[j];
    }
}

/* Computes the matrix of CALLING with the edits before number EDIT, and calls that edit. */
static void call(struct calling *calling, size_t edit)
{
    const struct attn_layer_feed *feed = &calling->heads->feed;
    const struct attn_edit_target target = {.at.site = calling->site,
                                            .at.stack = feed->at.stack,
                                            .at.layer = feed->at.layer,
                                            .at.head = calling->head,
                                            .row0 = feed->row0,
                                            .n_row = feed->n_row,
                                            .n_col = calling->calls.n_key};
    struct attn_heads one = *calling->heads;

    calling->calls.site = calling->site;
    calling->calls.end = edit;
    one.memory = &calling->memory;
    one.selection = calling->selection;
    one.watched = ATTN_SITES(calling->site);
    one.caller =
        (struct attn_heads_caller){needs_head, needs_no_rows, is_stopped, keep_rows, calling};
    one.z = one.sink_weights = NULL;
    one.takes_rows = false;
    one.feed.has_effect = NULL;
    one.feed.calls = &calling->calls;
    attn_heads_run(&one);
    attn_edit_call(&feed->edits[edit], &calling->calls, &target, calling->values);
}

/* Calls edit number EDIT, a function of a matrix of the layer, for each head that it changes. */
static void call_for_heads(struct calling *calling, size_t edit)
{
    struct attn_forward *f = calling->f;
    const struct attn_layer_feed *feed = &calling->heads->feed;
    const int of = feed->edits[edit].at.head;

    for (int head = 0; head < (int)calling->heads->n_head && !attn_forward_is_over(f); head++) {
        if ((of != ATTN_ALL_HEADS && of != head) || !attn_forward_needs_head(f, ATTN_SITE_Z, head))
            continue;
        calling->head = head;
        calling->values =
            attn_alloc(feed->n_row * calling->calls.n_key, sizeof *calling->values, f->feed.err);
        if (calling->values)
            call(calling, edit);
        else
            f->feed.status = ATTN_NO_MEMORY;
        /* Only now: the edit is left out while its matrix is computed. */
        calling->answers[edit * calling->heads->n_head + (size_t)head] = calling->values;
    }
}

static enum attn_status prepare(struct calling *calling, struct attn_error *err)
{
    const struct attn_heads *heads = calling->heads;
    const size_t n = heads->feed.n_row * calling->calls.n_key;

    ATTN_TRY(ATTN_ALLOC(calling->answers, heads->feed.n_edit * heads->n_head, err));
    calling->calls.answers = calling->answers;
    calling->memory = *heads->memory;
    calling->memory.n_watched = 2 * n; /* with the lists of cells of a sparse kind */
    ATTN_TRY(ATTN_ALLOC(calling->memory.watched, 2 * n, err));
    ATTN_TRY(ATTN_ALLOC(calling->memory.n_cells, heads->feed.n_row, err));
    return attn_selection_create(&calling->f->dims, &calling->selection, err);
}

static void release(struct calling *calling)
{
    const struct attn_heads *heads = calling->heads;

    for (size_t i = 0; calling->answers && i < heads->feed.n_edit * heads->n_head; i++)
        attn_free(calling->answers[i]);
    attn_free(calling->answers);
    if (calling->memory.watched != heads->memory->watched)
        attn_free(calling->memory.watched);
    if (calling->memory.n_cells != heads->memory->n_cells)
        attn_free(calling->memory.n_cells);
    attn_selection_free(calling->selection);
}

void attn_functions_run(struct attn_forward *f, struct attn_heads *heads)
{
    const struct attn_layer_feed *feed = &heads->feed;
    struct calling calling = {.f = f, .heads = heads, .calls = attn_visit_calls(f, feed->sequence)};
    enum attn_status status;

    calling.calls.row0 = feed->row0;
    calling.calls.n_key =
        feed->attention->kind == ATTN_ATTENTION_LOWRANK ? feed->attention->count : feed->n_key;
    status = prepare(&calling, f->feed.err);
    if (status != ATTN_OK)
        f->feed.status = status;
    for (int site = ATTN_SITE_QK; site <= ATTN_SITE_PATTERN_LOWRANK; site++)
        for (size_t i = 0; i < feed->n_edit && !attn_forward_is_over(f); i++) {
            const struct attn_location at =
                attn_location_in(&f->dims, &feed->at, (enum attn_site)site);

            if (feed->edits[i].op == ATTN_EDIT_FUNCTION && (int)feed->edits[i].at.site == site &&
                attn_edits_touch(&feed->edits[i], 1, &at)) {
                calling.site = (enum attn_site)site;
                call_for_heads(&calling, i);
            }
        }
    calling.calls.site = ATTN_N_SITE;
    heads->feed.calls = &calling.calls;
    if (!attn_forward_is_over(f))
        attn_visit_count(f, feed->sequence, attn_heads_run(heads));
    release(&calling);
}
