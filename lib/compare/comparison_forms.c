/*
 * comparison_forms.c - a comparison as text, CSV and JSON.
 *
 * Text has a line for each head, with its name in selections, then means over layers and over
 * everything, the costs, and the next tokens. JSON is one object that begins with the settings. All
 * of them show the tables of comparison.c.
 */
#include "compare/comparison_internal.h"

#include "attention/attention_internal.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "encode/text_table.h"
#include "tables/document.h"
#include "tables/table_writer_internal.h"
#include "writers/format_internal.h"
#include "writers/labels_json.h"
#include "writers/outputs_internal.h"

#include <math.h>

/* A comparison as a document, with the tables that it shows. */
struct compared_document {
    const struct attn_compared_run *comparison;
    struct attn_table *tables[4];             /* own */
    char attention[ATTN_ATTENTION_TEXT_SIZE]; /* text of the attention, for JSON */
    struct attn_document document;
};

static void release(struct compared_document *to)
{
    attn_document_release(&to->document);
    for (size_t i = 0; i < sizeof to->tables / sizeof *to->tables; i++)
        attn_table_free(to->tables[i]);
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

/* Appends the most probable token: its text, or its id. */
static void add_token(struct compared_document *text, int32_t id)
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

static void add_logits(struct compared_document *text)
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

static enum attn_status write_text(struct compared_document *text, struct attn_sink *out,
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
    ATTN_TRY(attn_compared_tabulate(comparison, ATTN_COMPARED_LOCAL, &text->tables[0], err));
    attn_document_table(&text->document, text->tables[0], &aligned);
    if (found->has_propagated) {
        attn_document_text(&text->document, "\npropagated: all layers use the chosen attention\n");
        ATTN_TRY(
            attn_compared_tabulate(comparison, ATTN_COMPARED_PROPAGATED, &text->tables[1], err));
        attn_document_table(&text->document, text->tables[1], &aligned);
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
    struct compared_document text = {.comparison = comparison, .document.style = comparison->style};
    const enum attn_status status = write_text(&text, out, err);

    release(&text);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

/* Writes the table of heads (attn_output_fn). */
static enum attn_status write_heads(void *user, struct attn_sink *sink, struct attn_error *err)
{
    const struct attn_output_table *heads = user;

    const struct attn_table_style style = {
        .form = ATTN_TABLE_CSV, .precision = heads->precision, .has_row_types = true};

    return attn_table_write_styled(heads->table, &style, sink, err);
}

/* Writes the table of each part to a file; if the path is not a directory, only the table of
 * heads. */
static enum attn_status write_tables(struct compared_document *to, const struct attn_output *item,
                                     int precision, struct attn_error *err)
{
    static const struct {
        enum attn_compared_form form;
        const char *name;
    } parts[] = {{ATTN_COMPARED_ERRORS, "compare"},
                 {ATTN_COMPARED_COSTS, "compare_cost"},
                 {ATTN_COMPARED_LOGITS, "compare_logits"}};
    const struct attn_compared_run *comparison = to->comparison;
    const bool is_alone = !item->path || !attn_format_is_directory(item->format, item->path);
    const size_t n = is_alone ? 1 : comparison->found->n_logits > 0 ? 3 : 2;
    struct attn_output_table tables[3];

    for (size_t i = 0; i < n; i++) {
        ATTN_TRY(attn_compared_tabulate(comparison, parts[i].form, &to->tables[i], err));
        tables[i] = (struct attn_output_table){to->tables[i], parts[i].name, precision};
    }
    if (is_alone)
        return attn_output_write(item, write_heads, tables, err);
    return attn_output_write_tables(item, tables, n, comparison->labels, comparison->cancel, err);
}

/* Appends model, options, tokens and attention. */
static void add_labels(struct compared_document *to)
{
    const struct attn_compared_run *comparison = to->comparison;
    const struct attn_labels *labels = comparison->labels;
    struct attn_document *document = &to->document;

    attn_attention_text(comparison->attention, to->attention);
    attn_document_value(document, "schema", attn_cell_integer(ATTN_JSON_SCHEMA));
    attn_document_value(document, "model", attn_cell_string(labels->model));
    attn_document_begin(document, "options");
    for (size_t i = 0; i < labels->n_option; i++)
        attn_document_value(document, labels->options[i].name,
                            attn_cell_string(labels->options[i].value));
    attn_document_end(document);
    attn_json_append_tokens(attn_document_json(document, "tokens"), labels->tokens,
                            labels->token_sizes, comparison->n);
    attn_json_append_ids(attn_document_json(document, "ids"), labels, comparison->n);
    attn_document_value(document, "attention", attn_cell_string(to->attention));
    attn_document_value(document, "recalled", attn_cell_integer(comparison->n_recalled));
}

static enum attn_status fill_document(struct compared_document *to, struct attn_error *err)
{
    static const char *const objects[] = {"local", "propagated", "exact", "chosen"};
    static const struct {
        enum attn_compared_form form;
        struct attn_document_view view;
    } parts[] = {{ATTN_COMPARED_HEADS,
                  {.name = "heads", .json = ATTN_JSON_LINES, .objects = objects, .n_object = 2}},
                 {ATTN_COMPARED_LAYERS,
                  {.name = "layers", .json = ATTN_JSON_LINES, .objects = objects, .n_object = 4}},
                 {ATTN_COMPARED_ALL,
                  {.name = "all", .json = ATTN_JSON_OBJECT, .objects = objects, .n_object = 2}},
                 {ATTN_COMPARED_IDS, {.name = "logits", .json = ATTN_JSON_LINES}}};

    add_labels(to);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].form != ATTN_COMPARED_IDS || to->comparison->found->n_logits > 0)
            ATTN_TRY(attn_compared_tabulate(to->comparison, parts[i].form, &to->tables[i], err));
        attn_document_table(&to->document, to->tables[i], &parts[i].view);
    }
    return ATTN_OK;
}

/* Writes the document as JSON (attn_output_fn). */
static enum attn_status write_json(void *user, struct attn_sink *sink, struct attn_error *err)
{
    return attn_document_write(user, ATTN_FORM_JSON, sink, err);
}

static enum attn_status write_document(struct compared_document *to,
                                       const struct attn_output *output, int precision,
                                       struct attn_error *err)
{
    to->document = (struct attn_document){
        .style.precision = precision, .has_precision = true, .is_flush = true};
    ATTN_TRY(fill_document(to, err));
    return attn_output_write(output, write_json, &to->document, err);
}

enum attn_status attn_comparison_write(const struct attn_compared_run *comparison,
                                       const struct attn_output *output, int precision,
                                       struct attn_error *err)
{
    struct compared_document to = {.comparison = comparison};
    const enum attn_status status =
        (output->format->is_directory ? write_tables : write_document)(&to, output, precision, err);

    release(&to);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}
