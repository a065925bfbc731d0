/* comparison.c - the result of a comparison, and its tables. */
#include "questions/comparison_internal.h"

#include "base/given.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "measures/analysis_internal.h"
#include "questions/rows.h"
#include "trace/model_stack.h"
#include "trace/trace_internal.h"

#include <stdio.h>
#include <stdlib.h>

/* Seconds may be small, so they have 7 significant digits whatever the precision of the file is. */
#define COLUMN_SECONDS(label)                                                                      \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_REAL, .unit = "s", .notation = ATTN_NOTATION_FIGURES,  \
        .digits = 7                                                                                \
    }

static const struct attn_param order_params[] = {
    ATTN_TABLE_ORDER_PARAMS(
        "sort the heads of `compare` by this column, the largest first; :up and "
        ":down sort by value",
        "print only the first N of them; 0: all, the default"),
};

const struct attn_param_list attn_comparison_order_params = ATTN_PARAM_LIST("Output", order_params);

/* Allocates the rows of C, and names them. */
static enum attn_status list_rows(const struct attn_selection *selection, struct attn_comparison *c,
                                  struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    const struct attn_location before = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};
    struct attn_compared_row *head, *layer;

    for (struct attn_location at = before; attn_dims_next_layer(dims, &at);) {
        c->n_head += attn_selection_count_heads(selection, &at);
        c->n_layer += attn_selection_count_heads(selection, &at) > 0;
    }
    ATTN_TRY(ATTN_ALLOC(c->heads, c->n_head + c->n_layer + 1, err));
    ATTN_TRY(ATTN_ALLOC(c->logits, attn_selection_n_query(selection), err));
    head = c->heads;
    layer = c->layers = c->heads + c->n_head;
    c->all = c->layers + c->n_layer;
    for (struct attn_location at = before; attn_dims_next_layer(dims, &at);) {
        const size_t n = attn_selection_count_heads(selection, &at);

        if (n == 0)
            continue;
        *layer++ = (struct attn_compared_row){.at = at, .n = n};
        for (at.head = 0; at.head < (int)dims->n_head; at.head++)
            if (attn_selection_has_head(selection, &at))
                *head++ = (struct attn_compared_row){.at = at, .n = 1};
    }
    *c->all = (struct attn_compared_row){.at = {.layer = ATTN_ALL_LAYERS, .head = ATTN_ALL_HEADS},
                                         .n = c->n_layer};
    return ATTN_OK;
}

enum attn_status attn_comparison_create(const struct attn_selection *selection,
                                        struct attn_comparison **comparison, struct attn_error *err)
{
    struct attn_comparison *c;

    ATTN_TRY(ATTN_ALLOC(c, 1, err));
    ATTN_RETURN_MADE(list_rows(selection, c, err), comparison, c, attn_comparison_free);
}

void attn_comparison_free(struct attn_comparison *comparison)
{
    if (!comparison)
        return;
    attn_free(comparison->heads);
    attn_free(comparison->logits);
    attn_free(comparison);
}

static const struct attn_column cost_columns[] = {
    ATTN_COLUMN("exact_pairs", INTEGER),
    ATTN_COLUMN("chosen_pairs", INTEGER),
    {.name = "exact_bytes", .type = ATTN_VALUE_INTEGER, .unit = "bytes"},
    {.name = "chosen_bytes", .type = ATTN_VALUE_INTEGER, .unit = "bytes"},
    COLUMN_SECONDS("exact_seconds"),
    COLUMN_SECONDS("chosen_seconds"),
};

enum { NAME_SIZE = 32, N_COST = sizeof cost_columns / sizeof *cost_columns };
enum { MAX_COLUMN = 3 + 2 * ATTN_N_DIFFERENCE + N_COST };

/* Groups of forms: those with heads, with layers, as text, with both errors. */
enum {
    OF_HEADS = ATTN_COMPARED_ERRORS | ATTN_COMPARED_HEADS,
    OF_LAYERS = ATTN_COMPARED_COSTS | ATTN_COMPARED_LAYERS,
    OF_TEXT = ATTN_COMPARED_LOCAL | ATTN_COMPARED_PROPAGATED,
    OF_BOTH_ERRORS = ATTN_COMPARED_HEADS | ATTN_COMPARED_LAYERS | ATTN_COMPARED_ALL
};

/* A row in one form, and its columns. */
struct filled_row {
    enum attn_compared_form form;
    struct attn_column columns[MAX_COLUMN];
    struct attn_cell cells[MAX_COLUMN];
    char names[MAX_COLUMN][NAME_SIZE]; /* names of columns with a prefix */
    char head[NAME_SIZE];
    size_t n;
};

/* Appends COLUMN with CELL if the row's form is in FORMS. */
static void put(struct filled_row *to, unsigned forms, struct attn_column column,
                struct attn_cell cell)
{
    if ((forms & to->form) == 0)
        return;
    to->columns[to->n] = column;
    to->cells[to->n++] = cell;
}

/* Adds the columns of DIFFERENCE to the row, if it is in one of FORMS. Text does not show the
 * number of rows. */
static void put_difference(struct filled_row *to, unsigned forms, const char *prefix,
                           const struct attn_difference *difference)
{
    const int n = to->form & OF_TEXT ? ATTN_DIFFERENCE_ROWS : ATTN_N_DIFFERENCE;
    struct attn_column columns[ATTN_N_DIFFERENCE];
    struct attn_cell cells[ATTN_N_DIFFERENCE];

    attn_difference_columns(columns);
    attn_difference_cells(difference, cells);
    for (int i = 0; i < n && (forms & to->form) != 0; i++) {
        snprintf(to->names[to->n], NAME_SIZE, "%s%s", prefix, columns[i].name);
        columns[i].name = to->names[to->n];
        put(to, forms, columns[i], cells[i]);
    }
}

/* Splits the number of a head of arrays into its batch (quot) and its head in the batch (rem). */
static div_t batch_of(const struct attn_compared_row *row, const struct attn_labels *labels)
{
    const size_t n_head = attn_selection_dims(labels->selection)->n_head;

    return div(row->at.head, (int)(labels->axes ? n_head / labels->axes->n_batch : n_head));
}

/* Writes the name of a row as in a selection: 5.1 for a model, 3 for arrays, B1H3 for batches; 5.*
 * and `all` for means. */
static void write_name(const struct attn_compared_row *row, const struct attn_labels *labels,
                       char name[NAME_SIZE])
{
    const div_t batch = batch_of(row, labels);
    const char *stack = attn_model_stack_name(row->at.stack), *colon = stack[0] ? ":" : "";

    if (row->at.head == ATTN_ALL_HEADS && (labels->axes || row->at.layer == ATTN_ALL_LAYERS))
        snprintf(name, NAME_SIZE, "all");
    else if (row->at.head == ATTN_ALL_HEADS)
        snprintf(name, NAME_SIZE, "%s%s%d.*", stack, colon, row->at.layer);
    else if (!labels->axes)
        snprintf(name, NAME_SIZE, "%s%s%d.%d", stack, colon, row->at.layer, row->at.head);
    else if (labels->axes->rank < 4)
        snprintf(name, NAME_SIZE, "%d", batch.rem);
    else
        snprintf(name, NAME_SIZE, "B%dH%d", batch.quot, batch.rem);
}

static void put_costs(struct filled_row *to, const struct attn_compared_row *row)
{
    const struct attn_cell cells[N_COST] = {attn_cell_integer((int64_t)row->exact.n_pair),
                                            attn_cell_integer((int64_t)row->chosen.n_pair),
                                            attn_cell_integer((int64_t)row->exact.n_byte),
                                            attn_cell_integer((int64_t)row->chosen.n_byte),
                                            attn_cell_real(row->exact.seconds),
                                            attn_cell_real(row->chosen.seconds)};

    for (int i = 0; i < N_COST; i++)
        put(to, OF_LAYERS, cost_columns[i], cells[i]);
}

/* Fills *TO, whose form is set. IS_LOCAL selects the error in forms that have one. */
static void fill_row(struct filled_row *to, const struct attn_compared_row *row, bool is_local,
                     const struct attn_labels *labels)
{
    static const struct attn_column columns[] = {
        ATTN_COLUMN_STACK("stack"),    ATTN_COLUMN_OF(LAYER, "layer", INTEGER),
        ATTN_COLUMN("batch", INTEGER), ATTN_COLUMN("head", INTEGER),
        ATTN_COLUMN("error", TEXT),    {.name = "head", .type = ATTN_VALUE_TEXT, .width = 5}};
    const bool has_stacks = attn_dims_has_stacks(attn_selection_dims(labels->selection));
    const div_t batch = batch_of(row, labels);
    struct attn_cell place[2];

    attn_location_put(&row->at, place);
    write_name(row, labels, to->head);
    put(to, OF_TEXT, columns[5], attn_cell_string(to->head));
    put(to, has_stacks ? OF_HEADS | OF_LAYERS : 0, columns[0], place[0]);
    put(to, labels->axes ? OF_LAYERS : OF_HEADS | OF_LAYERS, columns[1], place[1]);
    put(to, labels->axes ? OF_HEADS : 0, columns[2], attn_cell_integer(batch.quot));
    put(to, OF_HEADS, columns[3], attn_cell_integer(labels->axes ? batch.rem : row->at.head));
    put(to, ATTN_COMPARED_ERRORS, columns[4], attn_cell_string(is_local ? "local" : "propagated"));
    put_difference(to, OF_TEXT | ATTN_COMPARED_ERRORS, "",
                   is_local ? &row->local : &row->propagated);
    put_difference(to, OF_BOTH_ERRORS, "local_", &row->local);
    put_difference(to, labels->axes ? 0 : OF_BOTH_ERRORS, "propagated_", &row->propagated);
    put_costs(to, row);
}

static enum attn_status append(const struct attn_compared_run *comparison,
                               enum attn_compared_form form, const struct attn_compared_row *row,
                               bool is_local, struct attn_table *table, struct attn_error *err)
{
    struct filled_row filled = {.form = form};

    fill_row(&filled, row, is_local, comparison->labels);
    return attn_table_append(table, filled.cells, filled.n, err);
}

static bool is_ordered(const struct attn_table_order *order)
{
    return order->sort || order->n_most > 0 || order->n_where > 0 || order->columns;
}

/* Orders *TABLE, a table of heads, if an order was given. */
static enum attn_status sort_heads(const struct attn_compared_run *comparison,
                                   struct attn_table **table, struct attn_error *err)
{
    struct attn_table *sorted;

    if (!is_ordered(&comparison->order))
        return ATTN_OK;
    ATTN_TRY(attn_table_sort(*table, &comparison->order, &sorted, err));
    attn_table_free(*table);
    *table = sorted;
    return ATTN_OK;
}

/* Appends the rows of the text: the heads of a layer and their mean; if heads are sorted, all heads
 * and then all means. A mean over a single row is left out. */
static enum attn_status append_text(const struct attn_compared_run *comparison,
                                    enum attn_compared_form form, struct attn_table **table,
                                    struct attn_error *err)
{
    const struct attn_comparison *found = comparison->found;
    const bool is_sorted = is_ordered(&comparison->order);
    const bool is_local = form == ATTN_COMPARED_LOCAL;
    const struct attn_compared_row *head = found->heads, *mean = found->layers;

    for (const struct attn_compared_row *layer = mean; layer < found->all; layer++) {
        for (; head < found->layers && head->at.stack == layer->at.stack &&
               head->at.layer == layer->at.layer;
             head++)
            ATTN_TRY(append(comparison, form, head, is_local, *table, err));
        if (!is_sorted && layer->n > 1)
            ATTN_TRY(append(comparison, form, layer, is_local, *table, err));
    }
    ATTN_TRY(sort_heads(comparison, table, err));
    for (mean = is_sorted ? mean : found->all; mean <= found->all; mean++)
        if (mean->n > 1)
            ATTN_TRY(append(comparison, form, mean, is_local, *table, err));
    return ATTN_OK;
}

/* Makes *TABLE, which the caller owns even after a failure; likewise tabulate_logits. */
static enum attn_status tabulate_rows(const struct attn_compared_run *comparison,
                                      enum attn_compared_form form, struct attn_table **table,
                                      struct attn_error *err)
{
    const struct attn_comparison *found = comparison->found;
    const struct attn_compared_row *row = form & OF_HEADS    ? found->heads
                                          : form & OF_LAYERS ? found->layers
                                                             : found->all;
    const struct attn_compared_row *end = form & OF_HEADS    ? found->layers
                                          : form & OF_LAYERS ? found->all
                                                             : found->all + 1;
    struct filled_row columns = {.form = form};

    fill_row(&columns, found->all, true, comparison->labels);
    ATTN_TRY(attn_table_create(form == ATTN_COMPARED_COSTS ? "costs" : "heads", columns.columns,
                               columns.n, table, err));
    if (form & OF_TEXT)
        return append_text(comparison, form, table, err);
    for (; row < end; row++)
        for (int error = 0; error < (form == ATTN_COMPARED_ERRORS && found->has_propagated ? 2 : 1);
             error++)
            ATTN_TRY(append(comparison, form, row, error == 0, *table, err));
    return form == ATTN_COMPARED_ERRORS ? sort_heads(comparison, table, err) : ATTN_OK;
}

static const struct attn_column logits_columns[] = {
    ATTN_COLUMN_OF(QUERY, "query", INTEGER),
    ATTN_COLUMN_QUANTITY("kl", 4, "nats", SIGNED, "KL divergence from the unchanged prediction"),
    ATTN_COLUMN("exact_first", INTEGER),
    ATTN_COLUMN("chosen_first", INTEGER),
    ATTN_COLUMN("query_token", TEXT),
    ATTN_COLUMN("exact_token", TEXT),
    ATTN_COLUMN("chosen_token", TEXT),
};

enum { N_LOGITS_COLUMN = sizeof logits_columns / sizeof *logits_columns, N_TEXT_COLUMN = 3 };

static enum attn_status tabulate_logits(const struct attn_compared_run *comparison,
                                        enum attn_compared_form form, struct attn_table **table,
                                        struct attn_error *err)
{
    const size_t n = N_LOGITS_COLUMN - (form == ATTN_COMPARED_IDS ? N_TEXT_COLUMN : 0);
    const struct attn_tokenizer *tokenizer = comparison->tokenizer;
    const int32_t *ids = comparison->labels->ids;

    ATTN_TRY(attn_table_create("logits", logits_columns, n, table, err));
    for (size_t i = 0; i < comparison->found->n_logits; i++) {
        const struct attn_compared_logits *logits = &comparison->found->logits[i];
        const struct attn_cell cells[N_LOGITS_COLUMN] = {
            attn_cell_integer((int64_t)logits->position),
            attn_cell_real(logits->kl),
            attn_cell_integer(logits->exact_first),
            attn_cell_integer(logits->chosen_first),
            ids ? attn_cell_token(tokenizer, ids[logits->position]) : attn_cell_missing(),
            attn_cell_token(tokenizer, logits->exact_first),
            attn_cell_token(tokenizer, logits->chosen_first)};

        ATTN_TRY(attn_table_append(*table, cells, n, err));
    }
    return ATTN_OK;
}

enum attn_status attn_compared_tabulate(const struct attn_compared_run *comparison,
                                        enum attn_compared_form form, struct attn_table **table,
                                        struct attn_error *err)
{
    const bool is_logits = form == ATTN_COMPARED_LOGITS || form == ATTN_COMPARED_IDS;
    struct attn_table *made = NULL;

    ATTN_RETURN_MADE((is_logits ? tabulate_logits : tabulate_rows)(comparison, form, &made, err),
                     table, made, attn_table_free);
}

enum attn_status attn_comparison_tabulate(const struct attn_comparison *comparison,
                                          enum attn_comparison_part part,
                                          const struct attn_labels *labels,
                                          const struct attn_tokenizer *tokenizer,
                                          struct attn_table **table, struct attn_error *err)
{
    static const enum attn_compared_form forms[] = {[ATTN_COMPARISON_HEADS] = ATTN_COMPARED_ERRORS,
                                                    [ATTN_COMPARISON_COSTS] = ATTN_COMPARED_COSTS,
                                                    [ATTN_COMPARISON_LOGITS] =
                                                        ATTN_COMPARED_LOGITS};

    if (!attn_is_given(comparison, "comparison", err) || !attn_is_given(labels, "labels", err) ||
        !attn_is_given(table, "table", err) ||
        !attn_is_choice(part, ATTN_COMPARISON_LOGITS + 1, "part", err))
        return ATTN_INVALID;
    return attn_compared_tabulate(
        &(struct attn_compared_run){.found = comparison, .labels = labels, .tokenizer = tokenizer},
        forms[part], table, err);
}
