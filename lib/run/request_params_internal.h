/* request_params_internal.h - the lists of request_params.h. */
#ifndef ATTN_RUN_REQUEST_PARAMS_INTERNAL_H
#define ATTN_RUN_REQUEST_PARAMS_INTERNAL_H

#include "edits/edits_internal.h"
#include "input/position.h"
#include "run/request_params.h"

/* For a model, and for arrays, which have no layers. */
extern const struct attn_param_list attn_selection_params, attn_array_selection_params;

extern const struct attn_param_list attn_prediction_params, attn_span_params, attn_gradient_params;

/* Parameters of a struct attn_attention_args (attention_args.c). Dropout is separate, because its
 * weights are drawn for a whole sequence, so that it does not work token by token. */
extern const struct attn_param_list attn_attention_params, attn_dropout_params,
    attn_array_dropout_params;

#endif
