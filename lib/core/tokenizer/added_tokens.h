/*
 * added_tokens.h - tokens that are found in a text before it is split, such as <|endoftext|> or
 * runs of spaces.
 *
 * The leftmost token is found first, and at one place the longest. Special tokens are found like
 * others; if they are to be treated as text (ATTN_SPECIAL_TEXT), the later stages encode them.
 *
 * The search runs the automaton of Aho and Corasick (1975), built from the reversed words, over the
 * text from its end: at each place, the longest word that was read begins there. So the time is
 * linear in the text, however words overlap, and the last place is found first.
 */
#pragma once

#include "tokenizer/pipeline.h"

/* Maximum bytes of all words together; Gemma's 6,000 added tokens have some 60,000. */
enum { ATTN_SEARCH_MAX = 4 << 20 };

struct attn_search_node {
    uint32_t parent; /* the same text without its first byte */
    uint32_t fail;   /* the longest other node that is a prefix of this one's text */
    uint32_t found;  /* the longest node among this one and its fail links that is a word, or 0 */
    int32_t word;    /* number of the word, or -1 */
};

struct attn_search_edge {
    uint32_t key;   /* node << 8 | byte, plus one; 0: free */
    uint32_t child; /* the node */
};

/* Initialize with = {0}; end with attn_search_release. Immutable once finished. */
struct attn_search {
    struct attn_search_node *nodes; /* owns; [n]; the first is the empty word */
    uint32_t n;
    size_t *sizes;                  /* owns; length of each word, bytes */
    struct attn_search_edge *edges; /* owns; [mask + 1], by hash */
    size_t mask;
    uint64_t seed;      /* seed of the hash function */
    uint32_t root[256]; /* the nodes of single bytes; 0: no node */
};

struct attn_search_word {
    const char *text; /* [size], size > 0; borrowed */
    size_t size;
};

/* Builds the search for WORDS [n]. Of equal words, the last one is found. */
enum attn_status attn_search_build(struct attn_search *search, const struct attn_search_word *words,
                                   size_t n, struct attn_error *err);
void attn_search_release(struct attn_search *search);

/* A word that was found at a place. */
struct attn_search_hit {
    size_t at;
    int32_t word;
};

/* Initialize with = {0}; free `list` at the end. */
struct attn_search_hits {
    struct attn_search_hit *list; /* owns; [n], the last place first */
    size_t n, capacity;
};

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
