/* sink.c - a window and the first keys, which attract attention when no other key matches (Xiao et
 * al. 2309.17453). Unlike StreamingLLM, keys keep their positions in the text. */
#include "attention/attention_internal.h"

#include <stddef.h>

static bool keeps(const struct attn_attention *attention, const struct attn_key_row *row, size_t j)
{
    const size_t i = row->position;

    return j < attention->count || (i > j ? i - j : j - i) < attention->window;
}

static size_t list(const struct attn_attention *attention, const struct attn_key_row *row,
                   int32_t *keys)
{
    const size_t i = row->position, n_key = row->n_key, width = attention->window;
    const size_t n_sink = attention->count < n_key ? attention->count : n_key;
    const size_t begin = i >= width ? i - width + 1 : 0, first = begin > n_sink ? begin : n_sink;
    const size_t last = i < n_key && width < n_key - i ? i + width : n_key;
    size_t n = 0;

    if (!keys)
        return n_sink + (first < last ? last - first : 0);
    for (size_t key = 0; key < n_sink; key++)
        keys[n++] = (int32_t)key;
    for (size_t key = first; key < last; key++)
        keys[n++] = (int32_t)key;
    return n;
}

static size_t largest(const struct attn_attention *attention, size_t n_key)
{
    const size_t width = attention->window;
    const size_t rest = attention->count < n_key ? n_key - attention->count : 0;
    const bool is_causal = attention->mask == ATTN_MASK_CAUSAL;

    if (width >= rest || (!is_causal && width > rest / 2))
        return n_key;
    return attention->count + (is_causal ? width : 2 * width - 1);
}

const struct attn_kind attn_kind_sink = {
    .summary = "the first K keys, and keys less than W away",
    .scores = ATTN_GIVES_DIRECTLY,
    .pattern = ATTN_GIVES_DIRECTLY,
    .params = {{ATTN_KIND_PARAM_COUNT, "K", offsetof(struct attn_attention, count), false},
               {ATTN_KIND_PARAM_COUNT, "W", offsetof(struct attn_attention, window), false}},
    .keeps = keeps,
    .list = list,
    .largest = largest,
};
