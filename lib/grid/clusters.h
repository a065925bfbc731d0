/*
 * clusters.h - orders items so that similar ones are adjacent: the leaves of an average linkage
 * tree (UPGMA), whose branches are flipped so that neighbouring leaves of different branches are as
 * close as possible.
 *
 *     attn_clusters_order(distances, n, order, NULL, &err);   // order[0] comes first
 */
#ifndef ATTN_GRID_CLUSTERS_H
#define ATTN_GRID_CLUSTERS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes the order of N items with DISTANCES [n, n], symmetric and finite, to ORDER [n]. The time
 * grows with n^2. BEGINS [n], or NULL: set to true where a block begins, which is a branch of the
 * tree below 0.7 of its height (the default of scipy's dendrogram). */
enum attn_status attn_clusters_order(const float *distances, size_t n, size_t *order, bool *begins,
                                     struct attn_error *err);

#endif
