/*
 * compare_tables.c - a comparison as tables, as text and as JSON.
 *
 * Text has a line for each head, with its name in selections, then means over layers and over
 * everything, the costs, and the next tokens. JSON is one object that begins with the settings.
 */
#include "questions/compare_internal.h"

#include "attention/attention_internal.h"
#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "questions/rows.h"
#include "tables/table_internal.h"
#include "tables/table_writer_internal.h"
#include "tensors/format_internal.h"
#include "tensors/labels_json.h"
#include "tensors/outputs_internal.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct attn_param order_params[] = {
    ATTN_TABLE_ORDER_PARAMS(
        "sort the heads of `compare` by this column, the largest first; :up and "
        ":down sort by value",
        "print only the first N of them; 0: all, the default"),
};

const struct attn_param_list attn_comparison_order_params = ATTN_PARAM_LIST("Output", order_params);

/* --- Rows ------------------------------------------------------------------------------------- */

/* The tables whose rows are heads or layers. */
enum form {
    TEXT = 1,  /* an error, for text: names of heads and means, without the number of rows */
    HEADS = 2, /* ATTN_COMPARISON_HEADS */
    COSTS = 4  /* ATTN_COMPARISON_COSTS */
};

enum { NAME, STACK, LAYER, BATCH, HEAD, ERROR, VALUES, FIRST_COST = VALUES + ATTN_N_DIFFERENCE };
enum { N_COLUMN = FIRST_COST + 6, NAME_SIZE = 40 };

#define VALUE(id, at, label, of)                                                                   \
    [VALUES + (at)] = {.name = (label),                                                            \
                       .unit = (of),                                                               \
                       .type = (at) < ATTN_DIFFERENCE_ROWS ? ATTN_VALUE_REAL : ATTN_VALUE_INTEGER, \
                       .notation = ATTN_NOTATION_FIXED,                                            \
                       .digits = 4,                                                                \
                       .width = 7,                                                                 \
                       .shown = (at) < ATTN_DIFFERENCE_ROWS ? TEXT | HEADS : HEADS},

/* Seconds may be small, so they have 7 significant digits whatever the precision of the file is. */
#define COST(label, kind, of)                                                                      \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_##kind, .unit = (of),                                  \
        .notation = ATTN_NOTATION_FIGURES, .digits = 7, .shown = COSTS                             \
    }

/* `shown` is a set of enum form. */
static const struct attn_column columns[N_COLUMN] = {
    [NAME] = {.name = "head", .type = ATTN_VALUE_TEXT, .width = 5, .shown = TEXT},
    [STACK] = ATTN_COLUMN_STACK("stack", .shown = HEADS | COSTS),
    [LAYER] = ATTN_COLUMN_OF(LAYER, "layer", INTEGER, .shown = HEADS | COSTS),
    [BATCH] = ATTN_COLUMN("batch", INTEGER, .shown = HEADS),
    [HEAD] = ATTN_COLUMN("head", INTEGER, .shown = HEADS),
    [ERROR] = ATTN_COLUMN("error", TEXT, .shown = HEADS),
    ATTN_DIFFERENCE_MAP(VALUE)[FIRST_COST] = COST("exact_pairs", INTEGER, NULL),
    COST("chosen_pairs", INTEGER, NULL),
    COST("exact_bytes", INTEGER, "bytes"),
    COST("chosen_bytes", INTEGER, "bytes"),
    COST("exact_seconds", REAL, "s"),
    COST("chosen_seconds", REAL, "s"),
};

/* Returns true if the tables of FORM have column I. */
static bool is_shown(const struct attn_labels *labels, enum form form, int i)
{
    const bool is_hidden = i == STACK
                               ? !attn_dims_has_stacks(attn_selection_dims(labels->selection))
                           : i == LAYER ? form == HEADS && labels->axes
                                        : i == BATCH && !labels->axes;

    return !is_hidden && (columns[i].shown & form) != 0;
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

    if (row->at.head == ATTN_ALL_HEADS && (labels->axes || row->at.layer == ATTN_ALL_LAYERS))
        snprintf(name, NAME_SIZE, "all");
    else if (!labels->axes)
        snprintf(name, NAME_SIZE, "%s", attn_location_name(&row->at).text);
    else if (labels->axes->rank < 4)
        snprintf(name, NAME_SIZE, "%d", batch.rem);
    else
        snprintf(name, NAME_SIZE, "B%dH%d", batch.quot, batch.rem);
}

/* Fills CELLS [N_COLUMN] of ROW, with its local or its propagated error; NAME is borrowed. */
static void fill(const struct attn_labels *labels, const struct attn_compared_row *row,
                 bool is_local, char name[NAME_SIZE], struct attn_cell *cells)
{
    const double *values = (is_local ? &row->local : &row->propagated)->values;
    const struct attn_attention_cost *costs[] = {&row->exact, &row->chosen};
    const div_t batch = batch_of(row, labels);

    write_name(row, labels, name);
    cells[NAME] = attn_cell_string(name);
    attn_location_put(&row->at, &cells[STACK]);
    cells[BATCH] = attn_cell_integer(batch.quot);
    cells[HEAD] = attn_cell_integer(labels->axes ? batch.rem : row->at.head);
    cells[ERROR] = attn_cell_string(is_local ? "local" : "propagated");
    for (int i = 0; i < ATTN_N_DIFFERENCE; i++)
        cells[VALUES + i] = i < ATTN_DIFFERENCE_ROWS ? attn_cell_real_or_missing(values[i])
                                                     : attn_cell_integer((int64_t)values[i]);
    for (int k = 0; k < 2; k++) {
        cells[FIRST_COST + k] = attn_cell_integer((int64_t)costs[k]->n_pair);
        cells[FIRST_COST + 2 + k] = attn_cell_integer((int64_t)costs[k]->n_byte);
        cells[FIRST_COST + 4 + k] = attn_cell_real(costs[k]->seconds);
    }
}

static enum attn_status append(const struct attn_compared_run *comparison, enum form form,
                               const struct attn_compared_row *row, bool is_local,
                               struct attn_table *table, struct attn_error *err)
{
    struct attn_cell cells[N_COLUMN];
    char name[NAME_SIZE];
    size_t n = 0;

    fill(comparison->labels, row, is_local, name, cells);
    for (int i = 0; i < N_COLUMN; i++)
        if (is_shown(comparison->labels, form, i))
            cells[n++] = cells[i];
    return attn_table_append(table, cells, n, err);
}

/* Creates the empty *TABLE of FORM. */
static enum attn_status create(const struct attn_compared_run *comparison, enum form form,
                               struct attn_table **table, struct attn_error *err)
{
    struct attn_column shown[N_COLUMN];
    size_t n = 0;

    for (int i = 0; i < N_COLUMN; i++)
        if (is_shown(comparison->labels, form, i))
            shown[n++] = columns[i];
    return attn_table_create(form == COSTS ? "costs" : "heads", shown, n, table, err);
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

/* Makes *TABLE, the rows of the text: the heads of a layer and their mean; if heads are sorted, all
 * heads and then all means. A mean over a single row is left out. The caller owns *TABLE even after
 * a failure, here and in the following functions. */
static enum attn_status tabulate_text(const struct attn_compared_run *comparison, bool is_local,
                                      struct attn_table **table, struct attn_error *err)
{
    const struct attn_comparison *found = comparison->found;
    const bool is_sorted = is_ordered(&comparison->order);
    const struct attn_compared_row *head = found->heads, *mean = found->layers;

    ATTN_TRY(create(comparison, TEXT, table, err));
    for (const struct attn_compared_row *layer = mean; layer < found->all; layer++) {
        for (; head < found->layers &&
               attn_location_index(&head->at) == attn_location_index(&layer->at);
             head++)
            ATTN_TRY(append(comparison, TEXT, head, is_local, *table, err));
        if (!is_sorted && layer->n > 1)
            ATTN_TRY(append(comparison, TEXT, layer, is_local, *table, err));
    }
    ATTN_TRY(sort_heads(comparison, table, err));
    for (mean = is_sorted ? mean : found->all; mean <= found->all; mean++)
        if (mean->n > 1)
            ATTN_TRY(append(comparison, TEXT, mean, is_local, *table, err));
    return ATTN_OK;
}

static enum attn_status tabulate_rows(const struct attn_compared_run *comparison, enum form form,
                                      struct attn_table **table, struct attn_error *err)
{
    const struct attn_comparison *found = comparison->found;
    const struct attn_compared_row *row = form == HEADS ? found->heads : found->layers;
    const struct attn_compared_row *end = form == HEADS ? found->layers : found->all;
    const int n_error = form == HEADS && found->has_propagated ? 2 : 1;

    ATTN_TRY(create(comparison, form, table, err));
    for (; row < end; row++)
        for (int error = 0; error < n_error; error++)
            ATTN_TRY(append(comparison, form, row, error == 0, *table, err));
    return form == HEADS ? sort_heads(comparison, table, err) : ATTN_OK;
}

/* --- Predictions ------------------------------------------------------------------------------ */

static const struct attn_column logits_columns[] = {
    ATTN_COLUMN_OF(QUERY, "query", INTEGER),
    ATTN_COLUMN_QUANTITY("kl", 4, "nats", SIGNED, "KL divergence from the unchanged prediction"),
    ATTN_COLUMN("exact_first", INTEGER),
    ATTN_COLUMN("chosen_first", INTEGER),
    ATTN_COLUMN("query_token", TEXT),
    ATTN_COLUMN("exact_token", TEXT),
    ATTN_COLUMN("chosen_token", TEXT),
};

enum { N_LOGITS_COLUMN = sizeof logits_columns / sizeof *logits_columns, N_ID_COLUMN = 4 };

static void fill_logits(const struct attn_compared_run *comparison,
                        const struct attn_compared_logits *logits,
                        struct attn_cell cells[N_LOGITS_COLUMN])
{
    const struct attn_tokenizer *tokenizer = comparison->tokenizer;
    const int32_t *ids = comparison->labels->ids;

    cells[0] = attn_cell_integer((int64_t)logits->position);
    cells[1] = attn_cell_real(logits->kl);
    cells[2] = attn_cell_integer(logits->exact_first);
    cells[3] = attn_cell_integer(logits->chosen_first);
    cells[4] = ids ? attn_cell_token(tokenizer, ids[logits->position]) : attn_cell_missing();
    cells[5] = attn_cell_token(tokenizer, logits->exact_first);
    cells[6] = attn_cell_token(tokenizer, logits->chosen_first);
}

static enum attn_status tabulate_logits(const struct attn_compared_run *comparison,
                                        struct attn_table **table, struct attn_error *err)
{
    struct attn_cell cells[N_LOGITS_COLUMN];

    ATTN_TRY(attn_table_create("logits", logits_columns, N_LOGITS_COLUMN, table, err));
    for (size_t i = 0; i < comparison->found->n_logits; i++) {
        fill_logits(comparison, &comparison->found->logits[i], cells);
        ATTN_TRY(attn_table_append(*table, cells, N_LOGITS_COLUMN, err));
    }
    return ATTN_OK;
}

enum attn_status attn_compared_tabulate(const struct attn_compared_run *comparison,
                                        enum attn_comparison_part part, struct attn_table **table,
                                        struct attn_error *err)
{
    struct attn_table *made = NULL;

    ATTN_RETURN_MADE(
        part == ATTN_COMPARISON_LOGITS
            ? tabulate_logits(comparison, &made, err)
            : tabulate_rows(comparison, part == ATTN_COMPARISON_HEADS ? HEADS : COSTS, &made, err),
        table, made, attn_table_free);
}

/* --- Text ------------------------------------------------------------------------------------- */

/* Writes the words so far to OUT. */
static enum attn_status flush(struct attn_buffer *words, struct attn_sink *out,
                              struct attn_error *err)
{
    ATTN_TRY(attn_buffer_check(words, err));
    attn_sink_write(out, words->data, words->size);
    attn_buffer_reset(words);
    return ATTN_OK;
}

static void append_costs(const struct attn_compared_row *all, struct attn_buffer *words)
{
    const uint64_t counts[4] = {all->exact.n_pair, all->chosen.n_pair, all->exact.n_byte,
                                all->chosen.n_byte};
    char numbers[4][ATTN_QUANTITY_SIZE];
    int width[2] = {14, 14};

    for (size_t i = 0; i < 4; i++) {
        const int n = (int)strlen(attn_quantity_count(counts[i], numbers[i]));

        width[i % 2] = n > width[i % 2] ? n : width[i % 2];
    }
    attn_buffer_append_format(words, "\n%8s  %*s  %*s\n", "", width[0], "exact", width[1],
                              "chosen");
    attn_buffer_append_format(words, "pairs     %*s  %*s\n", width[0], numbers[0], width[1],
                              numbers[1]);
    attn_buffer_append_format(words, "bytes     %*s  %*s\n", width[0], numbers[2], width[1],
                              numbers[3]);
    attn_buffer_append_format(words, "seconds   %*.6f  %*.6f\n", width[0], all->exact.seconds,
                              width[1], all->chosen.seconds);
}

/* Appends WORD and the most probable token: its text, or its id. */
static void append_token(const struct attn_tokenizer *tokenizer, int32_t id, const char *word,
                         struct attn_buffer *words)
{
    const struct attn_cell token = attn_cell_token(tokenizer, id);

    attn_buffer_append_string(words, word);
    if (token.type == ATTN_VALUE_MISSING) {
        attn_buffer_append_integer(words, id);
        return;
    }
    attn_buffer_append_char(words, '\'');
    attn_escape_append(words, token.text, token.size);
    attn_buffer_append_char(words, '\'');
}

/* Appends WORD and KL. */
static void append_kl(double kl, const char *word, struct attn_buffer *words)
{
    const struct attn_cell cell = attn_cell_real(kl);

    attn_buffer_append_string(words, word);
    attn_table_append_cell(words, -1, &logits_columns[1], &cell);
}

static void append_logits(const struct attn_compared_run *comparison, struct attn_buffer *words)
{
    const struct attn_comparison *found = comparison->found;
    const struct attn_compared_logits *last = &found->logits[found->n_logits - 1];
    double sum = 0, most = 0;
    size_t n_changed = 0;

    if (attn_selection_dims(comparison->labels->selection)->is_pooled) {
        attn_buffer_append_format(words, "\nlabel of the picture: exact %d, chosen %d\n",
                                  (int)last->exact_first, (int)last->chosen_first);
        append_kl(last->kl, "kl in nats: ", words);
        attn_buffer_append_char(words, '\n');
        return;
    }
    for (size_t i = 0; i < found->n_logits; i++) {
        const struct attn_compared_logits *logits = &found->logits[i];

        sum += logits->kl;
        most = fmax(most, logits->kl);
        n_changed += logits->exact_first != logits->chosen_first;
    }
    attn_buffer_append_format(
        words, "\nnext token: the most probable one differs at %zu of %zu position%s\n", n_changed,
        found->n_logits, found->n_logits == 1 ? "" : "s");
    append_kl(sum / (double)found->n_logits, "kl in nats: mean ", words);
    append_kl(most, ", largest ", words);
    append_kl(last->kl, ", ", words);
    attn_buffer_append_format(
        words, " at position %zu\nmost probable at position %zu: ", last->position, last->position);
    append_token(comparison->tokenizer, last->exact_first, "exact ", words);
    append_token(comparison->tokenizer, last->chosen_first, ", chosen ", words);
    attn_buffer_append_char(words, '\n');
}

/* Writes the text with TABLES [2], of which the second may be NULL. WORDS is a buffer. */
static enum attn_status write_text(const struct attn_compared_run *comparison,
                                   struct attn_table *const *tables, struct attn_buffer *words,
                                   struct attn_sink *out, struct attn_error *err)
{
    static const char *const inputs[2][2] = {{"tokens", "token"}, {"queries", "query"}};
    static const char *const headings[] = {"local: each layer gets q, k and v of the exact run\n",
                                           "\npropagated: all layers use the chosen attention\n"};
    const bool is_of_arrays = comparison->labels->axes;
    char attention[ATTN_ATTENTION_TEXT_SIZE];

    attn_attention_text(comparison->attention, attention);
    attn_buffer_append_format(
        words, "%s%s compared with exact attention, %zu %s, recall of the %d largest weights\n\n",
        attention,
        comparison->attention->algorithm == ATTN_ALGORITHM_BLOCKWISE ? ", blockwise," : "",
        comparison->n, inputs[is_of_arrays][comparison->n == 1], comparison->n_recalled);
    for (size_t i = 0; i < 2 && tables[i]; i++) {
        attn_buffer_append_string(words, is_of_arrays ? "" : headings[i]);
        ATTN_TRY(flush(words, out, err));
        ATTN_TRY(attn_table_write_styled(tables[i], &comparison->style, out, err));
    }
    append_costs(comparison->found->all, words);
    if (comparison->found->n_logits > 0)
        append_logits(comparison, words);
    return flush(words, out, err);
}

enum attn_status attn_comparison_print(const struct attn_compared_run *comparison,
                                       struct attn_sink *out, struct attn_error *err)
{
    struct attn_table *tables[2] = {NULL};
    struct attn_buffer words = {0};
    enum attn_status status = tabulate_text(comparison, true, &tables[0], err);

    if (status == ATTN_OK && comparison->found->has_propagated)
        status = tabulate_text(comparison, false, &tables[1], err);
    if (status == ATTN_OK)
        status = write_text(comparison, tables, &words, out, err);
    attn_table_free(tables[0]);
    attn_table_free(tables[1]);
    attn_buffer_release(&words);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

/* --- Files ------------------------------------------------------------------------------------ */

/* A file of JSON that is being written. */
struct json_form {
    const struct attn_compared_run *comparison;
    struct attn_json_writer json;
    int precision;
};

/* Begins member NAME on a new line. Returns the writer. */
static struct attn_json_writer *push_name(struct json_form *form, const char *name)
{
    attn_json_line(&form->json);
    return attn_json_key(&form->json, name);
}

/* Begins member NAME on a new line: an object, or null if not IS_THERE. Returns IS_THERE. */
static bool begin_object(struct json_form *form, const char *name, bool is_there)
{
    form->json.comma = ",\n ";
    attn_json_key(&form->json, name);
    form->json.comma = NULL;
    if (is_there)
        attn_json_begin(&form->json, '{');
    else
        attn_json_null(&form->json);
    return is_there;
}

static void push_cost(struct json_form *form, const char *name,
                      const struct attn_attention_cost *cost)
{
    const struct attn_cell seconds = attn_cell_real(cost->seconds);

    begin_object(form, name, true);
    attn_json_integer(attn_json_key(&form->json, "pairs"), (int64_t)cost->n_pair);
    attn_json_integer(attn_json_key(&form->json, "bytes"), (int64_t)cost->n_byte);
    attn_table_push_cell(attn_json_key(&form->json, "seconds"), &columns[N_COLUMN - 1], &seconds,
                         form->precision);
    attn_json_end(&form->json);
}

/* Pushes ROW: its place, unless it is everything, its errors, and of a layer the costs. */
static void push_row(struct json_form *form, const struct attn_compared_row *row)
{
    const struct attn_comparison *found = form->comparison->found;
    const struct attn_labels *labels = form->comparison->labels;
    const bool is_layer = row >= found->layers && row < found->all;
    struct attn_cell cells[N_COLUMN];
    char name[NAME_SIZE];

    attn_json_begin(&form->json, '{');
    for (int error = 0; error < 2; error++) {
        fill(labels, row, error == 0, name, cells);
        for (int c = STACK; error == 0 && row < found->all && c <= HEAD; c++)
            if (is_shown(labels, is_layer ? COSTS : HEADS, c))
                attn_table_push_cells(&form->json, &columns[c], &cells[c], 1, form->precision);
        if (!begin_object(form, error == 0 ? "local" : "propagated",
                          error == 0 || found->has_propagated))
            continue;
        attn_table_push_cells(&form->json, &columns[VALUES], &cells[VALUES], ATTN_N_DIFFERENCE,
                              form->precision);
        attn_json_end(&form->json);
    }
    if (is_layer) {
        push_cost(form, "exact", &row->exact);
        push_cost(form, "chosen", &row->chosen);
    }
    attn_json_end(&form->json);
}

static void push_rows(struct json_form *form, const char *name, const struct attn_compared_row *row,
                      const struct attn_compared_row *end)
{
    attn_json_begin(push_name(form, name), '[');
    for (; row < end; row++) {
        attn_json_line(&form->json);
        push_row(form, row);
    }
    attn_json_end(&form->json);
}

/* Pushes model, options, tokens and attention. */
static void push_labels(struct json_form *form)
{
    const struct attn_compared_run *comparison = form->comparison;
    const struct attn_labels *labels = comparison->labels;
    struct attn_json_writer *json = &form->json;
    char attention[ATTN_ATTENTION_TEXT_SIZE];

    attn_attention_text(comparison->attention, attention);
    attn_json_integer(push_name(form, "schema"), ATTN_JSON_SCHEMA);
    attn_json_text(push_name(form, "model"), labels->model);
    attn_json_begin(push_name(form, "options"), '{');
    for (size_t i = 0; i < labels->n_option; i++)
        attn_json_text(attn_json_key(json, labels->options[i].name), labels->options[i].value);
    attn_json_end(json);
    attn_json_append_tokens(attn_json_value(push_name(form, "tokens")), labels->tokens,
                            labels->token_sizes, comparison->n);
    attn_json_append_ids(attn_json_value(push_name(form, "ids")), labels, comparison->n);
    attn_json_text(push_name(form, "attention"), attention);
    attn_json_integer(push_name(form, "recalled"), comparison->n_recalled);
}

static void push_logits(struct json_form *form)
{
    const struct attn_comparison *found = form->comparison->found;
    struct attn_cell cells[N_LOGITS_COLUMN];

    if (!attn_json_begin_list(push_name(form, "logits"), found->n_logits > 0))
        return;
    for (size_t i = 0; i < found->n_logits; i++) {
        fill_logits(form->comparison, &found->logits[i], cells);
        attn_json_line(&form->json);
        attn_json_begin(&form->json, '{');
        attn_table_push_cells(&form->json, logits_columns, cells, N_ID_COLUMN, form->precision);
        attn_json_end(&form->json);
    }
    attn_json_end(&form->json);
}

/* Writes the file (attn_output_fn). */
static enum attn_status write_json(void *user, struct attn_sink *sink, struct attn_error *err)
{
    struct json_form *form = user;
    const struct attn_comparison *found = form->comparison->found;
    struct attn_buffer text = {0};
    enum attn_status status;

    form->json = (struct attn_json_writer){.out = &text};
    attn_json_begin(&form->json, '{');
    push_labels(form);
    push_rows(form, "heads", found->heads, found->layers);
    push_rows(form, "layers", found->layers, found->all);
    push_name(form, "all");
    push_row(form, found->all);
    push_logits(form);
    attn_json_line(&form->json);
    attn_json_end(&form->json);
    attn_buffer_append_char(&text, '\n');
    status = flush(&text, sink, err);
    attn_buffer_release(&text);
    return status;
}

/* Writes the tables of heads, costs and predictions, each to a file of the directory OUTPUT. */
static enum attn_status write_tables(const struct attn_compared_run *comparison,
                                     const struct attn_output *output, int precision,
                                     struct attn_error *err)
{
    static const char *const names[] = {"compare", "compare_cost", "compare_logits"};
    const size_t n = comparison->found->n_logits > 0 ? 3 : 2;
    struct attn_output_table tables[3];
    struct attn_table *made[3] = {NULL};
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; status == ATTN_OK && i < n; i++) {
        status = attn_compared_tabulate(comparison, (enum attn_comparison_part)i, &made[i], err);
        tables[i] = (struct attn_output_table){made[i], names[i], precision};
    }
    if (status == ATTN_OK)
        status = attn_output_write_tables(output, tables, n, comparison->labels, err);
    for (size_t i = 0; i < n; i++)
        attn_table_free(made[i]);
    return status;
}

enum attn_status attn_comparison_write(const struct attn_compared_run *comparison,
                                       const struct attn_output *output, int precision,
                                       struct attn_error *err)
{
    struct json_form form = {.comparison = comparison, .precision = precision};
    const enum attn_status status = output->format->is_directory
                                        ? write_tables(comparison, output, precision, err)
                                        : attn_output_write(output, write_json, &form, err);

    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}
