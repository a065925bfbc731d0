/*
 * row.h - the cells of an event's row that count; all others of the row are masked.
 *
 *     struct attn_row row = attn_event_row(event, r);
 *     struct attn_cells cells;
 *     while (attn_row_next(&row, &cells))             // ascending, what lies between is masked
 *         ... cells.values [cells.n] are those of the columns cells.first and on ...
 *
 * A row that a causal mask cuts is one run of cells, a sparse one is many. A consumer that reads
 * rows in this way treats both alike.
 */
#ifndef ATTN_TRACE_ROW_H
#define ATTN_TRACE_ROW_H

#include "trace/trace.h"

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

/* What a whole matrix holds in a masked cell: 0 in patterns, minus infinity in scores, and NaN in
 * qk, where the product is not computed. */
float attn_site_masked_value(enum attn_site site);

/* Copies row R of EVENT to OUT [width], with attn_site_masked_value in the cells that are
 * masked. Cells beyond WIDTH are left out: OUT is of fewer keys than were fed. */
void attn_event_copy_row(const struct attn_trace_event *event, size_t r, float *out, size_t width);

#endif
