/*
 * trial.h - one forward pass over the input of a prepared run, as it is; and many such passes with
 * different edits, in parallel on the threads of the host. For the files of this layer and
 * above.
 *
 *     struct attn_watch watch = {.sites = ATTN_SITES(ATTN_SITE_Z), .capture = &capture};
 *     attn_watch(run, &watch, &err);
 *
 *     struct attn_trials trials;
 *     attn_trials_start(run, &answer, ATTN_SITE_Z, &trials, &err); // the unchanged run
 *     attn_trials_perform(&trials, edits, changes, n, outcomes, &err); // the changed runs
 *     attn_trials_release(&trials);
 */
#pragma once

#include "trace/capture.h"
#include "trace/lists.h"
#include "trials/reply.h"

/* Checks that HOST has a model with an output layer. Errors have a stage. */
enum attn_status attn_trial_check_host(const struct attn_host *host, struct attn_error *err);

/* The parts of a model that a pass runs: its events, or those of the encoder, which name it. */
enum attn_watched { ATTN_WATCH_TEXT, ATTN_WATCH_ENCODER, ATTN_WATCH_BOTH };

/* Layers, heads and queries that are watched. */
struct attn_watch_places {
    const struct attn_location *first, *last; /* layers of one stack; NULL: the outermost ones */
    const struct attn_head_list *heads;       /* not given or NULL: all */
    const struct attn_number_list *queries;   /* without words; not given or NULL: all */
    size_t first_query, n_query;              /* these instead; n_query 0: no */
};

/* A pass over a run with its edits. All but the receiver of the events may be left out. */
struct attn_watch {
    enum attn_watched of;
    const struct attn_selection *selection; /* the tensors that are watched; NULL: the following */
    struct attn_site_set sites;
    const struct attn_edit *edits; /* [n_edit] the tensors that they change, instead of sites */
    size_t n_edit;
    struct attn_watch_places places;
    bool takes_rows; /* rows of all heads may come before the next rows */
    size_t n_piece;  /* positions per feed (struct attn_pass) */
    size_t n_more;   /* number of positions that will be fed later */
    bool is_silent;  /* sends no notes about edits without effect */
    bool is_only;    /* it is fed at once: keys of one layer are kept; and if no other pass follows,
                        weights are given back to the system */
    attn_trace_fn on_event; /* receives the events, unless the capture does */
    void *user;
    /* [2] receives where the text, and an encoder that is watched, park weight, of all heads
     * (measures/parks.h), or NULL; the caller frees them, also after a failure. ON_EVENT gets its
     * events after ON_PARKS, which may be NULL; a capture at once */
    struct attn_parks **parks;
    enum attn_status (*on_parks)(void *user, struct attn_error *err);
    struct attn_capture **capture;    /* receives the tensors; the caller owns it */
    struct attn_site_set event_sites; /* with a capture: sites that ON_EVENT receives instead */
    struct attn_session **session;    /* receives the session, with logits; the caller owns it */
};

/* Runs the text, then the encoder. Errors have a stage. */
enum attn_status attn_watch(const struct attn_run *run, const struct attn_watch *watch,
                            struct attn_error *err);

/* Sends notes about the edits of RUN's request that had no effect in SESSION. Call after its
 * feed. */
void attn_trial_note_idle(const struct attn_run *run, const struct attn_session *session);

/* --- Many runs -------------------------------------------------------------------------------- */

/* The unchanged run, and the tensors with which changed runs begin. */
struct attn_trials {
    const struct attn_run *run;       /* borrowed */
    const struct attn_answer *answer; /* borrowed */
    bool can_skip;                    /* runs may begin at a later layer */
    bool has_z;                       /* runs begin with z of a layer */
    struct attn_selection *needed;    /* owns; positions that the answer reads */
    struct attn_capture *capture;     /* owns; resid_pre of all layers, and z if has_z; or NULL */
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
