/*
 * visit.h - what happens when a tensor has been computed and before it is used: the edits declared
 * for its site are applied, then the trace is told.
 */
#ifndef ATTN_MODEL_VISIT_H
#define ATTN_MODEL_VISIT_H

#include "model/forward.h"

/* DATA holds what the feed has of SITE in the current layer (attn_forward_part): [n_row, n_head,
 * width]. One sequence is visited after the other. */
void attn_visit(struct attn_forward *f, enum attn_site site, float *data);

/* Only the edits of sequence number SEQUENCE, of its TARGET; only the trace, of the rows of EVENT
 * that it wants. */
void attn_visit_edit(struct attn_forward *f, size_t sequence,
                     const struct attn_edit_target *target);
void attn_visit_count(struct attn_forward *f, size_t sequence, size_t n_edited); /* rows */
void attn_visit_tell(struct attn_forward *f, const struct attn_trace_event *event);

#endif
