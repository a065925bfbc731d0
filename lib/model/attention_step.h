/*
 * attention_step.h - attention as one of the equations of a block (step.h), and the KV cache.
 */
#ifndef ATTN_MODEL_ATTENTION_STEP_H
#define ATTN_MODEL_ATTENTION_STEP_H

#include "model/step.h"

/*
 * QK .. PATTERN and Z of the current layer, one sequence after the other: appends k [n_row, G, E]
 * and v [n_row, G, Ev] to the KV cache, then computes z = softmax(q k^T * scale) v, or what the layer's kind of attention has in
 * place of it, from all rows there: q [n_row, H, E], z [n_row, H, Ev], for the heads that are
 * needed. k and v of a source are appended once. Cosine similarity normalizes q and k in place.
 */
void attn_attention_step(struct attn_forward *f, float *q, float *k, const float *v, float *z);

/* Keeps the first N of the sequence's rows in the KV cache. Those of a source stay unless N is
 * 0. */
void attn_kv_cache_truncate(struct attn_forward *f, size_t n);

#endif
