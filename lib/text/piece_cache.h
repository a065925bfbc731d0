/*
 * piece_cache.h - finds where in the encoding a piece was encoded before: most words of a text
 * are repeated, and copying their ids is faster than merging them again.
 *
 * Whether a piece is a token itself would be quicker to ask, but it is not the same question: some
 * tokens cannot be reached by merging their bytes.
 */
#ifndef ATTN_TEXT_PIECE_CACHE_H
#define ATTN_TEXT_PIECE_CACHE_H

#include "base/memory.h"
#include "text/vocabulary.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ATTN_PIECE_MAX = 16, ATTN_PIECE_CACHE_MAX = 1 << 14 };

struct attn_cached_piece {
    uint64_t words[2]; /* the bytes of the piece, zeros behind them */
    size_t first;      /* where its tokens begin in the encoding */
    uint32_t size;     /* 1 .. ATTN_PIECE_MAX; 0 where the entry is free */
    uint32_t n;        /* tokens */
};

/* Initialize with = {0}: an empty cache that keeps nothing. */
struct attn_piece_cache {
    struct attn_cached_piece *pieces; /* owns; [mask + 1] */
    size_t mask;
};

/* Makes a cache fit for a text of SIZE bytes; short texts do without. */
static inline enum attn_status attn_piece_cache_init(struct attn_piece_cache *cache, size_t size,
                                                     struct attn_error *err)
{
    size_t n = 64;

    if (size < 256)
        return ATTN_OK;
    while (n < ATTN_PIECE_CACHE_MAX && n < size / 16)
        n *= 2;
    cache->pieces = attn_alloc(n, sizeof *cache->pieces, err);
    cache->mask = n - 1;
    return cache->pieces ? ATTN_OK : ATTN_NO_MEMORY;
}

static inline void attn_piece_cache_release(struct attn_piece_cache *cache)
{
    attn_free(cache->pieces);
    *cache = (struct attn_piece_cache){0};
}

/*
 * The only entry where PIECE may be: *found says whether it is there. If not, the caller may make
 * it so by setting `first` and `n` after the piece is encoded. NULL for pieces that are not kept.
 */
static inline struct attn_cached_piece *
attn_piece_cache_find(struct attn_piece_cache *cache, const char *piece, size_t size, bool *found)
{
    uint64_t words[2] = {0, 0};
    struct attn_cached_piece *entry;

    *found = false;
    if (!cache->pieces || size > ATTN_PIECE_MAX)
        return NULL;
    memcpy(words, piece, size);
    entry = &cache->pieces[attn_hash_mix(words[0] ^ attn_hash_mix(words[1] + size)) & cache->mask];
    *found = entry->size == size && entry->words[0] == words[0] && entry->words[1] == words[1];
    entry->words[0] = words[0];
    entry->words[1] = words[1];
    entry->size = (uint32_t)size;
    return entry;
}

#endif
