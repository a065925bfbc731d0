/* heatmap_thumbnails.c - all heads of a run as small heat maps; see heatmap_internal.h. */
#include "terminal/heatmap_internal.h"

enum {
    LEFT = 8,       /* columns of "layer 1 " */
    MOST_SIDE = 12, /* cells */
    LEAST_SIDE = 4, /* of heads beside each other, below which they wrap */
    N_OTHER = 2,    /* lines of header and legend */
    LEGEND_GAP = 8
};

static const struct attn_level_matrix *find(const struct attn_thumbnails *t, size_t down,
                                            size_t across)
{
    const bool is_arrays = t->map->writer->labels.axes;
    const int layer = is_arrays ? 0 : (int)down;
    const int head = (int)(is_arrays ? down * t->n_across + across : across);

    return attn_levels_find(t->levels, t->site, layer, head);
}

/* --- Planning -------------------------------------------------------------------------------- */

static size_t divide_up(size_t n, size_t by)
{
    return n == 0 ? 0 : (n - 1) / by + 1;
}

/* How many cells of a matrix, each way, are one of its thumbnail. */
static size_t pooling_of(const struct attn_thumbnails *t, const struct attn_level_matrix *matrix)
{
    const size_t largest =
        matrix->n_cell_row > matrix->n_cell_column ? matrix->n_cell_row : matrix->n_cell_column;

    return largest <= t->side ? 1 : divide_up(largest, t->side);
}

/* Lines of the heads FIRST and on of a layer that stand beside each other. */
static size_t block_lines(const struct attn_thumbnails *t, size_t down, size_t first)
{
    size_t most = 0;

    for (size_t across = first; across < first + t->n_at_once && across < t->n_across; across++) {
        const struct attn_level_matrix *matrix = find(t, down, across);
        const size_t n =
            matrix ? divide_up(divide_up(matrix->n_cell_row, pooling_of(t, matrix)), 2) : 0;

        most = n > most ? n : most;
    }
    return most;
}

static size_t count_lines(const struct attn_thumbnails *t)
{
    size_t n = N_OTHER;

    for (size_t down = 0; down < t->n_down; down += t->step)
        for (size_t first = 0; first < t->n_across; first += t->n_at_once)
            n += block_lines(t, down, first);
    return n;
}

/* As many heads beside each other as have room. */
static void set_side(struct attn_thumbnails *t, size_t side)
{
    const size_t n = (t->map->width - LEFT) / (side + 1);

    t->side = side;
    t->n_at_once = n < 1 ? 1 : n < t->n_across ? n : t->n_across;
    t->n_line = count_lines(t);
}

void attn_thumbnails_plan(struct attn_thumbnails *t, struct attn_heatmap *map,
                          const struct attn_levels *levels, enum attn_site site, size_t most_lines)
{
    const struct attn_labels *labels = &map->writer->labels;
    const struct attn_dims *dims = attn_selection_dims(labels->selection);
    const size_t n_batch = labels->axes ? labels->axes->n_batch : 1;
    size_t largest = 1, side; /* of the largest matrix */

    *t = (struct attn_thumbnails){.map = map,
                                  .levels = levels,
                                  .site = site,
                                  .n_down = labels->axes ? n_batch : dims->n_layer,
                                  .n_across = dims->n_head / n_batch,
                                  .step = 1,
                                  .pitch = 2};
    for (size_t i = 0; i < levels->n; i++) {
        const struct attn_level_matrix *m = &levels->items[i];

        if (m->site != site)
            continue;
        largest = m->n_cell_row > largest ? m->n_cell_row : largest;
        largest = m->n_cell_column > largest ? m->n_cell_column : largest;
    }
    side = (map->width - LEFT) / t->n_across;
    side = side > LEAST_SIDE ? side - 1 : LEAST_SIDE;
    side = side < MOST_SIDE ? side : MOST_SIDE;
    set_side(t, largest < side ? largest : side);
    while (t->n_line > most_lines && t->side > 1)
        set_side(t, t->side - 1);
    while (t->n_line > most_lines && t->step < t->n_down) {
        t->step++;
        t->n_line = count_lines(t);
    }
    for (size_t i = 0; i < levels->n; i++) { /* one column between two */
        const struct attn_level_matrix *m = &levels->items[i];
        const size_t width = m->site == site ? divide_up(m->n_cell_column, pooling_of(t, m)) : 0;

        t->pitch = width + 1 > t->pitch ? width + 1 : t->pitch;
    }
}

/* --- Drawing --------------------------------------------------------------------------------- */

/* "  head  0       1"; numbers that have no room are left out. */
static enum attn_status draw_header(const struct attn_thumbnails *t, struct attn_error *err)
{
    size_t at = 0;

    attn_color_line_string(&t->map->line, "  head  ");
    for (size_t across = 0; across < t->n_at_once; across++) {
        const size_t column = across * t->pitch;

        if (at > column)
            continue;
        attn_color_line_blanks(&t->map->line, column - at);
        attn_buffer_append_format(&t->map->label, "%zu ", across);
        at = column + t->map->label.size;
        attn_heatmap_put_label(t->map);
    }
    return attn_heatmap_end_line(t->map, err);
}

/* A line of the heads FIRST and on of a layer, after "layer 1 ", "layer10 ", "batch 0 ", or
 * " head14 " of heads that have wrapped, in LEFT columns; these are blank below the first line. */
static enum attn_status draw_line(const struct attn_thumbnails *t, size_t down, size_t first,
                                  size_t line, struct attn_error *err)
{
    struct attn_heatmap *map = t->map;
    const struct attn_array_axes *axes = map->writer->labels.axes;
    size_t n_left;

    if (line == 0 && first > 0)
        attn_buffer_append_format(&map->label, " head%2zu", first);
    else if (line == 0 && (!axes || axes->rank == 4))
        attn_buffer_append_format(&map->label, "%s%2zu", axes ? "batch" : "layer", down);
    n_left = map->label.size;
    attn_heatmap_put_label(map);
    attn_color_line_blanks(&map->line, n_left < LEFT ? LEFT - n_left : 0);
    for (size_t across = first; across < first + t->n_at_once && across < t->n_across; across++) {
        const struct attn_level_matrix *matrix = find(t, down, across);
        size_t used = 0;

        if (matrix) {
            const struct attn_heatmap_colors colors = attn_heatmap_colors(map, matrix);
            const size_t k = pooling_of(t, matrix);

            for (; used < divide_up(matrix->n_cell_column, k); used++)
                attn_heatmap_half(map, matrix, &colors, k, 2 * line, used);
        }
        attn_color_line_blanks(&map->line, t->pitch - used);
    }
    return attn_heatmap_end_line(map, err);
}

/* "queries down, keys across        0 ░▒▓█ 1, square root", and what is not as it seems. */
static enum attn_status draw_legend(const struct attn_thumbnails *t, struct attn_error *err)
{
    struct attn_heatmap *map = t->map;
    const struct attn_heatmap_colors colors = attn_heatmap_colors(map, &t->levels->items[0]);
    size_t k = 1;

    for (size_t i = 0; i < t->levels->n; i++) {
        const struct attn_level_matrix *m = &t->levels->items[i];
        const size_t of_matrix = m->site == t->site ? m->k * pooling_of(t, m) : 1;

        k = of_matrix > k ? of_matrix : k;
    }
    attn_color_line_string(&map->line, "queries down, keys across");
    if (k > 1)
        attn_buffer_append_format(&map->label, ", the largest of %zu x %zu", k, k);
    attn_heatmap_put_label(map);
    attn_color_line_blanks(&map->line, k > 1 || t->step > 1 ? 3 : LEGEND_GAP);
    attn_heatmap_append_ramp(map, &colors);
    if (t->step > 1)
        attn_buffer_append_format(&map->label, "; one layer of %zu", t->step);
    return attn_heatmap_end_line(map, err);
}

enum attn_status attn_thumbnails_draw(const struct attn_thumbnails *t, struct attn_error *err)
{
    ATTN_TRY(draw_header(t, err));
    for (size_t down = 0; down < t->n_down;
         down += t->step) /* a layer without heads has no lines */
        for (size_t first = 0; first < t->n_across; first += t->n_at_once)
            for (size_t line = 0, n = block_lines(t, down, first); line < n; line++)
                ATTN_TRY(draw_line(t, down, first, line, err));
    return draw_legend(t, err);
}
