/*
 * tiny_bpe.h - the tokenizer of models/tiny-gpt2 for the targets that encode and decode.
 */
#ifndef ATTN_TESTS_TINY_BPE_H
#define ATTN_TESTS_TINY_BPE_H

#include "text/bpe.h"
#include "text/regex.h"
#include "text/tokenizer.h"

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

#endif
