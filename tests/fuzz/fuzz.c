/* fuzz.c - see fuzz.h. */
#include "tests/fuzz/fuzz.h"

#include "base/memory.h"
#include "base/text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void attn_fuzz_fail(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

bool attn_fuzz_is_printable(const char *text, size_t size)
{
    uint32_t code_point;

    for (size_t at = 0, length; at < size; at += length) {
        length = attn_utf8_decode(text + at, size - at, &code_point);
        if (attn_utf8_is_joiner(code_point) && at > 0 && (unsigned char)text[at - 1] >= 0x80 &&
            at + length < size && (unsigned char)text[at + length] >= 0x80)
            continue; /* between two characters */
        if (length == 0 || !attn_utf8_is_printable(code_point))
            return false;
    }
    return true;
}

void attn_fuzz_check_error(enum attn_status status, const struct attn_error *err, unsigned allowed)
{
    const size_t length = strnlen(err->message, sizeof err->message);

    FUZZ_CHECK(status == err->status);
    FUZZ_CHECK(length < sizeof err->message);
    FUZZ_CHECK(strnlen(err->hint, sizeof err->hint) < sizeof err->hint);
    FUZZ_CHECK((status == ATTN_OK) == (length == 0));
    FUZZ_CHECK(status == ATTN_OK || (allowed & FUZZ_BIT(status)) != 0);
    FUZZ_CHECK(status != ATTN_OK || err->hint[0] == '\0');
    FUZZ_CHECK(attn_fuzz_is_printable(err->message, length));
    FUZZ_CHECK(attn_fuzz_is_printable(err->hint, strlen(err->hint)));
}

unsigned attn_fuzz_byte(const uint8_t **data, size_t *size)
{
    if (*size == 0)
        return 0;
    --*size;
    return *(*data)++;
}

struct attn_file attn_fuzz_file(const char *name, const uint8_t *data, size_t size)
{
    struct attn_file file = {.data = data,
                             .size = size,
                             .storage = ATTN_FILE_BORROWED,
                             .path = attn_strndup(name, strlen(name), NULL)};

    FUZZ_CHECK(file.path != NULL);
    return file;
}

struct attn_blob attn_fuzz_blob(const char *name, const char *path)
{
    struct attn_error err = {0};
    struct attn_file file = {0};
    struct attn_blob blob = {.name = name};

    if (attn_file_open(path, ATTN_READ, &file, &err) != ATTN_OK) {
        fprintf(stderr, "%s (run from the root of the repository)\n", err.message);
        abort();
    }
    blob.data = file.data; /* kept: a blob borrows it */
    blob.size = file.size;
    attn_free(file.path);
    return blob;
}

char *attn_fuzz_string(const uint8_t *data, size_t size)
{
    size_t length = size > 0 ? strnlen((const char *)data, size) : 0;
    char *copy = malloc(length + 1);

    FUZZ_CHECK(copy != NULL);
    if (length > 0)
        memcpy(copy, data, length);
    copy[length] = '\0';
    return copy;
}

void attn_fuzz_check_text(const struct attn_tokenizer *tokenizer,
                          const struct attn_encode_options *options, const char *text)
{
    static struct attn_encoding encoding; /* reused, as callers may */
    const size_t size = strlen(text);
    struct attn_error err = {0};
    char *decoded = NULL;
    size_t decoded_size = 0;
    enum attn_status status =
        attn_tokenizer_encode(tokenizer, text, size, options, &encoding, &err);

    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_INVALID) | FUZZ_BIT(ATTN_UNSUPPORTED));
    if (status != ATTN_OK)
        return;
    for (size_t i = 0; i < encoding.n; i++) {
        FUZZ_CHECK(encoding.begin[i] <= encoding.end[i] && encoding.end[i] <= size);
        FUZZ_CHECK(attn_tokenizer_token(tokenizer, encoding.ids[i], &(size_t){0}) != NULL);
    }
    status =
        attn_tokenizer_decode(tokenizer, encoding.ids, encoding.n, &decoded, &decoded_size, &err);
    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_UNSUPPORTED));
    if (status != ATTN_OK)
        return;
    FUZZ_CHECK(attn_utf8_valid_length(decoded, decoded_size) == decoded_size);
    attn_free(decoded);
}
