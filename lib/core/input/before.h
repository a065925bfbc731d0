/* before.h - the rows that are made before the decoder runs. An encoder makes those of the source.
 * A tower and its connector make those of the pictures in a prompt, which take the place of the
 * embeddings of the tokens that stand for their cells. */
#pragma once

#include "input/pass.h"

/* Initialize with = {0}, which makes no rows; end with attn_before_release. */
struct attn_before {
    const struct attn_model *model; /* borrowed; the encoder or the tower; NULL: no rows are made */
    const struct attn_model *decoder;   /* borrowed */
    const struct attn_sequence *inputs; /* [n] what MODEL reads: the source, or its `own` */
    size_t n;
    /* [n] of the text; inputs that stand in it, made by its reader: the pictures, tiles row by row,
     * and last the whole one. NULL: the input is a source. */
    struct attn_sequence *own;
    struct attn_pixels *pixels;
    /* [n_chosen] the inputs that edits change. A trace gets the tensors of the first n_shown, whose
     * places in this list are the sequences of its events. A source is always chosen. */
    size_t *chosen;
    size_t n_chosen, n_shown;
    struct attn_dims dims;        /* of a chosen input; set by the caller */
    struct attn_sequence *reader; /* borrowed; the source, or the text: `embedded` has the rows */
    bool is_due;                  /* the rows must be made, or made again, with the edits */
    struct attn_host_pictures *store; /* borrowed; what keeps rows of pictures */
    const struct attn_edit *edits;    /* [n_edit] borrowed; of MODEL */
    size_t n_edit;
    bool *has_effect; /* [n_edit] owns; the edits that changed a value; or NULL */
    size_t n_edited;  /* number of rows that edits changed when the rows were made */
};

/* Sets BEFORE to the inputs in TEXT and SOURCE, which were read for the decoder MODEL. If TEXT has
 * pictures, its reader makes its rows, with room for their features. Borrows all of them, and
 * PICTURES. */
enum attn_status attn_before_prepare(struct attn_before *before, const struct attn_model *model,
                                     struct attn_sequence *text, struct attn_sequence *source,
                                     struct attn_host_pictures *pictures, struct attn_error *err);
void attn_before_release(struct attn_before *before);

/* Returns the first chosen input; NULL if none is chosen. */
static inline const struct attn_sequence *attn_before_input(const struct attn_before *before)
{
    return before->n_chosen > 0 ? &before->inputs[before->chosen[0]] : NULL;
}

/* Returns the number of chosen inputs that stand in the text, which is 0 for a source. */
static inline size_t attn_before_n_own(const struct attn_before *before)
{
    return before->own ? before->n_chosen : 0;
}

/* Returns the place of input I in `chosen`; n_chosen if it is not there. */
size_t attn_before_number(const struct attn_before *before, size_t i);

/* Returns the number of floats of the rows that the decoder reads: of the source, or of the whole
 * text. */
size_t attn_before_n_float(const struct attn_before *before);

/* A pass of the model before the decoder over its inputs. All pointers are borrowed. */
struct attn_before_pass {
    const struct attn_before *before;
    struct attn_session_options options; /* its pool, cancel flag, kernels and trace are used */
    struct attn_feed_progress progress;
    const struct attn_edit *edits; /* [n_edit] of the chosen inputs */
    size_t n_edit;
    size_t n_uncounted; /* the first edits, which do not count for n_edited */
    size_t n_shown;     /* number of chosen inputs that the trace gets */
    bool *has_effect;   /* [n_edit] becomes true for edits that changed a value; or NULL */
    size_t n_edited;    /* becomes the number of rows that edits changed */
    const float *resid; /* of a source: where the pass begins, as in struct attn_pass; or NULL */
    struct attn_location at;
};

/* Returns a pass with the edits of BEFORE, without a trace, with the pool, the cancel flag and the
 * kernels of OPTIONS, the options of the decoder's session. */
struct attn_before_pass attn_before_pass_of(const struct attn_before *before,
                                            const struct attn_session_options *options);

/* Returns the options of the session in which PASS runs input number I, without a trace. */
struct attn_session_options attn_before_session(const struct attn_before_pass *pass, size_t i);

/* The rows that a pass over one input makes: the final ones, and those of earlier layers that
 * DeepStack reads, each [positions, D]; all NULL: they are not kept. */
struct attn_before_rows {
    float *final, *deep[ATTN_MOST_DEEP];
};

/* Runs the model of PASS over input number I. MADE receives the rows. */
enum attn_status attn_before_run_input(struct attn_before_pass *pass, size_t i,
                                       struct attn_before_rows made, struct attn_error *err);

/* Returns the input of an encoder for SOURCE: the ids, the `fed` rows or the pixels of SOURCE,
 * borrowed. */
struct attn_sequence attn_encoder_input(const struct attn_sequence *source);

/* Writes what PASS makes of all inputs to ROWS, which has the form of the rows of the reader.
 * Without edits, the features of pictures are kept in the store, or found there. ROWS may be NULL:
 * runs only what the trace gets. The selection of the trace is of this model, or of both. */
enum attn_status attn_before_run(struct attn_before_pass *pass, float *rows,
                                 struct attn_error *err);

/* Copies the rows of the images in the text that reads BEFORE, line ends too, from ROWS [T,
 * d_embed] to CELLS [seen.n_row, d_embed]. */
void attn_before_gather(const struct attn_before *before, const float *rows, float *cells);

/* Keeps the gradient in EVENT in DEEP [n_deep, T, d_embed], if it is that of the output of a layer
 * to which DeepStack adds rows. DEEP may be NULL: nothing is kept. */
void attn_before_keep_deep(const struct attn_before *before, const struct attn_trace_event *event,
                           float *deep);
