/* heatmap_thumbnails.c - all heads of a run as small heat maps; see heatmap_internal.h. */
#include "terminal/heatmap_internal.h"

#include "base/memory.h"
#include "tensors/view.h"
#include "trace/trace_internal.h"

#include <string.h>

enum {
    MOST_SIDE = 12,    /* maximum cells of a side */
    LEAST_SIDE = 5,    /* fewer cells would show only a blot */
    SCREEN_LINES = 24, /* thumbnails that fill more lines than this are avoided */
    N_HEADER = 1
};

/* Returns the matrix of a head; NULL if it is not selected. */
static const struct attn_level_matrix *matrix_of(const struct attn_thumbnails *t, size_t down,
                                                 size_t across)
{
    const size_t number = t->numbers[down * t->n_across + across];

    return number == SIZE_MAX ? NULL : &t->levels->items[number];
}

/* Returns the number of cells for N rows or columns of MATRIX. Cells are square. */
static size_t scaled(const struct attn_thumbnails *t, const struct attn_level_matrix *matrix,
                     size_t n)
{
    const size_t largest = matrix->n_row > matrix->n_column ? matrix->n_row : matrix->n_column;

    return largest <= t->side ? n : attn_divide_up(n * t->side, largest);
}

static struct attn_heatmap_cell cell_of(const struct attn_mean_cell *sum)
{
    struct attn_heatmap_cell cell = {.kind = ATTN_CELL_MASKED};

    if (sum->is_not_finite) {
        cell.kind = ATTN_CELL_NOT_FINITE;
    } else if (sum->n_row > 0) {
        cell.kind = ATTN_CELL_VALUE;
        cell.value = sum->sum / (float)sum->n_row;
    } else if (sum->is_hidden) {
        cell.kind = ATTN_CELL_HIDDEN;
    }
    return cell;
}

/* Sets the color position of each of CELLS [n], one row, on the scale of COLORS. */
static void set_places(const struct attn_heatmap_colors *colors, struct attn_heatmap_cell *cells,
                       size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (cells[i].kind == ATTN_CELL_VALUE)
            cells[i].place =
                attn_color_place(&colors->scale, colors->range, (double)cells[i].value);
}

/* Prints LINE of the map M, whose cells are number CELL. Returns its columns. */
static size_t put_map(struct attn_heatmap *map, const struct attn_thumbnails *t,
                      const struct attn_level_matrix *m, size_t cell, size_t line)
{
    const struct attn_heatmap_colors colors = attn_heatmap_colors(map, m);
    const size_t n = scaled(t, m, m->n_column);
    struct attn_heatmap_cell cells[2][MOST_SIDE];

    for (size_t i = 0; i < 2; i++) {
        const size_t r = 2 * line + i;
        const bool is_beyond = r >= scaled(t, m, m->n_row);
        const struct attn_mean_cell *sums =
            &t->cells[(cell * t->side + (is_beyond ? 0 : r)) * t->side];

        for (size_t c = 0; c < n; c++)
            cells[i][c] =
                is_beyond ? (struct attn_heatmap_cell){.kind = ATTN_CELL_MASKED, .is_beyond = true}
                          : cell_of(&sums[c]);
        for (size_t c = 0; attn_site_is_map(t->site) && c < n; c++)
            if (cells[i][c].kind == ATTN_CELL_NOT_FINITE)
                cells[i][c].kind = ATTN_CELL_HIDDEN; /* a sink */
        set_places(&colors, cells[i], n);
    }
    for (size_t c = 0; c < n; c++)
        attn_heatmap_put_halves(map, &colors, cells[0][c], cells[1][c]);
    return n;
}

/* Prints one line of a thumbnail, with those of several images side by side. Returns its columns.
 */
static size_t put_line(struct attn_heatmap *map, const void *of, struct attn_sheet_spot at)
{
    const struct attn_thumbnails *t = of;
    const struct attn_level_matrix *m = matrix_of(t, t->shown[at.row], at.column);
    const size_t first = (t->shown[at.row] * t->n_across + at.column) * t->n_image;
    size_t n = 0;

    for (size_t i = 0; m && i < t->n_image; i++) {
        attn_buffer_append_string(&map->label, i > 0 ? " " : "");
        attn_heatmap_put_label(map);
        n += (i > 0) + put_map(map, t, &m[i], first + i, at.line);
    }
    return n;
}

/* Lists the matrices by layer and head, and the layers to show. */
static enum attn_status list(struct attn_thumbnails *t, struct attn_error *err)
{
    const bool is_arrays = t->map->writer->labels.axes != NULL;
    const size_t n = t->n_down * t->n_across;
    size_t *n_row = &t->sheet.n_row;

    ATTN_TRY(ATTN_ALLOC(t->numbers, n, err));
    ATTN_TRY(ATTN_ALLOC(t->shown, t->n_down, err));
    for (size_t i = 0; i < n; i++)
        t->numbers[i] = SIZE_MAX;
    for (size_t i = 0; i < t->levels->n; i++) {
        const struct attn_level_matrix *m = &t->levels->items[i];
        const size_t down =
            is_arrays ? (size_t)m->at.head / t->n_across : attn_location_index(&m->at);

        if (m->at.site != t->site)
            continue;
        t->largest = m->n_row > t->largest ? m->n_row : t->largest;
        t->largest = m->n_column > t->largest ? m->n_column : t->largest;
        if (i > 0 && m->image > m[-1].image) /* beside the one before */
            continue;
        t->n_image = attn_levels_n_image(m, t->levels->n - i);
        t->numbers[down * t->n_across + (size_t)m->at.head % t->n_across] = i;
        if (*n_row == 0 || t->shown[*n_row - 1] != down)
            t->shown[(*n_row)++] = down;
        const struct attn_grid grid = attn_grid_of_run(t->map->writer, t->map->tokens, m, 1);
        t->is_lone &= attn_grid_is_lone(&grid);
        t->n_matrix++;
    }
    return ATTN_OK;
}

/* Returns the lines needed by the layer in row ROW for the heads from FIRST to the end of the
 * line. */
static size_t count_lines(const void *of, size_t row, size_t first)
{
    const struct attn_thumbnails *t = of;
    size_t most = 0;

    for (size_t across = first; across < first + t->sheet.n && across < t->n_across; across++) {
        const struct attn_level_matrix *matrix = matrix_of(t, t->shown[row], across);

        for (size_t i = 0; matrix && i < t->n_image; i++) {
            const size_t n = attn_divide_up(scaled(t, &matrix[i], matrix[i].n_row), 2);

            most = n > most ? n : most;
        }
    }
    return most;
}

/* Prints "a single token has nothing but itself to look at, in all 32 heads". */
static enum attn_status end_sentence(const struct attn_thumbnails *t, struct attn_error *err)
{
    attn_buffer_append_format(&t->map->label, "a single %s has nothing but itself to look at",
                              attn_heatmap_noun(t->map->writer));
    if (t->n_matrix > 1)
        attn_buffer_append_format(&t->map->label, ", in all %zu heads", t->n_matrix);
    return attn_heatmap_end_text(t->map, 1, err);
}

/* Ends the legend with the axes, the pooling and the colors of the first matrix: "queries down,
 * keys across, mean row maximum of 2 x 2". */
static enum attn_status end_legend(const struct attn_thumbnails *t, struct attn_error *err)
{
    const bool is_share = attn_site_range(t->site) == ATTN_RANGE_SHARE;
    const size_t k = attn_divide_up(t->largest, t->side);
    struct attn_buffer *label = &t->map->label;
    struct attn_heatmap_colors colors;
    size_t i = 0;

    while (t->levels->items[i].at.site != t->site)
        i++;
    colors = attn_heatmap_colors(t->map, &t->levels->items[i]);
    attn_buffer_append_string(label, t->n_image > 1 ? "maps over the pictures, side by side"
                                     : attn_site_is_map(t->site) ? "maps over the picture"
                                     : attn_site_has_keys(t->site)
                                         ? "queries down, keys across"
                                         : "tokens down, components across");
    if (k > 1)
        attn_buffer_append_format(label, ", mean row %s of %zu x %zu",
                                  (is_share || attn_site_is_map(t->site)) && !colors.scale.is_signed
                                      ? "maximum"
                                      : "extreme",
                                  k, k);
    return attn_heatmap_end_legend(t->map, &colors, err);
}

/* Tries SIDE cells per head and N_BESIDE layers beside each other. False if they do not fit. */
static bool fits(struct attn_thumbnails *t, size_t side, size_t n_beside)
{
    size_t width = 1;
    bool is_fit;

    t->side = side;
    for (size_t i = 0; i < t->n_down * t->n_across; i++)
        if (t->numbers[i] != SIZE_MAX) {
            const struct attn_level_matrix *m = &t->levels->items[t->numbers[i]];
            size_t n = t->n_image - 1;

            for (size_t k = 0; k < t->n_image; k++)
                n += scaled(t, &m[k], m[k].n_column);
            width = n > width ? n : width;
        }
    is_fit = attn_sheet_fit(&t->sheet, t->map->width, width, width + 1, n_beside);
    attn_heatmap_begin_count(t->map);
    end_legend(t, NULL);
    t->n_line = N_HEADER + attn_sheet_n_line(&t->sheet) + attn_heatmap_end_count(t->map);
    return is_fit;
}

/* Returns true if plan A, which fits, is better than plan B. Unpooled matrices are best; next come
 * plans that fit a screen, the largest first; otherwise the plan with fewer lines wins. */
static bool is_better(const struct attn_thumbnails *a, const struct attn_thumbnails *b,
                      size_t most_lines)
{
    const size_t screen = most_lines == SIZE_MAX ? SIZE_MAX : SCREEN_LINES + N_HEADER + 1;
    const bool is_whole = a->side >= a->largest, is_small = a->n_line <= screen;

    if (b->n_line == 0)
        return true;
    if (is_whole != (b->side >= b->largest))
        return is_whole;
    if (is_small != (b->n_line <= screen))
        return is_small;
    if (!is_small && a->n_line != b->n_line)
        return a->n_line < b->n_line;
    return a->side > b->side;
}

/* Finds the best plan among those that fit. Only the smallest thumbnails may wrap to several
 * lines. */
static void choose_plan(struct attn_thumbnails *t, size_t most_lines)
{
    const size_t least = t->largest < LEAST_SIDE ? t->largest : LEAST_SIDE;
    const size_t most = t->largest < MOST_SIDE ? t->largest : MOST_SIDE;
    struct attn_thumbnails best = *t;

    for (size_t side = most; side >= least && side > 0; side--)
        for (size_t n_beside = 1; n_beside <= t->sheet.n_row; n_beside++) {
            const bool is_fit = fits(t, side, n_beside);

            if ((is_fit || (n_beside == 1 && side == least)) && t->n_line <= most_lines &&
                is_better(t, &best, most_lines))
                best = *t;
            if (!is_fit)
                break;
        }
    *t = best;
}

enum attn_status attn_thumbnails_plan(struct attn_thumbnails *t, struct attn_heatmap *map,
                                      const struct attn_levels *levels, enum attn_site site,
                                      size_t most_lines, struct attn_error *err)
{
    const struct attn_labels *labels = &map->writer->labels;
    const struct attn_dims *dims = attn_selection_dims(labels->selection);
    const size_t n_batch = labels->axes ? labels->axes->n_batch : 1;

    *t = (struct attn_thumbnails){.map = map,
                                  .levels = levels,
                                  .site = site,
                                  .n_image = 1,
                                  .is_lone = true,
                                  .n_down = labels->axes ? n_batch : dims->n_layer,
                                  .n_across = dims->n_head / n_batch};
    t->sheet = attn_sheet_of_heads(t, t->n_down, t->n_across, map->width);
    t->sheet.n_row = 0; /* set when the layers are listed */
    ATTN_TRY(list(t, err));
    t->sheet.layers = t->shown;
    t->sheet.put_cell = put_line;
    t->sheet.count_lines = count_lines;
    if (t->is_lone && t->n_matrix > 0) {
        attn_heatmap_begin_count(map);
        end_sentence(t, NULL);
        t->n_line = attn_heatmap_end_count(map);
        return ATTN_OK;
    }
    if (t->sheet.n_row > 0)
        choose_plan(t, most_lines);
    if (t->n_line == 0)
        return ATTN_OK;
    return ATTN_ALLOC(t->cells, t->n_down * t->n_across * t->n_image * t->side * t->side, err);
}

void attn_thumbnails_release(struct attn_thumbnails *t)
{
    attn_free(t->numbers);
    attn_free(t->shown);
    attn_free(t->cells);
    *t = (struct attn_thumbnails){0};
}

void attn_thumbnails_take(struct attn_thumbnails *t, const struct attn_trace_event *event,
                          const struct attn_place *place)
{
    const size_t head = (size_t)event->at.head;
    struct attn_view_options view;
    const struct attn_level_matrix *m;
    size_t at = head, n_row, n_column;

    if (!t->cells || event->at.site != t->site)
        return;
    view = attn_view_of(t->map->picture);
    if (!t->map->writer->labels.axes) /* heads of arrays are numbered across batches */
        at += attn_location_index(&event->at) * t->n_across;
    if (t->numbers[at] == SIZE_MAX)
        return;
    m = &t->levels->items[t->numbers[at]];
    at *= t->n_image;
    for (size_t i = 1; i < t->n_image && m->image < event->sequence; i++)
        m++, at++;
    n_row = scaled(t, m, m->n_row);
    n_column = scaled(t, m, m->n_column);
    if (n_row == 0 || n_column == 0)
        return;
    for (size_t r = 0; r < event->n_row; r++) {
        const size_t band = (place->row + r) * n_row / m->n_row;
        const bool has_others = attn_divide_up((band + 1) * m->n_row, n_row) > place->row + r + 1;
        struct attn_mean_cell *cells = t->cells + (at * t->side + band) * t->side;

        for (size_t c = 0; c < m->n_column && attn_view_hides(view); c++)
            if (attn_view_hides_key(view, &t->map->writer->labels, &event->at, c))
                cells[c * n_column / m->n_column].is_hidden = true;
        if (has_others && attn_event_is_certain(event, r))
            continue;
        attn_mean_cells_add(cells, n_column, attn_event_row(event, r), m->n_column, false);
    }
}

enum attn_status attn_thumbnails_draw(const struct attn_thumbnails *t, struct attn_error *err)
{
    if (t->is_lone)
        return end_sentence(t, err);
    ATTN_TRY(attn_sheet_draw(t->map, &t->sheet, err));
    return end_legend(t, err);
}
