/* table_axes.c - computes the rows and columns of a grid from a table: their order and their
 * labels. */
#include "grid/table_cells_internal.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "encode/text_table.h"
#include "trace/site.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The columns of the table that define one axis of the picture. */
struct axis_columns {
    size_t key;
    /* index or SIZE_MAX; `query` is the query of a cell of a head */
    size_t detail, query, texts, part;
    /* layers at which parts without a layer are placed, if has_layers */
    struct attn_location first, last;
    bool has_layers;
    bool is_stream;                    /* the axis lists places in the residual stream */
    struct attn_location last_place;   /* the last of these places */
    const char *parts, *inputs, *only; /* as in struct attn_table_view */
    /* [N_TOKENS] tokens of both runs; NULL unless `detail`, or else `key`, is a position */
    const struct attn_token_texts *tokens;
    const uint8_t *parts_of_run; /* if the key is a position: `texts` of struct attn_labels */
};

/* The place of one row of the table on an axis, for sorting. */
struct table_key {
    size_t rank;                          /* order of a part; or 0 */
    struct attn_cell cell, detail, query; /* type MISSING if the table lacks them */
    struct attn_location at;              /* for a layer: layer and stack */
    size_t row;                           /* row of the table */
    size_t first;                         /* 1 + index of the first key with the same text, or 0 */
};

static int compare_cells(const struct attn_cell *a, const struct attn_cell *b)
{
    const size_t n = a->size < b->size ? a->size : b->size;
    int order;

    if (a->type != b->type) /* texts come after numbers */
        return a->type < b->type ? -1 : 1;
    if (a->type != ATTN_VALUE_TEXT)
        return a->integer < b->integer ? -1 : a->integer > b->integer;
    order = n > 0 ? memcmp(a->text, b->text, n) : 0;
    return order != 0 ? order : a->size < b->size ? -1 : a->size > b->size;
}

/* Compares the key cells; in a model with two stacks, the layers. */
static int compare_main(const struct table_key *x, const struct table_key *y)
{
    if (x->at.stack != ATTN_STACK_ONLY && y->at.stack != ATTN_STACK_ONLY)
        return attn_location_order(&x->at, &y->at);
    return compare_cells(&x->cell, &y->cell);
}

/* Compares by the key, then by the detail if both are numbers. Equal texts keep the order of their
 * first occurrence. */
static int by_cell(const void *a, const void *b)
{
    const struct table_key *x = a, *y = b;
    int order = x->rank != y->rank     ? (x->rank < y->rank ? -1 : 1)
                : x->first != y->first ? (x->first < y->first ? -1 : 1)
                                       : compare_main(x, y);

    if (order == 0 && x->detail.type == ATTN_VALUE_INTEGER && y->detail.type == ATTN_VALUE_INTEGER)
        order = compare_cells(&x->detail, &y->detail);
    if (order == 0)
        order = compare_cells(&x->query, &y->query);
    return order != 0 ? order : x->row < y->row ? -1 : x->row > y->row;
}

/* Returns the key of row I. A part without a value on this axis is named as a column; as a row it
 * is placed at the first layer if it comes before the layers, otherwise at the last. */
static struct table_key key_of(const struct attn_table *table, const struct axis_columns *columns,
                               size_t i)
{
    const struct attn_cell part = attn_table_cell(table, i, columns->part);
    struct table_key key = {.cell = attn_table_cell(table, i, columns->key),
                            .detail = attn_table_cell(table, i, columns->detail),
                            .query = attn_table_cell(table, i, columns->query),
                            .row = i};

    attn_table_read_layer(table, i, columns->key, &key.at);
    if (key.cell.type != ATTN_VALUE_MISSING || part.type != ATTN_VALUE_TEXT ||
        attn_table_total(table, i) != SIZE_MAX)
        return key;
    if (!columns->has_layers) {
        const size_t rank = attn_cell_word(&part, columns->parts);

        key.rank = rank < SIZE_MAX ? rank + 1 : SIZE_MAX;
        key.cell = part;
    } else {
        const bool is_before = attn_cell_word(&part, columns->inputs) != SIZE_MAX;

        key.at = is_before ? columns->first : columns->last;
        key.cell = attn_cell_integer(key.at.layer);
    }
    return key;
}

/* Returns the sorted keys [*n] of the table's rows that have a value on this axis and on OTHER. */
static struct table_key *list_keys(const struct attn_table *table,
                                   const struct axis_columns *columns,
                                   const struct axis_columns *other, size_t *n,
                                   struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(table);
    const size_t parts = attn_table_find_role(table, ATTN_ROLE_PART);
    struct table_key *keys = attn_alloc(n_row, sizeof *keys, err);

    *n = 0;
    for (size_t i = 0; keys && i < n_row; i++) {
        const struct attn_cell part = attn_table_cell(table, i, parts);

        if (columns->only && attn_cell_word(&part, columns->only) == SIZE_MAX)
            continue;
        keys[*n] = key_of(table, columns, i);
        if (keys[*n].cell.type != ATTN_VALUE_MISSING &&
            key_of(table, other, i).cell.type != ATTN_VALUE_MISSING)
            ++*n;
    }
    for (size_t i = 0; keys && i < *n; i++) /* quadratic, but texts are few */
        for (size_t k = 0; keys[i].cell.type == ATTN_VALUE_TEXT && keys[i].first == 0; k++)
            if (compare_cells(&keys[k].cell, &keys[i].cell) == 0)
                keys[i].first = k + 1;
    if (keys && *n > 0)
        qsort(keys, *n, sizeof *keys, by_cell);
    return keys;
}

/* Appends the label of KEY: its text, its token, or its key with a detail: "2.5" for a head, "2.5
 * query 4" for one of its rows, "position 3", or "3 cat". */
static void append_text(struct attn_table_axis *axis, const struct attn_table *table,
                        const struct table_key *key, const struct axis_columns *columns)
{
    const struct attn_token_texts *tokens = columns->tokens;
    struct attn_buffer *bytes = &axis->texts.bytes;
    const bool has_detail = columns->detail != SIZE_MAX;
    struct attn_cell text = columns->is_stream ? attn_table_site(table, key->row)
                            : has_detail       ? key->detail
                                               : key->cell;
    const bool is_token = attn_grid_is_position(&text, tokens);
    size_t size = 0;
    const char *token = is_token ? attn_token_text(tokens, (size_t)text.integer, &size) : "";
    const bool is_of_stacks = attn_table_has_stacks(table, columns->key);
    const bool is_head = attn_table_has_role(table, columns->detail, ATTN_ROLE_HEAD);
    const bool begins_so = is_of_stacks && !is_head && !columns->is_stream;
    const bool is_whole =
        begins_so &&
        (!has_detail || attn_cell_word(&text, attn_site_name(ATTN_SITE_RESID_PRE)) == 0);

    if (begins_so) {
        struct attn_location at = key->at;

        if (attn_grid_is_end(&text) && at.stack == ATTN_STACK_CROSS)
            at.stack = ATTN_STACK_DECODER;
        attn_grid_append_layer(bytes, &at);
        attn_buffer_append_string(bytes, is_whole ? "" : " ");
    }
    if (!attn_table_is_missing(table, key->row, columns->texts))
        text = attn_table_cell(table, key->row, columns->texts);
    if (is_whole) {
        ; /* the label is complete without the site */
    } else if (text.type == ATTN_VALUE_TEXT) {
        if (!columns->is_stream ||
            !attn_grid_append_stream(bytes, key->at, text, &columns->last_place))
            attn_escape_append(bytes, text.text, text.size);
    } else if (columns->texts != SIZE_MAX) {
        attn_buffer_append_string(bytes, ATTN_ELLIPSIS); /* the tokens of items differ */
    } else if (columns->part != SIZE_MAX && !columns->has_layers) {
        attn_buffer_append_format(bytes, "%" PRId64, key->cell.integer);
    } else if (is_head && text.type == ATTN_VALUE_INTEGER) {
        attn_grid_append_layer(bytes, &key->at);
        attn_buffer_append_format(bytes, ".%" PRId64, text.integer);
        if (key->query.type == ATTN_VALUE_INTEGER)
            attn_buffer_append_format(bytes, " query %" PRId64, key->query.integer);
    } else if (has_detail && !is_token) {
        attn_buffer_append_format(bytes, "%s %" PRId64,
                                  attn_table_column(table, columns->detail)->name, text.integer);
    } else {
        if (has_detail)
            attn_buffer_append_format(bytes, "%" PRId64 " ", text.integer);
        for (; has_detail && size > 1 && *token == ' '; size--)
            token++;
        attn_buffer_append(bytes, token, size);
        if (is_token)
            attn_grid_append_other(bytes, token, size, &tokens[ATTN_GRID_OTHER],
                                   (size_t)text.integer);
    }
    axis->texts.ends[axis->texts.n++] = bytes->size;
}

/* Returns true if the last two labels are equal, because they name one place of the residual
 * stream: the input of a layer and the output of the layer before. */
static bool is_same_place(const struct attn_table_axis *axis)
{
    size_t a, b;
    const char *text, *before;

    if (axis->texts.n < 2)
        return false;
    text = attn_token_text(&axis->texts, axis->texts.n - 1, &a);
    before = attn_token_text(&axis->texts, axis->texts.n - 2, &b);
    return a == b && memcmp(text, before, a) == 0;
}

/* Assigns each key its row or column, and labels the rows or columns. */
static void place_keys(struct attn_table_axis *axis, const struct attn_table *table,
                       struct table_key *keys, size_t n, const struct axis_columns *columns)
{
    size_t n_found = 0, begin = 0, n_main = 0;

    for (size_t i = 0; i < n; i++) {
        const struct table_key key = keys[i];
        size_t at;

        if (n_found > 0 && compare_main(&keys[n_found - 1], &key) != 0)
            begin = n_found;
        at = begin; /* index of the first row or column with this key */
        while (at < n_found && (compare_main(&keys[at], &key) != 0 ||
                                compare_cells(&keys[at].detail, &key.detail) != 0 ||
                                compare_cells(&keys[at].query, &key.query) != 0))
            at++;
        axis->of_rows[key.row] = at;
        if (at < n_found)
            continue;
        append_text(axis, table, &key, columns);
        if (columns->is_stream && is_same_place(axis)) {
            axis->texts.bytes.size = axis->texts.ends[--axis->texts.n - 1];
            axis->of_rows[key.row] = n_found - 1;
            continue;
        }
        keys[n_found] = key; /* earlier keys are placed and no longer needed */
        axis->positions[n_found++] = key.cell.type == ATTN_VALUE_INTEGER && key.cell.integer > 0
                                         ? (size_t)key.cell.integer
                                         : 0;
        n_main += key.rank == 0;
    }
    axis->axis.n = n_found;
    axis->axis.n_main = n_main < n_found ? n_main : 0;
}

/* Returns the column that names the axis: the column of texts if it has a quantity, as numbers then
 * only give the order; otherwise the key column. */
static const struct attn_column *naming_column(const struct attn_table *table,
                                               const struct axis_columns *columns)
{
    const struct attn_column *texts =
        attn_table_column(table, columns->texts < SIZE_MAX ? columns->texts : columns->detail);

    return texts && texts->type == ATTN_VALUE_TEXT && texts->quantity
               ? texts
               : attn_table_column(table, columns->key);
}

static enum attn_status read_axis(const struct attn_table *table,
                                  const struct axis_columns *columns,
                                  const struct axis_columns *other, struct attn_table_axis *axis,
                                  struct attn_error *err)
{
    const struct attn_column *column = naming_column(table, columns);
    const size_t n_row = attn_table_n_row(table);
    size_t n;
    struct table_key *keys;

    ATTN_TRY(attn_table_axis_create(axis, n_row, n_row, err));
    keys = list_keys(table, columns, other, &n, err);
    if (!keys)
        return ATTN_NO_MEMORY;
    place_keys(axis, table, keys, n, columns);
    attn_free(keys);
    axis->axis.title = attn_table_has_role(table, columns->detail, ATTN_ROLE_HEAD) ? "head"
                       : columns->is_stream                                  ? "residual stream"
                       : column->type == ATTN_VALUE_TEXT && column->quantity ? column->quantity
                                                                             : column->name;
    axis->axis.positions = axis->positions;
    axis->axis.parts = columns->parts_of_run;
    axis->axis.has_own_texts = true;
    axis->axis.is_named = column->type == ATTN_VALUE_TEXT || axis->axis.n_main > 0 ||
                          columns->is_stream || attn_table_has_stacks(table, columns->key) ||
                          attn_table_has_role(table, columns->detail, ATTN_ROLE_HEAD);
    axis->axis.texts = axis->texts.bytes.size > 0 ? &axis->texts : NULL;
    return attn_buffer_check(&axis->texts.bytes, err);
}

/* Sets the first and the last layer in the column of ROWS. */
static void find_layers(const struct attn_table *table, struct axis_columns *rows)
{
    struct attn_location at;

    rows->has_layers = true;
    for (size_t i = 0, n = 0; i < attn_table_n_row(table); i++) {
        if (!attn_table_read_layer(table, i, rows->key, &at))
            continue;
        if (n == 0 || attn_location_order(&at, &rows->first) < 0)
            rows->first = at;
        if (n++ == 0 || attn_location_order(&at, &rows->last) > 0)
            rows->last = at;
    }
}

enum attn_status attn_table_axes_read(const struct attn_table *table,
                                      const struct attn_table_picture *picture,
                                      struct attn_table_cells *cells, struct attn_error *err)
{
    const struct attn_table_view *view = &picture->view;
    const struct attn_figure_text *texts = picture->texts;
    const size_t part = view->parts ? attn_table_find_role(table, ATTN_ROLE_PART) : SIZE_MAX;
    struct axis_columns rows = {.key = cells->of.rows,
                                .detail = cells->of.detail,
                                .texts = SIZE_MAX,
                                .part = part,
                                .inputs = view->inputs,
                                .only = view->only};
    struct axis_columns columns = {.key = cells->of.columns,
                                   .detail = SIZE_MAX,
                                   .query = SIZE_MAX,
                                   .texts = attn_table_filled(table, cells->of.texts),
                                   .part = part,
                                   .parts = view->parts,
                                   .only = view->only};

    ATTN_TRY(attn_table_check_sides(&cells->of, err));
    find_layers(table, &rows);
    rows.is_stream = attn_table_is_stream(table, view) &&
                     !attn_table_has_role(table, columns.key, ATTN_ROLE_SITE);
    rows.last_place = attn_table_last_place(table);
    rows.query = attn_table_has_role(table, rows.detail, ATTN_ROLE_HEAD)
                     ? attn_table_find_role(table, ATTN_ROLE_QUERY)
                     : SIZE_MAX;
    if (picture->run) {
        rows.tokens =
            attn_table_has_role(table, rows.detail, ATTN_ROLE_POSITION) ? cells->tokens : NULL;
        columns.tokens =
            attn_table_has_role(table, columns.key, ATTN_ROLE_POSITION) ? cells->tokens : NULL;
        columns.parts_of_run = columns.tokens ? picture->run->texts : NULL;
        if (rows.tokens || columns.tokens)
            ATTN_TRY(attn_table_read_tokens(picture, cells->tokens, err));
    }
    if (attn_table_has_role(table, columns.key, ATTN_ROLE_OTHER_PART)) {
        ATTN_TRY(attn_table_writers_read(table, view, (const size_t[]){rows.key, columns.key},
                                         &cells->rows, err));
        ATTN_TRY(attn_table_writers_read(table, view, (const size_t[]){columns.key, rows.key},
                                         &cells->columns, err));
    } else {
        ATTN_TRY(read_axis(table, &rows, &columns, &cells->rows, err));
        ATTN_TRY(read_axis(table, &columns, &rows, &cells->columns, err));
    }
    if (cells->rows.axis.n == 0)
        return attn_error_set(err, ATTN_INVALID, "the table has no %s and %s to draw",
                              attn_table_column_name(table, rows.key),
                              attn_table_column_name(table, columns.key));
    if (columns.tokens && picture->other_run && texts[0].name && texts[1].name) {
        attn_buffer_append_format(&cells->both, "%s: %s/%s",
                                  attn_table_column_name(table, columns.key), texts[0].name,
                                  texts[1].name);
        if (!attn_buffer_string(&cells->both))
            return attn_buffer_check(&cells->both, err);
        cells->columns.axis.title = cells->both.data;
    }
    return ATTN_OK;
}
