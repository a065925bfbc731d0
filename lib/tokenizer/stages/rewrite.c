/* rewrite.c - the way back of rewritten texts. */
#include "tokenizer/stages/stages_internal.h"

#include "base/utf8.h"

#include <string.h>

/* Passes a character of the slice; returns its bytes, 0 at the end. */
static size_t pass(struct attn_rewrite *rewrite)
{
    const size_t left = rewrite->size - rewrite->at;
    uint32_t code_point;
    size_t length;

    if (left == 0)
        return 0;
    length = attn_utf8_decode(rewrite->text + rewrite->at, left, &code_point);
    rewrite->before = rewrite->at;
    rewrite->at += length > 0 ? length : 1;
    return length;
}

void attn_rewrite_put(struct attn_rewrite *rewrite, uint32_t code_point, int change)
{
    char out[4];
    const size_t size = attn_utf8_encode(code_point, out);
    size_t from, length;

    if (change > 0) {
        attn_layer_put(rewrite->layer, out, size, rewrite->before, rewrite->at - rewrite->before);
        return;
    }
    from = rewrite->at;
    length = pass(rewrite);
    if (length == size && memcmp(out, rewrite->text + from, size) == 0)
        attn_layer_keep(rewrite->layer, from, size);
    else
        attn_layer_put(rewrite->layer, out, size, from, length);
    for (int i = change; i < 0; i++)
        (void)pass(rewrite);
}
