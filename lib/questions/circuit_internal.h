/* circuit_internal.h - scores of edges, for circuit.c. Private to lib/questions. */
#ifndef ATTN_QUESTIONS_CIRCUIT_INTERNAL_H
#define ATTN_QUESTIONS_CIRCUIT_INTERNAL_H

#include "predict/answer_internal.h"
#include "questions/circuit.h"
#include "questions/wiring.h"
#include "run/reply.h"
#include "run/trial.h"

struct attn_wire_scores {
    const struct attn_answer *answer; /* in the base */
    size_t n_point;                   /* points between both texts; 0: the gradient of the base */
    size_t kept_bytes;                /* questions/derivative.h */
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

struct attn_circuit {
    unsigned char *chosen; /* [n_reader, n_writer] borrowed; flags of its edges */
    size_t n_kept;         /* those on a way from the input to the logits */
    double value;          /* the metric */
};

/* Removes from CIRCUITS [n] what is on no way, and runs each: TRIALS are those of the clean run,
 * the base of EDGES is the corrupted one. */
enum attn_status attn_circuit_run(const struct attn_wiring *edges, struct attn_trials *trials,
                                  struct attn_circuit *circuits, size_t n, struct attn_error *err);

#endif
