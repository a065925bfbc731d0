/* window.c - the keys around the query: |i-j| < W. */
#include "attention/kind_internal.h"

#include <stddef.h>

static bool keeps(const struct attn_attention *attention, const struct attn_key_row *row, size_t j)
{
    const size_t i = row->position;

    return (i > j ? i - j : j - i) < attention->window;
}

static size_t list(const struct attn_attention *attention, const struct attn_key_row *row,
                   int32_t *keys)
{
    return attn_keys_put_span(attn_keys_near(row, attention->window), keys);
}

static size_t count(const struct attn_attention *attention, const struct attn_key_row *row)
{
    const struct attn_key_span near = attn_keys_near(row, attention->window);

    return near.last - near.first;
}

static size_t most(const struct attn_attention *attention, size_t n_key)
{
    return attn_keys_most_near(attention, attention->window, n_key);
}

const struct attn_kind attn_kind_window = {
    .summary = "keys less than W away",
    .params = {{ATTN_PARAM_COUNT, "W", offsetof(struct attn_attention, window), false}},
    .scores = ATTN_GIVES_DIRECTLY,
    .pattern = ATTN_GIVES_DIRECTLY,
    .keeps = keeps,
    .list = list,
    .count = count,
    .most = most,
    .is_contiguous = true,
};
