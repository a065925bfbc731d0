/*
 * trace.h - read tensors while the model runs.
 *
 * A trace is a callback and the selection of tensors that it wants. The forward pass calls it on
 * the thread that feeds the session, in the order of layer, site, head and row. A site that is not
 * wanted costs one branch. A trace never changes the result. If a session is fed several sequences
 * at once, the events of each sequence come in this order, but events of the others come between
 * them. If the matrices of one layer need more than 64 MiB, they come in blocks of rows, head by
 * head; the sites of one block then follow one another.
 *
 *     enum attn_status print(void *user, const struct attn_trace_event *e, struct attn_error *err)
 *     {
 *         printf("layer %d, head %d: %g\n", e->at.layer, e->at.head, (double)e->data[0]);
 *         return ATTN_OK;
 *     }
 *     struct attn_trace trace = {.selection = selection, .on_event = print};
 */
#ifndef ATTN_TRACE_TRACE_H
#define ATTN_TRACE_TRACE_H

#include "trace/location.h"
#include "trace/selection.h"

/* A rectangle of one tensor: n_row rows of n_col floats, of one layer and one selected head. */
struct attn_trace_event {
    size_t sequence; /* the number of the sequence if several are fed at once (session.h); else 0 */
    struct attn_location at; /* head: 0 .. H - 1 (G - 1 for k, v), or ATTN_ALL_HEADS */
    /* Absolute position of the first row; number of rows, which are consecutive positions. */
    size_t row0, n_row;
    size_t n_col; /* number of columns: the width of the site; for matrices the keys seen so far */
    size_t ld;    /* distance between two rows in floats */
    const float *data; /* borrowed: valid only during the callback */

    /* Which cells of a matrix are not masked. If `keys` is NULL, row r of the event has n_col
     * cells, one for each key. If is_causal, the first row0 + r + ahead + 1 of them are not masked;
     * else none is masked. A masked cell is 0; in attn_scores it is minus infinity; in qk it is the
     * product if that was computed, or the value of an edit. */
    bool is_causal;
    size_t ahead; /* number of keys before the first query: S - T for attention on arrays, else 0 */

    /* If `keys` is not NULL, row r has only the n_kept[r] cells that are not masked; their keys are
     * at keys + r * ld in ascending order. Both arrays are valid only during the callback. */
    const int32_t *keys;
    const size_t *n_kept; /* [n_row] */
    const void *later[4]; /* NULL: room for fields of later versions */
};

/* Called for each event. Any status but ATTN_OK stops the feed, which returns this status. */
typedef enum attn_status (*attn_trace_fn)(void *user, const struct attn_trace_event *event,
                                          struct attn_error *err);

struct attn_trace {
    const struct attn_selection *selection; /* borrowed while a session uses the trace */
    attn_trace_fn on_event;
    void *user;
    const void *later[4]; /* NULL: room for fields of later versions */
};

#endif
