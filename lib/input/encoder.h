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

/* A pass of the encoder over a source. Begin with attn_encoder_pass_of; all but `encoder`, `source`
 * and `options` may be left out. */
struct attn_encoder_pass {
    const struct attn_model *encoder;
    const struct attn_sequence *source; /* its ids or its `fed` rows are read */
    struct attn_session_options options;
    const struct attn_trace *trace; /* with a selection of the encoder alone */
    float *rows;                    /* [n, d_model] receives the final rows */
    const struct attn_edit *edits;  /* [n_edit] edits of the encoder */
    size_t n_edit;
    size_t n_uncounted; /* number of edits, from the first on, whose changed rows are not counted */
    struct attn_location at; /* first layer; ATTN_NO_LAYER: begins with the source */
    const float *resid;      /* [n, d_model] resid_pre of that layer */
    bool *has_effect;        /* [n_edit] becomes true for edits that changed a value; or NULL */
    size_t n_row;            /* becomes the number of rows that edits changed */
};

/* Returns a whole pass of MODEL's encoder, without edits, with the pool, the cancel flag and the
 * kernels of OPTIONS, the options of the decoder's session. */
struct attn_encoder_pass attn_encoder_pass_of(const struct attn_model *model,
                                              const struct attn_sequence *source,
                                              const struct attn_session_options *options);

enum attn_status attn_encoder_run(struct attn_encoder_pass *pass, struct attn_error *err);

#endif
