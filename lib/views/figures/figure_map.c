/* figure_map.c - heads over the picture that a model saw, grey and pale: one cell per patch shows
 * its weight. Several heads are drawn for one query, layers down and heads across; a single head
 * has one map per selected query; a table has one map per row. Weights of [CLS] and registers are
 * written below. Over several pictures in a text, a map is drawn over each, side by side. */
#include "figures/figure_internal.h"

#include "base/elementary.h"
#include "base/status_internal.h"
#include "towers/maps/picture_maps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_FRAMES = 5,
    WHOLE = 336,  /* approximate longer side of a map that is alone */
    FEW = 168,    /* the same if there are a few maps */
    MANY = 96,    /* the same if there are many maps */
    SOME = 4,     /* maximum maps side by side that count as a few */
    BETWEEN = 10, /* gap between maps */
    ACROSS = 720, /* approximate width of all maps of one head */
    ABREAST = 4,  /* maximum pictures of a map side by side */
    BESIDE = 4,   /* gap between them */
    NAME = 16,    /* height for the number above each */
    CAPTION = 18, /* height for a query above its map */
    LINE = 13,    /* height of a line of text below a map */
    TEXT = 10,    /* font size of that text, at least */
    ENTRY = 15,   /* characters of "[REG3] 12.3 %" and a gap, or of "question 12.3 %" */
    SHORT = 12,   /* characters of "[CLS] 12.3 %", or of "picture 41 %" */
    SHORTEST = 7, /* characters of "12.3 %" */
};

/* Maps have the numbers of their heads, or of the queries of a single head. */
struct maps {
    const struct attn_backdrop *backdrop; /* the first picture */
    size_t n_image;                       /* pictures of a map, each with a matrix of its own */
    size_t n_query;                       /* number of shown rows of a matrix */
    size_t n;                             /* number of maps */
    /* layers and heads if there are several heads; otherwise empty */
    struct attn_figure_panels panels;
    size_t n_down, n_across;
    double usual;          /* width of a map before cells are enlarged to the figure's width */
    double side;           /* height of a cell of the first picture */
    double tall;           /* height of the tallest picture, with its number */
    double width, height;  /* size of a map */
    double step_x, step_y; /* distance from one map to the next */
    double left, top;
    double letters;           /* font size of the text below a map */
    size_t n_line, n_in_line; /* lines of that text, and weights in a line */
    bool is_short;            /* one number stands for all registers */
    bool is_narrow;           /* of the shares of a text, only that of the picture has room */
    bool is_terse;            /* numbers stand without names */
    bool is_table;            /* its numbers are not weights */
};

/* --- The scale ----------------------------------------------------------------------------- */

/* Returns the view of the cells of row ROW that belong to patches. */
static struct attn_figure_view view_of(const struct attn_backdrop *backdrop,
                                       const struct attn_level_matrix *matrix, size_t row)
{
    return (struct attn_figure_view){.matrix = matrix,
                                     .first = row * matrix->n_cell_column +
                                              attn_grid_first_mapped(backdrop),
                                     .n_row = backdrop->n_row,
                                     .n_col = backdrop->n_col,
                                     .is_veil = true};
}

void attn_figure_fit_scale(struct attn_figure_pen *pen)
{
    const struct attn_backdrop *first = pen->content->grid->backdrop;
    double largest = 0, least = HUGE_VAL;

    if (!first || !pen->content->grid->run || pen->scale.span != ATTN_SPAN_UNIT)
        return;
    for (size_t i = 0; i < pen->content->grid->n; i++) {
        const struct attn_level_matrix *matrix = attn_figure_matrix(pen, i);
        const struct attn_backdrop *backdrop = &first[matrix->image];

        /* ratios about 1 hide nothing either */
        least = fmin(least, backdrop->is_ratio ? 1 : attn_grid_least_end(backdrop));
        for (size_t row = 0; row < attn_grid_n_mapped(pen->content->grid); row++)
            if (attn_grid_fits_backdrop(backdrop, matrix))
                largest = fmax(largest, attn_grid_largest_mapped(backdrop, matrix, row));
    }
    pen->is_fitted = true;
    if (largest == 0) /* measured before the run: no numbers yet */
        return;
    pen->is_even = largest < least;
    largest = fmax(largest, least);
    pen->scale.span = ATTN_SPAN_FIXED;
    pen->scale.low = pen->scale.is_signed ? -largest : 0;
    pen->scale.high = largest;
}

/* Whether cells show the picture in its own colors, the stronger the larger their weight. Other
 * colors stand for signs, or were asked for. */
static bool is_lit(const struct attn_figure_pen *pen)
{
    return !pen->scale.is_signed && !pen->options->colormap;
}

/* --- Texts --------------------------------------------------------------------------------- */

/* Appends "12.3 %", for scores "-1.25", for cells without a number "masked" etc. */
static void append_weight(bool is_share, enum attn_cell_kind kind, double value,
                          struct attn_buffer *out)
{
    static const char *const names[] = {[ATTN_CELL_VALUE] = "",
                                        [ATTN_CELL_MASKED] = "masked",
                                        [ATTN_CELL_HIDDEN] = "left out",
                                        [ATTN_CELL_NOT_FINITE] = "not finite"};
    char number[ATTN_FIXED_TEXT_SIZE];

    attn_buffer_append_string(out, out->size > 0 ? " " : "");
    attn_buffer_append_string(out, names[kind]);
    if (kind == ATTN_CELL_VALUE) {
        const float shown = (float)(is_share ? 100 * value : value);

        attn_buffer_append(out, number, attn_float_text_fixed(shown, is_share ? 1 : 2, number));
        attn_buffer_append_string(out, is_share ? " %" : "");
    }
}

/* The shares of a text with a picture that are written below a map. */
static const struct {
    enum attn_picture_share share;
    const char *name;
} shares[] = {{ATTN_SHARE_PICTURE, "picture"},
              {ATTN_SHARE_QUESTION, "question"},
              {ATTN_SHARE_ANSWER, "answer"},
              {ATTN_SHARE_OTHER, "other"}};
enum { N_SHOWN = sizeof shares / sizeof *shares };

/* Returns the number of weights below a map. */
static size_t count_weights(const struct maps *maps)
{
    const bool is_in_text = maps->backdrop->is_in_text;

    if (!is_in_text)
        return maps->backdrop->n_front;
    return maps->is_table ? 0 : maps->is_narrow ? 1 : N_SHOWN;
}

/* Returns the characters of such a weight with its gap. */
static int entry_of(const struct maps *maps)
{
    return maps->backdrop->is_in_text ? ENTRY + 2 : ENTRY;
}

/* Appends share number I of a map. */
static void append_share(const struct maps *maps, const struct attn_level_matrix *matrix,
                         size_t row, size_t i, struct attn_buffer *out)
{
    const size_t first = matrix->n_column - ATTN_N_SHARE;
    float value = 0;

    attn_level_cell(matrix, row, first + shares[i].share, &value);
    attn_buffer_append_string(out, maps->is_terse ? "" : shares[i].name);
    if (maps->is_narrow)
        attn_buffer_append_format(out, "%s%.0f %%", maps->is_terse ? "" : " ", 100 * (double)value);
    else
        append_weight(true, ATTN_CELL_VALUE, (double)value, out);
}

/* Appends the weight of position I, or the sum for all registers. */
static void append_front(const struct attn_figure_pen *pen, const struct maps *maps,
                         const struct attn_level_matrix *matrix, size_t row, size_t i,
                         struct attn_buffer *out)
{
    const bool is_sum = i > 0 && maps->is_short;
    const size_t end = is_sum ? maps->backdrop->n_front : i + 1;
    double sum = 0;
    float value;
    enum attn_cell_kind kind = attn_level_cell(matrix, row, i, &value);

    for (size_t k = i; k < end; k++)
        if (attn_level_cell(matrix, row, k, &value) == ATTN_CELL_VALUE) {
            kind = ATTN_CELL_VALUE;
            sum += (double)value;
        }
    if (is_sum && !maps->is_terse)
        attn_buffer_append_string(out, "[REG]");
    else if (!maps->is_terse)
        attn_grid_append_position(maps->backdrop, pen->content->grid->tokens, i, out);
    append_weight(attn_figure_is_percent(pen), kind, sum, out);
}

/* --- The layout ---------------------------------------------------------------------------- */

/* Returns the matrix of picture K of map I. */
static const struct attn_level_matrix *matrix_of(const struct attn_figure_pen *pen,
                                                 const struct maps *maps, size_t i, size_t k)
{
    return attn_figure_matrix(pen, (maps->panels.rows ? i : 0) * maps->n_image + k);
}

static const struct attn_backdrop *backdrop_of(const struct attn_figure_pen *pen,
                                               const struct maps *maps, size_t k)
{
    return &maps->backdrop[matrix_of(pen, maps, 0, k)->image];
}

/* Returns the width of a cell of BACKDROP as a multiple of its height. */
static double ratio_of(const struct attn_backdrop *backdrop)
{
    const double height = (double)backdrop->height / (double)backdrop->n_row;

    return (double)backdrop->width / (double)backdrop->n_col / height;
}

/* Returns the longer side of BACKDROP in heights of its cells. */
static double longest_of(const struct attn_backdrop *backdrop)
{
    return fmax((double)backdrop->n_row, (double)backdrop->n_col * ratio_of(backdrop));
}

/* Returns the size of a cell of picture K, whose longer side is about as long as that of the first.
 */
static struct attn_figure_place cell_of(const struct attn_figure_pen *pen, const struct maps *maps,
                                        size_t k)
{
    const struct attn_backdrop *backdrop = backdrop_of(pen, maps, k);
    const double longest = maps->side * longest_of(backdrop_of(pen, maps, 0));
    const double side = k == 0 ? maps->side : fmax(1, round(longest / longest_of(backdrop)));

    return (struct attn_figure_place){.side = side,
                                      .width = fmax(1, round(side * ratio_of(backdrop)))};
}

/* Returns the size of picture K. */
static struct attn_figure_size size_of(const struct attn_figure_pen *pen, const struct maps *maps,
                                       size_t k)
{
    const struct attn_backdrop *backdrop = backdrop_of(pen, maps, k);
    const struct attn_figure_place cell = cell_of(pen, maps, k);

    return (struct attn_figure_size){(double)backdrop->n_col * cell.width,
                                     (double)backdrop->n_row * cell.side};
}

/* Computes the size of a cell and of a map. */
static void find_size(struct attn_figure_pen *pen, struct maps *maps)
{
    const double longest = longest_of(backdrop_of(pen, maps, 0));
    const size_t n_below = (maps->n_image - 1) / ABREAST;
    const bool is_some = fmax((double)maps->n_across, (double)maps->n_down) <= SOME;
    const double whole = maps->n * maps->n_image == 1    ? WHOLE
                         : maps->panels.rows && !is_some ? MANY
                                                         : FEW;
    double right = 0;

    maps->side = attn_figure_side(pen, ceil(whole / longest));
    for (size_t k = 0; k < maps->n_image; k++) {
        const struct attn_figure_size size = size_of(pen, maps, k);

        right = k % ABREAST == 0 ? size.width : right + BESIDE + size.width;
        maps->width = fmax(maps->width, right);
        maps->tall = fmax(maps->tall, size.height);
    }
    maps->usual = maps->width * ceil(whole / longest) / maps->side;
    maps->tall += maps->n_image > 1 ? NAME : 0;
    maps->height = maps->tall + (double)n_below * (maps->tall + BESIDE);
}

/* Computes the number of lines of text below a map, and how short they are. */
static void find_lines(const struct attn_figure_pen *pen, struct maps *maps)
{
    const double room = maps->width + BETWEEN,
                 entry = attn_figure_text_width(entry_of(maps), maps->letters);
    size_t n_front;

    maps->is_narrow =
        maps->backdrop->is_in_text && room < attn_figure_text_width(ENTRY, maps->letters);
    n_front = count_weights(maps);
    maps->n_in_line = (size_t)fmax(1, floor(room / entry));
    maps->n_line = (n_front + maps->n_in_line - 1) / maps->n_in_line;
    maps->is_terse = room < attn_figure_text_width(SHORT, maps->letters);
    maps->is_short = !maps->backdrop->is_in_text && n_front > 2 && maps->n_line > 2 &&
                     pen->content->grid->run; /* only weights have a sum */
    if (maps->is_short)
        maps->n_line = maps->n_in_line > 1 ? 1 : 2;
    if (room < attn_figure_text_width(SHORTEST, maps->letters))
        maps->n_line = 0;
}

static enum attn_status plan(struct attn_figure_pen *pen, struct maps *maps, struct attn_error *err)
{
    const struct attn_figure_size legend = attn_figure_legend_size(pen);
    const double caption = maps->n_query > 1 ? CAPTION : 0;
    double right;

    if (pen->content->grid->n > maps->n_image)
        ATTN_TRY(attn_figure_panels_list(pen, &maps->panels, err));
    maps->n_across = maps->panels.n_column, maps->n_down = maps->panels.n_row;
    maps->letters = fmax(TEXT, pen->is_printed ? attn_figure_least_letters(pen) : 0);
    find_size(pen, maps);
    find_lines(pen, maps);
    if (maps->is_terse && maps->n_line > 0 && maps->backdrop->is_in_text)
        attn_buffer_append_string(&pen->subtitle, "below: picture; ");
    else if (maps->is_terse && maps->n_line > 0)
        attn_buffer_append_format(&pen->subtitle, "below each its %s [CLS]%s; ",
                                  pen->content->grid->run ? "weight on" : "number of",
                                  maps->n_line > 1 ? " and on registers" : "");
    maps->step_x = maps->width + BETWEEN;
    maps->step_y = maps->height + caption + BETWEEN + LINE * (double)maps->n_line;
    if (!maps->panels.rows) {
        const double across = pen->room > 0 ? (pen->room - legend.width) / (maps->usual + BETWEEN)
                                            : ACROSS / maps->step_x;

        /* in print a few, which become smaller, rather than a column of large ones */
        maps->n_across = (size_t)fmin(fmax(across, pen->room > 0 ? 3 : 1), (double)maps->n);
        maps->n_down = (maps->n - 1) / maps->n_across + 1;
        maps->n_across = (maps->n - 1) / maps->n_down + 1; /* rows of the same length */
    }
    maps->left = ATTN_FIGURE_PAD + (maps->panels.rows ? attn_figure_panels_left(pen) : 0);
    right = maps->left + (double)maps->n_across * maps->step_x - BETWEEN;
    attn_figure_set_frame(pen, right, (maps->panels.rows ? ATTN_PANELS_ABOVE : 4) + caption,
                          (double)maps->n_down * maps->step_y - BETWEEN - caption, false);
    maps->top = pen->layout.top;
    for (size_t i = 0; i < maps->panels.n_column; i++)
        maps->panels.columns[i].at = maps->left + (double)i * maps->step_x,
        maps->panels.columns[i].size = maps->width;
    for (size_t i = 0; maps->panels.rows && i < maps->panels.n_row; i++)
        maps->panels.rows[i].at = maps->top + (double)i * maps->step_y,
        maps->panels.rows[i].size = maps->height;
    return ATTN_OK;
}

/* --- Drawing ------------------------------------------------------------------------------- */

/* A picture of a map: its matrix, its row, and the place of its cells. */
struct spot {
    const struct attn_backdrop *backdrop;
    const struct attn_level_matrix *matrix;
    size_t row;
    double x, y; /* of the map */
    struct attn_figure_place place;
    struct attn_figure_size size;
};

static struct spot find_spot(const struct attn_figure_pen *pen, const struct maps *maps, size_t i,
                             size_t k)
{
    struct spot spot = {.backdrop = backdrop_of(pen, maps, k),
                        .matrix = matrix_of(pen, maps, i, k),
                        .row = maps->n_query > 1 ? i : 0,
                        .place = cell_of(pen, maps, k),
                        .size = size_of(pen, maps, k)};
    size_t across = i % maps->n_across, down = i / maps->n_across;
    const size_t below = k / ABREAST;

    if (maps->panels.rows)
        attn_figure_panels_find(pen, &maps->panels, spot.matrix, &down, &across);
    spot.x = spot.place.x = maps->left + (double)across * maps->step_x;
    spot.y = maps->top + (double)down * maps->step_y;
    for (size_t before = k - k % ABREAST; before < k; before++)
        spot.place.x += size_of(pen, maps, before).width + BESIDE;
    spot.place.y = spot.y + (double)below * (maps->tall + BESIDE) + (maps->n_image > 1 ? NAME : 0);
    return spot;
}

/* Sets BOX to left, top, right and bottom of cell I of SPOT. */
static void find_box(const struct spot *spot, size_t i, double box[4])
{
    const size_t r = i / spot->backdrop->n_col, c = i % spot->backdrop->n_col;

    box[0] = spot->place.x + (double)c * spot->place.width;
    box[1] = spot->place.y + (double)r * spot->place.side;
    box[2] = box[0] + spot->place.width;
    box[3] = box[1] + spot->place.side;
}

/* Draws a frame around the patch that is the query, if the query is a patch. */
static void add_mark(struct attn_figure_pen *pen, const struct maps *maps, const struct spot *spot)
{
    const struct attn_backdrop *backdrop = spot->backdrop;
    const struct attn_grid *grid = pen->content->grid;
    const size_t position = grid->run ? attn_grid_mapped_position(grid, spot->row) : 0;
    const size_t i = position - backdrop->n_front;
    double box[4];

    if (maps->is_table || position < backdrop->n_front || i / backdrop->n_col >= backdrop->n_row ||
        spot->matrix->layer != ATTN_MAP_WHOLE) /* cells of tiles are other positions */
        return;
    find_box(spot, i, box);
    attn_figure_add_outline(pen, box, 3, 0x000000);
    attn_figure_add_outline(pen, box, 1.5, 0xff7a1a);
}

/* Appends "query 3,4", or the label of a row of a table, "layer 3" or "embedding". */
static void append_caption(struct attn_figure_pen *pen, const struct attn_level_matrix *matrix,
                           size_t row, struct attn_buffer *out)
{
    const struct attn_grid *grid = pen->content->grid;
    struct attn_grid_axis rows;
    const char *label;
    size_t n;

    if (grid->run) {
        pen->scratch.size = 0;
        attn_grid_append_position(grid->backdrop, grid->tokens,
                                  attn_grid_mapped_position(grid, row), &pen->scratch);
        attn_figure_name_blanks(&pen->scratch);
        attn_buffer_append_string(out, "query ");
        attn_buffer_append(out, pen->scratch.data, pen->scratch.size);
        return;
    }
    rows = attn_figure_rows(pen, matrix);
    label = attn_figure_label(pen, &rows, row, &n);
    if (n > 0 && *label >= '0' && *label <= '9')
        attn_buffer_append_format(out, "%s ", rows.title);
    attn_buffer_append(out, label, n);
}

/* Writes the number of a picture of several above it. */
static void add_name(struct attn_figure_pen *pen, const struct maps *maps, const struct spot *spot)
{
    const struct attn_shape_text text = {
        .size = maps->letters, .color = pen->faint, .x = spot->place.x, .y = spot->place.y - 5};

    if (maps->n_image == 1)
        return;
    pen->scratch.size = 0;
    attn_buffer_append_format(&pen->scratch, "picture %zu", spot->matrix->image);
    attn_figure_add_scratch(pen, text);
}

/* Writes the query of the map above it, and the weights below. */
static void add_texts(struct attn_figure_pen *pen, const struct maps *maps, const struct spot *spot)
{
    const struct attn_level_matrix *matrix = spot->matrix;
    const size_t n = maps->n_line == 0 ? 0 : maps->is_short ? 2 : count_weights(maps);
    const size_t row = spot->row;
    struct attn_shape_text text = {
        .size = pen->letters.label, .color = pen->ink, .x = spot->x, .y = spot->y - 6};
    struct attn_buffer caption = {0}; /* its own buffer, as labels may use pen->scratch */

    if (maps->n_query > 1) {
        append_caption(pen, matrix, row, &caption);
        attn_shapes_add_text(pen->shapes, &text, caption.data, caption.size);
        pen->scratch.has_failed |= caption.has_failed;
        attn_buffer_release(&caption);
    }
    text.size = maps->letters;
    text.color = pen->faint;
    text.y = spot->y + maps->height;
    for (size_t i = 0; i < n; i++) {
        pen->scratch.size = 0;
        if (maps->backdrop->is_in_text)
            append_share(maps, matrix, row, i, &pen->scratch);
        else
            append_front(pen, maps, matrix, row, i, &pen->scratch);
        text.x = spot->x + attn_figure_text_width(i % maps->n_in_line * (size_t)entry_of(maps),
                                                  maps->letters);
        text.y += i % maps->n_in_line == 0 ? LINE : 0;
        attn_figure_add_scratch(pen, text);
    }
}

/* Finds the largest weights of VIEW: at least 10 % and three times an even weight. Sets CELLS to
 * them, the largest first, and returns their number, at most MOST_FRAMES. */
static size_t find_strong(struct attn_figure_view view,
                          struct attn_figure_rank cells[MOST_FRAMES + 1])
{
    const double least = fmax(0.1, 3.0 / (double)view.matrix->n_column);
    size_t n = 0;

    for (size_t i = 0; i < view.n_row * view.n_col; i++) {
        cells[n] = (struct attn_figure_rank){attn_figure_number(view, i), i};
        if (!(cells[n].number >= least))
            continue;
        qsort(cells, n + 1, sizeof *cells, attn_figure_by_rank);
        n += n < MOST_FRAMES;
    }
    return n;
}

/* Writes WEIGHT on a plate in the corner of BOX, or above it if it is small. */
static void add_plate(struct attn_figure_pen *pen, const double box[4], double weight)
{
    const double size = pen->letters.tick;
    struct attn_shape_text text = {
        .x = box[0] + 3, .y = box[1] + size, .size = size, .color = pen->ink};
    double width;

    pen->scratch.size = 0;
    attn_buffer_append_format(&pen->scratch, "%d %%", (int)lround(100 * weight));
    width = size * attn_figure_string_width(pen, pen->scratch.data, pen->scratch.size) + 4;
    if (box[2] - box[0] < 3 * width)
        text.y = fmax(box[1] - 3, size);
    attn_figure_add_box(pen, text.x - 2, text.y - size + 1, width, size + 2, pen->shapes->paper);
    attn_figure_add_scratch(pen, text);
}

/* Frames the cells with the largest weights of a map, and in a large one writes the weights. */
static void add_strong(struct attn_figure_pen *pen, struct attn_figure_view view,
                       const struct spot *spot)
{
    const uint32_t color = pen->options->theme == ATTN_THEME_DARK ? 0xff7a1a : 0xc8400a;
    const bool is_large = spot->size.width > 1.2 * FEW;
    struct attn_figure_rank cells[MOST_FRAMES + 1];
    const size_t n = is_lit(pen) && pen->content->grid->is_share ? find_strong(view, cells) : 0;

    for (size_t i = n; i-- > 0;) {
        double box[4];

        find_box(spot, cells[i].index, box);
        if (is_large)
            attn_figure_add_outline(pen, box, 4, pen->shapes->paper);
        attn_figure_add_outline(pen, box, is_large ? 2 : 1, color);
        if (is_large)
            add_plate(pen, box, cells[i].number);
    }
}

static void add_maps(struct attn_figure_pen *pen, const struct maps *maps)
{
    for (size_t k = 0; k < maps->n_image; k++)
        for (size_t i = 0; i < maps->n; i++) {
            const struct spot spot = find_spot(pen, maps, i, k);

            attn_shapes_add_picture(
                pen->shapes, (struct attn_shape_picture){spot.place.x, spot.place.y,
                                                         spot.size.width, spot.size.height, k});
        }
    for (size_t i = 0; i < maps->n * maps->n_image; i++) {
        const struct spot spot = find_spot(pen, maps, i / maps->n_image, i % maps->n_image);

        attn_figure_add_cells(pen, view_of(spot.backdrop, spot.matrix, spot.row), spot.place);
    }
    for (size_t i = 0; i < maps->n * maps->n_image; i++) {
        const struct spot spot = find_spot(pen, maps, i / maps->n_image, i % maps->n_image);
        const struct attn_figure_view view = view_of(spot.backdrop, spot.matrix, spot.row);

        attn_figure_add_hatches(pen, view, spot.place);
        attn_figure_add_frame(pen, spot.place.x, spot.place.y, spot.size.width, spot.size.height);
        add_strong(pen, view, &spot);
        add_mark(pen, maps, &spot);
        add_name(pen, maps, &spot);
        if (i % maps->n_image == 0)
            add_texts(pen, maps, &spot);
    }
}

/* --- The picture --------------------------------------------------------------------------- */

/* Adds a picture to the shapes in its colors or, below the colors of numbers, in pale grey (dim on
 * a dark theme), and sets pen->grounds. */
static void add_picture(struct attn_figure_pen *pen, const struct attn_backdrop *backdrop)
{
    const size_t n = backdrop->height * backdrop->width;
    unsigned char *out = attn_shapes_add_pixels(pen->shapes, backdrop->height, backdrop->width);
    const bool is_dark = pen->options->theme == ATTN_THEME_DARK;
    /* paler than the picture, or dimmer */
    const double from = is_dark ? 8 : 120, to = is_dark ? 130 : 255;

    for (size_t i = 0; out && i < n; i++) {
        const size_t at = i / backdrop->width * backdrop->stride + i % backdrop->width;
        const unsigned char *rgb = backdrop->rgb + 3 * at;
        const double grey = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];

        if (is_lit(pen))
            memcpy(out + 3 * i, rgb, 3);
        else
            out[3 * i] = out[3 * i + 1] = out[3 * i + 2] =
                (unsigned char)lround(from + (to - from) * grey / 255);
    }
    pen->is_veiled = true;
    pen->grounds[0] = is_lit(pen) ? pen->faint : 0x010101 * (uint32_t)lround(from);
    pen->grounds[1] = is_lit(pen) ? pen->faint : 0x010101 * (uint32_t)lround(to);
}

/* Returns the color with the smallest *OPACITY that looks like COLOR on a white background. */
static uint32_t veil_of(uint32_t color, uint8_t *opacity)
{
    const uint32_t least = (uint32_t)fmin(fmin(color >> 16 & 255, color >> 8 & 255), color & 255);
    const uint32_t most = 255 - least;
    uint32_t veil = 0;

    *opacity = (uint8_t)most;
    for (int shift = 16; most > 0 && shift >= 0; shift -= 8)
        veil = veil << 8 | ((color >> shift & 255) - least) * 255 / most;
    return veil;
}

/* Sets transparent colors: cells without weight are fully transparent. A color map that begins with
 * white keeps its look on a white background. For other maps the opacity grows with the number, and
 * a map that begins dark is used from its bright part on. */
static void set_veils(struct attn_figure_pen *pen)
{
    enum { BRIGHT = 96 };
    const double palest = 0.86, strongest = pen->scale.is_signed ? 0.65 : 0.95;
    struct attn_shapes *shapes = pen->shapes;
    const bool is_signed = pen->scale.is_signed,
               begins_white = attn_figure_color(pen, 0) == 0xffffff;

    for (int level = 0; level < ATTN_N_COLOR; level++) {
        const double place = level / (double)(ATTN_N_COLOR - 1);
        const double share = is_signed ? fabs(2 * place - 1) : place;
        const int shown = is_signed || begins_white
                              ? level
                              : BRIGHT + level * (ATTN_N_COLOR - 1 - BRIGHT) / (ATTN_N_COLOR - 1);

        shapes->palette[level] = attn_figure_color(pen, shown);
        shapes->opacities[level] = (uint8_t)lround(255 * strongest * attn_pow(share, 0.7));
        if (begins_white && !is_signed)
            shapes->palette[level] = veil_of(shapes->palette[level], &shapes->opacities[level]);
        if (is_lit(pen)) { /* paper, through which the picture shines */
            shapes->palette[level] = shapes->paper;
            shapes->opacities[level] = (uint8_t)lround(255 * palest * (1 - place));
        }
    }
    for (size_t i = ATTN_N_COLOR; i < shapes->n_color; i++)
        shapes->opacities[i] = 150;
}

static enum attn_status check(const struct attn_grid *grid, struct attn_error *err)
{
    const size_t n_query = attn_grid_n_mapped(grid);
    const size_t n_head = grid->n / attn_levels_n_image(grid->matrices, grid->n);

    for (size_t i = 0; i < grid->n; i++) {
        const struct attn_level_matrix *matrix = &grid->matrices[i];

        if (attn_grid_fits_backdrop(&grid->backdrop[matrix->image], matrix))
            continue;
        if (!grid->run)
            return attn_error_set(err, ATTN_INVALID,
                                  "the table has numbers of %zu positions, '`figure patches`' "
                                  "shows all",
                                  matrix->n_column);
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' has no column for each patch of the picture, which "
                              "'`figure patches`' shows",
                              attn_site_name(matrix->at.site));
    }
    if (n_head == 1 || n_query == 1)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "%zu heads and %zu queries are chosen, '`figure patches`' shows several of one",
                   n_head, n_query);
    return attn_error_hint(err, "choose one, as with `heads 0.0` or `queries [CLS]`");
}

/* Returns the maps of the pictures in a text; NULL without such pictures, and before the run. */
static const struct attn_picture_maps *weights_of(const struct attn_grid *grid)
{
    const struct attn_labels *labels = grid->run ? &grid->run->labels : NULL;

    return labels && labels->maps && grid->backdrop->is_in_text ? *labels->maps : NULL;
}

/* Whether the windows of the layers of all maps end behind the picture. */
static bool is_beyond(const struct attn_grid *grid)
{
    const struct attn_picture_maps *weights = weights_of(grid);
    size_t n = 0;

    while (weights && n < grid->n &&
           attn_picture_maps_is_beyond(weights, grid->matrices[n].at.layer))
        n++;
    return weights && n == grid->n;
}

/* Appends "tiles 99.3 % (shown), whole picture 0.7 %; " for a picture that has tiles. */
static enum attn_status append_layers(struct attn_figure_pen *pen, const struct maps *maps,
                                      struct attn_error *err)
{
    const struct attn_grid *grid = pen->content->grid;
    const struct attn_picture_maps *weights = weights_of(grid);
    const enum attn_map_layer layer = grid->matrices[0].layer;
    const bool adds = layer == ATTN_MAP_BOTH;
    struct attn_location *ats;
    double parts[2];
    size_t size[2];

    if (!weights || maps->n_image > 1)
        return ATTN_OK;
    attn_picture_maps_size(weights, grid->matrices[0].image, ATTN_MAP_TILES, size);
    if (size[0] == 0)
        return ATTN_OK;
    ATTN_TRY(ATTN_FIGURE_ALLOC(pen, ats, grid->n, err));
    for (size_t i = 0; i < grid->n; i++)
        ats[i] = grid->matrices[i].at;
    for (int i = 0; i < 2; i++)
        parts[i] = 100 * attn_picture_maps_layer_share(weights, grid->matrices[0].image,
                                                       i == 0 ? ATTN_MAP_TILES : ATTN_MAP_WHOLE,
                                                       ats, grid->n);
    attn_buffer_append_format(&pen->subtitle, "tiles %.1f %%%s%s whole picture %.1f %%%s; ",
                              parts[0], layer == ATTN_MAP_TILES ? " (shown)" : "",
                              adds ? " and" : ",", parts[1],
                              layer == ATTN_MAP_WHOLE ? " (shown)"
                              : adds                  ? ", added"
                                                      : "");
    return ATTN_OK;
}

enum attn_status attn_figure_draw_maps(struct attn_figure_pen *pen, struct attn_error *err)
{
    struct maps maps = {.backdrop = pen->content->grid->backdrop};
    double end[2];

    if (!maps.backdrop)
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure patches`' shows keys on the picture that a model saw, and "
                              "this run has none: 'patches:RxC' lays them out in R rows of C");
    ATTN_TRY(check(pen->content->grid, err));
    maps.is_table = !pen->content->grid->run;
    maps.n_query = attn_grid_n_mapped(pen->content->grid);
    maps.n_image = attn_levels_n_image(pen->content->grid->matrices, pen->content->grid->n);
    maps.n = pen->content->grid->n / maps.n_image;
    maps.n = maps.n > 1 ? maps.n : maps.n_query;
    ATTN_TRY(append_layers(pen, &maps, err));
    if (is_beyond(pen->content->grid))
        attn_buffer_append_string(&pen->subtitle,
                                  "the window of this layer ends behind the picture; ");
    else if (pen->is_fitted)
        attn_buffer_append_string(&pen->subtitle,
                                  maps.backdrop->is_ratio ? "colors up to the largest, or 1; "
                                  : pen->is_even ? "colors up to ten times an even weight; "
                                  : maps.backdrop->is_in_text
                                      ? "colors up to the largest on a cell; "
                                      : "colors up to the largest weight on a patch; ");
    pen->has_text = !pen->content->grid->run; /* patch labels of a run are not a text */
    ATTN_TRY(plan(pen, &maps, err));
    if (!pen->is_measuring) {
        for (size_t k = 0; k < maps.n_image; k++)
            add_picture(pen, backdrop_of(pen, &maps, k));
        set_veils(pen);
        add_maps(pen, &maps);
        end[0] = maps.left + (double)maps.n_across * maps.step_x - BETWEEN;
        end[1] = maps.top + (double)maps.n_down * maps.step_y - BETWEEN;
        if (maps.panels.rows) {
            const bool has_layers = maps.panels.rows[0].number != ATTN_NO_LAYER;

            attn_figure_panels_add_numbers(pen, &maps.panels, has_layers, true);
            attn_figure_panels_add_names(pen, &maps.panels, end, has_layers ? "layer" : "", "head");
        }
    }
    return ATTN_OK;
}
