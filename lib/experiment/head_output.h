/* head_output.h - what a head adds to the residual stream. Private to lib/experiment. */
#ifndef ATTN_EXPERIMENT_HEAD_OUTPUT_H
#define ATTN_EXPERIMENT_HEAD_OUTPUT_H

#include "model/model.h"

/* Returns how many doubles attn_head_output needs as scratch. */
size_t attn_head_output_scratch(const struct attn_config *config);

/* Sets OUT [d_model] to Z [d_value] times the W_O of HEAD in BLOCK, times the layer scale: the
 * head's output without a bias. */
void attn_head_output(const struct attn_model *model, int block, int head, const float *z,
                      double *scratch, float *out);

#endif
