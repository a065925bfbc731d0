/* table_axis.c - finds the columns of a view in a table, and computes the rows and columns of its
 * picture: their order and their labels. An axis is a list of keys, each of which a row of the
 * table has, or of names. */
#include "figures/table_axis.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "figures/table_grid.h"
#include "formats/float_text.h"
#include "tables/table_internal.h"
#include "tables/text_table.h"
#include "trace/model_stack.h"
#include "trace/site.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
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

static enum attn_status check_sides(const struct attn_view_columns *of, struct attn_error *err)
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

void attn_table_axis_drop_first(struct attn_table_axis *axis, size_t n_row)
{
    struct attn_token_texts *texts = &axis->texts;
    const size_t n = --axis->axis.n, n_byte = texts->n > 0 ? texts->ends[0] : 0;

    for (size_t i = 0; i < n_row; i++)
        if (axis->of_rows[i] < SIZE_MAX)
            axis->of_rows[i] = axis->of_rows[i] > 0 ? axis->of_rows[i] - 1 : SIZE_MAX;
    memmove(axis->positions, axis->positions + 1, n * sizeof *axis->positions);
    memmove(axis->begins, axis->begins + 1, n * sizeof *axis->begins);
    axis->begins[0] = false;
    if (texts->n == 0)
        return;
    texts->bytes.size -= n_byte;
    memmove(texts->bytes.data, texts->bytes.data + n_byte, texts->bytes.size);
    texts->n--;
    for (size_t i = 0; i < texts->n; i++)
        texts->ends[i] = texts->ends[i + 1] - n_byte;
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

/* Returns true if SITE is the output of a decoder's layer, after its attention to the source. */
static bool is_end(const struct attn_cell *site)
{
    return attn_cell_word(site, "resid_post normalized_resid_post") <= 1;
}

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
    if (at->stack == ATTN_STACK_DECODER && is_end(&site))
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

void attn_grid_append_cell(struct attn_buffer *out, const struct attn_table *table, size_t row,
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

bool attn_grid_is_position(const struct attn_cell *cell, const struct attn_token_texts *tokens)
{
    return tokens && cell->type == ATTN_VALUE_INTEGER && cell->integer >= 0 &&
           (size_t)cell->integer < tokens->n;
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

/* Returns the site of a row: from the column of sites, or its part. */
static struct attn_cell site_of(const struct attn_table *table, size_t row)
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

/* Returns true if rows of TABLE are places in the residual stream (ATTN_VIEW_STREAM). */
static bool has_stream(const struct attn_table *table, const struct attn_table_view *view)
{
    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        const struct attn_cell site = site_of(table, i);

        if (place_of_site(&site) < SIZE_MAX)
            return (view->traits & ATTN_VIEW_STREAM) != 0;
    }
    return false;
}

/* Returns the last place of the residual stream that TABLE contains; for tables without sites,
 * which need not have all layers, {.layer = ATTN_NO_LAYER}. */
static struct attn_location find_last_place(const struct attn_table *table)
{
    const size_t layers = attn_table_find_role(table, ATTN_ROLE_LAYER);
    struct attn_location at, last = {.layer = ATTN_NO_LAYER};

    if (attn_table_find_role(table, ATTN_ROLE_SITE) == SIZE_MAX)
        return last;
    for (size_t i = 0; i < attn_table_n_row(table); i++)
        if (read_layer(table, i, layers, &at) &&
            (last.layer == ATTN_NO_LAYER || attn_location_order(&at, &last) > 0))
            last = at;
    return last;
}

/* Appends the name of the place AT in the residual stream, whose last place is LAST: "embedding",
 * "in layer 2", "after layer 2", "output"; with two stacks "decoder embedding", "after cross 1"; as
 * a tick of the axis "after layer" "in", "mid 2", "2", "out". Returns false for other sites. */
static bool append_stream(struct attn_buffer *out, struct attn_location at, struct attn_cell site,
                          const struct attn_location *last, bool is_tick)
{
    const bool is_of_stacks = at.stack != ATTN_STACK_ONLY;
    size_t word = place_of_site(&site);

    if (word == MID && at.stack == ATTN_STACK_DECODER) /* attention to the source comes next */
        word = POST;
    if (word == PRE && at.layer == 0 && at.stack != ATTN_STACK_CROSS) {
        attn_buffer_append_format(out, "%s%s%s", attn_model_stack_name(at.stack),
                                  is_of_stacks ? " " : "", is_tick ? "in" : "embedding");
    } else if (word == POST && attn_location_order(&at, last) == 0) {
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

/* --- Axes of keys ----------------------------------------------------------------------------- */

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
    /* `key` is the part that writes into the stream, `detail` its head, `query` its layer */
    bool is_writer;
    /* the other side of a pair, whose keys are on this axis, too; or NULL */
    const struct axis_columns *twin;
    /* [N_TOKENS] tokens of both runs; NULL unless `detail`, or else `key`, is a position */
    const struct attn_token_texts *tokens;
    const uint8_t *parts_of_run; /* if the key is a position: `texts` of struct attn_labels */
};

/* The place of one row of the table on an axis, for sorting. */
struct table_key {
    size_t rank;                          /* order of a part, or of a group of writers; or 0 */
    struct attn_cell cell, detail, query; /* type MISSING if the table lacks them */
    struct attn_location at;              /* for a layer: layer and stack */
    size_t row;                           /* row of the table; SIZE_MAX: of the twin */
    size_t first;                         /* 1 + index of the first key with the same text, or 0 */
    struct attn_cell part;                /* the name of a writer */
};

/* The ranks of writers, and the number of their first part that is no head. */
enum { BEFORE_LAYERS, IN_LAYER, AFTER_LAYERS };
static const int64_t FIRST_PART = 1LL << 32;

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
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->at.stack != ATTN_STACK_ONLY && y->at.stack != ATTN_STACK_ONLY)
        return attn_location_order(&x->at, &y->at);
    return compare_cells(&x->cell, &y->cell);
}

/* Compares by the key, then by the detail if both are numbers. Equal texts keep the order of their
 * first occurrence. */
static int by_cell(const void *a, const void *b)
{
    const struct table_key *x = a, *y = b;
    int order = x->rank == y->rank && x->first != y->first ? (x->first < y->first ? -1 : 1)
                                                           : compare_main(x, y);

    if (order == 0 && x->detail.type == ATTN_VALUE_INTEGER && y->detail.type == ATTN_VALUE_INTEGER)
        order = compare_cells(&x->detail, &y->detail);
    if (order == 0)
        order = compare_cells(&x->query, &y->query);
    return order != 0 ? order : x->row < y->row ? -1 : x->row > y->row;
}

/* Returns the key of the writer of row I. Writers before the layers come first, then those of each
 * layer, heads before other parts, then those after the layers. */
static struct table_key key_of_writer(const struct attn_table *table,
                                      const struct axis_columns *columns, size_t i)
{
    const struct attn_cell head = attn_table_cell(table, i, columns->detail);
    struct table_key key = {.part = attn_table_cell(table, i, columns->key), .row = i};
    size_t number;

    if (key.part.type == ATTN_VALUE_MISSING)
        return key;
    key.rank = read_layer(table, i, columns->query, &key.at)           ? IN_LAYER
               : attn_cell_word(&key.part, columns->inputs) < SIZE_MAX ? BEFORE_LAYERS
                                                                       : AFTER_LAYERS;
    key.cell = attn_cell_integer(key.rank == IN_LAYER ? key.at.layer : 0);
    number =
        attn_cell_word(&key.part, key.rank == BEFORE_LAYERS ? columns->inputs : columns->parts);
    key.detail =
        head.type == ATTN_VALUE_INTEGER
            ? head
            : attn_cell_integer(number < FIRST_PART ? FIRST_PART + (int64_t)number : INT64_MAX);
    return key;
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

    if (columns->is_writer)
        return key_of_writer(table, columns, i);
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

/* Returns the sorted keys [*n] of the table's rows that have a value on this axis and on OTHER, and
 * those of the twin. */
static struct table_key *list_keys(const struct attn_table *table,
                                   const struct axis_columns *columns,
                                   const struct axis_columns *other, size_t *n,
                                   struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(table);
    const size_t parts = attn_table_find_role(table, ATTN_ROLE_PART);
    struct table_key *keys = attn_alloc(2 * n_row, sizeof *keys, err);

    *n = 0;
    for (size_t i = 0; keys && i < n_row; i++) {
        const struct attn_cell part = attn_table_cell(table, i, parts);

        if (columns->only && attn_cell_word(&part, columns->only) == SIZE_MAX)
            continue;
        keys[*n] = key_of(table, columns, i);
        if (keys[*n].cell.type != ATTN_VALUE_MISSING &&
            key_of(table, other, i).cell.type != ATTN_VALUE_MISSING)
            ++*n;
        if (columns->twin) {
            keys[*n] = key_of(table, columns->twin, i);
            keys[(*n)++].row = SIZE_MAX;
        }
    }
    for (size_t i = 0; keys && i < *n; i++) /* quadratic, but texts are few */
        for (size_t k = 0; keys[i].cell.type == ATTN_VALUE_TEXT && keys[i].first == 0; k++)
            if (compare_cells(&keys[k].cell, &keys[i].cell) == 0)
                keys[i].first = k + 1;
    if (keys && *n > 0)
        qsort(keys, *n, sizeof *keys, by_cell);
    return keys;
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

static bool is_head_column(const struct attn_table *table, size_t column)
{
    return attn_table_has_role(table, column, ATTN_ROLE_HEAD) ||
           attn_table_has_role(table, column, ATTN_ROLE_OTHER_HEAD);
}

/* Appends the label of KEY: its text, its token, or its key with a detail: "2.5" for a head, "2.5
 * query 4" for one of its rows, "position 3", or "3 cat"; "mlp 1" or "embed" for a writer that is
 * no head. */
static void append_key(struct attn_buffer *bytes, const struct attn_table *table,
                       const struct table_key *key, const struct axis_columns *columns)
{
    const bool has_detail = columns->detail != SIZE_MAX;
    struct attn_cell text = columns->is_stream ? site_of(table, key->row)
                            : has_detail       ? key->detail
                                               : key->cell;
    const bool is_token = attn_grid_is_position(&text, columns->tokens);
    const bool is_head = is_head_column(table, columns->detail);
    const bool begins_so = has_stacks(table, columns->key) && !is_head && !columns->is_stream;
    const bool is_whole =
        begins_so &&
        (!has_detail || attn_cell_word(&text, attn_site_name(ATTN_SITE_RESID_PRE)) == 0);

    if (columns->is_writer && key->detail.integer >= FIRST_PART) {
        attn_buffer_append(bytes, key->part.text, key->part.size);
        attn_buffer_append_string(bytes, key->rank == IN_LAYER ? " " : "");
        if (key->rank == IN_LAYER)
            attn_grid_append_layer(bytes, &key->at);
        return;
    }
    if (begins_so) {
        struct attn_location at = key->at;

        if (is_end(&text) && at.stack == ATTN_STACK_CROSS)
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
            !append_stream(bytes, key->at, text, &columns->last_place, false))
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
        if (is_token)
            append_token(bytes, columns->tokens, (size_t)text.integer, has_detail);
    }
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
        if (key.row < SIZE_MAX)
            axis->of_rows[key.row] = at;
        if (at < n_found)
            continue;
        append_key(&axis->texts.bytes, table, &key, columns);
        /* the input of a layer is one place with the output of the layer before */
        at = end_label(axis, columns->is_stream);
        if (at < n_found) {
            axis->of_rows[key.row] = at;
            continue;
        }
        axis->begins[n_found] = n_found > 0 && begin == n_found;
        keys[n_found] = key; /* earlier keys are placed and no longer needed */
        axis->positions[n_found++] = key.cell.type == ATTN_VALUE_INTEGER && key.cell.integer > 0
                                         ? (size_t)key.cell.integer
                                         : 0;
        n_main += key.rank == 0;
    }
    axis->axis.n = n_found;
    axis->axis.n_main = !columns->is_writer && n_main < n_found ? n_main : 0;
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
                                  struct attn_store **store, struct attn_error *err)
{
    const struct attn_column *column = naming_column(table, columns);
    const bool is_head = is_head_column(table, columns->detail);
    const size_t n_row = attn_table_n_row(table);
    size_t n;
    struct table_key *keys;

    ATTN_TRY(attn_table_axis_create(axis, n_row, 2 * n_row, store, err));
    ATTN_TRY(ATTN_NEW(keys, list_keys(table, columns, other, &n, err)));
    place_keys(axis, table, keys, n, columns);
    attn_free(keys);
    axis->axis.title = columns->is_writer ? attn_table_has_role(table, columns->key, ATTN_ROLE_PART)
                                                ? "written into the query"
                                                : "written into the key"
                       : is_head          ? "head"
                       : columns->is_stream                                  ? "residual stream"
                       : column->type == ATTN_VALUE_TEXT && column->quantity ? column->quantity
                                                                             : column->name;
    axis->axis.positions = axis->positions;
    axis->axis.begins = columns->is_writer || columns->twin ? axis->begins : NULL;
    axis->axis.parts = columns->parts_of_run;
    axis->axis.has_own_texts = true;
    axis->axis.is_named = column->type == ATTN_VALUE_TEXT || axis->axis.n_main > 0 ||
                          columns->is_stream || is_head || has_stacks(table, columns->key);
    axis->axis.texts = axis->texts.bytes.size > 0 ? &axis->texts : NULL;
    return attn_buffer_check(&axis->texts.bytes, err);
}

/* Sets the first and the last layer in the column of ROWS. */
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

/* Finds the columns of the two sides [2] of a table of PAIRS of heads, or else of pairs of
 * writers. */
static enum attn_status find_twins(const struct attn_table *table,
                                   const struct attn_table_view *view, struct axis_columns sides[2],
                                   struct attn_error *err)
{
    static const enum attn_column_role roles[2][3] = {
        {ATTN_ROLE_PART, ATTN_ROLE_HEAD, ATTN_ROLE_LAYER},
        {ATTN_ROLE_OTHER_PART, ATTN_ROLE_OTHER_HEAD, ATTN_ROLE_OTHER_LAYER}};
    const bool is_pairs = (view->traits & ATTN_VIEW_PAIRS) != 0;

    for (int i = 0; i < 2; i++) {
        size_t of[3];

        for (int k = 0; k < 3; k++)
            of[k] = attn_table_find_role(table, roles[i][k]);
        if (is_pairs && (of[1] == SIZE_MAX || of[2] == SIZE_MAX))
            return attn_error_set(err, ATTN_INVALID, "the table is not one of pairs of heads");
        sides[i] = (struct axis_columns){.key = is_pairs ? of[2] : sides[i].key,
                                         .detail = of[1],
                                         .query = is_pairs ? SIZE_MAX : of[2],
                                         .texts = SIZE_MAX,
                                         .part = SIZE_MAX,
                                         .parts = view->parts,
                                         .inputs = view->inputs,
                                         .is_writer = !is_pairs,
                                         .twin = is_pairs ? &sides[1 - i] : NULL};
    }
    return ATTN_OK;
}

/* Finds the columns of the tokens, of the residual stream and of the layers of the SIDES [2], rows
 * and columns. */
static enum attn_status find_sides(const struct attn_table *table,
                                   const struct attn_table_picture *picture,
                                   struct axis_columns sides[2], struct attn_table_cells *cells,
                                   struct attn_error *err)
{
    struct axis_columns *rows = &sides[0], *columns = &sides[1];
    const bool is_of_text = (picture->view.traits & ATTN_VIEW_DIFFERENCE) != 0;

    find_layers(table, rows);
    rows->is_stream = has_stream(table, &picture->view) &&
                      !attn_table_has_role(table, columns->key, ATTN_ROLE_SITE);
    rows->last_place = find_last_place(table);
    rows->query = attn_table_has_role(table, rows->detail, ATTN_ROLE_HEAD)
                      ? attn_table_find_role(table, ATTN_ROLE_QUERY)
                      : SIZE_MAX;
    if (!picture->run)
        return ATTN_OK;
    if (attn_table_has_role(table, rows->detail, ATTN_ROLE_POSITION) ||
        (is_of_text && attn_table_has_role(table, rows->key, ATTN_ROLE_QUERY)))
        rows->tokens = cells->tokens;
    if (attn_table_has_role(table, columns->key, ATTN_ROLE_POSITION) ||
        (is_of_text && attn_table_has_role(table, columns->key, ATTN_ROLE_KEY))) {
        columns->tokens = cells->tokens;
        columns->parts_of_run = picture->run->texts;
    }
    return rows->tokens || columns->tokens ? attn_table_read_tokens(picture, cells->tokens, err)
                                           : ATTN_OK;
}

enum attn_status attn_table_axes_read(const struct attn_table *table,
                                      const struct attn_table_picture *picture,
                                      struct attn_table_cells *cells, struct attn_error *err)
{
    const struct attn_table_view *view = &picture->view;
    const struct attn_figure_text *texts = picture->texts;
    const struct attn_view_columns *of = &cells->of;
    const bool is_pairs = (view->traits & ATTN_VIEW_PAIRS) != 0;
    const size_t part = view->parts ? attn_table_find_role(table, ATTN_ROLE_PART) : SIZE_MAX;
    struct axis_columns sides[2] = {{.key = of->rows,
                                     .detail = of->detail,
                                     .texts = SIZE_MAX,
                                     .part = part,
                                     .inputs = view->inputs,
                                     .only = view->only},
                                    {.key = of->columns,
                                     .detail = SIZE_MAX,
                                     .query = SIZE_MAX,
                                     .texts = filled(table, of->texts),
                                     .part = part,
                                     .parts = view->parts,
                                     .only = view->only}};

    ATTN_TRY(check_sides(of, err));
    ATTN_TRY(is_pairs || attn_table_has_role(table, of->columns, ATTN_ROLE_OTHER_PART)
                 ? find_twins(table, view, sides, err)
                 : find_sides(table, picture, sides, cells, err));
    for (int i = 0; i < 2; i++)
        ATTN_TRY(read_axis(table, &sides[i], &sides[1 - i], i == 0 ? &cells->rows : &cells->columns,
                           &cells->store, err));
    if (cells->rows.axis.n == 0)
        return is_pairs ? attn_error_set(err, ATTN_INVALID, "the table has no pairs to draw")
                        : attn_error_set(err, ATTN_INVALID, "the table has no %s and %s to draw",
                                         attn_table_column_name(table, of->rows),
                                         attn_table_column_name(table, of->columns));
    if (sides[1].tokens && picture->other_run && texts[0].name && texts[1].name) {
        attn_buffer_append_format(&cells->both, "%s: %s/%s",
                                  attn_table_column_name(table, of->columns), texts[0].name,
                                  texts[1].name);
        if (!attn_buffer_string(&cells->both))
            return attn_buffer_check(&cells->both, err);
        cells->columns.axis.title = cells->both.data;
    }
    return ATTN_OK;
}

/* --- Axes of names ---------------------------------------------------------------------------- */

/* What names a row of the table in bars and curves. */
struct row_names {
    const struct attn_table *table;
    const struct attn_view_columns *of;
    size_t query, part;        /* columns; SIZE_MAX if missing */
    size_t n_label;            /* leading columns by which rows are grouped */
    struct attn_location last; /* last place of the residual stream */
    unsigned traits;           /* traits of the view */
    bool is_curve;
    bool is_stream;                        /* rows are places in the residual stream */
    const struct attn_token_texts *tokens; /* [N_TOKENS] tokens of both runs, or NULL */
};

/* Returns true if COLUMN has the numbers of parts of a layer. */
static bool has_parts(const struct attn_table *table, size_t column)
{
    return attn_table_has_role(table, column, ATTN_ROLE_HEAD) ||
           attn_table_has_role(table, column, ATTN_ROLE_KV_HEAD) ||
           attn_table_has_role(table, column, ATTN_ROLE_NEURON);
}

/* Appends " resid_post" or, for a part of a layer, ".5"; empty for the usual site. */
static void append_site(struct attn_buffer *out, const struct row_names *names, size_t detail,
                        size_t row)
{
    const struct attn_cell cell = attn_table_cell(names->table, row, detail);

    if (cell.type == ATTN_VALUE_MISSING ||
        attn_cell_word(&cell, attn_site_name(ATTN_SITE_RESID_PRE)) == 0)
        return;
    attn_buffer_append_char(out, has_parts(names->table, detail) ? '.' : ' ');
    attn_grid_append_cell(out, names->table, row, detail);
}

/* Appends the head, position, token or part of a row. */
static void append_column_side(struct attn_buffer *out, const struct row_names *names, size_t row)
{
    const struct attn_table *table = names->table;
    const size_t columns = names->of->columns;
    const struct attn_cell cell = attn_table_cell(table, row, columns);
    const struct attn_cell part = attn_table_cell(table, row, names->part);
    struct attn_cell text = attn_table_cell(table, row, names->of->texts);
    const bool has_axis_name =
        names->is_curve && (names->traits & ATTN_VIEW_SEQUENCE) != 0 && names->of->rows == columns;

    if (cell.type == ATTN_VALUE_INTEGER && attn_cell_word(&part, "source") == 0 &&
        attn_table_has_role(table, columns, ATTN_ROLE_POSITION))
        attn_buffer_append_string(out, "source ");
    if (text.type != ATTN_VALUE_MISSING) {
        attn_grid_append_cell(out, table, row, columns);
        attn_buffer_append_char(out, ' ');
        for (; text.size > 1 && *text.text == ' '; text.size--)
            text.text++;
        attn_escape_append(out, text.text, text.size);
    } else if (attn_grid_is_position(&cell, names->tokens)) {
        attn_buffer_append_format(out, "%" PRId64 " ", cell.integer);
        append_token(out, names->tokens, (size_t)cell.integer, true);
    } else if (cell.type != ATTN_VALUE_MISSING) {
        if (cell.type == ATTN_VALUE_INTEGER && !has_axis_name)
            attn_buffer_append_format(out, "%s ", attn_table_column_name(table, columns));
        attn_grid_append_cell(out, table, row, columns);
    } else {
        attn_grid_append_cell(out, table, row, names->part);
    }
}

/* Appends the place of a row: its place in the residual stream, or its layer and site. */
static void append_place(struct attn_buffer *out, const struct row_names *names, size_t row,
                         bool is_named)
{
    const bool is_tick = names->is_curve && (names->traits & ATTN_VIEW_SEQUENCE) == 0 && !is_named;
    struct attn_location at;

    if (names->is_stream && read_layer(names->table, row, names->of->rows, &at) &&
        append_stream(out, at, site_of(names->table, row), &names->last,
                      is_tick && at.stack == ATTN_STACK_ONLY))
        return;
    if (is_named && !has_stacks(names->table, names->of->rows))
        attn_buffer_append_format(out, "%s ",
                                  attn_table_column_name(names->table, names->of->rows));
    attn_grid_append_cell(out, names->table, row, names->of->rows);
    append_site(out, names, names->of->detail, row);
    if (attn_table_has_role(names->table, names->of->columns, ATTN_ROLE_SITE))
        append_site(out, names, names->of->columns, row);
}

/* Appends the name of a row: "2.5" for a head or neuron, "2.5 4>1 keys" for a cell, "mlp 3", "2
 * keys". */
static void append_row(struct attn_buffer *out, const struct row_names *names, size_t row)
{
    const struct attn_table *table = names->table;
    const struct attn_view_columns *of = names->of;
    const bool has_layer = !attn_table_is_missing(table, row, of->rows);
    const size_t n = out->size;

    if (of->rows == of->columns || !has_layer) {
        append_column_side(out, names, row);
    } else if (has_parts(table, of->columns) && !attn_table_is_missing(table, row, of->columns)) {
        attn_grid_append_cell(out, table, row, of->rows);
        append_site(out, names, of->columns, row);
        append_site(out, names, of->detail, row);
    } else if (attn_table_has_role(table, of->detail, ATTN_ROLE_HEAD)) {
        append_place(out, names, row, false);
        attn_buffer_append_char(out, ' ');
        attn_grid_append_cell(out, table, row, names->query);
        attn_buffer_append_string(out, names->query != SIZE_MAX ? ">" : "");
        append_column_side(out, names, row);
    } else {
        if (!attn_table_has_role(table, of->columns, ATTN_ROLE_SITE))
            append_column_side(out, names, row);
        attn_buffer_append_string(out, out->size > n ? " " : "");
        append_place(out, names, row, out->size == n);
    }
}

/* Appends the group of a row: "pl, none". */
static void append_group(struct attn_buffer *out, const struct row_names *names, size_t row)
{
    for (size_t i = 0; i < names->n_label; i++) {
        attn_buffer_append_string(out, i > 0 ? ", " : "");
        attn_grid_append_cell(out, names->table, row, i);
    }
}

/* Appends the group and the place of a row. Places of curves are positions, or otherwise layers;
 * with ATTN_VIEW_SEQUENCE, rows. */
static void name_row(const struct row_names *names, size_t row, struct attn_buffer *group,
                     struct attn_buffer *place)
{
    const struct attn_table *table = names->table;
    const struct attn_view_columns *of = names->of;
    const bool is_by_position =
        of->detail == SIZE_MAX && (attn_table_has_role(table, of->columns, ATTN_ROLE_POSITION) ||
                                   attn_table_has_role(table, of->columns, ATTN_ROLE_KEY));
    const bool is_of_groups = of->rows < names->n_label; /* each group has a row */
    const size_t begin = group->size;

    append_group(is_of_groups ? place : group, names, row);
    if (is_of_groups)
        return;
    if (!names->is_curve || (names->traits & ATTN_VIEW_SEQUENCE) != 0) {
        append_row(place, names, row);
        return;
    }
    if (attn_table_has_role(table, of->columns, ATTN_ROLE_SITE)) { /* readings of a site */
        append_place(place, names, row, false);
        return;
    }
    if (is_by_position)
        append_column_side(place, names, row);
    else
        append_place(place, names, row, false);
    if (of->rows == of->columns) /* each group has one curve */
        return;
    attn_buffer_append_string(group, group->size > begin ? ", " : "");
    if (is_by_position)
        append_place(group, names, row, true);
    else
        append_column_side(group, names, row);
}

enum attn_status attn_table_groups_read(const struct attn_table *table, size_t n_label,
                                        struct attn_table_cells *cells, struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(table);
    const struct row_names names = {.table = table, .n_label = n_label};
    struct attn_table_axis *groups = &cells->groups;

    ATTN_TRY(attn_table_axis_create(groups, n_row, n_row, &cells->store, err));
    for (size_t i = 0; i < n_row; i++) {
        append_group(&groups->texts.bytes, &names, i);
        groups->of_rows[i] = end_label(groups, true);
    }
    groups->axis = attn_table_named_axis(groups, "");
    return attn_buffer_check(&groups->texts.bytes, err);
}

/* Returns true if row I of the table has a place in bars and curves. */
static bool is_placed(const struct row_names *names, size_t i)
{
    const char *quantity = attn_table_column(names->table, names->of->values)->quantity;

    /* totals are drawn beside the parts if they are answers and not changes */
    if (attn_table_total(names->table, i) != SIZE_MAX &&
        !(quantity && strcmp(quantity, ATTN_ANSWER) == 0))
        return false;
    return !names->is_curve || (names->traits & ATTN_VIEW_SEQUENCE) != 0 ||
           (!attn_table_is_missing(names->table, i, names->of->rows) &&
            !attn_table_is_missing(names->table, i, names->of->columns));
}

enum attn_status attn_table_names_read(const struct attn_table *table,
                                       const struct attn_table_picture *picture, bool is_curve,
                                       struct attn_table_cells *cells, struct attn_error *err)
{
    const struct attn_view_columns *of = &cells->of;
    const bool is_sequence = (picture->view.traits & ATTN_VIEW_SEQUENCE) != 0;
    const bool has_positions = attn_table_has_role(table, of->columns, ATTN_ROLE_POSITION);
    const size_t n_row = attn_table_n_row(table);
    struct attn_table_axis *groups = &cells->rows, *places = &cells->columns;
    struct row_names names = {.table = table,
                              .of = of,
                              .query = attn_table_find_role(table, ATTN_ROLE_QUERY),
                              .part = attn_table_find_role(table, ATTN_ROLE_PART),
                              .n_label = picture->n_label,
                              .last = find_last_place(table),
                              .traits = picture->view.traits,
                              .is_curve = is_curve,
                              .is_stream = has_stream(table, &picture->view)};

    ATTN_TRY(check_sides(of, err));
    if (picture->run && has_positions) {
        names.tokens = cells->tokens;
        ATTN_TRY(attn_table_read_tokens(picture, cells->tokens, err));
    }
    ATTN_TRY(attn_table_axis_create(groups, n_row, n_row, &cells->store, err));
    ATTN_TRY(attn_table_axis_create(places, n_row, n_row, &cells->store, err));
    for (size_t i = 0; i < n_row; i++) {
        if (!is_placed(&names, i))
            continue;
        name_row(&names, i, &groups->texts.bytes, &places->texts.bytes);
        groups->of_rows[i] = end_label(groups, true);
        places->of_rows[i] = end_label(places, true);
    }
    ATTN_TRY(attn_buffer_check(&groups->texts.bytes, err));
    ATTN_TRY(attn_buffer_check(&places->texts.bytes, err));
    if (groups->texts.n == 0)
        return attn_error_set(err, ATTN_INVALID, "the table has no rows to draw");
    groups->axis = attn_table_named_axis(groups, "");
    places->axis = attn_table_named_axis(
        places, is_curve && has_positions && of->detail == SIZE_MAX
                    ? attn_table_column_name(table, of->columns)
                : is_curve && names.is_stream
                    ? has_stacks(table, of->rows) ? "residual stream" : "after layer"
                    : attn_table_column_name(table, is_sequence ? of->columns : of->rows));
    return ATTN_OK;
}
