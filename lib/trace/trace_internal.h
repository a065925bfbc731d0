/* trace_internal.h - declarations of trace.h that only the library uses. */
#ifndef ATTN_TRACE_TRACE_INTERNAL_H
#define ATTN_TRACE_TRACE_INTERNAL_H

#include "base/pool.h"
#include "trace/trace.h"

/* Whether TRACE, which is not NULL, has a selection and a callback. If not, ERR names the one that
 * is NULL. */
bool attn_trace_is_given(const struct attn_trace *trace, struct attn_error *err);

/*
 * The next consecutive rows of EVENT that SELECTION wants, as a separate event; *row begins at 0
 * and keeps the position of the search. False at the end.
 */
bool attn_trace_next_part(const struct attn_selection *selection,
                          const struct attn_trace_event *event, size_t *row,
                          struct attn_trace_event *part);

/* Gives TRACE the rows of EVENT that it wants, where it wants any of this tensor and head. */
enum attn_status attn_trace_hand_on(const struct attn_trace *trace,
                                    const struct attn_trace_event *event, struct attn_error *err);

/* Copies the rows of EVENT to those of ROWS [T, width], which hold all heads side by side, on POOL:
 * the first write to each page of memory takes most of the time. */
void attn_trace_keep_rows(const struct attn_trace_event *event, struct attn_pool *pool,
                          size_t width, float *rows);

/* The same to STREAM [n_layer + 1, T, D of DIMS], if it is the stream into a layer, or that after
 * the last one. */
void attn_trace_keep_stream(const struct attn_trace_event *event, struct attn_pool *pool,
                            const struct attn_dims *dims, float *stream);

/*
 * Iterates over the unmasked cells of an event's row.
 *
 *     struct attn_row row = attn_event_row(event, r);
 *     struct attn_cells cells;
 *     while (attn_row_next(&row, &cells))             // ascending, what lies between is masked
 *         ... cells.values [cells.n] are those of the columns cells.first and on ...
 *
 * A row that a causal mask cuts is one run of cells, a sparse one is many. A consumer that reads
 * rows in this way treats both alike.
 */

/* Neighbouring cells; n >= 1. */
struct attn_cells {
    size_t first, n;     /* column of the first cell; number of cells */
    const float *values; /* [n] */
};

struct attn_row {
    const float *values; /* [n] */
    const int32_t *keys; /* [n] the column of each, ascending; NULL: 0 .. n-1 */
    size_t n;
    size_t at; /* the first that attn_row_next has not given */
};

/* Row R of an event, from 0; borrows from it. */
struct attn_row attn_event_row(const struct attn_trace_event *event, size_t r);

/* The next cells, as many as are neighbours; false when there are no more. */
bool attn_row_next(struct attn_row *row, struct attn_cells *cells);

/* Whether row R is always 1: the first query of a causal pattern sees only itself. */
bool attn_event_is_certain(const struct attn_trace_event *event, size_t r);

/* The value of a masked cell in a whole matrix: 0 in patterns, minus infinity in scores, and NaN in
 * qk, where the product is not computed. */
float attn_site_masked_value(enum attn_site site);

/* Copies row R of EVENT to OUT [width], with attn_site_masked_value in the cells that are
 * masked. Cells beyond WIDTH are left out: OUT is of fewer keys than were fed. */
void attn_event_copy_row(const struct attn_trace_event *event, size_t r, float *out, size_t width);

#endif
