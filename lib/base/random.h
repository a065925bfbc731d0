/*
 * random.h - the numbers of PyTorch's CPU generator: a seed gives the numbers that
 * torch.manual_seed and the same calls give.
 *
 *     struct attn_random random;
 *     attn_random_seed(&random, 123);
 *     attn_random_fill_uniform(&random, w, 6, 0, 1);        // torch.rand(3, 2)
 *     attn_random_fill_normal(&random, e, 18, 0, 1);        // torch.randn(6, 3)
 *
 * One stream serves every tensor, in the order of the calls; a tensor is filled in memory order.
 * The torch is one built without AVX2 (as on Apple silicon): one with AVX2 rounds less often, and
 * differs in some normal numbers by up to 2.3e-6, and in the last bit of uniform ones that do not
 * begin at 0. Dropout masks are from a torch without MKL.
 */
#ifndef ATTN_BASE_RANDOM_H
#define ATTN_BASE_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATTN_RANDOM_N_WORD = 624 };

/* The caller owns it; attn_random_seed makes it usable. A copy goes on with the same numbers. */
struct attn_random {
    uint32_t words[ATTN_RANDOM_N_WORD];
    int n_used;      /* of words, since they were made */
    bool has_normal; /* the second of a pair of normal numbers is left over */
    double normal;   /* it, before mean and standard deviation */
};

/* As torch.manual_seed: the low 32 bits of SEED count. Drops a left-over normal number. */
void attn_random_seed(struct attn_random *random, uint64_t seed);

/* The next word of the Mersenne twister. */
uint32_t attn_random_u32(struct attn_random *random);

/* 0 <= u < 1, a multiple of 2^-53: two words. */
double attn_random_double(struct attn_random *random);

/* True with probability P; dropout with probability 1 - P keeps such a value. */
bool attn_random_bernoulli(struct attn_random *random, double p);

/* x [n] as tensor.uniform_(from, to). */
void attn_random_fill_uniform(struct attn_random *random, float *x, size_t n, float from, float to);

/* x [n] as tensor.normal_(mean, std) fills a contiguous tensor: below 16 numbers one by one in
 * double precision, else in blocks of 16, the last of which is drawn anew if n is no multiple. */
void attn_random_fill_normal(struct attn_random *random, float *x, size_t n, float mean, float std);

/* The initial values of torch.nn.Linear(in, out): WEIGHT [out, in], BIAS [out] or NULL. */
void attn_random_fill_linear(struct attn_random *random, float *weight, float *bias, size_t out,
                             size_t in);

/* order [n] as torch.randperm(n), for n below 2^32 / 20 (torch takes longer words above). */
void attn_random_permutation(struct attn_random *random, size_t *order, size_t n);

#endif
