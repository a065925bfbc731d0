/* clang-format off */
/*
 * panel_table.h - a panel, the kept part of a matrix or of vectors, and the table with labels that
 * shows it: the first and the last few rows and columns. Only these cells are kept, from the time
 * that they come until they are printed.
 *
 *     const struct attn_text_limits limits = attn_text_limits(false);
 *     struct attn_text_panel shape = attn_text_panel_of(event, place, &limits);
 *     attn_text_panels_keep(&panels, &shape, event, place, &err);
 *     attn_panel_table_write(&table, &panels.items[i], SIZE_MAX, sink, &err);
 *     attn_text_panels_release(&panels);
 *
 *        query    Life      is   short
 *     0  Life   1.0000       .       .
 *     1  is     0.6012  0.3988       .
 *
 * A masked cell is `.`, cells left out are `...`.
 */
/* clang-format on */
#ifndef ATTN_TERMINAL_PANEL_TABLE_H
#define ATTN_TERMINAL_PANEL_TABLE_H

#include "encode/text_table.h"
#include "terminal/heatmap_internal.h"
#include "writers/writer.h"

/* --- What is kept ----------------------------------------------------------------------------- */

/* N rows or columns, n_shown of which are shown, `half` of these from the beginning. */
struct window {
    size_t n, n_shown, half;
};

static inline struct window window_of(size_t n, size_t limit)
{
    return (struct window){n, n < limit ? n : limit, limit / 2};
}

static inline bool is_shortened(struct window w)
{
    return w.n_shown < w.n;
}

/* Returns the place of item I among those shown, or SIZE_MAX. */
static inline size_t window_place(struct window w, size_t i)
{
    size_t n_hidden = w.n - w.n_shown;

    if (i < w.half || n_hidden == 0)
        return i;
    return i < w.half + n_hidden ? SIZE_MAX : i - n_hidden;
}

/* Returns the item that is shown at PLACE. */
static inline size_t window_thing(struct window w, size_t place)
{
    return place < w.half ? place : place + (w.n - w.n_shown);
}

/* Whether the gap is directly before PLACE. */
static inline bool has_gap(struct window w, size_t place)
{
    return is_shortened(w) && place == w.half;
}

/* How many are shown. */
struct attn_text_limits {
    size_t positions;  /* rows, and columns of keys */
    size_t components; /* of vectors */
};

/* Returns 16 and 8, or no limits if IS_FULL. */
struct attn_text_limits attn_text_limits(bool is_full);

/* A head of a site in one layer. */
struct attn_text_panel {
    struct attn_location at;
    struct window rows, columns;
    float *values;    /* [rows.n_shown, columns.n_shown] owns */
    bool *is_visible; /* [rows.n_shown, columns.n_shown] owns; false for masked cells */
};

/* Initialize with = {0}; may be used again after the release. */
struct attn_text_panels {
    struct attn_text_panel *items; /* [n] owns */
    size_t n, capacity;
};

/* Returns the panel of the event's head, without cells. */
struct attn_text_panel attn_text_panel_of(const struct attn_trace_event *event,
                                          const struct attn_place *place,
                                          const struct attn_text_limits *limits);

/* Keeps the cells of the event that SHAPE, its panel, shows. */
enum attn_status attn_text_panels_keep(struct attn_text_panels *panels,
                                       const struct attn_text_panel *shape,
                                       const struct attn_trace_event *event,
                                       const struct attn_place *place, struct attn_error *err);

/* Returns the panel of a head, or NULL. */
const struct attn_text_panel *attn_text_panels_find(const struct attn_text_panels *panels,
                                                    const struct attn_location *at);

/* Orders the panels by site and head. */
void attn_text_panels_sort(struct attn_text_panels *panels);

void attn_text_panels_release(struct attn_text_panels *panels);

/* --- Its table -------------------------------------------------------------------------------- */

/* Initialize with the map; end with attn_panel_table_release. */
struct attn_panel_table {
    struct attn_heatmap *map; /* borrowed; its tokens and colours */
    struct attn_text_table table;
    struct attn_grid_axis row_axis, column_axis; /* of the panel */
    struct attn_heatmap_colors colors;
    struct window columns; /* shown rows or columns, among those that the panel keeps */
    int digits;            /* after the point */
};

void attn_panel_table_release(struct attn_panel_table *t);

/* Writes the table in MOST_COLUMNS: with fewer digits, without columns in the middle, then with the
 * digits that fit. */
enum attn_status attn_panel_table_write(struct attn_panel_table *t,
                                        const struct attn_text_panel *panel, size_t most_columns,
                                        struct attn_sink *sink, struct attn_error *err);

/* Adds a row of "..." to the table. */
void attn_panel_table_add_gap(struct attn_panel_table *t);

#endif
