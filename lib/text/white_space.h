/*
 * white_space.h - Unicode's White_Space characters, written once: the word splitter tests them, the
 * split rule of GPT-2 has them in its pattern. PCRE2's own \s would add U+180E, which Unicode took
 * out of the set in 2013 (FORMATS.md 3.2).
 */
#ifndef ATTN_TEXT_WHITE_SPACE_H
#define ATTN_TEXT_WHITE_SPACE_H

#include <stdbool.h>
#include <stdint.h>

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

static inline bool attn_is_white_space(uint32_t code_point)
{
#define ATTN_WHITE_SPACE_TEST(first, last) (code_point >= 0x##first && code_point <= 0x##last) ||
    return ATTN_WHITE_SPACE_MAP(ATTN_WHITE_SPACE_TEST) false;
#undef ATTN_WHITE_SPACE_TEST
}

#endif
