/*
 * words.h - the words of a text: the vocabulary that they form, and which tokens begin a word.
 *
 *     struct attn_word_list list = {0};
 *     attn_word_list_read(&list, text, size, ATTN_TOKENIZER_WORD, ",", &err);
 *     for (size_t id = 0; id < list.n; id++)
 *         use(list.words[id].text, list.words[id].size);
 *     attn_word_list_release(&list);
 */
#pragma once

#include "tokenizer/tokenizer_extra.h"

struct attn_listed_word {
    const char *text; /* [size], not terminated */
    size_t size;
};

/* The vocabulary of a text: its distinct words, sorted by code points ("Life" comes before
 * "dessert"). The index of a word is its id. Initialize with = {0}; end with
 * attn_word_list_release. */
struct attn_word_list {
    enum attn_tokenizer_kind kind;  /* words, or characters */
    char *drop;                     /* owns; the characters that were dropped */
    struct attn_listed_word *words; /* owns; [n] */
    size_t n;
    char *bytes; /* owns; texts of the words */
};

/* Fills LIST with the words of TEXT, or if KIND is ATTN_TOKENIZER_CHARACTER with its characters,
 * without the characters in DROP. Returns ATTN_INVALID for a text that is not UTF-8 or has no
 * words. */
enum attn_status attn_word_list_read(struct attn_word_list *list, const char *text, size_t size,
                                     enum attn_tokenizer_kind kind, const char *drop,
                                     struct attn_error *err);
void attn_word_list_release(struct attn_word_list *list);

/* As attn_words_mark, of tokens with these TEXTS [n] of SIZES, none of which is special. */
void attn_words_mark_texts(const char *const *texts, const size_t *sizes, size_t n, bool *begins);
