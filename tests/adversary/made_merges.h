/* made_merges.h - tokens and merges of letters that are made, and applied by hand. */
#pragma once

#include "tests/adversary/case.h"

enum {
    ATTN_MADE_MAX = 320,
    ATTN_MADE_TOKEN_SIZE = 48,
    ATTN_MADE_MAX_MERGE = 60,
    ATTN_MADE_N_LETTER = 6
};

struct attn_made_merges_token {
    char text[ATTN_MADE_TOKEN_SIZE]; /* as in the file: bytes may be written as characters */
    size_t size;
};

struct attn_made_merges {
    struct attn_made_merges_token tokens[ATTN_MADE_MAX]; /* by id */
    size_t n;
    int32_t letters[ATTN_MADE_N_LETTER]; /* the ids of a, b, c, ... */
    struct {
        int32_t left, right, merged;
    } pairs[ATTN_MADE_MAX_MERGE]; /* by rank */
    size_t n_merge;
};

/* The id of a token, or -1. */
int32_t attn_made_merges_find(const struct attn_made_merges *merges, const char *text, size_t size);

/* Adds a token unless it is there; returns its id. */
int32_t attn_made_merges_add_token(struct attn_made_merges *merges, const char *text, size_t size);

/* Adds a merge of two letters, or of what merges make, unless there is one of them. */
void attn_made_merges_add(struct attn_case *c, struct attn_made_merges *merges);

/* Merges IDS [n] by hand: the lowest rank first, from the left. Returns how many are left. */
size_t attn_made_merges_apply(const struct attn_made_merges *merges, int32_t *ids, size_t n);
