#include "terminal/panel_table.h"

#include "base/memory.h"
#include "formats/float_text.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdlib.h>

enum {
    SHOWN_POSITIONS = 16,
    SHOWN_COMPONENTS = 8,
    LABEL_WIDTH = 10, /* maximum columns of a token beside or above a matrix */
    MOST_DIGITS = 4,  /* decimals of a number */
    LEAST_DIGITS = 2,
    LEAST_COLUMNS = 4, /* fewer columns are shown only if they do not fit even with LEAST_DIGITS */
    TOKEN_COLUMN = 1,  /* index of the left-aligned column of tokens */
};

const struct attn_text_limits attn_text_limits = {SHOWN_POSITIONS, SHOWN_COMPONENTS};

struct attn_text_panel attn_text_panel_of(const struct attn_trace_event *event,
                                          const struct attn_place *place,
                                          const struct attn_text_limits *limits)
{
    enum attn_site_layout layout = attn_site_layout(event->at.site);
    bool is_matrix = attn_site_has_keys(event->at.site) || layout == ATTN_LAYOUT_RANK;
    const struct attn_extent *extent = &place->extent;

    return (struct attn_text_panel){
        .at = event->at,
        .image = event->sequence,
        .rows = window_of(extent->n_row, limits->positions),
        .columns = window_of(extent->n_col, is_matrix ? limits->positions : limits->components),
    };
}

const struct attn_text_panel *attn_text_panels_find(const struct attn_text_panels *panels,
                                                    const struct attn_location *at, size_t image)
{
    for (size_t i = panels->n; i-- > 0;) { /* usually the last one */
        const struct attn_text_panel *panel = &panels->items[i];

        if (panel->at.site == at->site && panel->image == image &&
            attn_location_compare(&panel->at, at) == 0)
            return panel;
    }
    return NULL;
}

static int compare_panels(const void *a, const void *b)
{
    const struct attn_text_panel *first = a, *second = b;

    if (first->at.site != second->at.site)
        return attn_site_is_before(first->at.site, second->at.site) ? -1 : 1;
    if (first->at.head != second->at.head)
        return first->at.head > second->at.head ? 1 : -1;
    return (first->image > second->image) - (first->image < second->image);
}

void attn_text_panels_sort(struct attn_text_panels *panels)
{
    ATTN_SORT(panels->items, panels->n, compare_panels);
}

/* Appends a panel like SHAPE and allocates its cells. */
static enum attn_status add(struct attn_text_panels *panels, const struct attn_text_panel *shape,
                            struct attn_error *err)
{
    const size_t n = shape->rows.n_shown * shape->columns.n_shown;
    struct attn_text_panel *panel;

    ATTN_TRY(attn_grow(&panels->items, &panels->capacity, panels->n + 1, sizeof *panel, err));
    panel = &panels->items[panels->n++];
    *panel = *shape;
    ATTN_TRY(ATTN_ALLOC(panel->values, n, err));
    return ATTN_ALLOC(panel->is_visible, n, err);
}

enum attn_status attn_text_panels_keep(struct attn_text_panels *panels,
                                       const struct attn_text_panel *shape,
                                       const struct attn_trace_event *event,
                                       const struct attn_place *place, struct attn_error *err)
{
    const struct window columns = shape->columns;
    const struct attn_text_panel *panel = attn_text_panels_find(panels, &shape->at, shape->image);

    if (!panel) {
        ATTN_TRY(add(panels, shape, err));
        panel = &panels->items[panels->n - 1];
    }
    for (size_t r = 0; r < event->n_row; r++) {
        const size_t shown = window_place(shape->rows, place->row + r);
        struct attn_row row = attn_event_row(event, r);
        struct attn_cells cells;

        if (shown == SIZE_MAX)
            continue;
        while (attn_row_next(&row, &cells))
            for (size_t c = 0; c < columns.n_shown; c++) {
                const size_t column = window_thing(columns, c);

                if (column < cells.first || column - cells.first >= cells.n)
                    continue;
                panel->is_visible[shown * columns.n_shown + c] = true;
                panel->values[shown * columns.n_shown + c] = cells.values[column - cells.first];
            }
    }
    return ATTN_OK;
}

void attn_text_panels_release(struct attn_text_panels *panels)
{
    for (size_t i = 0; i < panels->n; i++) {
        attn_free(panels->items[i].values);
        attn_free(panels->items[i].is_visible);
    }
    attn_free(panels->items);
    *panels = (struct attn_text_panels){0};
}

/* Adds the label of row or column I to the table; if IS_NUMBER, its position. */
static void add_label(struct attn_panel_table *t, const struct attn_grid_axis *axis, size_t i,
                      bool is_number)
{
    struct attn_buffer *label = &t->map->label;
    const size_t position = attn_grid_position(axis, i);
    size_t size;
    const char *text;

    if (is_number || !axis->texts) {
        attn_text_table_number(&t->table, position);
        return;
    }
    text = attn_token_text(axis->texts, position, &size);
    /* unlike a reset this keeps an allocation failure, which is reported when the table is
     * written */
    label->size = 0;
    attn_text_append_label(label, text, size, LABEL_WIDTH, ATTN_ELLIPSIS);
    if (size == 0)
        attn_buffer_append_string(label, "''");
    attn_text_table_cell(&t->table, label->data, label->size);
    label->size = 0;
}

/* Adds the row of column labels, or of positions if IS_NUMBER. CORNER is the label of the rows. */
static void add_header(struct attn_panel_table *t, const char *corner, bool is_number)
{
    if (t->map->tokens[0].n > 0)
        attn_text_table_string(&t->table, ""); /* no heading above the positions */
    attn_text_table_string(&t->table, corner);
    for (size_t c = 0; c < t->columns.n_shown; c++) {
        if (has_gap(t->columns, c))
            attn_text_table_string(&t->table, "...");
        add_label(t, &t->column_axis, window_thing(t->columns, c), is_number);
    }
}

/* Returns the colors of a weight. It has colors only if equal weights have equal colors in every
 * matrix. */
static struct attn_paint paint_of(const struct attn_panel_table *t, float value)
{
    const struct attn_heatmap_colors *colors = &t->colors;
    const enum attn_color_span span = colors->scale.span;
    const enum attn_color_depth depth = t->map->picture->depth;

    if (depth == ATTN_DEPTH_NONE || !isfinite(value) || span == ATTN_SPAN_MATRIX)
        return ATTN_PAINT_NONE;
    return attn_heatmap_paint(
        colors,
        (struct attn_heatmap_cell){
            .place = attn_color_place(&colors->scale, colors->range, (double)value)},
        depth);
}

static void add_number(struct attn_panel_table *t, float value)
{
    char number[ATTN_FIXED_TEXT_SIZE];
    const size_t n = attn_float_text_fixed(value, t->digits, number);
    struct attn_buffer *label = &t->map->label;

    label->size = 0; /* as in add_label */
    attn_paint_append(label, paint_of(t, value), t->map->picture->depth, number, n);
    attn_text_table_painted(&t->table, label->data, label->size, n);
    label->size = 0;
}

static void add_row(struct attn_panel_table *t, const struct attn_text_panel *panel, size_t row)
{
    const struct attn_selection *selection = t->map->writer->labels.selection;
    const bool is_pooled = attn_site_is_pooled(panel->at.site, attn_selection_dims(selection));
    const size_t i = window_thing(panel->rows, row);

    if (is_pooled)
        attn_text_table_string(&t->table, "");
    else
        add_label(t, &t->row_axis, i, true);
    if (t->map->tokens[0].n > 0 && (!t->row_axis.texts || is_pooled))
        attn_text_table_string(&t->table, "");
    else if (t->map->tokens[0].n > 0)
        add_label(t, &t->row_axis, i, false);
    for (size_t c = 0; c < t->columns.n_shown; c++) {
        const size_t kept = window_place(panel->columns, window_thing(t->columns, c));
        const size_t at = row * panel->columns.n_shown + kept;

        if (has_gap(t->columns, c))
            attn_text_table_string(&t->table, "...");
        if (panel->is_visible[at])
            add_number(t, panel->values[at]);
        else
            attn_text_table_string(&t->table, ".");
    }
}

void attn_panel_table_add_gap(struct attn_panel_table *t)
{
    attn_text_table_string(&t->table, "...");
    for (size_t c = 1; c < t->table.n_column; c++)
        attn_text_table_string(&t->table, "");
}

/* Fills the table with N of PANEL's columns and numbers of DIGITS decimals, and computes its
 * widths. */
static enum attn_status fill(struct attn_panel_table *t, const struct attn_text_panel *panel,
                             size_t n, int digits, struct attn_error *err)
{
    const char *corner = attn_writer_row_name(t->map->writer, panel->at.site);
    const size_t n_label = t->map->tokens[0].n > 0 ? 2 : 1;

    t->columns = window_of(panel->columns.n, n);
    t->digits = digits;
    attn_text_table_begin(&t->table, n_label + n + is_shortened(t->columns));
    if (n_label > 1)
        attn_text_table_flush_left(&t->table, TOKEN_COLUMN);
    /* columns left out: positions cannot be counted */
    if (t->column_axis.texts && is_shortened(t->columns))
        add_header(t, "", true);
    add_header(t, corner, false);
    for (size_t r = 0; r < panel->rows.n_shown; r++) {
        if (has_gap(panel->rows, r))
            attn_panel_table_add_gap(t);
        add_row(t, panel, r);
    }
    ATTN_TRY(attn_buffer_check(&t->map->label, err));
    return attn_text_table_measure(&t->table, err);
}

/* Returns the next smaller number of columns to try: N minus MORE, rounded down to an even number,
 * but at least LEAST. */
static size_t fewer(size_t n, size_t least, size_t more)
{
    const size_t left = (n - (more > 0 ? more : 1)) / 2 * 2;

    return left > least ? left : least;
}

enum attn_status attn_panel_table_write(struct attn_panel_table *t,
                                        const struct attn_text_panel *panel, size_t most_columns,
                                        struct attn_sink *sink, struct attn_error *err)
{
    enum { SHORTEST = 2 + 2 }; /* columns of a number before its decimals: " 1." */
    size_t n = panel->columns.n_shown, width;
    int digits = MOST_DIGITS - (n * (SHORTEST + MOST_DIGITS) > most_columns);
    const struct attn_level_matrix matrix = {
        .at = panel->at, .n_row = panel->rows.n, .n_column = panel->columns.n};
    const struct attn_grid grid = attn_grid_of_run(t->map->writer, t->map->tokens, &matrix, 1);

    t->row_axis = attn_grid_rows(&grid, &matrix);
    t->column_axis = attn_grid_columns(&grid, &matrix);
    t->colors = attn_heatmap_colors(t->map, &matrix);
    ATTN_TRY(fill(t, panel, n, digits, err));
    while ((width = attn_text_table_width(&t->table)) > most_columns &&
           (digits > LEAST_DIGITS || n > 2)) {
        if (digits == MOST_DIGITS || (n <= LEAST_COLUMNS && digits > LEAST_DIGITS))
            digits--;
        else if (n > LEAST_COLUMNS)
            n = fewer(n, LEAST_COLUMNS, (width - most_columns) * n / width);
        else
            n = 2;
        ATTN_TRY(fill(t, panel, n, digits, err));
    }
    return attn_text_table_write(&t->table, sink, err);
}
