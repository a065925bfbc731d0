/*
 * fixed_text.h - builds messages in fixed-size arrays, without allocation: lists of names, shapes,
 * and quotes of untrusted text.
 *
 *     char names[300] = "";
 *     size_t used = 0;
 *
 *     for (size_t i = 0; i < n; i++)
 *         attn_fixed_text_append(names, sizeof names, &used, "%s%s", i > 0 ? ", " : "", items[i]);
 */
#pragma once

#include "base/api.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends the formatted text to the null-terminated TEXT [size > 0], of which *USED bytes are in
 * use. "..." replaces the first piece that does not fit and all later ones; *USED is then SIZE.
 * TEXT stays null-terminated, and is only cut between characters. */
void attn_fixed_text_append(char *text, size_t size, size_t *used, const char *format, ...)
    ATTN_PRINTF(4, 5);

/* Whether WORD [size] is one of the words of LIST, which spaces separate. */
bool attn_text_has_word(const char *list, const char *word, size_t size);

/* Compares texts byte by byte, for qsort. */
int attn_compare_texts(const char *a, size_t n_a, const char *b, size_t n_b);

/*
 * Untrusted text in a message: a short, escaped copy.
 *
 *     attn_error_set(err, ATTN_INVALID, "'%s' is not a number", attn_quote_string(text).text);
 *
 * Printable UTF-8 stays as it is; `\` is doubled; newline, tab and carriage return become \n, \t,
 * \r; every other byte that is not part of a printable character (C0, DEL, C1, bidi controls,
 * zero-width and line separators, bytes that are not UTF-8) becomes \xNN. Joiners (utf8.h) between
 * printable characters that are not ASCII stay, as in emoji and in Persian. escape.h writes text of
 * any length by the same rules. A copy that does not fit is cut with "...".
 */
enum { ATTN_QUOTE_SIZE = 200 };

struct attn_quote {
    char text[ATTN_QUOTE_SIZE]; /* terminated */
};

struct attn_quote attn_quote(const char *text, size_t size);
struct attn_quote attn_quote_string(const char *text); /* terminated; NULL gives "(null)" */

/* One character, or malformed bytes, in escaped form. Initialize with = {0}. */
struct attn_escaped {
    size_t n_byte; /* bytes consumed from the input */
    size_t length; /* bytes of text */
    char text[16]; /* not null-terminated; the longest is four bytes as \xNN */
    bool may_join; /* the character is printable and not ASCII, so a joiner may follow */
};

/* Reads the first character of TEXT [size >= 1]. On entry, PIECE describes the character before
 * it. */
void attn_escape_next(struct attn_escaped *piece, const char *text, size_t size);
