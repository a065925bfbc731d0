/*
 * token_search.h - finds many words in a text at once, the longest at each place.
 *
 * Aho and Corasick's automaton (1975) of the words read backwards, run over the text from its end:
 * where it is, the longest word that it has read begins there. So time is linear in the text,
 * however the words overlap, and the places come out with the last one first.
 */
#ifndef ATTN_TOKENIZER_TOKEN_SEARCH_H
#define ATTN_TOKENIZER_TOKEN_SEARCH_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of all words together; Gemma's 6,000 added tokens have some 60,000. */
enum { ATTN_SEARCH_MAX = 4 << 20 };

struct attn_search_node {
    uint32_t parent; /* the word without its first byte */
    uint32_t fail;   /* the longest other node that this one's word begins with */
    uint32_t found;  /* the longest of these, with itself, that is a word, or 0 */
    int32_t word;    /* its number, or -1 */
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
    uint64_t seed;      /* seed of the hashes */
    uint32_t root[256]; /* the nodes of single bytes, or 0 */
};

struct attn_search_word {
    const char *text; /* [size], size > 0; borrowed */
    size_t size;
};

/* Builds the search for WORDS [n]; of equal words the last counts. */
enum attn_status attn_search_build(struct attn_search *search, const struct attn_search_word *words,
                                   size_t n, struct attn_error *err);
void attn_search_release(struct attn_search *search);

/* A word at a place. */
struct attn_search_hit {
    size_t at;
    int32_t word;
};

/* Initialize with = {0}; free `list` at the end. */
struct attn_search_hits {
    struct attn_search_hit *list; /* owns; [n], the last place first */
    size_t n, capacity;
};

/* Replaces HITS by every place of TEXT [size] where a word begins, with the longest of them. */
enum attn_status attn_search_find(const struct attn_search *search, const char *text, size_t size,
                                  struct attn_search_hits *hits, struct attn_error *err);

#endif
