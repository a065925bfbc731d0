/* test_label_places.c - labels of points that cover nothing, in a sheet with and without room. */
#include "figures/label_places.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 460, MANY = 1000 };

static const struct attn_label_sheet sheet = {
    .left = 56, .top = 40, .width = SIDE, .height = SIDE, .line = 13.5, .radius = 4};

static uint32_t state;

/* A number from 0 to 1, always the same ones. */
static double drawn(void)
{
    state = state * UINT32_C(1664525) + UINT32_C(1013904223);
    return (double)(state >> 8) / (1 << 24);
}

/* N points about the middle, in a square of WIDTH, with labels of 1 to 9 letters. */
static struct attn_point_label *scatter(size_t n, double width)
{
    struct attn_point_label *labels = calloc(n, sizeof *labels);

    state = 7;
    for (size_t i = 0; i < n; i++) {
        labels[i].x = sheet.left + SIDE / 2.0 + (drawn() - 0.5) * width;
        labels[i].y = sheet.top + SIDE / 2.0 + (drawn() - 0.5) * width;
        labels[i].width = 8.1 * floor(1 + 9 * drawn());
    }
    return labels;
}

static void find(const struct attn_label_sheet *on, struct attn_point_label *labels, size_t n)
{
    struct attn_error err = {0};

    ck_assert_msg(attn_label_places_find(on, labels, n, &err) == ATTN_OK, "%s", err.message);
}

static size_t count_placed(const struct attn_point_label *labels, size_t n)
{
    size_t n_placed = 0;

    for (size_t i = 0; i < n; i++)
        n_placed += labels[i].is_placed;
    return n_placed;
}

static bool is_apart(const double a[4], const double b[4])
{
    return a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
}

/* Checks that no label covers another one, a point or the edge. */
static void assert_apart(const struct attn_point_label *labels, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double *box = labels[i].box;

        if (!labels[i].is_placed)
            continue;
        ck_assert(box[0] >= sheet.left && box[2] <= sheet.left + SIDE);
        ck_assert(box[1] >= sheet.top && box[3] <= sheet.top + SIDE);
        ck_assert_double_eq_tol(box[2] - box[0], labels[i].width, 1e-9);
        for (size_t k = 0; k < n; k++) {
            const double x = labels[k].x, y = labels[k].y, r = sheet.radius;

            if (!is_apart(box, (double[]){x - r, y - r, x + r, y + r}))
                ck_abort_msg("label %zu covers point %zu", i, k);
            if (i != k && labels[k].is_placed && !is_apart(box, labels[k].box))
                ck_abort_msg("labels %zu and %zu cover each other", i, k);
        }
    }
}

START_TEST(labels_with_room_stand_right_of_their_points)
{
    struct attn_point_label labels[2] = {{.x = 100, .y = 100, .width = 30},
                                         {.x = 300, .y = 300, .width = 60}};

    find(&sheet, labels, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert(labels[i].is_placed && !labels[i].has_line);
        ck_assert_double_eq(labels[i].box[0], labels[i].x + 7);
        ck_assert_double_eq(labels[i].box[1], labels[i].y - 13.5 / 2);
    }
}
END_TEST

/* The second label has room on the left only, where the first one stands at the edge. */
START_TEST(a_label_moves_for_another)
{
    const double walls[3][4] = {{205, 60, 300, 140}, {100, 60, 205, 92}, {100, 108, 205, 140}};
    struct attn_label_sheet walled = sheet;
    struct attn_point_label labels[2] = {{.x = 160, .y = 100, .width = 24},
                                         {.x = 200, .y = 100, .width = 24}};

    walled.taken = walls;
    walled.n_taken = 3;
    find(&walled, labels, 2);
    ck_assert(labels[0].is_placed && labels[1].is_placed);
    assert_apart(labels, 2);
}
END_TEST

START_TEST(labels_cover_nothing_however_many_there_are)
{
    const double widths[] = {SIDE, 300, 60, 0};
    const size_t counts[] = {40, 300, MANY};

    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            struct attn_point_label *labels = scatter(counts[c], widths[w]);

            find(&sheet, labels, counts[c]);
            assert_apart(labels, counts[c]);
            free(labels);
        }
}
END_TEST

START_TEST(forty_points_have_all_their_labels)
{
    struct attn_point_label *labels = scatter(40, SIDE - 60);

    find(&sheet, labels, 40);
    ck_assert_uint_eq(count_placed(labels, 40), 40);
    free(labels);
}
END_TEST

/* Points in a heap: those in its middle get a line, or no label. */
START_TEST(labels_leave_a_crowd_by_lines)
{
    struct attn_point_label *labels = scatter(40, 120);
    size_t n_line = 0;

    find(&sheet, labels, 40);
    for (size_t i = 0; i < 40; i++) {
        n_line += labels[i].has_line;
        ck_assert(!labels[i].has_line || labels[i].is_placed);
    }
    ck_assert_uint_ge(n_line, 3);
    ck_assert_uint_ge(count_placed(labels, 40), 20);
    free(labels);
}
END_TEST

START_TEST(equal_points_give_equal_places)
{
    struct attn_point_label *a = scatter(MANY, 300), *b = scatter(MANY, 300);

    find(&sheet, a, MANY);
    find(&sheet, b, MANY);
    for (size_t i = 0; i < MANY; i++) {
        ck_assert(a[i].is_placed == b[i].is_placed && a[i].has_line == b[i].has_line);
        ck_assert(!a[i].is_placed || memcmp(a[i].box, b[i].box, sizeof a[i].box) == 0);
    }
    free(a);
    free(b);
}
END_TEST

START_TEST(points_without_a_label_are_not_covered)
{
    struct attn_point_label labels[2] = {{.x = 100, .y = 100, .width = 30}, {.x = 112, .y = 100}};

    find(&sheet, labels, 2);
    ck_assert(labels[0].is_placed && !labels[1].is_placed);
    assert_apart(labels, 2);
    ck_assert_double_le(labels[0].box[2], 100);
}
END_TEST

ATTN_SUITE("label_places", labels_with_room_stand_right_of_their_points, a_label_moves_for_another,
           labels_cover_nothing_however_many_there_are, forty_points_have_all_their_labels,
           labels_leave_a_crowd_by_lines, equal_points_give_equal_places,
           points_without_a_label_are_not_covered)
