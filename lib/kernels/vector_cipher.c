/*
 * vector_cipher.c - numbers permuted by a Feistel network, several at a time.
 *
 * Each of its rounds changes one half by what the other one is scrambled to, and so undoes itself.
 */
#include "kernels/vector.h"

typedef uint32_t vu __attribute__((vector_size(4 * LANES))); /* whole numbers modulo 2^32 */

static inline vu scramble(vu half, uint32_t key)
{
    vu x = (half + key) * UINT32_C(0x9e3779b1);

    x = (x ^ (x >> 15)) * UINT32_C(0x85ebca6b);
    x = (x ^ (x >> 13)) * UINT32_C(0xc2b2ae35);
    return x ^ (x >> 16);
}

static inline vu permute(const struct attn_cipher *cipher, bool is_inverse, vu number)
{
    vu low = number & cipher->mask_low, high = number >> cipher->n_low;

#pragma GCC unroll 8
    for (int i = 0; i < ATTN_CIPHER_ROUNDS; i++) {
        const int round = is_inverse ? ATTN_CIPHER_ROUNDS - 1 - i : i;

        if (round % 2 == 0)
            low ^= scramble(high, cipher->keys[round]) & cipher->mask_low;
        else
            high ^= scramble(low, cipher->keys[round]) & cipher->mask_high;
    }
    return high << cipher->n_low | low;
}

static inline __attribute__((always_inline)) void
permute_all(const struct attn_cipher *cipher, bool is_inverse, uint32_t *numbers, size_t n)
{
    for (size_t i = 0, n_here; i < n; i += n_here) {
        vu number = {0};

        n_here = n - i < LANES ? n - i : LANES;
        memcpy(&number, numbers + i, n_here * sizeof *numbers);
        number = permute(cipher, is_inverse, number);
        memcpy(numbers + i, &number, n_here * sizeof *numbers);
    }
}

void ATTN_FOR_ISA(attn_vector_encipher)(const struct attn_cipher *cipher, uint32_t *numbers,
                                        size_t n)
{
    permute_all(cipher, false, numbers, n);
}

void ATTN_FOR_ISA(attn_vector_decipher)(const struct attn_cipher *cipher, uint32_t *numbers,
                                        size_t n)
{
    permute_all(cipher, true, numbers, n);
}
