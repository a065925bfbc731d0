/*
 * block_books.h - the points that the codes of IQ1, IQ2 and IQ3 name, types of GGUF's blocks.
 *
 * A point is 8 values of 3 levels, or 4 of 8. It is two characters from '#' on, a half of its
 * values each: a number whose digits, the lowest first, are their levels. So 8 values take two
 * bytes, and the book of IQ1 4 KiB.
 */
#ifndef ATTN_KERNELS_BLOCK_BOOKS_H
#define ATTN_KERNELS_BLOCK_BOOKS_H

typedef char attn_book_page[2 * 256 + 1]; /* 256 points */

extern const attn_book_page attn_book_iq1[8], attn_book_iq2_s[4], attn_book_iq2_xs[2],
    attn_book_iq2_xxs[1];                                             /* of 8 values */
extern const attn_book_page attn_book_iq3_s[2], attn_book_iq3_xxs[1]; /* of 4 */

#endif
