/* figure_parts.c - the columns of a table side by side, each with its own scale: vectors are strips
 * of cells, shares are numbers on their color, non-negative numbers are bars, and other columns are
 * plain numbers. Rows without a position are set apart, with their names beside their first cells.
 * The scale of a vector is below its column. */
#include "figures/figure_internal.h"

#include "pictures/picture_internal.h"

#include <math.h>
#include <string.h>

enum {
    PITCH = 22,        /* height from one row to the next */
    APART = 12,        /* extra gap before rows that are set apart */
    STRIP = 14,        /* height of a vector */
    STRIP_WIDTH = 192, /* approximate width of a vector */
    PRINTED_STRIP = 48,
    WIDEST_CELL = 16, /* maximum width of a component */
    BAR = 70,         /* length of the longest bar; half of it in print */
    SHARE = 44,       /* width of a share */
    BETWEEN = 26,     /* gap between columns */
    CLOSE = 10,       /* gap between columns in print */
    MARGIN = 5,       /* gap between a row and its frame */
    CLOSE_MARGIN = 3, /* gap between a row and its frame in print */
    LEAST_RAMP = 48,  /* minimum width of a scale */
    PRINTED_RAMP = 32,
    MOST_RAMP = 96,
    BETWEEN_POSITIONS = 8, /* gap between positions and labels */
};

/* Where a column of the table is drawn. */
struct part_place {
    double x, width;
    double cell; /* width of a component */
    double ramp; /* width of a vector's scale; or 0 */
};

struct parts_layout {
    const struct attn_grid *grid;
    struct attn_grid_axis rows;
    struct part_place *parts; /* [grid->n] */
    double label;             /* right end of the row labels */
    double right, top;
};

/* --- Measures --------------------------------------------------------------------------------- */

/* Returns the name of part I, used above its column and below its scale; valid until the next
 * call. */
static const char *name_of(struct attn_figure_pen *pen, size_t i)
{
    const struct attn_grid_part *part = &pen->content->grid->parts[i];

    pen->scratch.size = 0;
    attn_buffer_append_format(&pen->scratch, "%s%s", pen->is_printed ? part->name : part->quantity,
                              part->look == ATTN_LOOK_SHARE ? ", %" : "");
    return attn_buffer_string(&pen->scratch) ? pen->scratch.data : "";
}

static enum attn_cell_kind cell_of(const struct attn_grid *grid, size_t i, size_t row, float *value)
{
    *value = 0;
    return attn_level_cell(&grid->matrices[i], row, 0, value);
}

/* Writes the number VALUE of part I. Returns its length. */
static size_t write_number(const struct attn_grid *grid, size_t i, float value,
                           char number[ATTN_FIXED_TEXT_SIZE])
{
    const struct attn_grid_part *part = &grid->parts[i];
    const float unit = part->look == ATTN_LOOK_SHARE ? 100 : 1;

    return attn_float_text_fixed(unit * value, part->digits, number);
}

static double widest_number(const struct attn_figure_pen *pen, size_t i)
{
    const struct attn_grid *grid = pen->content->grid;
    char number[ATTN_FIXED_TEXT_SIZE];
    double widest = 0;
    float value;

    for (size_t row = 0; row < grid->matrices[i].n_row; row++)
        if (cell_of(grid, i, row, &value) == ATTN_CELL_VALUE) {
            const size_t n = write_number(grid, i, value, number);

            widest = fmax(widest, attn_figure_string_width(pen, number, n));
        }
    return ceil(widest * pen->letters.label);
}

/* Returns the width of one of N components; in whole units, in print in quarters. */
static double component_width(const struct attn_figure_pen *pen, size_t n)
{
    const double parts = pen->is_printed ? ATTN_FIGURE_PARTS : 1;
    const double strip = pen->is_printed ? PRINTED_STRIP * pen->growth : STRIP_WIDTH;

    return fmin(WIDEST_CELL, fmax(1, floor(strip * parts / (double)n)) / parts);
}

/* Appends the name of part I, followed by the names of the separate rows that have a value in it:
 * "k, q". */
static void append_names(struct attn_figure_pen *pen, const struct parts_layout *layout, size_t i,
                         struct attn_buffer *out)
{
    const struct attn_grid *grid = layout->grid;
    float value;

    attn_buffer_append_string(out, name_of(pen, i));
    for (size_t row = 0; row < layout->rows.n; row++)
        if (attn_grid_position(&layout->rows, row) == ATTN_GRID_NO_POSITION &&
            cell_of(grid, i, row, &value) != ATTN_CELL_MASKED) {
            size_t n;
            const char *label = attn_figure_label(pen, &layout->rows, row, &n);

            attn_buffer_append_string(out, ", ");
            attn_buffer_append(out, label, n);
        }
}

/* Sets the place of each part, from the left end X on. */
static void place_parts(struct attn_figure_pen *pen, struct parts_layout *layout, double x)
{
    const struct attn_grid *grid = layout->grid;
    const double between = pen->is_printed ? CLOSE : BETWEEN;
    struct attn_buffer names = {0};

    for (size_t i = 0; i < grid->n; i++) {
        struct part_place *place = &layout->parts[i];
        const size_t n = grid->matrices[i].n_column;

        place->x = x;
        place->cell = component_width(pen, n);
        place->width = grid->parts[i].look == ATTN_LOOK_CELLS   ? place->cell * (double)n
                       : grid->parts[i].look == ATTN_LOOK_SHARE ? SHARE
                       : grid->parts[i].look == ATTN_LOOK_BAR   ? (pen->is_printed ? BAR / 2 : BAR)
                                                                : widest_number(pen, i);
        if (grid->parts[i].look == ATTN_LOOK_CELLS) {
            place->ramp =
                fmin(MOST_RAMP, fmax(pen->is_printed ? PRINTED_RAMP : LEAST_RAMP, place->width));
            if (pen->shapes->cell == 0 || place->cell < pen->shapes->cell)
                pen->shapes->cell = place->cell;
        }
        names.size = 0;
        append_names(pen, layout, i, &names);
        layout->right =
            x +
            ceil(fmax(fmax(place->width, place->ramp),
                      pen->letters.tick * attn_figure_string_width(pen, names.data, names.size)));
        x = layout->right + between;
    }
    pen->shapes->text.has_failed |= names.has_failed;
    attn_buffer_release(&names);
}

static void plan(struct attn_figure_pen *pen, struct parts_layout *layout)
{
    const struct attn_grid *grid = layout->grid;
    const bool has_positions = !layout->rows.is_named && !pen->is_printed;
    size_t n_apart = 0;

    layout->label = ATTN_FIGURE_PAD +
                    fmax(attn_figure_label_width(pen, &layout->rows, pen->letters.label),
                         attn_figure_text_width(strlen(layout->rows.title), pen->letters.tick));
    if (has_positions)
        layout->label += BETWEEN_POSITIONS +
                         attn_figure_text_width(layout->rows.n_digit, pen->letters.label * 0.8);
    layout->label = ceil(layout->label);
    pen->shapes->cell = 0;
    place_parts(pen, layout, layout->label + (pen->is_printed ? CLOSE : BETWEEN / 2));
    layout->top = ceil(attn_figure_add_heading(pen, layout->right)) + pen->letters.tick + 14;
    for (size_t i = 0; i < grid->rows->n; i++)
        n_apart += layout->rows.begins[i];
    pen->shapes->height =
        layout->top + (double)(grid->rows->n * PITCH + n_apart * APART) + ATTN_FIGURE_PAD;
    if (pen->shapes->cell > 0)
        pen->shapes->height += ATTN_FIGURE_LYING;
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* Draws the vectors of ROW at Y. */
static void add_strips(struct attn_figure_pen *pen, const struct parts_layout *layout, size_t row,
                       double y)
{
    const struct attn_grid *grid = layout->grid;

    for (size_t i = 0; i < grid->n; i++) {
        const struct part_place *place = &layout->parts[i];
        struct attn_figure_view view = attn_figure_whole(&grid->matrices[i]);
        const struct attn_figure_place at = {place->x, y + (PITCH - STRIP) / 2.0, STRIP,
                                             place->cell};

        view.first = row * view.n_col;
        view.n_row = 1;
        view.is_scarce = true;
        if (grid->parts[i].look != ATTN_LOOK_CELLS)
            continue;
        pen->scale = grid->parts[i].scale;
        attn_figure_add_cells(pen, view, at);
        if (pen->has_kind[ATTN_CELL_NOT_FINITE])
            attn_figure_add_hatches(pen, view, at);
    }
}

/* Draws a share in percent on its color. */
static void add_share(struct attn_figure_pen *pen, const struct parts_layout *layout, size_t i,
                      float value, double y)
{
    const struct attn_grid_part *part = &layout->grid->parts[i];
    const struct attn_level_matrix *matrix = &layout->grid->matrices[i];
    const struct part_place *place = &layout->parts[i];
    const bool is_dark = pen->options->theme == ATTN_THEME_DARK;
    const struct attn_colormap *map =
        attn_picture_colormap(pen->options, &part->scale, is_dark ? "viridis" : "blues");
    const struct attn_color_range range =
        attn_color_range(&part->scale, (double)matrix->least, (double)matrix->most);
    const struct attn_rgb color = attn_colormap_color(
        map, pen->options->theme, attn_color_level(&part->scale, range, (double)value));
    struct attn_shape_text text =
        attn_figure_text(place->x + place->width / 2, y + 14, pen->letters.tick,
                         attn_rgb_takes_black(color) ? 0 : 0xffffff, ATTN_ANCHOR_MIDDLE);
    char number[ATTN_FIXED_TEXT_SIZE];

    attn_figure_add_box(pen, place->x, y + 2, place->width, PITCH - 4, attn_rgb_number(color));
    attn_shapes_add_text(pen->shapes, &text, number, write_number(layout->grid, i, value, number));
}

static void add_number(struct attn_figure_pen *pen, const struct parts_layout *layout, size_t i,
                       size_t row, double y)
{
    const struct attn_grid *grid = layout->grid;
    const struct part_place *place = &layout->parts[i];
    const double most = (double)grid->matrices[i].most;
    const bool has_position = attn_grid_position(&layout->rows, row) != ATTN_GRID_NO_POSITION;
    struct attn_shape_text text = attn_figure_text(place->x + place->width, y + 15,
                                                   pen->letters.label, pen->ink, ATTN_ANCHOR_END);
    char number[ATTN_FIXED_TEXT_SIZE];
    float value;
    const enum attn_cell_kind kind = cell_of(grid, i, row, &value);

    if (kind == ATTN_CELL_VALUE && grid->parts[i].look == ATTN_LOOK_SHARE)
        add_share(pen, layout, i, value, y);
    else if (kind == ATTN_CELL_VALUE && grid->parts[i].look == ATTN_LOOK_BAR)
        attn_figure_add_box(pen, place->x, y + 5,
                            most > 0 ? fmax(0.5, place->width * (double)value / most) : 0.5,
                            PITCH - 10, pen->frame);
    else if (kind == ATTN_CELL_VALUE)
        attn_shapes_add_text(pen->shapes, &text, number, write_number(grid, i, value, number));
    if (kind == ATTN_CELL_VALUE || !has_position)
        return;
    attn_figure_add_nothing(
        pen, kind,
        (struct attn_figure_place){place->x + (place->width - STRIP) / 2, y + 4, STRIP, 0});
    pen->has_kind[kind] = true;
}

/* Names ROW beside its first cells, or labels it with position and token. */
static void add_label(struct attn_figure_pen *pen, const struct parts_layout *layout, size_t row,
                      double y)
{
    const struct attn_grid *grid = layout->grid;
    const size_t position = attn_grid_position(&layout->rows, row);
    const bool has_position = position != ATTN_GRID_NO_POSITION;
    struct attn_shape_text text = {.x = layout->label,
                                   .y = y + 15,
                                   .size = pen->letters.label,
                                   .color = has_position ? pen->ink : pen->faint,
                                   .anchor = ATTN_ANCHOR_END,
                                   .is_bold = grid->marks[row]};
    float value;

    for (size_t i = 0; !has_position && i < grid->n; i++)
        if (cell_of(grid, i, row, &value) != ATTN_CELL_MASKED) {
            text.x = i > 0 ? layout->parts[i].x - ATTN_FIGURE_GAP : layout->label;
            break;
        }
    attn_figure_add_label(pen, &text, &layout->rows, row);
    if (!has_position || layout->rows.is_named || pen->is_printed)
        return;
    text.x = ATTN_FIGURE_PAD + attn_figure_text_width(layout->rows.n_digit, text.size * 0.8);
    text.size *= 0.8;
    text.color = pen->faint;
    text.is_bold = false;
    attn_shapes_add_number(pen->shapes, &text, position);
}

/* Draws all of ROW except its vectors. */
static void add_row(struct attn_figure_pen *pen, const struct parts_layout *layout, size_t row,
                    double y)
{
    const struct attn_grid *grid = layout->grid;
    const bool is_sum =
        layout->rows.begins[row] && attn_grid_position(&layout->rows, row) == ATTN_GRID_NO_POSITION;
    const double margin = pen->is_printed ? CLOSE_MARGIN : MARGIN;
    float value;

    add_label(pen, layout, row, y);
    for (size_t i = 0; i < grid->n; i++) {
        const struct part_place *place = &layout->parts[i];

        if (grid->parts[i].look != ATTN_LOOK_CELLS)
            add_number(pen, layout, i, row, y);
        else if (is_sum && cell_of(grid, i, row, &value) != ATTN_CELL_MASKED)
            attn_figure_add_line(pen, (double[]){place->x, y - APART / 2.0 + 2},
                                 (double[]){place->x + place->width, y - APART / 2.0 + 2}, 1,
                                 pen->ink);
    }
    if (grid->marks[row])
        attn_figure_add_outline(
            pen, (double[]){ATTN_FIGURE_PAD - margin, y, layout->right + margin, y + PITCH}, 1.5,
            pen->ink);
}

/* --- Names and scales ------------------------------------------------------------------------- */

static void add_names(struct attn_figure_pen *pen, const struct parts_layout *layout)
{
    struct attn_shape_text text = {
        .y = layout->top - 8, .size = pen->letters.tick, .color = pen->faint};

    for (size_t i = 0; i < layout->grid->n; i++) {
        const bool is_number = layout->grid->parts[i].look == ATTN_LOOK_NUMBER;

        text.x = layout->parts[i].x + (is_number ? layout->parts[i].width : 0);
        text.anchor = is_number ? ATTN_ANCHOR_END : ATTN_ANCHOR_START;
        attn_shapes_add_string(pen->shapes, &text, name_of(pen, i));
    }
    text.x = layout->label;
    text.anchor = ATTN_ANCHOR_END;
    attn_shapes_add_string(pen->shapes, &text, layout->rows.title);
}

static void add_scales(struct attn_figure_pen *pen, const struct parts_layout *layout, double y)
{
    const struct attn_grid *grid = layout->grid;
    struct attn_buffer names = {0};

    for (size_t i = 0; i < grid->n; i++) {
        const struct part_place *place = &layout->parts[i];

        if (grid->parts[i].look != ATTN_LOOK_CELLS)
            continue;
        pen->part = i;
        pen->scale = grid->parts[i].scale;
        names.size = 0;
        append_names(pen, layout, i, &names);
        pen->quantity = attn_buffer_string(&names) ? names.data : "";
        attn_figure_add_lying_ramp(pen, place->x, y, place->ramp);
    }
    pen->quantity = grid->name;
    y += ATTN_FIGURE_GAP + (pen->shapes->cell > 0 ? ATTN_FIGURE_LYING : 0);
    if (!pen->is_printed && /* in print the caption names it */
        (pen->has_kind[ATTN_CELL_MASKED] || pen->has_kind[ATTN_CELL_NOT_FINITE])) {
        attn_figure_add_cell_kinds(pen, ATTN_FIGURE_PAD, y);
        pen->shapes->height = fmax(pen->shapes->height, y + STRIP + ATTN_FIGURE_PAD);
    }
    pen->shapes->text.has_failed |= names.has_failed;
    attn_buffer_release(&names);
}

enum attn_status attn_figure_draw_parts(struct attn_figure_pen *pen, struct attn_error *err)
{
    const struct attn_grid *grid = pen->content->grid;
    struct parts_layout layout = {.grid = grid, .rows = attn_figure_rows(pen, &grid->matrices[0])};
    double y = 0;

    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout.parts, grid->n, err));
    plan(pen, &layout);
    if (!pen->is_measuring) {
        add_names(pen, &layout);
        for (int step = 0; step < 2; step++) {
            y = layout.top;
            for (size_t row = 0; row < grid->rows->n; row++) {
                y += layout.rows.begins[row] ? APART : 0;
                (step == 0 ? add_strips : add_row)(pen, &layout, row, y);
                y += PITCH;
            }
        }
        add_scales(pen, &layout, y + ATTN_FIGURE_GAP);
    }
    return ATTN_OK;
}
