/* labels_json.c - see labels_json.h. */
#include "output/labels_json.h"

#include "base/escape.h"

#include <string.h>

void attn_json_append_escaped(struct attn_buffer *out, const char *bytes, size_t size)
{
    struct attn_buffer escaped = {0};

    if (!bytes) {
        attn_buffer_append_string(out, "null");
        return;
    }
    attn_escape_append(&escaped, bytes, size);
    out->has_failed |= escaped.has_failed;
    attn_json_append_string(out, escaped.data, escaped.size);
    attn_buffer_release(&escaped);
}

void attn_json_append_options(struct attn_buffer *out, const struct attn_labels *labels)
{
    attn_buffer_append_char(out, '{');
    for (size_t i = 0; i < labels->n_option; i++) {
        const struct attn_option *option = &labels->options[i];

        attn_buffer_append_string(out, i > 0 ? "," : "");
        attn_json_append_escaped(out, option->name, strlen(option->name));
        attn_buffer_append_string(out, ": ");
        attn_json_append_escaped(out, option->value, strlen(option->value));
    }
    attn_buffer_append_char(out, '}');
}

void attn_json_append_tokens(struct attn_buffer *out, const struct attn_token_texts *texts)
{
    for (size_t p = 0; p < texts->n; p++) {
        size_t size;
        const char *text = attn_token_text(texts, p, &size);

        attn_buffer_append_char(out, p > 0 ? ',' : '[');
        attn_json_append_string(out, text, size);
    }
    attn_buffer_append_string(out, texts->n > 0 ? "]" : "null");
}
