#include "base/text/fixed_text.h"

#include "base/text/utf8.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

bool attn_text_has_word(const char *list, const char *word, size_t size)
{
    for (size_t n; *list; list += n + (list[n] == ' ')) {
        n = strcspn(list, " ");
        if (n == size && memcmp(list, word, size) == 0)
            return true;
    }
    return false;
}

int attn_compare_texts(const char *a, size_t n_a, const char *b, size_t n_b)
{
    const size_t n = n_a < n_b ? n_a : n_b;
    const int order = n > 0 ? memcmp(a, b, n) : 0;

    return order != 0 ? order : (n_a > n_b) - (n_a < n_b);
}

void attn_fixed_text_append(char *text, size_t size, size_t *used, const char *format, ...)
{
    static const size_t room = sizeof "...";
    size_t cut = *used;
    va_list args;
    int n;

    if (*used >= size)
        return;
    va_start(args, format);
    n = vsnprintf(text + *used, size - *used, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < size - *used) {
        *used += (size_t)n;
        return;
    }
    if (size - cut < room) /* "..." overwrites the last characters */
        cut = size > room ? size - room : 0;
    while (cut > 0 && cut < *used && ((unsigned char)text[cut] & 0xc0) == 0x80)
        cut--; /* back to the beginning of a character */
    snprintf(text + cut, size - cut, "...");
    *used = size;
}

/* --- Quotes ---------------------------------------------------------------------------------- */

static void escape_bytes(struct attn_escaped *piece, const char *bytes)
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

/* Returns true if TEXT [size] begins with a printable character that is not ASCII. */
static bool is_joined(const char *text, size_t size)
{
    uint32_t code_point;

    return size > 0 && attn_utf8_decode(text, size, &code_point) > 1 &&
           attn_utf8_is_printable(code_point);
}

void attn_escape_next(struct attn_escaped *piece, const char *text, size_t size)
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
        /* attn_utf8_decode stored the length of the malformed sequence */
        piece->n_byte = code_point;
        escape_bytes(piece, text);
    } else if (!attn_utf8_is_printable(code_point) &&
               !(attn_utf8_is_joiner(code_point) && piece->may_join &&
                 is_joined(text + piece->n_byte, size - piece->n_byte))) {
        escape_bytes(piece, text);
    } else {
        piece->length = piece->n_byte;
        memcpy(piece->text, text, piece->n_byte);
    }
    piece->may_join = is_joined(piece->text, piece->length);
}

struct attn_quote attn_quote(const char *text, size_t size)
{
    static const char ellipsis[] = "...";
    struct attn_quote quote;
    struct attn_escaped piece = {0};
    /* cut: the end of the last piece (not a joiner) after which "..." still fits */
    size_t length = 0, cut = 0;

    for (size_t at = 0; at < size; at += piece.n_byte) {
        attn_escape_next(&piece, text + at, size - at);
        if (length + piece.length >= sizeof quote.text) {
            memcpy(quote.text + cut, ellipsis, sizeof ellipsis);
            return quote;
        }
        memcpy(quote.text + length, piece.text, piece.length);
        length += piece.length;
        if (length + sizeof ellipsis <= sizeof quote.text &&
            (piece.may_join || (unsigned char)piece.text[0] < 0x80))
            cut = length;
    }
    quote.text[length] = '\0';
    return quote;
}

struct attn_quote attn_quote_string(const char *text)
{
    return text ? attn_quote(text, strlen(text)) : attn_quote_string("(null)");
}
