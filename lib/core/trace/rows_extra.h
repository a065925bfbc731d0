/* rows_extra.h - the cells of the events of a trace. */
#ifndef ATTN_TRACE_ROWS_EXTRA_H
#define ATTN_TRACE_ROWS_EXTRA_H

#include "trace/trace.h"

/*
 * Goes through the unmasked cells of a row of an event.
 *
 *     struct attn_row row = attn_event_row(event, 0);
 *     struct attn_cells cells;
 *     while (attn_row_next(&row, &cells)) // in ascending order, without masked cells
 *         for (size_t i = 0; i < cells.n; i++)
 *             sums[cells.first + i] += cells.values[i]; // a column each
 *
 * A row that only a causal mask cuts gives one struct attn_cells; a sparse row gives several.
 */

/* Cells of neighbouring columns; n >= 1. */
struct attn_cells {
    size_t first, n;     /* column of the first cell; number of cells */
    const float *values; /* [n] */
};

struct attn_row {
    const float *values; /* [n] */
    const int32_t *keys; /* [n] the columns, in ascending order; NULL: they are 0 .. n-1 */
    size_t n;
    size_t at; /* index of the first cell that attn_row_next has not returned */
};

/* Returns row R of EVENT, counted from 0. Borrows from the event. */
ATTN_API struct attn_row attn_event_row(const struct attn_trace_event *event, size_t r);

/* Returns in CELLS the next cells of neighbouring columns, as many as there are; false at the end
 * of the row. */
ATTN_API bool attn_row_next(struct attn_row *row, struct attn_cells *cells);

/* Copies row R of EVENT to OUT [width], with the values of masked cells. Cells beyond WIDTH are
 * left out; OUT may have fewer keys than were fed. */
ATTN_API void attn_event_copy_row(const struct attn_trace_event *event, size_t r, float *out,
                                  size_t width);

#endif
