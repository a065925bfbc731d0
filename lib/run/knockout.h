/*
 * knockout.h - edits that keep some queries from looking at some keys (attention knockout, Geva et
 * al. 2304.14767). For the files of this layer.
 *
 * A knockout is written QUERIES>KEYS[@HEADS]: 'it>chicken@2.*'. Queries and keys are positions, by
 * number or word (run/position.h), heads as in trace/selection.h, all when they are left out. Their
 * scores become minus infinity before the softmax. In layers that attend to a source keys are those
 * of the source, by number or by a word of it. A knockout that changes nothing is noted by name.
 */
#ifndef ATTN_RUN_KNOCKOUT_H
#define ATTN_RUN_KNOCKOUT_H

#include "run/run_internal.h"

/* Appends the edits of the request's knockouts to those of RUN, which is prepared but for them.
 * ATTN_INVALID at the stage of options for what is no knockout, and for a row that would have no
 * key left. */
enum attn_status attn_run_add_knockouts(struct attn_run *run, struct attn_error *err);

#endif
