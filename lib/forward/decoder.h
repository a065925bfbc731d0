/* decoder.h - the whole forward pass over one feed. */
#ifndef ATTN_FORWARD_DECODER_H
#define ATTN_FORWARD_DECODER_H

#include "forward/forward_internal.h"

/* Begins a feed of N sequences, whose first failure goes into ERR. Of parts [n] row0, n_row and the
 * edits are set. Embeddings belong into resid next. */
void attn_decoder_begin(struct attn_forward *f, size_t n, struct attn_error *err);

/* Takes the embeddings through positions, blocks and the output layer, as far as anything is
 * needed. Returns the feed's status. */
enum attn_status attn_decoder_run(struct attn_forward *f);

/* LOGITS [n_row, V] of rows X [n_row, D] that the output layer reads. */
void attn_decoder_unembed(struct attn_forward *f, const float *x, size_t n_row, float *logits);

/* Applies edits to LOGITS [n_row, V] of the rows FIRST and on, counted over all that was fed: over
 * the sequences of a pack, else over the positions. */
void attn_decoder_unembed_edit(struct attn_forward *f, size_t first, size_t n_row, float *logits);

#endif
