/* naive.c - see naive.h. */
#include "tests/fuzz/naive.h"

size_t attn_naive_merge(const struct attn_merges *merges, int32_t *ids, size_t n)
{
    for (;;) {
        uint32_t lowest = ATTN_NO_RANK;
        size_t kept = 0;

        for (size_t i = 0; i + 1 < n; i++) {
            const uint32_t rank = attn_merges_rank(merges, ids[i], ids[i + 1]);

            lowest = rank < lowest ? rank : lowest;
        }
        if (lowest == ATTN_NO_RANK)
            return n;
        for (size_t i = 0; i < n; kept++) {
            if (i + 1 < n && attn_merges_rank(merges, ids[i], ids[i + 1]) == lowest) {
                ids[kept] = merges->merged[lowest];
                i += 2;
            } else {
                ids[kept] = ids[i++];
            }
        }
        n = kept;
    }
}
