/* clang-format off */
/*
 * selection.h - which sites, layers, heads and queries are wanted.
 *
 *     struct attn_selection *selection;
 *     attn_selection_create(&dims, &selection, &err);     // all heads and queries, pattern and z
 *     struct attn_location head = {.layer = 5, .head = 1};
 *     attn_selection_add_head(selection, &head, &err);    // only head 1 of layer 5
 *     attn_selection_add_queries(selection, ATTN_STACK_ONLY, 0, 4, &err); // the first four queries
 *     attn_selection_free(selection);
 *
 * A head is wanted when it is among the heads and its layer is among the layers. Requests have
 * lists of layers, heads and queries as texts. The items of a list are separated by commas:
 *
 *     N   N-M   N-M+STEP   all     numbers from 0; ranges include both ends
 *     -1   -2                      from the end; not in ranges
 *     L.h   L.*   *.h   LxHy       heads of some layers alone; "L5H1" is "5.1"
 */
/* clang-format on */
#ifndef ATTN_TRACE_SELECTION_H
#define ATTN_TRACE_SELECTION_H

#include "trace/location.h"
#include "trace/site.h"

struct attn_selection;

/* Creates a selection of the sites pattern and z, if the model has them, with all layers, heads and
 * queries. Copies DIMS. */
ATTN_API enum attn_status attn_selection_create(const struct attn_dims *dims,
                                                struct attn_selection **selection,
                                                struct attn_error *err);

ATTN_API void attn_selection_free(struct attn_selection *selection); /* NULL is allowed */

/* Adds the head AT; its site is ignored. The first call replaces "all heads" of its stack; each
 * further call, also one after a list, adds a head. The layer may be ATTN_ALL_LAYERS if there is
 * one stack; the head may be ATTN_ALL_HEADS. ATTN_INVALID, with the valid range, if there is no
 * such head; the selection is then unchanged. */
ATTN_API enum attn_status attn_selection_add_head(struct attn_selection *selection,
                                                  const struct attn_location *at,
                                                  struct attn_error *err);

/* Adds the N >= 1 queries FIRST .. FIRST + N - 1. The first call replaces "all queries". If STACK
 * is ATTN_STACK_ENCODER and the model has two stacks, queries are positions of the source, else of
 * the text. */
ATTN_API enum attn_status attn_selection_add_queries(struct attn_selection *selection,
                                                     enum attn_model_stack stack, size_t first,
                                                     size_t n, struct attn_error *err);

/* Replaces the chosen sites by SITES. ATTN_INVALID if the model lacks all of them; the selection is
 * then unchanged. */
ATTN_API enum attn_status attn_selection_set_sites(struct attn_selection *selection,
                                                   struct attn_site_set sites,
                                                   struct attn_error *err);
/* Returns the sizes that SELECTION was created with; NULL if it is NULL. */
ATTN_API const struct attn_dims *attn_selection_dims(const struct attn_selection *selection);

#endif
