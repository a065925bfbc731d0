/* clang-format off */
/*
 * trace_extra.h - more about sites and selections: what they are called in archives, what is
 * selected, and selections as a user writes them.
 *
 *     attn_selection_set_heads(selection, "5.1,9.*", &err);
 *
 * The items of a list are separated by commas:
 *
 *     N   N-M   N-M+STEP   all     numbers from 0; ranges include both ends
 *     -1   -2                      from the end; not in ranges
 *     L.h   L.*   *.h   LxHy       heads of some layers alone; "L5H1" is "5.1"
 */
/* clang-format on */
#ifndef ATTN_TRACE_TRACE_EXTRA_H
#define ATTN_TRACE_TRACE_EXTRA_H

#include "trace/location.h"
#include "trace/selection.h"

ATTN_API bool attn_site_is_in_layer(enum attn_site site); /* false: one tensor a model */

/* Whether it describes the change of a metric: a gradient, pattern_x_grad, relevance. */
ATTN_API bool attn_site_is_of_metric(enum attn_site site);

enum { ATTN_SITE_ARCHIVE_NAME_SIZE = 64 };
/* The name inside archives, "blocks.3.attn.hook_pattern"; without LAYER for sites of the model.
 * Returns its length. */
ATTN_API size_t attn_site_archive_name(enum attn_site site, int layer,
                                       char name[ATTN_SITE_ARCHIVE_NAME_SIZE]);

/* The name of the site of AT, "encoder.3.attn.hook_pattern" of a model with two stacks. */
ATTN_API size_t attn_location_archive_name(const struct attn_location *at,
                                           char name[ATTN_SITE_ARCHIVE_NAME_SIZE]);

/* Another selection of the same. */
ATTN_API enum attn_status attn_selection_copy(const struct attn_selection *selection,
                                              struct attn_selection **copy, struct attn_error *err);

/* Each replaces the previous choice. ATTN_INVALID, with the valid range, leaves the selection
 * unchanged. */
ATTN_API enum attn_status attn_selection_set_layers(struct attn_selection *selection,
                                                    const char *spec, struct attn_error *err);
ATTN_API enum attn_status attn_selection_set_heads(struct attn_selection *selection,
                                                   const char *spec, struct attn_error *err);
ATTN_API enum attn_status attn_selection_set_queries(struct attn_selection *selection,
                                                     const char *spec, struct attn_error *err);

/* The shape that the selected part of the site AT has in an archive, whose head is ignored: rank 2
 * [T', n] for vectors, 3 [T', H', n] for queries, [S, G', n] for keys (keys are not narrowed by
 * queries), [H', T', S] for matrices. Returns the rank; 0, and zeros, when there is no such site or
 * layer. */
ATTN_API int attn_selection_shape(const struct attn_selection *selection,
                                  const struct attn_location *at, size_t shape[3]);

/* Whether the head AT, whose site is ignored, is selected, or a query. Numbers out of range, and a
 * selection of NULL, are not. */
ATTN_API bool attn_selection_has_head(const struct attn_selection *selection,
                                      const struct attn_location *at);
ATTN_API bool attn_selection_has_query(const struct attn_selection *selection, size_t query);

/* The part of a SELECTION of two stacks that is of the encoder, whose layers count from 0 there; or
 * NULL. Borrowed. */
ATTN_API const struct attn_selection *
attn_selection_encoder(const struct attn_selection *selection);

/* Whether site and layer of AT, whose head is ignored, are wanted at all: the site, the layer, and
 * for sites with heads one of its heads. The layer of sites of the model is ATTN_NO_LAYER. */
ATTN_API bool attn_selection_wants(const struct attn_selection *selection,
                                   const struct attn_location *at);

/* Walks over the tensors that SELECTION wants, in the order in which they are computed: of each
 * stack embed, layer by layer, the rest; an encoder first. WALK begins as {0}; its `at`, of all
 * heads, is the next tensor. False after the last. */
struct attn_selection_walk {
    struct attn_location at;
    size_t next; /* among all places */
};
ATTN_API bool attn_selection_next(const struct attn_selection *selection,
                                  struct attn_selection_walk *walk);

#endif
