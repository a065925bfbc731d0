/* encoder.h - runs the encoder of a model with two stacks. Its final rows are the source of the
 * decoder. */
#ifndef ATTN_INPUT_ENCODER_H
#define ATTN_INPUT_ENCODER_H

#include "input/pass.h"

/* Computes the rows [S, d_model] that an encoder of sound reads, without positions: two
 * convolutions over MEL [n_mel, 2 S], S = n_ctx, with the pool and the instruction set of SEQUENCE.
 * Sets `heard` and `n` of SEQUENCE. */
enum attn_status attn_encoder_hear(const struct attn_model *encoder, const struct attn_ndarray *mel,
                                   struct attn_sequence *sequence, struct attn_error *err);

/* Y = act(X W + b), outside of a session. */
struct attn_encoder_map {
    const struct attn_linear *linear;
    const float *x; /* [n, rows of W] */
    size_t n;
    float *y;               /* [n, columns of W] */
    const char *activation; /* its name; NULL: none */
};

/* Computes MAP with the pool and the kernels of SEQUENCE. */
enum attn_status attn_encoder_map(const struct attn_encoder_map *map,
                                  const struct attn_sequence *sequence, struct attn_error *err);

/* Returns the input of the encoder for SOURCE: the ids, the `fed` rows or the pixels of SOURCE,
 * borrowed. */
struct attn_sequence attn_encoder_input(const struct attn_sequence *source);

/* Returns a whole pass of the encoder, or the tower, of MODEL over SOURCE, without edits and trace,
 * with the pool, the cancel flag and the kernels of OPTIONS, the options of the decoder's session.
 */
struct attn_pass attn_encoder_pass_of(const struct attn_model *model,
                                      const struct attn_sequence *source,
                                      const struct attn_session_options *options);

/* The results of a pass of the encoder. */
struct attn_encoder_rows {
    float *final;     /* [n, d_model] receives the final rows; or NULL */
    bool *has_effect; /* [n_edit] becomes true for edits that changed a value; or NULL */
    size_t n_edited;  /* becomes the number of rows that edits changed */
};

/* Runs the encoder. The text of PASS is a source, of which the ids or the `fed` rows are read. The
 * selection of its trace is of the encoder, or of both stacks. Its edits are of the encoder. MADE
 * may be NULL. */
enum attn_status attn_encoder_run(const struct attn_pass *pass, struct attn_encoder_rows *made,
                                  struct attn_error *err);

#endif
