/*
 * unicode_tables.h - Unicode's data: files that tests/tools/make_unicode_tables.py writes,
 * little-endian, as sorted arrays. Each ends where NAME_end is.
 */
#ifndef ATTN_TOKENIZER_UNICODE_UNICODE_TABLES_H
#define ATTN_TOKENIZER_UNICODE_UNICODE_TABLES_H

#include "base/utf8.h"

#include <stdint.h>

/* The value has bit C for class C of character_class.h. */
extern const struct attn_character_range attn_character_classes[], attn_character_classes_end[];

/* The value is twice the distance to the lower case, and is odd if only every second character of
 * the range, the first and the third, has one. */
extern const struct attn_character_range attn_lower_cases[], attn_lower_cases_end[];

/* --- Normal forms ----------------------------------------------------------------------------- */

enum { ATTN_NFKD_MAX = 18 }; /* characters that one may become: U+FDFA does */

/* WHOLE is LEFT and RIGHT; RIGHT is 0 where it is only another character. */
struct attn_nf_decomposition {
    uint32_t whole, left, right;
};

/* WHOLE becomes the N parts at BEGIN of attn_nf_plain_parts, which do not decompose further. */
struct attn_nf_plain {
    uint32_t whole;
    uint16_t begin, n;
};

/* Canonical combining classes that are not 0, ascending. */
extern const struct attn_character_range attn_nf_classes[], attn_nf_classes_end[];

/* By whole; and the indices of those that are composed again, by left, then right. */
extern const struct attn_nf_decomposition attn_nf_decompositions[], attn_nf_decompositions_end[];
extern const uint16_t attn_nf_compositions[], attn_nf_compositions_end[];

/* Characters of a class, or that may be composed with the one before them, or are decomposed: a
 * text without any is in normal form C. */
extern const struct attn_character_range attn_nf_doubtful[], attn_nf_doubtful_end[];

/* By whole: the characters whose form NFKD is not NFD. */
extern const struct attn_nf_plain attn_nf_plain[], attn_nf_plain_end[];
extern const uint32_t attn_nf_plain_parts[];

#endif
