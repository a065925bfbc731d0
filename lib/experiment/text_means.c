/* text_means.c - see text_means.h. */
#include "experiment/text_means.h"

#include "base/given.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/table_internal.h"

#include <math.h>
#include <stdio.h>

enum { MOST_COLUMNS = 32, NAME_SIZE = 64 };

void attn_moments_add(struct attn_moments *moments, double x)
{
    const double before = moments->mean;

    moments->n++;
    moments->mean += (x - before) / (double)moments->n;
    moments->squares += (x - before) * (x - moments->mean);
}

static bool is_averaged(const struct attn_column *column)
{
    return column->type == ATTN_VALUE_REAL || column->type == ATTN_VALUE_BOOLEAN;
}

static void add_cells(struct attn_text_means *means, const struct attn_table *table)
{
    const size_t n_column = attn_table_n_column(table);

    for (size_t row = 0; row < attn_table_n_row(table); row++)
        for (size_t i = 0; i < n_column; i++) {
            const struct attn_cell cell = attn_table_cell(table, row, i);
            const bool is_real = cell.type == ATTN_VALUE_REAL;

            if (cell.type != ATTN_VALUE_MISSING && is_averaged(attn_table_column(table, i)))
                attn_moments_add(&means->moments[row * n_column + i],
                                 is_real ? cell.real : (double)cell.integer);
        }
}

enum attn_status attn_text_means_add(struct attn_text_means *means, struct attn_table *table,
                                     struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(table), n_column = attn_table_n_column(table);
    enum attn_status status = ATTN_OK;
    const bool is_first = !means->first;

    if (is_first) {
        means->first = table;
        means->moments = attn_alloc(n_row * n_column, sizeof *means->moments, err);
        status = means->moments ? ATTN_OK : ATTN_NO_MEMORY;
    } else if (n_row != attn_table_n_row(means->first) ||
               n_column != attn_table_n_column(means->first)) {
        status = attn_error_set(err, ATTN_INVALID, "text %zu has %zu rows, the first has %zu",
                                means->n_text + 1, n_row, attn_table_n_row(means->first));
    }
    if (status == ATTN_OK) {
        add_cells(means, table);
        means->n_text++;
    }
    if (!is_first)
        attn_table_free(table);
    return status;
}

/* The columns of the means, and the names that are made for them. */
struct columns {
    struct attn_column items[2 * MOST_COLUMNS + 1];
    char names[MOST_COLUMNS][NAME_SIZE]; /* "value_sd" */
    size_t n;
};

static void list_columns(const struct attn_table *first, struct columns *columns)
{
    const size_t n = attn_table_n_column(first);

    for (size_t i = 0; i < n; i++) {
        struct attn_column column = *attn_table_column(first, i);

        if (column.type == ATTN_VALUE_BOOLEAN) {
            column.type = ATTN_VALUE_REAL;
            column.notation = ATTN_NOTATION_FIXED;
            column.digits = 4;
        }
        columns->items[columns->n++] = column;
    }
    for (size_t i = 0; i < n; i++) {
        struct attn_column column = *attn_table_column(first, i);

        if (column.type != ATTN_VALUE_REAL)
            continue;
        snprintf(columns->names[i], NAME_SIZE, "%s_sd", column.name);
        column.name = columns->names[i];
        column.range = ATTN_RANGE_POSITIVE;
        columns->items[columns->n++] = column;
    }
    columns->items[columns->n++] =
        (struct attn_column){.name = "texts", .type = ATTN_VALUE_INTEGER};
}

static enum attn_status append_row(const struct attn_text_means *means, size_t row,
                                   struct attn_table *table, struct attn_error *err)
{
    const size_t n_column = attn_table_n_column(means->first);
    const struct attn_moments *moments = means->moments + row * n_column;
    struct attn_cell cells[2 * MOST_COLUMNS + 1];
    size_t n = 0;

    for (size_t i = 0; i < n_column; i++) {
        cells[n] = attn_table_cell(means->first, row, i);
        if (is_averaged(attn_table_column(means->first, i)))
            cells[n] = moments[i].n > 0 ? attn_cell_real(moments[i].mean) : attn_cell_missing();
        n++;
    }
    for (size_t i = 0; i < n_column; i++)
        if (attn_table_column(means->first, i)->type == ATTN_VALUE_REAL)
            cells[n++] = moments[i].n > 1
                             ? attn_cell_real(sqrt(moments[i].squares / ((double)moments[i].n - 1)))
                             : attn_cell_missing();
    cells[n++] = attn_cell_integer((int64_t)means->n_text);
    return attn_table_append(table, cells, n, err);
}

enum attn_status attn_text_means_tabulate(const struct attn_text_means *means,
                                          struct attn_table **table, struct attn_error *err)
{
    struct columns columns = {.n = 0};
    struct attn_table *made = NULL;
    enum attn_status status;

    list_columns(means->first, &columns);
    status = attn_table_create(attn_table_name(means->first), columns.items, columns.n, &made, err);
    for (size_t row = 0; status == ATTN_OK && row < attn_table_n_row(means->first); row++)
        status = append_row(means, row, made, err);
    if (status == ATTN_OK)
        *table = made;
    else
        attn_table_free(made);
    return status;
}

void attn_text_means_release(struct attn_text_means *means)
{
    attn_table_free(means->first);
    attn_free(means->moments);
    *means = (struct attn_text_means){.n_text = 0};
}

enum attn_status attn_text_means_ask(const struct attn_text_question *question,
                                     const struct attn_request *request,
                                     const struct attn_input *texts, size_t n,
                                     struct attn_table **table, struct attn_error *err)
{
    struct attn_request one_text = ATTN_REQUEST_DEFAULT;
    struct attn_text_means means = {.n_text = 0};
    enum attn_status status =
        attn_error_at(attn_options_read(request, &one_text, err), ATTN_STAGE_OPTIONS, err);
    const struct attn_request asked = one_text;

    if (status == ATTN_OK && n == 0)
        status = attn_error_at(attn_error_set(err, ATTN_INVALID, "there are no texts"),
                               ATTN_STAGE_INPUT, err);
    one_text.on_progress = NULL; /* it counts texts */
    one_text.example = NULL;     /* the hint is which text it was */
    for (size_t i = 0; status == ATTN_OK && i < n; i++) {
        struct attn_table *one = NULL;

        one_text.input = texts[i];
        status = question->ask(question->user, &one_text, &one, err);
        if (status == ATTN_OK)
            status = attn_text_means_add(&means, one, err);
        if (status != ATTN_OK)
            attn_error_hint(err, "in text %zu of %zu", i + 1, n);
        else if (asked.on_progress)
            asked.on_progress(asked.user, i + 1, n);
    }
    if (status == ATTN_OK)
        status = attn_text_means_tabulate(&means, table, err);
    attn_text_means_release(&means);
    return status;
}
