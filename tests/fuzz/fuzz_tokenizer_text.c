/*
 * fuzz_tokenizer_text.c - any bytes through tokenizers from tokenizer.json, one of each style. The
 * first byte chooses the style, the second the options.
 *
 * Tokens lie in the text. What was encoded is decoded to the text again where the style allows it:
 * special tokens are taken as text, the text has nothing that the normalizer changes, and no U+2581
 * where that stands for a space.
 */
#include "base/text/utf8.h"
#include "tests/fuzz/fuzz.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/unicode/unicode_internal.h"

#include <stdio.h>
#include <string.h>

/* What a style cannot give back. */
enum lossy {
    EXACT = 0,
    COMPOSES = 1,     /* texts that are not in normal form C */
    HAS_MARK = 2,     /* U+2581 */
    STRIPS_SPACE = 4, /* a space at the begin */
    LOWERS = 8,       /* all */
};

static const struct {
    const char *path;
    unsigned lossy;
} styles[] = {
    {"tests/fixtures/tokenizers/added_traps/tokenizer.json", LOWERS},
    {"tests/fixtures/tokenizers/gemma/tokenizer.json", HAS_MARK},
    {"tests/fixtures/tokenizers/gpt2/tokenizer.json", EXACT},
    {"tests/fixtures/tokenizers/llama2/tokenizer.json", HAS_MARK},
    {"tests/fixtures/tokenizers/llama3/tokenizer.json", EXACT},
    {"tests/fixtures/tokenizers/mistral/tokenizer.json", HAS_MARK | STRIPS_SPACE},
    {"tests/fixtures/tokenizers/neox/tokenizer.json", COMPOSES},
    {"tests/fixtures/tokenizers/qwen2/tokenizer.json", COMPOSES},
    {"tests/fixtures/tokenizers/smollm2/tokenizer.json", EXACT},
};
enum { N_STYLE = sizeof styles / sizeof *styles };

static const struct attn_tokenizer *open_style(unsigned style)
{
    static struct attn_tokenizer *tokenizers[N_STYLE];
    static struct attn_blob blobs[N_STYLE];
    struct attn_error err = {0};

    if (tokenizers[style] == NULL) {
        const struct attn_source source = {.name = "style", .blobs = &blobs[style], .n_blob = 1};

        blobs[style] = attn_fuzz_blob("tokenizer.json", styles[style].path);
        FUZZ_CHECK(attn_tokenizer_open(&source, &tokenizers[style], &err) == ATTN_OK);
    }
    return tokenizers[style];
}

/* Whether TEXT, which is UTF-8, comes back. */
static bool is_kept(unsigned lossy, const char *text, size_t size)
{
    static const char mark[] = "\xe2\x96\x81";

    if ((lossy & LOWERS) != 0 ||
        ((lossy & COMPOSES) != 0 && !attn_normal_form_is_given(ATTN_NFC, text, size)))
        return false;
    if ((lossy & STRIPS_SPACE) != 0 && size > 0 && text[0] == ' ')
        return false;
    return (lossy & HAS_MARK) == 0 || size == 0 || memmem(text, size, mark, 3) == NULL;
}

static void check_decoded(const struct attn_tokenizer *tokenizer,
                          const struct attn_encoding *encoding, const char *text, size_t size)
{
    const size_t n = encoding->n - encoding->n_front - encoding->n_back;
    const int32_t *ids = n > 0 ? encoding->ids + encoding->n_front : NULL;
    struct attn_error err = {0};
    char *decoded = NULL;
    size_t decoded_size = 0;

    FUZZ_CHECK(attn_tokenizer_decode(tokenizer, ids, n, &decoded, &decoded_size, &err) == ATTN_OK);
    FUZZ_CHECK(decoded_size == size && (size == 0 || memcmp(decoded, text, size) == 0));
    attn_tokenizer_text_free(decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct attn_encoding encoding; /* reused, as callers may */
    const unsigned style = attn_fuzz_byte(&data, &size) % N_STYLE;
    const unsigned bits = attn_fuzz_byte(&data, &size);
    const struct attn_encode_options options = {
        .size = sizeof options,
        .special = (enum attn_special)(bits & 1),
        .invalid = (enum attn_invalid_text)((bits >> 1 & 3) % 3),
        .special_tokens = (enum attn_special_tokens)(1 + (bits >> 3 & 1))};
    const struct attn_tokenizer *tokenizer = open_style(style);
    const char *text = (const char *)data;
    const bool is_utf8 = attn_utf8_valid_length(text, size) == size;
    struct attn_error err = {0};
    enum attn_status status =
        attn_tokenizer_encode(tokenizer, text, size, &options, &encoding, &err);

    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_INVALID));
    FUZZ_CHECK(status == ATTN_OK || (!is_utf8 && encoding.n == 0));
    if (status != ATTN_OK)
        return 0;
    FUZZ_CHECK(encoding.n_front + encoding.n_back <= encoding.n);
    for (size_t i = 0; i < encoding.n; i++) {
        FUZZ_CHECK(encoding.begin[i] <= encoding.end[i] && encoding.end[i] <= size);
        FUZZ_CHECK(attn_tokenizer_token(tokenizer, encoding.ids[i], &(size_t){0}) != NULL);
    }
    if (is_utf8 && options.special == ATTN_SPECIAL_TEXT && is_kept(styles[style].lossy, text, size))
        check_decoded(tokenizer, &encoding, text, size);
    return 0;
}
