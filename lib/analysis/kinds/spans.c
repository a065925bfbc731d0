/*
 * spans.c - kinds that keep spans of adjacent keys in each row, beside those of models: one span
 * with steps, which are other keys whose distance is a multiple of the stride; or a block of a
 * grid, which has a span in each of its rows.
 *
 * `strided` is `hybrid` with W = S. If S is near sqrt(n), each key is reached in two steps, and a
 * row has about 2 sqrt(n) keys (Child et al. 1904.10509, section 4.3).
 */
#include "attention/attention_internal.h"
#include "base/memory.h"

#include <stddef.h>

/* Returns the columns of the grid whose blocks are kept. */
static size_t n_column(const struct attn_attention *attention)
{
    return attention->stride > 0 ? attention->stride : SIZE_MAX;
}

static bool keeps_block(const struct attn_attention *attention, const struct attn_key_row *row,
                        size_t j)
{
    const size_t size = attention->count, n_col = n_column(attention), i = row->position;

    return i / n_col / size == j / n_col / size && i % n_col / size == j % n_col / size;
}

static size_t list_block(const struct attn_attention *attention, const struct attn_key_row *row,
                         int32_t *keys)
{
    const size_t size = attention->count, n_col = n_column(attention), i = row->position;
    const size_t left = i % n_col - i % n_col % size, n_key = row->n_key;
    const size_t width = size < n_col - left ? size : n_col - left;
    size_t first = (i / n_col - i / n_col % size) * n_col + left, n = 0;

    for (size_t k = 0; k < size && first < n_key; k++) {
        const size_t n_left = n_key - first;

        n += attn_keys_put_span(
            (struct attn_key_span){first, first + (width < n_left ? width : n_left)},
            keys ? keys + n : NULL);
        first = n_col < n_left ? first + n_col : n_key;
    }
    return n;
}

static size_t largest_block(const struct attn_attention *attention, size_t n_key)
{
    const size_t size = attention->count;
    const size_t n = attn_size_mul(size, attention->stride > 0 ? size : 1);

    return n < n_key ? n : n_key;
}

const struct attn_kind attn_kind_block = {
    ATTN_KIND_PAIRS,
    .summary = "keys of the query's own block of B, or of B x B in a grid of C columns",
    .params = {ATTN_KIND_COUNT("B", count, false), ATTN_KIND_COUNT("C", stride, true)},
    .is_near = true,
    .keeps = keeps_block,
    .list = list_block,
    .largest = largest_block,
};

const struct attn_kind attn_kind_strided = {
    ATTN_KIND_NEAR,
    .summary = "keys less than S away, and every S-th; S is sqrt(n) rounded up",
    .params = {ATTN_KIND_COUNT("S", stride, true)},
    .has_steps = true,
};

const struct attn_kind attn_kind_hybrid = {
    ATTN_KIND_NEAR,
    .summary = "keys less than W away, and every S-th from the query",
    .params = {ATTN_KIND_COUNT("W", window, false), ATTN_KIND_COUNT("S", stride, false)},
    .has_steps = true,
};
