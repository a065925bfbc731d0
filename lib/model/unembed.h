/* unembed.h - what follows the last block: the final norm and the logits. */
#ifndef ATTN_MODEL_UNEMBED_H
#define ATTN_MODEL_UNEMBED_H

#include "model/forward.h"

/* The final norm of the feed's rows, and the logits of those that are watched. */
void attn_unembed_run(struct attn_forward *f);

/* LOGITS [n_row, V] of rows X [n_row, D] that the output layer reads. */
void attn_unembed_rows(struct attn_forward *f, const float *x, size_t n_row, float *logits);

/* Applies edits to LOGITS [n_row, V] of the rows FIRST and on, counted over all that was fed: over
 * the sequences of a pack, else over the positions. */
void attn_unembed_edit(struct attn_forward *f, size_t first, size_t n_row, float *logits);

#endif
