/* escape.c - see escape.h. */
#include "base/escape.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

/* One character, or the bytes that are none, in escaped form. */
struct piece {
    size_t n_byte; /* consumed of the input */
    size_t length; /* of text */
    char text[16]; /* not terminated; the longest is four bytes as \xNN */
};

static void escape_bytes(struct piece *piece, const char *bytes)
{
    static const char digits[] = "0123456789abcdef";

    piece->length = 0;
    for (size_t i = 0; i < piece->n_byte; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        char escaped[4] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};

        memcpy(piece->text + piece->length, escaped, sizeof escaped);
        piece->length += sizeof escaped;
    }
}

static void escape_next(struct piece *piece, const char *text, size_t size)
{
    static const char plain[] = "\\\n\t\r", letters[] = "\\ntr";
    const char *found = *text == '\0' ? NULL : strchr(plain, *text);
    uint32_t code_point;

    piece->n_byte = attn_utf8_decode(text, size, &code_point);
    if (found) {
        piece->text[0] = '\\';
        piece->text[1] = letters[found - plain];
        piece->length = 2;
    } else if (piece->n_byte == 0) {
        piece->n_byte = code_point; /* the length of what is no character */
        escape_bytes(piece, text);
    } else if (!attn_utf8_is_printable(code_point)) {
        escape_bytes(piece, text);
    } else {
        piece->length = piece->n_byte;
        memcpy(piece->text, text, piece->n_byte);
    }
}

void attn_escape_append(struct attn_buffer *out, const char *text, size_t size)
{
    struct piece piece;

    for (size_t at = 0; at < size; at += piece.n_byte) {
        escape_next(&piece, text + at, size - at);
        attn_buffer_append(out, piece.text, piece.length);
    }
}

struct attn_quote attn_quote(const char *text, size_t size)
{
    static const char ellipsis[] = "...";
    struct attn_quote quote;
    struct piece piece;
    size_t length = 0, cut = 0; /* CUT: the end of the last piece that leaves room for "..." */

    for (size_t at = 0; at < size; at += piece.n_byte) {
        escape_next(&piece, text + at, size - at);
        if (length + piece.length >= sizeof quote.text) {
            memcpy(quote.text + cut, ellipsis, sizeof ellipsis);
            return quote;
        }
        memcpy(quote.text + length, piece.text, piece.length);
        length += piece.length;
        if (length + sizeof ellipsis <= sizeof quote.text)
            cut = length;
    }
    quote.text[length] = '\0';
    return quote;
}

struct attn_quote attn_quote_string(const char *text)
{
    return text ? attn_quote(text, strlen(text)) : attn_quote_string("(null)");
}

enum attn_status attn_escape(const char *text, size_t size, char **escaped, struct attn_error *err)
{
    struct attn_buffer buffer = {0};
    enum attn_status status;
    char *copy = NULL;

    attn_escape_append(&buffer, text, size);
    status = attn_buffer_check(&buffer, err);
    if (status == ATTN_OK) {
        copy = attn_strndup(buffer.data, buffer.size, err);
        status = copy != NULL ? ATTN_OK : ATTN_NO_MEMORY;
    }
    attn_buffer_release(&buffer);
    if (status == ATTN_OK)
        *escaped = copy;
    return status;
}

/* Bytes at TEXT that begin a character which some readers take for the end of a line: U+0085, U+2028
 * and U+2029, whose number goes to *CODE_POINT; else 0. */
static size_t match_line_end(const unsigned char *text, size_t size, unsigned *code_point)
{
    if (size >= 2 && text[0] == 0xc2 && text[1] == 0x85) {
        *code_point = 0x85;
        return 2;
    }
    if (size >= 3 && text[0] == 0xe2 && text[1] == 0x80 && (text[2] == 0xa8 || text[2] == 0xa9)) {
        *code_point = 0x2028 + (text[2] - 0xa8U);
        return 3;
    }
    return 0;
}

void attn_json_append_string(struct attn_buffer *out, const char *text, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t copied = 0, n;

    attn_buffer_append_char(out, '"');
    for (size_t i = 0; i < size; i += n) {
        unsigned code_point = bytes[i];
        const bool is_quoted = bytes[i] == '"' || bytes[i] == '\\';

        n = bytes[i] < 0x20 ? 1 : match_line_end(bytes + i, size - i, &code_point);
        if (n == 0 && !is_quoted) {
            n = 1;
            continue;
        }
        attn_buffer_append(out, text + copied, i - copied);
        if (n > 0)
            attn_buffer_append_format(out, "\\u%04x", code_point);
        else
            attn_buffer_append_char(out, '\\');
        copied = i + n;
        n += n == 0;
    }
    attn_buffer_append(out, text + copied, size - copied);
    attn_buffer_append_char(out, '"');
}
