/* figure_matrix.c - one matrix with its labels: queries down, keys across. Labels of keys stand
 * above, rotated if one is wider than a cell; positions stand outside the labels. If letters would
 * be too small, labels alternate between two bands, so that each has room for two cells. If cells
 * are too small for that, only multiples of 1, 2, 5, 10, ... are labelled, with positions or names,
 * only the first row of each group, or the columns with most weight: of a matrix of weights the
 * eight heaviest, between numbers, of a figure of heads as many as have room. A table
 * with groups has a panel for each group; all panels have the same rows, columns and colors.
 * Columns of texts that have no room stand in lines below each other, as words do: in print, and
 * tokens everywhere, of which the last three lines are shown. */
#include "figures/figure_internal.h"

#include <math.h>
#include <string.h>

#define BANDED 6.5  /* in print, minimum side of cells whose labels stand in two bands */
#define HIGHEST 340 /* and points of the height of a table whose cells have another form */

enum {
    LARGEST = 18,  /* side of a cell of matrices with up to 40 rows or columns */
    OF_TABLE = 40, /* side of a cell of a table with up to 24, for its numbers */
    FEW_OF_TABLE = 24,
    WIDEST_OF_HEADS = 60, /* width of a cell of heads */
    OF_TEXTS = 26,        /* height of cells with texts */
    TEXT_SIZE = 12,       /* font size of texts in cells */
    TEXT_MARGIN = 10,     /* margin around such a text */
    BESIDE = 12,          /* gap before columns that are set apart */
    BETWEEN_GROUPS = 8,   /* gap between groups of columns */
    BETWEEN_PANELS = 14,
    NAME = 20,             /* height of the name above a panel */
    FEW = ATTN_FIGURE_FEW, /* rows or columns of a small matrix */
    WHOLE = 720,           /* side of the matrix if it has more */
    APART = 12,            /* minimum distance between positions without labels */
    BETWEEN = 11,          /* gap between labels and positions */
    BETWEEN_BANDS = 6,
    TITLE_ROOM = 18, /* room for the title of an axis */
    IN_LINE = 16,    /* maximum columns of tokens in a line on a screen */
    MOST_LINES = 3,  /* maximum lines of columns of tokens */
    HEAVIEST = 8,    /* columns of a large matrix with names */
    LABEL_SIDE = 15, /* height of cells from which labels have their full size */
};

/* How the labels of one axis are written. */
struct axis_labels {
    struct attn_grid_axis axis;
    bool has_labels;      /* every row or column has a label */
    bool is_by_group;     /* only the first row or column of each group has a label */
    bool is_thinned;      /* only every `step`-th row or column has a label */
    bool *named;          /* [n] columns with much weight, which alone have labels; or NULL */
    bool is_by_weight;    /* `named` is chosen when the weights are known */
    size_t n_band;        /* 2: every other label stands farther out */
    bool has_positions;   /* positions stand beside the labels */
    bool is_turned;       /* column labels are rotated */
    size_t step;          /* rows or columns between two positions or labels */
    double size;          /* font size of labels, or of positions without labels */
    double band;          /* distance between the two bands */
    double position_size; /* font size of positions beside labels */
    double depth;         /* distance from the matrix to the end of the labels */
    double room;          /* distance from the matrix to the end of the positions */
};

struct matrix_layout {
    const struct attn_level_matrix *matrix;
    struct attn_figure_place place;
    double width, height; /* size of a panel, including columns that are set apart */
    struct axis_labels rows, columns;
    struct attn_grid_axis groups;
    size_t n_across, n_line; /* panels per line, and lines of panels */
    double right, down;      /* distance from one panel to the next */
    size_t first;            /* index of the first cell of the current panel */
    size_t n_in_line;        /* columns in a line; all, or as many texts as have room in print */
    size_t n_left_out;       /* columns before the first line */
    size_t from, end;        /* columns of the current line */
};

/* Returns how many bytes of an axis title to show along SIDE. In print, and if the title is longer
 * than SIDE, only the part before the colon: "query" of "query: attends". */
static size_t title_size(const struct attn_figure_pen *pen, const char *title, double side)
{
    const size_t n = strlen(title);

    return pen->is_printed || attn_figure_text_width(n, pen->letters.axis) > side
               ? strcspn(title, ":")
               : n;
}

/* Returns the width of columns that are set apart: that of the other columns, or more if their
 * names need it. */
static double width_apart(const struct matrix_layout *layout)
{
    return fmax(attn_figure_cell_width(layout->place), APART);
}

/* Returns the distance of column I from the left end of the first of its line. With I = the number
 * of columns, it is their right end. */
static double column_at(const struct matrix_layout *layout, double i)
{
    const double n_main = (double)layout->columns.axis.n_main;
    const double width = attn_figure_cell_width(layout->place);
    const double n_together = (double)layout->columns.axis.n_together;

    i -= (double)layout->from;
    if (n_together > 0)
        return i * width +
               BETWEEN_GROUPS * floor(fmin(i, (double)layout->columns.axis.n - 0.5) / n_together);
    return n_main > 0 && i > n_main ? n_main * width + BESIDE + (i - n_main) * width_apart(layout)
                                    : i * width;
}

/* Returns the smallest of 1, 2, 5, 10, 20, ... so that positions are at least APART apart. */
static size_t step_of(double side, double apart)
{
    static const size_t steps[] = {1, 2, 5};

    for (size_t factor = 1;; factor *= 10)
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            if ((double)(steps[i] * factor) * side >= apart)
                return steps[i] * factor;
}

static size_t n_group(const struct attn_grid_axis *axis)
{
    size_t n = 1;

    for (size_t i = 1; i < axis->n; i++)
        n += axis->begins[i];
    return n;
}

/* Plans the labels of AXIS beside cells of height SIDE or, if IS_ABOVE, above cells of width
 * SIDE. */
static struct axis_labels plan_labels(const struct attn_figure_pen *pen, struct attn_grid_axis axis,
                                      double side, bool is_above)
{
    struct axis_labels labels = {.axis = axis, .step = step_of(side, APART), .n_band = 1};
    double width, positions, room;

    labels.has_labels =
        axis.texts ? side >= (pen->is_printed ? BANDED : ATTN_FIGURE_LABELLED) : false;
    labels.is_by_group = !labels.has_labels && axis.texts && axis.begins;
    labels.is_thinned = !labels.has_labels && axis.texts && axis.is_named && !axis.begins;
    labels.is_by_weight = is_above && pen->content->grid->run && pen->content->grid->is_share &&
                          axis.texts && !labels.has_labels && !labels.is_by_group &&
                          !labels.is_thinned;
    labels.has_positions = labels.has_labels && !axis.is_named && !pen->is_printed;
    labels.size = labels.has_labels ? fmin(pen->letters.label, side * 0.95) : pen->letters.tick;
    if (labels.has_labels && labels.size < attn_figure_least_letters(pen)) {
        labels.n_band = 2;
        labels.size = fmin(attn_figure_least_letters(pen), 2 * labels.size);
    }
    width = labels.has_labels || labels.is_by_group || labels.is_thinned || labels.is_by_weight ||
                    axis.n_main > 0
                ? attn_figure_label_width(pen, &axis, labels.size)
                : attn_figure_text_width(axis.n_digit, labels.size);
    labels.position_size = fmin(fmax(labels.size * 0.8, attn_figure_least_letters(pen)), side);
    positions = attn_figure_text_width(axis.n_digit, labels.position_size);
    if (axis.n_main > 0) /* numbers are not rotated */
        labels.step = step_of(side, attn_figure_text_width(axis.n_digit, pen->letters.tick) + 3);
    room = labels.has_labels    ? side * (double)labels.n_band
           : labels.is_by_group ? side * (double)axis.n / (double)n_group(&axis)
                                : side * (double)labels.step;
    labels.is_turned = is_above && (width > room - 3 || labels.is_by_weight);
    labels.band = is_above && !labels.is_turned ? labels.size : width + BETWEEN_BANDS;
    labels.depth = ATTN_FIGURE_GAP + (double)(labels.n_band - 1) * labels.band +
                   (is_above && !labels.is_turned ? labels.size * 0.8 : width);
    labels.room = labels.depth;
    if (labels.has_positions)
        labels.room +=
            BETWEEN - 3 + (is_above && !labels.is_turned ? labels.position_size * 0.8 : positions);
    return labels;
}

/* Chooses the columns that have labels: those with a weight of 1 % or more, the largest sum first,
 * if none with a label is nearer than 8 points; of a matrix of one head the HEAVIEST. */
static enum attn_status choose_columns(struct attn_figure_pen *pen, struct matrix_layout *layout,
                                       struct attn_error *err)
{
    const struct attn_figure_view view = attn_figure_whole(layout->matrix);
    const double apart = attn_figure_least_letters(pen) * 8 / ATTN_FIGURE_LEAST;
    const size_t n = view.n_col;
    const size_t n_apart = (size_t)ceil(apart / attn_figure_cell_width(layout->place));
    double *sums;

    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, sums, n, err));
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, layout->columns.named, n, err));
    for (size_t c = 0; c < n; c++) {
        double most = 0;

        for (size_t r = 0; r < view.n_row; r++) {
            const double weight = attn_figure_number(view, r * n + c);

            most = fmax(most, weight);
            sums[c] += weight > 0 ? weight : 0;
        }
        sums[c] = most < 0.01 ? 0 : sums[c];
    }
    for (size_t i = 0; i < HEAVIEST || pen->content->kind == ATTN_FIGURE_HEADS; i++) {
        size_t best = 0;

        for (size_t c = 1; c < n; c++)
            best = sums[c] > sums[best] ? c : best;
        if (!(sums[best] > 0))
            break;
        layout->columns.named[best] = true;
        for (size_t c = 0; c < n; c++)
            if (c + n_apart > best && best + n_apart > c)
                sums[c] = 0;
    }
    return ATTN_OK;
}

/* Sets the sides of cells in which the longest text fits. */
static void size_texts(struct attn_figure_pen *pen, struct matrix_layout *layout)
{
    const bool has_words = pen->content->grid->has_words;
    const double size = has_words ? attn_figure_word_size(pen) : TEXT_SIZE;
    const size_t n = attn_figure_value_columns(pen, attn_figure_whole(layout->matrix), 0);
    const double width =
        has_words ? attn_figure_widest_word(pen) * size : attn_figure_text_width(n, TEXT_SIZE);

    /* texts are wider than high */
    layout->place.side = has_words && pen->is_printed ? ceil(1.7 * size) : OF_TEXTS;
    layout->place.width =
        fmax(layout->place.side, ceil(width) + (pen->is_printed ? TEXT_MARGIN / 2 : TEXT_MARGIN));
}

/* Arranges the panels of N_ROW rows in lines of equal length, so the figure is wider than high. */
static void plan_panels(struct attn_figure_pen *pen, struct matrix_layout *layout, double n_row)
{
    const double wide = 1.5, n_column = (double)layout->matrix->n_column;
    const size_t n = layout->groups.n;
    const double name = attn_figure_label_width(pen, &layout->groups, pen->letters.label);
    double most = ceil(sqrt(wide * (double)n * n_row / n_column));

    if (pen->room > 0 && name > 0)
        most = fmin(most, floor(pen->room / (name + BETWEEN_PANELS)));
    layout->n_across = (size_t)fmax(1, fmin(most, (double)n));
    layout->n_line = (n + layout->n_across - 1) / layout->n_across;
    layout->n_across = (n + layout->n_line - 1) / layout->n_line;
}

/* Updates the smallest font size of labels. */
static void note_letters(struct attn_figure_pen *pen, const struct axis_labels *labels)
{
    if (labels->has_labels)
        pen->label = fmin(pen->label, labels->size);
    if (labels->has_positions)
        pen->label = fmin(pen->label, labels->position_size);
}

/* Arranges columns of texts in lines of about equal length, above the legend, if there is no room
 * for all of them side by side. Returns true if it has lines. */
static bool plan_lines(struct attn_figure_pen *pen, struct matrix_layout *layout)
{
    const struct attn_grid *grid = pen->content->grid;
    const double width = attn_figure_cell_width(layout->place);
    const double aside = ATTN_FIGURE_ASIDE + attn_figure_legend_size(pen).width;
    const double room = pen->room - layout->place.x;
    const bool is_cut = grid->has_words && layout->columns.axis.texts; /* heads are all shown */
    size_t n = layout->matrix->n_column;

    layout->n_in_line = n;
    if (!grid->cells || layout->groups.n > 1 || (pen->room == 0 && !grid->has_words) ||
        (pen->room > 0 ? (double)n * width + aside <= room : n <= IN_LINE))
        return false;
    layout->n_in_line = IN_LINE;
    if (pen->room > 0)
        layout->n_in_line =
            (size_t)fmin((double)n, fmax(1, floor((room - ATTN_FIGURE_PAD) / width)));
    if (is_cut && n > MOST_LINES * layout->n_in_line) {
        layout->n_left_out = n - MOST_LINES * layout->n_in_line;
        attn_buffer_append_format(&pen->subtitle, "the last %zu of %zu positions; ",
                                  n - layout->n_left_out, n);
        n -= layout->n_left_out;
    }
    layout->n_line = (n + layout->n_in_line - 1) / layout->n_in_line;
    layout->n_in_line = (n + layout->n_line - 1) / layout->n_line;
    if (grid->has_words && pen->room > 0) {
        layout->place.width = floor((room - ATTN_FIGURE_PAD) / (double)layout->n_in_line);
        layout->columns = plan_labels(pen, layout->columns.axis, layout->place.width, true);
    }
    layout->width = column_at(layout, (double)layout->n_in_line);
    layout->down += layout->columns.room - NAME;
    return true;
}

/* Sets the sides of cells of a figure of heads: numbers fit in few columns, and all rows in a
 * page. */
static void size_heads(struct attn_figure_pen *pen, struct matrix_layout *layout)
{
    const double n_row = (double)layout->matrix->n_row, n = (double)layout->matrix->n_column;
    const double parts = pen->is_printed ? ATTN_FIGURE_PARTS : 1;

    layout->place.width =
        fmin(WIDEST_OF_HEADS, attn_figure_side(pen, n <= FEW_OF_TABLE ? OF_TABLE
                                                    : n <= FEW        ? LARGEST
                                                                      : fmax(1, floor(WHOLE / n))));
    layout->place.side = n_row <= FEW ? LABEL_SIDE : fmax(1, floor(parts * WHOLE / n_row)) / parts;
}

/* Makes the cells of a map as wide as the figure has room for, unless its letters need more. */
static void fill_width(struct attn_figure_pen *pen, struct matrix_layout *layout)
{
    const double n = (double)layout->matrix->n_column;
    const double n_together = (double)attn_figure_columns(pen, layout->matrix).n_together;
    const double gaps = n_together > 0 ? BETWEEN_GROUPS * (ceil(n / n_together) - 1) : 0;
    const double width = floor((pen->room - layout->place.x - ATTN_FIGURE_PAD - gaps) / n);

    if (width >= TEXT_SIZE)
        layout->place.width = width;
}

static void plan(struct attn_figure_pen *pen, struct matrix_layout *layout)
{
    const struct attn_grid *grid = pen->content->grid;
    double n, n_row, height;
    bool is_lined;

    layout->matrix = attn_figure_matrix(pen, 0);
    layout->groups = attn_figure_groups(pen);
    n_row = (double)layout->matrix->n_row / (double)layout->groups.n;
    plan_panels(pen, layout, n_row);
    n = fmax(n_row, (double)(layout->matrix->n_column * layout->n_across));
    layout->place.side = attn_figure_side(pen, grid->cells                       ? OF_TEXTS
                                               : !grid->run && n <= FEW_OF_TABLE ? OF_TABLE
                                               : n <= FEW                        ? LARGEST
                                                          : fmax(1, floor(WHOLE / n)));
    if (grid->cells)
        size_texts(pen, layout);
    if (grid->has_words && grid->is_share)
        attn_buffer_append_format(&pen->subtitle, "grey words: below %d %%; ", ATTN_FIGURE_FAINT);
    if (!grid->run && !grid->cells && pen->room > 0 && n <= FEW &&
        layout->matrix->n_row != layout->matrix->n_column && layout->place.side < LABEL_SIDE) {
        layout->place.width = layout->place.side; /* cells are limited in width only */
        layout->place.side = LABEL_SIDE;
    }
    if (!grid->run && !grid->cells && pen->room > 0 &&
        n_row * layout->place.side * pen->unit > HIGHEST) {
        layout->place.width = attn_figure_cell_width(layout->place);
        layout->place.side =
            fmin(layout->place.side, fmax(LABEL_SIDE, floor(HIGHEST / pen->unit / n_row)));
    }
    if (pen->content->kind == ATTN_FIGURE_HEADS)
        size_heads(pen, layout);
    layout->rows =
        plan_labels(pen, attn_figure_rows(pen, layout->matrix), layout->place.side, false);
    layout->place.x = ceil(ATTN_FIGURE_PAD + TITLE_ROOM + layout->rows.room);
    if (pen->content->kind == ATTN_FIGURE_MAP && pen->room > 0)
        fill_width(pen, layout);
    layout->columns = plan_labels(pen, attn_figure_columns(pen, layout->matrix),
                                  attn_figure_cell_width(layout->place), true);
    note_letters(pen, &layout->rows);
    note_letters(pen, &layout->columns);
    layout->width = column_at(layout, (double)layout->matrix->n_column);
    layout->height = n_row * layout->place.side;
    layout->down = layout->height + NAME + BETWEEN_PANELS;
    is_lined = plan_lines(pen, layout);
    layout->right = attn_figure_label_width(pen, &layout->groups, pen->letters.label);
    layout->right = fmax(layout->width, layout->right) + BETWEEN_PANELS;
    height = (double)(layout->n_line - 1) * layout->down + layout->height;
    attn_figure_set_frame(
        pen, layout->place.x + (double)layout->n_across * layout->right - BETWEEN_PANELS,
        TITLE_ROOM + layout->columns.room + (layout->groups.texts ? NAME : 0), height, is_lined);
    layout->place.y = pen->layout.top;
}

/* Returns where row or column I begins. */
static double along(const struct matrix_layout *layout, const struct axis_labels *labels, double i)
{
    return labels == &layout->columns ? layout->place.x + column_at(layout, i)
                                      : layout->place.y + i * layout->place.side;
}

/* Returns the place of the text of row or column I, at distance AWAY from the matrix. */
static struct attn_shape_text place_label(const struct matrix_layout *layout,
                                          const struct axis_labels *labels, size_t i, double away)
{
    const struct attn_figure_place place = layout->place;
    const bool is_above = labels == &layout->columns;
    struct attn_shape_text text = {.size = labels->size};
    const double middle = along(layout, labels, (double)i + 0.5);

    text.x = is_above ? middle : place.x - away;
    text.y = is_above ? place.y - away : middle + 0.35 * text.size;
    text.anchor = is_above ? ATTN_ANCHOR_MIDDLE : ATTN_ANCHOR_END;
    if (labels->is_turned && i >= labels->axis.n_main) {
        text.anchor = ATTN_ANCHOR_START;
        text.x += 0.35 * text.size;
        text.is_turned = true;
    }
    return text;
}

/* Returns how many rows or columns from I on are the pieces of one character; 1 if row I is a whole
 * character or some pieces are not shown; 0 if the character begins before I. */
static size_t n_piece(const struct axis_labels *labels, size_t i)
{
    const struct attn_grid_axis *axis = &labels->axis;
    const bool *joins = axis->texts ? axis->texts->joins : NULL;
    size_t begin = i, first, n;

    if (!labels->has_labels || axis->has_own_texts || !joins)
        return 1;
    while (begin > 0 && joins[attn_grid_position(axis, begin)])
        begin--;
    first = attn_grid_position(axis, begin);
    n = joins[first] ? 1 : 1 + attn_token_n_joined(axis->texts, first);
    if (n == 1 || begin + n > axis->n || begin + n <= i ||
        attn_grid_position(axis, begin + n - 1) != first + n - 1)
        return 1;
    return begin == i ? n : 0;
}

/* Draws a line along N rows or columns from I on. */
static void add_bracket(struct attn_figure_pen *pen, const struct matrix_layout *layout,
                        const struct axis_labels *labels, size_t i, size_t n)
{
    enum { AWAY = 3, MARGIN = 2 };
    const bool is_above = labels == &layout->columns;
    const double from = along(layout, labels, (double)i) + MARGIN;
    const double to = along(layout, labels, (double)(i + n)) - MARGIN;
    const double x = layout->place.x - AWAY, y = layout->place.y - AWAY;

    attn_figure_add_line(pen, is_above ? (double[]){from, y} : (double[]){x, from},
                         is_above ? (double[]){to, y} : (double[]){x, to}, 1, pen->ink);
}

/* Adds one label for the N rows or columns from I on, pieces of one character: the character, and a
 * line along them. */
static void add_character(struct attn_figure_pen *pen, const struct matrix_layout *layout,
                          const struct axis_labels *labels, size_t i, size_t n)
{
    struct attn_shape_text first = place_label(layout, labels, i, ATTN_FIGURE_GAP);
    const struct attn_shape_text last = place_label(layout, labels, i + n - 1, ATTN_FIGURE_GAP);
    size_t size;
    const char *text = attn_figure_label(pen, &labels->axis, i, &size);

    first.x = (first.x + last.x) / 2;
    first.y = (first.y + last.y) / 2;
    first.color = pen->ink;
    attn_shapes_add_text(pen->shapes, &first, text, attn_figure_character_size(text, size));
    add_bracket(pen, layout, labels, i, n);
}

/* Returns true if no column near I has a name, so that its position has room. */
static bool is_clear(const struct matrix_layout *layout, const struct axis_labels *labels, size_t i)
{
    const size_t apart = (size_t)ceil(APART / attn_figure_cell_width(layout->place));

    for (size_t c = i > apart ? i - apart : 0; c < labels->axis.n && c <= i + apart; c++)
        if (labels->named[c])
            return false;
    return true;
}

/* Adds labels or, if they do not fit or columns are set apart, positions. */
static void add_labels(struct attn_figure_pen *pen, const struct matrix_layout *layout,
                       const struct axis_labels *labels)
{
    const struct attn_grid_axis *axis = &labels->axis;
    /* minimum rows between two labelled groups */
    const double apart = ceil(APART / layout->place.side);
    const bool is_above = labels == &layout->columns;
    const bool is_of_heads = pen->content->kind == ATTN_FIGURE_HEADS;
    const size_t end = is_above ? layout->end : axis->n;
    double next = 0;

    for (size_t i = is_above ? layout->from : 0; i < end; i++) {
        const double band = labels->band * (double)(i % labels->n_band);
        struct attn_shape_text text = place_label(layout, labels, i, ATTN_FIGURE_GAP + band);
        const bool is_first = labels->is_by_group && (i == 0 || axis->begins[i]);
        const size_t place = labels->is_thinned ? i : attn_grid_position(axis, i);
        const bool is_step = place != ATTN_GRID_NO_POSITION && place % labels->step == 0;
        const bool is_name = axis->n_main > 0     ? i >= axis->n_main
                             : labels->is_thinned ? is_step
                             : labels->named      ? labels->named[i]
                                                  : labels->has_labels;
        const bool is_label = is_name || (is_first && (double)i >= next);
        const size_t n = n_piece(labels, i);

        text.color = (labels->has_labels || labels->named) && is_label ? pen->ink : pen->faint;
        if (n != 1) {
            if (n > 1)
                add_character(pen, layout, labels, i, n);
        } else if (is_label) {
            next = (double)i + apart;
            attn_figure_add_label(pen, &text, axis, i);
        } else if (!labels->is_by_group && !labels->is_thinned && !is_name && is_step &&
                   (!labels->named || (!is_of_heads && is_clear(layout, labels, i)))) {
            text.size = pen->letters.tick;
            attn_shapes_add_number(pen->shapes, &text, attn_grid_position(axis, i));
        }
    }
}

/* Adds positions outside the labels. */
static void add_positions(struct attn_figure_pen *pen, const struct matrix_layout *layout,
                          const struct axis_labels *labels)
{
    const bool is_above = labels == &layout->columns;
    const size_t end = is_above ? layout->end : labels->axis.n;

    for (size_t i = is_above ? layout->from : 0; labels->has_positions && i < end; i++) {
        struct attn_shape_text text = place_label(layout, labels, i, labels->depth + BETWEEN);

        if (attn_grid_position(&labels->axis, i) == ATTN_GRID_NO_POSITION)
            continue;
        text.y -= (text.size - labels->position_size) * (labels == &layout->rows ? 0.35 : 0);
        text.size = labels->position_size;
        text.color = pen->faint;
        attn_shapes_add_number(pen->shapes, &text, attn_grid_position(&labels->axis, i));
    }
}

/* Adds the title of the rows or, if IS_ABOVE, of the columns. A title longer than its side begins
 * where the matrix begins, or ends where the rows end. */
static void add_axis_title(struct attn_figure_pen *pen, const struct matrix_layout *layout,
                           bool is_above)
{
    const char *title = is_above ? layout->columns.axis.title : layout->rows.axis.title;
    const size_t n_main = layout->columns.axis.n_main;
    const size_t n = n_main > 0 ? n_main : layout->from + layout->n_in_line;
    const double width = column_at(layout, (double)n);
    /* a title above may be wider than the matrix */
    const double height = layout->height + (double)(layout->n_line - 1) * layout->down;
    const double side = is_above ? HUGE_VAL : height;
    const size_t n_title = title_size(pen, title, side);
    const double title_width = attn_figure_text_width(n_title, pen->letters.axis);
    struct attn_shape_text text = {.size = pen->letters.axis, .color = pen->faint};

    text.x = layout->place.x + fmax(0, (width - title_width) / 2);
    text.y = layout->place.y - layout->columns.room - 8;
    /* above the numbers of the main columns, which are not rotated */
    if (n_main > 0 && layout->columns.is_turned)
        text.y = layout->place.y - ATTN_FIGURE_GAP - layout->columns.size - 5;
    text.is_turned = !is_above;
    if (text.is_turned) {
        text.x = ATTN_FIGURE_PAD + 0.75 * pen->letters.axis;
        text.y = layout->place.y + height - fmax(0, (height - title_width) / 2);
    }
    attn_shapes_add_text(pen->shapes, &text, title, n_title);
}

/* Draws lines where groups of rows or columns begin, or the second of two texts. */
static void add_separators(struct attn_figure_pen *pen, const struct matrix_layout *layout,
                           const struct axis_labels *labels, size_t first, size_t end)
{
    const struct attn_figure_place place = layout->place;
    const bool is_above = labels == &layout->columns;

    for (size_t i = first + 1; i < end; i++) {
        const size_t cell = i / layout->matrix->k;
        const double at = along(layout, labels, (double)cell) + 0.5;

        if (attn_grid_begins(&labels->axis, i))
            attn_figure_add_line(pen, is_above ? (double[]){at, place.y} : (double[]){place.x, at},
                                 is_above ? (double[]){at, place.y + layout->height}
                                          : (double[]){place.x + layout->width, at},
                                 1, pen->ink);
    }
}

/* Draws the cells of columns FROM <= c < END, which are adjacent. IS_APART: they are set apart and
 * share one width. */
static void add_block(struct attn_figure_pen *pen, const struct matrix_layout *layout, size_t from,
                      size_t end, bool is_apart)
{
    struct attn_figure_place place = layout->place;
    struct attn_figure_view view = attn_figure_whole(layout->matrix);

    view.first = layout->first + from;
    view.n_row = layout->rows.axis.n;
    view.n_col = end - from;
    view.stride = layout->matrix->n_cell_column;
    view.is_scarce = is_apart;
    if (is_apart)
        place.width = width_apart(layout);
    place.x += column_at(layout, (double)from + 0.5) - attn_figure_cell_width(place) / 2;
    attn_figure_add_cells(pen, view, place);
    attn_figure_add_hatches(pen, view, place);
    attn_figure_add_rules(pen, view, place);
    attn_figure_add_values(pen, view, place);
    attn_figure_add_bars(pen, view, place);
    if (!view.is_scarce)
        attn_figure_add_frame(pen, place.x, place.y,
                              (double)view.n_col * attn_figure_cell_width(place), layout->height);
}

static void add_matrix(struct attn_figure_pen *pen, const struct matrix_layout *layout)
{
    const size_t n_main = layout->columns.axis.n_main;
    const size_t n_together = layout->columns.axis.n_together;
    const size_t n = (layout->end + layout->matrix->k - 1) / layout->matrix->k;
    const size_t end = n_main > 0 ? n_main : n;
    const size_t together = n_together > 0 ? n_together : end - layout->from;

    for (size_t from = layout->from; from < end; from += together)
        add_block(pen, layout, from, from + together, false);
    if (n_main > 0)
        add_block(pen, layout, n_main, n, true);
    add_separators(pen, layout, &layout->rows, 0, layout->rows.axis.n);
    add_separators(pen, layout, &layout->columns, layout->from, layout->end);
}

/* Adds titles, labels and positions: of the columns if IS_TOP, of the rows if IS_LEFT. */
static void add_axes(struct attn_figure_pen *pen, const struct matrix_layout *layout, bool is_top,
                     bool is_left)
{
    if (is_top)
        add_axis_title(pen, layout, true);
    if (is_top && is_left)
        add_axis_title(pen, layout, false); /* along all lines */
    if (is_left)
        add_labels(pen, layout, &layout->rows);
    if (is_top)
        add_labels(pen, layout, &layout->columns);
    if (is_left)
        add_positions(pen, layout, &layout->rows);
    if (is_top)
        add_positions(pen, layout, &layout->columns);
}

static enum attn_status draw_figure(struct attn_figure_pen *pen, struct attn_error *err)
{
    struct attn_shape_text name = {.size = pen->letters.label};
    struct matrix_layout layout = {0}, panel;
    size_t n, n_line;

    if (pen->content->kind == ATTN_FIGURE_HEADS) {
        ATTN_TRY(attn_figure_check_keys(pen, err));
        ATTN_TRY(attn_figure_name_query(pen, pen->content->grid->run->n_query, err));
    }
    ATTN_TRY(attn_figure_fold(pen, FEW, err));
    plan(pen, &layout);
    n = layout.matrix->n_column;
    n_line = layout.n_in_line < n - layout.n_left_out ? layout.n_line : 1;
    if (pen->is_measuring)
        return ATTN_OK;
    if (layout.columns.is_by_weight)
        ATTN_TRY(choose_columns(pen, &layout, err));
    for (size_t i = 0; i < layout.groups.n * n_line; i++) {
        const size_t line = i / layout.n_across, across = i % layout.n_across;

        panel = layout;
        panel.first = i / n_line * layout.rows.axis.n * layout.matrix->n_cell_column;
        panel.from = layout.n_left_out + i % n_line * layout.n_in_line;
        panel.end = panel.from + layout.n_in_line < n ? panel.from + layout.n_in_line : n;
        panel.place.x += (double)across * layout.right;
        panel.place.y += (double)line * layout.down;
        add_matrix(pen, &panel);
        add_axes(pen, &panel, line == 0, across == 0);
        if (line > 0 && n_line > 1) {
            add_labels(pen, &panel, &panel.columns);
            add_positions(pen, &panel, &panel.columns);
        }
        name.color = pen->ink;
        name.x = panel.place.x;
        name.y = panel.place.y - 6 - (line == 0 ? TITLE_ROOM + layout.columns.room : 0);
        if (layout.groups.texts)
            attn_figure_add_label(pen, &name, &layout.groups, i);
    }
    return ATTN_OK;
}

const attn_figure_fn attn_figure_draw_matrix = draw_figure;
