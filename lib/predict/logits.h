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

/* Sorts the tokens of LOGITS [n] into RANKED [2 * n], the most probable first, equal ones in the
 * order of the vocabulary, NaN last; the second half is room for sorting. Returns what
 * exp(logit - that of the first) is divided by for a probability. */
double attn_logits_rank(const float *logits, size_t n, struct attn_scored *ranked);

/* The most probable token of LOGITS [n]; of equal ones the first. NaN is the least probable. */
int32_t attn_logits_first(const float *logits, size_t n);

/* The number of the largest of N numbers, STEP floats apart, by the same rule. */
size_t attn_floats_first(const float *x, size_t n, size_t step);

/* The rank of token ID among LOGITS [n]: 1 for the most probable. Equal ones have the mean of their
 * ranks; NaN comes last. */
double attn_logits_place(const float *logits, size_t n, int32_t id);

/* -ln p(ID) in nats, of LOGITS [n]: in double precision. */
double attn_logits_surprisal(const float *logits, size_t n, int32_t id);

#endif
