/*
 * word.h - which tokens of a text begin a word.
 *
 * A word begins with a token that begins with white space, or stands behind white space, or is the
 * first. Tokens that are white space alone and special ones stand by themselves. What follows
 * without a space (the full stop of "table.", Chinese) belongs to the word before it. Of a word
 * level tokenizer every token is a word. (Clark et al. 2019, section 4.1, merge words likewise.)
 */
#ifndef ATTN_TEXT_WORD_H
#define ATTN_TEXT_WORD_H

#include "text/tokenizer.h"

/* Sets begins[i] of IDS [n] to whether a word begins there. An id without text is a word. */
void attn_words_mark(const struct attn_tokenizer *tokenizer, const int32_t *ids, size_t n,
                     bool *begins);

#endif
