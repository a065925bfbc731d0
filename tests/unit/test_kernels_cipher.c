/*
 * test_kernels_cipher.c - numbers permuted: the same from every instruction set as from a plain
 * loop, back again, each once, and no byte out of bounds.
 */
#include "kernels/kernels.h"
#include "tests/support/suite.h"

#include <string.h>

enum { MOST = 100, N_BIT = 11 };

static const struct attn_cipher cipher = {
    .n_low = 6,
    .mask_low = 63,
    .mask_high = 31,
    .keys = {1, 0xffffffff, 77, 0x80000000, 12345, 0xdeadbeef, 3, 4000000000},
};

static uint32_t scramble(uint32_t half, uint32_t key)
{
    uint32_t x = (half + key) * 0x9e3779b1;

    x = (x ^ (x >> 15)) * 0x85ebca6b;
    x = (x ^ (x >> 13)) * 0xc2b2ae35;
    return x ^ (x >> 16);
}

static uint32_t encipher(uint32_t number)
{
    uint32_t low = number & 63, high = number >> 6;

    for (int i = 0; i < ATTN_CIPHER_ROUNDS; i += 2) {
        low ^= scramble(high, cipher.keys[i]) & 63;
        high ^= scramble(low, cipher.keys[i + 1]) & 31;
    }
    return high << 6 | low;
}

START_TEST(some_numbers_become_what_a_plain_loop_makes_of_them)
{
    for (int isa = 0; isa <= ATTN_ISA_BEST; isa++)
        for (size_t n = 0; n <= MOST; n++) {
            const struct attn_kernels *kernels = attn_kernels_find((enum attn_isa)isa);
            uint32_t numbers[MOST + 1];

            for (size_t i = 0; i <= MOST; i++)
                numbers[i] = (uint32_t)(i * 1237 + n) % (1 << N_BIT);
            kernels->encipher(&cipher, numbers, n);
            for (size_t i = 0; i <= MOST; i++) {
                const uint32_t number = (uint32_t)(i * 1237 + n) % (1 << N_BIT);

                ck_assert_uint_eq(numbers[i], i < n ? encipher(number) : number);
            }
            kernels->decipher(&cipher, numbers, n);
            for (size_t i = 0; i <= MOST; i++)
                ck_assert_uint_eq(numbers[i], (i * 1237 + n) % (1 << N_BIT));
        }
}
END_TEST

START_TEST(all_numbers_become_each_of_them_once)
{
    uint32_t numbers[1 << N_BIT];
    bool is_seen[1 << N_BIT] = {false};

    for (uint32_t i = 0; i < 1 << N_BIT; i++)
        numbers[i] = i;
    attn_kernels_find(ATTN_ISA_BEST)->encipher(&cipher, numbers, 1 << N_BIT);
    for (size_t i = 0; i < 1 << N_BIT; i++) {
        ck_assert_uint_lt(numbers[i], 1 << N_BIT);
        ck_assert(!is_seen[numbers[i]]);
        is_seen[numbers[i]] = true;
    }
}
END_TEST

ATTN_SUITE("kernels: cipher", some_numbers_become_what_a_plain_loop_makes_of_them,
           all_numbers_become_each_of_them_once)
