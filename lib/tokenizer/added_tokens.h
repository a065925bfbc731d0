/*
 * added_tokens.h - tokens that are found in a text before it is split, like <|endoftext|> or runs
 * of spaces.
 *
 * The leftmost token is found first; at one place, the longest. Special tokens are found like
 * others; if they are to be taken as text (ATTN_SPECIAL_TEXT), they are left to the later stages.
 */
#ifndef ATTN_TOKENIZER_ADDED_TOKENS_H
#define ATTN_TOKENIZER_ADDED_TOKENS_H

#include "tokenizer/pipeline.h"

/* One of them, with its flags as in tokenizer.json. */
struct attn_added_token {
    size_t begin, size; /* begin of its content in `contents` */
    int32_t id;
    bool is_single_word; /* found only where no letter, digit or mark stands next to it */
    bool strips_left;    /* takes the white space to its left */
    bool strips_right;   /* and to its right */
    bool is_normalized;  /* searched in the normalized text */
    bool is_special;
    bool is_new; /* no token of the model */
};

/* Initialize with = {0}; end with attn_added_release. */
struct attn_added {
    struct attn_added_token *tokens; /* owns; [n] */
    size_t n, capacity;
    struct attn_buffer contents;
};

/* Appends TOKEN with its CONTENT [size, not 0]. */
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

/* Reads the flags lstrip, rstrip and single_word of TOKEN, as far as NODE of JSON has them. */
enum attn_status attn_added_read_flags(const struct attn_json *json, const struct attn_node *node,
                                       struct attn_added_token *token, struct attn_error *err);

/* Fills `added` of TOKENIZER from TEXT [size], `added_tokens` of tokenizer.json, and adds the
 * missing ones to the vocabulary. As in the library tokenizers, a token of the vocabulary keeps its
 * id, and others are numbered from the vocabulary's size on; a file with other ids is refused. */
enum attn_status attn_added_read_json(struct attn_tokenizer *tokenizer, const char *text,
                                      size_t size, struct attn_error *err);

/* Tells the model of TOKENIZER, whose vocabulary is complete, which tokens are not its own. */
enum attn_status attn_added_mark_foreign(struct attn_tokenizer *tokenizer, struct attn_error *err);

/* Adds to PIPELINE a stage that finds the tokens of ADDED, which it borrows, in the given text or,
 * if IS_NORMALIZED, the tokens that are searched after the normalizers, the last N_NORMALIZER
 * stages of PIPELINE. Adds no stage if there are no such tokens. */
enum attn_status attn_added_add_stage(struct attn_pipeline *pipeline,
                                      const struct attn_added *added, bool is_normalized,
                                      size_t n_normalizer, struct attn_error *err);

#endif
