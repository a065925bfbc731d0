/*
 * test_under_layout.c - tiles stand under their words without touching those of others, within the
 * room, in rows or in a list.
 */
#include "figures/under_layout.h"
#include "tests/support/suite.h"

#include <string.h>

enum { WORDS = 5, TILES = 32 };

static const double widths[WORDS] = {30, 40, 15, 30, 70};
static const size_t counts[WORDS + 1] = {14, 2, 4, 2, 1, 9};

static struct attn_under_group groups[WORDS + 1];
static struct attn_under_tile tiles[TILES];

static size_t most_rows; /* 0: any */

/* Lays out the text in ROOM, with tiles in the order of their groups. */
static struct attn_under_layout lay_out(double room, bool is_leftwards, bool is_flowing)
{
    struct attn_under_layout layout = {.groups = groups,
                                       .tiles = tiles,
                                       .n_word = WORDS,
                                       .n_group = WORDS + 1,
                                       .n_tile = TILES,
                                       .left = 10,
                                       .right = 10 + room,
                                       .tile_width = 20,
                                       .tile_height = 22,
                                       .tile_gap = 2,
                                       .gap = 8,
                                       .most_gap = 40,
                                       .line = 12,
                                       .most_rows = most_rows,
                                       .is_leftwards = is_leftwards,
                                       .is_flowing = is_flowing};
    size_t i = 0;

    memset(groups, 0, sizeof groups);
    for (size_t g = 0; g <= WORDS; g++) {
        groups[g].word = g < WORDS ? widths[g] : 0;
        groups[g].label = 60;
        for (size_t k = 0; k < counts[g]; k++)
            tiles[i++].group = g;
    }
    attn_under_lay_out(&layout);
    return layout;
}

/* No tile touches another, and all lie within what the layout claims. */
static void check_tiles(const struct attn_under_layout *layout)
{
    for (size_t i = 0; i < TILES; i++) {
        ck_assert_double_ge(tiles[i].x, layout->left);
        ck_assert_double_le(tiles[i].x + 18, layout->end + 1e-9);
        ck_assert_double_le(tiles[i].y + 22, layout->bottom + 1e-9);
        for (size_t k = 0; k < i; k++)
            ck_assert(tiles[i].x >= tiles[k].x + 20 || tiles[k].x >= tiles[i].x + 20 ||
                      tiles[i].y >= tiles[k].y + 22 || tiles[k].y >= tiles[i].y + 22);
    }
}

START_TEST(words_are_as_far_apart_as_tiles_need)
{
    const struct attn_under_layout layout = lay_out(500, false, false);

    ck_assert(layout.is_line);
    check_tiles(&layout);
    ck_assert_double_eq(layout.end, 510); /* the whole room */
    ck_assert_uint_eq(groups[0].across, 5);
    ck_assert_double_eq(groups[0].x, 10);
    ck_assert_double_eq(groups[0].width, 98); /* 5 tiles are wider than the word */
    ck_assert_double_eq(groups[4].width, 70); /* the word is wider than its tile */
    for (size_t g = 0; g <= WORDS; g++) {
        ck_assert_double_eq(groups[g].y, 0);
        if (g > 0)
            ck_assert_double_ge(groups[g].x, groups[g - 1].x + groups[g - 1].width + 8);
    }
    ck_assert_double_eq(layout.bottom, 3 * 22);
}
END_TEST

START_TEST(tiles_need_more_rows_in_less_room)
{
    const struct attn_under_layout layout = lay_out(280, false, false);

    ck_assert(layout.is_line);
    check_tiles(&layout);
    ck_assert_uint_eq(groups[0].across, 3); /* the least, but of few tiles */
    ck_assert_double_eq(groups[WORDS].y, 5 * 22 + 8 + 12);
    ck_assert_double_eq(layout.bottom, groups[WORDS].y + 22);
}
END_TEST

START_TEST(towers_of_tiles_become_a_list)
{
    most_rows = 4;
    ck_assert(lay_out(300, false, false).is_line); /* 14 tiles of the first word in 4 rows */
    ck_assert_uint_eq(groups[0].across, 4);
    ck_assert(!lay_out(280, false, false).is_line);
    most_rows = 0;
    ck_assert(lay_out(280, false, false).is_line);
    ck_assert_uint_eq(groups[0].across, 3); /* in 5 */
}
END_TEST

START_TEST(a_text_may_run_from_right_to_left)
{
    const struct attn_under_layout layout = lay_out(500, true, false);

    check_tiles(&layout);
    ck_assert_double_eq(groups[0].x + groups[0].width, 510);
    ck_assert_double_eq(groups[WORDS].x, 10);
    for (size_t g = 1; g <= WORDS; g++)
        ck_assert_double_lt(groups[g].x, groups[g - 1].x);
}
END_TEST

START_TEST(without_room_for_a_line_it_is_a_list)
{
    const struct attn_under_layout layout = lay_out(150, false, false);

    ck_assert(!layout.is_line);
    check_tiles(&layout);
    for (size_t g = 0; g < WORDS; g++)
        ck_assert_double_eq(groups[g].x, 70);
    ck_assert_double_eq(groups[1].y, 4 * 22 + 4); /* after 14 tiles, 4 in a row */
    ck_assert_double_eq(groups[WORDS].x, 10);
}
END_TEST

START_TEST(groups_of_a_list_may_follow_each_other)
{
    const struct attn_under_layout layout = lay_out(130, false, true);

    ck_assert(!layout.is_line);
    check_tiles(&layout);
    ck_assert_double_eq(tiles[0].x, 70); /* after the label */
    ck_assert_double_eq(tiles[3].x, 10); /* in the next row */
    ck_assert_double_eq(tiles[3].y, 22);
    ck_assert_double_eq(groups[1].x, 10); /* its label and a tile do not fit after the last one */
    ck_assert_double_eq(groups[1].y, 3 * 22);
}
END_TEST

ATTN_SUITE("under_layout", words_are_as_far_apart_as_tiles_need, tiles_need_more_rows_in_less_room,
           towers_of_tiles_become_a_list, a_text_may_run_from_right_to_left,
           without_room_for_a_line_it_is_a_list, groups_of_a_list_may_follow_each_other)
