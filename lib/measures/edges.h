/*
 * edges.h - the keys with the largest weights of each query, for patterns that are too large to
 * keep: memory grows with the length of the text, not with its square.
 *
 *     struct attn_edges *edges;
 *     attn_edges_create(selection, 3, NULL, &edges, &err);
 *     attn_edges_add(edges, event); // for each event of the pattern
 *     const struct attn_location head = {.layer = 5, .head = 1};
 *     const struct attn_edge *found = attn_edges_find(edges, &head, query, &n);
 *     for (size_t i = 0; i < n; i++)
 *         printf("%d %g\n", found[i].key, (double)found[i].weight); // the largest first
 *     attn_edges_free(edges);
 */
#ifndef ATTN_MEASURES_EDGES_H
#define ATTN_MEASURES_EDGES_H

#include "base/pool.h"
#include "trace/trace.h"

struct attn_edge {
    int32_t key;  /* position of the key; for cross-attention the row of the source */
    float weight; /* weight on the key */
};

struct attn_edges;

/* Creates edges: the N_MOST >= 1 keys with the largest weights of each query and head of SELECTION.
 * SELECTION and POOL are borrowed; POOL may be NULL. An edge takes 8 bytes. Errors: ATTN_NO_MEMORY.
 */
enum attn_status attn_edges_create(const struct attn_selection *selection, size_t n_most,
                                   struct attn_pool *pool, struct attn_edges **edges,
                                   struct attn_error *err);

/* Adds the rows of EVENT, which must be of the pattern. */
void attn_edges_add(struct attn_edges *edges, const struct attn_trace_event *event);

/* Returns the edges [*n] of QUERY in the head AT, the largest weight first, and of equal weights
 * the smaller key first. There are fewer than N_MOST if fewer keys are unmasked, and none if the
 * head or the query is not selected. Borrowed. */
const struct attn_edge *attn_edges_find(const struct attn_edges *edges,
                                        const struct attn_location *at, size_t query, size_t *n);

void attn_edges_free(struct attn_edges *edges); /* NULL is allowed */

#endif
