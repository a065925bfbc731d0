/* encoder.h - the encoder of a model with two stacks: its final rows are the source of the decoder.
 */
#ifndef ATTN_INPUT_ENCODER_H
#define ATTN_INPUT_ENCODER_H

#include "input/sequence.h"

/* Computes the rows [S, d_model] that an encoder of sound reads, without positions: two
 * convolutions over MEL [n_mel, 2 S], S = n_ctx, with the pool and the instructions of SEQUENCE.
 * Sets its `heard` and `n`. */
enum attn_status attn_encoder_hear(const struct attn_model *encoder, const struct attn_ndarray *mel,
                                   struct attn_sequence *sequence, struct attn_error *err);

/* What the encoder reads of SOURCE: its ids or `fed`. Borrows from it. */
struct attn_sequence attn_encoder_input(const struct attn_sequence *source);

/* Runs ENCODER over SOURCE, whose ids or `fed` are read, and keeps its final rows [n, d_model] in
 * ROWS, which may be NULL. TRACE, of a selection for the encoder, may be NULL. OPTIONS are those of
 * a session of the decoder. */
enum attn_status attn_encoder_run(const struct attn_model *encoder,
                                  const struct attn_sequence *source,
                                  const struct attn_session_options *options,
                                  const struct attn_trace *trace, float *rows,
                                  struct attn_error *err);

#endif
