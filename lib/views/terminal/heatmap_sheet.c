/* heatmap_sheet.c - see heatmap_internal.h: the layout of a sheet, for matrices, thumbnails
 * and lists. */
#include "terminal/heatmap_internal.h"

#include <string.h>

enum { LEAST_GAP = 2, MOST_GAP = 4 }; /* columns between two rows that stand side by side */

/* Returns the text column of cell COLUMN on a line that begins with cell FIRST. */
static size_t find_column(const struct attn_sheet *sheet, size_t first, size_t column)
{
    const size_t n = column - first;

    return sheet->left + n * sheet->pitch +
           (column >= sheet->border && sheet->border > first ? 2 : 0);
}

bool attn_sheet_fit(struct attn_sheet *sheet, size_t most, size_t cell_width, size_t pitch,
                    size_t n_beside)
{
    const size_t gap = pitch - cell_width, n_column = sheet->n_column;
    const size_t room = most + gap > sheet->left ? most + gap - sheet->left : 0;
    size_t needed, spare;

    sheet->cell_width = cell_width;
    sheet->pitch = pitch;
    sheet->n = room / pitch;
    sheet->n_beside = 1;
    sheet->gap = 0;
    if (sheet->n < n_column) {
        sheet->n = sheet->n > 0 ? sheet->n : 1;
        sheet->width = sheet->left + sheet->n * pitch - gap;
        return false;
    }
    sheet->n = n_column;
    sheet->width = find_column(sheet, 0, n_column - 1) + cell_width;
    needed = n_beside * sheet->width + (n_beside - 1) * LEAST_GAP;
    if (needed > most)
        return false;
    spare = n_beside > 1 ? (most - needed) / (n_beside - 1) : 0;
    sheet->n_beside = n_beside;
    sheet->gap = LEAST_GAP + spare < MOST_GAP ? LEAST_GAP + spare : MOST_GAP;
    return true;
}

/* Returns the number of rows below each other; rows side by side count once. */
static size_t n_down(const struct attn_sheet *sheet)
{
    return attn_divide_up(sheet->n_row, sheet->n_beside);
}

/* Returns the lines of the cells from FIRST on of ROW and of the rows beside it. */
static size_t count_lines(const struct attn_sheet *sheet, size_t row, size_t first)
{
    size_t most = sheet->count_lines ? 0 : 1;

    for (size_t i = row; sheet->count_lines && i < sheet->n_row; i += n_down(sheet)) {
        const size_t n = sheet->count_lines(sheet->of, i, first);

        most = n > most ? n : most;
    }
    return most;
}

size_t attn_sheet_n_line(const struct attn_sheet *sheet)
{
    size_t n = sheet->border_row > 0;

    for (size_t row = 0; row < n_down(sheet); row++)
        for (size_t first = 0; first < sheet->n_column; first += sheet->n)
            n += count_lines(sheet, row, first);
    return n;
}

/* Draws the column labels and the corner above the first line of cells, once for each of the rows
 * side by side. */
static enum attn_status draw_labels(struct attn_heatmap *map, const struct attn_sheet *sheet,
                                    struct attn_error *err)
{
    const size_t last = sheet->n_column < sheet->n ? sheet->n_column : sheet->n;

    for (size_t i = 0, at = 0; i < sheet->n_beside; i++) {
        const size_t left = i * (sheet->width + sheet->gap);

        attn_color_line_blanks(&map->line, left + sheet->corner_at - at);
        attn_color_line_string(&map->line, sheet->corner);
        at = left + sheet->corner_at + strlen(sheet->corner);
        for (size_t c = 0; c < last; c += sheet->label_step) {
            const size_t used = sheet->make_label(map, sheet->of, c);
            const size_t width = sheet->cell_width;
            size_t column = left + find_column(sheet, 0, c);

            if (sheet->is_right && used < width)
                column += width - used;
            if (at + (c > 0) > column || (c > 0 && column + used > sheet->most_label_end)) {
                map->label.size = 0;
                continue;
            }
            attn_color_line_blanks(&map->line, column - at);
            attn_heatmap_put_label(map);
            at = column + used;
        }
    }
    return attn_heatmap_end_line(map, err);
}

/* Prints the label of a layer ("layer 1", "cross 1") or of a batch of arrays ("batch 0"); for heads
 * that wrapped to a further line " head14". Returns its columns. */
static size_t put_layer(struct attn_heatmap *map, size_t layer, size_t first)
{
    const struct attn_labels *labels = &map->writer->labels;
    const struct attn_location at =
        attn_layer_at(attn_selection_dims(labels->selection), ATTN_SITE_PATTERN, layer);
    size_t used;

    if (first > 0)
        attn_buffer_append_format(&map->label, " head%2zu", first);
    else if (!labels->axes)
        attn_buffer_append_format(&map->label, "%s%2d",
                                  at.stack == ATTN_STACK_CROSS ? "cross" : "layer", at.layer);
    else if (labels->axes->rank == 4)
        attn_buffer_append_format(&map->label, "batch%2zu", layer);
    used = map->label.size;
    attn_heatmap_put_label(map);
    return used;
}

/* Prints one LINE of the cells from FIRST on of ROW. Returns the columns. */
static size_t put_row(struct attn_heatmap *map, const struct attn_sheet *sheet, size_t row,
                      size_t first, size_t line)
{
    size_t used = sheet->put_edge
                      ? sheet->put_edge(map, sheet->of, (struct attn_sheet_spot){row, first, line})
                  : line == 0 ? put_layer(map, sheet->layers ? sheet->layers[row] : row, first)
                              : 0;

    for (size_t c = first; c < first + sheet->n && c < sheet->n_column; c++) {
        const size_t column = find_column(sheet, first, c);

        attn_color_line_blanks(&map->line, used < column ? column - used : 0);
        used = column + sheet->put_cell(map, sheet->of, (struct attn_sheet_spot){row, c, line});
    }
    return used;
}

enum attn_status attn_sheet_draw(struct attn_heatmap *map, const struct attn_sheet *sheet,
                                 struct attn_error *err)
{
    ATTN_TRY(draw_labels(map, sheet, err));
    if (map->is_counting) {
        map->n_line += attn_sheet_n_line(sheet);
        return ATTN_OK;
    }
    for (size_t row = 0; row < n_down(sheet); row++) {
        if (row > 0 && row == sheet->border_row)
            ATTN_TRY(attn_heatmap_end_line(map, err));
        for (size_t first = 0; first < sheet->n_column; first += sheet->n)
            for (size_t line = 0, n = count_lines(sheet, row, first); line < n; line++) {
                for (size_t i = row, at = 0; i < sheet->n_row; i += n_down(sheet)) {
                    const size_t left = i / n_down(sheet) * (sheet->width + sheet->gap);

                    attn_color_line_blanks(&map->line, left - at);
                    at = left + put_row(map, sheet, i, first, line);
                }
                ATTN_TRY(attn_heatmap_end_line(map, err));
            }
    }
    return ATTN_OK;
}

/* A make_label for columns without names: writes the column number. */
static size_t make_number(struct attn_heatmap *map, const void *of, size_t column)
{
    (void)of;
    attn_buffer_append_format(&map->label, "%zu", column);
    return map->label.size;
}

struct attn_sheet attn_sheet_of_heads(const void *of, size_t n_layer, size_t n_head,
                                      size_t most_columns)
{
    return (struct attn_sheet){.of = of,
                               .n_row = n_layer,
                               .n_column = n_head,
                               .left = n_layer > 100 ? sizeof "layer 100" : sizeof "layer 1",
                               .corner_at = strlen("  "),
                               .corner = "head",
                               .label_step = 1,
                               .most_label_end = most_columns,
                               .make_label = make_number};
}
