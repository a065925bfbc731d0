/* made_merges.c - see made_merges.h. */
#include "tests/adversary/made_merges.h"

#include <string.h>

int32_t attn_made_merges_find(const struct attn_made_merges *merges, const char *text, size_t size)
{
    for (size_t i = 0; i < merges->n; i++)
        if (merges->tokens[i].size == size && memcmp(merges->tokens[i].text, text, size) == 0)
            return (int32_t)i;
    return -1;
}

int32_t attn_made_merges_add_token(struct attn_made_merges *merges, const char *text, size_t size)
{
    const int32_t id = attn_made_merges_find(merges, text, size);

    if (id >= 0)
        return id;
    FUZZ_CHECK(merges->n < ATTN_MADE_MAX && size <= ATTN_MADE_TOKEN_SIZE);
    memcpy(merges->tokens[merges->n].text, text, size);
    merges->tokens[merges->n].size = size;
    return (int32_t)merges->n++;
}

void attn_made_merges_add(struct attn_case *c, struct attn_made_merges *merges)
{
    const size_t rank = merges->n_merge;
    int32_t sides[2];
    char text[2 * ATTN_MADE_TOKEN_SIZE];
    size_t size = 0;

    for (int side = 0; side < 2; side++) {
        const bool is_letter = rank == 0 || attn_case_chance(c, 50);
        const struct attn_made_merges_token *token;

        sides[side] = is_letter ? merges->letters[attn_case_below(c, ATTN_MADE_N_LETTER)]
                                : merges->pairs[attn_case_below(c, rank)].merged;
        token = &merges->tokens[sides[side]];
        memcpy(text + size, token->text, token->size);
        size += token->size;
    }
    for (size_t i = 0; i < rank; i++)
        if (merges->pairs[i].left == sides[0] && merges->pairs[i].right == sides[1])
            return;
    if (size > ATTN_MADE_TOKEN_SIZE / 2)
        return;
    FUZZ_CHECK(rank < ATTN_MADE_MAX_MERGE);
    merges->pairs[rank].left = sides[0];
    merges->pairs[rank].right = sides[1];
    merges->pairs[rank].merged = attn_made_merges_add_token(merges, text, size);
    merges->n_merge++;
}

size_t attn_made_merges_apply(const struct attn_made_merges *merges, int32_t *ids, size_t n)
{
    for (size_t rank = 0; rank < merges->n_merge;) {
        size_t at = 0;

        while (at + 1 < n &&
               (ids[at] != merges->pairs[rank].left || ids[at + 1] != merges->pairs[rank].right))
            at++;
        if (at + 1 >= n) {
            rank++;
            continue;
        }
        ids[at] = merges->pairs[rank].merged;
        memmove(ids + at + 1, ids + at + 2, (--n - at - 1) * sizeof *ids);
        rank = 0; /* a merge may make a pair that has a lower rank */
    }
    return n;
}
