#include "tensors/labels_json.h"

#include <string.h>

void attn_json_append_options(struct attn_buffer *out, const struct attn_labels *labels)
{
    struct attn_json_writer json = {.out = out, .comma = ","};

    attn_json_begin(&json, '{');
    for (size_t i = 0; i < labels->n_option; i++)
        attn_json_text(attn_json_key(&json, labels->options[i].name), labels->options[i].value);
    attn_json_end(&json);
}

void attn_json_append_tokens(struct attn_buffer *out, const char *const *tokens,
                             const size_t *sizes, size_t n)
{
    struct attn_json_writer json = {.out = out, .comma = ","};

    if (!attn_json_begin_list(&json, tokens))
        return;
    for (size_t p = 0; p < n; p++)
        attn_json_string(&json, tokens[p], sizes[p]);
    attn_json_end(&json);
}

void attn_json_append_ids(struct attn_buffer *out, const struct attn_labels *run, size_t n)
{
    struct attn_json_writer json = {.out = out, .comma = ","};

    if (run->ids)
        attn_json_ids(&json, run->ids, n);
    else
        attn_json_null(&json);
}

void attn_json_append_offsets(struct attn_buffer *out, const struct attn_labels *run, size_t n)
{
    struct attn_json_writer json = {.out = out, .comma = ","};

    if (!attn_json_begin_list(&json, run->begin))
        return;
    for (size_t p = 0; p < n; p++) {
        attn_json_begin(&json, '[');
        attn_json_size(&json, run->begin[p]);
        attn_json_size(&json, run->end[p]);
        attn_json_end(&json);
    }
    attn_json_end(&json);
}

/* Begins an entry of PREDICTIONS; if positions were chosen, with its position. */
static void begin_prediction(struct attn_json_writer *json,
                             const struct attn_predictions *predictions, size_t position,
                             bool has_lines)
{
    if (has_lines)
        attn_json_line(json);
    attn_json_begin(json, '{');
    if (predictions->has_positions)
        attn_json_size(attn_json_key(json, "position"), position);
}

static void begin_array(struct attn_json_writer *json, const char *name, bool has_lines)
{
    if (has_lines)
        attn_json_line(json);
    attn_json_begin(attn_json_key(json, name), '[');
}

static void append_metric(struct attn_json_writer *json, const struct attn_predictions *predictions,
                          int precision, bool has_lines)
{
    begin_array(json, "metric", has_lines);
    for (size_t i = 0; i < predictions->n_metric; i++) {
        const struct attn_predicted_metric *metric = &predictions->metric[i];

        begin_prediction(json, predictions, metric->position, has_lines);
        attn_json_text(attn_json_key(json, "name"), metric->name);
        attn_json_float(attn_json_key(json, "value"), (float)metric->value, precision);
        attn_json_end(json);
    }
    attn_json_end(json);
}

void attn_json_append_predictions(struct attn_buffer *out,
                                  const struct attn_predictions *predictions, int precision,
                                  bool has_lines)
{
    struct attn_json_writer json = {
        .out = out, .comma = has_lines ? NULL : ",", .colon = has_lines ? NULL : ":"};

    attn_json_begin(&json, '{');
    begin_array(&json, "top", has_lines);
    for (size_t i = 0; i < predictions->n_top; i++) {
        const struct attn_candidate *top = &predictions->top[i];

        begin_prediction(&json, predictions, top->position, has_lines);
        if (predictions->are_spans)
            attn_json_size(attn_json_key(&json, "start"), top->position);
        attn_json_integer(attn_json_key(&json, predictions->are_spans ? "end" : "id"), top->id);
        attn_json_string(attn_json_key(&json, predictions->has_labels  ? "label"
                                              : predictions->are_spans ? "text"
                                                                       : "token"),
                         top->token, top->token_size);
        if (predictions->has_labels || predictions->are_values)
            attn_json_float(attn_json_key(&json, "score"), (float)top->score, precision);
        if (!predictions->are_values)
            attn_json_float(attn_json_key(&json, "prob"), (float)top->prob, precision);
        attn_json_end(&json);
    }
    attn_json_end(&json);
    begin_array(&json, "next", has_lines);
    for (size_t i = 0; i < predictions->n_next; i++) {
        const struct attn_next *next = &predictions->next[i];

        begin_prediction(&json, predictions, next->position, has_lines);
        attn_json_text(attn_json_key(&json, "text"), next->text);
        attn_json_float(attn_json_key(&json, "log_prob"), (float)next->log_prob, precision);
        attn_json_end(&json);
    }
    attn_json_end(&json);
    if (predictions->n_metric > 0)
        append_metric(&json, predictions, precision, has_lines);
    if (has_lines)
        attn_json_line(&json);
    attn_json_end(&json);
}

void attn_json_push_narrowed(struct attn_json_writer *json, const struct attn_array *array)
{
    const int64_t *values = (const int64_t *)(const void *)array->data;

    if (strcmp(array->dtype, "<i8") != 0 || strcmp(array->name, "ids") == 0)
        return;
    attn_json_begin(attn_json_key(json, array->name), '[');
    for (size_t k = 0; k < array->shape[0]; k++)
        attn_json_integer(json, values[k]);
    attn_json_end(json);
}

void attn_json_begin_row(struct attn_json_writer *json, const struct attn_array *array,
                         size_t group, size_t row)
{
    int n_bracket = 0;

    if (row == 0 && group == 0) {
        n_bracket = array->rank - 1 + array->is_of_heads;
    } else if (row == 0) {
        n_bracket = array->rank == 4 && group % array->shape[1] == 0 ? 2 : 1;
        for (int i = 0; i < n_bracket; i++)
            attn_json_end(json);
    }
    for (int i = 0; i < n_bracket; i++)
        attn_json_begin(json, '[');
}

void attn_json_end_rows(struct attn_json_writer *json, const struct attn_array *array)
{
    for (int i = 1; i < array->rank + array->is_of_heads; i++)
        attn_json_end(json);
}
