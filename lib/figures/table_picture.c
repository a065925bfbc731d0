/* table_picture.c - see table_picture.h. Turns a table into a matrix with labels, and that into a
 * figure or the text of a format. */
#include "figures/table_picture_internal.h"

#include "analysis/analysis_internal.h"
#include "analysis/head_kind.h"
#include "base/elementary.h"
#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "encode/text_table.h"
#include "figures/clusters.h"
#include "figures/figure_internal.h"
#include "tables/table_writer_internal.h"
#include "trace/site.h"
#include "writers/format_internal.h"
#include "writers/outputs_internal.h"
#include "writers/picture_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tokens of two runs, each with those of its source. */
enum { OTHER = 2, N_TOKENS = 4, NOTE_SIZE = 80, MOST_CAUSES = 2000 };

/* One side of the matrix. */
struct table_axis {
    struct attn_figure_axis axis;  /* points to the fields below */
    struct attn_token_texts texts; /* [axis.n] of rows or columns that have one */
    size_t *positions;             /* [axis.n] owns */
    size_t *of_rows; /* [n_row of the table] owns; where each of its rows goes, SIZE_MAX: nowhere */
    bool *begins;    /* [axis.n] owns; of pairs */
};

/* The columns of a view in a table, or SIZE_MAX. */
struct view_columns {
    size_t rows, detail, columns, texts, values, cells;
};

/* It is not to be copied. */
struct table_cells {
    struct view_columns of; /* the columns of the table that the view names */
    struct attn_figure_grid figure;
    struct attn_table_words words;
    struct attn_buffer quantity;  /* with its unit */
    struct attn_buffer both;      /* "position: clean/corrupted", where labels are of two texts */
    struct attn_buffer joined[2]; /* texts with the second text of the input */
    struct table_axis rows, columns, groups;
    struct attn_token_texts texts;            /* of the cells */
    struct attn_token_texts tokens[N_TOKENS]; /* of the runs, if their positions are drawn */
    struct attn_figure_causes causes;
    bool is_printed; /* as a journal does it */
    char note[NOTE_SIZE];
    float *lows, *highs;                 /* [cells] of plots; owns */
    const struct attn_head_kind **kinds; /* [n_row of the table] of heads; owns */
    double *weights;                     /* [n_row of the table] owns */
    size_t *order;                       /* [n_row of the table] of heads on a poster; owns */
};

/* Allocates N_ROW rows of the table, which are placed nowhere, and N rows or columns. */
static enum attn_status create_axis(struct table_axis *axis, size_t n_row, size_t n,
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

/* Reads the tokens of the runs of PICTURE. */
static enum attn_status init_tokens(struct table_cells *cells,
                                    const struct attn_table_picture *picture,
                                    struct attn_error *err)
{
    ATTN_TRY(attn_token_labels_init(cells->tokens, picture->run, err));
    return picture->other_run
               ? attn_token_labels_init(cells->tokens + OTHER, picture->other_run, err)
               : ATTN_OK;
}

/* --- Columns of the table ------------------------------------------------------------------ */

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

static struct view_columns find_columns(const struct attn_table *table,
                                        const struct attn_table_view *view)
{
    return (struct view_columns){.rows = attn_table_view_find(table, view->rows),
                                 .detail = attn_table_view_find(table, view->detail),
                                 .columns = attn_table_view_find(table, view->columns),
                                 .texts = attn_table_view_find(table, view->texts),
                                 .values = attn_table_view_find(table, view->values),
                                 .cells = attn_table_view_find(table, view->cells)};
}

static enum attn_status check_sides(const struct view_columns *of, struct attn_error *err)
{
    return of->rows < SIZE_MAX && of->columns < SIZE_MAX
               ? ATTN_OK
               : attn_error_set(err, ATTN_INVALID, "the table lacks a column to be drawn by");
}

static const char *name_of(const struct attn_table *table, size_t column)
{
    return attn_table_column(table, column)->name;
}

/* Whether COLUMN has numbers, and is not one of those that lay them out. */
static bool is_value(const struct attn_table *table, const struct view_columns *of, size_t column)
{
    return column < SIZE_MAX && column != of->rows && column != of->columns &&
           is_drawn(attn_table_column(table, column));
}

/* Refuses the column NAME unless COLUMN, its place, can be drawn. */
static enum attn_status check_values(const struct attn_table *table, const struct view_columns *of,
                                     size_t column, const char *name, struct attn_error *err)
{
    struct attn_buffer names = {0};

    if (is_value(table, of, column))
        return ATTN_OK;
    for (size_t i = 0; i < attn_table_n_column(table); i++)
        if (is_value(table, of, i))
            attn_buffer_append_format(&names, "%s%s", names.size > 0 ? ", " : "",
                                      name_of(table, i));
    attn_error_set(err, ATTN_INVALID,
                   "there is no column '%s' of numbers to draw, expected one of %s",
                   attn_quote_string(name).text, names.data ? names.data : "none");
    attn_buffer_release(&names);
    return ATTN_INVALID;
}

const struct attn_column *attn_table_picture_column(const struct attn_table_picture *picture,
                                                    const struct attn_table *table)
{
    return attn_table_column(table, attn_table_view_find(table, picture->view.values));
}

enum attn_status attn_table_picture_show(struct attn_table_picture *picture,
                                         const struct attn_table *table, const char *name,
                                         struct attn_error *err)
{
    struct view_columns of;
    size_t column;
    enum attn_status status = ATTN_OK;

    if (!attn_is_given(picture, "picture", err) || !attn_is_given(table, "table", err) ||
        !attn_is_given(name, "name", err))
        return ATTN_INVALID;
    of = find_columns(table, &picture->view);
    column = attn_table_find(table, name);
    if (column == of.values && column < SIZE_MAX)
        return ATTN_OK;
    status = check_values(table, &of, column, name, err);
    if (status == ATTN_OK) {
        picture->view.values = ATTN_TABLE_COLUMN(column);
        picture->view.quantity = NULL; /* it was of another */
    }
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

/* Whether COLUMN, which may be SIZE_MAX, has ROLE. */
static bool has_role(const struct attn_table *table, size_t column, enum attn_column_role role)
{
    const struct attn_column *found = attn_table_column(table, column);

    return found && found->role == role;
}

static bool is_missing(const struct attn_table *table, size_t row, size_t column)
{
    return attn_table_cell(table, row, column).type == ATTN_VALUE_MISSING;
}

/* Whether COLUMN has layers of a model with two stacks, whose names are in the column before. */
static bool has_stacks(const struct attn_table *table, size_t column)
{
    return column != SIZE_MAX && column > 0 && has_role(table, column - 1, ATTN_ROLE_STACK);
}

/* Whether SITE is the end of a decoder's layer, which follows its attention to the source. */
static bool is_end(const struct attn_cell *site)
{
    return attn_cell_word(site, "resid_post normalized_resid_post") <= 1;
}

/* Reads the layer in COLUMN of ROW, with its stack if there are two. The end of a decoder's layer
 * comes after its attention to the source: it gets the place of that. */
static bool read_layer(const struct attn_table *table, size_t row, size_t column,
                       struct attn_location *at)
{
    const size_t next = column + 1 < attn_table_n_column(table) ? column + 1 : column;
    const struct attn_cell site = attn_table_cell(table, row, next);

    if (!attn_location_read(table, row, column, at))
        return false;
    if (at->stack == ATTN_STACK_DECODER && is_end(&site))
        at->stack = ATTN_STACK_CROSS;
    return true;
}

/* Appends a layer: "2", or "cross 1" of two stacks. */
static void append_layer(struct attn_buffer *out, const struct attn_location *at)
{
    attn_buffer_append_format(out, "%s%s%d", attn_model_stack_name(at->stack),
                              at->stack != ATTN_STACK_ONLY ? " " : "", at->layer);
}

/* The last layer of TABLE in the order of computation; none: {.layer = ATTN_NO_LAYER}. */
static struct attn_location find_last(const struct attn_table *table)
{
    const size_t layers = attn_table_find_role(table, ATTN_ROLE_LAYER);
    struct attn_location at, last = {.layer = ATTN_NO_LAYER};

    for (size_t i = 0; i < attn_table_n_row(table); i++)
        if (read_layer(table, i, layers, &at) &&
            (last.layer == ATTN_NO_LAYER || attn_location_order(&at, &last) > 0))
            last = at;
    return last;
}

/* One more than the largest number in the columns of TABLE that have the ROLES [2]. */
static size_t count_to(const struct attn_table *table, const enum attn_column_role roles[2])
{
    size_t n = 0;

    for (size_t i = 0; i < 2 * attn_table_n_row(table); i++) {
        const struct attn_cell cell =
            attn_table_cell(table, i / 2, attn_table_find_role(table, roles[i % 2]));

        if (cell.type == ATTN_VALUE_INTEGER && cell.integer >= (int64_t)n)
            n = (size_t)cell.integer + 1;
    }
    return n;
}

/* --- Rows and columns of the picture ------------------------------------------------------- */

/* Columns of the table that label the rows, or the columns, of the picture. */
struct axis_columns {
    size_t key;
    size_t detail, query, texts, part; /* or SIZE_MAX; query: of a cell of a head */
    struct attn_location first, last;  /* layers for parts without one, if has_layers */
    bool has_layers;
    bool is_stream;                    /* layers of a residual stream, of named places */
    const char *parts, *inputs, *only; /* of struct attn_table_view */
    const struct attn_token_texts
        *tokens; /* [N_TOKENS] of both runs; NULL unless detail or else key is a position */
};

/* The key of a row of the table in the picture. */
struct table_key {
    size_t rank;                          /* of a part, or 0 */
    struct attn_cell cell, detail, query; /* or missing */
    struct attn_location at;              /* of a layer: with its stack */
    size_t row;                           /* of the table */
    size_t first;                         /* 1 + the first key with that text, or 0 */
};

static int compare_cells(const struct attn_cell *a, const struct attn_cell *b)
{
    const size_t n = a->size < b->size ? a->size : b->size;
    int order;

    if (a->type != b->type) /* details, and parts after numbers */
        return a->type < b->type ? -1 : 1;
    if (a->type != ATTN_VALUE_TEXT)
        return a->integer < b->integer ? -1 : a->integer > b->integer;
    order = n > 0 ? memcmp(a->text, b->text, n) : 0;
    return order != 0 ? order : a->size < b->size ? -1 : a->size > b->size;
}

/* Compares the cells of keys, or layers of two stacks. */
static int compare_main(const struct table_key *x, const struct table_key *y)
{
    if (x->at.stack != ATTN_STACK_ONLY && y->at.stack != ATTN_STACK_ONLY)
        return attn_location_order(&x->at, &y->at);
    return compare_cells(&x->cell, &y->cell);
}

/* By the cell, then by details that are numbers; texts keep the order in which they came first. */
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

/* The key of row I. A part has its name as column, and as row the first layer if it comes before
 * the layers, else the last. */
static struct table_key key_of(const struct attn_table *table, const struct axis_columns *columns,
                               size_t i)
{
    const struct attn_cell part = attn_table_cell(table, i, columns->part);
    struct table_key key = {.cell = attn_table_cell(table, i, columns->key),
                            .detail = attn_table_cell(table, i, columns->detail),
                            .query = attn_table_cell(table, i, columns->query),
                            .row = i};

    read_layer(table, i, columns->key, &key.at);
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

/* The keys [*n] of the rows of the table that have one for this axis and for OTHER; sorted. */
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
    for (size_t i = 0; keys && i < *n; i++) /* there are few texts */
        for (size_t k = 0; keys[i].cell.type == ATTN_VALUE_TEXT && keys[i].first == 0; k++)
            if (compare_cells(&keys[k].cell, &keys[i].cell) == 0)
                keys[i].first = k + 1;
    if (keys && *n > 0)
        qsort(keys, *n, sizeof *keys, by_cell);
    return keys;
}

/* Whether CELL is a position that TOKENS, which may be NULL, have a text for. */
static bool is_position(const struct attn_cell *cell, const struct attn_token_texts *tokens)
{
    return tokens && cell->type == ATTN_VALUE_INTEGER && cell->integer >= 0 &&
           (size_t)cell->integer < tokens->n;
}

/* The token at POSITION of the other text, where it is not TOKEN [size]: "/Mary". */
static void append_other(struct attn_buffer *out, const char *token, size_t size,
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

/* Makes AT the layer before it in the order of computation. */
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

/* Appends the name of a place AT in the residual stream, which ends in the layer LAST:
 * "embedding", "in layer 2", "after layer 2", "output", or "after cross 1" of two stacks. False for
 * other sites. */
static bool append_stream(struct attn_buffer *out, struct attn_location at, struct attn_cell site,
                          const struct attn_location *last)
{
    enum { PRE, MID, POST, NORMED };
    const bool is_of_stacks = at.stack != ATTN_STACK_ONLY;
    size_t word = attn_cell_word(&site, "resid_pre resid_mid resid_post normalized_resid_post");

    if (is_of_stacks && word == NORMED)
        word = POST;
    if (word == PRE && at.layer == 0 && at.stack != ATTN_STACK_CROSS) {
        attn_buffer_append_string(out, "embedding");
    } else if (word == POST && attn_location_order(&at, last) == 0) {
        attn_buffer_append_string(out, "output");
    } else if (word <= POST) {
        if (word == PRE)
            step_back(&at);
        attn_buffer_append_string(out, word == MID ? "in " : "after ");
        attn_buffer_append_string(out, is_of_stacks ? "" : "layer ");
        append_layer(out, &at);
    }
    return word <= POST;
}

/* Appends the label of KEY: its text, its token, or its detail as "2.5" for a head, "2.5 query 4"
 * for one of its rows, "position 3", or "3 cat". */
static void append_text(struct table_axis *axis, const struct attn_table *table,
                        const struct table_key *key, const struct axis_columns *columns)
{
    const struct attn_token_texts *tokens = columns->tokens;
    struct attn_buffer *bytes = &axis->texts.bytes;
    const bool has_detail = columns->detail != SIZE_MAX;
    struct attn_cell text = has_detail ? key->detail : key->cell;
    const bool is_token = is_position(&text, tokens);
    size_t size = 0;
    const char *token = is_token ? attn_token_text(tokens, (size_t)text.integer, &size) : "";
    const bool is_of_stacks = has_stacks(table, columns->key);
    const bool is_head = has_role(table, columns->detail, ATTN_ROLE_HEAD);
    const bool begins_so = is_of_stacks && !is_head && !columns->is_stream;
    const bool is_whole =
        begins_so &&
        (!has_detail || attn_cell_word(&text, attn_site_name(ATTN_SITE_RESID_PRE)) == 0);

    if (begins_so) {
        struct attn_location at = key->at;

        if (is_end(&text) && at.stack == ATTN_STACK_CROSS)
            at.stack = ATTN_STACK_DECODER;
        append_layer(bytes, &at);
        attn_buffer_append_string(bytes, is_whole ? "" : " ");
    }
    if (!is_missing(table, key->row, columns->texts))
        text = attn_table_cell(table, key->row, columns->texts);
    if (is_whole) {
        ; /* the layer says it */
    } else if (text.type == ATTN_VALUE_TEXT) {
        if (!columns->is_stream || !append_stream(bytes, key->at, text, &columns->last))
            attn_escape_append(bytes, text.text, text.size);
    } else if (columns->texts != SIZE_MAX) {
        attn_buffer_append_string(bytes, ATTN_ELLIPSIS); /* items differ there */
    } else if (columns->part != SIZE_MAX && !columns->has_layers) {
        attn_buffer_append_format(bytes, "%" PRId64, key->cell.integer);
    } else if (is_head && text.type == ATTN_VALUE_INTEGER) {
        append_layer(bytes, &key->at);
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
            append_other(bytes, token, size, &tokens[OTHER], (size_t)text.integer);
    }
    axis->texts.ends[axis->texts.n++] = bytes->size;
}

/* Gives each key its row or column, and each of those its name. */
static void place_keys(struct table_axis *axis, const struct attn_table *table,
                       struct table_key *keys, size_t n, const struct axis_columns *columns)
{
    size_t n_found = 0, begin = 0, n_main = 0;

    for (size_t i = 0; i < n; i++) {
        const struct table_key key = keys[i];
        size_t at;

        if (n_found > 0 && compare_main(&keys[n_found - 1], &key) != 0)
            begin = n_found;
        at = begin; /* the first row or column of its cell */
        while (at < n_found && (compare_main(&keys[at], &key) != 0 ||
                                compare_cells(&keys[at].detail, &key.detail) != 0 ||
                                compare_cells(&keys[at].query, &key.query) != 0))
            at++;
        axis->of_rows[key.row] = at;
        if (at < n_found)
            continue;
        keys[n_found] = key; /* those before are placed */
        axis->positions[n_found++] = key.cell.type == ATTN_VALUE_INTEGER && key.cell.integer > 0
                                         ? (size_t)key.cell.integer
                                         : 0;
        n_main += key.rank == 0;
        append_text(axis, table, &key, columns);
    }
    axis->axis.n = n_found;
    axis->axis.n_main = n_main < n_found ? n_main : 0;
}

static enum attn_status read_axis(const struct attn_table *table,
                                  const struct axis_columns *columns,
                                  const struct axis_columns *other, struct table_axis *axis,
                                  struct attn_error *err)
{
    const struct attn_column *column = attn_table_column(table, columns->key);
    const size_t n_row = attn_table_n_row(table);
    size_t n;
    struct table_key *keys;

    ATTN_TRY(create_axis(axis, n_row, n_row, err));
    keys = list_keys(table, columns, other, &n, err);
    if (!keys)
        return ATTN_NO_MEMORY;
    place_keys(axis, table, keys, n, columns);
    attn_free(keys);
    axis->axis.title = has_role(table, columns->detail, ATTN_ROLE_HEAD) ? "head"
                       : columns->is_stream                             ? "residual stream"
                                                                        : column->name;
    axis->axis.positions = axis->positions;
    axis->axis.has_own_texts = true;
    axis->axis.is_named = column->type == ATTN_VALUE_TEXT || axis->axis.n_main > 0 ||
                          columns->is_stream || has_stacks(table, columns->key) ||
                          has_role(table, columns->detail, ATTN_ROLE_HEAD);
    axis->axis.texts = axis->texts.bytes.size > 0 ? &axis->texts : NULL;
    return attn_buffer_check(&axis->texts.bytes, err);
}

/* COLUMN; SIZE_MAX if no row has a value. */
static size_t texts_or_none(const struct attn_table *table, size_t column)
{
    for (size_t i = 0; i < attn_table_n_row(table); i++)
        if (!is_missing(table, i, column))
            return column;
    return SIZE_MAX;
}

/* The first and the last number in the column of ROWS, which are layers. */
static void find_layers(const struct attn_table *table, struct axis_columns *rows)
{
    struct attn_location at;

    rows->has_layers = true;
    for (size_t i = 0, n = 0; i < attn_table_n_row(table); i++) {
        if (!read_layer(table, i, rows->key, &at))
            continue;
        if (n == 0 || attn_location_order(&at, &rows->first) < 0)
            rows->first = at;
        if (n++ == 0 || attn_location_order(&at, &rows->last) > 0)
            rows->last = at;
    }
}

static enum attn_status read_axes(const struct attn_table *table,
                                  const struct attn_table_picture *picture,
                                  struct table_cells *cells, struct attn_error *err)
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
                                   .texts = texts_or_none(table, cells->of.texts),
                                   .part = part,
                                   .parts = view->parts,
                                   .only = view->only};

    ATTN_TRY(check_sides(&cells->of, err));
    find_layers(table, &rows);
    rows.is_stream = cells->is_printed && (view->traits & ATTN_VIEW_STREAM) != 0;
    rows.query = has_role(table, rows.detail, ATTN_ROLE_HEAD)
                     ? attn_table_find_role(table, ATTN_ROLE_QUERY)
                     : SIZE_MAX;
    if (picture->run) {
        rows.tokens = has_role(table, rows.detail, ATTN_ROLE_POSITION) ? cells->tokens : NULL;
        columns.tokens = has_role(table, columns.key, ATTN_ROLE_POSITION) ? cells->tokens : NULL;
        if (rows.tokens || columns.tokens)
            ATTN_TRY(init_tokens(cells, picture, err));
    }
    ATTN_TRY(read_axis(table, &rows, &columns, &cells->rows, err));
    ATTN_TRY(read_axis(table, &columns, &rows, &cells->columns, err));
    if (cells->rows.axis.n == 0)
        return attn_error_set(err, ATTN_INVALID, "the table has no %s and %s to draw",
                              name_of(table, rows.key), name_of(table, columns.key));
    if (columns.tokens && picture->other_run && texts[0].name && texts[1].name) {
        attn_buffer_append_format(&cells->both, "%s: %s/%s", name_of(table, columns.key),
                                  texts[0].name, texts[1].name);
        if (!attn_buffer_string(&cells->both))
            return attn_buffer_check(&cells->both, err);
        cells->columns.axis.title = cells->both.data;
    }
    return ATTN_OK;
}

/* --- The numbers --------------------------------------------------------------------------- */

/* Appends QUANTITY with ANSWER where it has an '@'. */
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

/* Makes the words for the numbers. */
static enum attn_status find_words(const struct attn_column *column,
                                   const struct attn_table_picture *picture,
                                   struct table_cells *cells, struct attn_error *err)
{
    struct attn_table_words *words = &cells->words;

    attn_table_words_find(words, column, picture);
    ATTN_TRY(attn_buffer_check(&words->bytes, err));
    attn_buffer_append_string(&cells->quantity, words->quantity ? words->quantity : column->name);
    if (column->unit || cells->figure.is_share)
        attn_buffer_append_format(&cells->quantity, ", %s", column->unit ? column->unit : "%");
    if (!attn_buffer_string(&cells->quantity))
        return attn_buffer_check(&cells->quantity, err);
    cells->figure.title = words->title;
    cells->figure.quantity = cells->quantity.data;
    return ATTN_OK;
}

/* A number of the table, or NaN. */
static float number_at(const struct attn_table *table, size_t row, size_t values)
{
    const struct attn_cell cell = attn_table_cell(table, row, values);

    return cell.type == ATTN_VALUE_MISSING ? NAN
           : cell.type == ATTN_VALUE_REAL  ? (float)cell.real
                                           : (float)cell.integer;
}

/* A token as it stands in a cell: one of blanks alone is quoted. */
static void append_token_label(struct attn_buffer *out, const char *text, size_t size)
{
    struct attn_buffer escaped = {0};

    attn_escape_append(&escaped, text, size);
    attn_text_append_label(out, escaped.data, escaped.size, SIZE_MAX, "");
    out->has_failed |= escaped.has_failed;
    attn_buffer_release(&escaped);
}

/* Reads the texts of the cells from ROWS [n] of the table, or SIZE_MAX. */
static enum attn_status read_texts(const struct attn_table *table, size_t column,
                                   const size_t *rows, struct table_cells *cells,
                                   struct attn_error *err)
{
    const size_t n = cells->figure.matrix.n_row * cells->columns.axis.n;
    struct attn_token_texts *texts = &cells->texts;

    ATTN_TRY(ATTN_ALLOC(texts->ends, n, err));
    for (size_t i = 0; i < n; i++) {
        const struct attn_cell cell = attn_table_cell(table, rows[i], column);

        if (cell.type == ATTN_VALUE_TEXT)
            append_token_label(&texts->bytes, cell.text, cell.size);
        texts->ends[texts->n++] = texts->bytes.size;
    }
    cells->figure.cells = texts;
    return attn_buffer_check(&texts->bytes, err);
}

/* Puts each row of the table into its cell, in the rows of its group, and its number into PLACED
 * [cells]. Notes the share that is shown if the table has one sum of all parts. */
static void place_rows(const struct attn_table *table, const struct attn_table_picture *picture,
                       struct table_cells *cells, size_t *placed)
{
    const size_t values = cells->of.values;
    const size_t n = cells->columns.axis.n;
    double shown = 0, sum = 0;

    for (size_t i = 0; i < cells->figure.matrix.n_row * n; i++)
        placed[i] = SIZE_MAX;
    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        const size_t group = cells->figure.groups ? cells->groups.of_rows[i] : 0;
        const size_t row = cells->rows.of_rows[i] + group * cells->rows.axis.n;
        const size_t at = cells->columns.of_rows[i];

        if (picture->view.parts && picture->n_label == 0 && attn_table_total(table, i) == 0)
            sum = (double)number_at(table, i, values);
        if (cells->rows.of_rows[i] == SIZE_MAX || at == SIZE_MAX || is_missing(table, i, values) ||
            placed[row * n + at] != SIZE_MAX)
            continue;
        placed[row * n + at] = i;
        shown += (double)number_at(table, i, values);
        attn_level_matrix_put(&cells->figure.matrix, row, at, number_at(table, i, values));
    }
    if (fabs(shown - sum) > 1e-3 * fabs(sum) && sum != 0) {
        snprintf(cells->note, sizeof cells->note, "the parts shown add up to %.3g of %.3g", shown,
                 sum);
        cells->figure.note = cells->note;
    }
}

static enum attn_status read_cells(const struct attn_table *table,
                                   const struct attn_table_picture *picture,
                                   struct table_cells *cells, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;
    size_t n_row, *placed;

    ATTN_TRY(read_axes(table, picture, cells, err));
    n_row = cells->rows.axis.n * (cells->figure.groups ? cells->groups.texts.n : 1);
    ATTN_TRY(attn_level_matrix_create(n_row, cells->columns.axis.n, &cells->figure.matrix, err));
    ATTN_TRY(ATTN_ALLOC(placed, n_row * cells->columns.axis.n, err));
    place_rows(table, picture, cells, placed);
    if (cells->of.cells != SIZE_MAX)
        status = read_texts(table, cells->of.cells, placed, cells, err);
    attn_free(placed);
    return status;
}

/* --- Pairs --------------------------------------------------------------------------------- */

/* One side of a pair: a head. */
struct pair_side {
    int64_t number, head;
    struct attn_location at;
};

static int by_number(const void *a, const void *b)
{
    const struct pair_side *x = a, *y = b;

    return x->number < y->number ? -1 : x->number > y->number;
}

/* A table of pairs. */
struct pairs {
    const struct attn_table *table;
    size_t columns[2][3];    /* number, layer and head of both sides */
    struct pair_side *sides; /* [n] owns; each once, by number */
    size_t n;
    float *values; /* [n, n] owns; NaN: missing */
    size_t *order; /* [n] owns */
};

static struct pair_side side_of(const struct pairs *pairs, size_t row, int side)
{
    const size_t *columns = pairs->columns[side];
    struct pair_side found = {attn_table_cell(pairs->table, row, columns[0]).integer,
                              attn_table_cell(pairs->table, row, columns[2]).integer,
                              {.layer = ATTN_NO_LAYER}};

    read_layer(pairs->table, row, columns[1], &found.at);
    return found;
}

static size_t place_of_side(const struct pairs *pairs, struct pair_side side)
{
    const struct pair_side *found = bsearch(&side, pairs->sides, pairs->n, sizeof side, by_number);

    return (size_t)(found - pairs->sides);
}

/* Lists the sides, and the number of each pair. */
static enum attn_status read_pairs(struct pairs *pairs, size_t values, struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(pairs->table);
    size_t n = 0;

    ATTN_TRY(ATTN_ALLOC(pairs->sides, 2 * n_row, err));
    for (size_t i = 0; i < 2 * n_row; i++)
        pairs->sides[n++] = side_of(pairs, i / 2, i % 2);
    if (n > 0)
        qsort(pairs->sides, n, sizeof *pairs->sides, by_number);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || pairs->sides[i].number != pairs->sides[i - 1].number)
            pairs->sides[pairs->n++] = pairs->sides[i];
    ATTN_TRY(ATTN_ALLOC(pairs->values, pairs->n * pairs->n, err));
    ATTN_TRY(ATTN_ALLOC(pairs->order, pairs->n, err));
    for (size_t i = 0; i < pairs->n * pairs->n; i++)
        pairs->values[i] = i % (pairs->n + 1) == 0 ? 0 : NAN;
    for (size_t i = 0; i < n_row; i++) {
        const size_t a = place_of_side(pairs, side_of(pairs, i, 0));
        const size_t b = place_of_side(pairs, side_of(pairs, i, 1));

        pairs->values[a * pairs->n + b] = pairs->values[b * pairs->n + a] =
            number_at(pairs->table, i, values);
    }
    return ATTN_OK;
}

/* Pairs that are not there are as far apart as any. */
static enum attn_status order_pairs(struct pairs *pairs, bool is_clustered, struct attn_error *err)
{
    const size_t n = pairs->n * pairs->n;
    float *distances, most = 0;
    enum attn_status status;

    for (size_t i = 0; i < pairs->n; i++)
        pairs->order[i] = i;
    if (!is_clustered)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(distances, n, err));
    for (size_t i = 0; i < n; i++)
        most = isfinite(pairs->values[i]) ? fmaxf(most, pairs->values[i]) : most;
    for (size_t i = 0; i < n; i++)
        distances[i] = isfinite(pairs->values[i]) ? pairs->values[i] : most;
    status = attn_clusters_order(distances, pairs->n, pairs->order, err);
    attn_free(distances);
    return status;
}

/* Labels an axis: "3.5", with a line before each layer unless clustered. */
static enum attn_status name_pairs(const struct pairs *pairs, bool is_clustered,
                                   struct table_axis *axis, struct attn_error *err)
{
    ATTN_TRY(create_axis(axis, attn_table_n_row(pairs->table), pairs->n, err));
    for (size_t i = 0; i < pairs->n; i++) {
        const struct pair_side *side = &pairs->sides[pairs->order[i]];

        append_layer(&axis->texts.bytes, &side->at);
        attn_buffer_append_format(&axis->texts.bytes, ".%" PRId64, side->head);
        axis->texts.ends[axis->texts.n++] = axis->texts.bytes.size;
        axis->positions[i] = i;
        axis->begins[i] =
            i > 0 && attn_location_order(&side->at, &pairs->sides[pairs->order[i - 1]].at) != 0;
    }
    axis->axis = (struct attn_figure_axis){.n = pairs->n,
                                           .texts = &axis->texts,
                                           .positions = axis->positions,
                                           .has_own_texts = true,
                                           .is_named = true,
                                           .title = "head",
                                           .begins = is_clustered ? NULL : axis->begins};
    return attn_buffer_check(&axis->texts.bytes, err);
}

/* Where each row of the table goes: to one of its two cells. */
static enum attn_status find_pair_rows(const struct pairs *pairs, struct table_cells *cells,
                                       struct attn_error *err)
{
    size_t *places; /* of each side in the order */

    ATTN_TRY(ATTN_ALLOC(places, pairs->n, err));
    for (size_t i = 0; i < pairs->n; i++)
        places[pairs->order[i]] = i;
    for (size_t i = 0; i < attn_table_n_row(pairs->table); i++) {
        cells->rows.of_rows[i] = places[place_of_side(pairs, side_of(pairs, i, 0))];
        cells->columns.of_rows[i] = places[place_of_side(pairs, side_of(pairs, i, 1))];
    }
    attn_free(places);
    return ATTN_OK;
}

static enum attn_status place_pairs(struct pairs *pairs, bool is_clustered,
                                    struct table_cells *cells, struct attn_error *err)
{
    static const enum attn_column_role roles[2][2] = {
        {ATTN_ROLE_LAYER, ATTN_ROLE_HEAD}, {ATTN_ROLE_OTHER_LAYER, ATTN_ROLE_OTHER_HEAD}};
    for (int side = 0; side < 2; side++) {
        size_t *columns = pairs->columns[side];

        columns[0] = side == 0 ? cells->of.rows : cells->of.columns;
        columns[1] = attn_table_find_role(pairs->table, roles[side][0]);
        columns[2] = attn_table_find_role(pairs->table, roles[side][1]);
        if (columns[0] == SIZE_MAX || columns[1] == SIZE_MAX || columns[2] == SIZE_MAX)
            return attn_error_set(err, ATTN_INVALID, "the table is not one of pairs of heads");
    }
    ATTN_TRY(read_pairs(pairs, cells->of.values, err));
    if (pairs->n == 0)
        return attn_error_set(err, ATTN_INVALID, "the table has no pairs to draw");
    ATTN_TRY(order_pairs(pairs, is_clustered, err));
    ATTN_TRY(name_pairs(pairs, is_clustered, &cells->rows, err));
    ATTN_TRY(name_pairs(pairs, is_clustered, &cells->columns, err));
    ATTN_TRY(attn_level_matrix_create(pairs->n, pairs->n, &cells->figure.matrix, err));
    for (size_t i = 0; i < pairs->n * pairs->n; i++) {
        const size_t r = pairs->order[i / pairs->n], c = pairs->order[i % pairs->n];
        const float value = pairs->values[r * pairs->n + c];

        if (!isnan(value))
            attn_level_matrix_put(&cells->figure.matrix, i / pairs->n, i % pairs->n, value);
    }
    return find_pair_rows(pairs, cells, err);
}

static enum attn_status read_pair_cells(const struct attn_table *table,
                                        const struct attn_table_picture *picture,
                                        struct table_cells *cells, struct attn_error *err)
{
    struct pairs pairs = {.table = table};
    const enum attn_status status =
        place_pairs(&pairs, (picture->view.traits & ATTN_VIEW_CLUSTERED) != 0, cells, err);

    attn_free(pairs.sides);
    attn_free(pairs.values);
    attn_free(pairs.order);
    return status;
}

static struct attn_figure_axis series_axis(const struct table_axis *axis, const char *title)
{
    return (struct attn_figure_axis){.n = axis->texts.n,
                                     .texts = &axis->texts,
                                     .has_own_texts = true,
                                     .is_named = true,
                                     .title = title};
}

/* --- Kinds of heads ------------------------------------------------------------------------ */

/* The kind of the head in each row of the table. */
static enum attn_status find_kinds(const struct attn_table *table, struct table_cells *cells,
                                   struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(table);
    size_t columns[ATTN_N_MEASURE];

    for (int m = 0; m < ATTN_N_MEASURE; m++) {
        columns[m] = attn_table_find(table, attn_measure_name((enum attn_measure)m));
        if (columns[m] == SIZE_MAX && (attn_head_kind_measures() & ATTN_MEASURE_BIT(m)) != 0)
            return attn_error_set(err, ATTN_INVALID,
                                  "the table has no column '%s', by which heads have kinds",
                                  attn_measure_name((enum attn_measure)m));
    }
    ATTN_TRY(ATTN_ALLOC(cells->kinds, n_row, err));
    ATTN_TRY(ATTN_ALLOC(cells->weights, n_row, err));
    for (size_t i = 0; i < n_row; i++) {
        double values[ATTN_N_MEASURE];

        for (int m = 0; m < ATTN_N_MEASURE; m++)
            values[m] = (double)(columns[m] < SIZE_MAX ? number_at(table, i, columns[m]) : NAN);
        cells->kinds[i] = attn_head_kind_of(values, &cells->weights[i]);
    }
    return ATTN_OK;
}

/* How many heads share keys and values; 0 if none do. */
static size_t n_sharing(const struct attn_table *table, size_t n_head)
{
    const size_t column = attn_table_find_role(table, ATTN_ROLE_KV_HEAD);
    size_t n_kv = 1;

    for (size_t i = 0; i < attn_table_n_row(table) && column < SIZE_MAX; i++) {
        const int64_t kv_head = attn_table_cell(table, i, column).integer;

        n_kv = (size_t)kv_head >= n_kv ? (size_t)kv_head + 1 : n_kv;
    }
    return n_kv > 1 && n_kv < n_head ? n_head / n_kv : 0;
}

/* A cell a head: its letter on the hue of its kind. */
static enum attn_status read_map(const struct attn_table *table,
                                 const struct attn_table_picture *picture,
                                 struct table_cells *cells, struct attn_error *err)
{
    struct attn_token_texts *texts = &cells->texts;
    size_t n, *placed;

    ATTN_TRY(read_axes(table, picture, cells, err));
    ATTN_TRY(find_kinds(table, cells, err));
    n = cells->rows.axis.n * cells->columns.axis.n;
    ATTN_TRY(attn_level_matrix_create(cells->rows.axis.n, cells->columns.axis.n,
                                      &cells->figure.matrix, err));
    ATTN_TRY(ATTN_ALLOC(texts->ends, n, err));
    ATTN_TRY(ATTN_ALLOC(placed, n, err));
    for (size_t i = attn_table_n_row(table); i-- > 0;) /* the first of equal ones counts */
        if (cells->rows.of_rows[i] < SIZE_MAX && cells->columns.of_rows[i] < SIZE_MAX)
            placed[cells->rows.of_rows[i] * cells->columns.axis.n + cells->columns.of_rows[i]] =
                i + 1;
    for (size_t at = 0; at < n; at++) {
        const struct attn_head_kind *kind = placed[at] > 0 ? cells->kinds[placed[at] - 1] : NULL;

        if (kind) {
            const double place = sqrt(fmin(fmax(cells->weights[placed[at] - 1], 0), 1));
            const size_t number = (size_t)(kind - attn_head_kind_at(0));

            attn_level_matrix_put(&cells->figure.matrix, at / cells->columns.axis.n,
                                  at % cells->columns.axis.n,
                                  (float)(((double)(number * ATTN_KIND_LEVELS) +
                                           round(place * (ATTN_KIND_LEVELS - 1))) /
                                          (ATTN_N_COLOR - 1)));
            attn_buffer_append_char(&texts->bytes, kind->letter);
        }
        texts->ends[texts->n++] = texts->bytes.size;
    }
    attn_free(placed);
    cells->columns.axis.n_together = n_sharing(table, cells->columns.axis.n);
    cells->figure.cells = texts;
    return attn_buffer_check(&texts->bytes, err);
}

/* Orders N heads by how alike their patterns are: half the sum of |a - b|. */
static enum attn_status order_heads(const struct attn_level_matrix *matrix, size_t n, size_t *order,
                                    struct attn_error *err)
{
    enum { N_CELL = ATTN_PATTERN_SIDE * ATTN_PATTERN_SIDE };
    enum attn_status status;
    float *distances, a, b;

    ATTN_TRY(ATTN_ALLOC(distances, n * n, err));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            double sum = 0;

            for (size_t c = 0; c < N_CELL; c++) {
                const size_t row = c / ATTN_PATTERN_SIDE, column = c % ATTN_PATTERN_SIDE;

                a = b = 0;
                attn_level_cell(matrix, i * ATTN_PATTERN_SIDE + row, column, &a);
                attn_level_cell(matrix, k * ATTN_PATTERN_SIDE + row, column, &b);
                sum += fabs((double)a - (double)b);
            }
            distances[i * n + k] = distances[k * n + i] = (float)(sum / 2);
        }
    status = attn_clusters_order(distances, n, order, err);
    attn_free(distances);
    return status;
}

/* The patterns of all heads of the table, one below the other. */
static enum attn_status read_poster(const struct attn_table *table,
                                    const struct attn_table_picture *picture,
                                    struct table_cells *cells, struct attn_error *err)
{
    const size_t layers = cells->of.rows, heads = cells->of.columns, n = attn_table_n_row(table);
    struct table_axis *rows = &cells->rows;

    if (!picture->patterns)
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure poster`' needs the patterns of a run, which are not there");
    ATTN_TRY(find_kinds(table, cells, err));
    ATTN_TRY(create_axis(rows, n, n, err));
    ATTN_TRY(ATTN_ALLOC(cells->order, n, err));
    ATTN_TRY(attn_level_matrix_create(n * ATTN_PATTERN_SIDE, ATTN_PATTERN_SIDE,
                                      &cells->figure.matrix, err));
    for (size_t i = 0; i < n; i++) {
        struct attn_location at;

        read_layer(table, i, layers, &at);
        at.head = (int)attn_table_cell(table, i, heads).integer;
        append_layer(&rows->texts.bytes, &at);
        attn_buffer_append_format(&rows->texts.bytes, ".%d", at.head);
        rows->texts.ends[rows->texts.n++] = rows->texts.bytes.size;
        for (size_t query = 0; query < ATTN_PATTERN_SIDE; query++)
            for (size_t key = 0; key < ATTN_PATTERN_SIDE; key++) {
                const float mean = attn_head_patterns_mean(picture->patterns, &at, query, key);

                if (!isnan(mean))
                    attn_level_matrix_put(&cells->figure.matrix, i * ATTN_PATTERN_SIDE + query, key,
                                          mean);
            }
    }
    ATTN_TRY(order_heads(&cells->figure.matrix, n, cells->order, err));
    rows->axis = series_axis(rows, "");
    cells->columns.axis = (struct attn_figure_axis){.n = ATTN_PATTERN_SIDE, .title = ""};
    cells->figure.kinds = cells->kinds;
    cells->figure.weights = cells->weights;
    cells->figure.order = cells->order;
    return attn_buffer_check(&rows->texts.bytes, err);
}

/* --- Bars, curves, tokens ------------------------------------------------------------------ */

/* Columns that name a row of the table, or SIZE_MAX. */
struct row_columns {
    size_t rows, columns, detail, texts; /* of the view */
    size_t query, part;
    size_t n_label;            /* leading columns by which rows are grouped */
    struct attn_location last; /* layer */
    bool has_totals; /* they are drawn beside the parts: the answer itself, not a change of it */
    unsigned traits; /* of the view */
    const struct attn_token_texts *tokens; /* [N_TOKENS] of both runs, or NULL */
};

static void append_cell(struct attn_buffer *out, const struct attn_table *table, size_t row,
                        size_t column)
{
    const struct attn_cell cell = attn_table_cell(table, row, column);
    struct attn_location at;

    if (has_stacks(table, column) && read_layer(table, row, column, &at))
        append_layer(out, &at);
    else if (cell.type == ATTN_VALUE_TEXT)
        attn_escape_append(out, cell.text, cell.size);
    else if (cell.type == ATTN_VALUE_REAL)
        attn_buffer_append_format(out, "%.6g", cell.real);
    else if (cell.type != ATTN_VALUE_MISSING)
        attn_buffer_append_format(out, "%" PRId64, cell.integer);
}

/* Appends " resid_post" or, for a head, ".5"; empty for the usual site. */
static void append_site(struct attn_buffer *out, const struct attn_table *table, size_t detail,
                        size_t row)
{
    const struct attn_cell cell = attn_table_cell(table, row, detail);

    if (cell.type == ATTN_VALUE_MISSING ||
        attn_cell_word(&cell, attn_site_name(ATTN_SITE_RESID_PRE)) == 0)
        return;
    attn_buffer_append_char(out, has_role(table, detail, ATTN_ROLE_HEAD) ? '.' : ' ');
    append_cell(out, table, row, detail);
}

/* Appends the layer and the detail of a row. */
static void append_row_side(struct attn_buffer *out, const struct attn_table *table,
                            const struct row_columns *columns, size_t row, bool is_named)
{
    if (is_named && !has_stacks(table, columns->rows))
        attn_buffer_append_format(out, "%s ", name_of(table, columns->rows));
    append_cell(out, table, row, columns->rows);
    append_site(out, table, columns->detail, row);
}

/* Its head, position, token or part. */
static void append_column_side(struct attn_buffer *out, const struct attn_table *table,
                               const struct row_columns *columns, size_t row)
{
    const struct attn_cell cell = attn_table_cell(table, row, columns->columns);
    size_t n, n_blank;
    const char *token;

    if (!is_missing(table, row, columns->texts)) {
        struct attn_cell text = attn_table_cell(table, row, columns->texts);

        append_cell(out, table, row, columns->columns);
        attn_buffer_append_char(out, ' ');
        for (; text.size > 1 && *text.text == ' '; text.size--)
            text.text++;
        attn_escape_append(out, text.text, text.size);
    } else if (is_position(&cell, columns->tokens)) {
        token = attn_token_text(columns->tokens, (size_t)cell.integer, &n);
        n_blank = n > 1 && *token == ' ';
        attn_buffer_append_format(out, "%" PRId64 " ", cell.integer);
        attn_buffer_append(out, token + n_blank, n - n_blank);
        append_other(out, token, n, &columns->tokens[OTHER], (size_t)cell.integer);
    } else if (cell.type != ATTN_VALUE_MISSING) {
        if (cell.type == ATTN_VALUE_INTEGER)
            attn_buffer_append_format(out, "%s ", name_of(table, columns->columns));
        append_cell(out, table, row, columns->columns);
    } else if (columns->part != SIZE_MAX) {
        append_cell(out, table, row, columns->part);
    }
}

/* Appends the name of a row: "2.5" of a head or neuron, "2.5 4>1 keys" of a cell, "mlp 3", "2
 * keys". */
static void append_row(struct attn_buffer *out, const struct attn_table *table,
                       const struct row_columns *columns, size_t row)
{
    const bool has_layer = !is_missing(table, row, columns->rows);
    const bool is_head = has_role(table, columns->columns, ATTN_ROLE_HEAD) ||
                         has_role(table, columns->columns, ATTN_ROLE_KV_HEAD) ||
                         has_role(table, columns->columns, ATTN_ROLE_NEURON);

    if (columns->rows == columns->columns || !has_layer) {
        append_column_side(out, table, columns, row);
    } else if (is_head && !is_missing(table, row, columns->columns)) {
        append_cell(out, table, row, columns->rows);
        attn_buffer_append_char(out, '.');
        append_cell(out, table, row, columns->columns);
        append_site(out, table, columns->detail, row);
    } else if (has_role(table, columns->detail, ATTN_ROLE_HEAD)) {
        append_row_side(out, table, columns, row, false);
        attn_buffer_append_char(out, ' ');
        if (columns->query != SIZE_MAX) {
            append_cell(out, table, row, columns->query);
            attn_buffer_append_char(out, '>');
        }
        append_column_side(out, table, columns, row);
    } else {
        const size_t n = out->size;

        append_column_side(out, table, columns, row);
        attn_buffer_append_string(out, out->size > n ? " " : "");
        append_row_side(out, table, columns, row, out->size == n);
    }
}

/* The names of one side of a plot, each once, in the order in which they come. */
struct names {
    struct attn_token_texts *texts;
    struct attn_buffer one; /* that is looked for; owns */
};

/* The number of the name in names->one, which is put in where it is new. */
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
        append_cell(out, table, row, i);
    }
}

/* Finds the groups of the rows of the table, which panels are drawn for. */
static enum attn_status read_groups(const struct attn_table *table, size_t n_label,
                                    struct table_cells *cells, struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(table);
    struct names names = {.texts = &cells->groups.texts};
    enum attn_status status;

    ATTN_TRY(create_axis(&cells->groups, n_row, n_row, err));
    for (size_t i = 0; i < n_row; i++) {
        names.one.size = 0;
        append_group(&names.one, table, n_label, i);
        cells->groups.of_rows[i] = place_of_name(&names);
    }
    status = attn_buffer_check(names.one.has_failed ? &names.one : &names.texts->bytes, err);
    attn_buffer_release(&names.one);
    cells->groups.axis = series_axis(&cells->groups, "");
    cells->figure.groups = &cells->groups.axis;
    return status;
}

/* Appends the place of a row on a curve: that in the residual stream, or its layer with the site.
 */
static void append_place(struct attn_buffer *out, const struct attn_table *table,
                         const struct row_columns *columns, size_t row)
{
    const bool is_of_sites = has_role(table, columns->columns, ATTN_ROLE_SITE);
    const struct attn_cell site =
        attn_table_cell(table, row, is_of_sites ? columns->columns : columns->detail);
    struct attn_location at;

    read_layer(table, row, columns->rows, &at);
    if ((columns->traits & ATTN_VIEW_STREAM) != 0 && append_stream(out, at, site, &columns->last))
        return;
    append_row_side(out, table, columns, row, false);
    if (is_of_sites)
        append_site(out, table, columns->columns, row);
}

/* Names group and place of a row. Curves run along positions, else along layers; those of a
 * sequence along its rows. */
static void name_row(const struct attn_table *table, const struct row_columns *columns, size_t row,
                     bool is_curve, struct attn_buffer *group, struct attn_buffer *place)
{
    const bool is_by_position =
        columns->detail == SIZE_MAX && (has_role(table, columns->columns, ATTN_ROLE_POSITION) ||
                                        has_role(table, columns->columns, ATTN_ROLE_KEY));
    const bool is_of_groups = columns->rows < columns->n_label; /* a row for each */

    append_group(is_of_groups ? place : group, table, columns->n_label, row);
    if (is_of_groups)
        return;
    if (!is_curve || (columns->traits & ATTN_VIEW_SEQUENCE) != 0) {
        append_row(place, table, columns, row);
        return;
    }
    if (has_role(table, columns->columns, ATTN_ROLE_SITE)) { /* of one reading */
        append_place(place, table, columns, row);
        return;
    }
    if (columns->rows == columns->columns) { /* one curve of each group */
        if (is_by_position)
            append_column_side(place, table, columns, row);
        else
            append_place(place, table, columns, row);
        return;
    }
    attn_buffer_append_string(group, group->size > 0 ? ", " : "");
    if (is_by_position) {
        append_column_side(place, table, columns, row);
        append_row_side(group, table, columns, row, true);
    } else {
        append_place(place, table, columns, row);
        append_column_side(group, table, columns, row);
    }
}

/* Places each row of the table; of_rows of both axes. */
static enum attn_status place_series(const struct attn_table *table,
                                     const struct row_columns *columns, bool is_curve,
                                     struct table_cells *cells, struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(table);
    struct names groups = {.texts = &cells->rows.texts}, places = {.texts = &cells->columns.texts};
    bool has_failed;

    for (size_t i = 0; i < n_row; i++) {
        if (!columns->has_totals && attn_table_total(table, i) != SIZE_MAX)
            continue;
        if (is_curve && (columns->traits & ATTN_VIEW_SEQUENCE) == 0 &&
            (is_missing(table, i, columns->rows) || is_missing(table, i, columns->columns)))
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

/* Puts the numbers of the placed rows into N cells. The first number of a cell counts; later rows
 * lose their place. */
static enum attn_status put_series(const struct attn_table *table, size_t values, size_t n,
                                   struct table_cells *cells, struct attn_error *err)
{
    bool *is_taken;

    ATTN_TRY(ATTN_ALLOC(is_taken, n, err));
    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        const size_t row = cells->rows.of_rows[i], column = cells->columns.of_rows[i];

        if (row == SIZE_MAX || is_missing(table, i, values))
            continue;
        if (is_taken[row * cells->columns.texts.n + column]) {
            cells->rows.of_rows[i] = cells->columns.of_rows[i] = SIZE_MAX;
            continue;
        }
        is_taken[row * cells->columns.texts.n + column] = true;
        attn_level_matrix_put(&cells->figure.matrix, row, column, number_at(table, i, values));
    }
    attn_free(is_taken);
    return ATTN_OK;
}

/* Reads the interval of each number, or one standard error on either side. */
static void read_errors(const struct attn_table *table, size_t values, struct table_cells *cells)
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
        const float value = number_at(table, i, values);

        if (row == SIZE_MAX)
            continue;
        cells->lows[at] = has_interval ? number_at(table, i, low) : value - number_at(table, i, se);
        cells->highs[at] =
            has_interval ? number_at(table, i, high) : value + number_at(table, i, se);
    }
    cells->figure.lows = cells->lows;
    cells->figure.highs = cells->highs;
    cells->figure.note = has_interval ? "with intervals of the mean" : "with standard errors";
}

/* The table as groups and places. */
static enum attn_status fill_series(const struct attn_table *table,
                                    const struct row_columns *columns, bool is_curve,
                                    struct table_cells *cells, struct attn_error *err)
{
    const size_t values = cells->of.values;
    const size_t n_row = attn_table_n_row(table);
    size_t n;

    ATTN_TRY(create_axis(&cells->rows, n_row, n_row, err));
    ATTN_TRY(create_axis(&cells->columns, n_row, n_row, err));
    ATTN_TRY(place_series(table, columns, is_curve, cells, err));
    n = cells->rows.texts.n * cells->columns.texts.n;
    ATTN_TRY(attn_level_matrix_create(cells->rows.texts.n, cells->columns.texts.n,
                                      &cells->figure.matrix, err));
    ATTN_TRY(ATTN_ALLOC(cells->lows, n, err));
    ATTN_TRY(ATTN_ALLOC(cells->highs, n, err));
    for (size_t i = 0; i < n; i++)
        cells->lows[i] = cells->highs[i] = NAN;
    ATTN_TRY(put_series(table, values, n, cells, err));
    read_errors(table, values, cells);
    cells->rows.axis = series_axis(&cells->rows, "");
    cells->columns.axis =
        series_axis(&cells->columns,
                    name_of(table, (columns->traits & ATTN_VIEW_SEQUENCE) != 0 ? columns->columns
                                                                               : columns->rows));
    if (is_curve && has_role(table, columns->columns, ATTN_ROLE_POSITION) &&
        columns->detail == SIZE_MAX)
        cells->columns.axis.title = name_of(table, columns->columns);
    if (is_curve && (columns->traits & ATTN_VIEW_STREAM) != 0)
        cells->columns.axis.title = "residual stream";
    return ATTN_OK;
}

static enum attn_status read_series(const struct attn_table *table,
                                    const struct attn_table_picture *picture, bool is_curve,
                                    struct table_cells *cells, struct attn_error *err)
{
    const char *quantity = attn_table_column(table, cells->of.values)->quantity;
    struct row_columns columns = {.rows = cells->of.rows,
                                  .columns = cells->of.columns,
                                  .detail = cells->of.detail,
                                  .texts = cells->of.texts,
                                  .query = attn_table_find_role(table, ATTN_ROLE_QUERY),
                                  .part = attn_table_find_role(table, ATTN_ROLE_PART),
                                  .n_label = picture->n_label,
                                  .last = find_last(table),
                                  .has_totals = quantity && strcmp(quantity, ATTN_ANSWER) == 0,
                                  .traits = picture->view.traits};

    ATTN_TRY(check_sides(&cells->of, err));
    if (picture->run && has_role(table, columns.columns, ATTN_ROLE_POSITION)) {
        columns.tokens = cells->tokens;
        ATTN_TRY(init_tokens(cells, picture, err));
    }
    return fill_series(table, &columns, is_curve, cells, err);
}

/* Appends the token of a row: that of its POSITION, else the text or id in the table. */
static void append_token(struct attn_buffer *out, const struct attn_table *table, size_t row,
                         size_t texts, size_t positions, const struct attn_token_texts *tokens)
{
    const struct attn_cell position = attn_table_cell(table, row, positions);
    const size_t ids = attn_table_find_role(table, ATTN_ROLE_ID);
    size_t n;
    const char *token;

    if (!is_position(&position, tokens)) {
        if (!is_missing(table, row, texts))
            append_cell(out, table, row, texts);
        else if (!is_missing(table, row, ids))
            append_cell(out, table, row, ids);
        else /* items differ there */
            attn_buffer_append_string(out, " " ATTN_ELLIPSIS);
        return;
    }
    token = attn_token_text(tokens, (size_t)position.integer, &n);
    attn_buffer_append(out, token, n);
}

static enum attn_status refuse_groups(const char *figure, struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "the table has rows for each group, and %s show%s one group",
                   figure, strcmp(figure, "tokens") == 0 ? "" : "s");
    return attn_error_hint(
        err, "in a file `figure grid`, `figure bars` and `figure curve` show several");
}

/* Each row of the table that has a position as a token. */
static enum attn_status read_tokens(const struct attn_table *table,
                                    const struct attn_table_picture *picture,
                                    struct table_cells *cells, struct attn_error *err)
{
    const size_t texts = cells->of.texts, rows = cells->of.rows, values = cells->of.values;
    const size_t n_row = attn_table_n_row(table);
    const size_t positions = attn_table_find_role(table, ATTN_ROLE_POSITION);
    struct table_axis *axis = &cells->columns;
    size_t n = 0;

    for (size_t i = 0; i < n_row; i++)
        n += rows == SIZE_MAX || !is_missing(table, i, rows);
    if (texts == SIZE_MAX || n == 0 || rows != cells->of.columns)
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure tokens`' needs a table with a row for each token");
    if (picture->n_label > 0)
        return refuse_groups("tokens", err);
    ATTN_TRY(create_axis(axis, n_row, n, err));
    ATTN_TRY(create_axis(&cells->rows, n_row, 1, err));
    ATTN_TRY(attn_level_matrix_create(1, n, &cells->figure.matrix, err));
    if (picture->run && positions != SIZE_MAX)
        ATTN_TRY(attn_token_labels_init(cells->tokens, picture->run, err));
    for (size_t i = 0; i < n_row; i++) {
        if (rows != SIZE_MAX && is_missing(table, i, rows))
            continue; /* of all tokens together */
        cells->rows.of_rows[i] = 0;
        axis->of_rows[i] = axis->texts.n;
        append_token(&axis->texts.bytes, table, i, texts, positions, cells->tokens);
        if (!is_missing(table, i, values))
            attn_level_matrix_put(&cells->figure.matrix, 0, axis->texts.n,
                                  number_at(table, i, values));
        axis->texts.ends[axis->texts.n++] = axis->texts.bytes.size;
    }
    if (attn_table_find_role(table, ATTN_ROLE_COUNT) != SIZE_MAX)
        cells->figure.note = ATTN_ELLIPSIS " where items differ";
    cells->rows.axis = (struct attn_figure_axis){.n = 1, .title = ""};
    axis->axis = series_axis(axis, name_of(table, texts));
    return attn_buffer_check(&axis->texts.bytes, err);
}

/* --- Causes -------------------------------------------------------------------------------- */

/* Makes the positions of the lens the columns, or all up to N without it, and puts each row there:
 * its query as column, its key as row. */
static void place_causes(const struct attn_table *table, const struct attn_table *lens, size_t n,
                         struct table_cells *cells)
{
    struct table_axis *axis = &cells->columns;
    size_t *const of_rows[2] = {axis->of_rows, cells->rows.of_rows};
    const enum attn_column_role roles[2] = {ATTN_ROLE_QUERY, ATTN_ROLE_KEY};

    for (size_t i = 0; i < (lens ? attn_table_n_row(lens) : n); i++) {
        const int64_t at =
            lens ? attn_table_cell(lens, i, attn_table_find_role(lens, ATTN_ROLE_POSITION)).integer
                 : (int64_t)i;

        if (axis->axis.n > 0 && at <= (int64_t)axis->positions[axis->axis.n - 1])
            continue; /* of a later layer */
        for (size_t k = 0; k < 2 * attn_table_n_row(table); k++) {
            const struct attn_cell cell =
                attn_table_cell(table, k / 2, attn_table_find_role(table, roles[k % 2]));

            if (cell.type == ATTN_VALUE_INTEGER && cell.integer == at)
                of_rows[k % 2][k / 2] = axis->axis.n;
        }
        axis->positions[axis->axis.n++] = (size_t)at;
    }
}

static enum attn_status read_causes(const struct attn_table *table,
                                    const struct attn_table_picture *picture,
                                    struct table_cells *cells, struct attn_error *err)
{
    const struct attn_table *lens = picture->lens;
    const size_t values = cells->of.values;
    static const enum attn_column_role ends[2] = {ATTN_ROLE_QUERY, ATTN_ROLE_KEY};
    static const enum attn_column_role layer[2] = {ATTN_ROLE_LAYER, ATTN_ROLE_LAYER};
    const size_t n = count_to(table, ends), n_row = attn_table_n_row(table);
    struct table_axis *axis = &cells->columns;

    if (n == 0 || count_to(table, layer) == 0 ||
        attn_table_find_role(table, ATTN_ROLE_KEY) == SIZE_MAX)
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure causes`' needs rows with a layer, a query and a key");
    if (n_row > MOST_CAUSES) {
        attn_error_set(err, ATTN_INVALID, "'`figure causes`' shows at most %d rows, not %zu",
                       MOST_CAUSES, n_row);
        return attn_error_hint(err, "`limit` chooses the largest");
    }
    if (picture->run)
        ATTN_TRY(attn_token_labels_init(cells->tokens, picture->run, err));
    ATTN_TRY(create_axis(axis, n_row, lens ? attn_table_n_row(lens) : n, err));
    ATTN_TRY(create_axis(&cells->rows, n_row, 1, err));
    place_causes(table, lens, n, cells);
    axis->axis.positions = axis->positions;
    axis->axis.texts = cells->tokens[0].n >= n ? cells->tokens : NULL;
    axis->axis.title = cells->rows.axis.title = "";
    cells->rows.axis.n = 1;
    cells->causes = (struct attn_figure_causes){table,
                                                values,
                                                axis->of_rows,
                                                cells->rows.of_rows,
                                                count_to(lens ? lens : table, layer),
                                                picture->view.quantity != NULL,
                                                lens};
    cells->figure.causes = &cells->causes;
    for (size_t i = 0; i < n_row; i++) /* for the number of digits */
        cells->figure.matrix.most =
            fmaxf(cells->figure.matrix.most, fabsf(number_at(table, i, values)));
    return ATTN_OK;
}

/* --- All of it ----------------------------------------------------------------------------- */

static enum attn_status read_kind(const struct attn_table *table,
                                  const struct attn_table_picture *picture, enum attn_figure kind,
                                  struct table_cells *cells, struct attn_error *err)
{
    const struct view_columns *of = &cells->of;
    const bool is_pairs = (picture->view.traits & ATTN_VIEW_PAIRS) != 0;

    if (kind == ATTN_FIGURE_TOKENS)
        return read_tokens(table, picture, cells, err);
    if (kind == ATTN_FIGURE_BARS || kind == ATTN_FIGURE_CURVE)
        return read_series(table, picture, kind == ATTN_FIGURE_CURVE, cells, err);
    if (kind == ATTN_FIGURE_CAUSES)
        return read_causes(table, picture, cells, err);
    if (picture->n_label > 0 && (kind != ATTN_FIGURE_MATRIX || is_pairs))
        return refuse_groups(is_pairs                  ? "a grid of pairs"
                             : kind == ATTN_FIGURE_MAP ? "a map"
                                                       : "a poster",
                             err);
    if (kind == ATTN_FIGURE_MAP || kind == ATTN_FIGURE_POSTER)
        return (kind == ATTN_FIGURE_MAP ? read_map : read_poster)(table, picture, cells, err);
    if (!is_pairs && of->rows == of->columns && of->rows < SIZE_MAX) {
        attn_error_set(err, ATTN_INVALID,
                       "a grid is laid out by two columns, and this table has one: '%s'",
                       name_of(table, of->rows));
        return attn_error_hint(err, picture->view.texts > 0 ? "`figure tokens` or `figure bars`"
                                                            : "`figure bars` draws it into a file");
    }
    if (picture->n_label > 0)
        ATTN_TRY(read_groups(table, picture->n_label, cells, err));
    return (is_pairs ? read_pair_cells : read_cells)(table, picture, cells, err);
}

/* Words and scale of heads by kind. */
static void set_kind_words(enum attn_figure kind, struct attn_figure_grid *figure)
{
    const bool is_map = kind == ATTN_FIGURE_MAP;

    figure->is_share = !is_map;
    figure->quantity = "mean weight (square root)";
    figure->title = is_map ? "where each head looks most" : "typical patterns of all heads";
    figure->note = is_map
                       ? "the stronger a hue, the larger the mean weight (square root)"
                       : "mean weights of the first 24 tokens (square root), alike heads together";
    figure->scale = (struct attn_color_scale){.curve = is_map ? ATTN_CURVE_LINEAR : ATTN_CURVE_SQRT,
                                              .span = ATTN_SPAN_UNIT};
}

/* Sets the texts of the figure: two of PICTURE, each followed by the third. */
static enum attn_status join_texts(const struct attn_table_picture *picture,
                                   struct table_cells *cells, struct attn_error *err)
{
    const struct attn_figure_text *second = &picture->texts[2];

    for (size_t i = 0; i < 2; i++) {
        const struct attn_figure_text *text = &picture->texts[i];
        struct attn_buffer *joined = &cells->joined[i];

        cells->figure.texts[i] = *text;
        if (!text->text || !second->text)
            continue;
        attn_buffer_append(joined, text->text, text->n);
        attn_buffer_append_char(joined, ' ');
        attn_buffer_append(joined, second->text, second->n);
        ATTN_TRY(attn_buffer_check(joined, err));
        cells->figure.texts[i].text = joined->data;
        cells->figure.texts[i].n = joined->size;
    }
    return ATTN_OK;
}

/* ASKED is how the user wants the scale. */
static enum attn_status read_figure(const struct attn_table *table,
                                    const struct attn_table_picture *picture, enum attn_figure kind,
                                    struct attn_color_scale asked, struct table_cells *cells,
                                    struct attn_error *err)
{
    enum { MOST_DIGITS = 4, MANY = 1000 };
    struct attn_figure_grid *figure = &cells->figure;
    const struct attn_column *column;
    const struct view_columns *of = &cells->of;
    double most;

    cells->of = find_columns(table, &picture->view);
    ATTN_TRY(check_values(table, of, of->values,
                          of->values < SIZE_MAX ? name_of(table, of->values) : "", err));
    ATTN_TRY(read_kind(table, picture, kind, cells, err));
    ATTN_TRY(join_texts(picture, cells, err));
    column = attn_table_column(table, of->values);
    figure->rows = &cells->rows.axis;
    figure->columns = &cells->columns.axis;
    figure->name = column->name;
    figure->model = picture->model;
    figure->scale = attn_color_scale_of(asked, column->range, false);
    figure->is_share = column->range == ATTN_RANGE_SHARE;
    /* the largest number gets two figures, whole numbers no decimals */
    most = fmax(fabs((double)figure->matrix.least), fabs((double)figure->matrix.most));
    if (column->type == ATTN_VALUE_REAL && isfinite(most) && most < MANY)
        figure->digits =
            most > 0 && most < 1 ? (int)fmin(1 - floor(attn_log10(most)), MOST_DIGITS) : 1;
    if (figure->digits == 1 && most < 10 && cells->columns.axis.n_main > 0)
        figure->digits = 2; /* one part of another kind is often larger than all others */
    if (kind == ATTN_FIGURE_MAP || kind == ATTN_FIGURE_POSTER) {
        set_kind_words(kind, figure);
        return ATTN_OK;
    }
    return find_words(column, picture, cells, err);
}

static void release_axis(struct table_axis *axis)
{
    attn_token_texts_release(&axis->texts, 1);
    attn_free(axis->positions);
    attn_free(axis->of_rows);
    attn_free(axis->begins);
}

static void release_cells(struct table_cells *cells)
{
    release_axis(&cells->rows);
    release_axis(&cells->columns);
    release_axis(&cells->groups);
    attn_token_texts_release(&cells->texts, 1);
    attn_token_texts_release(cells->tokens, N_TOKENS);
    attn_free(cells->kinds);
    attn_free(cells->weights);
    attn_free(cells->order);
    attn_free(cells->lows);
    attn_free(cells->highs);
    attn_free(cells->figure.matrix.cells);
    attn_table_words_release(&cells->words);
    attn_buffer_release(&cells->quantity);
    attn_buffer_release(&cells->both);
    attn_buffer_release(&cells->joined[0]);
    attn_buffer_release(&cells->joined[1]);
}

/* --- Pictures ------------------------------------------------------------------------------ */

enum attn_status attn_table_picture_check(const struct attn_output *output, struct attn_error *err)
{
    const struct attn_format *format;
    enum attn_status status = ATTN_OK;

    if (!attn_is_given(output, "output", err) || !attn_is_given(output->format, "format", err))
        return ATTN_INVALID;
    format = output->format;
    if (!format->tensors || (!format->tensors->draw && !format->tensors->draw_grid))
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "`%s` draws no table", format->name);
    if (output->path && attn_format_is_directory(format, output->path))
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' is a directory, a table is one picture",
                           attn_quote_string(output->path).text);
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
    struct attn_shapes shapes; /* empty if the format draws the cells itself */
    const struct attn_table *table;
    const struct attn_table_picture *of;
};

static bool needs_shapes(enum attn_figure kind)
{
    return attn_figure_is_plot(kind) || kind == ATTN_FIGURE_PATCHES;
}

/* Whether the columns of OF are positions of a picture that was run. */
static bool is_of_patches(const struct attn_table *table, const struct attn_table_picture *of)
{
    return of->run && of->run->backdrop &&
           has_role(table, attn_table_view_find(table, of->view.columns), ATTN_ROLE_POSITION);
}

/* OF, or if its tokens are patches of a picture that was run, *PATCHES: a map of them. */
static const struct attn_table_picture *over_picture(const struct attn_table *table,
                                                     const struct attn_table_picture *of,
                                                     struct attn_table_picture *patches)
{
    if (of->view.figure != ATTN_FIGURE_TOKENS || !is_of_patches(table, of))
        return of;
    *patches = *of;
    patches->view.figure = ATTN_FIGURE_PATCHES;
    patches->view.rows = ATTN_ROLE_PART;
    return patches;
}

/* The kind to draw: the one that was ASKED for, else the default of OF. A terminal draws no plots
 * and maps, a page (OUTPUT NULL) no maps of groups. */
static enum attn_figure kind_of(enum attn_figure asked, const struct attn_table *table,
                                const struct attn_table_picture *of,
                                const struct attn_output *output)
{
    const enum attn_figure usual = of->view.figure;
    const bool is_of_positions = is_of_patches(table, of);
    const bool is_drawn =
        !output || (output->format && output->format->tensors &&
                    (!needs_shapes(usual) || !output->format->tensors->draw_grid));

    if (asked == ATTN_FIGURE_DEFAULT && is_drawn)
        asked = usual == ATTN_FIGURE_PATCHES && !is_of_positions ? asked : usual;
    if (asked == ATTN_FIGURE_PATCHES && (!output ? of->n_label > 0 || !is_of_positions
                                                 : output->format && output->format->tensors &&
                                                       output->format->tensors->draw_table))
        asked = ATTN_FIGURE_GRID;
    return asked == ATTN_FIGURE_DEFAULT || asked == ATTN_FIGURE_GRID ? ATTN_FIGURE_MATRIX : asked;
}

/* Whether PICTURE is drawn as KIND in its format. */
static enum attn_status check_kind(enum attn_figure kind, const struct table_picture *picture,
                                   struct attn_error *err)
{
    const struct attn_format *format = picture->output->format;
    const bool is_map = kind == ATTN_FIGURE_PATCHES && is_of_patches(picture->table, picture->of);

    if (kind != ATTN_FIGURE_MATRIX && kind != ATTN_FIGURE_TOKENS && !attn_figure_is_plot(kind) &&
        !is_map)
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure %s`' draws no table, expected grid, tokens, bars, curve, "
                              "causes, map or poster",
                              attn_figure_name(kind));
    if (is_map && picture->options.n_patch_row > 0)
        return attn_error_set(err, ATTN_INVALID,
                              "'`figure patches`' of a table is over its picture, and takes no "
                              "rows and columns");
    if (picture->of->n_label > 0 && format->tensors->draw_grid)
        return refuse_groups("a heat map", err);
    if (needs_shapes(kind) && format->tensors->draw_grid)
        return attn_error_set(err, ATTN_INVALID, "'`%s`' draws no '`figure %s`'", format->name,
                              attn_figure_name(kind));
    return ATTN_OK;
}

static enum attn_status draw(struct table_picture *picture, struct attn_error *err)
{
    const struct attn_table_picture *of = picture->of;
    const struct attn_output *output = picture->output;
    const enum attn_figure kind = kind_of(picture->options.figure, picture->table, of, output);
    struct attn_figure_grid *figure = &picture->cells.figure;
    struct attn_figure_content content = {.kind = kind,
                                          .grid = figure,
                                          .picture = &picture->options,
                                          .n = 1,
                                          .is_in_points = attn_figure_is_in_points(output->format)};

    ATTN_TRY(attn_table_picture_check(output, err));
    if (!attn_output_is_given(output, err))
        return ATTN_INVALID;
    ATTN_TRY(check_kind(kind, picture, err));
    picture->cells.is_printed = attn_figure_is_printed(&picture->options);
    if (output->format->tensors->draw_table) /* it lays the table out itself */
        return ATTN_OK;
    ATTN_TRY(
        read_figure(picture->table, of, kind, picture->options.color_scale, &picture->cells, err));
    if (output->format->tensors->draw_grid) /* the numbers themselves, and no figure */
        return ATTN_OK;
    if (kind == ATTN_FIGURE_PATCHES) {
        figure->backdrop = of->run->backdrop;
        if (picture->options.figure == ATTN_FIGURE_DEFAULT && !attn_figure_grid_is_map(figure))
            content.kind = ATTN_FIGURE_MATRIX; /* of some positions */
    }
    ATTN_TRY(attn_figure_measure(&content, err));
    ATTN_TRY(attn_figure_draw(&content, &picture->shapes, err));
    attn_figure_note_size(&picture->shapes, &picture->options, !content.is_in_points,
                          picture->options.on_note, picture->options.user);
    attn_figure_note_caption(&picture->shapes, picture->options.on_note, picture->options.user);
    return ATTN_OK;
}

/* An attn_output_fn. */
static enum attn_status write_picture(void *user, struct attn_sink *sink, struct attn_error *err)
{
    const struct table_picture *picture = user;
    const struct attn_writer_ops *ops = picture->output->format->tensors;
    size_t n_unknown;

    if (ops->draw_table)
        return ops->draw_table(picture->table, picture->of, &picture->options, sink, err);
    if (ops->draw_grid)
        return ops->draw_grid(&picture->cells.figure, &picture->options, sink, err);
    return ops->draw(&picture->shapes, sink, &n_unknown, err);
}

enum attn_status attn_table_drawing_use(const struct attn_table *table,
                                        const struct attn_table_picture *picture,
                                        const struct attn_picture_options *options,
                                        attn_table_drawing_fn use, void *user,
                                        struct attn_error *err)
{
    struct table_cells cells = {.note = ""};
    struct attn_shapes shapes = {0};
    const bool is_asked =
        options->figure == ATTN_FIGURE_DEFAULT || options->figure == ATTN_FIGURE_PATCHES;
    struct attn_table_picture patches;
    struct attn_table_picture whole =
        is_asked && picture->n_label == 0 ? *over_picture(table, picture, &patches) : *picture;
    struct attn_table_drawing drawing = {.table = table,
                                         .picture = picture,
                                         .kind = kind_of(options->figure, table, &whole, NULL),
                                         .figure = &cells.figure};
    struct attn_figure_content content = {
        .grid = &cells.figure, .picture = options, .n = 1, .is_in_points = true};
    const bool is_plot = attn_figure_is_plot(drawing.kind);
    bool needs_figure;
    struct attn_error unseen = {0}; /* of the figure beside the table */
    enum attn_status status;

    whole.n_label = is_plot ? picture->n_label : 0; /* all groups have the same rows, columns */
    status = read_figure(table, &whole, drawing.kind, options->color_scale, &cells, err);
    if (status == ATTN_OK && drawing.kind == ATTN_FIGURE_PATCHES) {
        cells.figure.backdrop = picture->run->backdrop;
        if (!attn_figure_grid_is_map(&cells.figure))
            drawing.kind = ATTN_FIGURE_MATRIX; /* of some positions */
    }
    content.kind = drawing.kind;
    drawing.is_figure = needs_figure = needs_shapes(drawing.kind);
    if (status == ATTN_OK && (needs_figure || picture->n_label == 0)) {
        status = attn_figure_measure(&content, &unseen);
        if (status == ATTN_OK) {
            status = attn_figure_draw(&content, &shapes, err);
            drawing.shapes = &shapes;
        } else if (needs_figure || status == ATTN_NO_MEMORY) {
            status = attn_error_copy(err, &unseen);
        } else {
            status = ATTN_OK;
        }
    }
    attn_error_at(status, ATTN_STAGE_OPTIONS, err);
    drawing.rows = cells.rows.of_rows;
    drawing.columns = cells.columns.of_rows;
    if (status == ATTN_OK)
        status = use(user, &drawing, err);
    release_cells(&cells);
    attn_shapes_release(&shapes);
    return status;
}

enum attn_status attn_table_picture_write(const struct attn_table *table,
                                          const struct attn_table_picture *picture,
                                          const struct attn_picture_options *options,
                                          const struct attn_output *output, struct attn_error *err)
{
    struct attn_table_picture patches;
    struct table_picture made = {
        .options = ATTN_PICTURE_OPTIONS_DEFAULT, .output = output, .table = table, .of = picture};
    enum attn_status status;

    if (!attn_is_given(table, "table", err) || !attn_is_given(picture, "picture", err) ||
        !attn_is_given(output, "output", err) ||
        !attn_is_given(picture->view.rows > 0, "rows", err) ||
        !attn_is_given(picture->view.columns > 0, "columns", err) ||
        !attn_is_given(picture->view.values > 0, "values", err))
        return ATTN_INVALID;
    status = attn_picture_options_read(options, &made.options, err);
    made.of = over_picture(table, picture, &patches);
    if (status == ATTN_OK)
        status = draw(&made, err);
    attn_error_at(status, ATTN_STAGE_OPTIONS, err);
    if (status == ATTN_OK)
        status = attn_output_write(output, write_picture, &made, err);
    release_cells(&made.cells);
    attn_shapes_release(&made.shapes);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

/* --- Captions ------------------------------------------------------------------------------ */

/* Appends "; NAME: TEXT", cut. */
static void append_sentence(struct attn_buffer *out, const struct attn_figure_text *text)
{
    const char *name = text->name;

    if (text->text)
        attn_buffer_append_format(out, "; %s%s%s", name ? name : "", name ? ": " : "",
                                  attn_quote(text->text, text->n).text);
}

enum attn_status attn_table_write_captioned(const struct attn_table *table,
                                            const struct attn_table_picture *picture,
                                            const struct attn_table_style *style,
                                            struct attn_sink *sink, struct attn_error *err)
{
    const struct attn_column *column;
    struct attn_table_words words = {0};
    struct attn_table_style whole;
    struct attn_figure_text model = {0};
    struct attn_buffer caption = {0};
    enum attn_status status;

    if (!attn_is_given(table, "table", err) || !attn_is_given(picture, "picture", err) ||
        !attn_is_given(style, "style", err) || !attn_is_given(sink, "sink", err))
        return ATTN_INVALID;
    model.text = picture->model;
    model.n = model.text ? strlen(model.text) : 0;
    column = attn_table_picture_column(picture, table);
    if (!column && picture->view.quantity) /* a matrix of them */
        column = attn_table_column(table, 0);
    if (column)
        attn_table_words_find(&words, column, picture);
    attn_buffer_append_string(&caption, words.title ? words.title : attn_table_name(table));
    append_sentence(&caption, &model);
    append_sentence(&caption, &picture->texts[0]);
    append_sentence(&caption, &picture->texts[1]);
    whole = *style;
    whole.n_group = picture->n_label;
    whole.caption = attn_buffer_string(&caption);
    status = attn_buffer_check(words.bytes.has_failed ? &words.bytes : &caption, err);
    if (status == ATTN_OK)
        status = attn_table_write_styled(table, &whole, sink, err);
    attn_table_words_release(&words);
    attn_buffer_release(&caption);
    return status;
}
