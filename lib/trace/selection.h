/*
 * selection.h - which sites, layers, heads and queries are wanted.
 *
 *     struct attn_selection *selection;
 *     attn_selection_create(&dims, &selection, &err);     // all heads and queries, pattern and z
 *     struct attn_location head = {.layer = 5, .head = 1};
 *     attn_selection_add_head(selection, &head, &err);    // only head 1 of layer 5
 *     attn_selection_add_queries(selection, 0, 4, &err);  // only the first four queries
 *     attn_selection_free(selection);
 *
 * A head is wanted when it is among the heads and its layer is among the layers.
 * trace/trace_extra.h reads lists as a user writes them.
 */
#ifndef ATTN_TRACE_SELECTION_H
#define ATTN_TRACE_SELECTION_H

#include "trace/location.h"
#include "trace/site.h"

struct attn_selection;

/* Sites start as `pattern,z` if the model has them; layers, heads, queries as all. Copies dims. */
ATTN_API enum attn_status attn_selection_create(const struct attn_dims *dims,
                                                struct attn_selection **selection,
                                                struct attn_error *err);

ATTN_API void attn_selection_free(struct attn_selection *selection); /* NULL is allowed */

/* Adds the head AT, whose site is ignored. The first call selects it instead of all heads of its
 * stack; further calls, also after a list, add to the chosen heads. The layer may be
 * ATTN_ALL_LAYERS if there is one stack, the head may be ATTN_ALL_HEADS. ATTN_INVALID, with the
 * valid range, leaves the selection unchanged. */
ATTN_API enum attn_status attn_selection_add_head(struct attn_selection *selection,
                                                  const struct attn_location *at,
                                                  struct attn_error *err);

/* Adds N >= 1 queries from FIRST on. The first call selects them instead of all queries. */
ATTN_API enum attn_status attn_selection_add_queries(struct attn_selection *selection, size_t first,
                                                     size_t n, struct attn_error *err);

/* Replaces the previous choice. ATTN_INVALID for a site that the model lacks leaves the selection
 * unchanged. */
ATTN_API enum attn_status attn_selection_set_sites(struct attn_selection *selection,
                                                   struct attn_site_set sites,
                                                   struct attn_error *err);
/* NULL if SELECTION is NULL. */
ATTN_API const struct attn_dims *attn_selection_dims(const struct attn_selection *selection);

#endif
