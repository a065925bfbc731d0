/*
 * fuzz_charsmap.c - any bytes as the charsmap of a tokenizer.json, and texts through it: first the
 * text, up to a NUL, then the charsmap.
 *
 * It is read or refused in one line. With one that is read texts become tokens that lie in them.
 */
#include "base/buffer.h"
#include "base/text/utf8.h"
#include "tests/fuzz/fuzz.h"
#include "tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>

/* Appends BYTES in base64. */
static void append_base64(struct attn_buffer *out, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < size; i += 3) {
        uint32_t group = (uint32_t)bytes[i] << 16;

        group |= i + 1 < size ? (uint32_t)bytes[i + 1] << 8 : 0;
        group |= i + 2 < size ? (uint32_t)bytes[i + 2] : 0;
        attn_buffer_append_char(out, digits[group >> 18]);
        attn_buffer_append_char(out, digits[group >> 12 & 63]);
        attn_buffer_append_char(out, i + 1 < size ? digits[group >> 6 & 63] : '=');
        attn_buffer_append_char(out, i + 2 < size ? digits[group & 63] : '=');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const texts[] = {
        "",
        "e\xcc\x81\xcc\xa3 \xef\xac\x81\r\n\xe2\x91\xa0",
        "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7 \xe0\xa4\x95\xe0\xa5\x8d\xe0\xa4\xb7 ab",
    };
    const struct attn_encode_options options = ATTN_ENCODE_DEFAULT;
    char *text = attn_fuzz_string(data, size);
    const size_t n_text = strlen(text), from = n_text < size ? n_text + 1 : size;
    struct attn_buffer json = {0};
    struct attn_blob blob = {.name = "tokenizer.json"};
    const struct attn_source source = {.name = "m", .blobs = &blob, .n_blob = 1};
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};
    enum attn_status status;

    attn_buffer_append_string(
        &json, "{\"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"");
    append_base64(&json, data + from, size - from);
    attn_buffer_append_string(&json, "\"}, \"model\": {\"type\": \"Unigram\", \"unk_id\": 0, "
                                     "\"vocab\": [[\"?\", 0], [\"a\", -1], [\"fi\", -2]]}}");
    blob.data = attn_buffer_string(&json);
    blob.size = json.size;
    FUZZ_CHECK(blob.data);
    status = attn_tokenizer_open(&source, &tokenizer, &err);
    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT));
    if (status == ATTN_OK) {
        attn_fuzz_check_text(tokenizer, &options, text);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            attn_fuzz_check_text(tokenizer, &options, texts[i]);
    }
    attn_tokenizer_free(tokenizer);
    attn_buffer_release(&json);
    free(text);
    return 0;
}
