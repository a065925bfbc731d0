/*
 * tokenizer_internal.h - how the kinds of tokenizers append tokens to an encoding.
 */
#ifndef ATTN_TEXT_TOKENIZER_INTERNAL_H
#define ATTN_TEXT_TOKENIZER_INTERNAL_H

#include "text/tokenizer.h"

/* Makes room for NEED tokens in all. On failure the encoding is as before. */
enum attn_status attn_encoding_reserve(struct attn_encoding *encoding, size_t need,
                                       struct attn_error *err);

/* Appends token ID with the bytes BEGIN..END of the text. */
static inline enum attn_status attn_encoding_push(struct attn_encoding *encoding, int32_t id,
                                                  size_t begin, size_t end, struct attn_error *err)
{
    if (encoding->n == encoding->capacity) {
        enum attn_status status = attn_encoding_reserve(encoding, encoding->n + 1, err);
        if (status != ATTN_OK)
            return status;
    }
    encoding->ids[encoding->n] = id;
    encoding->begin[encoding->n] = begin;
    encoding->end[encoding->n] = end;
    encoding->n++;
    return ATTN_OK;
}

#endif
