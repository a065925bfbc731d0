/* unicode_internal.h - Unicode's data, and functions over it, for the files of this room. */
#ifndef ATTN_TOKENIZER_UNICODE_UNICODE_INTERNAL_H
#define ATTN_TOKENIZER_UNICODE_UNICODE_INTERNAL_H

#include "base/utf8.h"
#include "tokenizer/pipeline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- Classes ---------------------------------------------------------------------------------- */

enum attn_character_class {
    ATTN_CLASS_CONTROL,     /* dropped by BERT's normalizer: U+0000, U+FFFD, and of Unicode 8 Cc
                               (but tab, LF, CR), Cf and Co */
    ATTN_CLASS_ACCENT,      /* marks that BERT's normalizer drops: Mn of Unicode 8 */
    ATTN_CLASS_MARK,        /* marks that StripAccents drops: M of Unicode 9 */
    ATTN_CLASS_PUNCTUATION, /* separate words for BERT: P of Unicode 8, and the symbols of ASCII */
    ATTN_CLASS_IDEOGRAPH,   /* BERT puts a space on each side: Chinese characters, but
                               for 2B820..2B91F */
    ATTN_CLASS_WHITE_SPACE, /* White_Space */
};

bool attn_character_is(uint32_t code_point, enum attn_character_class character_class);

/* --- Properties ------------------------------------------------------------------------------- */

/* A property that patterns may name: a category, a script, or one of some others. */
struct attn_unicode_property {
    char name[24];       /* as Oniguruma compares it: lower case, without '_', '-' and ' ' */
    uint32_t begin, end; /* of attn_property_ranges */
    uint32_t is_script;
    uint32_t has_later; /* a category to which versions after Unicode 14 only added characters: */
    uint32_t later_begin, later_end; /* ... these */
};

/* Ascending, without surrogates. */
struct attn_property_range {
    uint32_t first, last;
};

/* The property of Unicode ATTN_UNICODE_VERSION that is called NAME, or NULL. */
const struct attn_unicode_property *attn_unicode_property_find(const char *name);

/* --- Lower case ------------------------------------------------------------------------------- */

/* Stores the lower case of CODE_POINT, or itself; returns the length: 1, or 2 for U+0130. */
size_t attn_lowercase(uint32_t code_point, uint32_t lower[2]);

/* --- Normal forms ----------------------------------------------------------------------------- */

/* UAX 15: characters composed as far as possible, or decomposed; in the forms of compatibility
 * ligatures, wide letters and others become plain. */
enum attn_normal_form { ATTN_NFC, ATTN_NFD, ATTN_NFKC, ATTN_NFKD };

/* Whether TEXT [size] has no character that FORM could change. False for some texts that are
 * normal. Bytes that are not UTF-8 do not matter. */
bool attn_normal_form_is_given(enum attn_normal_form form, const char *text, size_t size);

/* Appends FORM of the slice of LAYER, which was begun, SIZE bytes. As in the library tokenizers, a
 * composed character corresponds to its first part, and the other parts have no counterpart; all
 * parts of a decomposed character correspond to it. */
enum attn_status attn_normal_form_apply(enum attn_normal_form form, struct attn_layer *layer,
                                        size_t size, struct attn_error *err);

/* --- Tables ----------------------------------------------------------------------------------- */

/* Files of tests/tools/make_unicode_tables.py as sorted arrays, which end where NAME_end is. */

/* The value has bit C for class C. */
extern const struct attn_character_range attn_character_classes[], attn_character_classes_end[];

/* By name. */
extern const struct attn_unicode_property attn_unicode_properties[], attn_unicode_properties_end[];
extern const struct attn_property_range attn_property_ranges[];

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
