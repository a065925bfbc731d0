/* table_order.c - see table_order.h. The rows of each group are sorted by their keys; fixed rows
 * keep their places. */
#include "tables/table_writer_internal.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/given.h"
#include "base/text/list.h"
#include "base/text/number.h"
#include "tables/table_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

ATTN_DEFAULTS(attn_table_order, .size = sizeof(struct attn_table_order))

static const struct attn_param params[] = {
    ATTN_TABLE_ORDER_PARAMS(
        "sort the rows by this column, the largest first, of numbers with both signs the largest "
        "of either; :up and :down sort by value. 'value' without a column of this name is the "
        "first one with measured numbers",
        "print only the first N rows; 0: all, the default where no other is named. On a terminal, "
        "tables of effects and attributions have their 10 largest rows, with bars"),
    ATTN_PARAM(TEXTS, "where", "COLUMN=VALUE", struct attn_table_order, where,
               "keep only the rows with this value; 'COLUMN=': those without one. May be given "
               "several times",
               .second = offsetof(struct attn_table_order, n_where)),
    ATTN_PARAM(TEXT, "columns", "NAME,...", struct attn_table_order, columns,
               "write only these columns, in this order",
               .media =
                   ATTN_MEDIUM_TABLE | ATTN_MEDIUM_DECIMAL | ATTN_MEDIUM_ROWS | ATTN_MEDIUM_PAPER),
};

const struct attn_param_list attn_table_order_params = ATTN_PARAM_LIST("Rows", params);

/* The sort key of a row. */
struct key {
    struct attn_cell cell; /* missing for NaN; with ATTN_RANGE_SIGNED perhaps a magnitude */
    /* number of the stack, times `sign` if the column itself holds stacks; 0: no stacks */
    int stack;
    size_t row; /* index in its group, from 0 */
    int sign;   /* 1: smallest first; -1: largest first; 0: rows stay in their order */
};

struct ordering {
    const struct attn_table *table;
    struct attn_table_order order;
    struct key *keys; /* owned; [n_row] the keys of a group */
    size_t column;    /* the column to sort by */
    int sign;         /* `sign` of each key */
    bool has_magnitudes;
    struct attn_cell *cells;   /* owned; [n_column] the cells of one row */
    struct attn_table *sorted; /* owns */
};

/* --- The column ------------------------------------------------------------------------------- */

/* Returns true if ROW is a total. Totals are for comparison: they are not sorted. */
static bool is_fixed(const struct attn_table *table, size_t row)
{
    return attn_table_total(table, row) != SIZE_MAX;
}

/* Returns the value of ROW in COLUMN; missing if it is NaN. */
static struct attn_cell value_of(const struct attn_table *table, size_t row, size_t column)
{
    const struct attn_cell cell = attn_table_cell(table, row, column);

    return cell.type == ATTN_VALUE_REAL && isnan(cell.real) ? attn_cell_missing() : cell;
}

/* Returns true if COLUMN has a value in some row that is sorted, or if there is no such row. */
static bool has_values(const struct attn_table *table, size_t column)
{
    const size_t n_row = attn_table_n_row(table);
    bool has_rows = false;

    for (size_t row = 0; row < n_row; row++) {
        if (is_fixed(table, row))
            continue;
        has_rows = true;
        if (value_of(table, row, column).type != ATTN_VALUE_MISSING)
            return true;
    }
    return !has_rows;
}

static const char to_sort[] = "to sort by"; /* a use of a column, for messages */

/* Sets the error that the column NAME [size] does not exist, or has no values (IS_EMPTY). The
 * message lists the columns that USE can have. */
static enum attn_status refuse_column(const struct attn_table *table, const char *name, size_t size,
                                      const char *use, bool is_empty, struct attn_error *err)
{
    const char *number = NULL; /* the first column with reals */
    struct attn_buffer names = {0};
    enum attn_status status;

    for (size_t c = 0; c < attn_table_n_column(table); c++) {
        const struct attn_column *column = attn_table_column(table, c);

        if (use == to_sort &&
            (attn_value_is_list(column->type) || (is_empty && !has_values(table, c))))
            continue;
        attn_buffer_append_format(&names, "%s%s", names.size > 0 ? ", " : "", column->name);
        number = !number && column->type == ATTN_VALUE_REAL ? column->name : number;
    }
    status = attn_buffer_check(&names, err);
    ATTN_THEN(status,
              attn_error_set(err, ATTN_INVALID, "%s '%s' %s, expected one of %.*s",
                             is_empty ? "there are no values in column" : "there is no column",
                             attn_quote(name, size).text, use, (int)names.size,
                             names.data ? names.data : ""));
    if (status == ATTN_INVALID && is_empty && number)
        attn_error_hint(err, "as with `sort %s`", number);
    attn_buffer_release(&names);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

/* Returns the column NAME [size]; if none is called "value", that is the first with reals. */
static size_t find_key(const struct attn_table *table, const char *name, size_t size)
{
    size_t found = attn_table_find_named(table, name, size);

    for (size_t c = 0; found == SIZE_MAX && attn_text_has_word("value", name, size) &&
                       c < attn_table_n_column(table);
         c++)
        if (attn_table_column(table, c)->type == ATTN_VALUE_REAL && has_values(table, c))
            found = c;
    return found;
}

/* Parses the option `sort`: "NAME", "NAME:up" or "NAME:down". */
static enum attn_status read_sort(struct ordering *ordering, struct attn_error *err)
{
    const struct attn_table *table = ordering->table;
    const char *sort = ordering->order.sort;
    const char *colon = sort ? strrchr(sort, ':') : NULL;
    const struct attn_column *column;

    if (!sort)
        return ATTN_OK;
    ordering->column = find_key(table, sort, strlen(sort));
    if (ordering->column == SIZE_MAX && colon) {
        ordering->column = find_key(table, sort, (size_t)(colon - sort));
        ordering->sign = strcmp(colon, ":up") == 0 ? 1 : strcmp(colon, ":down") == 0 ? -1 : 0;
        if (ordering->column != SIZE_MAX && ordering->sign == 0)
            return attn_error_set(err, ATTN_INVALID,
                                  "there is no order '%s' to sort by, expected up or down",
                                  attn_quote_string(colon + 1).text);
    }
    column = attn_table_column(table, ordering->column);
    if (!column)
        return refuse_column(table, sort, strlen(sort), to_sort, false, err);
    if (attn_value_is_list(column->type))
        return attn_error_set(err, ATTN_INVALID, "the column '%s' holds lists, which have no order",
                              column->name);
    if (!has_values(table, ordering->column))
        return refuse_column(table, column->name, strlen(column->name), to_sort, true, err);
    if (ordering->sign == 0) {
        ordering->sign = column->type == ATTN_VALUE_TEXT ? 1 : -1;
        ordering->has_magnitudes = column->range == ATTN_RANGE_SIGNED;
    }
    return ATTN_OK;
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* Returns the first row after the group that begins at ROW. */
static size_t group_end(const struct ordering *ordering, size_t row)
{
    const size_t n_row = attn_table_n_row(ordering->table), first = row;

    for (row++; row < n_row; row++)
        for (size_t c = 0; c < ordering->order.n_group; c++) {
            const struct attn_cell a = attn_table_cell(ordering->table, first, c);
            const struct attn_cell b = attn_table_cell(ordering->table, row, c);

            if (!attn_cell_is_equal(&a, &b))
                return row;
        }
    return row;
}

/* Returns true if COLUMN holds names of stacks. */
static bool has_stacks(const struct attn_table *table, size_t column)
{
    return attn_table_column(table, column)->role == ATTN_ROLE_STACK;
}

static struct key key_of(const struct ordering *ordering, size_t row)
{
    const size_t column = ordering->column;
    const bool is_stack = has_stacks(ordering->table, column);
    struct key key = {.row = row, .sign = ordering->sign};

    if (key.sign != 0)
        key.cell = value_of(ordering->table, row, column);
    if (is_stack || (column > 0 && has_stacks(ordering->table, column - 1))) {
        const struct attn_cell stack =
            attn_table_cell(ordering->table, row, column - (is_stack ? 0 : 1));

        key.stack = (is_stack ? key.sign : 1) * (int)attn_cell_word(&stack, ATTN_STACK_WORDS);
    }
    if (ordering->has_magnitudes) {
        key.cell.real = fabs(key.cell.real);
        if (key.cell.integer < 0) /* INT64_MIN has no magnitude: use INT64_MAX */
            key.cell.integer = -(key.cell.integer + (key.cell.integer == INT64_MIN));
    }
    return key;
}

/* Compares two values of the same column: negative, 0 or positive, as for qsort. */
static int compare_values(const struct attn_cell *a, const struct attn_cell *b)
{
    if (a->type == ATTN_VALUE_TEXT)
        return attn_compare_texts(a->text, a->size, b->text, b->size);
    return a->type == ATTN_VALUE_REAL ? (a->real > b->real) - (a->real < b->real)
                                      : (a->integer > b->integer) - (a->integer < b->integer);
}

/* Compares two keys by value; a missing value comes last. */
static int compare_keys(const struct key *x, const struct key *y)
{
    const bool x_is_missing = x->cell.type == ATTN_VALUE_MISSING;
    const bool y_is_missing = y->cell.type == ATTN_VALUE_MISSING;

    if (x_is_missing || y_is_missing)
        return x_is_missing - y_is_missing;
    return x->stack != y->stack ? (x->stack < y->stack ? -1 : 1)
                                : x->sign * compare_values(&x->cell, &y->cell);
}

static int by_key(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    const int order = compare_keys(x, y);

    return order != 0 ? order : x->row < y->row ? -1 : 1;
}

static enum attn_status append_row(const struct ordering *ordering, size_t row,
                                   struct attn_error *err)
{
    const size_t n = attn_table_n_column(ordering->table);

    for (size_t c = 0; c < n; c++)
        ordering->cells[c] = attn_table_cell(ordering->table, row, c);
    return attn_table_append(ordering->sorted, ordering->cells, n, err);
}

/* Fills and sorts the keys of the group FIRST to END (exclusive). With is_joint, all groups share
 * the keys, and a row's key is its first value in any group. */
static void sort_keys(const struct ordering *ordering, size_t first, size_t end)
{
    const size_t n_row = ordering->order.is_joint ? attn_table_n_row(ordering->table) : end;
    size_t n = 0;

    for (size_t row = first; row < end; row++) {
        struct key key;

        if (is_fixed(ordering->table, row))
            continue;
        key = key_of(ordering, row);
        for (size_t other = row + end - first; other < n_row; other += end - first) {
            const struct key found = key_of(ordering, other);

            if (compare_keys(&found, &key) < 0)
                key = found;
        }
        key.row = row - first;
        ordering->keys[n++] = key;
    }
    if (ordering->sign != 0 && n > 0)
        qsort(ordering->keys, n, sizeof *ordering->keys, by_key);
}

/* Appends the rows of the group FIRST to END (exclusive) to the result: sorted by keys, at most
 * `n_most`. */
static enum attn_status append_group(const struct ordering *ordering, size_t first, size_t end,
                                     struct attn_error *err)
{
    const size_t n_most = ordering->order.n_most;
    size_t at = 0;

    for (size_t row = first; row < end; row++)
        if (is_fixed(ordering->table, row))
            ATTN_TRY(append_row(ordering, row, err));
        else if (n_most == 0 || at < n_most)
            ATTN_TRY(append_row(ordering, first + ordering->keys[at++].row, err));
    return ATTN_OK;
}

static enum attn_status append_groups(const struct ordering *ordering, struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(ordering->table);
    const bool is_joint = ordering->order.is_joint;
    size_t n_first = 0;

    for (size_t row = 0, end; row < n_row; row = end) {
        end = ordering->order.n_group > 0 ? group_end(ordering, row) : n_row;
        n_first = row == 0 ? end : n_first;
        if (is_joint && end - row != n_first)
            return attn_refuse(err, ATTN_STAGE_OPTIONS,
                               "the groups have %zu and %zu rows, expected as many", n_first,
                               end - row);
        if (row == 0 || !is_joint)
            sort_keys(ordering, row, end);
        ATTN_TRY(append_group(ordering, row, end, err));
    }
    return ATTN_OK;
}

/* --- Choices ---------------------------------------------------------------------------------- */

/* A row must have VALUE in COLUMN: a text, or a number, NaN without a value. */
struct condition {
    size_t column;
    const char *value;
    double number;
};

static enum attn_status read_condition(const struct attn_table *table, const char *text,
                                       struct condition *condition, struct attn_error *err)
{
    const char *equals = text ? strchr(text, '=') : NULL;
    enum attn_value_type type;

    if (!equals)
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "`where` is '%s', expected COLUMN=VALUE",
                           attn_quote_string(text ? text : "").text);
    condition->column = attn_table_find_named(table, text, (size_t)(equals - text));
    if (condition->column == SIZE_MAX)
        return refuse_column(table, text, (size_t)(equals - text), "for `where`", false, err);
    condition->value = equals + 1;
    condition->number = (double)NAN;
    type = attn_table_column(table, condition->column)->type;
    if (type == ATTN_VALUE_TEXT || condition->value[0] == '\0')
        return ATTN_OK;
    if (type == ATTN_VALUE_BOOLEAN && strcmp(condition->value, "true") == 0)
        condition->number = 1;
    else if (type == ATTN_VALUE_BOOLEAN && strcmp(condition->value, "false") == 0)
        condition->number = 0;
    else if (attn_value_is_list(type) ||
             !attn_parse_double(condition->value, strlen(condition->value), &condition->number))
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`where` has '%s', and the column '%s' holds %s",
                           attn_quote_string(condition->value).text,
                           attn_table_column(table, condition->column)->name,
                           attn_value_is_list(type)     ? "lists"
                           : type == ATTN_VALUE_BOOLEAN ? "true and false"
                                                        : "numbers");
    return ATTN_OK;
}

/* Whether ROW of TABLE has the value. Reals are written as float32, so they are compared so. */
static bool is_met(const struct condition *condition, const struct attn_table *table, size_t row)
{
    const struct attn_cell cell = attn_table_cell(table, row, condition->column);

    if (cell.type == ATTN_VALUE_MISSING || condition->value[0] == '\0')
        return cell.type == ATTN_VALUE_MISSING && condition->value[0] == '\0';
    if (cell.type == ATTN_VALUE_TEXT)
        return cell.size == strlen(condition->value) &&
               memcmp(cell.text, condition->value, cell.size) == 0;
    return cell.type == ATTN_VALUE_REAL ? (float)cell.real == (float)condition->number
                                        : (double)cell.integer == condition->number;
}

/* Columns, and the conditions that rows must meet. */
struct choice {
    const size_t *columns;              /* [n] */
    const struct condition *conditions; /* [n_condition] */
    size_t n, n_condition;
};

/* Copies what CHOICE has of TABLE to *CHOSEN. */
static enum attn_status choose(const struct attn_table *table, const struct choice *choice,
                               struct attn_table **chosen, struct attn_error *err)
{
    const size_t *columns = choice->columns, n = choice->n;
    struct attn_column *shown = attn_alloc(n, sizeof *shown, err);
    struct attn_cell *cells = attn_alloc(n, sizeof *cells, err);
    enum attn_status status = shown && cells ? ATTN_OK : ATTN_NO_MEMORY;

    for (size_t i = 0; status == ATTN_OK && i < n; i++)
        shown[i] = *attn_table_column(table, columns[i]);
    ATTN_THEN(status, attn_table_create(attn_table_name(table), shown, n, chosen, err));
    ATTN_THEN(status, attn_table_copy_about(table, *chosen, err));
    for (size_t row = 0; status == ATTN_OK && row < attn_table_n_row(table); row++) {
        size_t k = 0;

        while (k < choice->n_condition && is_met(&choice->conditions[k], table, row))
            k++;
        for (size_t i = 0; i < n; i++)
            cells[i] = attn_table_cell(table, row, columns[i]);
        if (k == choice->n_condition)
            status = attn_table_append(*chosen, cells, n, err);
    }
    attn_free(shown);
    attn_free(cells);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

/* Copies the rows of TABLE that have the values of `where`. */
static enum attn_status choose_rows(const struct attn_table *table,
                                    const struct attn_table_order *order,
                                    struct attn_table **chosen, struct attn_error *err)
{
    const size_t n = attn_table_n_column(table);
    struct condition *conditions = attn_alloc(order->n_where, sizeof *conditions, err);
    size_t *columns = attn_alloc(n, sizeof *columns, err);
    enum attn_status status = conditions && columns ? ATTN_OK : ATTN_NO_MEMORY;

    for (size_t i = 0; status == ATTN_OK && i < n; i++)
        columns[i] = i;
    for (size_t i = 0; status == ATTN_OK && i < order->n_where; i++)
        status = read_condition(table, order->where[i], &conditions[i], err);
    if (status == ATTN_OK)
        status =
            choose(table, &(struct choice){columns, conditions, n, order->n_where}, chosen, err);
    attn_free(conditions);
    attn_free(columns);
    return status;
}

/* Replaces *TABLE by a copy with the columns of LIST alone. */
static enum attn_status choose_columns(struct attn_table **table, const char *list,
                                       struct attn_error *err)
{
    struct attn_table *chosen = NULL;
    enum attn_status status = ATTN_OK;
    size_t *columns, n = 0;

    ATTN_TRY(ATTN_ALLOC(columns, strlen(list) + 1, err));
    for (struct attn_list_item item = {.rest = list}; status == ATTN_OK && attn_list_next(&item);) {
        columns[n] = attn_table_find_named(*table, item.text, item.size);
        if (columns[n++] == SIZE_MAX)
            status = refuse_column(*table, item.text, item.size, "for `columns`", false, err);
    }
    ATTN_THEN(status, choose(*table, &(struct choice){.columns = columns, .n = n}, &chosen, err));
    attn_free(columns);
    attn_table_free(status == ATTN_OK ? *table : chosen);
    *table = status == ATTN_OK ? chosen : *table;
    return status;
}

/* --- All of it -------------------------------------------------------------------------------- */

static enum attn_status sort(struct ordering *ordering, struct attn_error *err)
{
    const struct attn_table *table = ordering->table;
    const size_t n_column = attn_table_n_column(table), n_row = attn_table_n_row(table);

    ATTN_TRY(attn_error_at(attn_error_of(read_sort(ordering, err), "sort", err), ATTN_STAGE_OPTIONS,
                           err));
    ATTN_TRY(ATTN_ALLOC(ordering->keys, n_row, err));
    ATTN_TRY(ATTN_ALLOC(ordering->cells, n_column, err));
    ATTN_TRY(attn_table_create(attn_table_name(table), attn_table_column(table, 0), n_column,
                               &ordering->sorted, err));
    ATTN_TRY(attn_table_copy_about(table, ordering->sorted, err));
    return append_groups(ordering, err);
}

enum attn_status attn_table_sort(const struct attn_table *table,
                                 const struct attn_table_order *order, struct attn_table **sorted,
                                 struct attn_error *err)
{
    struct ordering ordering = {.table = table, .order = ATTN_TABLE_ORDER_DEFAULT};
    struct attn_table *chosen = NULL;
    enum attn_status status = ATTN_OK;

    ATTN_NEED(err, table, sorted);
    ATTN_TRY(attn_options_read(order, &ordering.order, err));
    if (ordering.order.n_where > 0 && !attn_is_given(ordering.order.where, "where", err))
        return ATTN_INVALID;
    if (ordering.order.n_where > 0)
        status = choose_rows(table, &ordering.order, &chosen, err);
    ordering.table = chosen ? chosen : table;
    ATTN_THEN(status, sort(&ordering, err));
    if (status == ATTN_OK && ordering.order.columns)
        status = choose_columns(&ordering.sorted, ordering.order.columns, err);
    attn_table_free(chosen);
    attn_free(ordering.keys);
    attn_free(ordering.cells);
    ATTN_RETURN_MADE(status, sorted, ordering.sorted, attn_table_free);
}
