/* trace.c - see trace.h: events cut down to what a selection wants. */
#include "trace/trace_internal.h"

#include "base/given.h"
#include "trace/site_internal.h"

/* Whether row R of EVENT is wanted. Keys are not narrowed by queries. */
static bool wants_row(const struct attn_selection *selection, const struct attn_trace_event *event,
                      size_t r)
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    const size_t position = event->row0 + r;

    if (attn_site_layout(event->site) == ATTN_LAYOUT_KEY)
        return position < attn_site_n_key(dims, event->layer);
    return position < dims->n_position && attn_selection_has_query(selection, position);
}

bool attn_trace_is_given(const struct attn_trace *trace, struct attn_error *err)
{
    return attn_is_given(trace->selection, "selection", err) &&
           attn_is_given(trace->on_event, "on_event", err);
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
