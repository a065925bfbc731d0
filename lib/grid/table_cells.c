/* table_cells.c - see table_cells.h: selects the columns that are drawn, and reads their numbers
 * and names. */
#include "grid/table_cells_internal.h"

#include "base/elementary.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "encode/text_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Appends QUANTITY, replacing the '@' in it by ANSWER. */
static void append_quantity(struct attn_buffer *out, const char *quantity, const char *answer)
{
    const char *at = strchr(quantity, *ATTN_ANSWER);

    answer = answer[0] ? answer : "the answer";
    if (!at) {
        attn_buffer_append_string(out, quantity);
        return;
    }
    attn_buffer_append(out, quantity, (size_t)(at - quantity));
    attn_escape_append(out, answer, strlen(answer));
    attn_buffer_append_string(out, at + 1);
}

void attn_table_words_find(struct attn_table_words *words, const struct attn_column *column,
                           const struct attn_table_picture *picture)
{
    const struct attn_table_view *view = &picture->view;
    const char *quantity = view->quantity ? view->quantity : column->quantity;
    size_t n;

    if (!quantity)
        return;
    append_quantity(&words->bytes, quantity, picture->answer);
    attn_buffer_append_char(&words->bytes, '\0');
    n = words->bytes.size;
    append_quantity(&words->bytes, quantity, picture->answer);
    if (view->asked) {
        attn_buffer_append_char(&words->bytes, ' ');
        attn_escape_append(&words->bytes, view->asked, strlen(view->asked));
    }
    if (!attn_buffer_string(&words->bytes))
        return;
    words->quantity = words->bytes.data;
    words->title = words->bytes.data + n;
}

void attn_table_words_release(struct attn_table_words *words)
{
    attn_buffer_release(&words->bytes);
}

enum { LIFE_DIGITS = 2 }; /* decimals of what a layer adds to a logit */

/* Sets the title and the quantity of the numbers. */
static enum attn_status find_words(const struct attn_column *column,
                                   const struct attn_table_picture *picture,
                                   struct attn_table_cells *cells, struct attn_error *err)
{
    struct attn_table_words *words = &cells->words;

    if (!words->title) /* the life of a position has its own */
        attn_table_words_find(words, column, picture);
    ATTN_TRY(attn_buffer_check(&words->bytes, err));
    attn_buffer_append_string(&cells->quantity, words->quantity ? words->quantity : column->name);
    if (column->unit || cells->grid.is_share)
        attn_buffer_append_format(&cells->quantity, ", %s", column->unit ? column->unit : "%");
    if (!attn_buffer_string(&cells->quantity))
        return attn_buffer_check(&cells->quantity, err);
    cells->grid.title = words->title;
    cells->grid.quantity = cells->quantity.data;
    return ATTN_OK;
}

/* Reads the texts of the cells. ROWS [n] is the row of the table for each cell, or SIZE_MAX. */
static enum attn_status read_texts(const struct attn_table *table, size_t column,
                                   const size_t *rows, struct attn_table_cells *cells,
                                   struct attn_error *err)
{
    const size_t n = cells->matrix.n_row * cells->columns.axis.n;
    struct attn_token_texts *texts = &cells->texts;

    ATTN_TRY(ATTN_ALLOC(texts->ends, n, err));
    for (size_t i = 0; i < n; i++) {
        const struct attn_cell cell = attn_table_cell(table, rows[i], column);

        if (cell.type == ATTN_VALUE_TEXT)
            attn_table_append_label(&texts->bytes, cell.text, cell.size);
        texts->ends[texts->n++] = texts->bytes.size;
    }
    cells->grid.cells = texts;
    return attn_buffer_check(&texts->bytes, err);
}

/* Puts each row of the table into its cell, within the rows of its group, and stores the index of
 * the row in PLACED [cells]. If the table has one total of all parts, notes the share that is
 * shown. */
static void place_rows(const struct attn_table *table, const struct attn_table_picture *picture,
                       struct attn_table_cells *cells, size_t *placed)
{
    const size_t values = cells->of.values;
    const size_t n = cells->columns.axis.n;
    double shown = 0, sum = 0;

    for (size_t i = 0; i < cells->matrix.n_row * n; i++)
        placed[i] = SIZE_MAX;
    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        const size_t group = cells->grid.groups ? cells->groups.of_rows[i] : 0;
        const size_t row = cells->rows.of_rows[i] + group * cells->rows.axis.n;
        const size_t at = cells->columns.of_rows[i];

        if (picture->view.parts && picture->n_label == 0 && attn_table_total(table, i) == 0)
            sum = (double)attn_table_number(table, i, values);
        if (cells->rows.of_rows[i] == SIZE_MAX || at == SIZE_MAX ||
            attn_table_is_missing(table, i, values) || placed[row * n + at] != SIZE_MAX)
            continue;
        placed[row * n + at] = i;
        shown += (double)attn_table_number(table, i, values);
        attn_level_matrix_put(&cells->matrix, row, at, attn_table_number(table, i, values));
    }
    if (fabs(shown - sum) > 1e-3 * fabs(sum) && sum != 0) {
        snprintf(cells->note, sizeof cells->note, "the parts shown add up to %.3g of %.3g", shown,
                 sum);
        cells->grid.note = cells->note;
    }
}

static enum attn_status read_cells(const struct attn_table *table,
                                   const struct attn_table_picture *picture,
                                   struct attn_table_cells *cells, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;
    size_t n_row, *placed;

    ATTN_TRY(attn_table_axes_read(table, picture, cells, err));
    n_row = cells->rows.axis.n * (cells->grid.groups ? cells->groups.texts.n : 1);
    ATTN_TRY(attn_level_matrix_create(n_row, cells->columns.axis.n, &cells->matrix, err));
    ATTN_TRY(ATTN_ALLOC(placed, n_row * cells->columns.axis.n, err));
    place_rows(table, picture, cells, placed);
    if (cells->of.cells != SIZE_MAX)
        status = read_texts(table, cells->of.cells, placed, cells, err);
    attn_free(placed);
    return status;
}

static enum attn_status read_kind(const struct attn_table *table,
                                  const struct attn_table_picture *picture, enum attn_figure kind,
                                  struct attn_table_cells *cells, struct attn_error *err)
{
    const struct attn_view_columns *of = &cells->of;
    const bool is_pairs = (picture->view.traits & ATTN_VIEW_PAIRS) != 0;

    if (kind == ATTN_FIGURE_TOKENS)
        return attn_table_tokens_read(table, picture, cells, err);
    if (kind == ATTN_FIGURE_BARS || kind == ATTN_FIGURE_CURVE)
        return attn_table_series_read(table, picture, kind == ATTN_FIGURE_CURVE, cells, err);
    if (kind == ATTN_FIGURE_CAUSES)
        return attn_table_causes_read(table, picture, cells, err);
    if (kind == ATTN_FIGURE_LIFE)
        return attn_table_life_read(table, picture, cells, err);
    if (picture->n_label > 0 && (kind != ATTN_FIGURE_MATRIX || is_pairs))
        return attn_table_refuse_groups(is_pairs ? "a grid of pairs" : "a map", err);
    if (kind == ATTN_FIGURE_MAP)
        return attn_table_head_map_read(table, picture, cells, err);
    if (!is_pairs && of->rows == of->columns && of->rows < SIZE_MAX) {
        attn_error_set(err, ATTN_INVALID,
                       "a grid is laid out by two columns, and this table has one: '%s'",
                       attn_table_column_name(table, of->rows));
        return attn_error_hint(err, picture->view.texts > 0 ? "`figure tokens` or `figure bars`"
                                                            : "`figure bars` draws it into a file");
    }
    if (picture->n_label > 0)
        ATTN_TRY(attn_table_groups_read(table, picture->n_label, cells, err));
    return (is_pairs ? attn_table_pairs_read : read_cells)(table, picture, cells, err);
}

/* Sets title, note and scale of a map of heads. */
static void set_map_words(struct attn_grid *figure)
{
    figure->is_share = false;
    figure->quantity = "mean weight (square root)";
    figure->scale = (struct attn_color_scale){.curve = ATTN_CURVE_LINEAR, .span = ATTN_SPAN_UNIT};
    figure->title = "where each head looks most";
    figure->note = "the stronger a hue, the larger the mean weight (square root)";
}

/* Sets the texts of the figure: the first two texts of PICTURE, each followed by the third. */
static enum attn_status join_texts(const struct attn_table_picture *picture,
                                   struct attn_table_cells *cells, struct attn_error *err)
{
    const struct attn_figure_text *second = &picture->texts[2];

    for (size_t i = 0; i < 2; i++) {
        const struct attn_figure_text *text = &picture->texts[i];
        struct attn_buffer *joined = &cells->joined[i];

        cells->grid.texts[i] = *text;
        if (!text->text || !second->text)
            continue;
        attn_buffer_append(joined, text->text, text->n);
        attn_buffer_append_char(joined, ' ');
        attn_buffer_append(joined, second->text, second->n);
        ATTN_TRY(attn_buffer_check(joined, err));
        cells->grid.texts[i].text = joined->data;
        cells->grid.texts[i].n = joined->size;
    }
    return ATTN_OK;
}

int attn_table_cell_digits(const struct attn_column *column, double most, bool has_parts)
{
    enum { MOST_DIGITS = 4, MANY = 1000 };

    if (column->type != ATTN_VALUE_REAL || !isfinite(most) || most >= MANY)
        return 0;
    if (most > 0 && most < 1)
        return (int)fmin(1 - floor(attn_log10(most)), MOST_DIGITS);
    /* with parts two digits, as one part is often much larger than the others */
    return most < 10 && has_parts ? 2 : 1;
}

enum attn_status attn_table_cells_read(const struct attn_table *table,
                                       const struct attn_table_picture *picture,
                                       enum attn_figure kind, struct attn_color_scale asked,
                                       struct attn_table_cells *cells, struct attn_error *err)
{
    struct attn_grid *figure = &cells->grid;
    const struct attn_column *column;
    const struct attn_view_columns *of = &cells->of;
    double most;

    cells->of = attn_view_columns_find(table, &picture->view);
    if ((picture->view.traits & ATTN_VIEW_PARTS) != 0)
        return attn_table_parts_read(table, picture, asked, cells, err);
    ATTN_TRY(attn_view_columns_check(
        table, of, of->values,
        of->values < SIZE_MAX ? attn_table_column_name(table, of->values) : "", err));
    ATTN_TRY(read_kind(table, picture, kind, cells, err));
    ATTN_TRY(join_texts(picture, cells, err));
    column = cells->grid.life
                 ? attn_table_column(picture->life, attn_table_find(picture->life, "value"))
                 : attn_table_column(table, of->values);
    figure->matrices = &cells->matrix;
    figure->n = 1;
    figure->rows = &cells->rows.axis;
    figure->columns = &cells->columns.axis;
    figure->name = column->name;
    figure->model = picture->model;
    figure->scale = attn_color_scale_of_column(asked, column);
    figure->is_share = column->range == ATTN_RANGE_SHARE;
    most = fmax(fabs((double)cells->matrix.least), fabs((double)cells->matrix.most));
    figure->digits = cells->grid.life
                         ? LIFE_DIGITS
                         : attn_table_cell_digits(column, most, cells->columns.axis.n_main > 0);
    if (kind == ATTN_FIGURE_MAP) {
        set_map_words(figure);
        return ATTN_OK;
    }
    return find_words(column, picture, cells, err);
}

static void release_axis(struct attn_table_axis *axis)
{
    attn_token_texts_release(&axis->texts, 1);
    attn_free(axis->positions);
    attn_free(axis->of_rows);
    attn_free(axis->begins);
}

void attn_table_cells_release(struct attn_table_cells *cells)
{
    release_axis(&cells->rows);
    release_axis(&cells->columns);
    release_axis(&cells->groups);
    attn_token_texts_release(&cells->texts, 1);
    attn_token_texts_release(cells->tokens, ATTN_GRID_N_TOKENS);
    attn_free(cells->kinds);
    attn_free(cells->weights);
    attn_free(cells->lows);
    attn_free(cells->highs);
    attn_free(cells->matrix.cells);
    for (size_t i = 0; cells->matrices && i < cells->grid.n; i++)
        attn_free(cells->matrices[i].cells);
    attn_free(cells->matrices);
    attn_free(cells->parts);
    attn_free(cells->marks);
    attn_table_words_release(&cells->words);
    attn_buffer_release(&cells->quantity);
    attn_buffer_release(&cells->both);
    attn_buffer_release(&cells->joined[0]);
    attn_buffer_release(&cells->joined[1]);
}
