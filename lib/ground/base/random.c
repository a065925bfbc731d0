/* random.c - see random.h. The twister is Matsumoto and Nishimura's MT19937 (1998); the conversion
 * of its words follows ATen's CPUGeneratorImpl and DistributionTemplates, whose roundings affect
 * the result: products stay in float, and a mean of 0 is added, too. */
#include "base/random.h"

#include "base/elementary.h"

#include <assert.h>
#include <math.h>

enum { N_WORD = ATTN_RANDOM_N_WORD, MIDDLE = 397, BLOCK = 16 };

static const double pi = 3.14159265358979323846;

void attn_random_seed(struct attn_random *random, uint64_t seed)
{
    uint32_t *words = random->words;

    words[0] = (uint32_t)seed;
    for (uint32_t i = 1; i < N_WORD; i++)
        words[i] = 1812433253U * (words[i - 1] ^ (words[i - 1] >> 30)) + i;
    random->n_used = N_WORD;
    random->has_normal = false;
    random->normal = 0;
}

uint32_t attn_random_u32(struct attn_random *random)
{
    uint32_t *words = random->words, word;

    if (random->n_used == N_WORD) { /* generates the next 624 words */
        for (int i = 0; i < N_WORD; i++) {
            uint32_t high = words[i] & 0x80000000U, low = words[(i + 1) % N_WORD] & 0x7fffffffU;
            uint32_t odd = low & 1 ? 0x9908b0dfU : 0;

            words[i] = words[(i + MIDDLE) % N_WORD] ^ ((high | low) >> 1) ^ odd;
        }
        random->n_used = 0;
    }
    word = words[random->n_used++];
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c5680U;
    word ^= (word << 15) & 0xefc60000U;
    return word ^ (word >> 18);
}

double attn_random_double(struct attn_random *random)
{
    uint64_t high = attn_random_u32(random); /* the first word is the upper half */
    uint64_t low = attn_random_u32(random);

    return (double)((high << 32 | low) & 0x1fffffffffffffU) * 0x1p-53;
}

bool attn_random_bernoulli(struct attn_random *random, double p)
{
    return attn_random_double(random) < p;
}

void attn_random_fill_uniform(struct attn_random *random, float *x, size_t n, float from, float to)
{
    float width = to - from;

    for (size_t i = 0; i < n; i++)
        x[i] = (float)(attn_random_u32(random) & 0xffffff) * 0x1p-24F * width + from;
}

/* --- normal numbers: Box and Muller, a pair from two uniform ones ----------------------------- */

/* x [16] has uniform numbers; number k forms a pair with number k + 8. */
static void make_block_normal(float x[BLOCK], float mean, float std)
{
    for (int k = 0; k < BLOCK / 2; k++) {
        float radius = sqrtf(-2 * attn_float_log(1 - x[k]));
        float angle = (float)(2 * pi * (double)x[k + BLOCK / 2]);

        x[k] = radius * attn_float_cos(angle) * std + mean;
        x[k + BLOCK / 2] = radius * attn_float_sin(angle) * std + mean;
    }
}

/* Returns a normal number of mean 0 and deviation 1. Numbers come in pairs; the second is stored
 * for the next call. */
static double next_normal(struct attn_random *random)
{
    double radius, angle;

    if (random->has_normal) {
        random->has_normal = false;
        return random->normal;
    }
    angle = 2 * pi * attn_random_double(random);
    radius = sqrt(-2 * attn_log1p(-attn_random_double(random)));
    random->normal = radius * attn_sin(angle);
    random->has_normal = true;
    return radius * attn_cos(angle);
}

void attn_random_fill_normal(struct attn_random *random, float *x, size_t n, float mean, float std)
{
    if (n < BLOCK) {
        for (size_t i = 0; i < n; i++)
            x[i] = (float)(next_normal(random) * (double)std + (double)mean);
        return;
    }
    attn_random_fill_uniform(random, x, n, 0, 1);
    for (size_t i = 0; i + BLOCK <= n; i += BLOCK)
        make_block_normal(x + i, mean, std);
    if (n % BLOCK != 0) {
        attn_random_fill_uniform(random, x + n - BLOCK, BLOCK, 0, 1);
        make_block_normal(x + n - BLOCK, mean, std);
    }
}

/* --- Distributions -------------------------------------------------------------------------- */

/* He et al. 2015 with a = sqrt(5), as in nn.Linear.reset_parameters: a bound of about
 * 1/sqrt(in). */
void attn_random_fill_linear(struct attn_random *random, float *weight, float *bias, size_t out,
                             size_t in)
{
    double root = sqrt((double)in);
    float bound = (float)(sqrt(3.0) * (sqrt(2.0 / (1 + 5)) / root));
    float bias_bound = (float)(1 / root);

    attn_random_fill_uniform(random, weight, out * in, -bound, bound);
    if (bias)
        attn_random_fill_uniform(random, bias, out, -bias_bound, bias_bound);
}

void attn_random_permutation(struct attn_random *random, size_t *order, size_t n)
{
    assert(n < UINT32_MAX / 20);
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = 0; i + 1 < n; i++) {
        size_t j = i + attn_random_u32(random) % (n - i);
        size_t swapped = order[i];

        order[i] = order[j];
        order[j] = swapped;
    }
}
