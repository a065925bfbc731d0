/*
 * words.h - the words of a text, one after another: what lies between white space, or each
 * character for itself, without the characters that are dropped.
 */
#ifndef ATTN_TEXT_WORDS_H
#define ATTN_TEXT_WORDS_H

#include "base/buffer.h"

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

#endif
