/* choice.h - from the texts of a request to a selection. For the files of this layer and above. */
#ifndef ATTN_RUN_CHOICE_H
#define ATTN_RUN_CHOICE_H

#include "run/request.h"
#include "trace/selection.h"

/*
 * The selection that GIVEN means for sizes DIMS, owned by the caller. N_BATCH batches have the same
 * heads: GIVEN chooses among those of one. ATTN_INVALID when nothing is left. Stage
 * ATTN_STAGE_OPTIONS.
 */
enum attn_status attn_choose(const struct attn_request_selection *given,
                             const struct attn_dims *dims, size_t n_batch,
                             struct attn_selection **selection, struct attn_error *err);

#endif
