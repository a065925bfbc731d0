/*
 * pattern_difference.h - two patterns of the same rows as their difference, for pictures: an event
 * of a trace whose numbers are the chosen weights minus the exact ones.
 *
 *     attn_pattern_difference_tell(&trace, chosen, exact, &err);
 */
#ifndef ATTN_EXPERIMENT_PATTERN_DIFFERENCE_H
#define ATTN_EXPERIMENT_PATTERN_DIFFERENCE_H

#include "trace/trace.h"

/* Is told rows of one head of CHOSEN attention, and the same rows of EXACT, made of the same q, k and
 * v; in the order of a trace. */
typedef enum attn_status (*attn_pattern_pair_fn)(void *user, const struct attn_trace_event *chosen,
                                                 const struct attn_trace_event *exact,
                                                 struct attn_error *err);

struct attn_pattern_pairs {
    attn_pattern_pair_fn on_pair;
    void *user;
};

/* Tells PAIRS of the rows of EXACT, all or some of those of CHOSEN, whose layer and head both get. */
enum attn_status attn_pattern_pairs_tell(const struct attn_pattern_pairs *pairs,
                                         const struct attn_trace_event *chosen,
                                         const struct attn_trace_event *exact,
                                         struct attn_error *err);

/*
 * Tells TRACE of the rows of EXACT, all or some of those of CHOSEN, of one head each; layer and head
 * are those of CHOSEN. A cell counts when it counts in one of them, and has weight 0 in the other.
 */
enum attn_status attn_pattern_difference_tell(const struct attn_trace *trace,
                                              const struct attn_trace_event *chosen,
                                              const struct attn_trace_event *exact,
                                              struct attn_error *err);

#endif
