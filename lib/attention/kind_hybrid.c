/*
 * kind_hybrid.c - dense near, sparse far: |i-j| < W, or S divides i-j. `strided` is this with W = S
 * (Child et al. 1904.10509, section 4.3).
 */
#include "attention/kinds.h"

#include <stddef.h>

/* The first key behind the window, at i + S ceil(W/S); n_key when there is none. */
static size_t first_far(const struct attn_key_row *row, size_t window, size_t stride)
{
    const size_t i = row->position, n = row->n_key;
    const size_t n_step = (window - 1) / stride + 1;

    return i < n && n_step <= (n - 1 - i) / stride ? i + n_step * stride : n;
}

bool attn_keys_is_near_or_far(const struct attn_key_row *row, size_t j, size_t window,
                              size_t stride)
{
    const size_t i = row->position;
    const size_t distance = i > j ? i - j : j - i;

    return distance < window || distance % stride == 0;
}

size_t attn_keys_list_near_and_far(const struct attn_key_row *row, size_t window, size_t stride,
                                   int32_t *keys)
{
    const struct attn_key_span near = attn_keys_near(row, window);
    size_t n = 0;

    for (size_t j = row->position % stride; j < near.first; j += stride)
        keys[n++] = (int32_t)j;
    n += attn_keys_put_span(near, keys + n);
    for (size_t j = first_far(row, window, stride); j < row->n_key; j += stride)
        keys[n++] = (int32_t)j;
    return n;
}

/* Of first, first + stride, ... those below LAST. */
static size_t count_steps(size_t first, size_t last, size_t stride)
{
    return first < last ? (last - first - 1) / stride + 1 : 0;
}

size_t attn_keys_count_near_and_far(const struct attn_key_row *row, size_t window, size_t stride)
{
    const struct attn_key_span near = attn_keys_near(row, window);

    return count_steps(row->position % stride, near.first, stride) + (near.last - near.first) +
           count_steps(first_far(row, window, stride), row->n_key, stride);
}

size_t attn_keys_most_near_and_far(const struct attn_attention *attention, size_t window,
                                   size_t stride, size_t n_key)
{
    const size_t near = attn_keys_most_near(attention, window, n_key);
    const size_t far = n_key > 0 ? (n_key - 1) / stride : 0;

    return far < n_key - near ? near + far : n_key;
}

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
