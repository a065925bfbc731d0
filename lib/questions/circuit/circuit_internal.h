/*
 * circuit_internal.h - the procedure of circuits. A file only calls files that are listed above it.
 * Private to lib/questions.
 *
 *     circuit_runs.c     selects circuits, and runs them
 *     circuit_scores.c   scores of edges
 *     circuit_curve.c    circuits of several sizes, beside random ones
 *     circuit_places.c   where its parts work, and its paths
 *     circuit.c          the question, and files of circuits
 */
#pragma once

#include "circuit/circuit.h"
#include "circuit/patch_internal.h"
#include "circuit/wiring.h"
#include "predict/answer_internal.h"
#include "trials/reply.h"
#include "trials/trial.h"

/* The columns of its table: those of scores, then those of circuits that are run. */
enum {
    ATTN_CIRCUIT_FROM,
    ATTN_CIRCUIT_TO,
    ATTN_CIRCUIT_SCORE,
    ATTN_CIRCUIT_OWN,
    ATTN_CIRCUIT_POSITION,
    ATTN_CIRCUIT_TOKEN,
    ATTN_CIRCUIT_TYPE,
    ATTN_CIRCUIT_KEY,
    ATTN_CIRCUIT_LOOKS_AT,
    ATTN_CIRCUIT_WEIGHT,
    ATTN_CIRCUIT_EDGES,
    ATTN_CIRCUIT_KEPT,
    ATTN_CIRCUIT_VALUE,

    ATTN_CIRCUIT_FAITHFULNESS,
    ATTN_CIRCUIT_CONTROL,
    ATTN_CIRCUIT_CONTROL_SD,
    ATTN_CIRCUIT_ROW_TYPE,
    ATTN_CIRCUIT_N_COLUMN
};

struct attn_head_kind; /* measures/head_kind.h */

/* Where a writer works. */
struct attn_circuit_place {
    double sum;      /* of all its edges: its estimate */
    size_t position; /* of the largest part of it */
    /* of a head: its kind in the clean text, or NULL; and the strongest key of that position beside
     * parks; weight NaN: no such key, or an MLP */
    const struct attn_head_kind *kind;
    size_t key;
    double weight;
};

/* What all items share. */
struct attn_circuit_plan {
    double *scores;        /* [n_reader, n_writer] owns; mean scores; or NULL */
    unsigned char *chosen; /* [n_reader, n_writer] owns; edges of a file that are run; or NULL */
};

struct attn_circuit_state {
    struct attn_patching patch; /* begins with the frame; its plan may be NULL */
    const struct attn_circuit_args *args;
    struct attn_patch_args pair; /* of `patch` */
    const double *scores; /* [n_reader, n_writer] borrowed; NULL: the edges are those of a file */
    /* [n_writer] owned by the frame; for the edges of a circuit; or NULL */
    struct attn_circuit_place *places;
};

/* --- circuit_scores.c ------------------------------------------------------------------------- */

struct attn_wire_scores {
    const struct attn_answer *answer; /* in the base */
    size_t n_point;                   /* points between both texts; 0: the gradient of the base */
    bool is_riemann;       /* the points are k / n_point from the corrupted text, k from 0 */
    bool has_clean_source; /* the base is the corrupted text */
    size_t kept_bytes;     /* trials/derivative.h */
    /* [n_writer, n] zeroed; receives the sums of the edges of each writer, by position; or NULL */
    double *places;
};

/* Sets SCORES [n_reader, n_writer] to the sums of deltas times gradients, and *BASE to the reply of
 * the base. EDGES is open, and cannot be used for paths afterwards. Errors have a stage. */
enum attn_status attn_wiring_score(struct attn_wiring *edges, const struct attn_wire_scores *asked,
                                   struct attn_reply *base, double *scores, struct attn_error *err);

/* --- circuit_runs.c --------------------------------------------------------------------------- */

/* Sets ORDER [n_edge] to the edges, reader * n_writer + writer, in which circuits take them: by
 * |score|, or from the logits on. */
enum attn_status attn_circuit_rank(const struct attn_wiring *edges, const double *scores,
                                   bool is_greedy, size_t *order, struct attn_error *err);

/* Removes from CHOSEN [n_reader, n_writer] the edges on no way from the input to the logits, and
 * sets *N_KEPT to the number of those left. */
enum attn_status attn_circuit_prune(const struct attn_wiring *edges, unsigned char *chosen,
                                    size_t *n_kept, struct attn_error *err);

struct attn_circuit {
    unsigned char *chosen; /* [n_reader, n_writer] borrowed; flags of its edges */
    size_t n_kept;         /* those on a way from the input to the logits */
    double value;          /* the metric */
};

/* Removes from CIRCUITS [n] what is on no way, and runs each: TRIALS are those of the clean run,
 * the base of EDGES is the corrupted one. */
enum attn_status attn_circuit_run(const struct attn_wiring *edges, struct attn_trials *trials,
                                  struct attn_circuit *circuits, size_t n, struct attn_error *err);

/* --- circuit_curve.c -------------------------------------------------------------------------- */

/* Runs the circuits of all sizes, by the scores, or that of a file, and appends their rows. With a
 * plan it reads the replies of both texts. */
enum attn_status attn_circuit_run_curve(struct attn_circuit_state *state, struct attn_error *err);

/* Returns an error if WHOLE, the mean difference of clean and corrupted texts, is too small to be
 * divided by. */
enum attn_status attn_circuit_check_difference(double whole, struct attn_error *err);

/* `derive` of a curve over items (fold.h). */
enum attn_status attn_circuit_curve_derive(const struct attn_circuit_args *args,
                                           const struct attn_fold_means *means,
                                           struct attn_error *err);

/* --- circuit_places.c ------------------------------------------------------------------------- */

/* Sets PLACES [n_writer] from SUMS [n_writer, n], the places of attn_wiring_score, and from a pass
 * over RUN, the clean text, whose session SESSION receives, unless it is NULL. If SUMS is NULL,
 * positions stay as they are given. */
enum attn_status attn_circuit_find_places(const struct attn_wiring *edges, const double *sums,
                                          const struct attn_run *run, struct attn_session **session,
                                          struct attn_circuit_place *places,
                                          struct attn_error *err);

/* Appends the paths of the circuit CHOSEN to TEXT, at most 10, one a line: "John -> 2.7 -> Mary",
 * where WORDS stand for the input and the logits. First the path with the largest product of
 * |scores|, then always the largest one with a part that no path before it has. */
enum attn_status attn_circuit_paths(const struct attn_wiring *edges, const double *scores,
                                    const unsigned char *chosen, const char *const words[2],
                                    struct attn_buffer *text, struct attn_error *err);
