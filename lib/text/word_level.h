/*
 * word_level.h - the tokenizers of toy models: words between white space, or single characters,
 * without the characters that the config drops.
 */
#ifndef ATTN_TEXT_WORD_LEVEL_H
#define ATTN_TEXT_WORD_LEVEL_H

#include "text/subject.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"
#include "text/words.h"

#include <stddef.h>
#include <stdint.h>

struct attn_word_level {
    const struct attn_vocabulary *vocabulary; /* borrows; keys are words */
    struct attn_word_rule rule;               /* borrows */
    int32_t unk;                              /* id of unknown words, or -1: they are errors */
};

/* Appends the words of SUBJECT, with offsets in the subject. */
enum attn_status attn_word_level_encode(const struct attn_word_level *words,
                                        const struct attn_subject *subject,
                                        struct attn_encoding *encoding, struct attn_error *err);

#endif
