/*
 * fuzz_words.c - any bytes through tokenizers of words and of characters. The first byte holds the
 * options.
 *
 * Tokens are the words between white space, or the characters, in order, without those that are
 * dropped: each covers in the text what it stands for, and what no token covers is dropped or white
 * space.
 */
#include "base/buffer.h"
#include "base/text/utf8.h"
#include "tests/fuzz/fuzz.h"
#include "tokenizer/tokenizer.h"

#include <string.h>

enum { UNK_ID = 5 };

static const char vocab[] = "{\"a\": 0, \"b\": 1, \"ab\": 2, \"\\u00e9\": 3, \"\\ufffd\": 4,"
                            " \"<unk>\": 5, \"eat\": 6, \"\": 7, \" \": 8}";

/* KIND: bit 0 for an unknown token, bit 1 for characters. */
static const struct attn_tokenizer *open_words(unsigned kind)
{
    static struct attn_tokenizer *tokenizers[4];
    static const char *const configs[] = {
        "{\"tokenizer\": {\"type\": \"word\", \"drop\": \",.\\u00e8\"}}",
        "{\"tokenizer\": {\"type\": \"word\", \"drop\": \",.\\u00e8\", \"unk\": \"<unk>\"}}",
        "{\"tokenizer\": {\"type\": \"char\", \"drop\": \",.\\u00e8\"}}",
        "{\"tokenizer\": {\"type\": \"char\", \"drop\": \",.\\u00e8\", \"unk\": \"<unk>\"}}"};
    const struct attn_blob blobs[] = {{"vocab.json", vocab, sizeof vocab - 1},
                                      {"config.json", configs[kind], strlen(configs[kind])}};
    const struct attn_source source = {.name = "words", .blobs = blobs, .n_blob = 2};
    struct attn_error err = {0};

    if (tokenizers[kind] == NULL)
        FUZZ_CHECK(attn_tokenizer_open(&source, &tokenizers[kind], &err) == ATTN_OK);
    return tokenizers[kind];
}

/* Appends what is kept of TEXT to OUT, a word, in which white space can only be one. */
static void append_kept(const char *text, size_t size, bool is_character, struct attn_buffer *out)
{
    uint32_t code_point;

    for (size_t at = 0, length; at < size; at += length) {
        length = attn_utf8_decode(text + at, size - at, &code_point);
        if (length == 0) {
            length = code_point;
            attn_buffer_append_string(out, "\xef\xbf\xbd");
        } else if (code_point != ',' && code_point != '.' && code_point != 0xe8) {
            FUZZ_CHECK(is_character || !attn_utf8_is_white_space(code_point));
            FUZZ_CHECK(!is_character || out->size == 0);
            attn_buffer_append(out, text + at, length);
        }
    }
}

/* No character between two words is part of one. */
static void check_gap(const char *text, size_t begin, size_t end, bool is_character, bool is_inner)
{
    bool has_space = false;
    uint32_t code_point;

    for (size_t at = begin, length; at < end; at += length) {
        length = attn_utf8_decode(text + at, end - at, &code_point);
        FUZZ_CHECK(length > 0);
        has_space = has_space || attn_utf8_is_white_space(code_point);
        FUZZ_CHECK((attn_utf8_is_white_space(code_point) && !is_character) || code_point == ',' ||
                   code_point == '.' || code_point == 0xe8);
    }
    FUZZ_CHECK(has_space || is_character || !is_inner);
}

static void check_word(const struct attn_tokenizer *tokenizer, int32_t id, const char *text,
                       size_t size, bool is_character)
{
    struct attn_buffer kept = {0};
    size_t token_size;
    const char *token = attn_tokenizer_token(tokenizer, id, &token_size);

    append_kept(text, size, is_character, &kept);
    FUZZ_CHECK(token != NULL && kept.size > 0);
    if (id != UNK_ID)
        FUZZ_CHECK(kept.size == token_size && memcmp(kept.data, token, token_size) == 0);
    attn_buffer_release(&kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct attn_encoding encoding; /* reused, as callers may */
    const unsigned bits = attn_fuzz_byte(&data, &size);
    const bool with_unk = (bits & 1) != 0, is_character = (bits & 8) != 0;
    const struct attn_encode_options options = {.size = sizeof options,
                                                .special = ATTN_SPECIAL_PARSE,
                                                .invalid =
                                                    (enum attn_invalid_text)((bits >> 1 & 3) % 3)};
    const struct attn_tokenizer *tokenizer = open_words((bits & 1) | (is_character ? 2 : 0));
    const char *text = (const char *)data;
    struct attn_error err = {0};
    const bool can_refuse = !with_unk || (options.invalid != ATTN_INVALID_TEXT_REPLACE &&
                                          attn_utf8_valid_length(text, size) < size);
    enum attn_status status =
        attn_tokenizer_encode(tokenizer, text, size, &options, &encoding, &err);

    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_INVALID));
    FUZZ_CHECK(status == ATTN_OK || (can_refuse && encoding.n == 0));
    if (status != ATTN_OK)
        return 0;
    for (size_t i = 0, end = 0; i < encoding.n; i++) {
        FUZZ_CHECK(encoding.begin[i] >= end && encoding.begin[i] < encoding.end[i]);
        FUZZ_CHECK(encoding.end[i] <= size);
        check_gap(text, end, encoding.begin[i], is_character, i > 0);
        end = encoding.end[i];
        check_word(tokenizer, encoding.ids[i], text + encoding.begin[i], end - encoding.begin[i],
                   is_character);
    }
    check_gap(text, encoding.n > 0 ? encoding.end[encoding.n - 1] : 0, size, is_character, false);
    return 0;
}
