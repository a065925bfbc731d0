/* block.c - the keys of the query's own block of B: floor(i/B) = floor(j/B). */
#include "attention/kind_internal.h"

#include <stddef.h>

static struct attn_key_span find_block(const struct attn_attention *attention,
                                       const struct attn_key_row *row)
{
    const size_t n = row->n_key;
    const size_t first = row->position - row->position % attention->count;

    if (first >= n)
        return (struct attn_key_span){n, n};
    return (struct attn_key_span){first,
                                  attention->count < n - first ? first + attention->count : n};
}

static bool keeps(const struct attn_attention *attention, const struct attn_key_row *row, size_t j)
{
    return row->position / attention->count == j / attention->count;
}

static size_t list(const struct attn_attention *attention, const struct attn_key_row *row,
                   int32_t *keys)
{
    return attn_keys_put_span(find_block(attention, row), keys);
}

static size_t count(const struct attn_attention *attention, const struct attn_key_row *row)
{
    const struct attn_key_span block = find_block(attention, row);

    return block.last - block.first;
}

static size_t most(const struct attn_attention *attention, size_t n_key)
{
    return attention->count < n_key ? attention->count : n_key;
}

const struct attn_kind attn_kind_block = {
    .summary = "keys of the query's own block of B",
    .params = {{ATTN_PARAM_COUNT, "B", offsetof(struct attn_attention, count), false}},
    .scores = ATTN_GIVES_DIRECTLY,
    .pattern = ATTN_GIVES_DIRECTLY,
    .keeps = keeps,
    .list = list,
    .count = count,
    .most = most,
    .is_contiguous = true,
};
