/*
 * spans.c - kinds that keep one span of adjacent keys in each row, with or without steps: other
 * keys whose distance is a multiple of the stride.
 *
 * `strided` is `hybrid` with W = S. If S is near sqrt(n), each key is reached in two steps, and a
 * row has about 2 sqrt(n) keys (Child et al. 1904.10509, section 4.3).
 */
#include "attention/attention_internal.h"

#include <stddef.h>

/* Returns the keys j with |i-j| < W, for row position i; all keys if the kind has no W. */
static struct attn_key_span near(const struct attn_attention *attention,
                                 const struct attn_key_row *row)
{
    const size_t i = row->position, n = row->n_key, width = attn_kind_width(attention);
    const bool is_in_block = attn_keys_have_block(attention, i);
    const size_t first =
        i < width || (is_in_block && attention->block.ignores_window) ? 0 : i - width + 1;
    const size_t last = !is_in_block && i < n && width < n - i ? i + width : n;

    return (struct attn_key_span){first < last ? first : last, last};
}

static size_t largest_near(const struct attn_attention *attention, size_t n_key)
{
    const size_t width = attn_kind_width(attention);
    const struct attn_mask_block *block = &attention->block;
    const size_t n_block = block->end - (block->ignores_window ? 0 : block->first);

    if (width >= n_key || n_block >= n_key - width ||
        (attention->mask != ATTN_MASK_CAUSAL && width > n_key / 2))
        return n_key;
    return attention->mask == ATTN_MASK_CAUSAL ? width + n_block : 2 * width - 1;
}

static struct attn_key_span block(const struct attn_attention *attention,
                                  const struct attn_key_row *row)
{
    const size_t n = row->n_key, size = attn_kind_width(attention);
    const size_t first = row->position - row->position % size;

    if (first >= n)
        return (struct attn_key_span){n, n};
    return (struct attn_key_span){first, size < n - first ? first + size : n};
}

#define PAIRS .scores = ATTN_GIVES_DIRECTLY, .pattern = ATTN_GIVES_DIRECTLY
#define NEAR PAIRS, .span = near, .largest = largest_near
#define COUNT(name, field, is_optional)                                                            \
    {                                                                                              \
        ATTN_KIND_PARAM_COUNT, name, offsetof(struct attn_attention, field), is_optional           \
    }

const struct attn_kind attn_kind_full = {
    NEAR,
    .summary = "all keys",
};

const struct attn_kind attn_kind_window = {
    NEAR,
    .summary = "keys less than W away",
    .params = {COUNT("W", window, false)},
};

const struct attn_kind attn_kind_block = {
    PAIRS,
    .summary = "keys of the query's own block of B",
    .params = {COUNT("B", count, false)},
    .span = block,
};

const struct attn_kind attn_kind_strided = {
    NEAR,
    .summary = "keys less than S away, and every S-th; S is sqrt(n) rounded up",
    .params = {COUNT("S", stride, true)},
    .has_steps = true,
};

const struct attn_kind attn_kind_hybrid = {
    NEAR,
    .summary = "keys less than W away, and every S-th from the query",
    .params = {COUNT("W", window, false), COUNT("S", stride, false)},
    .has_steps = true,
};
