/* template_wasm.c - see template.h: a live page renders no template, so the module in it has none.
 */
#include "template/template.h"

#include "base/fixed_text.h"

enum attn_status attn_template_parse(const char *source, size_t size, const char *name,
                                     struct attn_template **parsed, struct attn_error *err)
{
    (void)source, (void)size, (void)parsed;
    return attn_error_set(err, ATTN_UNSUPPORTED,
                          "'%s' is a chat template, which a page cannot read",
                          attn_quote_string(name).text);
}

void attn_template_free(struct attn_template *parsed)
{
    (void)parsed;
}

enum attn_status attn_template_render(const struct attn_template *parsed,
                                      const struct attn_talk *given, struct attn_buffer *text,
                                      struct attn_talk_span **spans, size_t *n,
                                      struct attn_error *err)
{
    (void)parsed, (void)given, (void)text, (void)spans, (void)n;
    return attn_error_set(err, ATTN_UNSUPPORTED, "a page renders no chat template");
}
