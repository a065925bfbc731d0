/* table_labels.c - finds the columns of a view in a table; names layers, positions and places of
 * the stream. */
#include "grid/table_labels.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "encode/text_table.h"
#include "trace/model_stack.h"
#include "trace/site.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- Columns ---------------------------------------------------------------------------------- */

static bool is_drawn(const struct attn_column *column)
{
    return column->type == ATTN_VALUE_INTEGER || column->type == ATTN_VALUE_REAL ||
           column->type == ATTN_VALUE_BOOLEAN;
}

size_t attn_table_view_find(const struct attn_table *table, unsigned column)
{
    const size_t first = ATTN_TABLE_COLUMN(0);

    if (column == 0)
        return SIZE_MAX;
    if (column < first)
        return attn_table_find_role(table, (enum attn_column_role)column);
    return column - first < attn_table_n_column(table) ? column - first : SIZE_MAX;
}

size_t attn_table_filled(const struct attn_table *table, size_t column)
{
    for (size_t i = 0; i < attn_table_n_row(table); i++)
        if (!attn_table_is_missing(table, i, column))
            return column;
    return SIZE_MAX;
}

struct attn_view_columns attn_view_columns_find(const struct attn_table *table,
                                                const struct attn_table_view *view)
{
    return (struct attn_view_columns){
        .rows = attn_table_view_find(table, view->rows),
        .detail = attn_table_view_find(table, view->detail),
        .columns = attn_table_view_find(table, view->columns),
        .texts = attn_table_view_find(table, view->texts),
        .values = attn_table_view_find(table, view->values),
        .cells = attn_table_filled(table, attn_table_view_find(table, view->cells)),
        .marks = attn_table_view_find(table, view->marks)};
}

enum attn_status attn_table_check_sides(const struct attn_view_columns *of, struct attn_error *err)
{
    return of->rows < SIZE_MAX && of->columns < SIZE_MAX
               ? ATTN_OK
               : attn_error_set(err, ATTN_INVALID, "the table lacks a column to be drawn by");
}

/* Returns true if COLUMN has numbers and does not define rows or columns. */
static bool is_value(const struct attn_table *table, const struct attn_view_columns *of,
                     size_t column)
{
    return column < SIZE_MAX && column != of->rows && column != of->columns &&
           is_drawn(attn_table_column(table, column));
}

enum attn_status attn_view_columns_check(const struct attn_table *table,
                                         const struct attn_view_columns *of, size_t column,
                                         const char *name, struct attn_error *err)
{
    struct attn_buffer names = {0};

    if (is_value(table, of, column))
        return ATTN_OK;
    for (size_t i = 0; i < attn_table_n_column(table); i++)
        if (is_value(table, of, i))
            attn_buffer_append_format(&names, "%s%s", names.size > 0 ? ", " : "",
                                      attn_table_column_name(table, i));
    attn_error_set(err, ATTN_INVALID,
                   "there is no column '%s' of numbers to draw, expected one of %s",
                   attn_quote_string(name).text, names.data ? names.data : "none");
    attn_table_hint_renamed(table, name, err);
    attn_buffer_release(&names);
    return ATTN_INVALID;
}

bool attn_table_has_role(const struct attn_table *table, size_t column, enum attn_column_role role)
{
    const struct attn_column *found = attn_table_column(table, column);

    return found && found->role == role;
}

bool attn_table_has_stacks(const struct attn_table *table, size_t column)
{
    return column != SIZE_MAX && column > 0 &&
           attn_table_has_role(table, column - 1, ATTN_ROLE_STACK);
}

float attn_table_number(const struct attn_table *table, size_t row, size_t values)
{
    const struct attn_cell cell = attn_table_cell(table, row, values);

    return cell.type == ATTN_VALUE_MISSING ? NAN
           : cell.type == ATTN_VALUE_REAL  ? (float)cell.real
                                           : (float)cell.integer;
}

enum attn_status attn_table_refuse_groups(const char *figure, struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "the table has rows for each group, and %s show%s one group",
                   figure, strcmp(figure, "tokens") == 0 ? "" : "s");
    return attn_error_hint(
        err, "in a file `figure grid`, `figure bars` and `figure curve` show several");
}

/* --- Axes ------------------------------------------------------------------------------------- */

enum attn_status attn_table_axis_create(struct attn_table_axis *axis, size_t n_row, size_t n,
                                        struct attn_error *err)
{
    ATTN_TRY(ATTN_ALLOC(axis->of_rows, n_row, err));
    ATTN_TRY(ATTN_ALLOC(axis->positions, n, err));
    ATTN_TRY(ATTN_ALLOC(axis->begins, n, err));
    ATTN_TRY(ATTN_ALLOC(axis->texts.ends, n, err));
    for (size_t i = 0; i < n_row; i++)
        axis->of_rows[i] = SIZE_MAX;
    return ATTN_OK;
}

struct attn_grid_axis attn_table_named_axis(const struct attn_table_axis *axis, const char *title)
{
    return (struct attn_grid_axis){.n = axis->texts.n,
                                   .texts = &axis->texts,
                                   .has_own_texts = true,
                                   .is_named = true,
                                   .title = title};
}

enum attn_status attn_table_read_tokens(const struct attn_table_picture *picture,
                                        struct attn_token_texts tokens[ATTN_GRID_N_TOKENS],
                                        struct attn_error *err)
{
    ATTN_TRY(attn_token_labels_init(tokens, picture->run, err));
    return picture->other_run
               ? attn_token_labels_init(tokens + ATTN_GRID_OTHER, picture->other_run, err)
               : ATTN_OK;
}

/* --- Labels ----------------------------------------------------------------------------------- */

bool attn_grid_is_end(const struct attn_cell *site)
{
    return attn_cell_word(site, "resid_post normalized_resid_post") <= 1;
}

bool attn_table_read_layer(const struct attn_table *table, size_t row, size_t column,
                           struct attn_location *at)
{
    const size_t next = column + 1 < attn_table_n_column(table) ? column + 1 : column;
    const struct attn_cell site = attn_table_cell(table, row, next);

    if (!attn_location_read(table, row, column, at))
        return false;
    if (at->stack == ATTN_STACK_DECODER && attn_grid_is_end(&site))
        at->stack = ATTN_STACK_CROSS;
    return true;
}

void attn_table_append_label(struct attn_buffer *out, const char *text, size_t size)
{
    struct attn_buffer escaped = {0};

    attn_escape_append(&escaped, text, size);
    attn_text_append_label(out, escaped.data, escaped.size, SIZE_MAX, "");
    out->has_failed |= escaped.has_failed;
    attn_buffer_release(&escaped);
}

void attn_grid_append_cell(struct attn_buffer *out, const struct attn_table *table, size_t row,
                           size_t column)
{
    const struct attn_cell cell = attn_table_cell(table, row, column);
    struct attn_location at;

    if (attn_table_has_stacks(table, column) && attn_table_read_layer(table, row, column, &at))
        attn_grid_append_layer(out, &at);
    else if (cell.type == ATTN_VALUE_TEXT)
        attn_escape_append(out, cell.text, cell.size);
    else if (cell.type == ATTN_VALUE_REAL)
        attn_buffer_append_format(out, "%.6g", cell.real);
    else if (cell.type != ATTN_VALUE_MISSING)
        attn_buffer_append_format(out, "%" PRId64, cell.integer);
}

bool attn_grid_is_position(const struct attn_cell *cell, const struct attn_token_texts *tokens)
{
    return tokens && cell->type == ATTN_VALUE_INTEGER && cell->integer >= 0 &&
           (size_t)cell->integer < tokens->n;
}

void attn_grid_append_other(struct attn_buffer *out, const char *token, size_t size,
                            const struct attn_token_texts *others, size_t position)
{
    size_t n;
    const char *other = position < others->n ? attn_token_text(others, position, &n) : NULL;

    if (!other || (n == size && memcmp(other, token, n) == 0))
        return;
    for (; n > 1 && *other == ' '; n--)
        other++;
    attn_buffer_append_char(out, '/');
    attn_buffer_append(out, other, n);
}

/* The places of a layer in the residual stream. */
enum { PRE, MID, POST, N_PLACE };

/* Moves AT to the previous layer in the order of computation. */
static void step_back(struct attn_location *at)
{
    if (at->stack == ATTN_STACK_CROSS) {
        at->stack = ATTN_STACK_DECODER;
        return;
    }
    at->layer--;
    if (at->stack == ATTN_STACK_DECODER)
        at->stack = ATTN_STACK_CROSS;
}

struct attn_cell attn_table_site(const struct attn_table *table, size_t row)
{
    const size_t sites = attn_table_find_role(table, ATTN_ROLE_SITE);

    return attn_table_cell(table, row,
                           sites < SIZE_MAX ? sites : attn_table_find_role(table, ATTN_ROLE_PART));
}

/* Returns the place of a layer that SITE denotes; SIZE_MAX if SITE is not in the residual
 * stream. */
static size_t place_of_site(const struct attn_cell *site)
{
    const size_t word = attn_cell_word(site, "resid_pre resid_mid resid_post "
                                             "- normalized_resid_mid normalized_resid_post");

    return word < SIZE_MAX ? word % N_PLACE : SIZE_MAX;
}

bool attn_table_is_stream(const struct attn_table *table, const struct attn_table_view *view)
{
    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        const struct attn_cell site = attn_table_site(table, i);

        if (place_of_site(&site) < SIZE_MAX)
            return (view->traits & ATTN_VIEW_STREAM) != 0;
    }
    return false;
}

struct attn_location attn_table_last_place(const struct attn_table *table)
{
    const size_t layers = attn_table_find_role(table, ATTN_ROLE_LAYER);
    struct attn_location at, last = {.layer = ATTN_NO_LAYER};

    if (attn_table_find_role(table, ATTN_ROLE_SITE) == SIZE_MAX)
        return last;
    for (size_t i = 0; i < attn_table_n_row(table); i++)
        if (attn_table_read_layer(table, i, layers, &at) &&
            (last.layer == ATTN_NO_LAYER || attn_location_order(&at, &last) > 0))
            last = at;
    return last;
}

bool attn_grid_append_stream(struct attn_buffer *out, struct attn_location at,
                             struct attn_cell site, const struct attn_location *last)
{
    const bool is_of_stacks = at.stack != ATTN_STACK_ONLY;
    size_t word = place_of_site(&site);

    if (word == MID && at.stack == ATTN_STACK_DECODER) /* attention to the source comes next */
        word = POST;
    if (word == PRE && at.layer == 0 && at.stack != ATTN_STACK_CROSS) {
        attn_buffer_append_format(out, "%s%sembedding", attn_model_stack_name(at.stack),
                                  is_of_stacks ? " " : "");
    } else if (word == POST && attn_location_order(&at, last) == 0) {
        attn_buffer_append_string(out, "output");
    } else if (word <= POST) {
        if (word == PRE)
            step_back(&at);
        attn_buffer_append_string(out, word == MID ? "in " : "after ");
        attn_buffer_append_string(out, is_of_stacks ? "" : "layer ");
        attn_grid_append_layer(out, &at);
    }
    return word <= POST;
}
