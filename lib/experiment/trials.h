/*
 * trials.h - the same run many times, each with other changes, side by side on the threads of its
 * host. For the files of this layer.
 *
 *     struct attn_trials trials;
 *     attn_trials_start(run, &answer, ATTN_SITE_Z, &trials, &err); // the unchanged run
 *     attn_trials_perform(&trials, changes, n, outcomes, &err);  // those with changes
 *     attn_trials_release(&trials);
 */
#ifndef ATTN_EXPERIMENT_TRIALS_H
#define ATTN_EXPERIMENT_TRIALS_H

#include "capture/capture.h"
#include "experiment/answer_internal.h"
#include "experiment/trial.h"

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
    size_t n_feed;                    /* runs so far */
    size_t n_expected; /* in all, where the experiment knows; for those who are told of progress */
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

/* Runs RUN without changes. Those that follow are of FIRST, or of sites behind it. Release TRIALS
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
