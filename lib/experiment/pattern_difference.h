/*
 * pattern_difference.h - two patterns of the same rows as their difference, for pictures: an event
 * of a trace whose numbers are the chosen weights minus the exact ones.
 *
 *     attn_pattern_difference_tell(&trace, chosen, exact, &err);
 */
#ifndef ATTN_EXPERIMENT_PATTERN_DIFFERENCE_H
#define ATTN_EXPERIMENT_PATTERN_DIFFERENCE_H

#include "trace/trace.h"

/*
 * Tells TRACE of the rows of EXACT, all or some of those of CHOSEN, of one head each; layer and head
 * are those of CHOSEN. A cell counts when it counts in one of them, and has weight 0 in the other.
 */
enum attn_status attn_pattern_difference_tell(const struct attn_trace *trace,
                                              const struct attn_trace_event *chosen,
                                              const struct attn_trace_event *exact,
                                              struct attn_error *err);

#endif
