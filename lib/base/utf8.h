/*
 * utf8.h - UTF-8 by the rules of Unicode 3.9 (table 3-7): no overlong forms, no surrogates, nothing
 * above U+10FFFF.
 */
#ifndef ATTN_BASE_UTF8_H
#define ATTN_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Reads one character at TEXT [size bytes, size > 0]. Returns its length 1..4 and stores its code
 * point, or returns 0 when the bytes are not a character; then *code_point holds the length of the
 * maximal subpart (1..3), the bytes that one U+FFFD replaces.
 */
size_t attn_utf8_decode(const char *text, size_t size, uint32_t *code_point);

/* Writes CODE_POINT (a scalar value) to OUT and returns the number of bytes, 1..4. */
size_t attn_utf8_encode(uint32_t code_point, char out[4]);

/* Offset of the first byte that does not begin a valid character; SIZE when all is valid. */
size_t attn_utf8_valid_length(const char *text, size_t size);

/* Whether a terminal shows the character as itself: no controls, bidi or zero-width characters,
 * separators, or noncharacters. */
int attn_utf8_is_printable(uint32_t code_point);

/* Columns a terminal uses: 0 for combining marks, 2 for wide East Asian characters and emoji,
 * else 1. */
int attn_utf8_width(uint32_t code_point);

#endif
