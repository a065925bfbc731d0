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
        if (attn_table_has_role(table, i, ATTN_ROLE_VALUE))
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

bool attn_table_has_role(const struct attn_table *table, size_t column, enum attn_column_role role)
{
    const struct attn_column *found = attn_table_column(table, column);

    return found && found->role == role;
}

/* Returns true if COLUMN has layers of a model with two stacks; the column before it has the names
 * of the stacks. */
static bool has_stacks(const struct attn_table *table, size_t column)
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

struct attn_grid_axis attn_table_named_axis(const struct attn_table_axis *axis, const char *title)
{
    return (struct attn_grid_axis){.n = axis->texts.n,
                                   .texts = &axis->texts,
                                   .has_own_texts = true,
                                   .is_named = true,
                                   .title = title};
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
    return tokens && cell->type == ATTN_VALUE_INTEGER && cell->integer >= 0 &&
           (size_t)cell->integer < tokens->n;
}

/* --- What is read ----------------------------------------------------------------------------- */

enum { ROWS, COLUMNS }; /* the sides of a grid */
enum { NO_ROLE = -1 };

/* A table, and what names its rows. Columns are SIZE_MAX if they are missing. */
struct reading {
    const struct attn_table *table;
    const struct attn_table_picture *picture;
    const struct attn_table_view *view;
    const struct attn_view_columns *of;
    struct attn_table_cells *cells;
    int detail_role, role;               /* roles of `detail` and `columns` */
    size_t query, part, sites, position; /* position: of TOKENS; sites: or parts */
    /* of both sides of a grid: the columns of its keys, and of the parts that have none */
    size_t keys[2], details[2], parts[2];
    size_t texts;                     /* labels of its columns; or SIZE_MAX if these are empty */
    size_t n_label;                   /* leading columns by which rows are grouped */
    struct attn_location first, last; /* layers */
    bool has_stacks, is_stream;       /* rows: layers of two stacks, places in the stream */
    bool is_pairs, are_writers;       /* keys are heads, or parts that write into the stream */
    bool is_curve, is_sequence, are_parts, is_of_weights; /* the last: on positions */
    const struct attn_token_texts *tokens; /* [N_TOKENS] those of both runs, as far as needed */
    /* whether a row of the table has a place; NULL: each has */
    bool (*is_placed)(const struct reading *r, size_t row);
};

static int role_of(const struct attn_table *table, size_t column)
{
    const struct attn_column *found = attn_table_column(table, column);

    return found ? (int)found->role : NO_ROLE;
}

/* The places of a layer in the residual stream. */
enum { PRE, MID, POST, N_PLACE };

/* Returns the place of a layer that the site of ROW denotes; SIZE_MAX if it is not in the residual
 * stream. */
static size_t place_of(const struct reading *r, size_t row)
{
    const struct attn_cell site = attn_table_cell(r->table, row, r->sites);
    const size_t word = attn_cell_word(&site, "resid_pre resid_mid resid_post "
                                              "- normalized_resid_mid normalized_resid_post");

    return word < SIZE_MAX ? word % N_PLACE : SIZE_MAX;
}

static struct reading begin_reading(const struct attn_table *table,
                                    const struct attn_table_picture *picture, bool is_curve,
                                    struct attn_table_cells *cells)
{
    const struct attn_view_columns *of = &cells->of;
    const unsigned traits = picture->view.traits;
    const size_t layers = attn_table_find_role(table, ATTN_ROLE_LAYER);
    struct reading r = {.table = table,
                        .picture = picture,
                        .view = &picture->view,
                        .of = of,
                        .cells = cells,
                        .tokens = cells->tokens,
                        .detail_role = role_of(table, of->detail),
                        .role = role_of(table, of->columns),
                        .query = attn_table_find_role(table, ATTN_ROLE_QUERY),
                        .part = attn_table_find_role(table, ATTN_ROLE_PART),
                        .sites = attn_table_find_role(table, ATTN_ROLE_SITE),
                        .has_stacks = has_stacks(table, of->rows),
                        .is_pairs = (traits & ATTN_VIEW_PAIRS) != 0,
                        .is_sequence = (traits & ATTN_VIEW_SEQUENCE) != 0,
                        .are_parts = (traits & ATTN_VIEW_PARTS) != 0,
                        .is_of_weights = (traits & ATTN_VIEW_DIFFERENCE) != 0,
                        .is_curve = is_curve,
                        .n_label = picture->n_label};
    struct attn_location at;
    size_t n = 0;

    if (r.sites == SIZE_MAX)
        r.sites = r.part;
    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        r.is_stream |= (traits & ATTN_VIEW_STREAM) != 0 && place_of(&r, i) < SIZE_MAX;
        if (!read_layer(table, i, layers, &at))
            continue;
        if (n == 0 || attn_location_order(&at, &r.first) < 0)
            r.first = at;
        if (n++ == 0 || attn_location_order(&at, &r.last) > 0)
            r.last = at;
    }
    return r;
}

/* Reads the tokens of the runs of the picture: of each run, those of its text and of its source. */
static enum attn_status read_tokens(struct reading *r, struct attn_error *err)
{
    struct attn_token_texts *tokens = r->cells->tokens;

    ATTN_TRY(attn_token_labels_init(tokens, r->picture->run, err));
    return r->picture->other_run
               ? attn_token_labels_init(tokens + ATTN_GRID_OTHER, r->picture->other_run, err)
               : ATTN_OK;
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
static bool append_stream(struct attn_buffer *out, const struct reading *r, size_t row,
                          struct attn_location at, bool is_tick)
{
    const bool is_of_stacks = at.stack != ATTN_STACK_ONLY;
    size_t word = place_of(r, row);

    if (word == MID && at.stack == ATTN_STACK_DECODER) /* attention to the source comes next */
        word = POST;
    if (word == PRE && at.layer == 0 && at.stack != ATTN_STACK_CROSS) {
        attn_buffer_append_format(out, "%s%s%s", attn_model_stack_name(at.stack),
                                  is_of_stacks ? " " : "", is_tick ? "in" : "embedding");
    } else if (word == POST && attn_location_order(&at, &r->last) == 0 &&
               r->sites != r->part) { /* otherwise not all layers need have rows */
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

/* Appends the rest of the bytes of the texts of AXIS as a label. Returns the index of the label; if
 * IS_UNIQUE that of an equal one before it, which takes its place. */
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

/* --- The axes of a grid ----------------------------------------------------------------------- */

/* The place of a row of the table on one side of a grid. Places are sorted by numbers; rows with
 * the same numbers share one. */
struct key {
    int64_t order[4];        /* group of parts, key, detail, query */
    struct attn_location at; /* for a layer: layer and stack */
    size_t row;
    int side;
    size_t *place; /* receives the index of the place */
};

enum { GROUP, KEY, DETAIL, QUERY, N_ORDER };

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
static bool find_key(const struct reading *r, int side, size_t row, struct key *key)
{
    enum { BEFORE_LAYERS = 1, IN_LAYER, AFTER_LAYERS };
    const struct attn_table *table = r->table;
    const struct attn_cell part = attn_table_cell(table, row, r->parts[side]);
    const size_t input = attn_cell_word(&part, r->view->inputs);
    const size_t number = attn_cell_word(&part, r->view->parts);
    const size_t query = side == ROWS && r->detail_role == ATTN_ROLE_HEAD ? r->query : SIZE_MAX;

    *key = (struct key){.order = {0, number_of(table, row, r->keys[side]),
                                  number_of(table, row, r->details[side]),
                                  number_of(table, row, query)},
                        .row = row,
                        .side = side};
    if (read_layer(table, row, r->keys[side], &key->at))
        key->order[KEY] = number_of_layer(&key->at);
    if (r->are_writers) {
        key->order[GROUP] = key->order[KEY] != NONE ? IN_LAYER
                            : input < SIZE_MAX      ? BEFORE_LAYERS
                                                    : AFTER_LAYERS;
        if (key->order[DETAIL] == NONE)
            key->order[DETAIL] = input < SIZE_MAX    ? FIRST_PART + (int64_t)input
                                 : number < SIZE_MAX ? FIRST_PART + (int64_t)number
                                                     : FIRST_TEXT;
        return part.type != ATTN_VALUE_MISSING;
    }
    if (key->order[KEY] != NONE)
        return true;
    if (part.type != ATTN_VALUE_TEXT || attn_table_total(table, row) != SIZE_MAX)
        return false;
    if (side == ROWS) {
        key->at = input < SIZE_MAX ? r->first : r->last;
        key->order[KEY] = number_of_layer(&key->at);
    } else {
        key->order[GROUP] = number < SIZE_MAX ? (int64_t)number + 1 : INT64_MAX;
        key->order[KEY] = number_of(table, row, r->parts[side]);
    }
    return true;
}

static bool is_head_column(const struct reading *r, int side)
{
    const int role = role_of(r->table, r->details[side]);

    return role == ATTN_ROLE_HEAD || role == ATTN_ROLE_OTHER_HEAD;
}

/* Whether the keys of SIDE are positions of tokens. */
static bool is_of_tokens(const struct reading *r, int side)
{
    const size_t detail = r->details[side];
    const int role = role_of(r->table, detail < SIZE_MAX ? detail : r->keys[side]);

    return role == ATTN_ROLE_POSITION ||
           (r->is_of_weights && (role == ATTN_ROLE_QUERY || role == ATTN_ROLE_KEY));
}

/* Appends the name of a writer: "2.5", "mlp 1" or "embed". */
static void append_writer(const struct reading *r, const struct key *key, struct attn_buffer *out)
{
    const bool is_head = key->order[DETAIL] < FIRST_PART,
               has_layer = key->at.layer != ATTN_NO_LAYER;

    if (!is_head)
        append_cell(out, r->table, key->row, r->parts[key->side]);
    attn_buffer_append_string(out, !is_head && has_layer ? " " : "");
    if (has_layer)
        attn_grid_append_layer(out, &key->at);
    if (is_head)
        attn_buffer_append_format(out, ".%" PRId64, key->order[DETAIL]);
}

/* Appends the label of KEY: its text, its token, or its key with a detail: "2.5" for a head, "2.5
 * query 4" for one of its rows, "position 3", or "3 cat". */
static void append_key(const struct reading *r, const struct key *key, struct attn_buffer *out)
{
    const struct attn_table *table = r->table;
    const size_t detail = r->details[key->side], row = key->row;
    const size_t texts = key->side == COLUMNS ? r->texts : SIZE_MAX;
    const bool is_stream = key->side == ROWS && r->is_stream;
    struct attn_cell text = attn_table_cell(table, row,
                                            is_stream               ? r->sites
                                            : detail < SIZE_MAX     ? detail
                                            : key->order[GROUP] > 0 ? r->parts[key->side]
                                                                    : r->keys[key->side]);
    const bool is_token = is_of_tokens(r, key->side) && is_position(&text, r->tokens);
    const bool is_head = is_head_column(r, key->side) && text.type == ATTN_VALUE_INTEGER;

    if (key->side == ROWS && r->has_stacks && !is_stream && !is_head) {
        attn_grid_append_layer(out, &key->at);
        if (detail == SIZE_MAX || attn_cell_word(&text, attn_site_name(ATTN_SITE_RESID_PRE)) == 0)
            return; /* complete without the site */
        attn_buffer_append_char(out, ' ');
    }
    if (!attn_table_is_missing(table, row, texts))
        text = attn_table_cell(table, row, texts);
    if (text.type == ATTN_VALUE_TEXT) {
        if (!is_stream || !append_stream(out, r, row, key->at, false))
            attn_escape_append(out, text.text, text.size);
    } else if (texts != SIZE_MAX) {
        attn_buffer_append_string(out, ATTN_ELLIPSIS); /* the tokens of items differ */
    } else if (is_head) {
        append_writer(r, key, out);
        if (key->order[QUERY] != NONE)
            attn_buffer_append_format(out, " query %" PRId64, key->order[QUERY]);
    } else if (detail < SIZE_MAX && !is_token) {
        attn_buffer_append_format(out, "%s %" PRId64, attn_table_column_name(table, detail),
                                  text.integer);
    } else if (is_token) {
        if (detail < SIZE_MAX)
            attn_buffer_append_format(out, "%" PRId64 " ", text.integer);
        append_token(out, r->tokens, (size_t)text.integer, detail < SIZE_MAX);
    } else if (key->side == COLUMNS && r->parts[COLUMNS] < SIZE_MAX) {
        attn_buffer_append_format(out, "%" PRId64, text.integer);
    }
}

/* Makes a place of AXIS for each of the sorted KEYS [n] that differs from the one before. In the
 * residual stream the input of a layer is one place with the output of the layer before. */
static enum attn_status place_keys(const struct reading *r, const struct key *keys, size_t n,
                                   struct attn_table_axis *axis, struct attn_error *err)
{
    const struct key *last = NULL; /* of the last place */
    size_t n_main = 0, at = 0;

    for (size_t i = 0; i < n; i++) {
        const struct key *key = &keys[i];
        const size_t n_found = axis->texts.n;

        if (i == 0 || !is_same_place(key, &keys[i - 1])) {
            if (r->are_writers)
                append_writer(r, key, &axis->texts.bytes);
            else
                append_key(r, key, &axis->texts.bytes);
            at = end_label(axis, key->side == ROWS && r->is_stream);
        }
        *key->place = at;
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
    return attn_buffer_check(&axis->texts.bytes, err);
}

/* Returns how many of the sorted KEYS [n] of rows are of the first place, if most of its cells
 * repeat the token of their column, as the embedding of a token is the token; 0 otherwise. The
 * first row of a cell is its text. */
static size_t count_repeated(const struct reading *r, const struct key *keys, size_t n)
{
    const double most = 0.75;
    size_t n_key = 0, n_cell = 0, n_equal = 0;

    for (; n_key < n && is_same_place(&keys[n_key], keys); n_key++) {
        const size_t row = keys[n_key].row;
        const struct attn_cell cell = attn_table_cell(r->table, row, r->of->cells);
        const struct attn_cell at = attn_table_cell(r->table, row, r->of->columns);
        size_t n_word = cell.size, n_token = 0, first = 0;
        const char *word = attn_text_trim(cell.text, &n_word), *token = NULL;

        while (attn_table_cell(r->table, keys[first].row, r->of->columns).integer != at.integer)
            first++;
        if (first < n_key)
            continue;
        if (is_position(&at, r->tokens))
            token = attn_token_text(r->tokens, (size_t)at.integer, &n_token);
        token = attn_text_trim(token, &n_token);
        n_cell++;
        n_equal += n_word > 0 && n_word == n_token && memcmp(word, token, n_word) == 0;
    }
    return n_key < n && (double)n_equal >= most * (double)n_cell ? n_key : 0;
}

/* Adds to KEYS [n] those on SIDE of the rows of the table that have a place on both sides. PLACES
 * receives the places. Returns the number of keys. */
static size_t list_keys(const struct reading *r, int side, size_t *places, struct key *keys,
                        size_t n)
{
    for (size_t row = 0; row < attn_table_n_row(r->table); row++) {
        const struct attn_cell part = attn_table_cell(r->table, row, r->part);
        struct key other;

        if ((r->view->only && attn_cell_word(&part, r->view->only) == SIZE_MAX) ||
            !find_key(r, !side, row, &other) || !find_key(r, side, row, &keys[n]))
            continue;
        keys[n++].place = &places[row];
    }
    return n;
}

/* Names the axis of SIDE: by the column of texts if it has a quantity, as numbers then only give
 * the order; otherwise by the key column. */
static void name_axis(const struct reading *r, int side, struct attn_table_axis *axis)
{
    const bool is_row = side == ROWS, is_head = is_head_column(r, side);
    const bool is_stream = is_row && r->is_stream;
    const struct attn_column *key = attn_table_column(r->table, r->keys[side]);
    const struct attn_column *texts =
        attn_table_column(r->table, is_row || r->texts == SIZE_MAX ? r->details[side] : r->texts);
    const struct attn_column *column =
        texts && texts->type == ATTN_VALUE_TEXT && texts->quantity ? texts : key;
    const bool has_texts = column->type == ATTN_VALUE_TEXT;

    axis->axis.title = r->are_writers ? is_row ? "written into the query" : "written into the key"
                       : is_head      ? "head"
                       : is_stream    ? "residual stream"
                       : has_texts && column->quantity ? column->quantity
                                                       : column->name;
    axis->axis.has_own_texts = true;
    axis->axis.is_named =
        has_texts || axis->axis.n_main > 0 || is_stream || is_head || (is_row && r->has_stacks);
    axis->axis.positions = axis->positions;
    axis->axis.begins = r->are_writers || r->is_pairs ? axis->begins : NULL;
    axis->axis.texts = axis->texts.bytes.size > 0 ? &axis->texts : NULL;
}

/* Makes the two axes of a grid. Those of pairs are one, with the heads of both sides. */
static enum attn_status read_sides(const struct reading *r, struct attn_error *err)
{
    struct attn_table_axis *axes[2] = {&r->cells->rows, &r->cells->columns};
    const size_t n_row = attn_table_n_row(r->table);
    const bool has_cells = r->of->cells < SIZE_MAX && r->n_label == 0;
    enum attn_status status = ATTN_OK;
    struct key *keys;
    size_t n = 0;

    for (int i = 0; i < 2; i++)
        ATTN_TRY(attn_table_axis_create(axes[i], n_row, 2 * n_row, &r->cells->store, err));
    ATTN_TRY(ATTN_ALLOC(keys, 2 * n_row, err));
    for (int i = 0; i < 2; i++) {
        size_t first = 0;

        n = list_keys(r, i, axes[i]->of_rows, keys, r->is_pairs ? n : 0);
        if (r->is_pairs && i == ROWS)
            continue;
        qsort(keys, n, sizeof *keys, by_order);
        if (i == ROWS && has_cells)
            first = count_repeated(r, keys, n);
        ATTN_THEN(status,
                  place_keys(r, keys + first, n - first, axes[r->is_pairs ? ROWS : i], err));
        name_axis(r, i, axes[r->is_pairs ? ROWS : i]);
    }
    if (r->is_pairs)
        axes[COLUMNS]->axis = axes[ROWS]->axis;
    attn_free(keys);
    return status;
}

/* Finds the columns of the two sides of a grid; of pairs of heads, or of writers, these are those
 * of both. */
static enum attn_status find_sides(struct reading *r, struct attn_error *err)
{
    static const enum attn_column_role roles[2][3] = {
        {ATTN_ROLE_LAYER, ATTN_ROLE_HEAD, ATTN_ROLE_PART},
        {ATTN_ROLE_OTHER_LAYER, ATTN_ROLE_OTHER_HEAD, ATTN_ROLE_OTHER_PART}};

    r->are_writers = r->role == ATTN_ROLE_OTHER_PART;
    r->is_stream &= r->role != ATTN_ROLE_SITE;
    r->texts = filled(r->table, r->of->texts);
    for (int i = 0; i < 2; i++) {
        const bool is_twin = r->is_pairs || r->are_writers;

        r->keys[i] = is_twin     ? attn_table_find_role(r->table, roles[i][0])
                     : i == ROWS ? r->of->rows
                                 : r->of->columns;
        r->details[i] = is_twin     ? attn_table_find_role(r->table, roles[i][1])
                        : i == ROWS ? r->of->detail
                                    : SIZE_MAX;
        r->parts[i] = r->are_writers   ? attn_table_find_role(r->table, roles[i][2])
                      : r->view->parts ? r->part
                                       : SIZE_MAX;
        if (r->is_pairs && (r->keys[i] == SIZE_MAX || r->details[i] == SIZE_MAX))
            return attn_error_set(err, ATTN_INVALID, "the table is not one of pairs of heads");
    }
    return ATTN_OK;
}

static enum attn_status read_grid(struct reading *r, struct attn_error *err)
{
    const struct attn_figure_text *texts = r->picture->texts;
    struct attn_table_cells *cells = r->cells;
    const char *name = attn_table_column_name(r->table, r->of->columns);
    bool is_of_run;

    ATTN_TRY(find_sides(r, err));
    is_of_run = r->picture->run && is_of_tokens(r, COLUMNS);
    if (is_of_run || (r->picture->run && is_of_tokens(r, ROWS)))
        ATTN_TRY(read_tokens(r, err));
    ATTN_TRY(read_sides(r, err));
    if (cells->rows.axis.n == 0)
        return attn_error_set(err, ATTN_INVALID, "the table has no %s and %s to draw",
                              attn_table_column_name(r->table, r->of->rows), name);
    cells->columns.axis.parts = is_of_run ? r->picture->run->texts : NULL;
    if (!is_of_run || !r->picture->other_run || !texts[0].name || !texts[1].name)
        return ATTN_OK;
    attn_buffer_append_format(&cells->both, "%s: %s/%s", name, texts[0].name, texts[1].name);
    cells->columns.axis.title = attn_buffer_string(&cells->both);
    return attn_buffer_check(&cells->both, err);
}

/* --- The axes of bars and curves -------------------------------------------------------------- */

/* Returns true if COLUMN has the numbers of parts of a layer. */
static bool has_parts(const struct attn_table *table, size_t column)
{
    const int role = role_of(table, column);

    return role == ATTN_ROLE_HEAD || role == ATTN_ROLE_KV_HEAD || role == ATTN_ROLE_NEURON;
}

/* Appends " resid_post" or, for a part of a layer, ".5"; empty for the usual site. */
static void append_site(struct attn_buffer *out, const struct reading *r, size_t detail, size_t row)
{
    const struct attn_cell cell = attn_table_cell(r->table, row, detail);

    if (cell.type == ATTN_VALUE_MISSING ||
        attn_cell_word(&cell, attn_site_name(ATTN_SITE_RESID_PRE)) == 0)
        return;
    attn_buffer_append_char(out, has_parts(r->table, detail) ? '.' : ' ');
    append_cell(out, r->table, row, detail);
}

/* Appends the head, position, token or part of a row. */
static void append_column_side(struct attn_buffer *out, const struct reading *r, size_t row)
{
    const struct attn_table *table = r->table;
    const size_t columns = r->of->columns;
    const struct attn_cell cell = attn_table_cell(table, row, columns);
    const struct attn_cell part = attn_table_cell(table, row, r->part);
    struct attn_cell text = attn_table_cell(table, row, r->of->texts);
    const bool has_axis_name = r->is_curve && r->is_sequence && r->of->rows == columns;

    if (cell.type == ATTN_VALUE_INTEGER && attn_cell_word(&part, "source") == 0 &&
        r->role == ATTN_ROLE_POSITION)
        attn_buffer_append_string(out, "source ");
    if (text.type != ATTN_VALUE_MISSING) {
        append_cell(out, table, row, columns);
        attn_buffer_append_char(out, ' ');
        for (; text.size > 1 && *text.text == ' '; text.size--)
            text.text++;
        attn_escape_append(out, text.text, text.size);
    } else if (is_position(&cell, r->tokens)) {
        attn_buffer_append_format(out, "%" PRId64 " ", cell.integer);
        append_token(out, r->tokens, (size_t)cell.integer, true);
    } else if (cell.type != ATTN_VALUE_MISSING) {
        if (cell.type == ATTN_VALUE_INTEGER && !has_axis_name)
            attn_buffer_append_format(out, "%s ", attn_table_column_name(table, columns));
        append_cell(out, table, row, columns);
    } else {
        append_cell(out, table, row, r->part);
    }
}

/* Appends the place of a row: its place in the residual stream, or its layer and site. */
static void append_place(struct attn_buffer *out, const struct reading *r, size_t row,
                         bool is_named)
{
    const bool is_tick = r->is_curve && !r->is_sequence && !is_named;
    struct attn_location at;

    if (r->is_stream && read_layer(r->table, row, r->of->rows, &at) &&
        append_stream(out, r, row, at, is_tick && at.stack == ATTN_STACK_ONLY))
        return;
    if (is_named && !r->has_stacks)
        attn_buffer_append_format(out, "%s ", attn_table_column_name(r->table, r->of->rows));
    append_cell(out, r->table, row, r->of->rows);
    append_site(out, r, r->of->detail, row);
}

/* Appends the name of a row: "2.5" for a head or neuron, "2.5 4>1 keys" for a cell, "mlp 3", "2
 * keys". */
static void append_row(struct attn_buffer *out, const struct reading *r, size_t row)
{
    const struct attn_table *table = r->table;
    const struct attn_view_columns *of = r->of;
    const size_t n = out->size;

    if (of->rows == of->columns || attn_table_is_missing(table, row, of->rows)) {
        append_column_side(out, r, row);
    } else if (has_parts(table, of->columns) && !attn_table_is_missing(table, row, of->columns)) {
        append_cell(out, table, row, of->rows);
        append_site(out, r, of->columns, row);
        append_site(out, r, of->detail, row);
    } else if (r->detail_role == ATTN_ROLE_HEAD) {
        append_place(out, r, row, false);
        attn_buffer_append_char(out, ' ');
        append_cell(out, table, row, r->query);
        attn_buffer_append_string(out, r->query != SIZE_MAX ? ">" : "");
        append_column_side(out, r, row);
    } else {
        if (r->role != ATTN_ROLE_SITE)
            append_column_side(out, r, row);
        attn_buffer_append_string(out, out->size > n ? " " : "");
        append_place(out, r, row, out->size == n);
    }
}

/* Whether the groups have rows of the table of their own, which then are the places. */
static bool has_group_rows(const struct reading *r)
{
    return r->of->rows < r->n_label;
}

/* Whether the places of curves are positions, and not layers. */
static bool is_by_position(const struct reading *r)
{
    return r->of->detail == SIZE_MAX && (r->role == ATTN_ROLE_POSITION || r->role == ATTN_ROLE_KEY);
}

/* Appends the labels of the items of a row: "pl, none". */
static void append_labels(const struct reading *r, size_t row, struct attn_buffer *out)
{
    for (size_t i = 0; i < r->n_label; i++) {
        attn_buffer_append_string(out, i > 0 ? ", " : "");
        append_cell(out, r->table, row, i);
    }
}

/* Appends the group of a row: its labels and, of curves, the other side than that of the places. */
static void append_group(const struct reading *r, size_t row, struct attn_buffer *out)
{
    const size_t begin = out->size;

    if (has_group_rows(r))
        return;
    append_labels(r, row, out);
    if (!r->is_curve || r->is_sequence || r->role == ATTN_ROLE_SITE ||
        r->of->rows == r->of->columns) /* each group has one curve */
        return;
    attn_buffer_append_string(out, out->size > begin ? ", " : "");
    if (is_by_position(r))
        append_place(out, r, row, true);
    else
        append_column_side(out, r, row);
}

/* Appends the place of a row: of curves its position, or otherwise its layer; with
 * ATTN_VIEW_SEQUENCE, and of bars, its name. */
static void append_name(const struct reading *r, size_t row, struct attn_buffer *out)
{
    if (has_group_rows(r))
        append_labels(r, row, out);
    else if (!r->is_curve || r->is_sequence)
        append_row(out, r, row);
    else if (is_by_position(r))
        append_column_side(out, r, row);
    else
        append_place(out, r, row, false);
}

/* Returns true if row I of the table has a place in bars and curves. */
static bool has_name(const struct reading *r, size_t i)
{
    const char *quantity = attn_table_column(r->table, r->of->values)->quantity;

    /* totals are drawn beside the parts if they are answers and not changes */
    if (attn_table_total(r->table, i) != SIZE_MAX &&
        !(quantity && strcmp(quantity, ATTN_ANSWER) == 0))
        return false;
    return !r->is_curve || r->is_sequence ||
           (!attn_table_is_missing(r->table, i, r->of->rows) &&
            !attn_table_is_missing(r->table, i, r->of->columns));
}

/* Makes a place of AXIS for each row of the table that has one, in their order, named by APPEND. If
 * IS_UNIQUE, rows with equal names share it. */
static enum attn_status
list_rows(const struct reading *r,
          void (*append)(const struct reading *, size_t, struct attn_buffer *), bool is_unique,
          struct attn_table_axis *axis, struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(r->table);

    ATTN_TRY(attn_table_axis_create(axis, n_row, n_row, &r->cells->store, err));
    for (size_t i = 0; i < n_row; i++) {
        if (r->is_placed && !r->is_placed(r, i))
            continue;
        append(r, i, &axis->texts.bytes);
        axis->of_rows[i] = end_label(axis, is_unique);
    }
    axis->axis = attn_table_named_axis(axis, "");
    return attn_buffer_check(&axis->texts.bytes, err);
}

static enum attn_status read_names(struct reading *r, struct attn_error *err)
{
    struct attn_table_axis *groups = &r->cells->rows, *places = &r->cells->columns;
    const bool has_positions = r->role == ATTN_ROLE_POSITION;
    const struct attn_column *named = attn_table_column(
        r->table, r->is_sequence || (r->is_curve && has_positions && r->of->detail == SIZE_MAX)
                      ? r->of->columns
                      : r->of->rows);

    r->is_placed = has_name;
    if (r->picture->run && has_positions)
        ATTN_TRY(read_tokens(r, err));
    ATTN_TRY(list_rows(r, append_group, true, groups, err));
    ATTN_TRY(list_rows(r, append_name, true, places, err));
    if (groups->texts.n == 0)
        return attn_error_set(err, ATTN_INVALID, "the table has no rows to draw");
    if (r->is_curve && r->is_stream && !(has_positions && r->of->detail == SIZE_MAX))
        places->axis.title = r->has_stacks ? "residual stream" : "after layer";
    else
        places->axis.title = named->quantity ? named->quantity : named->name;
    return ATTN_OK;
}

/* --- An axis of tokens ------------------------------------------------------------------------ */

/* Appends the token of a row: that of the run at its position, otherwise the text or the id in the
 * table. A row of parts may have its number only. */
static void append_text(const struct reading *r, size_t row, struct attn_buffer *out)
{
    const size_t columns[] = {r->of->texts, r->are_parts ? r->of->rows : SIZE_MAX,
                              attn_table_find_role(r->table, ATTN_ROLE_ID)};
    const struct attn_cell position = attn_table_cell(r->table, row, r->position);
    size_t n, i = 0;
    const char *token;

    if (is_position(&position, r->tokens)) {
        token = attn_token_text(r->tokens, (size_t)position.integer, &n);
        attn_buffer_append(out, token, n);
        return;
    }
    while (i < 3 && attn_table_is_missing(r->table, row, columns[i]))
        i++;
    if (i < 3)
        append_cell(out, r->table, row, columns[i]);
    else /* the tokens of items differ */
        attn_buffer_append_string(out, " " ATTN_ELLIPSIS);
}

/* Whether a row of tokens is about one of them, and not about all together. */
static bool has_token(const struct reading *r, size_t row)
{
    return r->of->rows == SIZE_MAX || !attn_table_is_missing(r->table, row, r->of->rows);
}

/* Returns true if ROW begins another text than the row BEFORE: the text after a source, the second
 * of a pair; or of parts, if one of them has no position. */
static bool begins_text(const struct reading *r, size_t row, size_t before)
{
    const struct attn_cell a = attn_table_cell(r->table, before, r->part);
    const struct attn_cell b = attn_table_cell(r->table, row, r->part);

    if (r->are_parts)
        return attn_table_is_missing(r->table, before, r->position) !=
               attn_table_is_missing(r->table, row, r->position);
    return attn_cell_word(&a, "source a") < SIZE_MAX && attn_cell_word(&b, "source a") == SIZE_MAX;
}

/* Makes AXIS of the rows that are tokens. A line separates two texts, of parts the rows without a
 * position. */
static enum attn_status read_list(struct reading *r, struct attn_table_axis *axis,
                                  struct attn_error *err)
{
    const bool is_source = role_of(r->table, r->of->rows) == ATTN_ROLE_KEY; /* of parts */
    size_t last = 0;

    r->position = r->are_parts ? r->of->rows : attn_table_find_role(r->table, ATTN_ROLE_POSITION);
    r->is_placed = r->are_parts ? NULL : has_token;
    if (r->picture->run && r->position < SIZE_MAX)
        ATTN_TRY(read_tokens(r, err));
    r->tokens += r->are_parts && is_source;
    ATTN_TRY(list_rows(r, append_text, false, axis, err));
    for (size_t i = 0; i < attn_table_n_row(r->table); i++) {
        if (axis->of_rows[i] == SIZE_MAX)
            continue;
        axis->begins[axis->of_rows[i]] = axis->of_rows[i] > 0 && begins_text(r, i, last);
        last = i;
    }
    axis->axis.title = attn_table_column_name(r->table, r->are_parts ? r->of->rows : r->of->texts);
    axis->axis.begins = axis->begins;
    return ATTN_OK;
}

enum attn_status attn_table_axes_read(const struct attn_table *table,
                                      const struct attn_table_picture *picture,
                                      enum attn_figure kind, struct attn_table_cells *cells,
                                      struct attn_error *err)
{
    struct reading r = begin_reading(table, picture, kind == ATTN_FIGURE_CURVE, cells);

    if (r.are_parts)
        return read_list(&r, &cells->rows, err);
    if (kind == ATTN_FIGURE_TOKENS || kind == ATTN_FIGURE_PAIR)
        return read_list(&r, &cells->columns, err);
    if (r.of->rows == SIZE_MAX || r.of->columns == SIZE_MAX)
        return attn_error_set(err, ATTN_INVALID, "the table lacks a column to be drawn by");
    if (kind == ATTN_FIGURE_BARS || kind == ATTN_FIGURE_CURVE || kind == ATTN_FIGURE_STRIP)
        return read_names(&r, err);
    if (picture->n_label > 0) {
        ATTN_TRY(list_rows(&r, append_labels, true, &cells->groups, err));
        cells->grid.groups = &cells->groups.axis;
    }
    return read_grid(&r, err);
}
