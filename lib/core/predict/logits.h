/* logits.h - the order of tokens by their logits. */
#ifndef ATTN_PREDICT_LOGITS_H
#define ATTN_PREDICT_LOGITS_H

#include "base/api.h"

#include <stddef.h>
#include <stdint.h>

/* A token and its logit. */
struct attn_scored {
    double logit;
    int32_t id;
};

/* Sorts the tokens of LOGITS [n] into RANKED [2 * n]: the most probable first, equal ones by their
 * ids, NaN last. The second half of RANKED is scratch. Returns the sum of exp(logit - first logit),
 * which normalizes these terms to probabilities. */
ATTN_API double attn_logits_rank(const float *logits, size_t n, struct attn_scored *ranked);

/* Returns the most probable token of LOGITS [n]; of equal ones, the first. NaN counts as the least
 * probable. */
ATTN_API int32_t attn_logits_first(const float *logits, size_t n);

/* Returns the index of the largest of N numbers, which lie STEP floats apart. Ties and NaN are
 * treated as in attn_logits_first. */
ATTN_API size_t attn_floats_first(const float *x, size_t n, size_t step);

/* Returns the rank of token ID among LOGITS [n]: 1 for the most probable. Ties get their mean rank;
 * NaN comes last. */
ATTN_API double attn_logits_place(const float *logits, size_t n, int32_t id);

/* Returns -ln p(ID) in nats, computed from LOGITS [n] in double precision. */
ATTN_API double attn_logits_surprisal(const float *logits, size_t n, int32_t id);

#endif
