/*
 * test_strip.c - a strip: which parts have rows and in which order, where a dot stands, which part
 * has the hue, and in how many groups each part is the largest.
 */
#include "attn.h"
#include "figures/table_picture.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_GROUP = 4, MOST_HEADS = 12, LAYERS_HEADS = 4, SIZE = 1 << 16 };

static struct attn_picture_options options;
static char svg[SIZE];

/* Makes the table of N_HEAD heads, four to a layer: head h of group g has (h + 1) * (g + 1) / 100,
 * but in the last group the largest is head 0, with 0.9. With SIGN -1 the first head is below 0. */
static struct attn_table *make_table(int n_head, int sign)
{
    static const struct attn_column columns[] = {
        {.name = "id", .type = ATTN_VALUE_TEXT},
        {.name = "part", .type = ATTN_VALUE_TEXT, .role = ATTN_ROLE_PART, .totals = "base"},
        {.name = "layer", .type = ATTN_VALUE_INTEGER, .role = ATTN_ROLE_LAYER},
        {.name = "head", .type = ATTN_VALUE_INTEGER, .role = ATTN_ROLE_HEAD},
        {.name = "change", .type = ATTN_VALUE_REAL}};
    struct attn_error err = {0};
    struct attn_table *table;

    ck_assert_int_eq(attn_table_create("ablate", columns, 5, &table, &err), ATTN_OK);
    for (int g = 0; g < N_GROUP; g++) {
        const char id[] = {(char)('a' + g), '\0'};

        for (int h = -1; h < n_head; h++) {
            const bool is_won = h == 0 && g == N_GROUP - 1;
            const double change = is_won ? 0.9 : (h + 1) * (g + 1) / 100.0;
            const struct attn_cell missing = attn_cell_missing();
            const struct attn_cell row[] = {attn_cell_text(id, 1),
                                            attn_cell_text(h < 0 ? "base" : "head", 4),
                                            h < 0 ? missing : attn_cell_integer(h / LAYERS_HEADS),
                                            h < 0 ? missing : attn_cell_integer(h % LAYERS_HEADS),
                                            attn_cell_real(h == 0 ? sign * change : change)};

            ck_assert_int_eq(attn_table_append(table, row, 5, &err), ATTN_OK);
        }
    }
    return table;
}

/* Draws TABLE into `svg`. */
static enum attn_status draw(const struct attn_table *table, size_t n_label, const char *metric,
                             struct attn_error *err)
{
    const struct attn_table_picture picture = {.view = {.rows = ATTN_ROLE_LAYER,
                                                        .columns = ATTN_ROLE_HEAD,
                                                        .values = ATTN_TABLE_COLUMN(4)},
                                               .n_label = n_label,
                                               .metric = metric};
    struct attn_output output = {.format = attn_format_find("svg")};
    enum attn_status status;
    size_t size = 0;

    if (attn_sink_create_memory(&output.sink, err) != ATTN_OK)
        return ATTN_NO_MEMORY;
    status = attn_table_picture_write(table, &picture, &options, &output, err);
    if (status == ATTN_OK) {
        const char *bytes = attn_sink_bytes(output.sink, &size);

        ck_assert_uint_lt(size, SIZE);
        memcpy(svg, bytes, size);
    }
    svg[size] = '\0';
    attn_sink_free(output.sink);
    return status;
}

/* Asks for a strip in which the part CHOSEN has the hue, or the largest if it is NULL. */
static void choose(const char *chosen)
{
    options = ATTN_PICTURE_OPTIONS_DEFAULT;
    options.figure = ATTN_FIGURE_STRIP;
    options.chosen = chosen;
}

/* Returns the x of the dot with MARK. */
static double x_of(const char *mark)
{
    char text[64];
    const char *at;

    snprintf(text, sizeof text, "data-i=\"%s\"", mark);
    at = strstr(svg, text);
    ck_assert_msg(at != NULL, "no dot %s", mark);
    while (strncmp(at, "cx=\"", 4) != 0)
        at--;
    return strtod(at + 4, NULL);
}

/* Checks that the names of the rows are NAMES, one after another. */
static void assert_names(const char *names)
{
    char found[256] = "";
    size_t used = 0;

    for (const char *at = svg; (at = strstr(at, "text-anchor=\"end\"")); at++) {
        const char *begin = strchr(strstr(at, "<text"), '>') + 1;

        used += (size_t)snprintf(found + used, sizeof found - used, "%s%.*s", used > 0 ? "|" : "",
                                 (int)strcspn(begin, "<"), begin);
    }
    ck_assert_str_eq(found, names);
}

static void draw_well(int n_head, int sign, const char *metric)
{
    struct attn_error err = {0};
    struct attn_table *table = make_table(n_head, sign);

    ck_assert_msg(draw(table, 1, metric, &err) == ATTN_OK, "%s", err.message);
    attn_table_free(table);
}

START_TEST(the_six_largest_medians_have_rows)
{
    choose(NULL);
    draw_well(MOST_HEADS, 1, "logit");
    assert_names("2.3|2.2|2.1|2.0|1.3|1.2|6 others");
    /* few others have rows, too */
    draw_well(8, 1, "logit");
    assert_names("1.3|1.2|1.1|1.0|0.3|0.2|0.1|0.0");
}
END_TEST

START_TEST(the_chosen_part_has_a_row_and_the_hue)
{
    choose("0.1");
    draw_well(MOST_HEADS, 1, "kl");
    assert_names("2.3|2.2|2.1|2.0|1.3|1.2|0.1|5 others");
    ck_assert_ptr_nonnull(strstr(svg, "data-i=\"0.1,3\" fill=\"#c8400a\""));
    ck_assert_ptr_null(strstr(svg, "data-i=\"2.3,3\" fill=\"#c8400a\""));
    ck_assert_ptr_nonnull(strstr(svg, ">Head 0.1 changes the prediction most in 0 of 4 items"));
    choose(NULL);
    draw_well(MOST_HEADS, 1, "logit");
    ck_assert_ptr_nonnull(strstr(svg, "data-i=\"2.3,3\" fill=\"#c8400a\""));
    ck_assert_ptr_nonnull(strstr(svg, ">Head 2.3 has the largest magnitude in 3 of 4 items"));
}
END_TEST

START_TEST(numbers_without_a_sign_go_by_their_roots)
{
    double left, unit;

    choose("0.0");
    draw_well(MOST_HEADS, 1, "kl"); /* the largest is 0.9 */
    unit = (x_of("0.0,3") - x_of("0.0,0")) / (sqrt(0.9) - sqrt(0.01));
    left = x_of("0.0,3") - unit * sqrt(0.9);
    ck_assert_double_eq_tol(x_of("2.3,2"), left + unit * sqrt(0.36), 0.02);
    ck_assert_double_eq_tol(x_of("1.2,1"), left + unit * sqrt(0.14), 0.02);
    draw_well(MOST_HEADS, -1, "logit"); /* the least is -0.9 */
    unit = (x_of("2.3,3") - x_of("0.0,3")) / (0.48 + 0.9);
    ck_assert_double_eq_tol(x_of("2.3,2"), x_of("0.0,3") + unit * (0.36 + 0.9), 0.02);
    ck_assert_ptr_nonnull(strstr(svg, "has the largest magnitude in "));
}
END_TEST

START_TEST(what_cannot_be_a_strip_is_refused)
{
    struct attn_error err = {0};
    struct attn_table *table = make_table(MOST_HEADS, 1);

    choose("7.7");
    ck_assert_int_eq(draw(table, 1, NULL, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "'`figure strip:7.7`' names no row of the table, expected a name "
                                  "such as 2.5");
    choose(NULL);
    err = (struct attn_error){0};
    ck_assert_int_eq(draw(table, 0, NULL, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message,
                     "'`figure strip`' has a dot for each group of `items`, and there are no "
                     "groups: `group_by id` makes one of each item");
    attn_table_free(table);
}
END_TEST

START_TEST(a_strip_fails_cleanly_wherever_memory_runs_out)
{
    struct attn_table *table = make_table(MOST_HEADS, 1);
    enum attn_status status = ATTN_NO_MEMORY;
    long n = 0;

    choose("0.1");
    for (; status == ATTN_NO_MEMORY; n++) {
        struct attn_error err = {0};

        attn_alloc_fail_at(n);
        status = draw(table, 1, "kl", &err);
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%s", err.message);
        ck_assert_int_lt(n, 5000);
    }
    ck_assert_int_gt(n, 20);
    attn_table_free(table);
}
END_TEST

ATTN_SUITE("strip", the_six_largest_medians_have_rows, the_chosen_part_has_a_row_and_the_hue,
           numbers_without_a_sign_go_by_their_roots, what_cannot_be_a_strip_is_refused,
           a_strip_fails_cleanly_wherever_memory_runs_out)
