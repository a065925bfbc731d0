/* encoder.h - what an encoder of sound reads, and maps outside of a session. */
#pragma once

#include "input/sequence.h"

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
