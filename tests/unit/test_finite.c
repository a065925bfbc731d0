/*
 * test_finite.c - NaN and infinity are found in every type that has them, and nowhere else. Values
 * are written as the bits that the formats define.
 */
#include "attn.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* N elements of DTYPE at BYTES. */
static struct attn_non_finite find(enum attn_dtype dtype, const void *bytes, size_t n)
{
    const struct attn_tensor tensor = {.data = bytes, .dtype = dtype, .rank = 1, .shape = {n}};

    return attn_tensor_find_non_finite(&tensor);
}

static void check(const struct attn_non_finite *found, size_t n_nan, size_t n_infinite,
                  size_t first)
{
    ck_assert_uint_eq(found->n_nan, n_nan);
    ck_assert_uint_eq(found->n_infinite, n_infinite);
    ck_assert_uint_eq(found->first, first);
    ck_assert(n_nan + n_infinite == 0 || !isfinite(found->value));
}

START_TEST(counts_nan_and_both_infinities)
{
    /* the largest number, inf, a quiet NaN, -inf, a signalling NaN, the smallest number */
    const uint32_t f32[] = {0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0xFF800000, 0xFF800001, 1};
    const uint16_t f16[] = {0x7BFF, 0x7C00, 0x7E00, 0xFC00, 0xFC01, 1};
    const uint16_t bf16[] = {0x7F7F, 0x7F80, 0x7FC0, 0xFF80, 0xFF81, 1};
    const uint64_t f64[] = {0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0x7FF8000000000000,
                            0xFFF0000000000000, 0xFFF0000000000001, 1};
    const struct attn_non_finite found[] = {
        find(ATTN_DTYPE_F32, f32, 6), find(ATTN_DTYPE_F16, f16, 6), find(ATTN_DTYPE_BF16, bf16, 6),
        find(ATTN_DTYPE_F64, f64, 6)};

    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        check(&found[i], 2, 2, 1);
        ck_assert(found[i].value > 0); /* the first one, inf */
    }
}
END_TEST

START_TEST(knows_the_eight_bit_floats)
{
    unsigned char all[256];
    struct attn_non_finite found;

    for (int i = 0; i < 256; i++)
        all[i] = (unsigned char)i;
    found = find(ATTN_DTYPE_F8_E5M2, all, 256); /* S.11111.00 inf, S.11111.{01,10,11} NaN */
    check(&found, 6, 2, 0x7C);
    found = find(ATTN_DTYPE_F8_E4M3, all, 256); /* S.1111.111 NaN, no inf */
    check(&found, 2, 0, 0x7F);
    found = find(ATTN_DTYPE_F8_E8M0, all, 256);
    check(&found, 1, 0, 0xFF);
    found = find(ATTN_DTYPE_F8_E4M3FNUZ, all, 256);
    check(&found, 1, 0, 0x80);
    found = find(ATTN_DTYPE_F8_E5M2FNUZ, all, 256);
    check(&found, 1, 0, 0x80);
}
END_TEST

START_TEST(takes_a_complex_number_as_one)
{
    const float parts[][2] = {{1, 2}, {INFINITY, 0}, {0, -INFINITY}, {NAN, INFINITY}, {3, NAN}};
    const struct attn_non_finite found = find(ATTN_DTYPE_C64, parts, 5);

    check(&found, 2, 2, 1);
}
END_TEST

START_TEST(finds_nothing_in_types_that_have_only_numbers)
{
    static const enum attn_dtype types[] = {ATTN_DTYPE_BOOL, ATTN_DTYPE_F4,  ATTN_DTYPE_F6_E2M3,
                                            ATTN_DTYPE_U8,   ATTN_DTYPE_I16, ATTN_DTYPE_U32,
                                            ATTN_DTYPE_I64};
    unsigned char ones[64];

    memset(ones, 0xFF, sizeof ones);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const struct attn_non_finite found = find(types[i], ones, 8);

        check(&found, 0, 0, 0);
    }
}
END_TEST

/* Around the ends of blocks of any size up to 4096, at an odd address, from a block of exactly that
 * size. */
START_TEST(finds_a_single_value_anywhere)
{
    const size_t places[] = {0, 1, 15, 16, 255, 256, 1023, 1024, 1025, 2047, 2048, 4094};
    enum { N = 4095 };

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char *block = calloc(N * sizeof(float) + 1, 1);
        const float value = -INFINITY;
        struct attn_non_finite found;

        ck_assert_ptr_nonnull(block);
        memcpy(block + 1 + places[i] * sizeof value, &value, sizeof value);
        found = find(ATTN_DTYPE_F32, block + 1, N);
        check(&found, 0, 1, places[i]);
        ck_assert(found.value < 0);
        free(block);
    }
}
END_TEST

START_TEST(takes_an_empty_tensor_and_a_scalar)
{
    const float nan = NAN;
    const struct attn_tensor empty = {
        .data = &nan, .dtype = ATTN_DTYPE_F32, .rank = 2, .shape = {7, 0}};
    const struct attn_tensor scalar = {.data = &nan, .dtype = ATTN_DTYPE_F32};
    struct attn_non_finite found = attn_tensor_find_non_finite(&empty);

    check(&found, 0, 0, 0);
    found = attn_tensor_find_non_finite(&scalar);
    check(&found, 1, 0, 0);
}
END_TEST

ATTN_SUITE("finite", counts_nan_and_both_infinities, knows_the_eight_bit_floats,
           takes_a_complex_number_as_one, finds_nothing_in_types_that_have_only_numbers,
           finds_a_single_value_anywhere, takes_an_empty_tensor_and_a_scalar)
