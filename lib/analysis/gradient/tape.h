/*
 * tape.h - what a feed leaves for its backward passes, and these passes, through the decoder and
 * the encoder whose rows it reads. For the library only.
 *
 *     struct attn_tape tape = {0};
 *     attn_tape_prepare(&tape, model, &options, kept_bytes, &err);
 *     attn_tape_add(&tape, event, &err);    // of a feed that emits attn_tape_sites(&tape)
 *     attn_tape_open(&tape, &err);          // allocates what a backward pass needs
 *     attn_tape_run(&tape, &goal, &err);    // the traces get the gradients; may be repeated
 *     attn_tape_release(&tape);
 */
#pragma once

#include "gradient/backward.h"

struct attn_tape {
    const struct attn_model *model;
    struct attn_backward_options options; /* with the tape's `kept` and `embeddings` */
    struct attn_dims dims;                /* of the text */
    struct attn_kept_layers *kept;        /* owns; NULL: layers are recomputed */
    float *stream;                        /* [n_layer + 1, T, D] owns; the residual stream */
    float *embeddings; /* [T, De] owns; the caller fills it; NULL: it is not read */
    struct attn_backward *backward, *encoder; /* own */
};

/* Returns the options of the backward passes of a feed with the options OF, whose number of
 * positions is that of the text. The caller adds the goal, the trace and the text. */
struct attn_backward_options attn_tape_options(const struct attn_session_options *of);

/* Prepares TAPE, which is zeroed, for feeds of MODEL. OPTIONS are copied, and what they borrow
 * stays borrowed. Layers are kept if they take at most KEPT_BYTES. Release TAPE also after an
 * error. */
enum attn_status attn_tape_prepare(struct attn_tape *tape, const struct attn_model *model,
                                   const struct attn_backward_options *options, size_t kept_bytes,
                                   struct attn_error *err);
void attn_tape_release(struct attn_tape *tape);

/* Returns the sites that the feed has to emit. Select them with `lacking` NULL if layers are kept,
 * which need queries and keys with and without rotation. */
struct attn_site_set attn_tape_sites(const struct attn_tape *tape);

/* Copies what the tape needs of EVENT. */
enum attn_status attn_tape_add(const struct attn_tape *tape, const struct attn_trace_event *event,
                               struct attn_error *err);

/* Makes the passes go on through the encoder MODEL. OPTIONS has the trace of its gradients, the
 * text that it reads, and its edits; all else follows from the decoder. Then the caller feeds
 * tape->encoder. */
enum attn_status attn_tape_add_encoder(struct attn_tape *tape, const struct attn_model *model,
                                       struct attn_backward_options options,
                                       struct attn_error *err);

enum attn_status attn_tape_open(struct attn_tape *tape, struct attn_error *err);

/* Computes the gradients of GOAL at the last feed. */
enum attn_status attn_tape_run(const struct attn_tape *tape, const struct attn_backward_goal *goal,
                               struct attn_error *err);
