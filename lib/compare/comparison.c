/* comparison.c - the result of a comparison, and its tables. */
#include "compare/comparison_internal.h"

#include "analysis/analysis_internal.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "study/rows.h"
#include "trace/model_stack.h"
#include "trace/trace_internal.h"

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
    struct attn_compared_row *head, *layer;

    for (int l = 0; l < (int)dims->n_layer; l++) {
        c->n_head += attn_selection_n_head(selection, l);
        c->n_layer += attn_selection_n_head(selection, l) > 0;
    }
    ATTN_TRY(ATTN_ALLOC(c->heads, c->n_head + c->n_layer + 1, err));
    ATTN_TRY(ATTN_ALLOC(c->logits, attn_selection_n_query(selection), err));
    head = c->heads;
    layer = c->layers = c->heads + c->n_head;
    c->all = c->layers + c->n_layer;
    for (int l = 0; l < (int)dims->n_layer; l++) {
        const size_t n = attn_selection_n_head(selection, l);
        struct attn_location at =
            attn_location_of_block(dims, ATTN_SITE_PATTERN, l, ATTN_ALL_HEADS);

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

/* --- Tables ----------------------------------------------------------------------------------- */

struct attn_head_place attn_comparison_place(const struct attn_compared_row *head,
                                             const struct attn_labels *labels)
{
    size_t n_head;

    if (!labels->axes)
        return (struct attn_head_place){head->at.layer, head->at.head};
    n_head = attn_selection_dims(labels->selection)->n_head / labels->axes->n_batch;
    return (struct attn_head_place){head->at.head / (int)n_head, head->at.head % (int)n_head};
}

enum { N_PLACE = 4, N_OF_HEAD = N_PLACE + ATTN_N_DIFFERENCE }; /* columns of a head */

/* The columns of stacks, the first of a table, that a run with LABELS does not have. */
static size_t n_hidden(const struct attn_labels *labels)
{
    return !attn_selection_dims(labels->selection)->has_pairs;
}

/* Writes where ROW is into CELLS [2]: stack and layer; or without a model the batch. */
static void put_place(const struct attn_compared_row *row, const struct attn_labels *labels,
                      struct attn_cell *cells)
{
    attn_location_put(&row->at, cells);
    if (labels->axes)
        cells[1] = attn_cell_integer(attn_comparison_place(row, labels).first);
}

static enum attn_status append_head(struct attn_table *table, const struct attn_labels *labels,
                                    const struct attn_compared_row *head, bool is_local,
                                    struct attn_error *err)
{
    struct attn_cell cells[N_OF_HEAD] = {
        [2] = attn_cell_integer(attn_comparison_place(head, labels).head),
        [3] = attn_cell_string(is_local ? "local" : "propagated")};

    put_place(head, labels, cells);
    attn_difference_cells(is_local ? &head->local : &head->propagated, cells + N_PLACE);
    return attn_table_append(table, cells + n_hidden(labels), N_OF_HEAD - n_hidden(labels), err);
}

/* Makes *TABLE, which is the caller's, also after a failure; so do those below. */
static enum attn_status tabulate_heads(const struct attn_comparison *comparison,
                                       const struct attn_labels *labels, struct attn_table **table,
                                       struct attn_error *err)
{
    struct attn_column columns[N_OF_HEAD] = {
        ATTN_COLUMN_STACK("stack"),
        {.name = labels->axes ? "batch" : "layer",
         .type = ATTN_VALUE_INTEGER,
         .role = labels->axes ? ATTN_ROLE_VALUE : ATTN_ROLE_LAYER},
        {.name = "head", .type = ATTN_VALUE_INTEGER},
        {.name = "error", .type = ATTN_VALUE_TEXT}};

    attn_difference_columns(columns + N_PLACE);
    ATTN_TRY(attn_table_create("heads", columns + n_hidden(labels), N_OF_HEAD - n_hidden(labels),
                               table, err));
    for (size_t i = 0; i < comparison->n_head; i++) {
        const struct attn_compared_row *head = &comparison->heads[i];

        ATTN_TRY(append_head(*table, labels, head, true, err));
        if (comparison->has_propagated)
            ATTN_TRY(append_head(*table, labels, head, false, err));
    }
    return ATTN_OK;
}

static const struct attn_column cost_columns[] = {
    ATTN_COLUMN_STACK("stack"),
    ATTN_COLUMN_OF(LAYER, "layer", INTEGER),
    ATTN_COLUMN("exact_pairs", INTEGER),
    ATTN_COLUMN("chosen_pairs", INTEGER),
    {.name = "exact_bytes", .type = ATTN_VALUE_INTEGER, .unit = "bytes"},
    {.name = "chosen_bytes", .type = ATTN_VALUE_INTEGER, .unit = "bytes"},
    {.name = "exact_seconds", .type = ATTN_VALUE_REAL, .unit = "s"},
    {.name = "chosen_seconds", .type = ATTN_VALUE_REAL, .unit = "s"},
};

static const struct attn_column logits_columns[] = {
    ATTN_COLUMN_OF(QUERY, "query", INTEGER),
    ATTN_COLUMN_QUANTITY("kl", 4, "nats", SIGNED, "KL divergence from the unchanged prediction"),
    ATTN_COLUMN("exact_first", INTEGER),
    ATTN_COLUMN("chosen_first", INTEGER),
    ATTN_COLUMN("query_token", TEXT),
    ATTN_COLUMN("exact_token", TEXT),
    ATTN_COLUMN("chosen_token", TEXT),
};

enum { N_COLUMN = 7 }; /* of logits, and of costs without stacks */
_Static_assert(sizeof cost_columns == (N_COLUMN + 1) * sizeof *cost_columns, "costs");
_Static_assert(sizeof logits_columns == N_COLUMN * sizeof *logits_columns, "logits");

static enum attn_status tabulate_costs(const struct attn_comparison *comparison,
                                       const struct attn_labels *labels, struct attn_table **table,
                                       struct attn_error *err)
{
    const size_t first = n_hidden(labels), n = N_COLUMN + 1 - first;

    ATTN_TRY(attn_table_create("costs", cost_columns + first, n, table, err));
    for (size_t i = 0; i < comparison->n_layer; i++) {
        const struct attn_compared_row *layer = &comparison->layers[i];
        struct attn_cell cells[N_COLUMN + 1] = {[2] =
                                                    attn_cell_integer((int64_t)layer->exact.n_pair),
                                                attn_cell_integer((int64_t)layer->chosen.n_pair),
                                                attn_cell_integer((int64_t)layer->exact.n_byte),
                                                attn_cell_integer((int64_t)layer->chosen.n_byte),
                                                attn_cell_real(layer->exact.seconds),
                                                attn_cell_real(layer->chosen.seconds)};

        put_place(layer, labels, cells);
        ATTN_TRY(attn_table_append(*table, cells + first, n, err));
    }
    return ATTN_OK;
}

/* IDS are those of the text, or NULL. */
static enum attn_status tabulate_logits(const struct attn_comparison *comparison,
                                        const int32_t *ids, const struct attn_tokenizer *tokenizer,
                                        struct attn_table **table, struct attn_error *err)
{
    ATTN_TRY(attn_table_create("logits", logits_columns, N_COLUMN, table, err));
    for (size_t i = 0; i < comparison->n_logits; i++) {
        const struct attn_compared_logits *logits = &comparison->logits[i];
        const struct attn_cell cells[N_COLUMN] = {
            attn_cell_integer((int64_t)logits->position),
            attn_cell_real(logits->kl),
            attn_cell_integer(logits->exact_first),
            attn_cell_integer(logits->chosen_first),
            ids ? attn_cell_token(tokenizer, ids[logits->position]) : attn_cell_missing(),
            attn_cell_token(tokenizer, logits->exact_first),
            attn_cell_token(tokenizer, logits->chosen_first)};

        ATTN_TRY(attn_table_append(*table, cells, N_COLUMN, err));
    }
    return ATTN_OK;
}

enum attn_status attn_comparison_tabulate(const struct attn_comparison *comparison,
                                          enum attn_comparison_part part,
                                          const struct attn_labels *labels,
                                          const struct attn_tokenizer *tokenizer,
                                          struct attn_table **table, struct attn_error *err)
{
    struct attn_table *made = NULL;
    enum attn_status status;

    if (!attn_is_given(comparison, "comparison", err) || !attn_is_given(labels, "labels", err) ||
        !attn_is_given(table, "table", err) ||
        !attn_is_choice(part, ATTN_COMPARISON_LOGITS + 1, "part", err))
        return ATTN_INVALID;
    status = part == ATTN_COMPARISON_HEADS ? tabulate_heads(comparison, labels, &made, err)
             : part == ATTN_COMPARISON_COSTS
                 ? tabulate_costs(comparison, labels, &made, err)
                 : tabulate_logits(comparison, labels->ids, tokenizer, &made, err);
    ATTN_RETURN_MADE(status, table, made, attn_table_free);
}
