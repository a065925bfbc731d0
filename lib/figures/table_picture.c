/* table_picture.c - see table_picture.h. The numbers of a table become a matrix with what its rows
 * and columns are called, and that a figure, or text of the format's own. */
#include "figures/table_picture.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "figures/figure_internal.h"
#include "output/format_internal.h"
#include "output/outputs_internal.h"
#include "output/picture_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One side of the matrix. */
struct table_axis {
    struct attn_figure_axis axis;  /* points to what follows */
    struct attn_token_texts texts; /* [axis.n] of rows or columns that have one */
    size_t *positions;             /* [axis.n] owns */
    size_t *of_rows; /* [n_row of the table] owns; where each of its rows goes, SIZE_MAX: nowhere */
};

/* It is not to be copied. */
struct table_cells {
    struct attn_figure_grid figure;
    struct table_axis rows, columns;
};

/* --- Columns of the table ------------------------------------------------------------------ */

static bool find_column(const struct attn_table *table, const char *name, size_t *column)
{
    for (*column = 0; *column < attn_table_n_column(table); ++*column)
        if (strcmp(attn_table_column(table, *column)->name, name) == 0)
            return true;
    return false;
}

static bool is_drawn(const struct attn_column *column)
{
    return column->type == ATTN_VALUE_INTEGER || column->type == ATTN_VALUE_REAL ||
           column->type == ATTN_VALUE_BOOLEAN;
}

/* The column of numbers, which is not one of those that lay them out. */
static enum attn_status find_values(const struct attn_table *table,
                                    const struct attn_table_grid *grid, size_t *column,
                                    struct attn_error *err)
{
    struct attn_buffer names = {0};

    if (find_column(table, grid->values, column) && is_drawn(attn_table_column(table, *column)) &&
        strcmp(grid->values, grid->rows) != 0 && strcmp(grid->values, grid->columns) != 0)
        return ATTN_OK;
    for (size_t i = 0; i < attn_table_n_column(table); i++) {
        const struct attn_column *other = attn_table_column(table, i);

        if (is_drawn(other) && strcmp(other->name, grid->rows) != 0 &&
            strcmp(other->name, grid->columns) != 0)
            attn_buffer_append_format(&names, "%s%s", names.size > 0 ? ", " : "", other->name);
    }
    attn_error_set(err, ATTN_INVALID,
                   "there is no column '%s' of numbers to draw, expected one of %s",
                   attn_quote_string(grid->values).text, names.data ? names.data : "none");
    attn_buffer_release(&names);
    return ATTN_INVALID;
}

/* --- Rows and columns of the picture ------------------------------------------------------- */

/* Columns of the table that say what the rows, or the columns, of the picture are. */
struct axis_columns {
    size_t key;
    size_t other;                          /* of the other axis */
    size_t detail, texts;                  /* SIZE_MAX: none */
    const struct attn_token_texts *tokens; /* NULL unless the detail, or else the key, is a
                                              position */
};

/* A row of the table, by what puts it into a row or a column of the picture. */
struct table_key {
    struct attn_cell cell, detail; /* detail: missing where there is none */
    size_t row;                    /* of the table */
};

static int compare_cells(const struct attn_cell *a, const struct attn_cell *b)
{
    const size_t n = a->size < b->size ? a->size : b->size;
    int order;

    if (a->type != ATTN_VALUE_TEXT)
        return a->integer < b->integer ? -1 : a->integer > b->integer;
    order = n > 0 ? memcmp(a->text, b->text, n) : 0;
    return order != 0 ? order : a->size < b->size ? -1 : a->size > b->size;
}

/* By the cell, then by details that are numbers; texts keep the order in which they came first. */
static int by_cell(const void *a, const void *b)
{
    const struct table_key *x = a, *y = b;
    int order = compare_cells(&x->cell, &y->cell);

    if (order == 0 && x->detail.type == ATTN_VALUE_INTEGER && y->detail.type == ATTN_VALUE_INTEGER)
        order = compare_cells(&x->detail, &y->detail);
    return order != 0 ? order : x->row < y->row ? -1 : x->row > y->row;
}

/* The keys [*n] of the rows of the table that have one, and a cell in the column OTHER; sorted. */
static struct table_key *list_keys(const struct attn_table *table,
                                   const struct axis_columns *columns, size_t *n,
                                   struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(table);
    struct table_key *keys = attn_alloc(n_row, sizeof *keys, err);

    *n = 0;
    for (size_t i = 0; keys && i < n_row; i++) {
        const struct attn_cell cell = attn_table_cell(table, i, columns->key);

        if (cell.type == ATTN_VALUE_MISSING ||
            attn_table_cell(table, i, columns->other).type == ATTN_VALUE_MISSING)
            continue;
        keys[*n] = (struct table_key){cell, attn_cell_missing(), i};
        if (columns->detail != SIZE_MAX)
            keys[*n].detail = attn_table_cell(table, i, columns->detail);
        ++*n;
    }
    if (keys && *n > 0)
        qsort(keys, *n, sizeof *keys, by_cell);
    return keys;
}

/* What the new row or column KEY is called: its detail, a text beside it, the token at the position
 * that it is, or the text it is. A detail that is a number: "position 3", or "3 cat" where that is
 * a token. */
static void append_text(struct table_axis *axis, const struct attn_table *table,
                        const struct table_key *key, const struct axis_columns *columns)
{
    const struct attn_token_texts *tokens = columns->tokens;
    struct attn_buffer *bytes = &axis->texts.bytes;
    const bool has_detail = columns->detail != SIZE_MAX;
    struct attn_cell text = has_detail ? key->detail : key->cell;
    const bool is_token = tokens && text.type == ATTN_VALUE_INTEGER && text.integer >= 0 &&
                          (size_t)text.integer < tokens->n;
    size_t size = 0;
    const char *token = is_token ? attn_token_text(tokens, (size_t)text.integer, &size) : "";

    if (columns->texts != SIZE_MAX)
        text = attn_table_cell(table, key->row, columns->texts);
    if (text.type == ATTN_VALUE_TEXT) {
        attn_escape_append(bytes, text.text, text.size);
    } else if (has_detail && !is_token) {
        attn_buffer_append_format(bytes, "%s %" PRId64,
                                  attn_table_column(table, columns->detail)->name, text.integer);
    } else {
        if (has_detail)
            attn_buffer_append_format(bytes, "%" PRId64 " ", text.integer);
        for (; has_detail && size > 1 && *token == ' '; size--)
            token++;
        attn_buffer_append(bytes, token, size);
    }
    axis->texts.ends[axis->texts.n++] = bytes->size;
}

/* Gives each key its row or column, and each of those its name. */
static void place_keys(struct table_axis *axis, const struct attn_table *table,
                       struct table_key *keys, size_t n, const struct axis_columns *columns)
{
    size_t n_found = 0, begin = 0;

    for (size_t i = 0; i < n; i++) {
        const struct table_key key = keys[i];
        size_t at;

        if (n_found > 0 && compare_cells(&keys[n_found - 1].cell, &key.cell) != 0)
            begin = n_found;
        at = begin; /* the first row or column of its cell */
        while (at < n_found && (compare_cells(&keys[at].cell, &key.cell) != 0 ||
                                compare_cells(&keys[at].detail, &key.detail) != 0))
            at++;
        axis->of_rows[key.row] = at;
        if (at < n_found)
            continue;
        keys[n_found] = key; /* those before are placed */
        axis->positions[n_found++] = key.cell.type == ATTN_VALUE_INTEGER && key.cell.integer > 0
                                         ? (size_t)key.cell.integer
                                         : 0;
        append_text(axis, table, &key, columns);
    }
    axis->axis.n = n_found;
}

static enum attn_status read_axis(const struct attn_table *table,
                                  const struct axis_columns *columns, struct table_axis *axis,
                                  struct attn_error *err)
{
    const struct attn_column *column = attn_table_column(table, columns->key);
    const size_t n_row = attn_table_n_row(table);
    size_t n;
    struct table_key *keys;

    axis->positions = attn_alloc(n_row, sizeof *axis->positions, err);
    axis->of_rows = attn_alloc(n_row, sizeof *axis->of_rows, err);
    axis->texts.ends = attn_alloc(n_row, sizeof *axis->texts.ends, err);
    if (!axis->positions || !axis->of_rows || !axis->texts.ends)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < n_row; i++)
        axis->of_rows[i] = SIZE_MAX;
    keys = list_keys(table, columns, &n, err);
    if (!keys)
        return ATTN_NO_MEMORY;
    place_keys(axis, table, keys, n, columns);
    attn_free(keys);
    axis->axis.title = column->name;
    axis->axis.positions = axis->positions;
    axis->axis.has_own_texts = true;
    axis->axis.is_named = column->type == ATTN_VALUE_TEXT;
    axis->axis.texts = axis->texts.bytes.size > 0 ? &axis->texts : NULL;
    return attn_buffer_check(&axis->texts.bytes, err);
}

/* The column NAME, which may be NULL; SIZE_MAX when there is none. */
static size_t column_or_none(const struct attn_table *table, const char *name)
{
    size_t column;

    return name && find_column(table, name, &column) ? column : SIZE_MAX;
}

/* TOKENS, of grid->run for the axis that has its positions, is empty and for the caller to
 * release. */
static enum attn_status read_axes(const struct attn_table *table,
                                  const struct attn_table_grid *grid, struct table_cells *cells,
                                  struct attn_token_texts *tokens, struct attn_error *err)
{
    const size_t positions = column_or_none(table, grid->positions);
    struct axis_columns rows = {.detail = column_or_none(table, grid->detail), .texts = SIZE_MAX};
    struct axis_columns columns = {.detail = SIZE_MAX, .texts = column_or_none(table, grid->texts)};

    if (!find_column(table, grid->rows, &rows.key) ||
        !find_column(table, grid->columns, &columns.key))
        return attn_error_set(err, ATTN_INVALID,
                              "the table has no columns '%s' and '%s' to be drawn by", grid->rows,
                              grid->columns);
    rows.other = columns.key;
    columns.other = rows.key;
    if (grid->run && positions != SIZE_MAX) {
        rows.tokens = positions == rows.detail ? tokens : NULL;
        columns.tokens = positions == columns.key ? tokens : NULL;
        ATTN_TRY(attn_token_labels_init(tokens, grid->run, err));
    }
    ATTN_TRY(read_axis(table, &rows, &cells->rows, err));
    ATTN_TRY(read_axis(table, &columns, &cells->columns, err));
    if (cells->rows.axis.n == 0)
        return attn_error_set(err, ATTN_INVALID, "the table has no %s and %s to draw", grid->rows,
                              grid->columns);
    return ATTN_OK;
}

/* --- The numbers --------------------------------------------------------------------------- */

/* ASKED is how the user wants the scale. */
static enum attn_status read_cells(const struct attn_table *table,
                                   const struct attn_table_grid *grid,
                                   struct attn_color_scale asked, struct table_cells *cells,
                                   struct attn_error *err)
{
    enum { MOST_DIGITS = 4, MANY = 1000 };
    struct attn_level_matrix matrix = {0};
    struct attn_token_texts tokens[2] = {0};
    const struct attn_column *column;
    enum attn_status status;
    size_t values;
    double most;

    ATTN_TRY(find_values(table, grid, &values, err));
    status = read_axes(table, grid, cells, tokens, err);
    attn_token_texts_release(tokens, 2);
    ATTN_TRY(status);
    ATTN_TRY(attn_level_matrix_create(cells->rows.axis.n, cells->columns.axis.n, &matrix, err));
    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        const size_t row = cells->rows.of_rows[i], at = cells->columns.of_rows[i];
        const struct attn_cell cell = attn_table_cell(table, i, values);
        const double number = cell.type == ATTN_VALUE_REAL ? cell.real : (double)cell.integer;
        float there;

        if (row != SIZE_MAX && at != SIZE_MAX && cell.type != ATTN_VALUE_MISSING &&
            attn_level_cell(&matrix, row, at, &there) == ATTN_CELL_MASKED)
            attn_level_matrix_put(&matrix, row, at, (float)number);
    }
    column = attn_table_column(table, values);
    cells->figure =
        (struct attn_figure_grid){.matrix = matrix,
                                  .rows = &cells->rows.axis,
                                  .columns = &cells->columns.axis,
                                  .name = column->name,
                                  .model = grid->model,
                                  .text = grid->text,
                                  .n_text = grid->n_text,
                                  .scale = attn_color_scale_of(asked, column->range, false),
                                  .is_share = column->range == ATTN_RANGE_SHARE};
    /* so many digits that the largest number has two figures, and none of whole numbers */
    most = fmax(fabs((double)matrix.least), fabs((double)matrix.most));
    if (column->type == ATTN_VALUE_REAL && isfinite(most) && most < MANY)
        cells->figure.digits =
            most > 0 && most < 1 ? (int)fmin(1 - floor(log10(most)), MOST_DIGITS) : 1;
    return ATTN_OK;
}

static void release_axis(struct table_axis *axis)
{
    attn_token_texts_release(&axis->texts, 1);
    attn_free(axis->positions);
    attn_free(axis->of_rows);
}

/* --- Pictures ------------------------------------------------------------------------------ */

enum attn_status attn_table_picture_check(const struct attn_output *output, struct attn_error *err)
{
    const struct attn_format *format;
    enum attn_status status = ATTN_OK;

    if (!attn_is_given(output, "output", err) || !attn_is_given(output->format, "format", err))
        return ATTN_INVALID;
    format = output->format;
    if (!format->tensors || (!format->tensors->draw && !format->tensors->draw_grid)) {
        attn_error_set(err, ATTN_INVALID, "`%s` draws no table", format->name);
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    if (output->path && attn_format_is_directory(format, output->path)) {
        attn_error_set(err, ATTN_INVALID, "'%s' is a directory, a table is one picture",
                       attn_quote_string(output->path).text);
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    if (format->tensors->check)
        status = format->tensors->check(
            output->path ? attn_quote_string(output->path).text : format->name, err);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

/* A picture that is being made. */
struct table_picture {
    struct attn_picture_options options;
    const struct attn_output *output;
    struct table_cells cells;
    struct attn_shapes shapes; /* empty where the format draws the cells themselves */
    struct attn_sink *file;    /* owns; NULL: the output has a sink */
};

static enum attn_status draw(struct table_picture *picture, const struct attn_table *table,
                             const struct attn_table_grid *grid, struct attn_error *err)
{
    const struct attn_output *output = picture->output;
    const struct attn_figure_content content = {.kind = ATTN_FIGURE_MATRIX,
                                                .grid = &picture->cells.figure,
                                                .picture = &picture->options,
                                                .n = 1,
                                                .is_in_points =
                                                    attn_figure_is_in_points(output->format)};

    ATTN_TRY(attn_table_picture_check(output, err));
    if (!attn_output_is_given(output, err))
        return ATTN_INVALID;
    ATTN_TRY(read_cells(table, grid, picture->options.color_scale, &picture->cells, err));
    if (output->format->tensors->draw_grid) /* the numbers themselves, and no figure */
        return ATTN_OK;
    ATTN_TRY(attn_figure_measure(&content, err));
    return attn_figure_draw(&content, &picture->shapes, err);
}

static enum attn_status write_picture(struct table_picture *picture, struct attn_error *err)
{
    const struct attn_output *output = picture->output;
    const struct attn_writer_ops *ops = output->format->tensors;
    struct attn_sink *sink = output->sink;
    size_t n_unknown;

    if (output->path) {
        ATTN_TRY(attn_output_create_file(output, &picture->file, err));
        sink = picture->file;
    }
    if (ops->draw_grid)
        ATTN_TRY(ops->draw_grid(&picture->cells.figure, &picture->options, sink, err));
    else
        ATTN_TRY(ops->draw(&picture->shapes, sink, &n_unknown, err));
    return output->path ? attn_sink_commit(sink, err) : attn_sink_check(sink, err);
}

enum attn_status attn_table_picture_write(const struct attn_table *table,
                                          const struct attn_table_grid *grid,
                                          const struct attn_picture_options *picture,
                                          const struct attn_output *output, struct attn_error *err)
{
    struct table_picture made = {.options = ATTN_PICTURE_OPTIONS_DEFAULT, .output = output};
    enum attn_status status;

    if (!attn_is_given(table, "table", err) || !attn_is_given(grid, "grid", err) ||
        !attn_is_given(output, "output", err) || !attn_is_known(grid->later, "grid", err) ||
        !attn_is_given(grid->rows, "rows", err) || !attn_is_given(grid->columns, "columns", err) ||
        !attn_is_given(grid->values, "values", err))
        return ATTN_INVALID;
    status = attn_picture_options_read(picture, &made.options, err);
    if (status == ATTN_OK)
        status = draw(&made, table, grid, err);
    attn_error_at(status, ATTN_STAGE_OPTIONS, err);
    if (status == ATTN_OK)
        status = write_picture(&made, err);
    attn_sink_free(made.file);
    release_axis(&made.cells.rows);
    release_axis(&made.cells.columns);
    attn_free(made.cells.figure.matrix.cells);
    attn_shapes_release(&made.shapes);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}
