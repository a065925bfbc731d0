/* keys.h - lists the keys of a row of a matrix, by kind and mask. The time grows with the number of
 * listed keys; but a mask that is a matrix is read for the whole row. */
#pragma once

#include "attention/attention.h"
#include "base/status.h"

/* A row of a matrix. */
struct attn_key_row {
    int layer, head;
    size_t query;    /* row of the matrix, from 0 */
    size_t position; /* the query's position among the keys: `query`, or with a causal mask `query`
                        + n_key - n_query */
    size_t n_key;    /* S, the number of keys so far */
};

/* Lists the kept keys of ROW in KEYS, ascending, and returns their number. KEYS needs room for
 * attn_keys_largest keys; if it is NULL, the keys are only counted, which is quick. For all kinds
 * that keep pairs, which linear and lowrank do not. The stride of ATTENTION must be resolved. */
size_t attn_keys_list(const struct attn_attention *attention, const struct attn_key_row *row,
                      int32_t *keys);

/* Returns how many of the first N_KEY keys a causal mask leaves to the query at POSITION; N_KEY
 * with another mask. */
size_t attn_keys_ahead(const struct attn_attention *attention, size_t position, size_t n_key);

/* Whether no query sees a key after its own position. */
bool attn_keys_are_causal(const struct attn_attention *attention);

/* Returns an upper bound of the keys of a row that has at most N_KEY keys to choose from. */
size_t attn_keys_largest(const struct attn_attention *attention, size_t n_key);

/* Checks that MATRIX, which messages call WHAT, has these sizes. A matrix without cells passes. */
enum attn_status attn_mask_matrix_check(const struct attn_mask_matrix *matrix, const char *what,
                                        size_t n_head, size_t n_query, size_t n_key,
                                        struct attn_error *err);

/* Checks that MASK [n] is a key mask, of numbers up to MOST: 1 and 2 keep a key, 0 masks it, and at
 * least one is 1. */
enum attn_status attn_key_mask_check(const int32_t *mask, size_t n, int32_t most,
                                     struct attn_error *err);

/* Whether MASK keeps key I. NULL keeps all. */
static inline bool attn_key_mask_keeps(const int32_t *mask, size_t i)
{
    return !mask || mask[i] != 0;
}

/* Whether MASK keeps key I and leaves its row in the vector of a text: 2 keeps a key alone. */
static inline bool attn_key_mask_pools(const int32_t *mask, size_t i)
{
    return !mask || mask[i] == 1;
}

/* Returns how many of N keys MASK keeps. */
size_t attn_key_mask_count(const int32_t *mask, size_t n);

/* Returns the last of N keys that MASK keeps. It must keep one. */
size_t attn_key_mask_last(const int32_t *mask, size_t n);

/* Checks that ATTENTION has scores, which a key mask sets to -inf. */
enum attn_status attn_key_mask_check_kind(const struct attn_attention *attention,
                                          struct attn_error *err);

/* Whether the keys of a row of the kind, before masking, are close together, so that products with
 * all keys from the first to the last cost less than gathering them. */
bool attn_keys_are_near(const struct attn_attention *attention);

/* The keys first to last-1. */
struct attn_key_span {
    size_t first, last;
};

/* Writes the keys of SPAN to KEYS, unless KEYS is NULL. Returns their number. */
size_t attn_keys_put_span(struct attn_key_span span, int32_t *keys);
