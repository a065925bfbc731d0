/*
 * words.h - which tokens make a word: what --merge-words joins. For the files of this layer and
 * above.
 *
 * A word begins where a token's text begins with white space, or after white space. Tokens that are
 * white space alone and special tokens are words of their own. What follows without a space, `.`
 * after `table` or the next Chinese character, belongs to the word before it. Tokens of word-level
 * vocabularies have white space between them. Line feeds and the like are white space.
 */
#ifndef ATTN_RUN_WORDS_H
#define ATTN_RUN_WORDS_H

#include "run/sequence.h"

/*
 * Numbers the words of SEQUENCE, whose tokens have texts, from 0: *words [n] is the caller's
 * (attn_free), ascending by 0 or 1. TOKENIZER, which says which tokens are special, may be NULL.
 */
enum attn_status attn_words_find(const struct attn_sequence *sequence,
                                 const struct attn_tokenizer *tokenizer, size_t **words,
                                 struct attn_error *err);

/* The same of labels: each is white space, or begins or ends with it, or goes on with the word
 * before it. */
enum attn_status attn_words_of_labels(const struct attn_label_list *labels, size_t **words,
                                      struct attn_error *err);

/* Selects all tokens of each word of which SELECTION has one. */
enum attn_status attn_words_widen(const size_t *words, struct attn_selection *selection,
                                  struct attn_error *err);

#endif
