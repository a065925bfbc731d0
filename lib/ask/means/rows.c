#include "means/rows.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct attn_cell attn_cell_token(const struct attn_tokenizer *tokenizer, int32_t id)
{
    size_t size = 0;
    const char *text = tokenizer ? attn_tokenizer_token(tokenizer, id, &size) : NULL;

    return attn_cell_text(text, size);
}

struct attn_cell attn_cell_position(const struct attn_token_bytes *tokens, size_t position)
{
    return tokens->bytes ? attn_cell_text(tokens->bytes[position], tokens->sizes[position])
                         : attn_cell_missing();
}

void attn_column_make_share(struct attn_column *column)
{
    column->type = ATTN_VALUE_REAL;
    column->notation = ATTN_NOTATION_FIXED;
    column->digits = 4;
}

void attn_rows_hide_stacks(const struct attn_column *columns, size_t n, bool *hidden,
                           bool has_stacks)
{
    for (size_t i = 0; i + 1 < n; i++)
        hidden[i] |= columns[i].role == ATTN_ROLE_STACK && (!has_stacks || hidden[i + 1]);
}

void attn_moments_add(struct attn_moments *moments, double x)
{
    const double before = moments->mean;

    moments->n++;
    moments->mean += (x - before) / (double)moments->n;
    moments->squares += (x - before) * (x - moments->mean);
}

double attn_moments_sd(const struct attn_moments *moments)
{
    return moments->n > 1 ? sqrt(moments->squares / ((double)moments->n - 1)) : (double)NAN;
}

enum attn_status attn_rows_create(struct attn_rows *rows, const char *name, struct attn_error *err)
{
    struct attn_column columns[ATTN_MOST_COLUMNS];
    size_t n = 0;

    assert(rows->n <= ATTN_MOST_COLUMNS);
    for (size_t i = 0; i < rows->n; i++)
        if (!rows->hidden[i])
            columns[n++] = rows->columns[i];
    return attn_table_create(name, columns, n, &rows->table, err);
}

enum attn_status attn_rows_set_metric(struct attn_table *table, const char *metric,
                                      struct attn_error *err)
{
    static const struct attn_column column = ATTN_COLUMN("metric", TEXT);
    const struct attn_cell cell = attn_cell_string(metric);

    if (!metric || attn_table_about(table))
        return ATTN_OK;
    for (size_t c = 0; c < attn_table_n_column(table); c++) {
        const char *quantity = attn_table_column(table, c)->quantity;

        if (quantity && strchr(quantity, *ATTN_ANSWER))
            return attn_table_set_about(table, &column, &cell, 1, err);
    }
    return ATTN_OK;
}

enum attn_status attn_rows_begin(struct attn_rows *rows, const char *name,
                                 struct attn_table **table, struct attn_error *err)
{
    if (!*table) {
        ATTN_TRY(attn_rows_create(rows, name, err));
        *table = rows->table;
    }
    rows->table = *table;
    return ATTN_OK;
}

/* Returns the type of the row CELLS: its own, or that of `part`, if it is one of the totals. */
static struct attn_cell find_row_type(const struct attn_rows *rows, const struct attn_cell *cells)
{
    size_t part = 0;

    if (cells[rows->n - 1].type == ATTN_VALUE_TEXT)
        return cells[rows->n - 1];
    while (part < rows->n && attn_cell_word(&cells[part], rows->columns[part].totals) == SIZE_MAX)
        part++;
    if (part == rows->n)
        return attn_cell_string(ATTN_ROW_DATA);
    return attn_cell_string(attn_cell_word(&cells[part], "base source") < SIZE_MAX
                                ? ATTN_ROW_REFERENCE
                                : ATTN_ROW_TOTAL);
}

enum attn_status attn_rows_append(const struct attn_rows *rows, const struct attn_cell *cells,
                                  struct attn_error *err)
{
    struct attn_cell shown[ATTN_MOST_COLUMNS];
    size_t n = 0;

    for (size_t i = 0; i < rows->n; i++)
        if (!rows->hidden[i])
            shown[n++] =
                rows->columns[i].role == ATTN_ROLE_ROW_TYPE ? find_row_type(rows, cells) : cells[i];
    return attn_table_append(rows->table, shown, n, err);
}
