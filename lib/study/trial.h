/*
 * trial.h - one pass over the input of a prepared run, optionally with edits and from a later
 * layer; and many such passes with different edits, side by side on the threads of the host. For
 * the files of this layer.
 *
 *     struct attn_trial trial = attn_trial_of(run);
 *     trial.edits = &edit, trial.n_edit = 1;
 *     trial.layer = 5, trial.resid = kept;    // resid_pre of layer 5, from a whole run
 *     attn_trial_run(&trial, &session, &err);
 *
 *     struct attn_trials trials;
 *     attn_trials_start(run, &answer, ATTN_SITE_Z, &trials, &err); // the unchanged run
 *     attn_trials_perform(&trials, changes, n, outcomes, &err);    // the changed runs
 *     attn_trials_release(&trials);
 */
#ifndef ATTN_STUDY_TRIAL_H
#define ATTN_STUDY_TRIAL_H

#include "capture/capture.h"
#include "study/reply.h"

struct attn_trial {
    const struct attn_run *run;
    struct attn_pool *pool;         /* NULL: the caller's thread alone */
    const struct attn_trace *trace; /* or NULL */
    const struct attn_edit *edits;  /* [n_edit], applied after those of the run */
    size_t n_edit;
    int layer; /* the first layer; ATTN_NO_LAYER: starts with the input */
    const float
        *resid;      /* [T, D] resid_pre of that layer; for n_layer the input of the output layer */
    size_t n_more;   /* positions that are fed later */
    bool has_logits; /* the session has logits of all positions */
    size_t n_feed;   /* positions per feed, if attention allows it, so that the memory of
                        activations does not grow with the text; 0: all */
};

/* Checks that HOST has a model with an output layer. Errors have a stage. */
enum attn_status attn_trial_check_host(const struct attn_host *host, struct attn_error *err);

/* A pass over the whole RUN of a model, on its host's threads, with logits. */
struct attn_trial attn_trial_of(const struct attn_run *run);

/* Creates a session, which the caller owns, and feeds it the source; attn_trial_run also feeds the
 * input. Errors have a stage. */
enum attn_status attn_trial_start(const struct attn_trial *trial, struct attn_session **session,
                                  struct attn_error *err);
enum attn_status attn_trial_run(const struct attn_trial *trial, struct attn_session **session,
                                struct attn_error *err);

/* Notes the edits of RUN's request that had no effect in SESSION, after its feed. */
void attn_trial_note_idle(const struct attn_run *run, const struct attn_session *session);

/* A pass over the whole RUN without logits. TRACE gets its events. It is fed N_FEED positions at a
 * time, or all at once for 0. Errors have a stage. */
enum attn_status attn_trial_watch(const struct attn_run *run, const struct attn_trace *trace,
                                  size_t n_feed, struct attn_error *err);

/* Such a pass, which keeps the tensors of SELECTION in *CAPTURE. The caller owns *capture, also
 * after a failure. Notes edits without effect. Errors have a stage. */
enum attn_status attn_trial_keep(const struct attn_run *run, const struct attn_selection *selection,
                                 struct attn_capture **capture, struct attn_error *err);

/* --- Many ------------------------------------------------------------------------------------- */

/* The unchanged run, and the tensors from which changed runs start. */
struct attn_trials {
    const struct attn_run *run;       /* borrowed */
    const struct attn_answer *answer; /* borrowed */
    bool can_skip;                    /* runs may begin at a later layer */
    bool has_z;                       /* they start from z of that layer */
    struct attn_selection *selection; /* owns; resid_pre of all layers, and z */
    struct attn_selection *needed;    /* owns; the positions that the answer reads */
    struct attn_capture *capture;     /* owns; of the unchanged run */
    float *logits;                    /* [n_vocab] owns; of the unchanged run at the position */
    struct attn_reply base;           /* of the unchanged run */
    size_t n_feed;                    /* runs so far */
    size_t n_expected;                /* expected number of runs, for progress; or 0 */
};

/* The changes of one run. Borrowed. */
struct attn_trial_change {
    const struct attn_edit *edits; /* [n_edit], each of one layer */
    size_t n_edit;
};

struct attn_trial_outcome {
    struct attn_reply reply;
    size_t n_row; /* number of changed rows */
};

/* Runs RUN without changes. Later changes must be at the site FIRST or at sites after it. Release
 * TRIALS also after a failure. Errors have a stage. */
enum attn_status attn_trials_start(const struct attn_run *run, const struct attn_answer *answer,
                                   enum attn_site first, struct attn_trials *trials,
                                   struct attn_error *err);

/* Runs each of CHANGES [n] from its first changed layer on, and fills in OUTCOMES [n]. */
enum attn_status attn_trials_perform(struct attn_trials *trials,
                                     const struct attn_trial_change *changes, size_t n,
                                     struct attn_trial_outcome *outcomes, struct attn_error *err);

void attn_trials_release(struct attn_trials *trials);

#endif
