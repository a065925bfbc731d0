/*
 * tiny_bpe.h - byte pair encoding for the targets: the tokenizer of models/tiny-gpt2, and merging
 * one pair at a time, the leftmost of the lowest rank.
 */
#pragma once

#include "tokenizer/models/models_internal.h"
#include "tokenizer/regex.h"
#include "tokenizer/tokenizer.h"

/* Held for as long as the process lives; WITH_PREFIX: "add_prefix_space", and an added token. */
const struct attn_tokenizer *attn_tiny_bpe(bool with_prefix);

/* The same pieces of it one by one. */
struct attn_tiny_parts {
    struct attn_vocabulary vocabulary;
    struct attn_merges merges;
    struct attn_match *match;
    int32_t byte_ids[256];
};
const struct attn_tiny_parts *attn_tiny_parts(void);

/* Merges IDS [n] in place, slowly: the library's result must be equal. Returns how many are left.
 */
size_t attn_naive_merge(const struct attn_merges *merges, int32_t *ids, size_t n);
