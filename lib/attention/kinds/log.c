/* log.c - |i-j| is 0 or a power of two: about log2(n) keys a row. */
#include "attention/kind_internal.h"

/* The largest power of two <= N; 0 for 0. */
static size_t power_below(size_t n)
{
    size_t power = 1;

    while (power <= n / 2)
        power += power;
    return n > 0 ? power : 0;
}

/* How many of 1, 2, 4, ... are <= N. */
static size_t count_powers(size_t n)
{
    size_t found = 0;

    for (; n > 0; n /= 2)
        found++;
    return found;
}

static bool keeps(const struct attn_attention *attention, const struct attn_key_row *row, size_t j)
{
    const size_t i = row->position;
    const size_t distance = i > j ? i - j : j - i;

    (void)attention;
    return (distance & (distance - 1)) == 0;
}

static size_t list(const struct attn_attention *attention, const struct attn_key_row *row,
                   int32_t *keys)
{
    const size_t i = row->position;
    size_t n = 0;

    (void)attention;
    for (size_t distance = power_below(i); distance > 0; distance /= 2)
        if (i - distance < row->n_key)
            keys[n++] = (int32_t)(i - distance);
    if (i >= row->n_key)
        return n;
    keys[n++] = (int32_t)i;
    for (size_t distance = 1; distance < row->n_key - i; distance *= 2)
        keys[n++] = (int32_t)(i + distance);
    return n;
}

static size_t count(const struct attn_attention *attention, const struct attn_key_row *row)
{
    const size_t i = row->position;

    (void)attention;
    if (i >= row->n_key) /* only the distances i-n_key+1 .. i */
        return count_powers(i) - count_powers(i - row->n_key);
    return count_powers(i) + 1 + count_powers(row->n_key - 1 - i);
}

static size_t largest(const struct attn_attention *attention, size_t n_key)
{
    const size_t n_side = attention->mask == ATTN_MASK_CAUSAL ? 1 : 2;
    const size_t n = n_key > 0 ? 1 + n_side * count_powers(n_key - 1) : 0;

    return n < n_key ? n : n_key;
}

const struct attn_kind attn_kind_log = {
    .summary = "keys 0, 1, 2, 4, 8, ... away",
    .scores = ATTN_GIVES_DIRECTLY,
    .pattern = ATTN_GIVES_DIRECTLY,
    .keeps = keeps,
    .list = list,
    .count = count,
    .largest = largest,
};
