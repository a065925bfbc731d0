/* decoder.h - the whole forward pass over one feed. */
#ifndef ATTN_MODEL_DECODER_H
#define ATTN_MODEL_DECODER_H

#include "model/forward.h"

/* Begins a feed of the N_ROW positions from ROW0 on, whose first failure goes into ERR. Their
 * embeddings belong into resid next. */
void attn_decoder_begin(struct attn_forward *f, size_t row0, size_t n_row, struct attn_error *err);

/* Takes the embeddings through positions, blocks and the output layer, as far as anything is
 * needed. Returns the feed's status. */
enum attn_status attn_decoder_run(struct attn_forward *f);

#endif
