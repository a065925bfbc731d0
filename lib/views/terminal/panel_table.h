/* clang-format off */
/*
 * panel_table.h - a panel, which keeps the first and the last few rows and columns of a matrix or
 * of vectors, and the labelled table that prints it. Only these cells are stored.
 *
 *     const struct attn_text_limits limits = attn_text_limits;
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
#pragma once

#include "tables/text_table.h"
#include "tensors/writer.h"
#include "terminal/heatmap_internal.h"

/* --- The shown rows and columns --------------------------------------------------------------- */

/* A window on N rows or columns: n_shown of them are shown, the first `half` and the rest from the
 * end. */
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

/* Returns the place of item I among the shown items, or SIZE_MAX if it is not shown. */
static inline size_t window_place(struct window w, size_t i)
{
    size_t n_hidden = w.n - w.n_shown;

    if (i < w.half || n_hidden == 0)
        return i;
    return i < w.half + n_hidden ? SIZE_MAX : i - n_hidden;
}

/* Returns the index of the item shown at PLACE. */
static inline size_t window_thing(struct window w, size_t place)
{
    return place < w.half ? place : place + (w.n - w.n_shown);
}

/* Returns true if items are left out directly before PLACE. */
static inline bool has_gap(struct window w, size_t place)
{
    return is_shortened(w) && place == w.half;
}

/* Maximum numbers of shown items. */
struct attn_text_limits {
    size_t positions;  /* for rows, and for columns of keys */
    size_t components; /* for components of vectors */
};

/* The limits 16 positions and 8 components. */
extern const struct attn_text_limits attn_text_limits;

/* The shown cells of one head (or one layer) of a site. */
struct attn_text_panel {
    struct attn_location at;
    size_t image; /* the number of its image, if each has a panel */
    struct window rows, columns;
    float *values;    /* [rows.n_shown, columns.n_shown] owns */
    bool *is_visible; /* [rows.n_shown, columns.n_shown] owns; false for masked cells */
};

/* Initialize with = {0}. May be used again after attn_text_panels_release. */
struct attn_text_panels {
    struct attn_text_panel *items; /* [n] owns */
    size_t n, capacity;
};

/* Returns the shape of the panel for the event's head; its cells are not allocated. */
struct attn_text_panel attn_text_panel_of(const struct attn_trace_event *event,
                                          const struct attn_place *place,
                                          const struct attn_text_limits *limits);

/* Stores the cells of the event that SHAPE, the shape of its panel, shows. */
enum attn_status attn_text_panels_keep(struct attn_text_panels *panels,
                                       const struct attn_text_panel *shape,
                                       const struct attn_trace_event *event,
                                       const struct attn_place *place, struct attn_error *err);

/* Returns the panel of a head and an image, or NULL. */
const struct attn_text_panel *attn_text_panels_find(const struct attn_text_panels *panels,
                                                    const struct attn_location *at, size_t image);

/* Orders the panels by site, head and image. */
void attn_text_panels_sort(struct attn_text_panels *panels);

void attn_text_panels_release(struct attn_text_panels *panels);

/* --- Its table -------------------------------------------------------------------------------- */

/* Initialize with the map alone; end with attn_text_table_release of `table`. */
struct attn_panel_table {
    struct attn_heatmap *map; /* borrowed; provides tokens and colors */
    struct attn_text_table table;
    struct attn_grid_axis row_axis, column_axis; /* rows and columns of the panel */
    struct attn_heatmap_colors colors;
    struct window columns; /* the panel's columns that fit the width */
    int digits;            /* decimals */
};

/* Writes the table in at most MOST_COLUMNS of text. If it is too wide, first reduces decimals, then
 * drops columns in the middle; finally uses as many decimals as fit. */
enum attn_status attn_panel_table_write(struct attn_panel_table *t,
                                        const struct attn_text_panel *panel, size_t most_columns,
                                        struct attn_sink *sink, struct attn_error *err);

/* Adds a row of "..." to the table. */
void attn_panel_table_add_gap(struct attn_panel_table *t);
