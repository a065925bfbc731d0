/*
 * decoded.h - what each token of a tokenizer stands for by itself, as bytes.
 *
 * A run shows few tokens. So the bytes of a token are found when they are first asked for, with
 * those of its neighbours, on the thread that asks. They are in the place of their key: none are
 * longer. Where a decoder replaces a part of a token they may be, and are found all at once.
 */
#ifndef ATTN_TEXT_DECODED_H
#define ATTN_TEXT_DECODED_H

#include "base/thread.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct attn_tokenizer;

/* Initialize with = {0}; end with attn_decoded_release. */
struct attn_decoded {
    char *bytes;     /* owns; of a token at `begin`, or where its key begins among the keys */
    size_t *begin;   /* owns; [n_vocab + 1] in `bytes`; NULL: found when they are asked for */
    uint32_t *sizes; /* owns; [n_vocab] of those that are found */
    atomic_bool *is_block_found;  /* owns; by id / ATTN_DECODED_BLOCK */
    struct attn_monitor *monitor; /* owns; the thread that finds a block is inside */
};

enum { ATTN_DECODED_BLOCK = 64 }; /* ids */

/* Makes BYTES, of TOKENIZER itself, ready: its vocabulary, added tokens and decoder are there. */
enum attn_status attn_decoded_prepare(struct attn_decoded *decoded,
                                      const struct attn_tokenizer *tokenizer,
                                      struct attn_error *err);
void attn_decoded_release(struct attn_decoded *decoded);

/* The bytes of token ID, which the vocabulary has. Borrowed. Any thread may ask. */
const char *attn_decoded_find(const struct attn_tokenizer *tokenizer, int32_t id, size_t *size);

#endif
