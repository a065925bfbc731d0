/* batch_params.h - the parameters of a batch: its records, and the contents of their results. All
 * are fields of struct attn_batch_args; the caller defines the outputs. experiment/batch_question.c
 * has the rules about which parameters go together. */
#ifndef ATTN_BATCH_BATCH_PARAMS_H
#define ATTN_BATCH_BATCH_PARAMS_H

#include "base/param.h"
#include "batch/batch.h"

/* Parameters about: the records; their number and length; the contents of results; the number of
 * edges; how results are written. */
extern const struct attn_param_list attn_batch_record_params, attn_batch_limit_params,
    attn_batch_field_params, attn_batch_edge_params, attn_batch_writing_params;

#endif
