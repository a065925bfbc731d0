/* trace.c - see trace.h: reduces events to what a selection wants, and goes through the cells of
 * rows. */
#include "trace/trace_internal.h"

#include "base/pool_internal.h"
#include "base/text/given.h"
#include "trace/blocks_internal.h"

#include <math.h>
#include <string.h>

enum { ROWS_PER_TASK = 64 };

/* Whether row R of EVENT is wanted. Rows of keys are all wanted, whatever queries are chosen. */
static bool wants_row(const struct attn_selection *selection, const struct attn_trace_event *event,
                      size_t r)
{
    const struct attn_dims *dims = attn_dims_of(attn_selection_dims(selection), event->at.stack);
    const size_t position = event->row0 + r;

    if (attn_site_has_key_rows(event->at.site))
        return position < attn_site_n_key(dims, attn_location_block(&event->at));
    if (attn_site_is_pooled(event->at.site, dims))
        return position == 0;
    if (attn_site_n_own_row(event->at.site, dims) > 0)
        return true;
    return position >= attn_site_first_row(event->at.site, dims) &&
           position < attn_site_end_row(event->at.site, dims) &&
           attn_selection_has_query(selection, event->at.stack, position);
}

bool attn_trace_is_given(const struct attn_trace *trace, struct attn_error *err)
{
    return attn_is_given(trace->selection, "selection", err) &&
           attn_is_given(trace->on_event, "on_event", err) &&
           ATTN_IS_KNOWN(trace->later, "trace", err);
}

bool attn_trace_next_part(const struct attn_selection *selection,
                          const struct attn_trace_event *event, size_t *row,
                          struct attn_trace_event *part)
{
    size_t first = *row;

    while (first < event->n_row && !wants_row(selection, event, first))
        first++;
    *row = first;
    while (*row < event->n_row && wants_row(selection, event, *row))
        (*row)++;
    if (first == *row)
        return false;
    *part = *event;
    part->row0 += first;
    part->n_row = *row - first;
    part->data += first * event->ld;
    if (event->keys) {
        part->keys += first * event->ld;
        part->n_kept += first;
    }
    return true;
}

enum attn_status attn_trace_hand_on(const struct attn_trace *trace,
                                    const struct attn_trace_event *event, struct attn_error *err)
{
    const struct attn_selection *selection = trace->selection;
    struct attn_trace_event part;
    size_t row = 0;

    if (!attn_selection_wants(selection, &event->at) ||
        (event->at.head != ATTN_ALL_HEADS &&
         !attn_selection_has_tensor_head(selection, &event->at)))
        return ATTN_OK;
    while (attn_trace_next_part(selection, event, &row, &part))
        ATTN_TRY(attn_call_status(trace->on_event(trace->user, &part, err), "on_event", err));
    return ATTN_OK;
}

/* Rows of an event that several tasks copy. */
struct keeping {
    const struct attn_trace_event *event;
    size_t width;
    float *rows;
};

static void keep_some(void *context, size_t task, int worker)
{
    const struct keeping *keeping = context;
    const struct attn_trace_event *event = keeping->event;

    (void)worker;
    for (size_t i = task * ROWS_PER_TASK; i < (task + 1) * ROWS_PER_TASK && i < event->n_row; i++)
        memcpy(keeping->rows + (event->row0 + i) * keeping->width, event->data + i * event->ld,
               event->n_col * sizeof *keeping->rows);
}

void attn_trace_keep_rows(const struct attn_trace_event *event, struct attn_pool *pool,
                          size_t width, float *rows)
{
    const size_t head = event->at.head > 0 ? (size_t)event->at.head : 0;
    struct keeping keeping = {event, width, rows + head * event->n_col};

    attn_pool_run(pool, (event->n_row + ROWS_PER_TASK - 1) / ROWS_PER_TASK, keep_some, &keeping);
}

void attn_trace_keep_stream(const struct attn_trace_event *event, struct attn_pool *pool,
                            const struct attn_dims *dims, float *stream)
{
    const size_t d = dims->d_model;
    const bool has_sum_norms = attn_site_of_output(dims) != ATTN_SITE_RESID_POST;
    size_t at = dims->n_layer + 1;

    if (event->at.site == ATTN_SITE_RESID_PRE &&
        (attn_location_block(&event->at) == 0 || !has_sum_norms ||
         (dims->has_pairs && attn_location_block(&event->at) % 2 == 1)))
        at = (size_t)attn_location_block(&event->at);
    if (event->at.site == ATTN_SITE_RESID_POST &&
        (attn_location_block(&event->at) + 1 == (int)dims->n_layer || has_sum_norms))
        at = (size_t)attn_location_block(&event->at) + 1;
    if (at <= dims->n_layer)
        attn_trace_keep_rows(event, pool, d, stream + at * dims->n_position * d);
}

/* Returns the number of columns of row R, without `keys`, that are not masked by the causal mask.
 * qk is never masked: it is computed before the mask. */
static size_t count_visible(const struct attn_trace_event *event, size_t r)
{
    bool is_masked =
        event->is_causal && event->at.site != ATTN_SITE_QK && attn_site_has_keys(event->at.site);
    size_t end = event->row0 + r + event->ahead + 1;

    return is_masked && end < event->n_col ? end : event->n_col;
}

struct attn_row attn_event_row(const struct attn_trace_event *event, size_t r)
{
    const float *values = event->data + r * event->ld;

    if (!event->keys)
        return (struct attn_row){.values = values, .n = count_visible(event, r)};
    return (struct attn_row){
        .values = values, .keys = event->keys + r * event->ld, .n = event->n_kept[r]};
}

bool attn_event_is_certain(const struct attn_trace_event *event, size_t r)
{
    return attn_site_range(event->at.site) == ATTN_RANGE_SHARE && event->n_col > 1 &&
           event->row0 + r + event->ahead == 0 && attn_event_row(event, r).n == 1;
}

bool attn_row_next(struct attn_row *row, struct attn_cells *cells)
{
    size_t begin = row->at;

    if (begin == row->n)
        return false;
    row->at = row->keys ? begin + 1 : row->n;
    while (row->at < row->n && row->keys[row->at] == row->keys[row->at - 1] + 1)
        row->at++;
    cells->first = row->keys ? (size_t)row->keys[begin] : begin;
    cells->n = row->at - begin;
    cells->values = row->values + begin;
    return true;
}

float attn_site_masked(enum attn_site site)
{
    return site == ATTN_SITE_QK ? NAN : site == ATTN_SITE_ATTN_SCORES ? -INFINITY : 0;
}

void attn_event_copy_row(const struct attn_trace_event *event, size_t r, float *out, size_t width)
{
    struct attn_row row = attn_event_row(event, r);
    const float masked = attn_site_masked(event->at.site);
    struct attn_cells cells;
    size_t at = 0;

    while (attn_row_next(&row, &cells) && cells.first < width) {
        const size_t n = cells.n < width - cells.first ? cells.n : width - cells.first;

        while (at < cells.first)
            out[at++] = masked;
        memcpy(out + at, cells.values, n * sizeof *out);
        at += n;
    }
    while (at < width)
        out[at++] = masked;
}
