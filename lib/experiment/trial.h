/*
 * trial.h - one pass over the input of a prepared run, perhaps changed and perhaps begun at a
 * later layer: what experiments repeat. For the files of this layer.
 *
 *     struct attn_trial trial = attn_trial_of(run);
 *     trial.edits = &edit, trial.n_edit = 1;
 *     trial.layer = 5, trial.resid = kept;    // resid_pre of layer 5, as a whole run had it
 *     attn_trial_run(&trial, &session, &err);
 */
#ifndef ATTN_EXPERIMENT_TRIAL_H
#define ATTN_EXPERIMENT_TRIAL_H

#include "capture/capture.h"
#include "model/session_pack.h"
#include "run/run_internal.h"

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

/* Whether a pass may begin at a later layer: not with dropout, whose numbers are drawn layer after
 * layer, and not with edits of the run. */
bool attn_trial_can_skip(const struct attn_run *run);

/* A new session, the caller's, that nothing was fed but the source; then fed. Errors have a
 * stage. */
enum attn_status attn_trial_start(const struct attn_trial *trial, struct attn_session **session,
                                  struct attn_error *err);
enum attn_status attn_trial_run(const struct attn_trial *trial, struct attn_session **session,
                                struct attn_error *err);

/* A pass over all of RUN without logits: *CAPTURE, the caller's, also where it fails, keeps the tensors
 * of SELECTION. Errors have a stage. */
enum attn_status attn_trial_keep(const struct attn_run *run, const struct attn_selection *selection,
                                 struct attn_capture **capture, struct attn_error *err);

/* The input of RUN, which has no source, several times at once, each time changed otherwise, from a
 * layer on. */
struct attn_trial_pack {
    const struct attn_run *run;
    int layer;                                     /* where it begins */
    const float *resid;                            /* [T, D] resid_pre of that layer */
    const float *z;                                /* [H, T, Ev] its z, to begin there; or NULL */
    const struct attn_session_sequence *sequences; /* [n] of T rows; the edits of each */
    size_t n;
};

/* A new session, the caller's, for packs of up to N_MOST, on the caller's thread. It keeps TRACE.
 * Errors have a stage. */
enum attn_status attn_trial_create_packs(const struct attn_run *run, const struct attn_trace *trace,
                                         size_t n_most, struct attn_session **session,
                                         struct attn_error *err);

/* Feeds it all of PACK in place of what it was fed before. Errors have a stage. */
enum attn_status attn_trial_run_pack(const struct attn_trial_pack *pack,
                                     struct attn_session *session, struct attn_error *err);

#endif
