/* table_series.c - bars and curves of a table: its rows are assigned to groups, and to places along
 * the axis. */
#include "grid/table_cells_internal.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "trace/site.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Indices of the columns that name a row of the table; SIZE_MAX if missing. */
struct row_columns {
    size_t rows, columns, detail, texts; /* columns of the view */
    size_t query, part;
    size_t n_label;            /* leading columns by which rows are grouped */
    struct attn_location last; /* last place of the residual stream */
    /* totals are drawn beside the parts, because they are answers and not changes */
    bool has_totals;
    unsigned traits;                       /* traits of the view */
    bool is_stream;                        /* rows are places in the residual stream */
    const struct attn_token_texts *tokens; /* [N_TOKENS] tokens of both runs, or NULL */
};

/* Appends " resid_post" or, for a head, ".5"; empty for the usual site. */
static void append_site(struct attn_buffer *out, const struct attn_table *table, size_t detail,
                        size_t row)
{
    const struct attn_cell cell = attn_table_cell(table, row, detail);

    if (cell.type == ATTN_VALUE_MISSING ||
        attn_cell_word(&cell, attn_site_name(ATTN_SITE_RESID_PRE)) == 0)
        return;
    attn_buffer_append_char(out, attn_table_has_role(table, detail, ATTN_ROLE_HEAD) ? '.' : ' ');
    attn_grid_append_cell(out, table, row, detail);
}

/* Appends the layer and the detail of a row. */
static void append_row_side(struct attn_buffer *out, const struct attn_table *table,
                            const struct row_columns *columns, size_t row, bool is_named)
{
    if (is_named && !attn_table_has_stacks(table, columns->rows))
        attn_buffer_append_format(out, "%s ", attn_table_column_name(table, columns->rows));
    attn_grid_append_cell(out, table, row, columns->rows);
    append_site(out, table, columns->detail, row);
}

/* Appends the head, position, token or part of a row. */
static void append_column_side(struct attn_buffer *out, const struct attn_table *table,
                               const struct row_columns *columns, size_t row)
{
    const struct attn_cell cell = attn_table_cell(table, row, columns->columns);
    const struct attn_cell part = attn_table_cell(table, row, columns->part);
    size_t n, n_blank;
    const char *token;

    if (cell.type == ATTN_VALUE_INTEGER && attn_cell_word(&part, "source") == 0 &&
        attn_table_has_role(table, columns->columns, ATTN_ROLE_POSITION))
        attn_buffer_append_string(out, "source ");
    if (!attn_table_is_missing(table, row, columns->texts)) {
        struct attn_cell text = attn_table_cell(table, row, columns->texts);

        attn_grid_append_cell(out, table, row, columns->columns);
        attn_buffer_append_char(out, ' ');
        for (; text.size > 1 && *text.text == ' '; text.size--)
            text.text++;
        attn_escape_append(out, text.text, text.size);
    } else if (attn_grid_is_position(&cell, columns->tokens)) {
        token = attn_token_text(columns->tokens, (size_t)cell.integer, &n);
        n_blank = n > 1 && *token == ' ';
        attn_buffer_append_format(out, "%" PRId64 " ", cell.integer);
        attn_buffer_append(out, token + n_blank, n - n_blank);
        attn_grid_append_other(out, token, n, &columns->tokens[ATTN_GRID_OTHER],
                               (size_t)cell.integer);
    } else if (cell.type != ATTN_VALUE_MISSING) {
        if (cell.type == ATTN_VALUE_INTEGER)
            attn_buffer_append_format(out, "%s ", attn_table_column_name(table, columns->columns));
        attn_grid_append_cell(out, table, row, columns->columns);
    } else if (columns->part != SIZE_MAX) {
        attn_grid_append_cell(out, table, row, columns->part);
    }
}

/* Appends the place of a row: its place in the residual stream, or its layer and site. */
static void append_place(struct attn_buffer *out, const struct attn_table *table,
                         const struct row_columns *columns, size_t row, bool is_named)
{
    struct attn_location at;

    if (columns->is_stream && attn_table_read_layer(table, row, columns->rows, &at) &&
        attn_grid_append_stream(out, at, attn_table_site(table, row), &columns->last))
        return;
    append_row_side(out, table, columns, row, is_named);
    if (attn_table_has_role(table, columns->columns, ATTN_ROLE_SITE))
        append_site(out, table, columns->columns, row);
}

/* Appends the name of a row: "2.5" for a head or neuron, "2.5 4>1 keys" for a cell, "mlp 3", "2
 * keys". */
static void append_row(struct attn_buffer *out, const struct attn_table *table,
                       const struct row_columns *columns, size_t row)
{
    const bool has_layer = !attn_table_is_missing(table, row, columns->rows);
    const bool is_head = attn_table_has_role(table, columns->columns, ATTN_ROLE_HEAD) ||
                         attn_table_has_role(table, columns->columns, ATTN_ROLE_KV_HEAD) ||
                         attn_table_has_role(table, columns->columns, ATTN_ROLE_NEURON);

    if (columns->rows == columns->columns || !has_layer) {
        append_column_side(out, table, columns, row);
    } else if (is_head && !attn_table_is_missing(table, row, columns->columns)) {
        attn_grid_append_cell(out, table, row, columns->rows);
        attn_buffer_append_char(out, '.');
        attn_grid_append_cell(out, table, row, columns->columns);
        append_site(out, table, columns->detail, row);
    } else if (attn_table_has_role(table, columns->detail, ATTN_ROLE_HEAD)) {
        append_row_side(out, table, columns, row, false);
        attn_buffer_append_char(out, ' ');
        if (columns->query != SIZE_MAX) {
            attn_grid_append_cell(out, table, row, columns->query);
            attn_buffer_append_char(out, '>');
        }
        append_column_side(out, table, columns, row);
    } else {
        const size_t n = out->size;

        if (!attn_table_has_role(table, columns->columns, ATTN_ROLE_SITE))
            append_column_side(out, table, columns, row);
        attn_buffer_append_string(out, out->size > n ? " " : "");
        append_place(out, table, columns, row, out->size == n);
    }
}

/* The distinct names on one side of a plot, in order of first occurrence. */
struct names {
    struct attn_token_texts *texts;
    struct attn_buffer one; /* owns; the name to look up */
};

/* Returns the index of the name in names->one, and appends it if it is new. */
static size_t place_of_name(struct names *names)
{
    struct attn_token_texts *texts = names->texts;

    for (size_t i = 0; i < texts->n; i++) {
        size_t n;
        const char *text = attn_token_text(texts, i, &n);

        if (n == names->one.size && (n == 0 || memcmp(text, names->one.data, n) == 0))
            return i;
    }
    attn_buffer_append(&texts->bytes, names->one.data, names->one.size);
    texts->bytes.has_failed |= names->one.has_failed;
    texts->ends[texts->n++] = texts->bytes.size;
    return texts->n - 1;
}

/* Appends the group of a row: "pl, none". */
static void append_group(struct attn_buffer *out, const struct attn_table *table, size_t n_label,
                         size_t row)
{
    for (size_t i = 0; i < n_label; i++) {
        attn_buffer_append_string(out, i > 0 ? ", " : "");
        attn_grid_append_cell(out, table, row, i);
    }
}

/* Finds the groups of the rows of the table; each group gets a panel. */
enum attn_status attn_table_groups_read(const struct attn_table *table, size_t n_label,
                                        struct attn_table_cells *cells, struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(table);
    struct names names = {.texts = &cells->groups.texts};
    enum attn_status status;

    ATTN_TRY(attn_table_axis_create(&cells->groups, n_row, n_row, err));
    for (size_t i = 0; i < n_row; i++) {
        names.one.size = 0;
        append_group(&names.one, table, n_label, i);
        cells->groups.of_rows[i] = place_of_name(&names);
    }
    status = attn_buffer_check(names.one.has_failed ? &names.one : &names.texts->bytes, err);
    attn_buffer_release(&names.one);
    cells->groups.axis = attn_table_named_axis(&cells->groups, "");
    cells->grid.groups = &cells->groups.axis;
    return status;
}

/* Appends the group and the place of a row. Places of curves are positions, or otherwise layers;
 * with ATTN_VIEW_SEQUENCE, rows. */
static void name_row(const struct attn_table *table, const struct row_columns *columns, size_t row,
                     bool is_curve, struct attn_buffer *group, struct attn_buffer *place)
{
    const bool is_by_position = columns->detail == SIZE_MAX &&
                                (attn_table_has_role(table, columns->columns, ATTN_ROLE_POSITION) ||
                                 attn_table_has_role(table, columns->columns, ATTN_ROLE_KEY));
    const bool is_of_groups = columns->rows < columns->n_label; /* each group has a row */

    append_group(is_of_groups ? place : group, table, columns->n_label, row);
    if (is_of_groups)
        return;
    if (!is_curve || (columns->traits & ATTN_VIEW_SEQUENCE) != 0) {
        append_row(place, table, columns, row);
        return;
    }
    if (attn_table_has_role(table, columns->columns, ATTN_ROLE_SITE)) { /* readings of a site */
        append_place(place, table, columns, row, false);
        return;
    }
    if (columns->rows == columns->columns) { /* each group has one curve */
        if (is_by_position)
            append_column_side(place, table, columns, row);
        else
            append_place(place, table, columns, row, false);
        return;
    }
    attn_buffer_append_string(group, group->size > 0 ? ", " : "");
    if (is_by_position) {
        append_column_side(place, table, columns, row);
        append_place(group, table, columns, row, true);
    } else {
        append_place(place, table, columns, row, false);
        append_column_side(group, table, columns, row);
    }
}

/* Assigns each row of the table to its group and place: sets of_rows of both axes. */
static enum attn_status place_series(const struct attn_table *table,
                                     const struct row_columns *columns, bool is_curve,
                                     struct attn_table_cells *cells, struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(table);
    struct names groups = {.texts = &cells->rows.texts}, places = {.texts = &cells->columns.texts};
    bool has_failed;

    for (size_t i = 0; i < n_row; i++) {
        if (!columns->has_totals && attn_table_total(table, i) != SIZE_MAX)
            continue;
        if (is_curve && (columns->traits & ATTN_VIEW_SEQUENCE) == 0 &&
            (attn_table_is_missing(table, i, columns->rows) ||
             attn_table_is_missing(table, i, columns->columns)))
            continue;
        groups.one.size = places.one.size = 0;
        name_row(table, columns, i, is_curve, &groups.one, &places.one);
        cells->rows.of_rows[i] = place_of_name(&groups);
        cells->columns.of_rows[i] = place_of_name(&places);
    }
    has_failed = groups.one.has_failed || places.one.has_failed || groups.texts->bytes.has_failed ||
                 places.texts->bytes.has_failed;
    attn_buffer_release(&groups.one);
    attn_buffer_release(&places.one);
    if (has_failed)
        return attn_error_no_memory(err);
    return groups.texts->n > 0 ? ATTN_OK
                               : attn_error_set(err, ATTN_INVALID, "the table has no rows to draw");
}

/* Stores the numbers of the placed rows in N cells. If several rows share a cell, the first is used
 * and the others become unplaced. */
static enum attn_status put_series(const struct attn_table *table, size_t values, size_t n,
                                   struct attn_table_cells *cells, struct attn_error *err)
{
    bool *is_taken;

    ATTN_TRY(ATTN_ALLOC(is_taken, n, err));
    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        const size_t row = cells->rows.of_rows[i], column = cells->columns.of_rows[i];

        if (row == SIZE_MAX || attn_table_is_missing(table, i, values))
            continue;
        if (is_taken[row * cells->columns.texts.n + column]) {
            cells->rows.of_rows[i] = cells->columns.of_rows[i] = SIZE_MAX;
            continue;
        }
        is_taken[row * cells->columns.texts.n + column] = true;
        attn_level_matrix_put(&cells->matrix, row, column, attn_table_number(table, i, values));
    }
    attn_free(is_taken);
    return ATTN_OK;
}

/* Reads the interval of each number; without intervals, one standard error on either side. */
static void read_errors(const struct attn_table *table, size_t values,
                        struct attn_table_cells *cells)
{
    const size_t low = attn_table_find_spread(table, values, ATTN_TRAIT_LOW);
    const size_t high = attn_table_find_spread(table, values, ATTN_TRAIT_HIGH);
    const size_t se = attn_table_find_spread(table, values, ATTN_TRAIT_SE);
    const bool has_interval = low != SIZE_MAX && high != SIZE_MAX;
    const size_t n = cells->columns.texts.n;

    if (!has_interval && se == SIZE_MAX)
        return;
    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        const size_t row = cells->rows.of_rows[i], at = row * n + cells->columns.of_rows[i];
        const float value = attn_table_number(table, i, values);

        if (row == SIZE_MAX)
            continue;
        cells->lows[at] = has_interval ? attn_table_number(table, i, low)
                                       : value - attn_table_number(table, i, se);
        cells->highs[at] = has_interval ? attn_table_number(table, i, high)
                                        : value + attn_table_number(table, i, se);
    }
    cells->grid.lows = cells->lows;
    cells->grid.highs = cells->highs;
    cells->grid.note = has_interval ? "with intervals of the mean" : "with standard errors";
}

/* Reads the table as groups and places. */
static enum attn_status fill_series(const struct attn_table *table,
                                    const struct row_columns *columns, bool is_curve,
                                    struct attn_table_cells *cells, struct attn_error *err)
{
    const size_t values = cells->of.values;
    const size_t n_row = attn_table_n_row(table);
    size_t n;

    ATTN_TRY(attn_table_axis_create(&cells->rows, n_row, n_row, err));
    ATTN_TRY(attn_table_axis_create(&cells->columns, n_row, n_row, err));
    ATTN_TRY(place_series(table, columns, is_curve, cells, err));
    n = cells->rows.texts.n * cells->columns.texts.n;
    ATTN_TRY(
        attn_level_matrix_create(cells->rows.texts.n, cells->columns.texts.n, &cells->matrix, err));
    ATTN_TRY(ATTN_ALLOC(cells->lows, n, err));
    ATTN_TRY(ATTN_ALLOC(cells->highs, n, err));
    for (size_t i = 0; i < n; i++)
        cells->lows[i] = cells->highs[i] = NAN;
    ATTN_TRY(put_series(table, values, n, cells, err));
    read_errors(table, values, cells);
    cells->rows.axis = attn_table_named_axis(&cells->rows, "");
    cells->columns.axis = attn_table_named_axis(
        &cells->columns,
        attn_table_column_name(table, (columns->traits & ATTN_VIEW_SEQUENCE) != 0 ? columns->columns
                                                                                  : columns->rows));
    if (is_curve && columns->is_stream)
        cells->columns.axis.title = "residual stream";
    if (is_curve && attn_table_has_role(table, columns->columns, ATTN_ROLE_POSITION) &&
        columns->detail == SIZE_MAX)
        cells->columns.axis.title = attn_table_column_name(table, columns->columns);
    return ATTN_OK;
}

enum attn_status attn_table_series_read(const struct attn_table *table,
                                        const struct attn_table_picture *picture, bool is_curve,
                                        struct attn_table_cells *cells, struct attn_error *err)
{
    const char *quantity = attn_table_column(table, cells->of.values)->quantity;
    struct row_columns columns = {.rows = cells->of.rows,
                                  .columns = cells->of.columns,
                                  .detail = cells->of.detail,
                                  .texts = cells->of.texts,
                                  .query = attn_table_find_role(table, ATTN_ROLE_QUERY),
                                  .part = attn_table_find_role(table, ATTN_ROLE_PART),
                                  .n_label = picture->n_label,
                                  .last = attn_table_last_place(table),
                                  .has_totals = quantity && strcmp(quantity, ATTN_ANSWER) == 0,
                                  .traits = picture->view.traits,
                                  .is_stream = attn_table_is_stream(table, &picture->view)};

    ATTN_TRY(attn_table_check_sides(&cells->of, err));
    if (picture->run && attn_table_has_role(table, columns.columns, ATTN_ROLE_POSITION)) {
        columns.tokens = cells->tokens;
        ATTN_TRY(attn_table_read_tokens(picture, cells->tokens, err));
    }
    return fill_series(table, &columns, is_curve, cells, err);
}
