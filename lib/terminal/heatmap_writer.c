/*
 * heatmap_writer.c - heat maps for reading: of matrices one below the other, the thumbnails of all
 * (--figure grid), or the text coloured by one row (--figure tokens); and of a column of a table.
 */
#include "terminal/thumbnails.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status_internal.h"
#include "encode/text_table.h"
#include "figures/figure_internal.h"
#include "output/picture_internal.h"
#include "trace/site_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LABEL_WIDTH = 14, NUMBER_SIZE = 32, N_SHADE = 5 };

struct heatmap_writer {
    struct attn_writer base;
    struct attn_heatmap map;
    struct attn_levels *levels; /* owns */
    size_t *rows_left;          /* [attn_levels_n] owns; rows of each matrix that are to come */
    enum attn_figure figure;    /* matrix, grid or tokens */
    bool has_printed;           /* so that the next matrix has an empty line before it */
};

/* --- Opening --------------------------------------------------------------------------------- */

static enum attn_status refuse_figure(enum attn_figure figure, struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID,
                   "'--figure %s' is not drawn as text, expected matrix, grid "
                   "or tokens",
                   attn_figure_name(figure));
    attn_error_hint(err, "--svg FILE draws it");
    return ATTN_INVALID;
}

static enum attn_status check_tokens(const struct heatmap_writer *w, struct attn_error *err)
{
    if (attn_levels_n(w->levels) == 1 && w->base.n_query == 1)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "'--figure tokens' draws one row of one head, and %zu rows of %zu are selected",
                   w->base.n_query, attn_levels_n(w->levels));
    attn_error_hint(err, "choose one of each, as with --heads 0.0 --queries -1");
    return ATTN_INVALID;
}

static enum attn_status open_heatmap(struct attn_writer *writer, struct attn_error *err)
{
    struct heatmap_writer *w = (struct heatmap_writer *)writer;
    const struct attn_levels_limits whole = {.n_row = SIZE_MAX, .n_column = SIZE_MAX};
    struct attn_levels_limits limits = attn_heatmap_limits(writer);

    ATTN_TRY(attn_heatmap_init(&w->map, writer, writer->sink, err));
    writer->is_in_order = true;
    w->figure = writer->options.picture->figure;
    if (w->figure == ATTN_FIGURE_DEFAULT)
        w->figure = ATTN_FIGURE_MATRIX;
    if (w->figure == ATTN_FIGURE_TOKENS || writer->options.picture->values == ATTN_CELL_TEXT_ALWAYS)
        limits = whole;
    if (w->figure != ATTN_FIGURE_MATRIX && w->figure != ATTN_FIGURE_GRID &&
        w->figure != ATTN_FIGURE_TOKENS)
        return refuse_figure(w->figure, err);
    ATTN_TRY(attn_levels_create(writer, attn_heatmap_sites(writer), &limits, &w->levels, err));
    if (w->figure == ATTN_FIGURE_TOKENS)
        ATTN_TRY(check_tokens(w, err));
    w->rows_left = attn_alloc(attn_levels_n(w->levels), sizeof *w->rows_left, err);
    if (!w->rows_left)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < attn_levels_n(w->levels); i++)
        w->rows_left[i] = attn_levels_at(w->levels, i)->n_row;
    return ATTN_OK;
}

/* --- Tokens ---------------------------------------------------------------------------------- */

/* What stands after a token where there are no colours. */
static void make_percent(struct attn_heatmap *map, enum attn_cell_kind kind, float value)
{
    map->label.size = 0;
    if (map->line.depth != ATTN_DEPTH_NONE || kind == ATTN_CELL_MASKED)
        return;
    if (kind == ATTN_CELL_VALUE && lround(100 * (double)value) != 0)
        attn_buffer_append_format(&map->label, "(%ld)", lround(100 * (double)value));
    else if (kind != ATTN_CELL_VALUE)
        attn_buffer_append_string(&map->label, kind == ATTN_CELL_HIDDEN ? "(--)" : "(!!)");
}

/*
 * Draws MATRIX, which has one row and is not pooled, as the text of its columns in lines of the
 * map's width, each token on the colour of its weight; without colours the percent stands after the
 * token: The(13) keys(79). The query's own token is underlined. ATTN_INVALID when its columns have
 * no texts.
 */
static enum attn_status draw_tokens(struct attn_heatmap *map,
                                    const struct attn_level_matrix *matrix, struct attn_error *err)
{
    const struct attn_heatmap_colors colors = attn_heatmap_colors(map->writer, matrix);
    const bool has_own = attn_writer_has_own_keys(map->writer, matrix->layer);
    const struct attn_token_texts *texts = has_own ? &map->tokens : &map->source_tokens;
    size_t used = 0;

    if (!attn_site_has_keys(matrix->site) || texts->n == 0)
        return attn_error_set(err, ATTN_INVALID, "'%s' has no tokens to be drawn as",
                              attn_site_name(matrix->site));
    for (size_t key = 0; key < texts->n; key++) {
        float value = 0;
        const enum attn_cell_kind kind = attn_level_cell(matrix, 0, key, &value);
        struct attn_paint paint = ATTN_PAINT_NONE;
        size_t size;
        const char *text = attn_token_text(texts, key, &size);

        make_percent(map, kind, value);
        if (used > 0 && used + attn_text_width(text, size) + map->label.size > map->width) {
            ATTN_TRY(attn_color_line_write(&map->line, map->sink, err));
            used = 0;
        }
        if (used == 0 && size > 0 && *text == ' ')
            text++, size--;
        if (kind == ATTN_CELL_VALUE)
            paint = attn_heatmap_paint(&colors, (double)value, map->line.depth);
        paint.is_underlined = has_own && key == map->writer->queries[0];
        attn_color_line_paint(&map->line, paint);
        attn_color_line_append(&map->line, text, size);
        attn_color_line_paint(&map->line, ATTN_PAINT_NONE);
        attn_color_line_append(&map->line, map->label.data, map->label.size);
        used += attn_text_width(text, size) + map->label.size;
    }
    return attn_color_line_write(&map->line, map->sink, err);
}

/* --- Drawing --------------------------------------------------------------------------------- */

static enum attn_status draw_title(struct heatmap_writer *w, struct attn_error *err)
{
    const char *title = w->base.options.picture->title;

    if (!title || !*title)
        return ATTN_OK;
    w->map.label.size = 0;
    attn_escape_append(&w->map.label, title, strlen(title));
    attn_color_line_append(&w->map.line, w->map.label.data, w->map.label.size);
    w->has_printed = true;
    return attn_color_line_write(&w->map.line, w->base.sink, err);
}

static enum attn_status draw_matrix(struct heatmap_writer *w, size_t i, struct attn_error *err)
{
    const struct attn_level_matrix *matrix = attn_levels_at(w->levels, i);
    const bool is_last = i + 1 == attn_levels_n(w->levels);

    if (i == 0)
        ATTN_TRY(draw_title(w, err));
    if (w->has_printed)
        attn_sink_write(w->base.sink, "\n", 1);
    w->has_printed = true;
    /* one matrix has no name where there is a title */
    if (!w->base.options.picture->title || attn_levels_n(w->levels) > 1)
        ATTN_TRY(attn_heatmap_name(&w->map, matrix, err));
    ATTN_TRY(
        (w->figure == ATTN_FIGURE_TOKENS ? draw_tokens : attn_heatmap_draw)(&w->map, matrix, err));
    if (is_last || attn_heatmap_has_own_range(&w->map, matrix))
        ATTN_TRY(attn_heatmap_legend(&w->map, matrix, err));
    attn_levels_drop(w->levels, i);
    return ATTN_OK;
}

static enum attn_status event_heatmap(struct attn_writer *writer,
                                      const struct attn_trace_event *event,
                                      const struct attn_place *place, struct attn_error *err)
{
    struct heatmap_writer *w = (struct heatmap_writer *)writer;

    ATTN_TRY(attn_levels_take(w->levels, event, place, err));
    if (w->figure == ATTN_FIGURE_GRID)
        return ATTN_OK;
    for (size_t i = 0; i < attn_levels_n(w->levels); i++) {
        const struct attn_level_matrix *m = attn_levels_at(w->levels, i);

        if (m->site != event->site || m->layer != event->layer || m->head != event->head)
            continue;
        w->rows_left[i] -= event->n_row;
        return w->rows_left[i] == 0 ? draw_matrix(w, i, err) : ATTN_OK;
    }
    return ATTN_OK;
}

static enum attn_status draw_grids(struct heatmap_writer *w, struct attn_error *err)
{
    const attn_site_set sites = attn_heatmap_sites(&w->base);

    ATTN_TRY(draw_title(w, err));
    for (int i = 0; i < ATTN_N_SITE; i++) {
        const enum attn_site site = attn_site_order[i];
        struct attn_thumbnails thumbnails;

        if (!(sites & ATTN_SITE_BIT(site)) || !attn_site_has_heads(site))
            continue;
        attn_thumbnails_plan(&thumbnails, &w->map, w->levels, site, SIZE_MAX);
        if (w->has_printed)
            attn_sink_write(w->base.sink, "\n", 1);
        w->has_printed = true;
        ATTN_TRY(attn_thumbnails_draw(&thumbnails, err));
    }
    return ATTN_OK;
}

static enum attn_status finish_heatmap(struct attn_writer *writer, struct attn_error *err)
{
    struct heatmap_writer *w = (struct heatmap_writer *)writer;

    if (w->figure == ATTN_FIGURE_GRID)
        ATTN_TRY(draw_grids(w, err));
    return attn_buffer_check(&w->map.label, err);
}

static void release_heatmap(struct attn_writer *writer)
{
    struct heatmap_writer *w = (struct heatmap_writer *)writer;

    attn_heatmap_release(&w->map);
    attn_levels_free(w->levels);
    attn_free(w->rows_left);
}

/* --- Columns of tables ----------------------------------------------------------------------- */

/*
 *     fable: change
 *     layer      0     1     2
 *         0   -0.1  -2.5   0.3
 *         1    0.0   0.1  -1.2
 *     colors:  -2.5  -1.2  0  1.2  2.5  linear
 */
struct table_map {
    const struct attn_figure_grid *grid;
    const struct attn_picture_options *picture;
    struct attn_heatmap_colors colors;
    struct attn_sink *sink;
    struct attn_color_line line;
    struct attn_buffer scratch;
    size_t width;       /* of the terminal */
    size_t label_width; /* of rows, position and name */
    size_t cell_width;
};

/* Appends the name of row or column I, cut, to the scratch. Returns its columns. */
static size_t append_name(struct table_map *table, const struct attn_figure_axis *axis, size_t i)
{
    size_t size = 0;
    const char *text = attn_token_text(axis->texts, i, &size);

    for (; size > 0 && *text == ' '; size--)
        text++;
    size = attn_text_fit(text, size, LABEL_WIDTH);
    attn_buffer_append(&table->scratch, text, size);
    return attn_text_width(text, size);
}

/* The label of row or column I: its position and, of rows, its name; or its name alone. */
static size_t make_label(struct table_map *table, const struct attn_figure_axis *axis, size_t i,
                         bool has_name)
{
    char position[NUMBER_SIZE];
    const size_t n = (size_t)snprintf(position, sizeof position, "%zu", axis->positions[i]);

    table->scratch.size = 0;
    if (!axis->is_named)
        attn_buffer_append(&table->scratch, position, n);
    if (!axis->texts || !(has_name || axis->is_named))
        return n;
    if (!axis->is_named)
        attn_buffer_append_char(&table->scratch, ' ');
    return append_name(table, axis, i) + (axis->is_named ? 0 : n + 1);
}

static void append_right(struct table_map *table, size_t used, size_t width)
{
    attn_color_line_blanks(&table->line, used < width ? width - used : 0);
    attn_color_line_append(&table->line, table->scratch.data ? table->scratch.data : "",
                           table->scratch.size);
}

static size_t print_value(const struct table_map *table, enum attn_cell_kind kind, float value,
                          char text[ATTN_FIXED_TEXT_SIZE])
{
    if (kind != ATTN_CELL_VALUE)
        return (size_t)snprintf(text, ATTN_FIXED_TEXT_SIZE, "%s",
                                kind == ATTN_CELL_NOT_FINITE ? "!!" : "");
    if (table->grid->is_share)
        return round(100 * (double)value) == 0
                   ? (size_t)snprintf(text, ATTN_FIXED_TEXT_SIZE, ".")
                   : (size_t)snprintf(text, ATTN_FIXED_TEXT_SIZE, "%.0f",
                                      round(100 * (double)value));
    return attn_figure_grid_text(table->grid, value, text);
}

static bool has_values(const struct table_map *table)
{
    return table->picture->values != ATTN_CELL_TEXT_NEVER;
}

static void find_widths(struct table_map *table)
{
    const struct attn_level_matrix *matrix = &table->grid->matrix;
    char text[ATTN_FIXED_TEXT_SIZE];
    float value = 0;

    table->label_width = strlen(table->grid->rows->title);
    for (size_t r = 0; r < matrix->n_cell_row; r++) {
        const size_t width = make_label(table, table->grid->rows, r, true);

        table->label_width = width > table->label_width ? width : table->label_width;
    }
    table->cell_width = 2;
    for (size_t c = 0; c < matrix->n_cell_column; c++) {
        const size_t width = make_label(table, table->grid->columns, c, false);

        table->cell_width = width > table->cell_width ? width : table->cell_width;
        for (size_t r = 0; has_values(table) && r < matrix->n_cell_row; r++) {
            const enum attn_cell_kind kind = attn_level_cell(matrix, r, c, &value);
            const size_t n = print_value(table, kind, value, text);

            table->cell_width = n > table->cell_width ? n : table->cell_width;
        }
    }
}

/* What stands for a cell whose number is not shown, where there are no colors: a shade, twice. */
static void append_shade(struct table_map *table, double value)
{
    static const char *const shades[N_SHADE] = {" ", "\xe2\x96\x91", "\xe2\x96\x92", "\xe2\x96\x93",
                                                "\xe2\x96\x88"};
    static const char *const plain[N_SHADE] = {" ", ".", ":", "*", "#"};
    const struct attn_color_scale *scale = &table->colors.scale;
    const double place = attn_color_place(scale, table->colors.range, value);
    const double size = scale->is_signed ? fabs(2 * place - 1) : place;
    const size_t step = (size_t)lround((N_SHADE - 1) * size);

    attn_color_line_blanks(&table->line, table->cell_width - 2);
    for (int i = 0; i < 2; i++)
        attn_color_line_string(&table->line, table->picture->is_plain ? plain[step] : shades[step]);
}

static void append_number(struct table_map *table, size_t row, size_t column)
{
    char text[ATTN_FIXED_TEXT_SIZE] = "";
    float value = 0;
    const enum attn_cell_kind kind = attn_level_cell(&table->grid->matrix, row, column, &value);
    const bool is_value = kind == ATTN_CELL_VALUE;

    attn_color_line_blanks(&table->line, 1);
    if (is_value && !has_values(table) && table->line.depth == ATTN_DEPTH_NONE) {
        append_shade(table, (double)value);
        return;
    }
    table->scratch.size = 0;
    if (has_values(table) || !is_value)
        attn_buffer_append(&table->scratch, text, print_value(table, kind, value, text));
    if (is_value)
        attn_color_line_paint(&table->line,
                              attn_heatmap_paint(&table->colors, (double)value, table->line.depth));
    append_right(table, table->scratch.size, table->cell_width);
    attn_color_line_paint(&table->line, ATTN_PAINT_NONE);
}

static enum attn_status draw_table_title(struct table_map *table, struct attn_error *err)
{
    const char *title = table->picture->title;
    size_t n;

    if (title && *title == '\0')
        return ATTN_OK;
    table->scratch.size = 0;
    if (title) {
        attn_escape_append(&table->scratch, title, strlen(title));
        append_right(table, 0, 0);
        return attn_color_line_write(&table->line, table->sink, err);
    }
    if (table->grid->model) {
        const char *model = attn_path_last(table->grid->model, &n);

        attn_escape_append(&table->scratch, model, n);
        append_right(table, 0, 0);
        attn_color_line_string(&table->line, ": ");
    }
    attn_color_line_string(&table->line, table->grid->name);
    if (table->grid->is_share && has_values(table))
        attn_color_line_string(&table->line, ", in percent");
    return attn_color_line_write(&table->line, table->sink, err);
}

/* "position:  0 The  1 keys" of the columns that have names beside their numbers. */
static enum attn_status draw_names(struct table_map *table, struct attn_error *err)
{
    const struct attn_figure_axis *axis = table->grid->columns;
    const size_t indent = strlen(axis->title) + 1;
    size_t used = indent;

    if (!axis->texts || axis->is_named)
        return ATTN_OK;
    attn_color_line_string(&table->line, axis->title);
    attn_color_line_string(&table->line, ":");
    for (size_t i = 0; i < axis->n; i++) {
        const size_t width = 2 + make_label(table, axis, i, true);

        if (used > indent && used + width > table->width) {
            ATTN_TRY(attn_color_line_write(&table->line, table->sink, err));
            attn_color_line_blanks(&table->line, indent);
            used = indent;
        }
        attn_color_line_blanks(&table->line, 2);
        append_right(table, 0, 0);
        used += width;
    }
    return attn_color_line_write(&table->line, table->sink, err);
}

/* The columns FIRST .. LAST-1. */
static enum attn_status draw_block(struct table_map *table, size_t first, size_t last,
                                   struct attn_error *err)
{
    const struct attn_figure_grid *grid = table->grid;

    table->scratch.size = 0;
    attn_buffer_append_string(&table->scratch, grid->rows->title);
    append_right(table, table->scratch.size, table->label_width);
    for (size_t c = first; c < last; c++)
        append_right(table, make_label(table, grid->columns, c, false), table->cell_width + 1);
    ATTN_TRY(attn_color_line_write(&table->line, table->sink, err));
    for (size_t r = 0; r < grid->matrix.n_cell_row; r++) {
        table->colors.range = attn_level_range(&grid->matrix, &grid->scale, r);
        append_right(table, make_label(table, grid->rows, r, true), table->label_width);
        for (size_t c = first; c < last; c++)
            append_number(table, r, c);
        ATTN_TRY(attn_color_line_write(&table->line, table->sink, err));
    }
    return ATTN_OK;
}

static enum attn_status draw_table(struct table_map *table, struct attn_error *err)
{
    const struct attn_figure_grid *grid = table->grid;
    const size_t n = grid->matrix.n_cell_column;
    size_t n_fit = 0;

    ATTN_TRY(draw_table_title(table, err));
    find_widths(table);
    if (table->width > table->label_width)
        n_fit = (table->width - table->label_width) / (table->cell_width + 1);
    n_fit = n_fit > 0 ? n_fit : 1;
    ATTN_TRY(draw_names(table, err));
    for (size_t c = 0; c < n; c += n_fit) {
        if (c > 0)
            attn_sink_write(table->sink, "\n", 1);
        ATTN_TRY(draw_block(table, c, c + n_fit < n ? c + n_fit : n, err));
    }
    table->colors.range = attn_level_range(&grid->matrix, &grid->scale, 0);
    if (table->colors.scale.span == ATTN_SPAN_MATRIX) /* the ticks say it */
        table->colors.scale.span = ATTN_SPAN_UNIT;
    ATTN_TRY(attn_heatmap_ticks(&table->line, &table->colors, table->sink, err));
    return attn_buffer_check(&table->scratch, err);
}

/* The numbers of a table, each on its colour, columns in as many blocks as the width needs. */
static enum attn_status draw_grid(const struct attn_figure_grid *grid,
                                  const struct attn_picture_options *picture,
                                  struct attn_sink *sink, struct attn_error *err)
{
    struct table_map table = {
        .grid = grid,
        .picture = picture,
        .colors = {.map = attn_picture_colormap(picture, &grid->scale, "viridis"),
                   .theme = picture->theme,
                   .scale = grid->scale},
        .sink = sink,
        .line.depth = picture->depth,
        .width = attn_heatmap_width(picture)};
    const enum attn_status status = draw_table(&table, err);

    attn_color_line_release(&table.line);
    attn_buffer_release(&table.scratch);
    return status;
}

/* --- The format ------------------------------------------------------------------------------- */

static const struct attn_writer_ops ops = {
    .size = sizeof(struct heatmap_writer),
    .open = open_heatmap,
    .event = event_heatmap,
    .finish = finish_heatmap,
    .release = release_heatmap,
    .draw_grid = draw_grid,
};

const struct attn_format attn_heatmap_format = {
    .name = "heatmap",
    .title = "heat map",
    .is_picture = true,
    .draws_differences = true,
    .tensors = &ops,
};
