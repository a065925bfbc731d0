#include "tokenizer/encoding.h"

#include "base/memory.h"
#include "base/text/given.h"
#include "tokenizer/tokenizer_internal.h"

ATTN_DEFAULTS(attn_encode_options, .size = sizeof(struct attn_encode_options))

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

enum attn_status attn_encoding_reserve(struct attn_encoding *encoding, size_t need,
                                       struct attn_error *err)
{
    const size_t n = encoding->capacity, doubled = n < 32 ? 64 : n * 2;
    size_t n_id = n, n_begin = n, n_end = n, n_type = n, n_text = n;

    if (need <= n)
        return ATTN_OK;
    need = need < doubled ? doubled : need;
    ATTN_TRY(ATTN_GROW(encoding->ids, n_id, need, err));
    ATTN_TRY(ATTN_GROW(encoding->begin, n_begin, need, err));
    ATTN_TRY(ATTN_GROW(encoding->end, n_end, need, err));
    ATTN_TRY(ATTN_GROW(encoding->types, n_type, need, err));
    ATTN_TRY(ATTN_GROW(encoding->texts, n_text, need, err));
    encoding->capacity = need;
    return ATTN_OK;
}
