/*
 * fuzz_bpe_encode.c - any bytes through the byte-level BPE of tiny-gpt2. The first byte holds the
 * options.
 *
 * Tokens cover the text from left to right and decode to it; for plain text they are those of a
 * plain loop over all pairs.
 */
#include "base/text/utf8.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tiny_bpe.h"

#include <stdlib.h>
#include <string.h>

/* Compares with the naive encoding of TEXT, valid UTF-8 taken as plain text. */
static void check_naive(const struct attn_encoding *encoding, const char *text, size_t size)
{
    const struct attn_tiny_parts *parts = attn_tiny_parts();
    int32_t *ids = malloc((size + 1) * sizeof *ids);
    struct attn_error err = {0};
    size_t n = 0;

    FUZZ_CHECK(ids != NULL);
    for (size_t at = 0, end; at < size; at = end) {
        struct attn_match_range found;

        FUZZ_CHECK(attn_match_find(parts->match, text, size, at, &found, &err) == ATTN_OK);
        end = found.end;
        FUZZ_CHECK(found.begin == at && end > at && end <= size);
        for (size_t i = at; i < end; i++)
            ids[i - at] = parts->byte_ids[(unsigned char)text[i]];
        for (size_t i = 0, left = attn_naive_merge(&parts->merges, ids, end - at); i < left; i++)
            FUZZ_CHECK(n < encoding->n && encoding->ids[n++] == ids[i]);
    }
    FUZZ_CHECK(n == encoding->n);
    free(ids);
}

/* Offsets lie in the text and ascend; every byte of it belongs to a token. */
static void check_offsets(const struct attn_encoding *encoding, size_t size)
{
    size_t end = 0;

    for (size_t i = 0; i < encoding->n; i++) {
        FUZZ_CHECK(encoding->begin[i] <= encoding->end[i] && encoding->end[i] <= size);
        /* Parts of one character that was replaced have all of its bytes. */
        FUZZ_CHECK(encoding->begin[i] <= end && encoding->end[i] >= end);
        FUZZ_CHECK(i == 0 || encoding->begin[i] >= encoding->begin[i - 1]);
        end = encoding->end[i];
    }
    FUZZ_CHECK(end == size);
}

/* What TEXT is with every maximal subpart that is not UTF-8 replaced. */
static void replace_invalid(const char *text, size_t size, struct attn_buffer *out)
{
    uint32_t code_point;

    for (size_t at = 0, length; at < size; at += length) {
        length = attn_utf8_decode(text + at, size - at, &code_point);
        if (length > 0)
            attn_buffer_append(out, text + at, length);
        else
            attn_buffer_append_string(out, "\xef\xbf\xbd");
        length = length > 0 ? length : code_point;
    }
}

static void check_decoded(const struct attn_tokenizer *tokenizer,
                          const struct attn_encoding *encoding, const char *text, size_t size)
{
    struct attn_error err = {0};
    char *decoded = NULL;
    size_t decoded_size;

    FUZZ_CHECK(attn_tokenizer_decode(tokenizer, encoding->ids, encoding->n, &decoded, &decoded_size,
                                     &err) == ATTN_OK);
    FUZZ_CHECK(decoded_size == size && (size == 0 || memcmp(decoded, text, size) == 0));
    attn_tokenizer_text_free(decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct attn_encoding encoding; /* reused, as callers may */
    const unsigned bits = attn_fuzz_byte(&data, &size);
    const bool with_prefix = (bits & 1) != 0;
    const struct attn_encode_options options = {
        .size = sizeof options,
        .special = (bits & 2) != 0 ? ATTN_SPECIAL_PARSE : ATTN_SPECIAL_TEXT,
        .invalid = (enum attn_invalid_text)((bits >> 2) % 3)};
    const struct attn_tokenizer *tokenizer = attn_tiny_bpe(with_prefix);
    const char *text = (const char *)data;
    const bool is_valid = attn_utf8_valid_length(text, size) == size;
    struct attn_buffer expected = {0};
    struct attn_error err = {0};
    enum attn_status status =
        attn_tokenizer_encode(tokenizer, text, size, &options, &encoding, &err);

    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_INVALID));
    FUZZ_CHECK((status == ATTN_OK) == (is_valid || options.invalid != ATTN_INVALID_TEXT_REFUSE));
    if (status != ATTN_OK) {
        FUZZ_CHECK(encoding.n == 0);
        return 0;
    }
    check_offsets(&encoding, size);
    if (with_prefix)
        return 0;
    if (options.invalid == ATTN_INVALID_TEXT_BYTES)
        attn_buffer_append(&expected, text, size);
    else
        replace_invalid(text, size, &expected);
    check_decoded(tokenizer, &encoding, expected.data, expected.size);
    if (options.special == ATTN_SPECIAL_TEXT &&
        attn_utf8_valid_length(expected.data, expected.size) == expected.size)
        check_naive(&encoding, expected.data, expected.size);
    attn_buffer_release(&expected);
    return 0;
}
