/*
 * clusters.h - an order in which things that are alike stand side by side: the leaves of a tree of
 * average linkage (UPGMA), whose branches are turned so that the ends that meet are as near as they
 * can be.
 *
 *     attn_clusters_order(distances, n, order, NULL, &err);   // order[0] comes first
 */
#ifndef ATTN_GRID_CLUSTERS_H
#define ATTN_GRID_CLUSTERS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* ORDER [n] of things with DISTANCES [n, n], symmetric, finite; the time grows with n^2. BEGINS
 * [n], or NULL: which places of the order begin a block, a branch of the tree below 0.7 of its
 * height (the default of scipy's dendrogram). */
enum attn_status attn_clusters_order(const float *distances, size_t n, size_t *order, bool *begins,
                                     struct attn_error *err);

#endif
