/* unicode_internal.h - Unicode data, and functions that use it. */
#pragma once

#include "base/text/utf8.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/tokenizer_extra.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- Classes ---------------------------------------------------------------------------------- */

enum attn_character_class {
    ATTN_CLASS_CONTROL, /* characters that BERT's normalizer drops: U+0000, U+FFFD, and of Unicode 8
                           Cc (except tab, LF, CR), Cf and Co */
    ATTN_CLASS_ACCENT,  /* marks that BERT's normalizer drops: Mn of Unicode 8 */
    ATTN_CLASS_MARK,    /* marks that StripAccents drops: M of Unicode 9 */
    ATTN_CLASS_PUNCTUATION, /* separate words for BERT: P of Unicode 8, and ASCII symbols */
    ATTN_CLASS_IDEOGRAPH,   /* BERT inserts a space on each side: Chinese characters, except
                               2B820..2B91F */
    ATTN_CLASS_WHITE_SPACE, /* White_Space */
    ATTN_CLASS_SEPARATOR,   /* white space of Python's str.split: also U+001C to U+001F */
    ATTN_CLASS_NMT_CONTROL, /* characters that the normalizer Nmt drops */
    ATTN_CLASS_NMT_BLANK,   /* characters that it replaces by a space */
};

bool attn_character_is(uint32_t code_point, enum attn_character_class character_class);

/* Returns the number of a script, or 0 for characters that belong to any: the space, and those that
 * the library does not know. Kana is the same as Han; Common and Inherited are scripts. */
uint32_t attn_character_script(uint32_t code_point);

/* --- Properties ------------------------------------------------------------------------------- */

/* A property that patterns may name: a category, a script, or one of a few others. */
struct attn_unicode_property {
    char name[24]; /* in the form that Oniguruma compares: lower case, without '_', '-' and ' ' */
    uint32_t begin, end; /* its range in attn_property_ranges */
    uint32_t is_script;
    uint32_t has_later; /* a category to which versions after Unicode 14 only added characters: */
    uint32_t later_begin, later_end; /* those added characters */
};

/* Ranges are ascending and exclude surrogates. */
struct attn_property_range {
    uint32_t first, last;
};

/* Returns the property named NAME, of Unicode ATTN_UNICODE_VERSION, or NULL. */
const struct attn_unicode_property *attn_unicode_property_find(const char *name);

/* --- Normal forms ----------------------------------------------------------------------------- */

/* UAX 15. C forms compose characters as far as possible, D forms decompose them; the compatibility
 * (K) forms also replace ligatures, wide letters and others by plain characters. */
enum attn_normal_form { ATTN_NFC, ATTN_NFD, ATTN_NFKC, ATTN_NFKD };

/* Whether TEXT [size] has no character that FORM could change. Returns false for some texts in
 * normal form. Bytes that are not UTF-8 are ignored. */
bool attn_normal_form_is_given(enum attn_normal_form form, const char *text, size_t size);

/* Appends FORM of the slice [size] of LAYER, which was begun. As in the library tokenizers, a
 * composed character corresponds to its first part, and its other parts have no counterpart; all
 * parts of a decomposed character correspond to it. */
enum attn_status attn_normal_form_apply(enum attn_normal_form form, struct attn_layer *layer,
                                        size_t size, struct attn_error *err);

/* --- Tables ----------------------------------------------------------------------------------- */

/* Sorted arrays in files made by tests/tools/make_unicode_tables.py. Each ends at NAME_end. */

/* Bit C of the value is set for class C. */
extern const struct attn_character_range attn_character_classes[], attn_character_classes_end[];

/* The value is the number of the script. */
extern const struct attn_character_range attn_scripts[], attn_scripts_end[];

/* Sorted by name. */
extern const struct attn_unicode_property attn_unicode_properties[], attn_unicode_properties_end[];
extern const struct attn_property_range attn_property_ranges[];

/* The value is twice the distance to the lower case, plus 1 if only every second character of the
 * range has one, beginning with the first. */
extern const struct attn_character_range attn_lower_cases[], attn_lower_cases_end[];

/* --- Normal forms ----------------------------------------------------------------------------- */

/* Maximum number of characters in a compatibility decomposition, that of U+FDFA. */
enum { ATTN_NFKD_MAX = 18 };

/* WHOLE decomposes to LEFT and RIGHT; RIGHT is 0 if it only decomposes to LEFT. */
struct attn_nf_decomposition {
    uint32_t whole, left, right;
};

/* WHOLE is replaced by N characters, from BEGIN on in attn_nf_plain_parts, which do not decompose
 * further. */
struct attn_nf_plain {
    uint32_t whole;
    uint16_t begin, n;
};

/* Ranges with canonical combining classes other than 0, ascending. */
extern const struct attn_character_range attn_nf_classes[], attn_nf_classes_end[];

/* The first array has all decompositions into two characters, sorted by `whole`. The second has the
 * indices in it of those that normal form C composes again, sorted by `left`, then `right`. */
extern const struct attn_nf_decomposition attn_nf_decompositions[], attn_nf_decompositions_end[];
extern const uint16_t attn_nf_compositions[], attn_nf_compositions_end[];

/* Characters with a combining class, that may compose with the character before them, or that
 * decompose. A text without any of them is in normal form C. */
extern const struct attn_character_range attn_nf_doubtful[], attn_nf_doubtful_end[];

/* Sorted by whole: the characters whose form NFKD differs from NFD. */
extern const struct attn_nf_plain attn_nf_plain[], attn_nf_plain_end[];
extern const uint32_t attn_nf_plain_parts[];
