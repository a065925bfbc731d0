/*
 * block_books.h - the codebooks of IQ1, IQ2 and IQ3, which are block types of GGUF.
 *
 * A code names a point of a book. A point is 8 values of 3 levels each, or 4 values of 8 levels. It
 * is stored as two characters, each for half of its values: the character minus '#' is a number
 * whose digits, the lowest first, are the levels. So 8 values take two bytes, and the book of IQ1
 * takes 4 KiB.
 */
#pragma once

typedef char attn_book_page[2 * 256 + 1]; /* 256 points */

extern const attn_book_page attn_book_iq1[8], attn_book_iq2_s[4], attn_book_iq2_xs[2],
    attn_book_iq2_xxs[1];                                             /* with points of 8 values */
extern const attn_book_page attn_book_iq3_s[2], attn_book_iq3_xxs[1]; /* with points of 4 values */
