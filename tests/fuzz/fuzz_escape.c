/*
 * fuzz_escape.c - any bytes made printable.
 *
 * The escaped form is one line of printable UTF-8 and can be undone; a quote is that form, or a
 * beginning of it and "...". A string of JSON is one line of printable UTF-8 too, and the strict
 * reader gets the text of it, where that is UTF-8.
 */
#include "base/memory.h"
#include "base/text/escape.h"
#include "base/text/utf8.h"
#include "formats/json_reader.h"
#include "tests/fuzz/fuzz.h"
#include "tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>

static unsigned hex_value(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = c != '\0' ? strchr(digits, c) : NULL;

    FUZZ_CHECK(found != NULL);
    return (unsigned)(found - digits);
}

/* Undoes the escape at *AT; what is no escape stands for itself. */
static char undo_next(const char *escaped, size_t size, size_t *at)
{
    static const char letters[] = "\\ntr", plain[] = "\\\n\t\r";
    const char *found;
    unsigned high;

    if (escaped[*at] != '\\')
        return escaped[(*at)++];
    FUZZ_CHECK(size - *at >= 2);
    if (escaped[*at + 1] == 'x') {
        FUZZ_CHECK(size - *at >= 4);
        high = hex_value(escaped[*at + 2]);
        *at += 4;
        return (char)(high << 4 | hex_value(escaped[*at - 1]));
    }
    found = strchr(letters, escaped[*at + 1]);
    FUZZ_CHECK(found != NULL && *found != '\0');
    *at += 2;
    return plain[found - letters];
}

static void check_undone(const char *escaped, size_t escaped_size, const char *text, size_t size)
{
    size_t at = 0, n = 0;

    while (at < escaped_size) {
        const char byte = undo_next(escaped, escaped_size, &at);

        FUZZ_CHECK(n < size && byte == text[n]);
        n++;
    }
    FUZZ_CHECK(n == size);
}

static void check_quote(const char *text, size_t size, const struct attn_buffer *escaped)
{
    const struct attn_quote quote = attn_quote(text, size);
    const size_t length = strnlen(quote.text, sizeof quote.text);

    FUZZ_CHECK(length < sizeof quote.text);
    FUZZ_CHECK(attn_fuzz_is_printable(quote.text, length));
    if (escaped->size < sizeof quote.text) {
        FUZZ_CHECK(length == escaped->size);
        FUZZ_CHECK(length == 0 || memcmp(quote.text, escaped->data, length) == 0);
    } else {
        FUZZ_CHECK(length >= sizeof quote.text - 24 &&
                   memcmp(quote.text, escaped->data, length - 3) == 0);
        FUZZ_CHECK(strcmp(quote.text + length - 3, "...") == 0);
    }
}

static void check_json(const char *text, size_t size)
{
    struct attn_buffer json = {0}, again = {0};
    struct attn_json_token token = {0};
    struct attn_json_reader reader;

    attn_json_append_string(&json, text, size);
    FUZZ_CHECK(!json.has_failed && attn_fuzz_is_printable(json.data, json.size));
    reader = attn_json_reader_init(json.data, json.size, "JSON");
    FUZZ_CHECK(attn_json_next(&reader, &token, NULL) == ATTN_OK && token.type == ATTN_JSON_STRING);
    attn_json_unescape(&token, &again);
    if (attn_utf8_valid_length(text, size) == size)
        FUZZ_CHECK(again.size == size && (size == 0 || memcmp(again.data, text, size) == 0));
    attn_buffer_release(&json);
    attn_buffer_release(&again);
}

/* Characters read from the text write back as they were. */
static void check_characters(const char *text, size_t size)
{
    size_t n_valid = attn_utf8_valid_length(text, size), length;
    uint32_t code_point;
    char again[4];

    for (size_t at = 0; at < size; at += length) {
        length = attn_utf8_decode(text + at, size - at, &code_point);
        if (length == 0) {
            FUZZ_CHECK(code_point >= 1 && code_point <= 3 && code_point <= size - at);
            FUZZ_CHECK(at >= n_valid);
            length = code_point;
            continue;
        }
        FUZZ_CHECK(length <= size - at && attn_utf8_encode(code_point, again) == length);
        FUZZ_CHECK(memcmp(again, text + at, length) == 0);
        FUZZ_CHECK(attn_utf8_width(code_point) >= 0 && attn_utf8_width(code_point) <= 2);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct attn_buffer escaped = {0};
    struct attn_error err = {0};
    char *copy = NULL;

    attn_escape_append(&escaped, text, size);
    FUZZ_CHECK(!escaped.has_failed && escaped.size >= size);
    FUZZ_CHECK(attn_fuzz_is_printable(escaped.data, escaped.size));
    check_undone(escaped.data, escaped.size, text, size);
    check_quote(text, size, &escaped);
    check_json(text, size);
    check_characters(text, size);
    FUZZ_CHECK(attn_escape(text, size, &copy, &err) == ATTN_OK);
    FUZZ_CHECK(strcmp(copy, attn_buffer_string(&escaped)) == 0);
    attn_free(copy);
    attn_buffer_release(&escaped);
    return 0;
}
