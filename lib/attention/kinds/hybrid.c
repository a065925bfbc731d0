/*
 * hybrid.c - dense near, sparse far: |i-j| < W, or S divides i-j. `strided` is this with W = S
 * (Child et al. 1904.10509, section 4.3).
 */
#include "attention/kind_internal.h"

#include <stddef.h>

static bool keeps(const struct attn_attention *attention, const struct attn_key_row *row, size_t j)
{
    return attn_keys_is_near_or_far(row, j, attention->window, attention->stride);
}

static size_t list(const struct attn_attention *attention, const struct attn_key_row *row,
                   int32_t *keys)
{
    return attn_keys_list_near_and_far(row, attention->window, attention->stride, keys);
}

static size_t count(const struct attn_attention *attention, const struct attn_key_row *row)
{
    return attn_keys_count_near_and_far(row, attention->window, attention->stride);
}

static size_t most(const struct attn_attention *attention, size_t n_key)
{
    return attn_keys_most_near_and_far(attention, attention->window, attention->stride, n_key);
}

const struct attn_kind attn_kind_hybrid = {
    .summary = "keys less than W away, and every S-th from the query",
    .params = {{ATTN_PARAM_COUNT, "W", offsetof(struct attn_attention, window), false},
               {ATTN_PARAM_COUNT, "S", offsetof(struct attn_attention, stride), false}},
    .scores = ATTN_GIVES_DIRECTLY,
    .pattern = ATTN_GIVES_DIRECTLY,
    .keeps = keeps,
    .list = list,
    .count = count,
    .most = most,
};
