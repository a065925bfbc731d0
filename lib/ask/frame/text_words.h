/*
 * text_words.h - splits a text into words as people count them, and finds the word of each token.
 * For the files of this layer and above.
 *
 * Words are either runs of characters without white space, or given by a list, in the order of the
 * text. A token belongs to the word of its first character that is not white space. A token of
 * white space alone belongs to the next word, or to the last word at the end of the text. (The
 * options that merge words use other rules: input/sequence.h.)
 */
#pragma once

#include "input/input.h"
#include "tokenizer/encoding.h"

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

/* Splits TEXT [size] into words, or locates the words of LIST in it if LIST is not empty. Returns
 * ATTN_INVALID if there are no words, or if the list does not match the text. */
enum attn_status attn_text_words_split(const char *text, size_t size,
                                       const struct attn_word_texts *list,
                                       struct attn_text_words *words, struct attn_error *err);

/* Assigns each token of ENCODING to a word. TEXT [size] contains the text of WORDS from byte FIRST
 * on. Tokens before it, and tokens that the tokenizer added, have no word. Returns ATTN_INVALID for
 * a token with characters of two words, and for a word without a token. */
enum attn_status attn_text_words_assign(const struct attn_encoding *encoding, const char *text,
                                        size_t size, size_t first, struct attn_text_words *words,
                                        struct attn_error *err);

void attn_text_words_release(struct attn_text_words *words);
