/* labels_json.c - see labels_json.h. */
#include "output/labels_json.h"

#include "output/json_numbers.h"

#include "base/escape.h"

#include <inttypes.h>
#include <string.h>

void attn_json_append_options(struct attn_buffer *out, const struct attn_labels *labels)
{
    attn_buffer_append_char(out, '{');
    for (size_t i = 0; i < labels->n_option; i++) {
        const struct attn_option *option = &labels->options[i];

        attn_buffer_append_string(out, i > 0 ? "," : "");
        attn_json_append_string(out, option->name, strlen(option->name));
        attn_buffer_append_string(out, ": ");
        attn_json_append_string(out, option->value, strlen(option->value));
    }
    attn_buffer_append_char(out, '}');
}

void attn_json_append_tokens(struct attn_buffer *out, const char *const *tokens,
                             const size_t *sizes, size_t n)
{
    attn_buffer_append_string(out, tokens ? "[" : "null");
    for (size_t p = 0; tokens && p < n; p++) {
        attn_buffer_append_string(out, p > 0 ? "," : "");
        attn_json_append_text(out, tokens[p], sizes[p]);
    }
    attn_buffer_append_string(out, tokens ? "]" : "");
}

void attn_json_append_ids(struct attn_buffer *out, const struct attn_labels *run, size_t n)
{
    attn_buffer_append_string(out, run->ids ? "[" : "null");
    for (size_t p = 0; run->ids && p < n; p++)
        attn_buffer_append_format(out, p > 0 ? ",%" PRId32 : "%" PRId32, run->ids[p]);
    attn_buffer_append_string(out, run->ids ? "]" : "");
}

void attn_json_append_offsets(struct attn_buffer *out, const struct attn_labels *run, size_t n)
{
    attn_buffer_append_string(out, run->begin ? "[" : "null");
    for (size_t p = 0; run->begin && p < n; p++)
        attn_buffer_append_format(out, p > 0 ? ",[%zu,%zu]" : "[%zu,%zu]", run->begin[p],
                                  run->end[p]);
    attn_buffer_append_string(out, run->begin ? "]" : "");
}

/* "position": 3, with BLANK behind colons and commas, where positions were chosen. */
static void append_position(struct attn_buffer *out, const struct attn_predictions *predictions,
                            size_t position, const char *blank)
{
    if (predictions->has_positions)
        attn_buffer_append_format(out, "\"position\":%s%zu,%s", blank, position, blank);
}

void attn_json_append_predictions(struct attn_buffer *out,
                                  const struct attn_predictions *predictions, int precision,
                                  bool has_lines)
{
    const char *line = has_lines ? "\n" : "", *blank = has_lines ? " " : "";

    attn_buffer_append_format(out, "{%s\"top\":%s[", line, blank);
    for (size_t i = 0; i < predictions->n_top; i++) {
        const struct attn_candidate *top = &predictions->top[i];

        attn_buffer_append_format(out, i > 0 ? ",%s{" : "%s{", line);
        append_position(out, predictions, top->position, blank);
        attn_buffer_append_format(out, "\"id\":%s%" PRId32 ",%s\"token\":%s", blank, top->id, blank,
                                  blank);
        attn_json_append_text(out, top->token, top->token_size);
        attn_buffer_append_format(out, ",%s\"probability\":%s", blank, blank);
        attn_json_append_number(out, (float)top->probability, precision);
        attn_buffer_append_char(out, '}');
    }
    attn_buffer_append_format(out, "],%s\"next\":%s[", line, blank);
    for (size_t i = 0; i < predictions->n_next; i++) {
        const struct attn_continuation *next = &predictions->next[i];

        attn_buffer_append_format(out, i > 0 ? ",%s{" : "%s{", line);
        append_position(out, predictions, next->position, blank);
        attn_buffer_append_format(out, "\"text\":%s", blank);
        attn_json_append_string(out, next->text, strlen(next->text));
        attn_buffer_append_format(out, ",%s\"logprob\":%s", blank, blank);
        attn_json_append_number(out, (float)next->log_probability, precision);
        attn_buffer_append_char(out, '}');
    }
    attn_buffer_append_format(out, "]%s}", line);
}
