/* table_axis.c - finds the columns of a view in a table, and computes the rows and columns of its
 * picture: their order and their labels. A row of the table has a place on an axis by its key,
 * numbers by which places are sorted, or by its name, in the order of the rows. */
#include "figures/table_axis.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "figures/table_grid.h"
#include "formats/float_text.h"
#include "tables/table_internal.h"
#include "tables/text_table.h"
#include "trace/location_extra.h"
#include "trace/model_stack.h"
#include "trace/site.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Columns ---------------------------------------------------------------------------------- */

size_t attn_table_view_find(const struct attn_table *table, unsigned column)
{
    const size_t first = ATTN_TABLE_COLUMN(0);

    if (column == 0)
        return SIZE_MAX;
    if (column < first)
        return attn_table_find_role(table, (enum attn_column_role)column);
    return column - first < attn_table_n_column(table) ? column - first : SIZE_MAX;
}

size_t attn_table_next_value(const struct attn_table *table, size_t column)
{
    for (size_t i = column + 1; i < attn_table_n_column(table); i++)
        if (attn_table_role(table, i) == ATTN_ROLE_VALUE)
            return i;
    return SIZE_MAX;
}

size_t attn_table_count(const struct attn_table *table, enum attn_column_role role)
{
    const size_t column = attn_table_find_role(table, role);
    size_t n = 0;

    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        const struct attn_cell cell = attn_table_cell(table, i, column);

        if (cell.type == ATTN_VALUE_INTEGER && cell.integer >= (int64_t)n)
            n = (size_t)cell.integer + 1;
    }
    return n;
}

/* Returns COLUMN, or SIZE_MAX if the column is empty. */
static size_t filled(const struct attn_table *table, size_t column)
{
    for (size_t i = 0; i < attn_table_n_row(table); i++)
        if (!attn_table_is_missing(table, i, column))
            return column;
    return SIZE_MAX;
}

struct attn_view_columns attn_view_columns_find(const struct attn_table *table,
                                                const struct attn_table_view *view)
{
    return (struct attn_view_columns){.rows = attn_table_view_find(table, view->rows),
                                      .detail = attn_table_view_find(table, view->detail),
                                      .columns = attn_table_view_find(table, view->columns),
                                      .texts = attn_table_view_find(table, view->texts),
                                      .values = attn_table_view_find(table, view->values),
                                      .cells =
                                          filled(table, attn_table_view_find(table, view->cells)),
                                      .marks = attn_table_view_find(table, view->marks)};
}

enum attn_figure attn_view_figure(const struct attn_table_view *view,
                                  const struct attn_column *columns, bool is_of_items)
{
    const unsigned first = ATTN_TABLE_COLUMN(0);
    const unsigned role =
        view->columns < first ? view->columns : (unsigned)columns[view->columns - first].role;

    if (view->figure != ATTN_FIGURE_DEFAULT)
        return view->figure;
    if ((view->traits & ATTN_VIEW_SEQUENCE) != 0)
        return ATTN_FIGURE_CURVE;
    if (view->rows > 0 && view->rows == view->columns) /* rows of the table are a list */
        return view->texts > 0 && !is_of_items ? ATTN_FIGURE_TOKENS : ATTN_FIGURE_BARS;
    if (role == ATTN_ROLE_PART || role == ATTN_ROLE_NEURON) /* few of many */
        return ATTN_FIGURE_BARS;
    if (role == ATTN_ROLE_PICTURE_COLUMN)
        return ATTN_FIGURE_PATCHES;
    if (role == ATTN_ROLE_READER)
        return ATTN_FIGURE_CIRCUIT;
    return ATTN_FIGURE_DEFAULT;
}

/* Returns true if COLUMN has numbers and does not define rows or columns. */
static bool is_value(const struct attn_table *table, const struct attn_view_columns *of,
                     size_t column)
{
    const struct attn_column *found = attn_table_column(table, column);

    return found && column != of->rows && column != of->columns &&
           (found->type == ATTN_VALUE_INTEGER || found->type == ATTN_VALUE_REAL ||
            found->type == ATTN_VALUE_BOOLEAN);
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
    attn_buffer_release(&names);
    return attn_error_of(ATTN_INVALID, "column", err);
}

enum attn_column_role attn_table_role(const struct attn_table *table, size_t column)
{
    const struct attn_column *found = attn_table_column(table, column);

    return found ? found->role : ATTN_ROLE_VALUE;
}

bool attn_table_has_parts(const struct attn_table *table, size_t column)
{
    const enum attn_column_role role = attn_table_role(table, column);

    return role == ATTN_ROLE_HEAD || role == ATTN_ROLE_KV_HEAD || role == ATTN_ROLE_NEURON;
}

/* Returns true if COLUMN has layers of a model with two stacks; the column before it has the names
 * of the stacks. */
static bool has_stacks(const struct attn_table *table, size_t column)
{
    return column != SIZE_MAX && column > 0 &&
           attn_table_role(table, column - 1) == ATTN_ROLE_STACK;
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
                                        struct attn_store **store, struct attn_error *err)
{
    ATTN_TRY(ATTN_STORE_ALLOC(store, axis->of_rows, n_row, err));
    ATTN_TRY(ATTN_STORE_ALLOC(store, axis->positions, n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(store, axis->begins, n, err));
    ATTN_TRY(ATTN_ALLOC(axis->texts.ends, n, err));
    for (size_t i = 0; i < n_row; i++)
        axis->of_rows[i] = SIZE_MAX;
    return ATTN_OK;
}

enum attn_status attn_table_axis_end(struct attn_table_axis *axis, const char *title,
                                     struct attn_error *err)
{
    axis->axis = (struct attn_grid_axis){.n = axis->texts.n,
                                         .texts = &axis->texts,
                                         .has_own_texts = true,
                                         .is_named = true,
                                         .title = title};
    return attn_buffer_check(&axis->texts.bytes, err);
}

/* --- Labels ----------------------------------------------------------------------------------- */

/* Reads the layer in COLUMN of ROW, with its stack if the model has two. Returns false if it is
 * missing. The output of a decoder's layer is placed at the layer's attention to the source, which
 * comes last. */
static bool read_layer(const struct attn_table *table, size_t row, size_t column,
                       struct attn_location *at)
{
    const size_t next = column + 1 < attn_table_n_column(table) ? column + 1 : column;
    const struct attn_cell site = attn_table_cell(table, row, next);

    if (!attn_location_read(table, row, column, at))
        return false;
    if (at->stack == ATTN_STACK_DECODER &&
        attn_cell_word(&site, "resid_post normalized_resid_post") <= 1)
        at->stack = ATTN_STACK_CROSS;
    return true;
}

bool attn_table_read_head(const struct attn_table *table, size_t row, struct attn_location *at)
{
    const size_t layer = attn_table_find_role(table, ATTN_ROLE_LAYER);
    const size_t head = attn_table_find_role(table, ATTN_ROLE_HEAD);

    if (layer == SIZE_MAX || head == SIZE_MAX || attn_table_is_missing(table, row, head) ||
        !read_layer(table, row, layer, at))
        return false;
    at->head = (int)attn_table_cell(table, row, head).integer;
    return true;
}

void attn_table_append_label(struct attn_buffer *out, const char *text, size_t size, size_t width)
{
    struct attn_buffer escaped = {0};

    attn_escape_append(&escaped, text, size);
    attn_text_append_label(out, escaped.data, escaped.size, width, ATTN_ELLIPSIS);
    out->has_failed |= escaped.has_failed;
    attn_buffer_release(&escaped);
}

/* Appends a cell as a label: a text, a layer with its stack, or a number; nothing if it is missing.
 */
static void append_cell(struct attn_buffer *out, const struct attn_table *table, size_t row,
                        size_t column)
{
    const struct attn_cell cell = attn_table_cell(table, row, column);
    struct attn_location at;

    if (has_stacks(table, column) && read_layer(table, row, column, &at))
        attn_grid_append_layer(out, &at);
    else if (cell.type == ATTN_VALUE_TEXT)
        attn_escape_append(out, cell.text, cell.size);
    else if (cell.type == ATTN_VALUE_REAL)
        attn_double_append_as(out, 'g', 6, cell.real);
    else if (cell.type != ATTN_VALUE_MISSING)
        attn_buffer_append_format(out, "%" PRId64, cell.integer);
}

static bool is_position(const struct attn_cell *cell, const struct attn_token_texts *tokens)
{
    return cell->type == ATTN_VALUE_INTEGER && cell->integer >= 0 &&
           (size_t)cell->integer < tokens->n;
}

/* Reads the tokens of the runs of the picture: of each run, those of its text and of its source. */
static enum attn_status read_tokens(struct attn_table_cells *cells, struct attn_error *err)
{
    const struct attn_labels *other = cells->picture->other_run;

    ATTN_TRY(attn_token_labels_init(cells->tokens, cells->picture->run, err));
    return other ? attn_token_labels_init(cells->tokens + ATTN_GRID_OTHER, other, err) : ATTN_OK;
}

/* Appends the token at POSITION, without blanks before it if IS_BARE, and that of the other run. */
static void append_token(struct attn_buffer *out, const struct attn_token_texts *tokens,
                         size_t position, bool is_bare)
{
    size_t n, n_blank = 0, n_other;
    const char *token = attn_token_text(tokens, position, &n), *other = NULL;
    const struct attn_token_texts *others = &tokens[ATTN_GRID_OTHER];

    while (is_bare && n_blank + 1 < n && token[n_blank] == ' ')
        n_blank++;
    attn_buffer_append(out, token + n_blank, n - n_blank);
    if (position < others->n)
        other = attn_token_text(others, position, &n_other);
    if (!other || (n_other == n && memcmp(other, token, n) == 0))
        return;
    for (; n_other > 1 && *other == ' '; n_other--)
        other++;
    attn_buffer_append_char(out, '/');
    attn_buffer_append(out, other, n_other);
}

/* Appends the labels of the items of a row: "pl, none". */
static void append_labels(struct attn_buffer *out, const struct attn_table_cells *cells, size_t row)
{
    for (size_t i = 0; i < cells->picture->n_label; i++) {
        attn_buffer_append_string(out, i > 0 ? ", " : "");
        append_cell(out, cells->table, row, i);
    }
}

/* Makes the rest of the bytes of AXIS the label of ROW. Returns its index; if IS_UNIQUE that of an
 * equal one before it, which takes its place. */
static size_t end_label(struct attn_table_axis *axis, bool is_unique)
{
    struct attn_token_texts *texts = &axis->texts;
    const size_t begin = texts->n > 0 ? texts->ends[texts->n - 1] : 0;
    const size_t size = texts->bytes.size - begin;

    for (size_t i = 0; is_unique && i < texts->n; i++) {
        size_t n;
        const char *text = attn_token_text(texts, i, &n);

        if (n != size || (n > 0 && memcmp(text, texts->bytes.data + begin, n) != 0))
            continue;
        texts->bytes.size = begin;
        return i;
    }
    texts->ends[texts->n++] = texts->bytes.size;
    return texts->n - 1;
}

static bool has_trait(const struct attn_table_cells *cells, enum attn_view_trait trait)
{
    return (cells->picture->view.traits & trait) != 0;
}

/* --- The residual stream ---------------------------------------------------------------------- */

/* The layers of a table, as places in the residual stream. */
struct stream {
    const struct attn_table *table;
    size_t sites; /* or parts */
    bool has_sites;
    bool is_shown; /* some rows are such places, and the view wants them named so */
    struct attn_location first, last; /* layers */
};

/* The places of a layer in the residual stream. */
enum { PRE, MID, POST, N_PLACE };

/* Returns the place of a layer that the site of ROW denotes; SIZE_MAX if it is not in the residual
 * stream. */
static size_t place_of(const struct stream *stream, size_t row)
{
    const struct attn_cell site = attn_table_cell(stream->table, row, stream->sites);
    const size_t word = attn_cell_word(&site, "resid_pre resid_mid resid_post "
                                              "- normalized_resid_mid normalized_resid_post");

    return word < SIZE_MAX ? word % N_PLACE : SIZE_MAX;
}

static struct stream read_stream(const struct attn_table_cells *cells)
{
    const struct attn_table *table = cells->table;
    const size_t layers = attn_table_find_role(table, ATTN_ROLE_LAYER);
    struct stream stream = {.table = table, .sites = attn_table_find_role(table, ATTN_ROLE_SITE)};
    struct attn_location at;
    size_t n = 0;

    stream.has_sites = stream.sites < SIZE_MAX;
    if (!stream.has_sites)
        stream.sites = attn_table_find_role(table, ATTN_ROLE_PART);
    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        stream.is_shown |= has_trait(cells, ATTN_VIEW_STREAM) && place_of(&stream, i) < SIZE_MAX;
        if (!read_layer(table, i, layers, &at))
            continue;
        if (n == 0 || attn_location_order(&at, &stream.first) < 0)
            stream.first = at;
        if (n++ == 0 || attn_location_order(&at, &stream.last) > 0)
            stream.last = at;
    }
    return stream;
}

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

/* Appends the name of the place of ROW, in the layer AT, in the residual stream: "embedding", "in
 * layer 2", "after layer 2", "output"; with two stacks "decoder embedding", "after cross 1"; as a
 * tick of the axis "after layer" "in", "mid 2", "2", "out". Returns false for other sites. */
static bool append_stream(struct attn_buffer *out, const struct stream *stream, size_t row,
                          struct attn_location at, bool is_tick)
{
    const bool is_of_stacks = at.stack != ATTN_STACK_ONLY;
    size_t word = place_of(stream, row);

    if (word == MID && at.stack == ATTN_STACK_DECODER) /* attention to the source comes next */
        word = POST;
    if (word == PRE && at.layer == 0 && at.stack != ATTN_STACK_CROSS) {
        attn_buffer_append_format(out, "%s%s%s", attn_model_stack_name(at.stack),
                                  is_of_stacks ? " " : "", is_tick ? "in" : "embedding");
    } else if (word == POST && attn_location_order(&at, &stream->last) == 0 &&
               stream->has_sites) { /* otherwise not all layers need have rows */
        attn_buffer_append_string(out, is_tick ? "out" : "output");
    } else if (word <= POST) {
        if (word == PRE)
            step_back(&at);
        if (is_tick)
            attn_buffer_append_string(out, word == MID ? "mid " : "");
        else
            attn_buffer_append_format(out, "%s %s", word == MID ? "in" : "after",
                                      is_of_stacks ? "" : "layer ");
        attn_grid_append_layer(out, &at);
    }
    return word <= POST;
}

/* --- The axes of a grid ----------------------------------------------------------------------- */

/* A side of a grid. Columns of the table are SIZE_MAX if they are missing. */
struct side {
    struct attn_table_axis *axis; /* of pairs, both have that of the rows */
    size_t *places;               /* [n_row of the table] */
    size_t keys, details, query;
    size_t parts; /* names of what has no key */
    size_t texts; /* labels of the columns */
    bool is_row;
    bool is_head, is_of_tokens; /* keys are heads, positions of tokens */
    bool is_stream, has_stacks; /* keys are places in the stream, layers of two stacks */
};

struct grid {
    struct attn_table_cells *cells;
    struct stream stream;
    struct side rows, columns;
    bool is_pairs, are_writers; /* keys are heads, or parts that write into the stream */
};

/* The place of a row of the table on one side of a grid. Places are sorted by numbers; rows with
 * the same numbers share one. */
struct key {
    int64_t order[5];        /* side, group of parts, key, detail, query */
    struct attn_location at; /* for a layer: layer and stack */
    size_t row;
    const struct side *side;
};

enum { SIDE, GROUP, KEY, DETAIL, QUERY, N_ORDER };

/* Numbers of keys: none; then integers, parts after the heads of a layer, texts. */
static const int64_t NONE = INT64_MIN, FIRST_PART = 1LL << 32, FIRST_TEXT = 1LL << 56;

static int by_order(const void *a, const void *b)
{
    const struct key *x = a, *y = b;

    for (int i = 0; i < N_ORDER; i++)
        if (x->order[i] != y->order[i])
            return x->order[i] < y->order[i] ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static bool is_same_place(const struct key *a, const struct key *b)
{
    return memcmp(a->order, b->order, sizeof a->order) == 0;
}

/* Returns the number of a cell: its integer; for a text that of the first row that has it. */
static int64_t number_of(const struct attn_table *table, size_t row, size_t column)
{
    const struct attn_cell cell = attn_table_cell(table, row, column);
    struct attn_cell other = attn_table_cell(table, 0, column);
    size_t first = 0;

    if (cell.type != ATTN_VALUE_TEXT)
        return cell.type == ATTN_VALUE_MISSING ? NONE : cell.integer;
    while (!attn_cell_is_equal(&cell, &other))
        other = attn_table_cell(table, ++first, column);
    return FIRST_TEXT + (int64_t)first;
}

/* Returns the number of a layer, in the order of attn_location_order. */
static int64_t number_of_layer(const struct attn_location *at)
{
    const int64_t stack = attn_stack_is_encoder(at->stack) ? 0 : FIRST_PART;

    return stack + ((int64_t)at->layer << 3) + (int64_t)at->stack;
}

/* Finds the key of ROW on SIDE of a grid. Returns false if it has none. A part without a number
 * there is a column of its own; as a row it is in the first layer if it comes before the layers,
 * otherwise in the last. Writers without a layer come before or after all layers, in a layer heads
 * before the other parts. */
static bool find_key(const struct grid *grid, const struct side *side, size_t row, struct key *key)
{
    enum { BEFORE_LAYERS = 1, IN_LAYER, AFTER_LAYERS };
    const struct attn_table *table = grid->cells->table;
    const struct attn_table_view *view = &grid->cells->picture->view;
    const struct attn_cell part = attn_table_cell(table, row, side->parts);
    const size_t input = attn_cell_word(&part, view->inputs);
    const size_t number = attn_cell_word(&part, view->parts);
    int64_t *order = key->order;

    *key = (struct key){.row = row, .side = side};
    order[SIDE] = !side->is_row && !grid->is_pairs;
    order[KEY] = number_of(table, row, side->keys);
    order[DETAIL] = number_of(table, row, side->details);
    order[QUERY] = number_of(table, row, side->query);
    if (read_layer(table, row, side->keys, &key->at))
        order[KEY] = number_of_layer(&key->at);
    if (grid->are_writers) {
        order[GROUP] = order[KEY] != NONE ? IN_LAYER
                       : input < SIZE_MAX ? BEFORE_LAYERS
                                          : AFTER_LAYERS;
        if (order[DETAIL] == NONE)
            order[DETAIL] = input < SIZE_MAX    ? FIRST_PART + (int64_t)input
                            : number < SIZE_MAX ? FIRST_PART + (int64_t)number
                                                : FIRST_TEXT;
        return part.type != ATTN_VALUE_MISSING;
    }
    if (order[KEY] != NONE)
        return true;
    if (part.type != ATTN_VALUE_TEXT || attn_table_total(table, row) != SIZE_MAX)
        return false;
    if (side->is_row) {
        key->at = input < SIZE_MAX ? grid->stream.first : grid->stream.last;
        order[KEY] = number_of_layer(&key->at);
    } else {
        order[GROUP] = number < SIZE_MAX ? (int64_t)number + 1 : INT64_MAX;
        order[KEY] = number_of(table, row, side->parts);
    }
    return true;
}

/* Appends the name of a head or another writer: "2.5", "mlp 1" or "embed". */
static void append_writer(struct attn_buffer *out, const struct attn_table *table,
                          const struct key *key)
{
    const bool is_head = key->order[DETAIL] < FIRST_PART,
               has_layer = key->at.layer != ATTN_NO_LAYER;

    if (!is_head)
        append_cell(out, table, key->row, key->side->parts);
    attn_buffer_append_string(out, !is_head && has_layer ? " " : "");
    if (has_layer)
        attn_grid_append_layer(out, &key->at);
    if (is_head)
        attn_buffer_append_format(out, ".%" PRId64, key->order[DETAIL]);
}

/* Appends the label of KEY: its text, its token, or its key with a detail: "2.5" for a head, "2.5
 * query 4" for one of its rows, "position 3", or "3 cat". */
static void append_key(struct attn_buffer *out, const struct grid *grid, const struct key *key)
{
    const struct attn_table *table = grid->cells->table;
    const struct attn_token_texts *tokens = grid->cells->tokens;
    const struct side *side = key->side;
    const bool has_detail = side->details < SIZE_MAX;
    struct attn_cell text = attn_table_cell(table, key->row,
                                            side->is_stream         ? grid->stream.sites
                                            : has_detail            ? side->details
                                            : key->order[GROUP] > 0 ? side->parts
                                                                    : side->keys);
    const bool is_token = side->is_of_tokens && is_position(&text, tokens);
    const bool is_head = side->is_head && text.type == ATTN_VALUE_INTEGER;

    if (side->has_stacks && !side->is_stream && !is_head) {
        attn_grid_append_layer(out, &key->at);
        if (!has_detail || attn_cell_word(&text, attn_site_name(ATTN_SITE_RESID_PRE)) == 0)
            return; /* complete without the site */
        attn_buffer_append_char(out, ' ');
    }
    if (!attn_table_is_missing(table, key->row, side->texts))
        text = attn_table_cell(table, key->row, side->texts);
    if (text.type == ATTN_VALUE_TEXT) {
        if (!side->is_stream || !append_stream(out, &grid->stream, key->row, key->at, false))
            attn_escape_append(out, text.text, text.size);
    } else if (side->texts != SIZE_MAX) {
        attn_buffer_append_string(out, ATTN_ELLIPSIS); /* the tokens of items differ */
    } else if (is_head) {
        append_writer(out, table, key);
        if (key->order[QUERY] != NONE)
            attn_buffer_append_format(out, " query %" PRId64, key->order[QUERY]);
    } else if (is_token) {
        if (has_detail)
            attn_buffer_append_format(out, "%" PRId64 " ", text.integer);
        append_token(out, tokens, (size_t)text.integer, has_detail);
    } else if (has_detail) {
        attn_buffer_append_format(out, "%s %" PRId64, attn_table_column_name(table, side->details),
                                  text.integer);
    } else if (!side->is_row && side->parts < SIZE_MAX) {
        attn_buffer_append_format(out, "%" PRId64, text.integer);
    }
}

/* Names the axis of SIDE: by the column of texts if it has a quantity, as numbers then only give
 * the order; otherwise by the key column. */
static void name_axis(const struct grid *grid, const struct side *side)
{
    const struct attn_table *table = grid->cells->table;
    struct attn_table_axis *places = side->axis;
    struct attn_grid_axis *axis = &places->axis;
    const struct attn_column *texts =
        attn_table_column(table, side->texts == SIZE_MAX ? side->details : side->texts);
    const struct attn_column *column = texts && texts->type == ATTN_VALUE_TEXT && texts->quantity
                                           ? texts
                                           : attn_table_column(table, side->keys);
    const bool has_texts = column->type == ATTN_VALUE_TEXT;

    axis->title = grid->are_writers
                      ? side->is_row ? "written into the query" : "written into the key"
                  : side->is_head                 ? "head"
                  : side->is_stream               ? "residual stream"
                  : has_texts && column->quantity ? column->quantity
                                                  : column->name;
    axis->has_own_texts = true;
    axis->is_named =
        has_texts || axis->n_main > 0 || side->is_stream || side->is_head || side->has_stacks;
    axis->positions = places->positions;
    axis->begins = grid->are_writers || grid->is_pairs ? places->begins : NULL;
    axis->texts = places->texts.bytes.size > 0 ? &places->texts : NULL;
}

/* Makes a place on SIDE for each of the sorted KEYS [n] that differs from the one before. In the
 * residual stream the input of a layer is one place with the output of the layer before. */
static enum attn_status place_keys(const struct grid *grid, const struct side *side,
                                   const struct key *keys, size_t n, struct attn_error *err)
{
    struct attn_table_axis *axis = side->axis;
    const struct key *last = NULL; /* of the last place */
    size_t n_main = 0, at = 0;

    for (size_t i = 0; i < n; i++) {
        const struct key *key = &keys[i];
        const size_t n_found = axis->texts.n;

        if (i == 0 || !is_same_place(key, &keys[i - 1])) {
            if (grid->are_writers)
                append_writer(&axis->texts.bytes, grid->cells->table, key);
            else
                append_key(&axis->texts.bytes, grid, key);
            at = end_label(axis, key->side->is_stream);
        }
        key->side->places[key->row] = at;
        if (axis->texts.n == n_found)
            continue;
        axis->begins[at] = last && (key->order[GROUP] != last->order[GROUP] ||
                                    key->order[KEY] != last->order[KEY]);
        axis->positions[at] = key->at.layer > 0 ? (size_t)key->at.layer : 0;
        n_main += key->order[GROUP] == 0;
        last = key;
    }
    axis->axis.n = axis->texts.n;
    axis->axis.n_main = n_main < axis->axis.n ? n_main : 0;
    name_axis(grid, side);
    return attn_buffer_check(&axis->texts.bytes, err);
}

/* Returns how many of the sorted KEYS [n] of rows are of the first place, if most of its cells
 * repeat the token of their column, as the embedding of a token is the token; 0 otherwise. The
 * first row of a cell is its text. */
static size_t count_repeated(const struct attn_table_cells *cells, const struct key *keys, size_t n)
{
    const double most = 0.75;
    size_t n_key = 0, n_cell = 0, n_equal = 0;

    for (; n_key < n && is_same_place(&keys[n_key], keys); n_key++) {
        const size_t row = keys[n_key].row;
        const struct attn_cell cell = attn_table_cell(cells->table, row, cells->of.cells);
        const struct attn_cell at = attn_table_cell(cells->table, row, cells->of.columns);
        size_t n_word = cell.size, n_token = 0, first = 0;
        const char *word = attn_text_trim(cell.text, &n_word), *token = NULL;

        while (attn_table_cell(cells->table, keys[first].row, cells->of.columns).integer !=
               at.integer)
            first++;
        if (first < n_key)
            continue;
        if (is_position(&at, cells->tokens))
            token = attn_token_text(cells->tokens, (size_t)at.integer, &n_token);
        token = attn_text_trim(token, &n_token);
        n_cell++;
        n_equal += n_word > 0 && n_word == n_token && memcmp(word, token, n_word) == 0;
    }
    return n_key < n && (double)n_equal >= most * (double)n_cell ? n_key : 0;
}

/* Makes the places of the rows of the table that have one on both sides. */
static enum attn_status place_sides(const struct grid *grid, struct attn_error *err)
{
    const struct attn_table_cells *cells = grid->cells;
    const char *only = cells->picture->view.only;
    const size_t n_row = attn_table_n_row(cells->table);
    enum attn_status status = ATTN_OK;
    size_t n = 0, n_repeated = 0;
    struct key *keys;

    ATTN_TRY(ATTN_ALLOC(keys, 2 * n_row, err));
    for (size_t row = 0; row < n_row; row++) {
        const struct attn_cell part = attn_table_role_cell(cells->table, row, ATTN_ROLE_PART);

        if ((!only || attn_cell_word(&part, only) < SIZE_MAX) &&
            find_key(grid, &grid->rows, row, &keys[n]) &&
            find_key(grid, &grid->columns, row, &keys[n + 1]))
            n += 2;
    }
    qsort(keys, n, sizeof *keys, by_order);
    if (!grid->is_pairs) { /* half of the keys are those of the rows */
        n /= 2;
        if (cells->of.cells < SIZE_MAX && cells->picture->n_label == 0)
            n_repeated = count_repeated(cells, keys, n);
        status = place_keys(grid, &grid->rows, keys + n_repeated, n - n_repeated, err);
    }
    ATTN_THEN(status, place_keys(grid, &grid->columns, grid->is_pairs ? keys : keys + n, n, err));
    attn_free(keys);
    return status;
}

/* Finds the columns of a side of GRID; of pairs of heads, or of writers, those of heads and parts
 * of both sides. */
static enum attn_status read_side(const struct grid *grid, bool is_row, struct side *side,
                                  struct attn_error *err)
{
    static const enum attn_column_role roles[2][3] = {
        {ATTN_ROLE_OTHER_LAYER, ATTN_ROLE_OTHER_HEAD, ATTN_ROLE_OTHER_PART},
        {ATTN_ROLE_LAYER, ATTN_ROLE_HEAD, ATTN_ROLE_PART}};
    struct attn_table_cells *cells = grid->cells;
    const struct attn_table *table = cells->table;
    const struct attn_view_columns *of = &cells->of;
    const bool is_twin = grid->is_pairs || grid->are_writers;
    const size_t n_row = attn_table_n_row(table);
    struct attn_table_axis *axis = is_row ? &cells->rows : &cells->columns;
    enum attn_column_role role;

    *side = (struct side){.is_row = is_row,
                          .keys = is_twin  ? attn_table_find_role(table, roles[is_row][0])
                                  : is_row ? of->rows
                                           : of->columns,
                          .details = is_twin  ? attn_table_find_role(table, roles[is_row][1])
                                     : is_row ? of->detail
                                              : SIZE_MAX,
                          .parts = grid->are_writers ? attn_table_find_role(table, roles[is_row][2])
                                   : cells->picture->view.parts
                                       ? attn_table_find_role(table, ATTN_ROLE_PART)
                                       : SIZE_MAX,
                          .query = is_row && attn_table_role(table, of->detail) == ATTN_ROLE_HEAD
                                       ? attn_table_find_role(table, ATTN_ROLE_QUERY)
                                       : SIZE_MAX,
                          .texts = is_row ? SIZE_MAX : filled(table, of->texts),
                          .is_stream = is_row && grid->stream.is_shown,
                          .has_stacks = is_row && has_stacks(table, of->rows)};
    if (grid->is_pairs && (side->keys == SIZE_MAX || side->details == SIZE_MAX))
        return attn_error_set(err, ATTN_INVALID, "the table is not one of pairs of heads");
    role = attn_table_role(table, side->details < SIZE_MAX ? side->details : side->keys);
    side->is_head =
        side->details < SIZE_MAX && (role == ATTN_ROLE_HEAD || role == ATTN_ROLE_OTHER_HEAD);
    side->is_of_tokens =
        role == ATTN_ROLE_POSITION || (has_trait(cells, ATTN_VIEW_DIFFERENCE) &&
                                       (role == ATTN_ROLE_QUERY || role == ATTN_ROLE_KEY));
    ATTN_TRY(attn_table_axis_create(axis, n_row, 2 * n_row, &cells->store, err));
    side->places = axis->of_rows;
    side->axis = grid->is_pairs ? &cells->rows : axis;
    return ATTN_OK;
}

/* Makes a group of the rows with the same labels. */
static enum attn_status read_groups(struct attn_table_cells *cells, struct attn_error *err)
{
    struct attn_table_axis *groups = &cells->groups;
    const size_t n_row = attn_table_n_row(cells->table);

    ATTN_TRY(attn_table_axis_create(groups, n_row, n_row, &cells->store, err));
    for (size_t i = 0; i < n_row; i++) {
        append_labels(&groups->texts.bytes, cells, i);
        groups->of_rows[i] = end_label(groups, true);
    }
    cells->grid.groups = &groups->axis;
    return attn_table_axis_end(groups, "", err);
}

static enum attn_status read_grid(struct attn_table_cells *cells, struct attn_error *err)
{
    const struct attn_table_picture *picture = cells->picture;
    const struct attn_figure_text *texts = picture->texts;
    const char *name = attn_table_column_name(cells->table, cells->of.columns);
    const enum attn_column_role role = attn_table_role(cells->table, cells->of.columns);
    struct grid grid = {.cells = cells,
                        .stream = read_stream(cells),
                        .is_pairs = has_trait(cells, ATTN_VIEW_PAIRS),
                        .are_writers = role == ATTN_ROLE_OTHER_PART};
    bool is_of_run;

    grid.stream.is_shown &= role != ATTN_ROLE_SITE;
    if (picture->n_label > 0)
        ATTN_TRY(read_groups(cells, err));
    ATTN_TRY(read_side(&grid, true, &grid.rows, err));
    ATTN_TRY(read_side(&grid, false, &grid.columns, err));
    is_of_run = picture->run && grid.columns.is_of_tokens;
    if (is_of_run || (picture->run && grid.rows.is_of_tokens))
        ATTN_TRY(read_tokens(cells, err));
    ATTN_TRY(place_sides(&grid, err));
    if (grid.is_pairs)
        cells->columns.axis = cells->rows.axis;
    if (cells->rows.axis.n == 0)
        return attn_error_set(err, ATTN_INVALID, "the table has no %s and %s to draw",
                              attn_table_column_name(cells->table, cells->of.rows), name);
    cells->columns.axis.parts = is_of_run ? picture->run->texts : NULL;
    if (!is_of_run || !picture->other_run || !texts[0].name || !texts[1].name)
        return ATTN_OK;
    attn_buffer_append_format(&cells->both, "%s: %s/%s", name, texts[0].name, texts[1].name);
    cells->columns.axis.title = attn_buffer_string(&cells->both);
    return attn_buffer_check(&cells->both, err);
}

/* --- The axes of bars and curves -------------------------------------------------------------- */

/* Bars, curves and strips: groups, each with a number at each of the places. */
struct series {
    struct attn_table_cells *cells;
    struct stream stream;
    enum attn_column_role role; /* of the columns of the view */
    bool is_line;               /* a curve whose places are layers or positions */
    bool is_of_positions;       /* these are positions, if it is one */
    bool has_axis_name;         /* the places are numbers, which the axis names */
};

/* Appends " resid_post" or, for a part of a layer, ".5"; empty for the usual site. */
static void append_site(struct attn_buffer *out, const struct attn_table *table, size_t row,
                        size_t detail)
{
    const struct attn_cell cell = attn_table_cell(table, row, detail);

    if (cell.type == ATTN_VALUE_MISSING ||
        attn_cell_word(&cell, attn_site_name(ATTN_SITE_RESID_PRE)) == 0)
        return;
    attn_buffer_append_char(out, attn_table_has_parts(table, detail) ? '.' : ' ');
    append_cell(out, table, row, detail);
}

/* Appends the head, position, token or part of a row. */
static void append_column_side(struct attn_buffer *out, const struct series *series, size_t row)
{
    const struct attn_table_cells *cells = series->cells;
    const struct attn_table *table = cells->table;
    const size_t columns = cells->of.columns;
    const size_t parts = attn_table_find_role(table, ATTN_ROLE_PART);
    const struct attn_cell cell = attn_table_cell(table, row, columns);
    const struct attn_cell part = attn_table_cell(table, row, parts);
    struct attn_cell text = attn_table_cell(table, row, cells->of.texts);

    if (cell.type == ATTN_VALUE_INTEGER && attn_cell_word(&part, "source") == 0 &&
        series->role == ATTN_ROLE_POSITION)
        attn_buffer_append_string(out, "source ");
    if (text.type != ATTN_VALUE_MISSING) {
        append_cell(out, table, row, columns);
        attn_buffer_append_char(out, ' ');
        for (; text.size > 1 && *text.text == ' '; text.size--)
            text.text++;
        attn_escape_append(out, text.text, text.size);
    } else if (is_position(&cell, cells->tokens)) {
        attn_buffer_append_format(out, "%" PRId64 " ", cell.integer);
        append_token(out, cells->tokens, (size_t)cell.integer, true);
    } else {
        if (cell.type == ATTN_VALUE_INTEGER && !series->has_axis_name)
            attn_buffer_append_format(out, "%s ", attn_table_column_name(table, columns));
        append_cell(out, table, row, cell.type != ATTN_VALUE_MISSING ? columns : parts);
    }
}

/* Appends the place of a row: its place in the residual stream, or its layer and site. */
static void append_place(struct attn_buffer *out, const struct series *series, size_t row,
                         bool is_named)
{
    const struct attn_table *table = series->cells->table;
    const struct attn_view_columns *of = &series->cells->of;
    const bool is_tick = series->is_line && !is_named;
    struct attn_location at;

    if (series->stream.is_shown && read_layer(table, row, of->rows, &at) &&
        append_stream(out, &series->stream, row, at, is_tick && at.stack == ATTN_STACK_ONLY))
        return;
    if (is_named && !has_stacks(table, of->rows))
        attn_buffer_append_format(out, "%s ", attn_table_column_name(table, of->rows));
    append_cell(out, table, row, of->rows);
    append_site(out, table, row, of->detail);
}

/* Appends the name of a row: "2.5" for a head or neuron, "2.5 4>1 keys" for a cell, "mlp 3", "2
 * keys". */
static void append_row(struct attn_buffer *out, const struct series *series, size_t row)
{
    const struct attn_table *table = series->cells->table;
    const struct attn_view_columns *of = &series->cells->of;
    const size_t n = out->size, query = attn_table_find_role(table, ATTN_ROLE_QUERY);

    if (of->rows == of->columns || attn_table_is_missing(table, row, of->rows)) {
        append_column_side(out, series, row);
    } else if (attn_table_has_parts(table, of->columns) &&
               !attn_table_is_missing(table, row, of->columns)) {
        append_cell(out, table, row, of->rows);
        append_site(out, table, row, of->columns);
        append_site(out, table, row, of->detail);
    } else if (attn_table_role(table, of->detail) == ATTN_ROLE_HEAD) {
        append_place(out, series, row, false);
        attn_buffer_append_char(out, ' ');
        append_cell(out, table, row, query);
        attn_buffer_append_string(out, query != SIZE_MAX ? ">" : "");
        append_column_side(out, series, row);
    } else {
        if (series->role != ATTN_ROLE_SITE)
            append_column_side(out, series, row);
        attn_buffer_append_string(out, out->size > n ? " " : "");
        append_place(out, series, row, out->size == n);
    }
}

/* Appends the group of a row: its labels and, of lines, the other side than that of the places. */
static void append_group(struct attn_buffer *out, const struct series *series, size_t row)
{
    const struct attn_view_columns *of = &series->cells->of;
    const size_t begin = out->size;

    append_labels(out, series->cells, row);
    if (!series->is_line || series->role == ATTN_ROLE_SITE || of->rows == of->columns)
        return; /* each group has one curve */
    attn_buffer_append_string(out, out->size > begin ? ", " : "");
    if (series->is_of_positions)
        append_place(out, series, row, true);
    else
        append_column_side(out, series, row);
}

/* Appends the place of a row: of lines its position, or otherwise its layer; of others its name. */
static void append_name(struct attn_buffer *out, const struct series *series, size_t row)
{
    if (!series->is_line)
        append_row(out, series, row);
    else if (series->is_of_positions)
        append_column_side(out, series, row);
    else
        append_place(out, series, row, false);
}

/* Returns true if ROW of the table has a place in bars and curves. */
static bool has_name(const struct series *series, size_t row)
{
    const struct attn_table *table = series->cells->table;
    const struct attn_view_columns *of = &series->cells->of;
    const char *quantity = attn_table_column(table, of->values)->quantity;

    /* totals are drawn beside the parts if they are answers and not changes */
    if (attn_table_total(table, row) != SIZE_MAX &&
        !(quantity && strcmp(quantity, ATTN_ANSWER) == 0))
        return false;
    return !series->is_line || (!attn_table_is_missing(table, row, of->rows) &&
                                !attn_table_is_missing(table, row, of->columns));
}

static enum attn_status read_series(struct attn_table_cells *cells, bool is_curve,
                                    struct attn_error *err)
{
    const struct attn_table *table = cells->table;
    const struct attn_view_columns *of = &cells->of;
    const bool is_sequence = has_trait(cells, ATTN_VIEW_SEQUENCE);
    const enum attn_column_role role = attn_table_role(table, of->columns);
    const bool has_positions = role == ATTN_ROLE_POSITION;
    const bool is_of_positions = is_curve && has_positions && of->detail == SIZE_MAX;
    const struct series series = {
        .cells = cells,
        .stream = read_stream(cells),
        .role = role,
        .is_line = is_curve && !is_sequence,
        .is_of_positions = of->detail == SIZE_MAX && (has_positions || role == ATTN_ROLE_KEY),
        .has_axis_name = is_curve && is_sequence && of->rows == of->columns};
    const struct attn_column *named =
        attn_table_column(table, is_sequence || is_of_positions ? of->columns : of->rows);
    struct attn_table_axis *groups = &cells->rows, *places = &cells->columns;
    const size_t n_row = attn_table_n_row(table);

    if (cells->picture->run && has_positions)
        ATTN_TRY(read_tokens(cells, err));
    ATTN_TRY(attn_table_axis_create(groups, n_row, n_row, &cells->store, err));
    ATTN_TRY(attn_table_axis_create(places, n_row, n_row, &cells->store, err));
    for (size_t i = 0; i < n_row; i++) {
        if (!has_name(&series, i))
            continue;
        if (of->rows < cells->picture->n_label) { /* the groups have rows, which are the places */
            append_labels(&places->texts.bytes, cells, i);
        } else {
            append_group(&groups->texts.bytes, &series, i);
            append_name(&places->texts.bytes, &series, i);
        }
        groups->of_rows[i] = end_label(groups, true);
        places->of_rows[i] = end_label(places, true);
    }
    ATTN_TRY(attn_table_axis_end(groups, "", err));
    ATTN_TRY(attn_table_axis_end(places, "", err));
    if (groups->texts.n == 0)
        return attn_error_set(err, ATTN_INVALID, "the table has no rows to draw");
    if (is_curve && series.stream.is_shown && !is_of_positions)
        places->axis.title = has_stacks(table, of->rows) ? "residual stream" : "after layer";
    else
        places->axis.title = named->quantity ? named->quantity : named->name;
    return ATTN_OK;
}

/* --- An axis of tokens ------------------------------------------------------------------------ */

/* Appends the text or the id of a row in the table. A row of parts may have its number only. */
static void append_text(struct attn_buffer *out, const struct attn_table_cells *cells, size_t row)
{
    const size_t columns[] = {cells->of.texts,
                              has_trait(cells, ATTN_VIEW_PARTS) ? cells->of.rows : SIZE_MAX,
                              attn_table_find_role(cells->table, ATTN_ROLE_ID)};

    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (!attn_table_is_missing(cells->table, row, columns[i])) {
            append_cell(out, cells->table, row, columns[i]);
            return;
        }
    attn_buffer_append_string(out, " " ATTN_ELLIPSIS); /* the tokens of items differ */
}

/* Returns true if ROW begins another text than the row BEFORE: the text after a source, the second
 * of a pair; or of parts, if one of them has no position. */
static bool begins_text(const struct attn_table_cells *cells, size_t row, size_t before)
{
    const struct attn_table *table = cells->table;
    const struct attn_cell a = attn_table_role_cell(table, before, ATTN_ROLE_PART);
    const struct attn_cell b = attn_table_role_cell(table, row, ATTN_ROLE_PART);

    if (has_trait(cells, ATTN_VIEW_PARTS))
        return attn_table_is_missing(table, before, cells->of.rows) !=
               attn_table_is_missing(table, row, cells->of.rows);
    return attn_cell_word(&a, "source a") < SIZE_MAX && attn_cell_word(&b, "source a") == SIZE_MAX;
}

/* Makes AXIS of the rows that are about a token, and not about all together: the token of the run
 * at its position, otherwise the text in the table. A line separates two texts, of parts the rows
 * without a position. */
static enum attn_status read_list(struct attn_table_cells *cells, struct attn_table_axis *axis,
                                  struct attn_error *err)
{
    const struct attn_table *table = cells->table;
    const size_t rows = cells->of.rows;
    const bool are_parts = has_trait(cells, ATTN_VIEW_PARTS);
    const bool is_of_source = are_parts && attn_table_role(table, rows) == ATTN_ROLE_KEY;
    const struct attn_token_texts *tokens = cells->tokens + is_of_source;
    const size_t positions = are_parts ? rows : attn_table_find_role(table, ATTN_ROLE_POSITION);
    const size_t n_row = attn_table_n_row(table);
    size_t last = 0;

    if (cells->picture->run && positions < SIZE_MAX)
        ATTN_TRY(read_tokens(cells, err));
    ATTN_TRY(attn_table_axis_create(axis, n_row, n_row, &cells->store, err));
    for (size_t i = 0; i < n_row; i++) {
        const struct attn_cell position = attn_table_cell(table, i, positions);
        size_t at, size;
        const char *token;

        if (!are_parts && rows < SIZE_MAX && attn_table_is_missing(table, i, rows))
            continue;
        if (is_position(&position, tokens)) {
            token = attn_token_text(tokens, (size_t)position.integer, &size);
            attn_buffer_append(&axis->texts.bytes, token, size);
        } else {
            append_text(&axis->texts.bytes, cells, i);
        }
        at = axis->of_rows[i] = end_label(axis, false);
        axis->begins[at] = at > 0 && begins_text(cells, i, last);
        last = i;
    }
    ATTN_TRY(attn_table_axis_end(
        axis, attn_table_column_name(table, are_parts ? rows : cells->of.texts), err));
    axis->axis.begins = axis->begins;
    return ATTN_OK;
}

enum attn_status attn_table_axes_read(struct attn_table_cells *cells, enum attn_figure kind,
                                      struct attn_error *err)
{
    if (has_trait(cells, ATTN_VIEW_PARTS))
        return read_list(cells, &cells->rows, err);
    if (kind == ATTN_FIGURE_TOKENS || kind == ATTN_FIGURE_PAIR)
        return read_list(cells, &cells->columns, err);
    if (cells->of.rows == SIZE_MAX || cells->of.columns == SIZE_MAX)
        return attn_error_set(err, ATTN_INVALID, "the table lacks a column to be drawn by");
    if (kind == ATTN_FIGURE_BARS || kind == ATTN_FIGURE_CURVE || kind == ATTN_FIGURE_STRIP)
        return read_series(cells, kind == ATTN_FIGURE_CURVE, err);
    return read_grid(cells, err);
}
