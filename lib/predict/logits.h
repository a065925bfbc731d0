/* logits.h - the order of tokens by their logits. For the files of this layer and above. */
#ifndef ATTN_PREDICT_LOGITS_H
#define ATTN_PREDICT_LOGITS_H

#include <stddef.h>
#include <stdint.h>

/* A token and its logit. */
struct attn_scored {
    double logit;
    int32_t id;
};

/* Sorts the tokens of LOGITS [n] into RANKED [2 * n], the most probable first, ties by their ids,
 * NaN last; the second half is scratch. Returns the sum by which exp(logit - first logit) is
 * divided to get a probability. */
double attn_logits_rank(const float *logits, size_t n, struct attn_scored *ranked);

/* Returns the most probable token of LOGITS [n], the first of equal ones. NaN is the least
 * probable. */
int32_t attn_logits_first(const float *logits, size_t n);

/* Returns the index of the largest of N numbers, STEP floats apart, by the same rule. */
size_t attn_floats_first(const float *x, size_t n, size_t step);

/* Returns the rank of token ID among LOGITS [n]: 1 for the most probable. Ties get their mean rank;
 * NaN comes last. */
double attn_logits_place(const float *logits, size_t n, int32_t id);

/* -ln p(ID) in nats, of LOGITS [n]: in double precision. */
double attn_logits_surprisal(const float *logits, size_t n, int32_t id);

#endif
