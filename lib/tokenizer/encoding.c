/* encoding.c - see encoding.h. */
#include "tokenizer/encoding.h"

#include "base/memory.h"

void attn_encoding_release(struct attn_encoding *encoding)
{
    if (!encoding)
        return;
    attn_free(encoding->ids);
    attn_free(encoding->begin);
    attn_free(encoding->end);
    attn_free(encoding->types);
    attn_free(encoding->texts);
    *encoding = (struct attn_encoding){0};
}
