/* plan.h - decides how far a forward pass computes, and lays out its memory. */
#ifndef ATTN_MODEL_PLAN_H
#define ATTN_MODEL_PLAN_H

#include "base/memory.h"
#include "model/forward.h"

/* The last tensor that F's trace and logits depend on. */
struct attn_step_place attn_plan_end(const struct attn_forward *f);

/* All buffers of F from ARENA, which measures first (base/memory.h). */
void attn_plan_memory(struct attn_forward *f, struct attn_arena *arena);

/* Multiply-adds of a feed of N_ROW positions. */
double attn_plan_work(const struct attn_forward *f, size_t n_row);

#endif
