/* kind_window.c - the keys around the query: |i-j| < W. Also the window of other kinds. */
#include "attention/kinds.h"

#include <stddef.h>

struct attn_key_span attn_keys_near(const struct attn_key_row *row, size_t window)
{
    const size_t i = row->position, n = row->n_key;
    const size_t first = i >= window ? i - window + 1 : 0;
    const size_t last = i < n && window < n - i ? i + window : n;

    return (struct attn_key_span){first < last ? first : last, last};
}

size_t attn_keys_put_span(struct attn_key_span span, int32_t *keys)
{
    for (size_t j = span.first; j < span.last; j++)
        keys[j - span.first] = (int32_t)j;
    return span.last - span.first;
}

size_t attn_keys_most_near(const struct attn_attention *attention, size_t window, size_t n_key)
{
    if (window >= n_key || (attention->mask != ATTN_MASK_CAUSAL && window > n_key / 2))
        return n_key;
    return attention->mask == ATTN_MASK_CAUSAL ? window : 2 * window - 1;
}

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
    .is_together = true,
};
