/* heatmap_thumbnails.c - all heads of a run as small heat maps; see heatmap_internal.h. */
#include "terminal/heatmap_internal.h"

#include "base/memory.h"
#include "trace/trace_internal.h"
#include "writers/picture_internal.h"

#include <math.h>
#include <string.h>

enum {
    MOST_SIDE = 12,    /* cells */
    LEAST_SIDE = 5,    /* that show more than a blot */
    SCREEN_LINES = 24, /* of layers, where larger thumbnails would take more of a screen */
    N_HEADER = 1
};

/* The sum of a cell's rows. */
struct attn_thumbnail_cell {
    float sum; /* the number farthest from 0 of each row */
    uint32_t n_row;
    bool is_hidden, is_not_finite;
};

static size_t divide_up(size_t n, size_t by)
{
    return n == 0 ? 0 : (n - 1) / by + 1;
}

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

    return largest <= t->side ? n : divide_up(n * t->side, largest);
}

/* --- Planning -------------------------------------------------------------------------------- */

/* Lists the matrices by layer and head. */
static enum attn_status list(struct attn_thumbnails *t, struct attn_error *err)
{
    const bool is_arrays = t->map->writer->labels.axes != NULL;
    const size_t n = t->n_down * t->n_across;

    ATTN_TRY(ATTN_ALLOC(t->numbers, n, err));
    ATTN_TRY(ATTN_ALLOC(t->shown, t->n_down, err));
    for (size_t i = 0; i < n; i++)
        t->numbers[i] = SIZE_MAX;
    for (size_t i = 0; i < t->levels->n; i++) {
        const struct attn_level_matrix *m = &t->levels->items[i];
        const size_t down =
            is_arrays ? (size_t)m->at.head / t->n_across : (size_t)attn_location_block(&m->at);

        if (m->at.site != t->site)
            continue;
        t->numbers[down * t->n_across + (size_t)m->at.head % t->n_across] = i;
        if (t->n_shown == 0 || t->shown[t->n_shown - 1] != down)
            t->shown[t->n_shown++] = down;
        t->is_trivial &= attn_writer_has_own_keys(t->map->writer, &m->at);
        t->n_matrix++;
        t->largest = m->n_row > t->largest ? m->n_row : t->largest;
        t->largest = m->n_column > t->largest ? m->n_column : t->largest;
    }
    t->is_trivial &= t->largest == 1;
    return ATTN_OK;
}

/* Returns the lines of the heads from FIRST on of layer DOWN, which share a line. */
static size_t block_lines(const struct attn_thumbnails *t, size_t down, size_t first)
{
    size_t most = 0;

    for (size_t across = first; across < first + t->columns.n && across < t->n_across; across++) {
        const struct attn_level_matrix *matrix = matrix_of(t, down, across);
        const size_t n = matrix ? divide_up(scaled(t, matrix, matrix->n_row), 2) : 0;

        most = n > most ? n : most;
    }
    return most;
}

/* Returns the number of rows of layers; layers beside each other are one row. */
static size_t n_layer_row(const struct attn_thumbnails *t)
{
    return divide_up(t->n_shown, t->columns.n_beside);
}

/* Lines of the heads FIRST and on of the layers in row ROW. */
static size_t row_lines(const struct attn_thumbnails *t, size_t row, size_t first)
{
    size_t most = 0;

    for (size_t i = row; i < t->n_shown; i += n_layer_row(t)) {
        const size_t n = block_lines(t, t->shown[i], first);

        most = n > most ? n : most;
    }
    return most;
}

/* "a single token has nothing but itself to look at, in all 32 heads" */
static enum attn_status end_sentence(const struct attn_thumbnails *t, size_t *n_line,
                                     struct attn_error *err)
{
    attn_buffer_append_format(&t->map->label, "a single %s has nothing but itself to look at",
                              attn_heatmap_noun(t->map->writer));
    if (t->n_matrix > 1)
        attn_buffer_append_format(&t->map->label, ", in all %zu heads", t->n_matrix);
    return attn_heatmap_end_text(t->map, 1, n_line, err);
}

/* Appends the axes and the pooling: "queries down, keys across, mean row maximum of 2 x 2". */
static void append_words(const struct attn_thumbnails *t)
{
    const bool is_share = attn_site_range(t->site) == ATTN_RANGE_SHARE;
    const size_t k = divide_up(t->largest, t->side);
    struct attn_buffer *label = &t->map->label;

    attn_buffer_append_string(label, attn_site_has_keys(t->site)
                                         ? "queries down, keys across"
                                         : "tokens down, components across");
    if (k > 1)
        attn_buffer_append_format(
            label, ", mean row %s of %zu x %zu",
            is_share && !t->map->picture->is_difference ? "maximum" : "extreme", k, k);
}

/* The colours of the legend: those of the first matrix. */
static struct attn_heatmap_colors legend_colors(const struct attn_thumbnails *t)
{
    size_t i = 0;

    while (t->levels->items[i].at.site != t->site)
        i++;
    return attn_heatmap_colors(t->map, &t->levels->items[i]);
}

/* Tries SIDE cells per head and N_BESIDE layers beside each other. False if they do not fit. */
static bool fits(struct attn_thumbnails *t, size_t side, size_t n_beside)
{
    const struct attn_heatmap_colors colors = legend_colors(t);
    size_t width = 1, n_line;
    bool is_fit;

    t->side = side;
    for (size_t i = 0; i < t->n_down * t->n_across; i++)
        if (t->numbers[i] != SIZE_MAX) {
            const struct attn_level_matrix *m = &t->levels->items[t->numbers[i]];
            const size_t n = scaled(t, m, m->n_column);

            width = n > width ? n : width;
        }
    t->columns.left = t->n_down > 100 ? sizeof "layer 100" : sizeof "layer 1";
    is_fit = attn_head_columns_fit(&t->columns, t->map->width, t->n_across, width, 1, n_beside);
    append_words(t);
    attn_heatmap_end_legend(t->map, &colors, &n_line, NULL);
    t->n_line = N_HEADER + n_line;
    for (size_t row = 0; row < n_layer_row(t); row++)
        for (size_t first = 0; first < t->n_across; first += t->columns.n)
            t->n_line += row_lines(t, row, first);
    return is_fit;
}

/* Whether A, which fits, is better than B: whole matrices before others, then plans that leave room
 * on a screen, the largest of these, and else those of few lines. */
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

/* Finds the best plan among those that fit. Heads go below others only where they are small. */
static void choose_plan(struct attn_thumbnails *t, size_t most_lines)
{
    const size_t least = t->largest < LEAST_SIDE ? t->largest : LEAST_SIDE;
    const size_t most = t->largest < MOST_SIDE ? t->largest : MOST_SIDE;
    struct attn_thumbnails best = *t;

    for (size_t side = most; side >= least && side > 0; side--)
        for (size_t n_beside = 1; n_beside <= t->n_shown; n_beside++) {
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
                                  .is_trivial = attn_site_has_keys(site) &&
                                                attn_site_range(site) == ATTN_RANGE_SHARE &&
                                                !map->picture->is_difference,
                                  .n_down = labels->axes ? n_batch : dims->n_layer,
                                  .n_across = dims->n_head / n_batch};
    ATTN_TRY(list(t, err));
    if (t->is_trivial)
        return end_sentence(t, &t->n_line, err);
    if (t->n_shown > 0)
        choose_plan(t, most_lines);
    if (t->n_line == 0)
        return ATTN_OK;
    return ATTN_ALLOC(t->cells, t->n_down * t->n_across * t->side * t->side, err);
}

void attn_thumbnails_release(struct attn_thumbnails *t)
{
    attn_free(t->numbers);
    attn_free(t->shown);
    attn_free(t->cells);
    *t = (struct attn_thumbnails){0};
}

/* --- Taking ---------------------------------------------------------------------------------- */

/* The numbers of a row that belong to one column of cells. */
struct band {
    uint32_t farthest; /* its number farthest from 0, as order_of returns it */
    bool has_value;
};

/* The bits of a float with the sign last, which order numbers by distance from 0, infinities and
 * NaN last. */
static uint32_t order_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits << 1 | bits >> 31;
}

static float number_of(uint32_t order)
{
    const uint32_t bits = order >> 1 | order << 31;
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Returns max(MOST, the orders of VALUES [n]). Four accumulators hide latency. */
static uint32_t most_of(uint32_t most, const float *values, size_t n)
{
    uint32_t found[4] = {most};
    size_t i = 0;

    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++) {
            const uint32_t order = order_of(values[i + k]);

            found[k] = order > found[k] ? order : found[k];
        }
    for (; i < n; i++)
        found[0] = order_of(values[i]) > found[0] ? order_of(values[i]) : found[0];
    found[0] = found[1] > found[0] ? found[1] : found[0];
    found[2] = found[3] > found[2] ? found[3] : found[2];
    return found[0] > found[2] ? found[0] : found[2];
}

/* Finds the BANDS [n_band] of a row of N_COLUMN columns. */
static void find_bands(struct attn_row row, size_t n_column, struct band *bands, size_t n_band)
{
    struct attn_cells cells;

    for (size_t i = 0; i < n_band; i++)
        bands[i] = (struct band){.farthest = 0};
    while (attn_row_next(&row, &cells))
        for (size_t c = cells.first, end = c + cells.n, next; c < end; c = next) {
            const size_t i = c * n_band / n_column;
            const float *values = cells.values + (c - cells.first);

            next = divide_up((i + 1) * n_column, n_band);
            next = next < end ? next : end;
            bands[i] = (struct band){most_of(bands[i].farthest, values, next - c), true};
        }
}

/* Adds a row of the matrix to its cells, [n_column] of them. */
static void add_row(struct attn_thumbnail_cell *cells, const struct band *bands, size_t n_column)
{
    for (size_t c = 0; c < n_column; c++) {
        const float farthest = number_of(bands[c].farthest);

        cells[c].is_not_finite |= !isfinite(farthest);
        cells[c].sum += farthest;
        cells[c].n_row += bands[c].has_value;
    }
}

void attn_thumbnails_take(struct attn_thumbnails *t, const struct attn_trace_event *event,
                          const struct attn_place *place)
{
    const bool has_keys = attn_site_has_keys(event->at.site);
    const size_t head = (size_t)event->at.head;
    const struct attn_level_matrix *m;
    size_t at = head, n_row, n_column;

    if (!t->cells || event->at.site != t->site)
        return;
    if (!t->map->writer->labels.axes) /* heads of arrays are numbered across all batches */
        at += (size_t)attn_location_block(&event->at) * t->n_across;
    if (t->numbers[at] == SIZE_MAX)
        return;
    m = &t->levels->items[t->numbers[at]];
    n_row = scaled(t, m, m->n_row);
    n_column = scaled(t, m, m->n_column);
    if (n_row == 0 || n_column == 0)
        return;
    for (size_t r = 0; r < event->n_row; r++) {
        const size_t band = (place->row + r) * n_row / m->n_row;
        const bool has_others = divide_up((band + 1) * m->n_row, n_row) > place->row + r + 1;
        struct attn_thumbnail_cell *cells = t->cells + (at * t->side + band) * t->side;
        struct band bands[MOST_SIDE];

        if (t->map->picture->hides_first && has_keys)
            cells->is_hidden = true;
        if (has_others && attn_event_is_certain(event, r))
            continue;
        find_bands(attn_event_row(event, r), m->n_column, bands, n_column);
        add_row(cells, bands, n_column);
    }
}

/* --- Drawing --------------------------------------------------------------------------------- */

static struct attn_heatmap_half half_of(const struct attn_thumbnail_cell *cell)
{
    struct attn_heatmap_half half = {.kind = ATTN_CELL_MASKED};

    if (cell->is_not_finite) {
        half.kind = ATTN_CELL_NOT_FINITE;
    } else if (cell->n_row > 0) {
        half.kind = ATTN_CELL_VALUE;
        half.value = cell->sum / (float)cell->n_row;
    } else if (cell->is_hidden) {
        half.kind = ATTN_CELL_HIDDEN;
    }
    return half;
}

/* Finds the places of a row of cells, HALVES [n], on the scale of COLORS. */
static void set_places(const struct attn_heatmap_colors *colors, struct attn_heatmap_half *halves,
                       size_t n)
{
    struct attn_color_range range = colors->range;
    double least = HUGE_VAL, most = -HUGE_VAL;

    for (size_t i = 0; i < n; i++)
        if (halves[i].kind == ATTN_CELL_VALUE) {
            least = fmin(least, (double)halves[i].value);
            most = fmax(most, (double)halves[i].value);
        }
    if (colors->scale.span == ATTN_SPAN_ROW)
        range = attn_color_range(&colors->scale, least, most);
    for (size_t i = 0; i < n; i++)
        if (halves[i].kind == ATTN_CELL_VALUE)
            halves[i].place = attn_color_place(&colors->scale, range, (double)halves[i].value);
}

/* Writes line LINE of a thumbnail. Returns its columns. */
static size_t put_line(const struct attn_thumbnails *t, size_t down, size_t across, size_t line)
{
    const struct attn_level_matrix *m = matrix_of(t, down, across);
    const size_t n = m ? scaled(t, m, m->n_column) : 0;
    struct attn_heatmap_half halves[2][MOST_SIDE];
    struct attn_heatmap_colors colors;

    if (!m)
        return 0;
    colors = attn_heatmap_colors(t->map, m);
    for (size_t i = 0; i < 2; i++) {
        const size_t row = 2 * line + i;

        for (size_t c = 0; c < n; c++)
            halves[i][c] =
                row < scaled(t, m, m->n_row)
                    ? half_of(
                          &t->cells[((down * t->n_across + across) * t->side + row) * t->side + c])
                    : (struct attn_heatmap_half){.kind = ATTN_CELL_MASKED, .is_beyond = true};
        set_places(&colors, halves[i], n);
    }
    for (size_t c = 0; c < n; c++)
        attn_heatmap_put_halves(t->map, &colors, halves[0][c], halves[1][c]);
    return n;
}

/* Puts a line of the heads from FIRST of a layer, after "layer 1 ", "batch 0 " or, if wrapped, "
 * head14 ", blank after the first line. Returns its columns. */
static size_t put_layer(const struct attn_thumbnails *t, size_t down, size_t first, size_t line)
{
    struct attn_heatmap *map = t->map;
    const struct attn_array_axes *axes = map->writer->labels.axes;
    const struct attn_location at =
        attn_location_of_block(attn_selection_dims(map->writer->labels.selection),
                               ATTN_SITE_PATTERN, (int)down, ATTN_ALL_HEADS);
    size_t used;

    if (line == 0 && first > 0)
        attn_buffer_append_format(&map->label, " head%2zu", first);
    else if (line == 0 && axes && axes->rank == 4)
        attn_buffer_append_format(&map->label, "batch%2zu", down);
    else if (line == 0 && !axes)
        attn_heatmap_append_layer(map, &at);
    used = map->label.size;
    attn_heatmap_put_label(map);
    for (size_t across = first; across < first + t->columns.n && across < t->n_across; across++) {
        const size_t column = t->columns.left + (across - first) * t->columns.pitch;

        attn_color_line_blanks(&map->line, used < column ? column - used : 0);
        used = column + put_line(t, down, across, line);
    }
    return used;
}

enum attn_status attn_thumbnails_draw(const struct attn_thumbnails *t, struct attn_error *err)
{
    if (t->is_trivial)
        return end_sentence(t, NULL, err);
    const struct attn_heatmap_colors colors = legend_colors(t);
    const size_t n_row = n_layer_row(t);

    ATTN_TRY(attn_heatmap_draw_head_numbers(t->map, &t->columns, err));
    for (size_t row = 0; row < n_row; row++)
        for (size_t first = 0; first < t->n_across; first += t->columns.n)
            for (size_t line = 0, n = row_lines(t, row, first); line < n; line++) {
                for (size_t i = row, at = 0; i < t->n_shown; i += n_row) {
                    const size_t left = i / n_row * (t->columns.width + t->columns.gap);

                    attn_color_line_blanks(&t->map->line, left - at);
                    at = left + put_layer(t, t->shown[i], first, line);
                }
                ATTN_TRY(attn_color_line_write(&t->map->line, t->map->sink, err));
            }
    append_words(t);
    return attn_heatmap_end_legend(t->map, &colors, NULL, err);
}
