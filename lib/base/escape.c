/* escape.c - see escape.h. */
#include "base/escape.h"

#include "base/memory.h"

#include <string.h>

void attn_escape_append(struct attn_buffer *out, const char *text, size_t size)
{
    struct attn_escaped piece;

    for (size_t at = 0; at < size; at += piece.n_byte) {
        attn_escape_next(&piece, text + at, size - at);
        attn_buffer_append(out, piece.text, piece.length);
    }
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
