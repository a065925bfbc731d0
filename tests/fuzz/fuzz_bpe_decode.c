/*
 * fuzz_bpe_decode.c - any ids, two bytes each, through the byte-level BPE of tiny-gpt2.
 *
 * Known ids give the bytes of their tokens, joined; what they give can be encoded, and decodes to
 * itself; an unknown id is named with its place.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tiny_bpe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* There and back again. */
static void check_text(const struct attn_tokenizer *tokenizer, const char *text, size_t size)
{
    const struct attn_encode_options options = {
        .size = sizeof options, .special = ATTN_SPECIAL_TEXT, .invalid = ATTN_INVALID_TEXT_BYTES};
    struct attn_encoding encoding = {0};
    struct attn_error err = {0};
    char *again = NULL;
    size_t again_size;

    FUZZ_CHECK(attn_tokenizer_encode(tokenizer, text, size, &options, &encoding, &err) == ATTN_OK);
    FUZZ_CHECK(attn_tokenizer_decode(tokenizer, encoding.ids, encoding.n, &again, &again_size,
                                     &err) == ATTN_OK);
    FUZZ_CHECK(again_size == size && memcmp(again, text, size) == 0);
    attn_tokenizer_text_free(again);
    attn_encoding_release(&encoding);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct attn_tokenizer *tokenizer = attn_tiny_bpe(false);
    const size_t n = size / 2;
    int32_t *ids = malloc(n * sizeof *ids + 1);
    struct attn_error err = {0};
    char *text = NULL, place[64];
    size_t text_size = 0, n_known = 0, total = 0;
    enum attn_status status;

    FUZZ_CHECK(ids != NULL);
    for (size_t i = 0; i < n; i++) /* -64 .. 1983: most are known */
        ids[i] = ((data[2 * i] | data[2 * i + 1] << 8) & 0x7ff) - 64;
    for (size_t token_size; n_known < n; n_known++) {
        const char *token = attn_tokenizer_token(tokenizer, ids[n_known], &token_size);

        if (token == NULL)
            break;
        total += token_size;
    }
    status = attn_tokenizer_decode(tokenizer, ids, n, &text, &text_size, &err);
    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_INVALID));
    FUZZ_CHECK((status == ATTN_OK) == (n_known == n) && (status == ATTN_OK) == (text != NULL));
    if (status == ATTN_OK) {
        FUZZ_CHECK(text_size == total && text[total] == '\0');
        check_text(tokenizer, text, text_size);
    } else {
        snprintf(place, sizeof place, "id %d at position %zu ", (int)ids[n_known], n_known);
        FUZZ_CHECK(strstr(err.message, place) != NULL);
    }
    attn_tokenizer_text_free(text);
    free(ids);
    return 0;
}
