/*
 * random.c - keeps the query itself and K-1 other keys, drawn by seed, layer, head and position.
 *
 * A row shuffles its candidates and keeps the first K-1. The shuffle is a cipher: a Feistel network
 * over numbers of just enough bits, repeated until the result is below the number of candidates
 * (Black and Rogaway 2002, "Ciphers with arbitrary finite domains"). So each place of the shuffle,
 * and the place of a given key, is computed directly. No table is needed, and the work grows with K
 * and not with n.
 */
#include "attention/attention_internal.h"

#include <stddef.h>
#include <string.h>

enum {
    N_ROUND = 8,         /* rounds of the network */
    MAP_BITS = 1 << 15,  /* largest number of bits in a bit map */
    MAP_BITS_EACH = 256, /* bits in the map per drawn key from which sorting is faster */
};

/* A permutation of 0 .. n-1: a Feistel network over numbers of just enough bits. */
struct shuffle {
    uint32_t n;
    unsigned n_low; /* bits of the lower half */
    uint32_t mask_low, mask_high;
    uint32_t keys[N_ROUND];
};

/* The finalizer of SplitMix64 (Steele, Lea, Flood 2014) after one step. */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static struct shuffle make_shuffle(const struct attn_attention *attention,
                                   const struct attn_key_row *row, size_t n)
{
    struct shuffle shuffle = {.n = (uint32_t)n};
    unsigned n_bit = 6; /* with fewer bits, some draws would be noticeably more frequent */
    uint64_t state = mix(attention->seed);

    while (n_bit < 32 && (n - 1) >> n_bit > 0)
        n_bit++;
    shuffle.n_low = (n_bit + 1) / 2;
    shuffle.mask_low = (UINT32_C(1) << shuffle.n_low) - 1;
    shuffle.mask_high = (UINT32_C(1) << n_bit / 2) - 1;
    state = mix(state ^ (uint64_t)row->layer);
    state = mix(state ^ (uint64_t)row->head);
    state = mix(state ^ row->position);
    for (int i = 0; i < N_ROUND; i++)
        shuffle.keys[i] = (uint32_t)(state = mix(state));
    return shuffle;
}

static uint32_t scramble(uint32_t half, uint32_t key)
{
    uint32_t x = (half + key) * UINT32_C(0x9e3779b1);

    x = (x ^ (x >> 15)) * UINT32_C(0x85ebca6b);
    x = (x ^ (x >> 13)) * UINT32_C(0xc2b2ae35);
    return x ^ (x >> 16);
}

/* Returns the number at place X of the shuffle, or, if IS_INVERSE, the place of number X. Each
 * round changes one half by the scrambled other half, so the rounds in reverse order undo it. */
static uint32_t permute(const struct shuffle *shuffle, bool is_inverse, uint32_t x)
{
    do {
        uint32_t low = x & shuffle->mask_low, high = x >> shuffle->n_low;

        for (int i = 0; i < N_ROUND; i++) {
            const int round = is_inverse ? N_ROUND - 1 - i : i;

            if (round % 2 == 0)
                low ^= scramble(high, shuffle->keys[round]) & shuffle->mask_low;
            else
                high ^= scramble(low, shuffle->keys[round]) & shuffle->mask_high;
        }
        x = high << shuffle->n_low | low;
    } while (x >= shuffle->n);
    return x;
}

/* How many keys to draw: from the visible keys except the query itself, if it is one of them. */
struct key_draw {
    bool has_self;
    size_t n_other, n_drawn;
};

static struct key_draw plan_draw(const struct attn_attention *attention,
                                 const struct attn_key_row *row)
{
    const bool has_self = row->position < row->n_key;
    const size_t n_other = row->n_key - has_self, wanted = attention->count - has_self;

    return (struct key_draw){has_self, n_other, wanted < n_other ? wanted : n_other};
}

static bool keeps(const struct attn_attention *attention, const struct attn_key_row *row, size_t j)
{
    const struct key_draw draw = plan_draw(attention, row);
    struct shuffle shuffle;

    if (j == row->position || draw.n_drawn == draw.n_other)
        return true;
    if (draw.n_drawn == 0)
        return false;
    shuffle = make_shuffle(attention, row, draw.n_other);
    return permute(&shuffle, true, (uint32_t)(j - (j > row->position))) < draw.n_drawn;
}

/* Sorts KEYS ascending by Shell's method with the gaps of Ciura (2001): in place, and fast for few
 * keys. */
static void sort(int32_t *keys, size_t n)
{
    static const size_t gaps[] = {8858, 3937, 1750, 701, 301, 132, 57, 23, 10, 4, 1};

    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (size_t i = gaps[g]; i < n; i++) {
            const int32_t key = keys[i];
            size_t at = i;

            for (; at >= gaps[g] && keys[at - gaps[g]] > key; at -= gaps[g])
                keys[at] = keys[at - gaps[g]];
            keys[at] = key;
        }
}

/* Sorts distinct keys below N_NUMBER ascending with a bit map: fast if they are dense. */
static void sort_by_map(int32_t *keys, size_t n, size_t n_number)
{
    uint64_t map[MAP_BITS / 64];
    const size_t n_word = (n_number + 63) / 64;
    size_t at = 0;

    memset(map, 0, n_word * sizeof *map);
    for (size_t i = 0; i < n; i++)
        map[keys[i] / 64] |= UINT64_C(1) << keys[i] % 64;
    for (size_t i = 0; i < n_word; i++)
        for (uint64_t left = map[i]; left != 0; left &= left - 1)
            keys[at++] = (int32_t)(i * 64 + (size_t)__builtin_ctzll(left));
}

static size_t list(const struct attn_attention *attention, const struct attn_key_row *row,
                   int32_t *keys)
{
    const struct key_draw draw = plan_draw(attention, row);
    size_t at = draw.n_drawn;

    if (!keys)
        return draw.n_drawn + draw.has_self;
    if (draw.n_drawn == draw.n_other)
        return attn_keys_put_span((struct attn_key_span){0, row->n_key}, keys);
    if (draw.n_drawn > 0) {
        const struct shuffle shuffle = make_shuffle(attention, row, draw.n_other);

        for (size_t i = 0; i < draw.n_drawn; i++)
            keys[i] = (int32_t)permute(&shuffle, false, (uint32_t)i);
        if (draw.n_other <= MAP_BITS && draw.n_other / MAP_BITS_EACH <= draw.n_drawn)
            sort_by_map(keys, draw.n_drawn, draw.n_other);
        else
            sort(keys, draw.n_drawn);
    }
    if (!draw.has_self)
        return draw.n_drawn;
    for (; at > 0 && (size_t)keys[at - 1] >= row->position; at--)
        keys[at] = keys[at - 1] + 1; /* numbers from the query's position on name the next key,
                                        because the query was left out */
    keys[at] = (int32_t)row->position;
    return draw.n_drawn + 1;
}

const struct attn_kind attn_kind_random = {
    .summary = "the query itself and K-1 others, drawn by seed, layer, head and row",
    .params = {{ATTN_KIND_PARAM_COUNT, "K", offsetof(struct attn_attention, count), false},
               {ATTN_KIND_PARAM_SEED, "SEED", offsetof(struct attn_attention, seed), true}},
    .scores = ATTN_GIVES_DIRECTLY,
    .pattern = ATTN_GIVES_DIRECTLY,
    .keeps = keeps,
    .list = list,
};
