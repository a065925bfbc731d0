/* prepared_extra.h - runs that are prepared to be asked more than to be performed, their attention
 * and their edits. */
#ifndef ATTN_RUN_PREPARED_EXTRA_H
#define ATTN_RUN_PREPARED_EXTRA_H

#include "predict/answer.h"
#include "run/request.h"
#include "run/run.h"

struct attn_answer; /* predict/answer_extra.h */

/* Prepares a run of which more is asked than to be performed (attn_watch): an encoder reads its
 * source at once. LIKE, or NULL: a prepared run whose edits, at its positions, the run gets; if the
 * text has another length, the run has no edits, and the caller must refuse it. */
ATTN_API enum attn_status attn_run_open(struct attn_host *host, const struct attn_run *like,
                                        const struct attn_request *request, struct attn_run **run,
                                        struct attn_error *err);

/* Returns the attention with which each layer [n_layer] runs; for arrays [1]. Borrowed from RUN. */
ATTN_API const struct attn_attention *attn_run_attention(const struct attn_run *run);

/* Returns the edits [*n] of STACK, ablations first, borrowed from RUN. */
ATTN_API const struct attn_edit *attn_run_edits(const struct attn_run *run,
                                                enum attn_model_stack stack, size_t *n);

/* Resolves ARGS in RUN (attn_answer_find). */
ATTN_API enum attn_status attn_run_find_answer(const struct attn_run *run,
                                               const struct attn_answer_args *args,
                                               struct attn_answer *answer, struct attn_error *err);

#endif
