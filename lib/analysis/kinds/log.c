/* log.c - keeps keys at distance |i-j| of 0 or a power of two: about log2(n) keys a row. */
#include "attention/attention_internal.h"

/* Returns how many of the powers 1, 2, 4, ... are <= N. */
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
    const size_t i = row->position, n_key = row->n_key;
    const size_t n_left = count_powers(i), n_missing = i >= n_key ? count_powers(i - n_key) : 0;
    size_t n = 0;

    (void)attention;
    if (!keys)
        return n_left - n_missing + (i < n_key ? 1 + count_powers(n_key - 1 - i) : 0);
    for (size_t power = n_left; power-- > n_missing;) /* only powers with i - 2^power < n_key */
        keys[n++] = (int32_t)(i - ((size_t)1 << power));
    if (i >= n_key)
        return n;
    keys[n++] = (int32_t)i;
    for (size_t distance = 1; distance < n_key - i; distance *= 2)
        keys[n++] = (int32_t)(i + distance);
    return n;
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
    .largest = largest,
};
