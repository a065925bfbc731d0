/*
 * choice.h - from the texts of a request to a selection, and to the edits of an ablation. For the
 * files of this layer.
 */
#ifndef ATTN_RUN_CHOICE_H
#define ATTN_RUN_CHOICE_H

#include "run/request.h"
#include "trace/selection.h"

/*
 * The selection that REQUEST means for sizes DIMS, owned by the caller. N_BATCH batches have the
 * same heads: the request chooses among those of one. ATTN_INVALID when nothing is left. Stage
 * ATTN_STAGE_OPTIONS.
 */
enum attn_status attn_choose(const struct attn_request *request, const struct attn_dims *dims,
                             size_t n_batch, struct attn_selection **selection,
                             struct attn_error *err);

/* The edits of REQUEST, its ablations first: [*n] owned by the caller, NULL for none. Likewise. */
enum attn_status attn_choose_edits(const struct attn_request *request, const struct attn_dims *dims,
                                   struct attn_edit **edits, size_t *n, struct attn_error *err);

#endif
