/* table_parts.c - columns of a table side by side, each with its own scale. */
#include "grid/table_cells_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/table_internal.h"

#include <inttypes.h>
#include <math.h>

static bool has_numbers(const struct attn_table *table, size_t column)
{
    const enum attn_value_type type = attn_table_column(table, column)->type;

    return type == ATTN_VALUE_INTEGER || type == ATTN_VALUE_REAL || type == ATTN_VALUE_REALS;
}

/* Reads the rows: position, name and mark. A row without a position is set apart. Positions are
 * those of the text, or with ATTN_ROLE_KEY those of the source. */
static enum attn_status read_rows(const struct attn_table *table,
                                  const struct attn_table_picture *picture,
                                  struct attn_table_cells *cells, struct attn_error *err)
{
    const bool is_source = attn_table_has_role(table, cells->of.rows, ATTN_ROLE_KEY);
    const struct attn_token_texts *tokens = picture->run ? &cells->tokens[is_source] : NULL;
    const size_t n = attn_table_n_row(table);
    struct attn_table_axis *rows = &cells->rows;
    bool has_texts = false;

    if (tokens)
        ATTN_TRY(attn_table_read_tokens(picture, cells->tokens, err));
    ATTN_TRY(attn_table_axis_create(rows, n, n, err));
    ATTN_TRY(ATTN_ALLOC(cells->marks, n, err));
    for (size_t i = 0; i < n; i++) {
        const struct attn_cell position = attn_table_cell(table, i, cells->of.rows);
        const bool has_position = position.type == ATTN_VALUE_INTEGER;
        const bool has_text = !attn_table_is_missing(table, i, cells->of.texts);

        rows->of_rows[i] = i;
        rows->positions[i] = has_position ? (size_t)position.integer : ATTN_GRID_NO_POSITION;
        rows->begins[i] = i > 0 && has_position != (rows->positions[i - 1] < ATTN_GRID_NO_POSITION);
        cells->marks[i] = !attn_table_is_missing(table, i, cells->of.marks);
        has_texts |= has_text && has_position;
        if (attn_grid_is_position(&position, tokens)) {
            size_t size;
            const char *token = attn_token_text(tokens, (size_t)position.integer, &size);

            attn_buffer_append(&rows->texts.bytes, token, size);
        } else {
            attn_grid_append_cell(&rows->texts.bytes, table, i,
                                  has_text ? cells->of.texts : cells->of.rows);
        }
        rows->texts.ends[rows->texts.n++] = rows->texts.bytes.size;
    }
    rows->axis = attn_table_named_axis(rows, attn_table_column_name(table, cells->of.rows));
    rows->axis.positions = rows->positions;
    rows->axis.begins = rows->begins;
    rows->axis.is_named = !has_texts;
    return attn_buffer_check(&rows->texts.bytes, err);
}

/* Reads column C of the table into PART and MATRIX. */
static enum attn_status read_part(const struct attn_table *table, size_t c,
                                  struct attn_color_scale asked, struct attn_grid_part *part,
                                  struct attn_level_matrix *matrix, struct attn_error *err)
{
    const struct attn_column *column = attn_table_column(table, c);
    const size_t n_row = attn_table_n_row(table);
    const bool is_list = column->type == ATTN_VALUE_REALS;
    size_t n = is_list ? 0 : 1;

    *part = (struct attn_grid_part){
        .name = column->name,
        .quantity = column->quantity ? column->quantity : column->name,
        .look = is_list                                ? ATTN_LOOK_CELLS
                : column->range == ATTN_RANGE_SHARE    ? ATTN_LOOK_SHARE
                : column->range == ATTN_RANGE_POSITIVE ? ATTN_LOOK_BAR
                                                       : ATTN_LOOK_NUMBER,
        .scale =
            attn_color_scale_of(is_list ? ATTN_COLOR_SCALE_DEFAULT : asked, column->range, false),
        .digits = column->digits};
    for (size_t i = 0; is_list && i < n_row; i++) {
        const size_t size = attn_table_cell(table, i, c).size;

        n = size > n ? size : n;
    }
    ATTN_TRY(attn_level_matrix_create(n_row, n, matrix, err));
    for (size_t i = 0; i < n_row; i++) {
        const struct attn_cell cell = attn_table_cell(table, i, c);

        for (size_t k = 0; is_list && k < cell.size; k++)
            attn_level_matrix_put(matrix, i, k, (float)cell.reals[k]);
        if (!is_list && cell.type != ATTN_VALUE_MISSING)
            attn_level_matrix_put(matrix, i, 0, attn_table_number(table, i, c));
    }
    return ATTN_OK;
}

enum attn_status attn_table_parts_read(const struct attn_table *table,
                                       const struct attn_table_picture *picture,
                                       struct attn_color_scale asked,
                                       struct attn_table_cells *cells, struct attn_error *err)
{
    const size_t n_column = attn_table_n_column(table);
    struct attn_grid *grid = &cells->grid;

    if (cells->of.rows == SIZE_MAX || cells->of.texts == SIZE_MAX || cells->of.values == SIZE_MAX)
        return attn_error_set(err, ATTN_INVALID, "the table lacks a column to be drawn by");
    ATTN_TRY(read_rows(table, picture, cells, err));
    ATTN_TRY(ATTN_ALLOC(cells->parts, n_column, err));
    ATTN_TRY(ATTN_ALLOC(cells->matrices, n_column, err));
    for (size_t c = cells->of.values; c < n_column; c++)
        if (has_numbers(table, c)) {
            ATTN_TRY(
                read_part(table, c, asked, &cells->parts[grid->n], &cells->matrices[grid->n], err));
            grid->n++;
        }
    if (grid->n == 0)
        return attn_error_set(err, ATTN_INVALID, "the table has no numbers to draw");
    grid->matrices = cells->matrices;
    grid->parts = cells->parts;
    grid->marks = cells->marks;
    grid->rows = &cells->rows.axis;
    grid->columns = &cells->columns.axis;
    grid->name = attn_table_name(table);
    grid->model = picture->model;
    grid->title = picture->view.quantity;
    grid->note = picture->note;
    grid->scale = attn_color_scale_of(ATTN_COLOR_SCALE_DEFAULT, ATTN_RANGE_SIGNED, false);
    return ATTN_OK;
}
