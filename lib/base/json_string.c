/* json_string.c - see json_string.h. */
#include "base/json_string.h"

void attn_json_append_string(struct attn_buffer *out, const char *text, size_t size)
{
    attn_buffer_append_char(out, '"');
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == '"' || c == '\\')
            attn_buffer_append_char(out, '\\');
        if (c < 0x20)
            attn_buffer_append_format(out, "\\u%04x", c);
        else
            attn_buffer_append_char(out, text[i]);
    }
    attn_buffer_append_char(out, '"');
}
