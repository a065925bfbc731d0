/*
 * character_class.h - the classes of characters that parts of tokenizers are made of.
 */
#ifndef ATTN_TOKENIZER_UNICODE_CHARACTER_CLASS_H
#define ATTN_TOKENIZER_UNICODE_CHARACTER_CLASS_H

#include <stdbool.h>
#include <stdint.h>

enum attn_character_class {
    ATTN_CLASS_CONTROL, /* what BERT's normalizer leaves out: U+0000, U+FFFD, and of Unicode 8 Cc
                           (but tab, LF, CR), Cf and Co */
    ATTN_CLASS_ACCENT,  /* marks that BERT's normalizer leaves out: Mn of Unicode 8 */
    ATTN_CLASS_MARK,    /* marks that StripAccents leaves out: M of Unicode 9 */
    ATTN_CLASS_PUNCTUATION, /* separate words for BERT: P of Unicode 8, and the symbols of ASCII */
    ATTN_CLASS_IDEOGRAPH,   /* what BERT writes with a space on each side: Chinese characters, but
                               for 2B820..2B91F */
    ATTN_CLASS_WHITE_SPACE, /* White_Space */
};

bool attn_character_is(uint32_t code_point, enum attn_character_class character_class);

#endif
