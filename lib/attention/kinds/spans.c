/*
 * spans.c - kinds whose rows are one span of neighbouring keys, with or without steps: keys beside
 * the span that are a multiple of the stride away.
 *
 * `strided` is `hybrid` with W = S: with S near sqrt(n), each key is reached in two steps and a row
 * holds about 2 sqrt(n) of them (Child et al. 1904.10509, section 4.3).
 */
#include "attention/kind_internal.h"

#include <stddef.h>

static struct attn_key_span span_of_all(const struct attn_attention *attention,
                                        const struct attn_key_row *row)
{
    (void)attention;
    return (struct attn_key_span){0, row->n_key};
}

static size_t largest_of_all(const struct attn_attention *attention, size_t n_key)
{
    (void)attention;
    return n_key;
}

/* Keys j with |i-j| < WINDOW, i the position of ROW. */
static struct attn_key_span find_near(const struct attn_key_row *row, size_t window)
{
    const size_t i = row->position, n = row->n_key;
    const size_t first = i >= window ? i - window + 1 : 0;
    const size_t last = i < n && window < n - i ? i + window : n;

    return (struct attn_key_span){first < last ? first : last, last};
}

static size_t largest_near(const struct attn_attention *attention, size_t window, size_t n_key)
{
    if (window >= n_key || (attention->mask != ATTN_MASK_CAUSAL && window > n_key / 2))
        return n_key;
    return attention->mask == ATTN_MASK_CAUSAL ? window : 2 * window - 1;
}

static struct attn_key_span span_of_window(const struct attn_attention *attention,
                                           const struct attn_key_row *row)
{
    return find_near(row, attention->window);
}

static size_t largest_of_window(const struct attn_attention *attention, size_t n_key)
{
    return largest_near(attention, attention->window, n_key);
}

static struct attn_key_span span_of_stride(const struct attn_attention *attention,
                                           const struct attn_key_row *row)
{
    return find_near(row, attention->stride);
}

static size_t largest_of_stride(const struct attn_attention *attention, size_t n_key)
{
    return largest_near(attention, attention->stride, n_key);
}

static struct attn_key_span span_of_block(const struct attn_attention *attention,
                                          const struct attn_key_row *row)
{
    const size_t n = row->n_key, size = attention->count;
    const size_t first = row->position - row->position % size;

    if (first >= n)
        return (struct attn_key_span){n, n};
    return (struct attn_key_span){first, size < n - first ? first + size : n};
}

static size_t largest_of_block(const struct attn_attention *attention, size_t n_key)
{
    return attention->count < n_key ? attention->count : n_key;
}

#define PAIRS .scores = ATTN_GIVES_DIRECTLY, .pattern = ATTN_GIVES_DIRECTLY
#define COUNT(name, field, is_optional)                                                            \
    {                                                                                              \
        ATTN_PARAM_COUNT, name, offsetof(struct attn_attention, field), is_optional                \
    }

const struct attn_kind attn_kind_full = {
    PAIRS,
    .summary = "all keys",
    .span = span_of_all,
    .largest = largest_of_all,
};

const struct attn_kind attn_kind_window = {
    PAIRS,
    .summary = "keys less than W away",
    .params = {COUNT("W", window, false)},
    .span = span_of_window,
    .largest = largest_of_window,
};

const struct attn_kind attn_kind_block = {
    PAIRS,
    .summary = "keys of the query's own block of B",
    .params = {COUNT("B", count, false)},
    .span = span_of_block,
    .largest = largest_of_block,
};

const struct attn_kind attn_kind_strided = {
    PAIRS,
    .summary = "keys less than S away, and every S-th; S is sqrt(n) rounded up",
    .params = {COUNT("S", stride, true)},
    .span = span_of_stride,
    .largest = largest_of_stride,
    .has_steps = true,
};

const struct attn_kind attn_kind_hybrid = {
    PAIRS,
    .summary = "keys less than W away, and every S-th from the query",
    .params = {COUNT("W", window, false), COUNT("S", stride, false)},
    .span = span_of_window,
    .largest = largest_of_window,
    .has_steps = true,
};
