/*
 * test_colormap.c - color maps against what is known of them from elsewhere, the contrast of text,
 * and scales from numbers to places in a map.
 */
#include "measures/head_kind.h"
#include "pictures/colormap_internal.h"
#include "terminal/heatmap_internal.h"
#include "tests/support/picture.h"
#include "tests/support/suite.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

static uint32_t number_of(struct attn_rgb color)
{
    return (uint32_t)color.r << 16 | (uint32_t)color.g << 8 | color.b;
}

static const struct attn_colormap *map_of(const char *name)
{
    const struct attn_colormap *map = attn_colormap_find(name);

    ck_assert_ptr_nonnull(map);
    return map;
}

/* Relative luminance by WCAG 2. */
static double luminance_of(struct attn_rgb color)
{
    const double channels[] = {color.r / 255.0, color.g / 255.0, color.b / 255.0};
    const double shares[] = {0.2126, 0.7152, 0.0722};
    double sum = 0;

    for (int i = 0; i < 3; i++)
        sum += shares[i] * (channels[i] <= 0.03928 ? channels[i] / 12.92
                                                   : pow((channels[i] + 0.055) / 1.055, 2.4));
    return sum;
}

START_TEST(maps_have_the_colors_of_their_makers)
{
    static const struct {
        const char *name;
        int level;
        uint32_t color;
    } known[] = {{"viridis", 0, 0x440154}, {"viridis", 255, 0xfde725}, {"viridis", 128, 0x21918c},
                 {"magma", 0, 0x000004},   {"magma", 255, 0xfcfdbf},   {"cividis", 0, 0x00224e},
                 {"greys", 0, 0xffffff},   {"blues", 0, 0xffffff}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        ck_assert_uint_eq(
            number_of(attn_colormap_color(map_of(known[i].name), ATTN_THEME_LIGHT, known[i].level)),
            known[i].color);
    for (int level = 0; level < ATTN_N_COLOR; level++)
        ck_assert_int_eq(attn_blues_level(number_of(
                             attn_colormap_color(map_of("blues"), ATTN_THEME_LIGHT, level))),
                         level);
}
END_TEST

/* The colors that a map has on a terminal, in their order. */
static int steps_of(const struct attn_colormap *map, enum attn_theme theme, int steps[64])
{
    int n = 0;

    for (int level = 0; level < ATTN_N_COLOR; level++) {
        const int index = attn_colormap_terminal(map, theme, level);

        if (n == 0 || steps[n - 1] != index)
            steps[n++] = index;
        ck_assert_int_lt(n, 64);
    }
    return n;
}

START_TEST(terminals_have_the_steps_that_the_design_lists)
{
    static const int viridis[] = {53, 54, 24, 30, 36, 71, 42, 77, 113, 148, 184, 220};
    static const int blues[] = {231, 255, 254, 189, 153, 117, 111, 75,
                                68,  32,  61,  25,  24,  237, 236, 235};
    int steps[64];

    ck_assert_int_eq(steps_of(map_of("viridis"), ATTN_THEME_LIGHT, steps), 12);
    ck_assert_mem_eq(steps, viridis, sizeof viridis);
    ck_assert_int_eq(steps_of(map_of("blues"), ATTN_THEME_LIGHT, steps), 16);
    ck_assert_mem_eq(steps, blues, sizeof blues);
}
END_TEST

START_TEST(colors_of_a_terminal_go_one_way)
{
    for (size_t i = 0; i < attn_n_colormap(); i++) {
        const struct attn_colormap *map = attn_colormap_at(i);
        int steps[64];
        const int n = steps_of(map, ATTN_THEME_LIGHT, steps);
        int n_turn = 0;

        for (int s = 2; s < n; s++) {
            const double before = luminance_of(attn_terminal_color(steps[s - 2]));
            const double here = luminance_of(attn_terminal_color(steps[s - 1]));
            const double after = luminance_of(attn_terminal_color(steps[s]));

            n_turn += (here - before) * (after - here) < -1e-3;
        }
        ck_assert_msg(n_turn <= attn_colormap_is_diverging(map), "%s turns %d times",
                      attn_colormap_name(map), n_turn);
    }
}
END_TEST

START_TEST(text_can_be_read_on_every_color)
{
    for (size_t i = 0; i < attn_n_colormap(); i++)
        for (int theme = 0; theme < 2; theme++)
            for (int level = 0; level < ATTN_N_COLOR; level++) {
                const struct attn_rgb color =
                    attn_colormap_color(attn_colormap_at(i), (enum attn_theme)theme, level);
                const double contrast = attn_rgb_takes_black(color)
                                            ? (luminance_of(color) + 0.05) / 0.05
                                            : 1.05 / (luminance_of(color) + 0.05);

                ck_assert_double_ge(contrast, 4.5);
            }
}
END_TEST

START_TEST(what_has_no_value_has_no_color_of_a_map)
{
    for (int kind = ATTN_CELL_MASKED; kind <= ATTN_CELL_NOT_FINITE; kind++)
        for (int other = ATTN_CELL_MASKED; other < kind; other++)
            for (int theme = 0; theme < 2; theme++)
                ck_assert_uint_ne(attn_cell_look(kind, (enum attn_theme)theme).hatch,
                                  attn_cell_look(other, (enum attn_theme)theme).hatch);
    ck_assert_uint_eq(attn_cell_look(ATTN_CELL_MASKED, ATTN_THEME_LIGHT).ground, 0xc8c8c8);
    ck_assert_uint_eq(attn_cell_look(ATTN_CELL_MASKED, ATTN_THEME_DARK).ground, 0x202020);
}
END_TEST

START_TEST(kinds_of_heads_darken_with_their_weight)
{
    for (size_t i = 0; i < ATTN_N_HEAD_KIND; i++) {
        const struct attn_head_kind *kind = attn_head_kind_at(i);

        double last = 2;

        ck_assert_uint_le(strlen(kind->brief), 7);
        for (int theme = 0; theme < 2; theme++)
            ck_assert_uint_eq(number_of(attn_hue_color(kind->hue, 1, (enum attn_theme)theme)),
                              kind->hue);
        for (int place = 0; place <= 10; place++) {
            const struct attn_rgb color = attn_hue_color(kind->hue, place / 10.0, ATTN_THEME_LIGHT);

            ck_assert_double_lt(luminance_of(color), last);
            last = luminance_of(color);
        }
        for (size_t other = 0; other < i; other++)
            ck_assert_uint_ne(attn_head_kind_at(other)->hue, kind->hue);
    }
    ck_assert_int_eq(attn_ink_nearest((struct attn_rgb){0, 0, 0}).index, 16);
    ck_assert_int_eq(attn_ink_nearest((struct attn_rgb){0, 114, 178}).index, 25);
    ck_assert_int_eq(attn_ink_nearest((struct attn_rgb){118, 118, 118}).index, 243);
}
END_TEST

/* The bar of a head with marks .75 and elsewhere .25 of the rest, and .6 parked. */
static void assert_bar(const struct attn_head_type *type)
{
    static const double none[ATTN_N_MIX_CLASS] = {(double)NAN, (double)NAN};
    struct attn_head_part parts[ATTN_HEAD_PARTS];

    ck_assert_uint_eq(attn_head_bar(type->shares, type->park, parts), 3);
    ck_assert_str_eq(parts[0].kind->name, "marks");
    ck_assert_str_eq(parts[1].kind->name, "elsewhere");
    ck_assert_str_eq(parts[2].kind->name, "parks");
    ck_assert_double_eq_tol(parts[0].end, 0.3, 1e-12);
    ck_assert_double_eq_tol(parts[1].end, 0.4, 1e-12);
    ck_assert_double_eq_tol(parts[2].begin, 0.4, 1e-12);
    ck_assert(parts[0].begin == 0 && parts[2].end == 1);
    ck_assert_uint_eq(attn_head_bar(none, 1, parts), 1); /* all is parked */
}

START_TEST(a_head_has_the_type_of_the_weight_beside_parks)
{
    /* rows of 10 keys with 3 in its sentence, 60 % parked */
    struct attn_head_mix mix = {.n_row = 100,
                                .parked = 60,
                                .weights = {[ATTN_MIX_MARKS] = 30, [ATTN_MIX_ELSEWHERE] = 10},
                                .even = {10, 10, 0, 0, 0, 15, 0, 20, 10, 35},
                                .entropy = 20,
                                .most_entropy = 100};
    struct attn_head_type type = attn_head_type_of(&mix, 0);

    ck_assert_str_eq(type.name, "marks");
    ck_assert_double_eq_tol(type.park, 0.6, 1e-12);
    ck_assert_double_eq_tol(type.weight, 0.75, 1e-12);
    assert_bar(&type);
    mix.weights[ATTN_MIX_INDUCTION] = 6; /* of rows that see their token again, of 10 unparked */
    mix.repeated = 10, mix.n_repeated = 7;
    ck_assert_str_eq(attn_head_type_of(&mix, 0).name, "marks"); /* too few rows */
    mix.n_repeated = 8;
    ck_assert_str_eq(attn_head_type_of(&mix, 0).name, "induction");
    mix.parked = 95;
    ck_assert_str_eq(attn_head_type_of(&mix, 0).name, "induction"); /* parks where it finds none */
    mix.weights[ATTN_MIX_INDUCTION] = 0, mix.parked = 60;
    mix.weights[ATTN_MIX_MARKS] = 8, mix.weights[ATTN_MIX_SELF] = 12;
    mix.weights[ATTN_MIX_ELSEWHERE] = 20;
    type = attn_head_type_of(&mix, 0);
    ck_assert_str_eq(type.name, "self"); /* marks do not stand out */
    mix.even[ATTN_MIX_MARKS] = 2;
    ck_assert_str_eq(attn_head_type_of(&mix, 0).name, "self + marks");
    mix.entropy = 95;
    ck_assert_str_eq(attn_head_type_of(&mix, 0).name, "even");
    mix.parked = 95;
    ck_assert_str_eq(attn_head_type_of(&mix, 0).name, "parks");
    mix.n_row = 25, mix.parked = 1; /* too few rows for a type */
    type = attn_head_type_of(&mix, 0);
    ck_assert_ptr_null(type.kind);
    ck_assert_str_eq(type.largest->name, "elsewhere");
    mix.weights[0] = (double)NAN;
    ck_assert_ptr_null(attn_head_type_of(&mix, 0).largest);
}
END_TEST

/* --- Scales ---------------------------------------------------------------------------------- */

/* The place of VALUE on the scale of SITE, of a matrix from LEAST to MOST. */
static double place(enum attn_site site, bool is_difference, double least, double most,
                    double value)
{
    const struct attn_color_scale scale = attn_color_scale_of(attn_site_range(site), is_difference);

    return attn_color_place(&scale, attn_color_range(&scale, least, most), value);
}

START_TEST(numbers_have_their_places)
{
    static const struct {
        enum attn_site site;
        bool is_difference;
        double least, most, value, place;
    } cases[] = {
        {ATTN_SITE_PATTERN, false, 0, 0.5, 0.25, 0.5}, /* sqrt of 0 to 1 */
        {ATTN_SITE_PATTERN, false, 0, 0.5, 0, 0},
        {ATTN_SITE_PATTERN, false, 0, 0.5, 1, 1},
        {ATTN_SITE_ATTN_SCORES, false, -8, 4, 0, 0.5}, /* symmetric about 0 */
        {ATTN_SITE_ATTN_SCORES, false, -8, 4, 4, 0.75},
        {ATTN_SITE_PATTERN, true, -0.1, 0.1, 0.25, 0.75}, /* with its sign */
        {ATTN_SITE_PATTERN, true, -0.1, 0.1, -0.25, 0.25},
        {ATTN_SITE_Z, false, 0, 0, 0, 0.5},
        {ATTN_SITE_Z, false, (double)INFINITY, -(double)INFINITY, 0, 0.5}, /* no numbers */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(fabs(place(cases[i].site, cases[i].is_difference, cases[i].least,
                                 cases[i].most, cases[i].value) -
                           cases[i].place) < 1e-12,
                      "case %zu: %g", i,
                      place(cases[i].site, cases[i].is_difference, cases[i].least, cases[i].most,
                            cases[i].value));
}
END_TEST

START_TEST(ticks_stand_at_weights)
{
    static const char *const expected[] = {"0", "0.01", "0.04", "0.1", "0.25", "0.5", "1"};
    const struct attn_color_scale scale = attn_color_scale_of(ATTN_RANGE_SHARE, false);
    double ticks[ATTN_MOST_TICKS];
    char text[ATTN_TICK_TEXT_SIZE];
    const size_t n = attn_color_ticks(&scale, attn_color_range(&scale, 0, 1), ticks);

    ck_assert_uint_eq(n, 7);
    for (size_t i = 0; i < n; i++) {
        attn_color_tick_text(ticks[i], text);
        ck_assert_str_eq(text, expected[i]);
    }
    attn_color_tick_text(1e-4, text);
    ck_assert_str_eq(text, "1e-4");
    attn_color_tick_text(-2.5e-4, text); /* as steps of legends are */
    ck_assert_str_eq(text, "-2.5e-4");
    attn_color_tick_text(1.25e-10, text);
    ck_assert_str_eq(text, "1.25e-10");
    attn_color_tick_text(-0.5, text);
    ck_assert_str_eq(text, "-0.5");
    attn_color_tick_text(-12.25, text);
    ck_assert_str_eq(text, "-12.2");
}
END_TEST

START_TEST(columns_have_the_scale_of_their_numbers)
{
    static const struct attn_column columns[] = {
        {.name = "bits",
         .unit = "bits",
         .range = ATTN_RANGE_POSITIVE,
         .traits = ATTN_TRAIT_SURPRISAL},
        {.name = "nats",
         .unit = "nats",
         .range = ATTN_RANGE_POSITIVE,
         .traits = ATTN_TRAIT_SURPRISAL},
        {.name = "effect", .traits = ATTN_TRAIT_RESTORED},
        {.name = "change"},
    };
    static const struct {
        size_t column;
        double least, most, low, high;
    } cases[] = {{0, 0.5, 7, 0, 16},    {0, 0, 25, 0, 16},       {1, 0.5, 7, 0, 11.0903548889591},
                 {2, 0, 0.9, 0, 0.9},   {2, -0.04, 0.9, 0, 0.9}, {2, -0.05, 0.9, -0.9, 0.9},
                 {3, 0, 0.9, -0.9, 0.9}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct attn_color_scale scale =
            attn_color_scale_of_column(&columns[cases[i].column], cases[i].least, cases[i].most);
        const struct attn_color_range range =
            attn_color_range(&scale, cases[i].least, cases[i].most);

        ck_assert_double_eq_tol(range.low, cases[i].low, 1e-12);
        ck_assert_double_eq_tol(range.high, cases[i].high, 1e-12);
    }
}
END_TEST

ATTN_SUITE("colormap", maps_have_the_colors_of_their_makers,
           terminals_have_the_steps_that_the_design_lists, colors_of_a_terminal_go_one_way,
           text_can_be_read_on_every_color, what_has_no_value_has_no_color_of_a_map,
           kinds_of_heads_darken_with_their_weight, a_head_has_the_type_of_the_weight_beside_parks,
           numbers_have_their_places, ticks_stand_at_weights,
           columns_have_the_scale_of_their_numbers)
