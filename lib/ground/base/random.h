/*
 * random.h - reproduces PyTorch's CPU generator: a seed gives the same numbers as torch.manual_seed
 * and the same calls.
 *
 *     struct attn_random random;
 *     attn_random_seed(&random, 123);
 *     attn_random_fill_uniform(&random, w, 6, 0, 1);        // torch.rand(3, 2)
 *     attn_random_fill_normal(&random, e, 18, 0, 1);        // torch.randn(6, 3)
 *
 * All tensors draw from one stream, in the order of the calls; a tensor is filled in memory order.
 * Results equal those of a torch built without AVX2 (as on Apple silicon). A torch with AVX2 rounds
 * less often: some normal numbers differ by up to 2.3e-6, and uniform numbers whose range does not
 * begin at 0 in the last bit. Dropout masks equal those of a torch without MKL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATTN_RANDOM_N_WORD = 624 };

/* Owned by the caller; attn_random_seed initializes it. A copy continues with the same numbers. */
struct attn_random {
    uint32_t words[ATTN_RANDOM_N_WORD];
    int n_used;      /* number of words that were used since they were generated */
    bool has_normal; /* `normal` holds the second number of a pair */
    double normal;   /* the second number, before scaling by mean and standard deviation */
};

/* As torch.manual_seed: uses the low 32 bits of SEED. Discards a stored normal number. */
void attn_random_seed(struct attn_random *random, uint64_t seed);

/* Returns the next word of the Mersenne twister. */
uint32_t attn_random_u32(struct attn_random *random);

/* Returns 0 <= u < 1, a multiple of 2^-53. Uses two words. */
double attn_random_double(struct attn_random *random);

/* Returns true with probability P. Dropout keeps a value with probability 1 - P. */
bool attn_random_bernoulli(struct attn_random *random, double p);

/* Fills x [n] as tensor.uniform_(from, to). */
void attn_random_fill_uniform(struct attn_random *random, float *x, size_t n, float from, float to);

/* Fills x [n] as tensor.normal_(mean, std) fills a contiguous tensor: fewer than 16 numbers are
 * drawn one by one in double precision; more are drawn in blocks of 16, and if n is not a multiple
 * of 16, the last 16 numbers are drawn again. */
void attn_random_fill_normal(struct attn_random *random, float *x, size_t n, float mean, float std);

/* Draws initial values of torch.nn.Linear(in, out): WEIGHT [out, in], BIAS [out] or NULL. */
void attn_random_fill_linear(struct attn_random *random, float *weight, float *bias, size_t out,
                             size_t in);

/* Fills order [n] as torch.randperm(n), for n below 2^32 / 20 (beyond, torch uses longer words). */
void attn_random_permutation(struct attn_random *random, size_t *order, size_t n);
