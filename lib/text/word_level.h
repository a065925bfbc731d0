/*
 * word_level.h - the tokenizers of toy models: words between white space, or single characters,
 * without the characters that the config drops.
 */
#ifndef ATTN_TEXT_WORD_LEVEL_H
#define ATTN_TEXT_WORD_LEVEL_H

#include "base/buffer.h"
#include "text/stage.h"
#include "text/vocabulary.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attn_word_rule {
    bool is_by_character; /* every character is a word, white space too */
    const uint32_t *drop; /* borrows; [n_drop] code points that are no part of any word */
    size_t n_drop;
};

/* Initialize the first three; end with attn_buffer_release(&walk.kept). */
struct attn_word_walk {
    struct attn_word_rule rule;
    const char *text; /* borrows; [size], valid UTF-8 */
    size_t size;
    size_t at;               /* where to go on */
    size_t begin, end;       /* the word: from its first to its last kept character */
    struct attn_buffer kept; /* the word without the dropped characters */
};

/* Finds the next word. False at the end of the text, and when memory ran out: see walk->kept. */
bool attn_word_next(struct attn_word_walk *walk);

struct attn_word_level {
    const struct attn_vocabulary *vocabulary; /* borrows; keys are words */
    struct attn_word_rule rule;               /* borrows */
    int32_t unk;                              /* id of unknown words, or -1: they are errors */
};

/* The stage that encodes words; its data is a struct attn_word_level, which it borrows. */
extern const struct attn_stage_kind attn_word_stage;

#endif
