/* sha256.c - see sha256.h. The names are those of FIPS 180-4. */
#include "towers/sha256.h"

#include <stdbool.h>
#include <string.h>

enum { BLOCK = ATTN_SHA256_BLOCK, N_ROUND = 64 };

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t K[N_ROUND] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static uint32_t read_word(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void write_word(uint8_t *bytes, uint32_t word)
{
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(word >> (24 - 8 * i));
}

/* Expands one block to the message schedule W. */
static void expand(const uint8_t *block, uint32_t w[N_ROUND])
{
    for (size_t t = 0; t < 16; t++)
        w[t] = read_word(block + 4 * t);
    for (size_t t = 16; t < N_ROUND; t++) {
        const uint32_t x = w[t - 15], y = w[t - 2];
        w[t] = w[t - 16] + (rotate(x, 7) ^ rotate(x, 18) ^ x >> 3) + w[t - 7] +
               (rotate(y, 17) ^ rotate(y, 19) ^ y >> 10);
    }
}

/* Does one round. To avoid moving the working variables a to h, they are the elements of S from
 * index -t on, modulo 8. */
static inline void add_round(uint32_t s[8], size_t t, uint32_t term)
{
    const uint32_t a = s[(0 - t) % 8], b = s[(1 - t) % 8], c = s[(2 - t) % 8];
    const uint32_t e = s[(4 - t) % 8], f = s[(5 - t) % 8], g = s[(6 - t) % 8];
    const uint32_t t1 = s[(7 - t) % 8] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                        ((e & f) ^ (~e & g)) + term;

    s[(3 - t) % 8] += t1;
    s[(7 - t) % 8] =
        t1 + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
}

void attn_sha256_add_portable(uint32_t state[8], const uint8_t *blocks, size_t n)
{
    uint32_t w[N_ROUND], s[8];

    for (; n > 0; n--, blocks += BLOCK) {
        expand(blocks, w);
        memcpy(s, state, sizeof s);
        for (size_t t = 0; t < N_ROUND; t += 8)
#pragma GCC unroll 8
            for (size_t i = 0; i < 8; i++)
                add_round(s, i, K[t + i] + w[t + i]);
        for (size_t i = 0; i < 8; i++)
            state[i] += s[i];
    }
}

#if defined __x86_64__
#include <cpuid.h>
#include <immintrin.h>

/* A register of W holds four rounds. Each of two instructions does two rounds and writes the new a,
 * b, e, f over the old c, d, g, h. */
__attribute__((target("sha,sse4.1"))) static void add_with_sha(uint32_t state[8],
                                                               const uint8_t *blocks, size_t n)
{
    /* Order in memory: f e b a, then h g d c. */
    static const uint8_t places[8] = {5, 4, 1, 0, 7, 6, 3, 2};
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    uint32_t s[8];
    __m128i w[4], abef, cdgh, sum;

    for (size_t i = 0; i < 8; i++)
        s[i] = state[places[i]];
    abef = _mm_loadu_si128((const __m128i *)s);
    cdgh = _mm_loadu_si128((const __m128i *)s + 1);
    for (; n > 0; n--, blocks += BLOCK) {
        const __m128i old_abef = abef, old_cdgh = cdgh;
        for (size_t i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)blocks + i), big_endian);
#pragma GCC unroll 16
        for (size_t t = 0; t < N_ROUND / 4; t++) {
            const __m128i next = w[(t + 1) % 4], last = w[(t + 3) % 4];
            if (t >= 4) {
                sum = _mm_add_epi32(_mm_sha256msg1_epu32(w[t % 4], next),
                                    _mm_alignr_epi8(last, w[(t + 2) % 4], 4));
                w[t % 4] = _mm_sha256msg2_epu32(sum, last);
            }
            sum = _mm_add_epi32(w[t % 4], _mm_loadu_si128((const __m128i *)K + t));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
        }
        abef = _mm_add_epi32(abef, old_abef);
        cdgh = _mm_add_epi32(cdgh, old_cdgh);
    }
    _mm_storeu_si128((__m128i *)s, abef);
    _mm_storeu_si128((__m128i *)s + 1, cdgh);
    for (size_t i = 0; i < 8; i++)
        state[places[i]] = s[i];
}

/* Returns the fastest implementation. Uses cpuid, because __builtin_cpu_supports of older clang
 * does not know "sha". */
static attn_sha256_fn *find_fastest(void)
{
    unsigned eax, ebx, ecx, edx;
    const bool has_sse41 = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_SSE4_1);

    return has_sse41 && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & bit_SHA)
               ? add_with_sha
               : attn_sha256_add_portable;
}

#else

static attn_sha256_fn *find_fastest(void)
{
    return attn_sha256_add_portable;
}

#endif

void attn_sha256_init(struct attn_sha256 *hash)
{
    /* The first 32 bits of the fractional parts of the square roots of the first 8 primes. */
    *hash = (struct attn_sha256){.add_blocks = find_fastest(),
                                 .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                           0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void attn_sha256_update(struct attn_sha256 *hash, const void *bytes, size_t size)
{
    const uint8_t *next = bytes;
    const size_t n_rest = hash->n_byte % BLOCK, n_lacking = BLOCK - n_rest;

    if (size == 0)
        return;
    hash->n_byte += size;
    if (size < n_lacking) {
        memcpy(hash->rest + n_rest, next, size);
        return;
    }
    if (n_rest > 0) {
        memcpy(hash->rest + n_rest, next, n_lacking);
        hash->add_blocks(hash->state, hash->rest, 1);
        next += n_lacking;
        size -= n_lacking;
    }
    hash->add_blocks(hash->state, next, size / BLOCK);
    memcpy(hash->rest, next + size / BLOCK * BLOCK, size % BLOCK);
}

void attn_sha256_digest(const struct attn_sha256 *hash, uint8_t digest[ATTN_SHA256_SIZE])
{
    static const uint8_t padding[BLOCK] = {0x80};
    const uint64_t n_bit = hash->n_byte * 8;
    struct attn_sha256 copy = *hash;
    uint8_t length[8];

    write_word(length, (uint32_t)(n_bit >> 32));
    write_word(length + 4, (uint32_t)n_bit);
    attn_sha256_update(&copy, padding, 1 + (2 * BLOCK - 9 - hash->n_byte % BLOCK) % BLOCK);
    attn_sha256_update(&copy, length, sizeof length);
    for (size_t i = 0; i < 8; i++)
        write_word(digest + 4 * i, copy.state[i]);
}
