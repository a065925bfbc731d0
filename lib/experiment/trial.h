/*
 * trial.h - one pass over the input of a prepared run, perhaps changed and perhaps begun at a later
 * layer; and many such passes, each with other changes, side by side on the threads of the host.
 * What experiments repeat. For the files of this layer.
 *
 *     struct attn_trial trial = attn_trial_of(run);
 *     trial.edits = &edit, trial.n_edit = 1;
 *     trial.layer = 5, trial.resid = kept;    // resid_pre of layer 5, as a whole run had it
 *     attn_trial_run(&trial, &session, &err);
 *
 *     struct attn_trials trials;
 *     attn_trials_start(run, &answer, ATTN_SITE_Z, &trials, &err); // the unchanged run
 *     attn_trials_perform(&trials, changes, n, outcomes, &err);    // those with changes
 *     attn_trials_release(&trials);
 */
#ifndef ATTN_EXPERIMENT_TRIAL_H
#define ATTN_EXPERIMENT_TRIAL_H

#include "capture/capture.h"
#include "experiment/reply.h"

struct attn_trial {
    const struct attn_run *run;
    struct attn_pool *pool;         /* NULL: the caller's thread alone */
    const struct attn_trace *trace; /* or NULL */
    const struct attn_edit *edits;  /* [n_edit], applied after those of the run */
    size_t n_edit;
    int layer;          /* where it begins; ATTN_NO_LAYER: with the input */
    const float *resid; /* [T, D] resid_pre of that layer, of n_layer what the output reads */
    size_t n_more;      /* positions that are fed later */
    bool has_logits;    /* the output layer's, of all positions */
    size_t n_feed;      /* positions that are fed at a time, where attention allows it, so that the
                           memory of rows on their way does not grow with the text; 0: all */
};

/* Whether HOST has a model, and one with an output layer. ATTN_INVALID when not; has a stage. */
enum attn_status attn_trial_check_host(const struct attn_host *host, struct attn_error *err);

/* A pass over all of RUN, a model's, on its host's threads, with logits. */
struct attn_trial attn_trial_of(const struct attn_run *run);

/* A new session, the caller's, that nothing was fed but the source; then fed. Errors have a
 * stage. */
enum attn_status attn_trial_start(const struct attn_trial *trial, struct attn_session **session,
                                  struct attn_error *err);
enum attn_status attn_trial_run(const struct attn_trial *trial, struct attn_session **session,
                                struct attn_error *err);

/* Names what the request of RUN edits without effect in SESSION, which was fed. */
void attn_trial_note_idle(const struct attn_run *run, const struct attn_session *session);

/* A pass over all of RUN without logits, whose events TRACE gets; fed N_FEED positions at a time,
 * or all at once for 0. Errors have a stage. */
enum attn_status attn_trial_watch(const struct attn_run *run, const struct attn_trace *trace,
                                  size_t n_feed, struct attn_error *err);

/* Such a pass: *CAPTURE, the caller's, also where it fails, keeps the
 * tensors of SELECTION. What is edited without effect is noted. Errors have a stage. */
enum attn_status attn_trial_keep(const struct attn_run *run, const struct attn_selection *selection,
                                 struct attn_capture **capture, struct attn_error *err);

/* --- Many ------------------------------------------------------------------------------------- */

/* The unchanged run, and what later ones begin with. */
struct attn_trials {
    const struct attn_run *run;       /* borrowed */
    const struct attn_answer *answer; /* borrowed */
    bool can_skip;                    /* runs may begin at a later layer */
    bool has_z;                       /* they begin with z of that layer */
    struct attn_selection *selection; /* owns; resid_pre of all layers, and z */
    struct attn_selection *needed;    /* owns; the positions that the answer reads */
    struct attn_capture *capture;     /* owns; of the unchanged run */
    float *logits;                    /* [n_vocab] owns; of the unchanged run at the position */
    struct attn_reply base;           /* its reply */
    size_t n_edited_row;              /* by the run's own edits */
    size_t n_feed;                    /* runs so far */
    size_t n_expected;                /* in all, where the experiment knows; for progress */
};

/* The changes of one run. Borrowed. */
struct attn_trial_change {
    const struct attn_edit *edits; /* [n_edit], each of one layer */
    size_t n_edit;
};

struct attn_trial_outcome {
    struct attn_reply reply;
    size_t n_row; /* that were changed */
};

/* Runs RUN without changes. Those that follow are of FIRST, or of sites after it. Release TRIALS
 * also after a failure. Errors have a stage. */
enum attn_status attn_trials_start(const struct attn_run *run, const struct attn_answer *answer,
                                   enum attn_site first, struct attn_trials *trials,
                                   struct attn_error *err);

/* Runs it with each of CHANGES [n], from the first layer that is changed on: OUTCOMES [n]. */
enum attn_status attn_trials_perform(struct attn_trials *trials,
                                     const struct attn_trial_change *changes, size_t n,
                                     struct attn_trial_outcome *outcomes, struct attn_error *err);

void attn_trials_release(struct attn_trials *trials);

#endif
