/* encoder.h - what the model before a decoder reads, and its maps outside of a session. */
#ifndef ATTN_INPUT_ENCODER_H
#define ATTN_INPUT_ENCODER_H

#include "input/sequence.h"

/* Computes the rows [S, d_model] that an encoder of sound reads, without positions: two
 * convolutions over MEL [n_mel, 2 S], S = n_ctx, with the pool and the instruction set of SEQUENCE.
 * Sets `heard` and `n` of SEQUENCE. */
enum attn_status attn_encoder_hear(const struct attn_model *encoder, const struct attn_ndarray *mel,
                                   struct attn_sequence *sequence, struct attn_error *err);

/* Y = act(X W + b), outside of a session; transposed, Y = X W^T. */
struct attn_encoder_map {
    const struct attn_linear *linear;
    const float *x; /* [n, rows of W]; transposed: [n, columns of W] */
    size_t n;
    float *y;               /* [n, columns of W]; transposed: [n, rows of W] */
    const char *activation; /* its name; NULL: none */
    bool is_transposed;
};

/* Computes MAP with the pool and the kernels of SEQUENCE. */
enum attn_status attn_encoder_map(const struct attn_encoder_map *map,
                                  const struct attn_sequence *sequence, struct attn_error *err);

/* Returns the input of the encoder for SOURCE: the ids, the `fed` rows or the pixels of SOURCE,
 * borrowed. */
struct attn_sequence attn_encoder_input(const struct attn_sequence *source);

#endif
