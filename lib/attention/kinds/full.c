/* full.c - every key that the mask leaves. */
#include "attention/kind_internal.h"

static bool keeps(const struct attn_attention *attention, const struct attn_key_row *row, size_t j)
{
    (void)attention;
    (void)row;
    (void)j;
    return true;
}

static size_t list(const struct attn_attention *attention, const struct attn_key_row *row,
                   int32_t *keys)
{
    (void)attention;
    return attn_keys_put_span((struct attn_key_span){0, row->n_key}, keys);
}

static size_t count(const struct attn_attention *attention, const struct attn_key_row *row)
{
    (void)attention;
    return row->n_key;
}

static size_t most(const struct attn_attention *attention, size_t n_key)
{
    (void)attention;
    return n_key;
}

const struct attn_kind attn_kind_full = {
    .summary = "all keys",
    .scores = ATTN_GIVES_DIRECTLY,
    .pattern = ATTN_GIVES_DIRECTLY,
    .keeps = keeps,
    .list = list,
    .count = count,
    .most = most,
    .is_contiguous = true,
};
