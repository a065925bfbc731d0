/* utf8.h - UTF-8 as in Unicode 3.9 (table 3-7): no overlong forms, no surrogates, at most
 * U+10FFFF. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes one character at TEXT [size > 0]. Returns its length 1..4 and sets *CODE_POINT. If the
 * bytes are not a character, returns 0 and sets *CODE_POINT to the length of the maximal subpart
 * (1..3), the bytes that one U+FFFD replaces. */
size_t attn_utf8_decode(const char *text, size_t size, uint32_t *code_point);

/* Writes CODE_POINT (a scalar value) to OUT and returns the number of bytes, 1..4. */
size_t attn_utf8_encode(uint32_t code_point, char out[4]);

/* Returns the offset of the first byte that does not begin a valid character; SIZE if all bytes are
 * valid. */
size_t attn_utf8_valid_length(const char *text, size_t size);

/* Returns true if a terminal displays the character as itself: not for controls, bidi or zero-width
 * characters, separators, and noncharacters. */
int attn_utf8_is_printable(uint32_t code_point);

/* A range of characters, with a number that the table assigns to them. */
struct attn_character_range {
    uint32_t first, last;
    uint32_t value;
};

/* Returns the range that contains CODE_POINT in the sorted table from LOW to HIGH, or NULL. */
const struct attn_character_range *
attn_character_range_find(const struct attn_character_range *low,
                          const struct attn_character_range *high, uint32_t code_point);

/* Returns the columns on a terminal: 0 for combining marks, 2 for wide East Asian characters and
 * emoji, otherwise 1. */
int attn_utf8_width(uint32_t code_point);

/* Returns true for U+200C and U+200D, which separate or join the letters or emoji around them. */
static inline bool attn_utf8_is_joiner(uint32_t code_point)
{
    return code_point == 0x200c || code_point == 0x200d;
}

/* Returns the bytes of the first grapheme cluster, which readers see as one character, at TEXT
 * [size > 0]: a character with its marks and joiners, joined emoji, emoji with a skin tone, a flag
 * (UAX 29; Hangul letters are not combined). Each malformed byte counts as a cluster. */
size_t attn_utf8_cluster(const char *text, size_t size);

/* Returns true for a character of category P: commas, full stops, quotes, brackets, dashes; not + $
 * < ~. */
bool attn_utf8_is_punctuation(uint32_t code_point);

/* Unicode's White_Space, for the word splitter and for GPT-2's split pattern. PCRE2's \s also
 * contains U+180E, which Unicode removed in 2013. */
/* X(first, last): ranges of code points, hexadecimal without a prefix. */
#define ATTN_WHITE_SPACE_MAP(X)                                                                    \
    X(9, d)                                                                                        \
    X(20, 20)                                                                                      \
    X(85, 85)                                                                                      \
    X(a0, a0)                                                                                      \
    X(1680, 1680)                                                                                  \
    X(2000, 200a)                                                                                  \
    X(2028, 2029)                                                                                  \
    X(202f, 202f)                                                                                  \
    X(205f, 205f)                                                                                  \
    X(3000, 3000)

static inline bool attn_utf8_is_white_space(uint32_t code_point)
{
#define ATTN_WHITE_SPACE_TEST(first, last) (code_point >= 0x##first && code_point <= 0x##last) ||
    return ATTN_WHITE_SPACE_MAP(ATTN_WHITE_SPACE_TEST) false;
#undef ATTN_WHITE_SPACE_TEST
}
