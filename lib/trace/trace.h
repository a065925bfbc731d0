/*
 * trace.h - watch intermediate tensors while the model runs.
 *
 * A trace is a callback plus the selection it wants. The forward pass calls it on the feeding
 * thread, ordered by layer, site, head and row; sites that are not wanted cost one branch. Watching
 * never changes the result. If a session is fed several sequences at once, the events of each
 * sequence come in this order, interleaved with the other sequences. When the matrices of one layer
 * do not fit in 64 MiB they come in blocks of rows, head by head; the sites of a block follow one
 * another then.
 *
 *     enum attn_status print(void *user, const struct attn_trace_event *e, struct attn_error *err);
 *     struct attn_trace trace = {.selection = selection, .on_event = print};
 */
#ifndef ATTN_TRACE_TRACE_H
#define ATTN_TRACE_TRACE_H

#include "trace/location.h"
#include "trace/selection.h"

/* A rectangle of one site: n_row rows of n_col floats, one layer, one selected head. */
struct attn_trace_event {
    size_t sequence;         /* 0; of several that are fed at once, its number (session.h) */
    struct attn_location at; /* head: 0 .. H - 1 (G - 1 for k, v), or ATTN_ALL_HEADS */
    size_t row0, n_row;      /* absolute position of the first row; rows, consecutive positions */
    size_t n_col;            /* columns: the site's width; for matrices the keys seen so far, S */
    size_t ld;               /* floats from one row to the next */
    const float *data;       /* borrowed: valid only during the callback */

    /* Which cells of a matrix count; the others are masked. Without `keys` row r of the event has
     * n_col cells, one per key; the first row0 + r + ahead + 1 count if is_causal, else all. Others
     * are 0, in attn_scores minus infinity, in qk the product if computed, or the value of an edit.
     */
    bool is_causal;
    size_t ahead; /* keys before the first query: S - T of attention on arrays, else 0 */

    /* With `keys` it holds only cells that count: n_kept[r] of them, for the keys at keys + r * ld,
     * ascending. Both are borrowed as the data is. */
    const int32_t *keys;
    const size_t *n_kept; /* [n_row] */
};

/* Returning anything but ATTN_OK stops the feed, which returns that status. */
typedef enum attn_status (*attn_trace_fn)(void *user, const struct attn_trace_event *event,
                                          struct attn_error *err);

struct attn_trace {
    const struct attn_selection *selection; /* borrowed while a session uses the trace */
    attn_trace_fn on_event;
    void *user;
};

#endif
