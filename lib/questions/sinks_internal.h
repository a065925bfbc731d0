/* sinks_internal.h - the rule of a sink, for sinks.c and for the notes of spans.c. */
#ifndef ATTN_QUESTIONS_SINKS_INTERNAL_H
#define ATTN_QUESTIONS_SINKS_INTERNAL_H

enum { ATTN_SINK_ROWS = 8 }; /* fewest rows that see a column which counts */

#define ATTN_SINK_WEIGHT 0.3 /* a sink has more than this mean weight, by default */

#endif
