/*
 * fuzz_wordpiece.c - any bytes as BERT's vocab.txt, and a text through it: the first byte chooses
 * the settings, then come the text, up to a NUL, and the lines after those of the special tokens.
 *
 * They are read or refused in one line. Of a text each word is found to be what a search from its
 * longest beginning gives.
 */
#include "base/buffer.h"
#include "base/text/utf8.h"
#include "tests/fuzz/fuzz.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_internal.h"

#include <stdlib.h>
#include <string.h>

static const char *const settings[] = {
    "{}",
    "{\"do_lower_case\": false}",
    "{\"do_lower_case\": false, \"strip_accents\": true, \"tokenize_chinese_chars\": false}",
    "{\"strip_accents\": false, \"mask_token\": {\"content\": \"a\"}}",
};

/* Whether the vocabulary has the token of PREFIX and TEXT [size]. */
static bool has_token(const struct attn_tokenizer *tokenizer, const char *prefix, const char *text,
                      size_t size)
{
    const size_t n_prefix = strlen(prefix);

    for (size_t id = 0; id < attn_tokenizer_n_vocab(tokenizer); id++) {
        size_t n = 0;
        const char *token = attn_tokenizer_token(tokenizer, (int32_t)id, &n);

        if (n == n_prefix + size && memcmp(token, prefix, n_prefix) == 0 &&
            memcmp(token + n_prefix, text, size) == 0)
            return true;
    }
    return false;
}

static bool is_unknown(const struct attn_tokenizer *tokenizer, int32_t id)
{
    static const char unknown[] = "[UNK]";
    size_t n = 0;
    const char *token = attn_tokenizer_token(tokenizer, id, &n);

    return n == strlen(unknown) && memcmp(token, unknown, n) == 0;
}

/* Checks the tokens of TEXT, one word of small letters. */
static void check_word(const struct attn_tokenizer *tokenizer, const char *text, size_t size)
{
    struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    struct attn_encoding encoding = {0};
    size_t at = 0;

    options.special_tokens = ATTN_SPECIAL_TOKENS_OFF;
    options.special = ATTN_SPECIAL_TEXT;
    FUZZ_CHECK(attn_tokenizer_encode(tokenizer, text, size, &options, &encoding, NULL) == ATTN_OK);
    for (size_t i = 0; i < encoding.n; i++) {
        FUZZ_CHECK(encoding.begin[i] == at && encoding.end[i] > at);
        if (encoding.n == 1 && is_unknown(tokenizer, encoding.ids[0]))
            break;
        for (size_t end = size; end > encoding.end[i]; end--)
            FUZZ_CHECK(!has_token(tokenizer, at > 0 ? "##" : "", text + at, end - at));
        at = encoding.end[i];
    }
    attn_encoding_release(&encoding);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const unsigned choice = attn_fuzz_byte(&data, &size) % (sizeof settings / sizeof *settings);
    const struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    char *text = attn_fuzz_string(data, size);
    const size_t n_text = strlen(text), from = n_text < size ? n_text + 1 : size;
    struct attn_buffer lines = {0};
    struct attn_blob blobs[2] = {
        {"vocab.txt", NULL, 0},
        {"tokenizer_config.json", settings[choice], strlen(settings[choice])}};
    const struct attn_source source = {.name = "m", .blobs = blobs, .n_blob = 2};
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};
    enum attn_status status;

    attn_buffer_append_string(&lines, "[UNK]\n[CLS]\n[SEP]\n");
    attn_buffer_append(&lines, data + from, size - from);
    blobs[0].data = lines.data;
    blobs[0].size = lines.size;
    status = attn_tokenizer_open(&source, &tokenizer, &err);
    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT));
    if (status == ATTN_OK) {
        attn_fuzz_check_text(tokenizer, &options, text);
        if (n_text > 0 && n_text < 100 && strspn(text, "abcdefghijklmnopqrstuvwxyz") == n_text)
            check_word(tokenizer, text, n_text);
    }
    attn_tokenizer_free(tokenizer);
    attn_buffer_release(&lines);
    free(text);
    return 0;
}
