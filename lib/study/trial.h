/*
 * trial.h - one forward pass over the input of a prepared run, optionally with edits and from a
 * later layer on; and many such passes with different edits, in parallel on the threads of the
 * host. Private to lib/study and lib/experiment.
 *
 *     struct attn_trial trial = attn_trial_of(run);
 *     trial.edits = &edit, trial.n_edit = 1;
 *     trial.layer = 5, trial.resid = kept;    // resid_pre of layer 5, from a whole run
 *     attn_trial_run(&trial, &session, &err);
 *
 *     struct attn_trials trials;
 *     attn_trials_start(run, &answer, ATTN_SITE_Z, &trials, &err); // the unchanged run
 *     attn_trials_perform(&trials, edits, changes, n, outcomes, &err); // the changed runs
 *     attn_trials_release(&trials);
 */
#ifndef ATTN_STUDY_TRIAL_H
#define ATTN_STUDY_TRIAL_H

#include "capture/capture.h"
#include "study/reply.h"

struct attn_trial {
    const struct attn_run *run;
    struct attn_pool *pool;         /* NULL: only the caller's thread */
    const struct attn_trace *trace; /* or NULL */
    const struct attn_edit *edits;  /* [n_edit], applied after those of the run */
    size_t n_edit;
    int layer;          /* the first layer, unless `resid` is NULL */
    const float *resid; /* [T, D] resid_pre of that layer; NULL: begins with the input */
    int encoder_layer;  /* the same for the encoder, if `edits` has edits of it */
    const float *encoder_resid;
    size_t *n_encoder_row; /* receives the number of rows of the encoder that `edits` changed; or
                              NULL */
    size_t n_more;         /* number of positions that will be fed later */
    bool has_logits;       /* the session computes logits at all positions */
    /* positions per feed, if attention supports it, which bounds the memory of activations; 0: all
     * at once */
    size_t n_feed;
};

/* Checks that HOST has a model with an output layer. Errors have a stage. */
enum attn_status attn_trial_check_host(const struct attn_host *host, struct attn_error *err);

/* Returns a pass over the whole of RUN, on its host's threads, with logits. */
struct attn_trial attn_trial_of(const struct attn_run *run);

/* Create a session, which the caller owns. The first feeds it the source, the second also the
 * input. Errors have a stage. */
enum attn_status attn_trial_start(const struct attn_trial *trial, struct attn_session **session,
                                  struct attn_error *err);
enum attn_status attn_trial_run(const struct attn_trial *trial, struct attn_session **session,
                                struct attn_error *err);

/* Sends notes about the edits of RUN's request that had no effect in SESSION. Call after its
 * feed. */
void attn_trial_note_idle(const struct attn_run *run, const struct attn_session *session);

/* Runs a pass over the whole of RUN without logits; TRACE receives its events. N_FEED positions are
 * fed at a time; 0: all at once. Errors have a stage. */
enum attn_status attn_trial_watch(const struct attn_run *run, const struct attn_trace *trace,
                                  size_t n_feed, struct attn_error *err);

/* Runs such a pass, and records the tensors of SELECTION in *CAPTURE, which the caller owns even
 * after a failure. Sends notes about edits without effect. Errors have a stage. */
enum attn_status attn_trial_keep(const struct attn_run *run, const struct attn_selection *selection,
                                 struct attn_capture **capture, struct attn_error *err);

/* The first runs the encoder of RUN with its edits; TRACE, whose selection is of the encoder alone,
 * receives its events. The second records SITES of all its layers in *CAPTURE, which the caller
 * owns even after a failure. Errors have a stage. */
enum attn_status attn_trial_watch_encoder(const struct attn_run *run,
                                          const struct attn_trace *trace, struct attn_error *err);
enum attn_status attn_trial_keep_encoder(const struct attn_run *run, struct attn_site_set sites,
                                         struct attn_capture **capture, struct attn_error *err);

/* --- Many runs -------------------------------------------------------------------------------- */

/* The unchanged run, and the tensors with which changed runs begin. */
struct attn_trials {
    const struct attn_run *run;       /* borrowed */
    const struct attn_answer *answer; /* borrowed */
    bool can_skip;                    /* runs may begin at a later layer */
    bool has_z;                       /* runs begin with z of a layer */
    struct attn_selection *selection; /* owns; resid_pre of all layers, and z if has_z */
    struct attn_selection *needed;    /* owns; positions that the answer reads */
    struct attn_capture *capture;     /* owns; tensors of the unchanged run */
    /* owns; resid_pre of all layers of the encoder; NULL: no change was of the encoder so far */
    struct attn_capture *encoder_capture;
    float *logits;          /* [n_vocab] owns; logits of the unchanged run at the position */
    struct attn_reply base; /* reply of the unchanged run */
    size_t n_feed;          /* number of runs so far */
    size_t n_expected;      /* expected number of runs, for progress; or 0 */
};

/* The changes of one run: edits number `first` to first + n_edit - 1 of a list. */
struct attn_trial_change {
    size_t first, n_edit;
};

struct attn_trial_outcome {
    struct attn_reply reply;
    size_t n_row; /* number of rows that the edits changed */
};

/* Runs RUN without changes. Later changes must be at the site FIRST or at later sites of a layer.
 * Release TRIALS after a failure, too. Errors have a stage. */
enum attn_status attn_trials_start(const struct attn_run *run, const struct attn_answer *answer,
                                   enum attn_site first, struct attn_trials *trials,
                                   struct attn_error *err);

/* Runs each of CHANGES [n] of EDITS from its first changed layer on, and sets OUTCOMES [n]. Each
 * edit is for a single layer, or for one of the encoder. */
enum attn_status attn_trials_perform(struct attn_trials *trials, const struct attn_edit *edits,
                                     const struct attn_trial_change *changes, size_t n,
                                     struct attn_trial_outcome *outcomes, struct attn_error *err);

void attn_trials_release(struct attn_trials *trials);

#endif
