/*
 * naive.h - byte pair encoding as encoder.py of GPT-2 does it, slowly: what the library's must
 * equal.
 */
#ifndef ATTN_TESTS_NAIVE_H
#define ATTN_TESTS_NAIVE_H

#include "text/bpe.h"

/* Merges IDS [n] in place; returns how many are left. */
size_t attn_naive_merge(const struct attn_merges *merges, int32_t *ids, size_t n);

#endif
