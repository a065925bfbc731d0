/* trace_extra.h - more about sites and selections: what they are called in archives, and what is
 * selected. */
#ifndef ATTN_TRACE_TRACE_EXTRA_H
#define ATTN_TRACE_TRACE_EXTRA_H

#include "trace/location.h"
#include "trace/selection.h"

ATTN_API enum attn_site_layout attn_site_layout(enum attn_site site);

ATTN_API bool attn_site_is_in_layer(enum attn_site site); /* false: one of the model */

/* Whether the site says how a metric changes: a gradient, pattern_x_grad or relevance. */
ATTN_API bool attn_site_is_of_metric(enum attn_site site);

enum { ATTN_SITE_ARCHIVE_NAME_SIZE = 64 };
/* Writes the name that SITE of LAYER has in archives, such as "blocks.3.attn.hook_pattern"; LAYER
 * is ignored for sites outside the layers. Returns the length of the name. */
ATTN_API size_t attn_site_archive_name(enum attn_site site, int layer,
                                       char name[ATTN_SITE_ARCHIVE_NAME_SIZE]);

/* As attn_site_archive_name, for the site at AT. In a model with two stacks the name begins with
 * the stack: "encoder.3.attn.hook_pattern". */
ATTN_API size_t attn_location_archive_name(const struct attn_location *at,
                                           char name[ATTN_SITE_ARCHIVE_NAME_SIZE]);

/* Creates a copy of SELECTION, which the caller frees. */
ATTN_API enum attn_status attn_selection_copy(const struct attn_selection *selection,
                                              struct attn_selection **copy, struct attn_error *err);

/* Computes the shape, in an archive, of the selected part of the tensor AT; its head is ignored.
 * [T', n] for vectors, [T', H', n] for queries, [S, G', n] for keys (all keys, whatever queries are
 * chosen), [H', T', S] for matrices. Returns the number of sizes; 0, and zeros, if there is no such
 * site or layer. */
ATTN_API int attn_selection_shape(const struct attn_selection *selection,
                                  const struct attn_location *at, size_t shape[3]);

/* Whether a head, or a query of STACK, is selected. The site of AT is ignored. False for numbers
 * out of range and if SELECTION is NULL. */
ATTN_API bool attn_selection_has_head(const struct attn_selection *selection,
                                      const struct attn_location *at);
ATTN_API bool attn_selection_has_query(const struct attn_selection *selection,
                                       enum attn_model_stack stack, size_t query);

/* Goes through the tensors that SELECTION wants in the order in which they are computed: in each
 * stack embed, then layer by layer, then the rest; the encoder comes first. WALK begins as {0}.
 * Each call sets walk->at to the next tensor, with all its heads; it returns false after the last.
 */
struct attn_selection_walk {
    struct attn_location at;
    size_t next; /* the place at which the next call begins */
};
ATTN_API bool attn_selection_next(const struct attn_selection *selection,
                                  struct attn_selection_walk *walk);

#endif
