/*
 * comparison_json.c - a comparison as one JSON document, with what was compared in front. Numbers
 * that are not finite, and what there is none of, are null.
 */
#include "comparison.h"

#include "command.h"
#include "print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Of the names and their meaning, not of the values: it grows when one of them changes. */
enum { SCHEMA = 1 };

/* What is printed into, and the first failure. */
struct page {
    struct attn_sink *out;
    int precision, code;
};

static void put_string(struct page *page, const char *text, size_t size)
{
    if (page->code == EXIT_DONE)
        page->code = print_json_string(page->out, text, size);
}

static void put_number(struct page *page, double value)
{
    if (isfinite(value))
        comparison_print_number(page->out, value, page->precision);
    else
        print_text(page->out, "null");
}

static void put_difference(struct page *page, const struct attn_difference *difference)
{
    print_text(page->out, "{");
    for (int i = 0; i < ATTN_DIFFERENCE_ROWS; i++) {
        print(page->out, "\"%s\": ", attn_difference_name((enum attn_difference_value)i));
        put_number(page, difference->values[i]);
        print_text(page->out, ", ");
    }
    print(page->out, "\"rows\": %zu, \"rows_kl_infinite\": %zu}",
          (size_t)difference->values[ATTN_DIFFERENCE_ROWS],
          (size_t)difference->values[ATTN_DIFFERENCE_ROWS_KL_INFINITE]);
}

static void put_differences(struct page *page, bool has_propagated,
                            const struct attn_difference *local,
                            const struct attn_difference *propagated)
{
    print_text(page->out, "\"local\": ");
    put_difference(page, local);
    print_text(page->out, ",\n \"propagated\": ");
    if (has_propagated)
        put_difference(page, propagated);
    else
        print_text(page->out, "null");
}

static void put_cost(struct page *page, const char *name, const struct attn_attention_cost *cost)
{
    print(page->out,
          ",\n \"%s\": {\"pairs\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"seconds\": ", name,
          cost->n_pair, cost->n_byte);
    comparison_print_number(page->out, cost->seconds, -1);
    print_text(page->out, "}");
}

static void put_labels(struct page *page, const struct comparison *comparison)
{
    const struct attn_labels *labels = comparison->labels;
    char name[ATTN_ATTENTION_TEXT_SIZE];
    size_t size = attn_attention_text(comparison->attention, name);
    print(page->out, "{\n\"schema\": %d,\n\"model\": ", SCHEMA);
    if (labels->model)
        put_string(page, labels->model, strlen(labels->model));
    else
        print_text(page->out, "null");
    print_text(page->out, ",\n\"options\": {");
    for (size_t i = 0; i < labels->n_option; i++) {
        const struct attn_option *option = &labels->options[i];
        print(page->out, "%s\"%s\": ", i == 0 ? "" : ", ", option->name);
        put_string(page, option->value, strlen(option->value));
    }
    print_text(page->out, "},\n\"tokens\": ");
    for (size_t i = 0; labels->tokens && i < comparison->n; i++) {
        print_text(page->out, i == 0 ? "[" : ",");
        put_string(page, labels->tokens[i], labels->token_sizes[i]);
    }
    print_text(page->out, labels->tokens ? "],\n\"ids\": " : "null,\n\"ids\": ");
    for (size_t i = 0; labels->ids && i < comparison->n; i++)
        print(page->out, "%s%d", i == 0 ? "[" : ",", (int)labels->ids[i]);
    print_text(page->out, labels->ids ? "],\n" : "null,\n");
    print_text(page->out, "\"attention\": ");
    put_string(page, name, size);
    print(page->out, ",\n\"recalled\": %d,\n", COMPARISON_N_RECALLED);
}

static void put_heads(struct page *page, const struct comparison *comparison)
{
    const struct attn_comparison *found = comparison->found;
    print_text(page->out, "\"heads\": [");
    for (size_t i = 0; i < found->n_head; i++) {
        const struct attn_compared_head *head = &found->heads[i];
        struct comparison_place place = comparison_place(comparison, head);
        print(page->out, "%s\n{\"%s\": %d, \"head\": %d,\n ", i == 0 ? "" : ",",
              comparison_first_name(comparison), place.first, place.head);
        put_differences(page, found->has_propagated, &head->local, &head->propagated);
        print_text(page->out, "}");
    }
    print_text(page->out, "],\n\"layers\": [");
    for (size_t i = 0; i < found->n_layer; i++) {
        const struct attn_compared_layer *layer = &found->layers[i];
        print(page->out, "%s\n{\"layer\": %d,\n ", i == 0 ? "" : ",", layer->layer);
        put_differences(page, found->has_propagated, &layer->local, &layer->propagated);
        put_cost(page, "exact", &layer->exact);
        put_cost(page, "chosen", &layer->chosen);
        print_text(page->out, "}");
    }
    print_text(page->out, "],\n\"all\": {");
    put_differences(page, found->has_propagated, &found->local, &found->propagated);
    print_text(page->out, "},\n");
}

static void put_logits(struct page *page, const struct attn_comparison *found)
{
    print_text(page->out, "\"logits\": ");
    for (size_t i = 0; i < found->n_logits; i++) {
        const struct attn_compared_logits *logits = &found->logits[i];
        print(page->out, "%s\n{\"query\": %zu, \"kl\": ", i == 0 ? "[" : ",", logits->position);
        put_number(page, logits->kl);
        print(page->out, ", \"exact_first\": %d, \"chosen_first\": %d}", (int)logits->exact_first,
              (int)logits->chosen_first);
    }
    print_text(page->out, found->n_logits > 0 ? "]\n}\n" : "null\n}\n");
}

int comparison_print_json(const struct comparison *comparison, int precision, struct attn_sink *out)
{
    struct page page = {out, precision, EXIT_DONE};
    put_labels(&page, comparison);
    put_heads(&page, comparison);
    put_logits(&page, comparison->found);
    return page.code;
}
