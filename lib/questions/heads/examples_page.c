/* examples_page.c - the examples as the JSON object that a page shows; page/examples.js reads it:
 *
 *     heads        [{stack, layer, head, values}]; values: the 51 quantiles of the texts' values,
 *                  from the smallest to the largest
 *     n_bin, measure, over, is_share
 *     texts        [{id, tokens, source}]
 *     examples     [{head, bin, place, value, text, query, key, weight, is_cross, rows}]
 *                  rows: of each query the keys and their weights in thousandths, [k, w, k, w ...]
 */
#include "heads/examples_internal.h"

#include "formats/json_writer.h"
#include "trace/location_extra.h"

#include <math.h>

enum { N_QUANTILE = 50 };

/* Writes NUMBER with six significant digits. */
static void push_number(struct attn_json_writer *json, double number)
{
    attn_buffer_append_format(attn_json_value(json), "%.6g", number);
}

static void push_heads(struct attn_json_writer *json, const struct attn_example_set *set)
{
    attn_json_begin(attn_json_key(json, "heads"), '[');
    for (size_t i = 0; i < set->n_head; i++) {
        const struct attn_example_head *head = &set->heads[i];
        struct attn_cell cells[2] = {attn_cell_missing(), attn_cell_missing()};

        attn_location_put(&head->at, cells);
        attn_json_line(json);
        attn_json_begin(json, '{');
        if (set->config->stack.has_encoder)
            attn_json_string(attn_json_key(json, "stack"), cells[0].text, cells[0].size);
        attn_json_integer(attn_json_key(json, "layer"), cells[1].integer);
        attn_json_integer(attn_json_key(json, "head"), head->at.head);
        attn_json_size(attn_json_key(json, "n"), head->n);
        attn_json_begin(attn_json_key(json, "values"), '[');
        for (size_t k = 0; head->n > 0 && k <= N_QUANTILE; k++)
            push_number(json, head->values[k * (head->n - 1) / N_QUANTILE].value);
        attn_json_end(json);
        attn_json_end(json);
    }
    attn_json_end(json);
}

/* Writes the weights of EXAMPLE, a list for each row. */
static void push_rows(struct attn_json_writer *json, const struct attn_example *example)
{
    size_t at = 0;

    attn_json_begin(attn_json_key(json, "rows"), '[');
    for (size_t q = 0; q < example->n_row; q++) {
        attn_json_begin(json, '[');
        for (; at < example->ends[q]; at++) {
            attn_json_integer(json, example->cells[at].key);
            attn_json_integer(json, (int64_t)lrint(1000 * (double)example->cells[at].weight));
        }
        attn_json_end(json);
    }
    attn_json_end(json);
}

static void push_example(struct attn_json_writer *json, const struct attn_example_set *set,
                         const struct attn_example *example)
{
    const struct attn_example_value *found = &example->found;

    attn_json_line(json);
    attn_json_begin(json, '{');
    attn_json_size(attn_json_key(json, "head"), example->head);
    attn_json_size(attn_json_key(json, "bin"), example->bin);
    attn_json_size(attn_json_key(json, "place"), example->place);
    push_number(attn_json_key(json, "value"), found->value);
    attn_json_size(attn_json_key(json, "text"), example->text);
    if (!isnan(found->weight)) {
        attn_json_size(attn_json_key(json, "query"), found->query);
        attn_json_size(attn_json_key(json, "key"), found->key);
        push_number(attn_json_key(json, "weight"), (double)found->weight);
    }
    if (set->heads[example->head].is_cross)
        attn_json_bool(attn_json_key(json, "is_cross"), true);
    push_rows(json, example);
    attn_json_end(json);
}

void attn_examples_append_page(const struct attn_example_set *set, struct attn_buffer *out)
{
    struct attn_json_writer json = {.out = out, .comma = ",", .colon = ":"};

    attn_json_begin(&json, '{');
    attn_json_text(attn_json_key(&json, "measure"),
                   set->args->measure ? set->args->measure : "weight");
    attn_json_text(attn_json_key(&json, "over"),
                   set->args->over == ATTN_EXAMPLES_MEAN ? "mean" : "max");
    push_heads(&json, set);
    attn_json_begin(attn_json_key(&json, "texts"), '[');
    for (size_t i = 0; i < set->n_text; i++)
        attn_card_text_push(&json, &set->texts[i]);
    attn_json_end(&json);
    attn_json_begin(attn_json_key(&json, "examples"), '[');
    for (size_t i = 0; i < set->n_example; i++)
        push_example(&json, set, &set->examples[i]);
    attn_json_end(&json);
    attn_json_end(&json);
}
