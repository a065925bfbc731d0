/*
 * bpe.c - see bpe.h.
 *
 * encoder.py looks at all pairs in every round, takes the one of lowest rank, and merges all its
 * occurrences from left to right. Here a heap holds the candidates, so n bytes take O(n log n).
 * Places of the lowest rank leave the heap together and in order, and pairs that a round creates
 * wait for the next one, as they do there: with an odd merges.txt a new pair may rank below the one
 * that is being merged.
 */
#include "text/bpe.h"

#include "base/memory.h"

enum { CANCEL_INTERVAL = 1 << 12 }; /* pairs: a fraction of a millisecond */

enum attn_status attn_bpe_begin(struct attn_bpe_work *work, size_t n, struct attn_error *err)
{
    size_t capacity = work->capacity < 64 ? 64 : work->capacity;

    if (n <= work->capacity)
        return ATTN_OK;
    if (n >= UINT32_MAX)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "a run of %zu bytes without a place to split the text is too long, "
                              "expected less than 4 GiB",
                              n);
    while (capacity < n)
        capacity *= 2;
    attn_bpe_release(work);
    work->symbols = attn_alloc_uninitialized(capacity, sizeof *work->symbols, err);
    /* At most n - 1 candidates to begin with; each of at most n - 1 merges adds at most two. */
    work->heap = attn_alloc_uninitialized(capacity * 3, sizeof *work->heap, err);
    work->round = attn_alloc_uninitialized(capacity, sizeof *work->round, err);
    if (!work->symbols || !work->heap || !work->round) {
        attn_bpe_release(work);
        return ATTN_NO_MEMORY;
    }
    work->capacity = capacity;
    return ATTN_OK;
}

void attn_bpe_release(struct attn_bpe_work *work)
{
    attn_free(work->symbols);
    attn_free(work->heap);
    attn_free(work->round);
    *work = (struct attn_bpe_work){0};
}

/* Moves VALUE from the hole at AT up to its place. */
static void sift_up(uint64_t *heap, size_t at, uint64_t value)
{
    while (at > 0 && heap[(at - 1) / 2] > value) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = value;
}

/* Moves VALUE from the hole at AT down to its place. */
static void sift_down(uint64_t *heap, size_t n, size_t at, uint64_t value)
{
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && heap[child + 1] < heap[child];
        if (heap[child] >= value)
            break;
        heap[at] = heap[child];
    }
    heap[at] = value;
}

static uint64_t pop(struct attn_bpe_work *work)
{
    uint64_t lowest = work->heap[0];

    work->n_heap--;
    sift_down(work->heap, work->n_heap, 0, work->heap[work->n_heap]);
    return lowest;
}

/* Looks up the pair at AT anew; returns whether it is one that can be merged. */
static bool rank_pair(struct attn_bpe_symbol *symbols, size_t n, uint32_t at,
                      const struct attn_merges *merges)
{
    uint32_t next = symbols[at].next;

    symbols[at].rank =
        next < n ? attn_merges_rank(merges, symbols[at].id, symbols[next].id) : ATTN_NO_RANK;
    return symbols[at].rank != ATTN_NO_RANK;
}

static uint64_t candidate(const struct attn_bpe_symbol *symbols, uint32_t at)
{
    return (uint64_t)symbols[at].rank << 32 | at;
}

/* Merges the pair at AT and pushes the pairs that its neighbours now make with it. */
static void merge_pair(struct attn_bpe_work *work, size_t n, uint32_t at,
                       const struct attn_merges *merges)
{
    struct attn_bpe_symbol *symbols = work->symbols;
    uint32_t gone = symbols[at].next, next = symbols[gone].next;

    symbols[at].id = merges->merged[symbols[at].rank];
    symbols[at].next = next;
    symbols[gone].rank = ATTN_NO_RANK; /* its candidate is void */
    if (next < n)
        symbols[next].previous = at;
    if (rank_pair(symbols, n, at, merges)) {
        sift_up(work->heap, work->n_heap, candidate(symbols, at));
        work->n_heap++;
    }
    if (at > 0 && rank_pair(symbols, n, symbols[at].previous, merges)) {
        sift_up(work->heap, work->n_heap, candidate(symbols, symbols[at].previous));
        work->n_heap++;
    }
}

/* Whether merging is to end now: asked of pair I of many, and looked at of some of them. */
static bool is_canceled(const struct attn_bpe_work *work, size_t i)
{
    return i % CANCEL_INTERVAL == 0 && work->cancel && *work->cancel;
}

bool attn_bpe_merge(struct attn_bpe_work *work, size_t n, const struct attn_merges *merges)
{
    struct attn_bpe_symbol *symbols = work->symbols;

    work->n_heap = 0;
    for (uint32_t i = 0; i < n; i++) {
        symbols[i].previous = i - 1; /* of the first: never used */
        symbols[i].next = i + 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (is_canceled(work, i))
            return false;
        if (rank_pair(symbols, n, i, merges))
            work->heap[work->n_heap++] = candidate(symbols, i);
    }
    for (size_t i = work->n_heap / 2; i-- > 0;)
        sift_down(work->heap, work->n_heap, i, work->heap[i]);

    while (work->n_heap > 0) {
        uint32_t rank = (uint32_t)(work->heap[0] >> 32);
        size_t n_round = 0;

        while (work->n_heap > 0 && work->heap[0] >> 32 == rank) {
            if (is_canceled(work, n_round))
                return false;
            work->round[n_round++] = (uint32_t)pop(work);
        }
        for (size_t i = 0; i < n_round; i++) {
            if (is_canceled(work, i))
                return false;
            if (symbols[work->round[i]].rank == rank) /* else the pair is no more */
                merge_pair(work, n, work->round[i], merges);
        }
    }
    return true;
}
