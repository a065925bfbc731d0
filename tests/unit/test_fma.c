/* test_fma.c - the product and sum of lanes.h, rounded once, against the C library's fmaf. */
#include "kernels/lanes.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

static uint64_t state;

/* xorshift64*: Vigna 2016. */
static uint64_t next_bits(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 2685821657736338717U;
}

static float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Every NaN is one NaN: processors differ in which they give. */
static void assert_same(float found, float a, float b, float c)
{
    const float expected = fmaf(a, b, c);

    if (bits_of(found) != bits_of(expected) && !(isnan(found) && isnan(expected)))
        ck_abort_msg("%a * %a + %a is %a, expected %a", (double)a, (double)b, (double)c,
                     (double)found, (double)expected);
}

static void assert_lanes(vf a, vf b, vf c)
{
    const vf found = v_fma(a, b, c);

    for (int l = 0; l < LANES; l++)
        assert_same(found[l], a[l], b[l], c[l]);
}

START_TEST(the_edges_of_floats_are_rounded_as_fmaf_does)
{
    static const float edges[] = {
        0,
        0x1p-149F,
        0x3p-149F,
        0x1p-126F,
        0x1.fffffep-127F,
        0x1p-75F,
        0x1p-24F,
        0x1.8p-24F,
        0.5F,
        0x1.fffffep-1F,
        1,
        0x1.000002p+0F,
        1.5F,
        0x1p23F,
        0x1.000002p+23F,
        0x1p24F,
        0x1p64F,
        0x1p127F,
        0x1.fffffep+127F,
        INFINITY,
        NAN,
    };
    const size_t n = sizeof edges / sizeof *edges;

    /* All threes, with all signs. */
    for (size_t i = 0; i < n * n * n * 8; i++) {
        const float signs[2] = {1, -1}, a = edges[i / 8 % n], b = edges[i / 8 / n % n];

        assert_lanes(v_splat(a * signs[i & 1]), v_splat(b * signs[i >> 1 & 1]),
                     v_splat(edges[i / 8 / n / n] * signs[i >> 2 & 1]));
    }
}
END_TEST

/* A float of any bits, or with an exponent near 0. */
static float random_float(bool is_near)
{
    const uint64_t bits = next_bits();
    const uint32_t near = 127 - 40 + (uint32_t)(bits >> 32) % 80;

    return float_of(is_near ? ((uint32_t)bits & 0x807fffffU) | near << 23 : (uint32_t)bits);
}

/* What makes the sum of a product and it cancel, subnormal, or lie half-way between two floats. */
static float random_addend(float product)
{
    const uint64_t bits = next_bits();

    switch (bits & 3) {
    case 0:
        return random_float(true);
    case 1:
        return random_float(false);
    case 2: /* near its negative */
        return float_of((bits_of(product) ^ 0x80000000U) + (uint32_t)(bits >> 2) % 5 - 2);
    default: /* of few bits, and up to 60 powers of two from it */
        return product == 0 || !isfinite(product)
                   ? 1
                   : ldexpf((float)((int)(bits >> 8 & 7) - 4),
                            ilogbf(product) + (int)(bits >> 16 & 127) - 64);
    }
}

START_TEST(random_products_and_sums_are_rounded_as_fmaf_does)
{
    const size_t n = 100000000 / attn_one_in(100);

    state = 20261121;
    for (size_t i = 0; i < n; i += LANES) {
        vf a, b, c;

        for (int l = 0; l < LANES; l++) {
            a[l] = random_float(i & LANES);
            b[l] = random_float(i & LANES);
            c[l] = random_addend(a[l] * b[l]);
        }
        assert_lanes(a, b, c);
    }
}
END_TEST

ATTN_SUITE("fma", the_edges_of_floats_are_rounded_as_fmaf_does,
           random_products_and_sums_are_rounded_as_fmaf_does)
