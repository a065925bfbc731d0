#include "formats/quoting.h"

#include <string.h>

static bool needs_quotes(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] == ',' || text[i] == '"' || text[i] == '\n' || text[i] == '\r')
            return true;
    return false;
}

/* Appends a CSV field: START, which needs no quotes, followed by TEXT. */
static void append(struct attn_buffer *out, const char *start, const char *text, size_t size)
{
    const bool is_quoted = needs_quotes(text, size);

    if (is_quoted)
        attn_buffer_append_char(out, '"');
    attn_buffer_append_string(out, start);
    for (size_t i = 0; is_quoted && i < size; i++) {
        if (text[i] == '"')
            attn_buffer_append_char(out, '"');
        attn_buffer_append_char(out, text[i]);
    }
    if (is_quoted)
        attn_buffer_append_char(out, '"');
    else
        attn_buffer_append(out, text, size);
}

void attn_csv_field_append(struct attn_buffer *out, const char *text, size_t size)
{
    append(out, "", text, size);
}

void attn_csv_text_append(struct attn_buffer *out, const char *text, size_t size)
{
    static const char begin[] = "=+-@";
    static const char *const escaped[] = {"\\x3d", "\\x2b", "\\x2d", "\\x40"};
    const char *found = size > 0 ? memchr(begin, text[0], sizeof begin - 1) : NULL;

    if (!found)
        append(out, "", text, size);
    else
        append(out, escaped[found - begin], text + 1, size - 1);
}

void attn_markup_append(struct attn_buffer *out, const char *text, size_t size, bool is_quoted)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] == '&')
            attn_buffer_append_string(out, "&amp;");
        else if (text[i] == '<')
            attn_buffer_append_string(out, "&lt;");
        else if (text[i] == '>')
            attn_buffer_append_string(out, "&gt;");
        else if (text[i] == '"' && is_quoted)
            attn_buffer_append_string(out, "&quot;");
        else
            attn_buffer_append_char(out, text[i]);
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void attn_base64_append(struct attn_buffer *out, const void *bytes, size_t n)
{
    const unsigned char *in = bytes;
    const size_t size = (n + 2) / 3 * 4;
    char *to = attn_buffer_reserve(out, size);

    if (!to)
        return;
    out->size += size;
    for (; n >= 3; n -= 3, in += 3) {
        *to++ = digits[in[0] >> 2];
        *to++ = digits[(in[0] & 3) << 4 | in[1] >> 4];
        *to++ = digits[(in[1] & 15) << 2 | in[2] >> 6];
        *to++ = digits[in[2] & 63];
    }
    if (n == 0)
        return;
    *to++ = digits[in[0] >> 2];
    *to++ = digits[(in[0] & 3) << 4 | (n == 2 ? in[1] >> 4 : 0)];
    *to++ = n == 2 ? digits[(in[1] & 15) << 2] : '=';
    *to = '=';
}

bool attn_base64_decode(const char *text, size_t size, unsigned char *out, size_t *n)
{
    unsigned char values[256] = {0}; /* the value of each digit plus one; 0: not a digit */
    size_t n_pad = 0;
    uint32_t group = 0;

    for (size_t i = 0; i < 64; i++)
        values[(unsigned char)digits[i]] = (unsigned char)(i + 1);
    while (n_pad < 2 && n_pad < size && text[size - 1 - n_pad] == '=')
        n_pad++;
    *n = 0;
    for (size_t i = 0; i < size; i++) {
        const unsigned value = i < size - n_pad ? values[(unsigned char)text[i]] : 1;

        if (value == 0)
            return false;
        group = group << 6 | (value - 1);
        if (i % 4 < 3)
            continue;
        out[(*n)++] = (unsigned char)(group >> 16);
        out[(*n)++] = (unsigned char)(group >> 8);
        out[(*n)++] = (unsigned char)group;
        group = 0;
    }
    *n -= n_pad;
    return size % 4 == 0;
}
