/*
 * kind_lowrank.c - low-rank attention as it is written and what it gives; lowrank.c computes it.
 * More projected keys than keys (R > n) are allowed, and come no closer to exact attention.
 */
#include "attention/kinds.h"

#include <stddef.h>

const struct attn_kind attn_kind_lowrank = {
    .summary = "R random mixtures of all keys",
    .params = {{ATTN_PARAM_COUNT, "R", offsetof(struct attn_attention, count), false},
               {ATTN_PARAM_SEED, "SEED", offsetof(struct attn_attention, seed), true}},
    .pattern_lowrank = ATTN_GIVES_DIRECTLY,
    .no_causal = "each of its keys is a mixture of all keys, those after the query too",
    .no_matrix = "each of its keys is a mixture of all keys",
    .no_dropout = "its weights are those of mixtures, not of keys",
};
