/*
 * comparison_forms.c - a comparison as text, CSV and JSON.
 *
 * Text has a line for each head, with its name in selections, then means over layers and over
 * everything, the costs, and the next tokens. JSON is one object that begins with the settings. All
 * of them show the tables of comparison.c.
 */
#include "questions/comparison_internal.h"

#include "attention/attention_internal.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "tables/document.h"
#include "tables/table_internal.h"
#include "tables/table_writer_internal.h"
#include "tables/text_table.h"
#include "tensors/format_internal.h"
#include "tensors/labels_json.h"
#include "tensors/outputs_internal.h"

#include <math.h>

enum { N_PART = 6 };

/* A comparison as a document, with the tables that it shows. */
struct compared_document {
    const struct attn_compared_run *comparison;
    struct attn_table *tables[N_PART];        /* own */
    char attention[ATTN_ATTENTION_TEXT_SIZE]; /* text of the attention, for JSON */
    struct attn_document document;
};

static void release(struct compared_document *to)
{
    attn_document_release(&to->document);
    for (size_t i = 0; i < N_PART; i++)
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

/* Adds model, options, tokens and attention; in text only the last. */
static void add_labels(struct compared_document *to)
{
    const struct attn_compared_run *comparison = to->comparison;
    const struct attn_labels *labels = comparison->labels;
    static const char *const words[2][2] = {{"tokens", "token"}, {"queries", "query"}};
    const bool is_blockwise = comparison->attention->algorithm == ATTN_ALGORITHM_BLOCKWISE;
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
    attn_document_text(
        document,
        "%s%s compared with exact attention, %zu %s, recall of the %d largest weights\n\n",
        to->attention, is_blockwise ? ", blockwise," : "", comparison->n,
        words[labels->axes != NULL][comparison->n == 1], comparison->n_recalled);
}

/* Adds the tables of heads, layers and everything that FORM shows. */
static enum attn_status add_tables(struct compared_document *to, enum attn_document_form form,
                                   struct attn_error *err)
{
    static const char *const objects[] = {"local", "propagated", "exact", "chosen"};
    static const struct {
        enum attn_compared_form form;
        const char *heading; /* in text, for models */
        struct attn_document_view view;
    } parts[N_PART] = {
        {ATTN_COMPARED_LOCAL,
         "local: each layer gets q, k and v of the exact run\n",
         {.text = ATTN_TEXT_ALIGNED}},
        {ATTN_COMPARED_PROPAGATED,
         "\npropagated: all layers use the chosen attention\n",
         {.text = ATTN_TEXT_ALIGNED}},
        {ATTN_COMPARED_HEADS,
         "",
         {.name = "heads", .json = ATTN_JSON_LINES, .objects = objects, .n_object = 2}},
        {ATTN_COMPARED_LAYERS,
         "",
         {.name = "layers", .json = ATTN_JSON_LINES, .objects = objects, .n_object = 4}},
        {ATTN_COMPARED_ALL,
         "",
         {.name = "all", .json = ATTN_JSON_OBJECT, .objects = objects, .n_object = 2}},
        {ATTN_COMPARED_IDS, "", {.name = "logits", .json = ATTN_JSON_LINES}}};
    const struct attn_compared_run *comparison = to->comparison;
    const struct attn_comparison *found = comparison->found;

    for (size_t i = 0; i < N_PART; i++) {
        const bool is_missing = parts[i].form == ATTN_COMPARED_PROPAGATED ? !found->has_propagated
                                : parts[i].form == ATTN_COMPARED_IDS      ? found->n_logits == 0
                                                                          : false;

        if ((parts[i].view.text == ATTN_TEXT_NOTHING) == (form == ATTN_FORM_TEXT))
            continue;
        if (!is_missing && !comparison->labels->axes)
            attn_document_text(&to->document, "%s", parts[i].heading);
        if (!is_missing)
            ATTN_TRY(attn_compared_tabulate(comparison, parts[i].form, &to->tables[i], err));
        attn_document_table(&to->document, to->tables[i], &parts[i].view);
    }
    return ATTN_OK;
}

/* Fills the document, whose style is set, for FORM. */
static enum attn_status fill(struct compared_document *to, enum attn_document_form form,
                             struct attn_error *err)
{
    add_labels(to);
    ATTN_TRY(add_tables(to, form, err));
    attn_document_text(&to->document, "\n");
    add_costs(&to->document, to->comparison->found);
    if (to->comparison->found->n_logits > 0)
        add_logits(to);
    return ATTN_OK;
}

enum attn_status attn_comparison_print(const struct attn_compared_run *comparison,
                                       struct attn_sink *out, struct attn_error *err)
{
    struct compared_document to = {.comparison = comparison, .document.style = comparison->style};
    enum attn_status status = fill(&to, ATTN_FORM_TEXT, err);

    if (status == ATTN_OK)
        status = attn_document_write(&to.document, ATTN_FORM_TEXT, out, err);
    release(&to);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

/* Writes the tables of heads, costs and predictions, each to a file of the directory ITEM. */
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
    const size_t n = comparison->found->n_logits > 0 ? 3 : 2;
    struct attn_output_table tables[3];

    for (size_t i = 0; i < n; i++) {
        ATTN_TRY(attn_compared_tabulate(comparison, parts[i].form, &to->tables[i], err));
        tables[i] = (struct attn_output_table){to->tables[i], parts[i].name, precision};
    }
    return attn_output_write_tables(item, tables, n, comparison->labels, comparison->cancel, err);
}

/* Writes the document as JSON (attn_output_fn). */
static enum attn_status write_json(void *user, struct attn_sink *sink, struct attn_error *err)
{
    return attn_document_write(user, ATTN_FORM_JSON, sink, err);
}

enum attn_status attn_comparison_write(const struct attn_compared_run *comparison,
                                       const struct attn_output *output, int precision,
                                       struct attn_error *err)
{
    struct compared_document to = {
        .comparison = comparison,
        .document = {.style.precision = precision, .has_precision = true, .is_flush = true}};
    enum attn_status status;

    if (output->format->is_directory) {
        status = write_tables(&to, output, precision, err);
    } else {
        status = fill(&to, ATTN_FORM_JSON, err);
        if (status == ATTN_OK)
            status = attn_output_write(output, write_json, &to.document, err);
    }
    release(&to);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}
