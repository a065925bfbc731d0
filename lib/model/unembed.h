/* unembed.h - what follows the last block: the final norm and the logits. */
#ifndef ATTN_MODEL_UNEMBED_H
#define ATTN_MODEL_UNEMBED_H

#include "model/forward.h"

/* The final norm of the feed's rows, and the logits of those that are watched. */
void attn_unembed_run(struct attn_forward *f);

/* LOGITS [n_row, V] of the positions ROW0 and on, whose rows X [n_row, D] the output layer reads;
 * edits applied. */
void attn_unembed_rows(struct attn_forward *f, const float *x, size_t row0, size_t n_row,
                       float *logits);

#endif
