/* keys.h - which keys a row of a matrix holds, by kind and mask. Work grows with their number,
 * except where a mask is a matrix: its whole row is read. */
#ifndef ATTN_ATTENTION_KEYS_H
#define ATTN_ATTENTION_KEYS_H

#include "attention/attention.h"
#include "base/status.h"

/* A row of a matrix. */
struct attn_key_row {
    int layer, head;
    size_t query;    /* row of the matrix, from 0 */
    size_t position; /* where the query stands among the keys: `query`, or n_key - n_query further
                        on when the mask is causal */
    size_t n_key;    /* S, keys so far */
};

/* The kept keys of ROW, ascending, into KEYS, which has room for attn_keys_largest of them; returns
 * their number. With KEYS NULL it only counts, in few steps. For all kinds that keep pairs: not
 * linear and lowrank. ATTENTION's stride is resolved. */
size_t attn_keys_list(const struct attn_attention *attention, const struct attn_key_row *row,
                      int32_t *keys);

/* No row with at most N_KEY keys holds more. */
size_t attn_keys_largest(const struct attn_attention *attention, size_t n_key);

/* Whether MATRIX, which messages call WHAT, has these sizes; one without cells does. */
enum attn_status attn_mask_matrix_check(const struct attn_mask_matrix *matrix, const char *what,
                                        size_t n_head, size_t n_query, size_t n_key,
                                        struct attn_error *err);

/* Whether MASK [n] is one of keys: 1, or 0 for those that are masked, and not all 0. */
enum attn_status attn_key_mask_check(const int32_t *mask, size_t n, struct attn_error *err);

/* Whether there are scores that such a mask can make -inf. */
enum attn_status attn_key_mask_check_kind(const struct attn_attention *attention,
                                          struct attn_error *err);

/* Whether every row of the kind itself, whatever the mask, holds one span of neighbouring keys. */
bool attn_keys_are_contiguous(const struct attn_attention *attention);

/* Keys first .. last-1. */
struct attn_key_span {
    size_t first, last;
};

/* Writes SPAN to KEYS, unless that is NULL; returns its length. */
size_t attn_keys_put_span(struct attn_key_span span, int32_t *keys);

#endif
