/*
 * token_search.h - finds many words in a text at once, the longest at each place.
 *
 * It runs the automaton of Aho and Corasick (1975), built from the reversed words, over the text
 * from its end: at each place, the longest word that was read begins there. So the time is linear
 * in the text, however words overlap, and the last place is found first.
 */
#ifndef ATTN_TOKENIZER_TOKEN_SEARCH_H
#define ATTN_TOKENIZER_TOKEN_SEARCH_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Sets HITS to all places of TEXT [size] where a word begins, each with its longest word. */
enum attn_status attn_search_find(const struct attn_search *search, const char *text, size_t size,
                                  struct attn_search_hits *hits, struct attn_error *err);

#endif
