/*
 * added_tokens.h - tokens that are found in a text before it is split, such as <|endoftext|> or
 * runs of spaces.
 *
 * The leftmost token is found first, and at one place the longest. Special tokens are found like
 * others; if they are to be treated as text (ATTN_SPECIAL_TEXT), the later stages encode them.
 */
#ifndef ATTN_TOKENIZER_ADDED_TOKENS_H
#define ATTN_TOKENIZER_ADDED_TOKENS_H

#include "tokenizer/pipeline.h"

/* An added token, with its flags as in tokenizer.json. */
struct attn_added_token {
    size_t begin, size; /* its content in `contents` */
    int32_t id;
    bool is_single_word; /* found only if no letter, digit or mark is next to it */
    bool strips_left;    /* includes the white space to its left */
    bool strips_right;   /* includes the white space to its right */
    bool is_normalized;  /* searched in the normalized text instead of the original */
    bool is_special;
    bool is_new; /* not in the model's vocabulary */
};

/* Initialize with = {0}; end with attn_added_release. */
struct attn_added {
    struct attn_added_token *tokens; /* owns; [n] */
    size_t n, capacity;
    struct attn_buffer contents;
    bool lowers; /* the text between tokens is in lower case before anything else is done */
};

/* Appends TOKEN with its CONTENT [size]. SIZE must not be 0. */
enum attn_status attn_added_append(struct attn_added *added, struct attn_added_token token,
                                   const char *content, size_t size, struct attn_error *err);
void attn_added_release(struct attn_added *added);

static inline const char *attn_added_content(const struct attn_added *added, size_t i)
{
    return added->contents.data + added->tokens[i].begin;
}

struct attn_json;
struct attn_node;
struct attn_tokenizer;

/* Fills `added` of TOKENIZER from TEXT [size], the member `added_tokens` of tokenizer.json, and
 * adds missing tokens to the vocabulary. As in the library tokenizers, tokens of the vocabulary
 * keep their ids, and others are numbered from the vocabulary's size on. A file with other ids is
 * refused. */
enum attn_status attn_added_read_json(struct attn_tokenizer *tokenizer, const char *text,
                                      size_t size, struct attn_error *err);

/* Tells the model of TOKENIZER which tokens of the complete vocabulary are added ones. */
enum attn_status attn_added_mark_foreign(struct attn_tokenizer *tokenizer, struct attn_error *err);

/* Adds a stage to PIPELINE that finds tokens of ADDED, which it borrows: those that are searched in
 * the original text, or, if IS_NORMALIZED, those that are searched in the normalized text. The
 * normalizers are the last N_NORMALIZER stages of PIPELINE, and one before them if ADDED lowers
 * texts, which is added here, too. Adds no other stage if there are no such tokens. */
enum attn_status attn_added_add_stage(struct attn_pipeline *pipeline,
                                      const struct attn_added *added, bool is_normalized,
                                      size_t n_normalizer, struct attn_error *err);

#endif
