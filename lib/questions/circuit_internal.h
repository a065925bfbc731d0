/* circuit_internal.h - scores of edges, for circuit.c. Private to lib/questions. */
#ifndef ATTN_QUESTIONS_CIRCUIT_INTERNAL_H
#define ATTN_QUESTIONS_CIRCUIT_INTERNAL_H

#include "predict/answer_internal.h"
#include "questions/circuit.h"
#include "questions/wiring.h"
#include "run/reply.h"

struct attn_wire_scores {
    const struct attn_answer *answer; /* in the base */
    size_t n_point;                   /* points between both texts; 0: the gradient of the base */
    size_t kept_bytes;                /* questions/derivative.h */
};

/* Sets SCORES [n_reader, n_writer] to the sums of deltas times gradients, and *BASE to the reply of
 * the base. EDGES is open, and cannot be used for paths afterwards. Errors have a stage. */
enum attn_status attn_wiring_score(struct attn_wiring *edges, const struct attn_wire_scores *asked,
                                   struct attn_reply *base, double *scores, struct attn_error *err);

#endif
