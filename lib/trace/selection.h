/*
 * selection.h - which sites, layers, heads and queries are wanted.
 *
 *     struct attn_selection *selection;
 *     attn_selection_create(&dims, &selection, &err);     // all heads and queries, pattern and z
 *     attn_selection_add_head(selection, 5, 1, &err);     // only head 1 of layer 5
 *     attn_selection_add_queries(selection, 0, 4, &err);  // only the first four queries
 *     attn_selection_free(selection);
 *
 * A head is wanted when it is among the heads and its layer is among the layers. Lists as a user
 * writes them are read, too: attn_selection_set_heads(selection, "5.1,9.*", &err). Their items are
 * separated by commas:
 *
 *     N   N-M   N-M+STEP   all     numbers from 0; ranges include both ends
 *     -1   -2                      from the end; not in ranges
 *     L.h   L.*   *.h   LxHy       heads of some layers alone; "L5H1" is "5.1"
 */
#ifndef ATTN_TRACE_SELECTION_H
#define ATTN_TRACE_SELECTION_H

#include "trace/site.h"

struct attn_selection;

/* Sites start as `pattern,z` if the model has them; layers, heads, queries as all. Copies dims. */
ATTN_API enum attn_status attn_selection_create(const struct attn_dims *dims,
                                                struct attn_selection **selection,
                                                struct attn_error *err);

/* Another selection of the same. */
ATTN_API enum attn_status attn_selection_copy(const struct attn_selection *selection,
                                              struct attn_selection **copy, struct attn_error *err);
ATTN_API void attn_selection_free(struct attn_selection *selection); /* NULL is allowed */

/* Adds one head. The first call selects it instead of all heads; further calls, also after a list,
 * add to the chosen heads. LAYER may be ATTN_ALL_LAYERS, HEAD may be ATTN_ALL_HEADS. ATTN_INVALID,
 * with the valid range, leaves the selection unchanged. */
ATTN_API enum attn_status attn_selection_add_head(struct attn_selection *selection, int layer,
                                                  int head, struct attn_error *err);

/* Adds N >= 1 queries from FIRST on. The first call selects them instead of all queries. */
ATTN_API enum attn_status attn_selection_add_queries(struct attn_selection *selection, size_t first,
                                                     size_t n, struct attn_error *err);

/* Each replaces the previous choice; after ATTN_INVALID, with the valid range, it stays. */
ATTN_API enum attn_status attn_selection_set_sites(struct attn_selection *selection,
                                                   attn_site_set sites, struct attn_error *err);
ATTN_API enum attn_status attn_selection_set_layers(struct attn_selection *selection,
                                                    const char *spec, struct attn_error *err);
ATTN_API enum attn_status attn_selection_set_heads(struct attn_selection *selection,
                                                   const char *spec, struct attn_error *err);
ATTN_API enum attn_status attn_selection_set_queries(struct attn_selection *selection,
                                                     const char *spec, struct attn_error *err);

/* The shape that the selected part of a site has in an archive: rank 2 [T', n] for vectors, 3 [T',
 * H', n] for queries, [S, G', n] for keys (keys are not narrowed by queries), [H', T', S] for
 * matrices. Returns the rank; 0, and zeros, when there is no such site or layer. */
ATTN_API int attn_selection_shape(const struct attn_selection *selection, enum attn_site site,
                                  int layer, size_t shape[3]);

/* Queries. Numbers out of range are not wanted; for sites of the model LAYER is ATTN_NO_LAYER. */
ATTN_API const struct attn_dims *attn_selection_dims(const struct attn_selection *selection);
ATTN_API bool attn_selection_has_head(const struct attn_selection *selection, int layer, int head);
ATTN_API bool attn_selection_has_query(const struct attn_selection *selection, size_t query);

/* Whether site and layer are wanted: both, and for sites with heads one head of the layer. */
ATTN_API bool attn_selection_wants(const struct attn_selection *selection, enum attn_site site,
                                   int layer);

#endif
