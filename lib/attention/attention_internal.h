/* attention_internal.h - declarations of attention.h that only the library uses. */
#ifndef ATTN_ATTENTION_ATTENTION_INTERNAL_H
#define ATTN_ATTENTION_ATTENTION_INTERNAL_H

#include "attention/attention.h"

/* Gives `strided` the stride for N_KEY keys, where none was given: sqrt(N_KEY), rounded up. */
void attn_attention_resolve_stride(struct attn_attention *attention, size_t n_key);

enum attn_gives {
    ATTN_GIVES_NOT,
    ATTN_GIVES_DIRECTLY,  /* it is a step on the way */
    ATTN_GIVES_ON_DEMAND, /* rows that are watched are computed for that alone */
};

/* How it computes a matrix site, or z; ATTN_GIVES_NOT for all other sites. */
enum attn_gives attn_attention_gives(const struct attn_attention *attention, enum attn_site site);

/* The matrix sites (ATTN_SITE_BIT) that it can give, and z. */
attn_site_set attn_attention_sites(const struct attn_attention *attention);

/*
 * The number of pairs of a query and a key that are computed in one head: those that kind and mask
 * keep. N_QUERY rows; the last of them stands at the last key when the mask is causal. Linear
 * attention computes none (0), low-rank n_query * R. The stride is resolved.
 */
uint64_t attn_attention_n_pair(const struct attn_attention *attention, size_t n_query, size_t n_key,
                               int layer, int head);

/*
 * Whether the parts can be combined. The message of ATTN_INVALID names the conflict and the reason,
 * for example for causal low-rank attention. IS_CROSS: keys come from a source, so that nothing is
 * causal. Linear attention takes is_scaled and factor and does not use them.
 */
enum attn_status attn_attention_check(const struct attn_attention *attention, bool is_cross,
                                      struct attn_error *err);

/* Whether N_KEY keys are enough for it. ATTN_INVALID for low-rank attention with more mixtures. */
enum attn_status attn_attention_check_keys(const struct attn_attention *attention, size_t n_key,
                                           struct attn_error *err);

#endif
