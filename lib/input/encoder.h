/* encoder.h - runs the encoder of a model with two stacks. Its final rows are the source of the
 * decoder. */
#ifndef ATTN_INPUT_ENCODER_H
#define ATTN_INPUT_ENCODER_H

#include "input/sequence.h"

/* Computes the rows [S, d_model] that an encoder of sound reads, without positions: two
 * convolutions over MEL [n_mel, 2 S], S = n_ctx, with the pool and the instruction set of SEQUENCE.
 * Sets `heard` and `n` of SEQUENCE. */
enum attn_status attn_encoder_hear(const struct attn_model *encoder, const struct attn_ndarray *mel,
                                   struct attn_sequence *sequence, struct attn_error *err);

/* Returns the input of the encoder for SOURCE: the ids or the `fed` rows of SOURCE, borrowed. */
struct attn_sequence attn_encoder_input(const struct attn_sequence *source);

/* Runs ENCODER over the ids or the `fed` rows of SOURCE, and stores its final rows [n, d_model] in
 * ROWS, which may be NULL. TRACE has a selection for the encoder; it may be NULL. OPTIONS are the
 * options of the decoder's session. */
enum attn_status attn_encoder_run(const struct attn_model *encoder,
                                  const struct attn_sequence *source,
                                  const struct attn_session_options *options,
                                  const struct attn_trace *trace, float *rows,
                                  struct attn_error *err);

#endif
