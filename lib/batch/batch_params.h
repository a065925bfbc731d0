/* batch_params.h - the parameters of a batch: its records, and what their results hold. All are
 * about a struct attn_batch_args; outputs are the caller's. experiment/batch_question.c has what
 * goes together. */
#ifndef ATTN_BATCH_BATCH_PARAMS_H
#define ATTN_BATCH_BATCH_PARAMS_H

#include "base/param.h"
#include "batch/batch.h"

/* Records; how many and how long; what a result holds; how many edges; how results are written. */
extern const struct attn_param_list attn_batch_record_params, attn_batch_limit_params,
    attn_batch_field_params, attn_batch_edge_params, attn_batch_writing_params;

#endif
