/* choice.h - from the texts of a request to a selection. For the files of this layer and above. */
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

/* A selection of the heads that SPEC means, and of everything else. Owned by the caller. */
enum attn_status attn_select_heads(const char *spec, const struct attn_dims *dims,
                                   struct attn_selection **selection, struct attn_error *err);

#endif
