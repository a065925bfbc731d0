/* selection_internal.h - what selection.h declares for the library alone. */
#ifndef ATTN_TRACE_SELECTION_INTERNAL_H
#define ATTN_TRACE_SELECTION_INTERNAL_H

#include "trace/selection.h"

/* Reads. LAYER must be in range. */
attn_site_set attn_selection_sites(const struct attn_selection *selection);
bool attn_selection_has_site(const struct attn_selection *selection, enum attn_site site);
bool attn_selection_has_layer(const struct attn_selection *selection, int layer);
size_t attn_selection_n_head(const struct attn_selection *selection, int layer);
size_t attn_selection_n_query(const struct attn_selection *selection);

/* For sites whose rows are queries: the wanted rows, and the wanted queries without a row, which
 * come first. */
size_t attn_selection_n_row(const struct attn_selection *selection, enum attn_site site);
size_t attn_selection_n_rowless(const struct attn_selection *selection, enum attn_site site);

/* Whether anything of layers or heads was left out; whether queries were. */
bool attn_selection_is_all_heads(const struct attn_selection *selection);
bool attn_selection_is_all_queries(const struct attn_selection *selection);

/* Whether a key/value head serves a wanted query head of LAYER (heads h with h / (H/G) == kv_head).
 */
bool attn_selection_has_kv_head(const struct attn_selection *selection, int layer, int kv_head);

/* The selection of a feed from which the sites MADE of SELECTION can be computed: its other sites,
 * and all rows of the stream into and out of layers. LAYERS replaces its layers unless NULL. The
 * caller frees *seen. */
enum attn_status attn_selection_see_stream(const struct attn_selection *selection,
                                           attn_site_set made, const char *layers,
                                           struct attn_selection **seen, struct attn_error *err);

#endif
