/* answer_params.h - the parameters of a struct attn_answer_args. */
#ifndef ATTN_PREDICT_ANSWER_PARAMS_H
#define ATTN_PREDICT_ANSWER_PARAMS_H

#include "base/param.h"

extern const struct attn_param_list attn_target_params, attn_foil_params, attn_at_params,
    attn_metric_params;

#endif
