/*
 * quote.h - text from outside in a message: a short copy, escaped, without an allocation.
 *
 *     attn_error_set(err, ATTN_INVALID, "'%s' is not a number", attn_quote_string(text).text);
 *
 * Printable UTF-8 stays as it is; `\` is doubled; newline, tab and carriage return become \n, \t,
 * \r; every other byte that is not part of a printable character (C0, DEL, C1, bidi controls,
 * zero-width and line separators, bytes that are not UTF-8) becomes \xNN. escape.h writes text of
 * any length by the same rules.
 */
#ifndef ATTN_BASE_QUOTE_H
#define ATTN_BASE_QUOTE_H

#include <stddef.h>

enum { ATTN_QUOTE_SIZE = 200 };

/* Cut with "..." when it does not fit. */
struct attn_quote {
    char text[ATTN_QUOTE_SIZE]; /* terminated */
};

struct attn_quote attn_quote(const char *text, size_t size);
struct attn_quote attn_quote_string(const char *text); /* terminated; NULL gives "(null)" */

/* One character, or the bytes that are none, in escaped form. */
struct attn_escaped {
    size_t n_byte; /* consumed of the input */
    size_t length; /* of text */
    char text[16]; /* not terminated; the longest is four bytes as \xNN */
};

/* The first of TEXT [size >= 1 bytes]. */
void attn_escape_next(struct attn_escaped *piece, const char *text, size_t size);

#endif
