#include "base/text/escape.h"

#include "base/text/utf8.h"

#include <string.h>

size_t attn_escape_plain(const char *text, size_t size)
{
    size_t n = 0;

    while (n < size && text[n] >= ' ' && text[n] <= '~' && text[n] != '\\')
        n++;
    return n;
}

void attn_escape_append(struct attn_buffer *out, const char *text, size_t size)
{
    struct attn_escaped piece = {0};

    for (size_t at = 0; at < size; at += piece.n_byte) {
        const size_t n = attn_escape_plain(text + at, size - at);

        attn_buffer_append(out, text + at, n);
        at += n;
        if (at == size)
            break;
        piece.may_join &= n == 0;
        attn_escape_next(&piece, text + at, size - at);
        attn_buffer_append(out, piece.text, piece.length);
    }
}

enum attn_status attn_escape(const char *text, size_t size, char **escaped, struct attn_error *err)
{
    struct attn_buffer buffer = {0};
    char *made;

    attn_escape_append(&buffer, text, size);
    made = attn_buffer_take(&buffer, err);
    if (!made)
        return ATTN_NO_MEMORY;
    *escaped = made;
    return ATTN_OK;
}

/* --- JSON ------------------------------------------------------------------------------------- */

void attn_json_append_string(struct attn_buffer *out, const char *text, size_t size)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    size_t copied = 0, n;

    attn_buffer_append_char(out, '"');
    for (size_t at = 0; at < size; at += n) {
        const char *found = text[at] == '\0' ? NULL : strchr(plain, text[at]);
        uint32_t code_point;

        n = attn_utf8_decode(text + at, size - at, &code_point);
        if (n > 0 && !found && attn_utf8_is_printable(code_point))
            continue;
        attn_buffer_append(out, text + copied, at - copied);
        if (found) {
            attn_buffer_append_format(out, "\\%c", letters[found - plain]);
        } else if (n > 0 && code_point < 0x10000) {
            attn_buffer_append_format(out, "\\u%04x", (unsigned)code_point);
        } else if (n > 0) { /* code points above 16 bits need a surrogate pair */
            attn_buffer_append_format(out, "\\u%04x\\u%04x",
                                      (unsigned)(0xd800 + ((code_point - 0x10000) >> 10)),
                                      (unsigned)(0xdc00 + (code_point & 0x3ff)));
        } else {
            n = code_point; /* attn_utf8_decode stored the length of the malformed sequence */
            for (size_t i = at; i < at + n; i++)
                attn_buffer_append_format(out, "\\\\x%02x", (unsigned char)text[i]);
        }
        copied = at + n;
    }
    attn_buffer_append(out, text + copied, size - copied);
    attn_buffer_append_char(out, '"');
}
