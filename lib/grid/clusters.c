/* clusters.c - see clusters.h. The tree is built with a nearest-neighbour chain (Murtagh 1983): go
 * from any cluster to its nearest one until two clusters are nearest to each other, and merge them.
 * For average linkage this gives the same tree as the greedy method, in n^2 steps instead of
 * n^3. */
#include "grid/clusters.h"

#include "base/memory.h"

#include <math.h>
#include <stdint.h>

#define BLOCK 0.7 /* a block is a branch below this share of the tree's height */

/* State of the clustering. A cluster is a list of items; its number is that of one of its items. */
struct clusters {
    const float *given; /* [n, n] borrowed; distances of items */
    size_t n;
    double *distances;    /* [n, n] distances of clusters */
    size_t *next;         /* [n] the next item of the cluster, or SIZE_MAX */
    double *heights;      /* [n] height of the tree at which an item and the next one were joined */
    double top;           /* the height of the tree so far */
    size_t *first, *last; /* [n] the first and the last item of a cluster */
    size_t *size;         /* [n] items of a cluster; 0: it was merged into another */
    size_t *chain;        /* [n] the chain: each cluster is the nearest of the one before */
    size_t n_chain;
};

static double given(const struct clusters *clusters, size_t a, size_t b)
{
    return (double)clusters->given[a * clusters->n + b];
}

static double *distance(const struct clusters *clusters, size_t a, size_t b)
{
    return &clusters->distances[a * clusters->n + b];
}

/* Returns the cluster nearest to C; in a tie, BEFORE, the previous cluster of the chain. */
static size_t nearest(const struct clusters *clusters, size_t c, size_t before)
{
    size_t best = before;

    for (size_t i = 0; i < clusters->n; i++)
        if (i != c && clusters->size[i] > 0 &&
            (best == SIZE_MAX || *distance(clusters, c, i) < *distance(clusters, c, best)))
            best = i;
    return best;
}

static void turn(struct clusters *clusters, size_t c)
{
    size_t before = SIZE_MAX, at = clusters->first[c];
    double height = 0; /* height of the join of the previous item and this one */

    clusters->last[c] = at;
    while (at != SIZE_MAX) {
        const size_t after = clusters->next[at];
        const double next = clusters->heights[at];

        clusters->next[at] = before;
        clusters->heights[at] = height;
        height = next;
        before = at;
        at = after;
    }
    clusters->first[c] = before;
}

/* Reverses the list of A, of B, both or neither, so that the last item of A and the first of B are
 * as close as possible. */
static void turn_both(struct clusters *clusters, size_t a, size_t b)
{
    const size_t ends_a[] = {clusters->last[a], clusters->first[a]};
    const size_t ends_b[] = {clusters->first[b], clusters->last[b]};
    bool turns_a = false, turns_b = false;
    double best = given(clusters, ends_a[0], ends_b[0]);

    for (int i = 1; i < 4; i++) {
        const double other = given(clusters, ends_a[i & 1], ends_b[i >> 1]);

        if (other < best) {
            best = other;
            turns_a = i & 1;
            turns_b = i >> 1;
        }
    }
    if (turns_a)
        turn(clusters, a);
    if (turns_b)
        turn(clusters, b);
}

/* Merges A and B into one cluster, which keeps the smaller number. */
static void merge(struct clusters *clusters, size_t a, size_t b)
{
    const size_t into = a < b ? a : b, from = a < b ? b : a;
    const double n_into = (double)clusters->size[into], n_from = (double)clusters->size[from];

    turn_both(clusters, into, from);
    clusters->top = fmax(clusters->top, *distance(clusters, into, from));
    clusters->heights[clusters->last[into]] = *distance(clusters, into, from);
    clusters->next[clusters->last[into]] = clusters->first[from];
    clusters->last[into] = clusters->last[from];
    for (size_t i = 0; i < clusters->n; i++) {
        const double mean =
            (n_into * *distance(clusters, into, i) + n_from * *distance(clusters, from, i)) /
            (n_into + n_from);

        *distance(clusters, into, i) = *distance(clusters, i, into) = mean;
    }
    clusters->size[into] += clusters->size[from];
    clusters->size[from] = 0;
}

/* Extends the chain until two clusters can be merged, and merges them. */
static void merge_two(struct clusters *clusters)
{
    size_t *chain = clusters->chain;

    for (size_t i = 0; clusters->n_chain == 0; i++)
        if (clusters->size[i] > 0)
            chain[clusters->n_chain++] = i;
    for (;;) {
        const size_t c = chain[clusters->n_chain - 1];
        const size_t before = clusters->n_chain > 1 ? chain[clusters->n_chain - 2] : SIZE_MAX;
        const size_t found = nearest(clusters, c, before);

        if (found == before) {
            clusters->n_chain -= 2;
            merge(clusters, c, before);
            return;
        }
        chain[clusters->n_chain++] = found;
    }
}

static enum attn_status open_clusters(struct clusters *clusters, struct attn_error *err)
{
    const size_t n = clusters->n;

    ATTN_TRY(ATTN_ALLOC(clusters->distances, n * n, err));
    ATTN_TRY(ATTN_ALLOC(clusters->heights, n, err));
    ATTN_TRY(ATTN_ALLOC(clusters->next, 5 * n, err));
    clusters->first = clusters->next + n;
    clusters->last = clusters->first + n;
    clusters->size = clusters->last + n;
    clusters->chain = clusters->size + n;
    for (size_t i = 0; i < n * n; i++)
        clusters->distances[i] = (double)clusters->given[i];
    for (size_t i = 0; i < n; i++) {
        clusters->next[i] = SIZE_MAX;
        clusters->first[i] = clusters->last[i] = i;
        clusters->size[i] = 1;
    }
    return ATTN_OK;
}

enum attn_status attn_clusters_order(const float *distances, size_t n, size_t *order, bool *begins,
                                     struct attn_error *err)
{
    struct clusters clusters = {.given = distances, .n = n};
    enum attn_status status = n > 0 ? open_clusters(&clusters, err) : ATTN_OK;

    if (status == ATTN_OK && n > 0) {
        for (size_t i = 1; i < n; i++)
            merge_two(&clusters);
        /* all items are now in cluster 0 */
        for (size_t i = 0, at = clusters.first[0]; i < n; i++, at = clusters.next[at]) {
            order[i] = at;
            if (begins)
                begins[i] = i > 0 && clusters.heights[order[i - 1]] > BLOCK * clusters.top;
        }
    }
    attn_free(clusters.distances);
    attn_free(clusters.next);
    attn_free(clusters.heights);
    return status;
}
