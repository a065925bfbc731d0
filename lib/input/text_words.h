/*
 * text_words.h - the words of a text as people count them, and the word of each token. For the
 * files of this layer and above.
 *
 * A word is a run of characters that are not white space, or one of a list, whose words follow each
 * other in the text. A token belongs to the word that has its first character that is not white
 * space; a token of white space alone to the next word, or at the end to the last one. (Words that
 * merging joins, input/sequence.h, are those of the tokens.)
 */
#ifndef ATTN_INPUT_TEXT_WORDS_H
#define ATTN_INPUT_TEXT_WORDS_H

#include "input/input.h"
#include "tokenizer/encoding.h"

#include <stdint.h>

struct attn_text_word {
    size_t begin, end; /* in bytes of the text */
};

/* Initialize with = {0}; end with attn_text_words_release. */
struct attn_text_words {
    struct attn_text_word *items; /* [n] owns */
    size_t n, capacity;
    size_t size; /* bytes of the text */
    size_t *of;  /* [n_token] owns; the word of each token; SIZE_MAX: no word */
};

/* Finds the words of TEXT [size], or uses those of LIST if it is not empty. ATTN_INVALID without
 * words, or if the list does not match the text. */
enum attn_status attn_text_words_split(const char *text, size_t size,
                                       const struct attn_word_texts *list,
                                       struct attn_text_words *words, struct attn_error *err);

/* Finds the word of each token of ENCODING. TEXT [size] contains the text of WORDS from byte FIRST
 * on; tokens before it, and tokens that the tokenizer added, have no word. ATTN_INVALID for a token
 * with characters of two words, and for a word without a token. */
enum attn_status attn_text_words_assign(const struct attn_encoding *encoding, const char *text,
                                        size_t size, size_t first, struct attn_text_words *words,
                                        struct attn_error *err);

/* Assigns N ids to the words, one id for each word. */
enum attn_status attn_text_words_assign_ids(size_t n, struct attn_text_words *words,
                                            struct attn_error *err);

void attn_text_words_release(struct attn_text_words *words);

#endif
