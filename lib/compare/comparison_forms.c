/*
 * comparison_forms.c - a comparison as text, CSV and JSON.
 *
 * Text has a line for each head, with its name in selections, then means over layers and over
 * everything, the costs, and the next tokens. JSON is one object that begins with the settings.
 * Values are cells with columns (base/table.h), so all forms write them alike.
 */
#include "compare/comparison_internal.h"

#include "analysis/analysis_internal.h"
#include "attention/attention_internal.h"
#include "base/number.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "encode/json_writer.h"
#include "encode/text_table.h"
#include "tables/document.h"
#include "tables/table_writer_internal.h"
#include "trace/model_stack.h"
#include "writers/format_internal.h"
#include "writers/labels_json.h"
#include "writers/outputs_internal.h"

#include <math.h>
#include <stdio.h>

enum { NAME_SIZE = 32 };

/* --- Text ------------------------------------------------------------------------------------- */

/* A comparison as text: its tables, one row per head, and the document that shows them. */
struct comparison_text {
    const struct attn_compared_run *comparison;
    struct attn_table *local, *propagated; /* own */
    struct attn_document document;
};

/* Text leaves out the number of rows. */
enum { N_SHOWN = ATTN_DIFFERENCE_ROWS };

/* The name in a selection: 5.1 for models, 3 for arrays, B1H3 for batches, 5.* and all for means.
 */
static void write_name(const struct attn_compared_run *comparison,
                       const struct attn_compared_row *row, char name[NAME_SIZE])
{
    const struct attn_array_axes *axes = comparison->labels->axes;
    const struct attn_head_place place = attn_comparison_place(row, comparison->labels);
    const char *stack = attn_model_stack_name(row->at.stack), *colon = stack[0] ? ":" : "";

    if (row->at.head == ATTN_ALL_HEADS && (axes || row->at.layer == ATTN_ALL_LAYERS))
        snprintf(name, NAME_SIZE, "all");
    else if (row->at.head == ATTN_ALL_HEADS)
        snprintf(name, NAME_SIZE, "%s%s%d.*", stack, colon, row->at.layer);
    else if (!axes)
        snprintf(name, NAME_SIZE, "%s%s%d.%d", stack, colon, row->at.layer, place.head);
    else if (axes->rank < 4)
        snprintf(name, NAME_SIZE, "%d", place.head);
    else
        snprintf(name, NAME_SIZE, "B%dH%d", place.first, place.head);
}

/* Appends ROW, unless it is the mean of one row. */
static enum attn_status append_row(const struct attn_compared_run *comparison,
                                   const struct attn_compared_row *row, bool is_local,
                                   struct attn_table *table, struct attn_error *err)
{
    struct attn_cell cells[1 + ATTN_N_DIFFERENCE];
    char name[NAME_SIZE];

    if (row->at.head == ATTN_ALL_HEADS && row->n == 1)
        return ATTN_OK;
    write_name(comparison, row, name);
    cells[0] = attn_cell_string(name);
    attn_difference_cells(is_local ? &row->local : &row->propagated, cells + 1);
    return attn_table_append(table, cells, 1 + N_SHOWN, err);
}

/* Sorts the rows of *TABLE, heads, if an order was given. */
static enum attn_status sort_heads(const struct attn_compared_run *comparison,
                                   struct attn_table **table, struct attn_error *err)
{
    struct attn_table *sorted;

    if (!comparison->order.sort && comparison->order.n_most == 0)
        return ATTN_OK;
    ATTN_TRY(attn_table_sort(*table, &comparison->order, &sorted, err));
    attn_table_free(*table);
    *table = sorted;
    return ATTN_OK;
}

/* Makes the table of one of the two errors. Means follow all heads if these are sorted. */
static enum attn_status fill_table(const struct attn_compared_run *comparison, bool is_local,
                                   struct attn_table **table, struct attn_error *err)
{
    const struct attn_comparison *found = comparison->found;
    const struct attn_compared_row *head = found->heads;
    const bool is_sorted = comparison->order.sort || comparison->order.n_most > 0;
    struct attn_column columns[1 + ATTN_N_DIFFERENCE] = {
        {.name = "head", .type = ATTN_VALUE_TEXT, .width = 5}};

    attn_difference_columns(columns + 1);
    ATTN_TRY(attn_table_create("heads", columns, 1 + N_SHOWN, table, err));
    for (const struct attn_compared_row *layer = found->layers; layer < found->all; layer++) {
        for (; head < found->layers && head->at.stack == layer->at.stack &&
               head->at.layer == layer->at.layer;
             head++)
            ATTN_TRY(append_row(comparison, head, is_local, *table, err));
        if (!is_sorted)
            ATTN_TRY(append_row(comparison, layer, is_local, *table, err));
    }
    ATTN_TRY(sort_heads(comparison, table, err));
    for (head = is_sorted ? found->layers : found->all; head <= found->all; head++)
        ATTN_TRY(append_row(comparison, head, is_local, *table, err));
    return ATTN_OK;
}

static void add_costs(struct attn_document *document, const struct attn_comparison *found)
{
    const struct attn_attention_cost *costs[] = {&found->all->exact, &found->all->chosen};
    struct attn_text_table *lines = attn_document_grid(document, 3, 0);
    char number[ATTN_QUANTITY_SIZE];

    attn_text_table_flush_left(lines, 0);
    attn_text_table_widen(lines, 0, 8);
    attn_text_table_widen(lines, 1, 14);
    attn_text_table_widen(lines, 2, 14);
    attn_text_table_string(lines, "");
    attn_text_table_string(lines, "exact");
    attn_text_table_string(lines, "chosen");
    attn_text_table_string(lines, "pairs");
    for (int k = 0; k < 2; k++)
        attn_text_table_string(lines, attn_quantity_count(costs[k]->n_pair, number));
    attn_text_table_string(lines, "bytes");
    for (int k = 0; k < 2; k++)
        attn_text_table_string(lines, attn_quantity_count(costs[k]->n_byte, number));
    attn_text_table_string(lines, "seconds");
    for (int k = 0; k < 2; k++)
        attn_text_table_format(lines, "%.6f", costs[k]->seconds);
}

/* Appends a first choice: its text, or its id. */
static void add_token(struct comparison_text *text, int32_t id)
{
    const struct attn_tokenizer *tokenizer = text->comparison->tokenizer;
    size_t size = 0;
    const char *token = tokenizer ? attn_tokenizer_token(tokenizer, id, &size) : NULL;

    if (token) {
        attn_document_text(&text->document, "'");
        attn_document_escaped(&text->document, token, size);
        attn_document_text(&text->document, "'");
    } else {
        attn_document_text(&text->document, "%d", (int)id);
    }
}

static void add_logits(struct comparison_text *text)
{
    static const struct attn_column kl = {
        .name = "kl", .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIXED, .digits = 4};
    const struct attn_comparison *found = text->comparison->found;
    const struct attn_compared_logits *last = &found->logits[found->n_logits - 1];
    struct attn_document *document = &text->document;
    double sum = 0, most = 0;
    size_t n_changed = 0;

    if (attn_selection_dims(text->comparison->labels->selection)->is_pooled) {
        attn_document_text(document, "\nlabel of the picture: exact %d, chosen %d\nkl in nats: ",
                           (int)last->exact_first, (int)last->chosen_first);
        attn_document_cell(document, &kl, attn_cell_real(last->kl));
        attn_document_text(document, "\n");
        return;
    }
    for (size_t i = 0; i < found->n_logits; i++) {
        const struct attn_compared_logits *logits = &found->logits[i];

        sum += logits->kl;
        most = fmax(most, logits->kl);
        n_changed += logits->exact_first != logits->chosen_first;
    }
    attn_document_text(document,
                       "\nnext token: the most probable one differs at %zu of %zu position%s\n",
                       n_changed, found->n_logits, found->n_logits == 1 ? "" : "s");
    attn_document_text(document, "kl in nats: mean ");
    attn_document_cell(document, &kl, attn_cell_real(sum / (double)found->n_logits));
    attn_document_text(document, ", largest ");
    attn_document_cell(document, &kl, attn_cell_real(most));
    attn_document_text(document, ", ");
    attn_document_cell(document, &kl, attn_cell_real(last->kl));
    attn_document_text(document, " at position %zu\nmost probable at position %zu: exact ",
                       last->position, last->position);
    add_token(text, last->exact_first);
    attn_document_text(document, ", chosen ");
    add_token(text, last->chosen_first);
    attn_document_text(document, "\n");
}

static enum attn_status write_text(struct comparison_text *text, struct attn_sink *out,
                                   struct attn_error *err)
{
    static const struct attn_document_view aligned = {.text = ATTN_TEXT_ALIGNED};
    static const char *const words[2][2] = {{"tokens", "token"}, {"queries", "query"}};
    const struct attn_compared_run *comparison = text->comparison;
    const struct attn_comparison *found = comparison->found;
    const bool is_blockwise = comparison->attention->algorithm == ATTN_ALGORITHM_BLOCKWISE;
    const bool is_array = comparison->labels->axes;
    char name[ATTN_ATTENTION_TEXT_SIZE];

    attn_attention_text(comparison->attention, name);
    attn_document_text(
        &text->document,
        "%s%s compared with exact attention, %zu %s, recall of the %d largest weights\n\n", name,
        is_blockwise ? ", blockwise," : "", comparison->n, words[is_array][comparison->n == 1],
        comparison->n_recalled);
    if (!is_array)
        attn_document_text(&text->document, "local: each layer gets q, k and v of the exact run\n");
    ATTN_TRY(fill_table(comparison, true, &text->local, err));
    attn_document_table(&text->document, text->local, &aligned);
    if (found->has_propagated) {
        attn_document_text(&text->document, "\npropagated: all layers use the chosen attention\n");
        ATTN_TRY(fill_table(comparison, false, &text->propagated, err));
        attn_document_table(&text->document, text->propagated, &aligned);
    }
    attn_document_text(&text->document, "\n");
    add_costs(&text->document, found);
    if (found->n_logits > 0)
        add_logits(text);
    return attn_document_write(&text->document, ATTN_FORM_TEXT, out, err);
}

enum attn_status attn_comparison_print(const struct attn_compared_run *comparison,
                                       struct attn_sink *out, struct attn_error *err)
{
    struct comparison_text text = {.comparison = comparison, .document.style = comparison->style};
    const enum attn_status status = write_text(&text, out, err);

    attn_document_release(&text.document);
    attn_table_free(text.local);
    attn_table_free(text.propagated);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

/* --- CSV -------------------------------------------------------------------------------------- */

/* An attn_output_fn: the table of the heads. */
static enum attn_status write_heads(void *user, struct attn_sink *sink, struct attn_error *err)
{
    const struct attn_output_table *heads = user;

    return attn_table_write(heads->table, ATTN_TABLE_CSV, heads->precision, sink, err);
}

/* Writes the table of each part to a file, or the heads alone if the path is not a directory. */
static enum attn_status write_tables(const struct attn_compared_run *comparison,
                                     const struct attn_output *item, int precision,
                                     struct attn_table *made[3], struct attn_error *err)
{
    const struct {
        enum attn_comparison_part part;
        const char *name;
        int precision;
    } parts[] = {
        {ATTN_COMPARISON_HEADS, "compare", precision},
        {ATTN_COMPARISON_COSTS, "compare_cost", -1}, /* seconds are small: they keep their digits */
        {ATTN_COMPARISON_LOGITS, "compare_logits", precision},
    };
    const bool is_alone = !item->path || !attn_format_is_directory(item->format, item->path);
    const size_t n = is_alone ? 1 : comparison->found->n_logits > 0 ? 3 : 2;
    struct attn_output_table tables[3];

    for (size_t i = 0; i < n; i++) {
        ATTN_TRY(attn_comparison_tabulate(comparison->found, parts[i].part, comparison->labels,
                                          comparison->tokenizer, &made[i], err));
        if (parts[i].part == ATTN_COMPARISON_HEADS)
            ATTN_TRY(sort_heads(comparison, &made[i], err));
        tables[i] = (struct attn_output_table){made[i], parts[i].name, parts[i].precision};
    }
    if (is_alone)
        return attn_output_write(item, write_heads, tables, err);
    return attn_output_write_tables(item, tables, n, comparison->labels, comparison->cancel, err);
}

static enum attn_status write_folder(const struct attn_compared_run *comparison,
                                     const struct attn_output *item, int precision,
                                     struct attn_error *err)
{
    struct attn_table *made[3] = {NULL, NULL, NULL};
    const enum attn_status status = write_tables(comparison, item, precision, made, err);

    for (size_t i = 0; i < 3; i++)
        attn_table_free(made[i]);
    return status;
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* A JSON object. Members begin lines, those of heads and layers with one more blank. */
struct comparison_json {
    const struct attn_compared_run *comparison;
    int precision;
    struct attn_column differences[ATTN_N_DIFFERENCE];
    struct attn_buffer text;
    struct attn_json_writer json; /* of that */
};

static struct attn_json_writer *push_line(struct comparison_json *to, const char *name)
{
    attn_json_line(&to->json);
    return attn_json_key(&to->json, name);
}

/* NAME: an object of CELLS, on a line of its own unless it comes first. */
static void push_object(struct comparison_json *to, const char *name,
                        const struct attn_column *columns, const struct attn_cell *cells, size_t n,
                        int precision)
{
    to->json.comma = ",\n ";
    attn_json_key(&to->json, name);
    to->json.comma = NULL;
    if (!cells) {
        attn_json_null(&to->json);
        return;
    }
    attn_json_begin(&to->json, '{');
    attn_table_push_cells(&to->json, columns, cells, n, precision);
    attn_json_end(&to->json);
}

static void push_differences(struct comparison_json *to, const struct attn_compared_row *row)
{
    const bool has_propagated = to->comparison->found->has_propagated;
    struct attn_cell cells[ATTN_N_DIFFERENCE];

    attn_difference_cells(&row->local, cells);
    push_object(to, "local", to->differences, cells, ATTN_N_DIFFERENCE, to->precision);
    attn_difference_cells(&row->propagated, cells);
    push_object(to, "propagated", to->differences, has_propagated ? cells : NULL, ATTN_N_DIFFERENCE,
                to->precision);
}

static void push_cost(struct comparison_json *to, const char *name,
                      const struct attn_attention_cost *cost)
{
    static const struct attn_column columns[] = {{.name = "pairs", .type = ATTN_VALUE_INTEGER},
                                                 {.name = "bytes", .type = ATTN_VALUE_INTEGER},
                                                 {.name = "seconds", .type = ATTN_VALUE_REAL}};
    const struct attn_cell cells[] = {attn_cell_integer((int64_t)cost->n_pair),
                                      attn_cell_integer((int64_t)cost->n_byte),
                                      attn_cell_real(cost->seconds)};

    push_object(to, name, columns, cells, 3, -1); /* seconds are small: they keep their digits */
}

/* Writes model, options, tokens and attention. */
static void push_labels(struct comparison_json *to)
{
    const struct attn_compared_run *comparison = to->comparison;
    const struct attn_labels *labels = comparison->labels;
    struct attn_json_writer *json = &to->json;
    char name[ATTN_ATTENTION_TEXT_SIZE];

    attn_attention_text(comparison->attention, name);
    attn_json_integer(push_line(to, "schema"), ATTN_JSON_SCHEMA);
    attn_json_text(push_line(to, "model"), labels->model);
    attn_json_begin(push_line(to, "options"), '{');
    for (size_t i = 0; i < labels->n_option; i++)
        attn_json_text(attn_json_key(json, labels->options[i].name), labels->options[i].value);
    attn_json_end(json);
    attn_json_append_tokens(attn_json_value(push_line(to, "tokens")), labels->tokens,
                            labels->token_sizes, comparison->n);
    attn_json_append_ids(attn_json_value(push_line(to, "ids")), labels, comparison->n);
    attn_json_text(push_line(to, "attention"), name);
    attn_json_integer(push_line(to, "recalled"), comparison->n_recalled);
}

/* The layer, after its stack if the model has two. */
static void push_layer(struct attn_json_writer *json, const struct attn_location *at)
{
    if (at->stack != ATTN_STACK_ONLY)
        attn_json_text(attn_json_key(json, "stack"), attn_model_stack_name(at->stack));
    attn_json_integer(attn_json_key(json, "layer"), at->layer);
}

static void push_rows(struct comparison_json *to)
{
    const struct attn_comparison *found = to->comparison->found;
    const struct attn_labels *labels = to->comparison->labels;
    struct attn_json_writer *json = &to->json;

    attn_json_begin(push_line(to, "heads"), '[');
    for (const struct attn_compared_row *head = found->heads; head < found->layers; head++) {
        const struct attn_head_place place = attn_comparison_place(head, labels);

        attn_json_line(json);
        attn_json_begin(json, '{');
        if (labels->axes)
            attn_json_integer(attn_json_key(json, "batch"), place.first);
        else
            push_layer(json, &head->at);
        attn_json_integer(attn_json_key(json, "head"), place.head);
        push_differences(to, head);
        attn_json_end(json);
    }
    attn_json_end(json);
    attn_json_begin(push_line(to, "layers"), '[');
    for (const struct attn_compared_row *layer = found->layers; layer < found->all; layer++) {
        attn_json_line(json);
        attn_json_begin(json, '{');
        push_layer(json, &layer->at);
        push_differences(to, layer);
        push_cost(to, "exact", &layer->exact);
        push_cost(to, "chosen", &layer->chosen);
        attn_json_end(json);
    }
    attn_json_end(json);
    attn_json_begin(push_line(to, "all"), '{');
    push_differences(to, found->all);
    attn_json_end(json);
}

static void push_logits(struct comparison_json *to)
{
    static const struct attn_column columns[] = {
        {.name = "query", .type = ATTN_VALUE_INTEGER},
        {.name = "kl", .type = ATTN_VALUE_REAL},
        {.name = "exact_first", .type = ATTN_VALUE_INTEGER},
        {.name = "chosen_first", .type = ATTN_VALUE_INTEGER}};
    const struct attn_comparison *found = to->comparison->found;

    push_line(to, "logits");
    if (found->n_logits == 0) {
        attn_json_null(&to->json);
        return;
    }
    attn_json_begin(&to->json, '[');
    for (size_t i = 0; i < found->n_logits; i++) {
        const struct attn_compared_logits *logits = &found->logits[i];
        const struct attn_cell cells[] = {
            attn_cell_integer((int64_t)logits->position), attn_cell_real(logits->kl),
            attn_cell_integer(logits->exact_first), attn_cell_integer(logits->chosen_first)};

        attn_json_line(&to->json);
        attn_json_begin(&to->json, '{');
        attn_table_push_cells(&to->json, columns, cells, 4, to->precision);
        attn_json_end(&to->json);
    }
    attn_json_end(&to->json);
}

/* An attn_output_fn. */
static enum attn_status write_json(void *user, struct attn_sink *sink, struct attn_error *err)
{
    struct comparison_json *to = user;

    ATTN_TRY(attn_buffer_check(&to->text, err));
    attn_sink_write(sink, to->text.data, to->text.size);
    return ATTN_OK;
}

static enum attn_status write_document(const struct attn_compared_run *comparison,
                                       const struct attn_output *output, int precision,
                                       struct attn_error *err)
{
    struct comparison_json to = {.comparison = comparison, .precision = precision};
    enum attn_status status;

    to.json.out = &to.text;
    attn_difference_columns(to.differences);
    attn_json_begin(&to.json, '{');
    push_labels(&to);
    push_rows(&to);
    push_logits(&to);
    attn_json_line(&to.json);
    attn_json_end(&to.json);
    attn_buffer_append_char(&to.text, '\n');
    status = attn_output_write(output, write_json, &to, err);
    attn_buffer_release(&to.text);
    return status;
}

enum attn_status attn_comparison_write(const struct attn_compared_run *comparison,
                                       const struct attn_output *output, int precision,
                                       struct attn_error *err)
{
    return attn_error_at((output->format->is_directory ? write_folder : write_document)(
                             comparison, output, precision, err),
                         ATTN_STAGE_OUTPUT, err);
}
