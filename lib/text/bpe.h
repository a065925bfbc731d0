/*
 * bpe.h - merges the tokens of one piece of text: byte pair encoding (Sennrich et al. 2016), in the
 * order of OpenAI's encoder.py.
 *
 *     attn_bpe_begin(&work, n, err);                         // n tokens, one a byte or character
 *     for (i = 0; i < n; i++) work.symbols[i].id = ...;
 *     attn_bpe_merge(&work, n, merges);
 *     for (i = 0; i < n; i = work.symbols[i].next) ...       // what is left
 */
#ifndef ATTN_TEXT_BPE_H
#define ATTN_TEXT_BPE_H

#include "base/status.h"
#include "text/merges.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A token of the piece. Its index is that of its first part, so it keeps its place when it
 * grows. */
struct attn_bpe_symbol {
    int32_t id;
    uint32_t rank;           /* of the pair it makes with the next one, or ATTN_NO_RANK */
    uint32_t previous, next; /* indices; `next` of the last is n */
};

/* Scratch, reused for many pieces. Initialize with = {0}; end with attn_bpe_release. */
struct attn_bpe_work {
    struct attn_bpe_symbol *symbols; /* owns */
    uint64_t *heap;                  /* owns; candidates, rank << 32 | index of the left symbol */
    uint32_t *round;                 /* owns; the places where the pair of this round is */
    size_t capacity;                 /* tokens of a piece that there is room for */
    size_t n_heap;
    const volatile sig_atomic_t *cancel; /* not 0: merging ends early; NULL: never */
};

/* Makes room for a piece of N tokens; 4 Gi or more are ATTN_UNSUPPORTED. */
enum attn_status attn_bpe_begin(struct attn_bpe_work *work, size_t n, struct attn_error *err);

/* Merges the N tokens of `symbols`; false when it was canceled, and some are not merged. */
bool attn_bpe_merge(struct attn_bpe_work *work, size_t n, const struct attn_merges *merges);

void attn_bpe_release(struct attn_bpe_work *work);

#endif
