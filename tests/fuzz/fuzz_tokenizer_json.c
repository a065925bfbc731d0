/*
 * fuzz_tokenizer_json.c - any bytes as tokenizer.json.
 *
 * A file is read or refused in one line. With one that is read texts are encoded, which may be
 * refused, to tokens that lie in the text and have ids of the vocabulary, and these are decoded to
 * UTF-8.
 */
#include "tests/fuzz/fuzz.h"
#include "tokenizer/tokenizer.h"

static const char *const texts[] = {
    "",
    " ",
    "a",
    "ab  ba<s> c\n\nThe 12 cats\xe2\x80\x99 caf\xc3\xa9",
    "e\xcc\x81\xcc\xa3 \xe2\x96\x81 \xea\xb0\x80\xe1\x86\xa8 \xf0\x9f\x98\x80\xe3\x80\x80_x",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct attn_blob blob = {"tokenizer.json", data, size};
    const struct attn_source source = {.name = "m", .blobs = &blob, .n_blob = 1};
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};
    enum attn_status status = attn_tokenizer_open(&source, &tokenizer, &err);

    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT) | FUZZ_BIT(ATTN_UNSUPPORTED));
    if (status == ATTN_OK)
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            for (unsigned bits = 0; bits < 4; bits++) {
                const struct attn_encode_options options = {
                    .size = sizeof options,
                    .special = (enum attn_special)(bits & 1),
                    .special_tokens = (enum attn_special_tokens)(1 + (bits >> 1))};

                attn_fuzz_check_text(tokenizer, &options, texts[i]);
            }
    attn_tokenizer_free(tokenizer);
    return 0;
}
