/*
 * test_under_aim.c - of many heads those that park stand apart, and the others under the word at
 * which they look most beside sinks; the heads of a small model stand under their strongest keys.
 */
#include "figures/under_layout.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdint.h>

static const bool is_sink[] = {true, false, false, true, false};

enum { N = sizeof is_sink / sizeof *is_sink };

/* Checks the aim of WEIGHTS; a head that stands under no word has no key. */
static void check(const float *weights, const bool *sinks, bool is_of_many,
                  enum attn_under_place place, size_t key)
{
    const struct attn_under_aim aim = attn_under_aim_of(weights, sinks, N, is_of_many);

    ck_assert_int_eq(aim.place, place);
    if (place == ATTN_UNDER_WORD)
        ck_assert_uint_eq(aim.key, key);
}

START_TEST(of_many_a_head_stands_beside_sinks)
{
    const float weights[N] = {0.3F, 0.05F, 0.5F, 0.1F, 0.05F}, parks[N] = {0.3F, 0, 0.5F, 0.2F, 0};
    struct attn_under_aim aim;

    check(weights, is_sink, true, ATTN_UNDER_WORD, 2);
    aim = attn_under_aim_of(weights, is_sink, N, true);
    ck_assert_uint_eq(aim.sink, 0);
    ck_assert_double_eq(aim.beside, (double)0.5F);
    check(parks, is_sink, true, ATTN_UNDER_PARKS, 0); /* half is on the two sinks together */
    check(parks, is_sink, false, ATTN_UNDER_WORD, 2);
}
END_TEST

/* .34 of what is left is enough: here .2 of .55. */
START_TEST(of_many_the_part_of_the_rest_counts)
{
    const float most[N] = {0.45F, 0.2F, 0.18F, 0, 0.17F},
                few[N] = {0.45F, 0.18F, 0.185F, 0, 0.185F};

    check(most, is_sink, true, ATTN_UNDER_WORD, 1);
    check(few, is_sink, true, ATTN_UNDER_EVERYWHERE, 0);
}
END_TEST

START_TEST(of_few_a_sink_is_a_key_like_others)
{
    const float weights[N] = {0.6F, 0.1F, 0.2F, 0.05F, 0.05F};
    const float even[N] = {0.2F, 0.2F, 0.33F, 0.2F, 0.07F};

    check(weights, is_sink, false, ATTN_UNDER_WORD, 0);
    check(weights, is_sink, true, ATTN_UNDER_PARKS, 0);
    check(even, is_sink, false, ATTN_UNDER_EVERYWHERE, 0); /* .33 of all, though .55 of the rest */
    check(even, is_sink, true, ATTN_UNDER_WORD, 2);
    ck_assert_double_eq(attn_under_aim_of(weights, is_sink, N, false).beside, (double)0.2F);
}
END_TEST

/* As of arrays without a model: all keys are words. */
START_TEST(without_sinks_none_parks)
{
    const float weights[N] = {0.6F, 0.1F, 0.2F, 0.05F, 0.05F}, nothing[N] = {NAN};
    struct attn_under_aim aim;

    check(weights, NULL, true, ATTN_UNDER_WORD, 0);
    aim = attn_under_aim_of(weights, NULL, N, true);
    ck_assert_double_eq(aim.beside, (double)0.6F);
    ck_assert_uint_eq(aim.sink, SIZE_MAX);
    check(nothing, NULL, true, ATTN_UNDER_EVERYWHERE, 0);
}
END_TEST

/* A row that sums to less has the rest on a sink that is no key, or on keys that are left out. */
START_TEST(what_a_row_lacks_is_parked)
{
    const float weights[N] = {0, 0.1F, 0.3F, 0, 0};
    const struct attn_under_aim aim = attn_under_aim_of(weights, is_sink, N, true);

    ck_assert_int_eq(aim.place, ATTN_UNDER_PARKS);
    ck_assert_uint_eq(aim.sink, SIZE_MAX);
}
END_TEST

ATTN_SUITE("under_aim", of_many_a_head_stands_beside_sinks, of_many_the_part_of_the_rest_counts,
           of_few_a_sink_is_a_key_like_others, without_sinks_none_parks, what_a_row_lacks_is_parked)
