/* The order of a table's rows: by value and by magnitude, equal and empty ones, fixed rows, groups.
 */
#include "attn.h"
#include "tables/table_order.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct attn_column columns[] = {
    {.name = "condition", .type = ATTN_VALUE_TEXT},
    {.name = "part", .type = ATTN_VALUE_TEXT, .role = ATTN_ROLE_PART, .totals = "base sum"},
    {.name = "id", .type = ATTN_VALUE_INTEGER},
    {.name = "change", .type = ATTN_VALUE_REAL},
    {.name = "kl", .type = ATTN_VALUE_REAL, .range = ATTN_RANGE_POSITIVE},
    {.name = "same", .type = ATTN_VALUE_BOOLEAN},
    {.name = "shape", .type = ATTN_VALUE_LIST},
    {.name = "kl:up", .type = ATTN_VALUE_INTEGER},
};
enum { N_COLUMN = sizeof columns / sizeof *columns };

/* NaN is a missing value for CHANGE, and itself for KL. */
static void append(struct attn_table *table, const char *condition, const char *part, int64_t id,
                   double change, double kl)
{
    const struct attn_cell row[N_COLUMN] = {
        attn_cell_text(condition, strlen(condition)),
        attn_cell_text(part, strlen(part)),
        attn_cell_integer(id),
        isnan(change) ? attn_cell_missing() : attn_cell_real(change),
        attn_cell_real(kl),
        attn_cell_boolean(id % 2),
        attn_cell_list(&id, 1),
        attn_cell_integer(-id),
    };

    ck_assert(attn_table_append(table, row, N_COLUMN, NULL) == ATTN_OK);
}

/* Two conditions of a base and parts. */
static struct attn_table *create(void)
{
    const double none = (double)NAN;
    struct attn_table *table;

    ck_assert(attn_table_create("ablate", columns, N_COLUMN, &table, NULL) == ATTN_OK);
    append(table, "near", "base", 0, 0, 0);
    append(table, "near", "head", 1, 0.5, none);
    append(table, "near", "head", 2, -2, 0.25);
    append(table, "near", "mlp", 3, none, 4);
    append(table, "near", "head", 4, 2, 0.25);
    append(table, "near", "sum", 5, 9, 9);
    append(table, "far", "base", 6, 0, 0);
    append(table, "far", "head", 7, 1, 2);
    append(table, "far", "attn", 8, -3, 1);
    return table;
}

/* Expects the ids of the rows as "0,4,2" after sorting by SORT, N_MOST rows of each group. */
static void expect(const char *sort, size_t n_most, size_t n_group, const char *expected)
{
    struct attn_table_order order = ATTN_TABLE_ORDER_DEFAULT;
    struct attn_table *table = create(), *sorted = NULL;
    struct attn_error err = {0};
    char ids[64] = "";
    size_t used = 0;

    order.sort = sort, order.n_most = n_most, order.n_group = n_group;
    ck_assert_msg(attn_table_sort(table, &order, &sorted, &err) == ATTN_OK, "%s", err.message);
    ck_assert_str_eq(attn_table_name(sorted), "ablate");
    ck_assert_uint_eq(attn_table_n_column(sorted), N_COLUMN);
    for (size_t row = 0; row < attn_table_n_row(sorted); row++) {
        const struct attn_cell shape = attn_table_cell(sorted, row, 6);

        ids[used++] = row > 0 ? ',' : ' ';
        ids[used++] = (char)('0' + attn_table_cell(sorted, row, 2).integer);
        ck_assert_int_eq(shape.list[0], attn_table_cell(sorted, row, 2).integer); /* whole rows */
    }
    ck_assert_str_eq(ids + 1, expected);
    attn_table_free(sorted);
    attn_table_free(table);
}

START_TEST(signed_numbers_go_by_their_magnitude)
{
    expect("change", 0, 0, "0,8,2,4,7,5,6,1,3");
    expect("change:down", 0, 0, "0,4,7,1,2,5,6,8,3");
    expect("change:up", 0, 0, "0,8,2,1,7,5,6,4,3");
    expect("id", 0, 0, "0,8,7,4,3,5,6,2,1");
}
END_TEST

START_TEST(equal_and_empty_values_keep_their_order)
{
    expect("kl", 0, 0, "0,3,7,8,2,5,6,4,1"); /* NaN is as good as nothing */
    expect("kl:down", 0, 0, "0,3,7,8,2,5,6,4,1");
    expect("same", 0, 0, "0,1,3,7,2,5,6,4,8");
    expect("condition", 0, 0, "0,7,8,1,2,5,6,3,4"); /* texts from a to z */
    expect("part:down", 0, 0, "0,3,1,2,4,5,6,7,8");
    expect(NULL, 0, 0, "0,1,2,3,4,5,6,7,8");
}
END_TEST

START_TEST(a_name_is_taken_whole_first)
{
    expect("kl:up", 0, 0, "0,8,7,4,3,5,6,2,1"); /* the column "kl:up", not "kl" from below */
    expect("kl:up:up", 0, 0, "0,8,7,4,3,5,6,2,1");
    expect("kl:up:down", 0, 0, "0,1,2,3,4,5,6,7,8");
}
END_TEST

START_TEST(fixed_rows_are_not_counted)
{
    expect("change", 2, 0, "0,8,2,5,6");
    expect(NULL, 1, 0, "0,1,5,6");
    expect("change", 99, 0, "0,8,2,4,7,5,6,1,3");
}
END_TEST

START_TEST(a_group_is_sorted_for_itself)
{
    expect("change", 0, 1, "0,2,4,1,3,5,6,8,7");
    expect("change", 1, 1, "0,2,5,6,8");
    expect(NULL, 2, 1, "0,1,2,5,6,7,8");
    expect("id:up", 1, 2, "0,1,3,4,5,6,7,8"); /* equal parts that are neighbours */
}
END_TEST

START_TEST(joint_groups_keep_the_same_rows)
{
    static const double changes[] = {0, -1, 2, 4, 0, 3, 9, -9, 0, 1, 5, (double)NAN};
    struct attn_table_order order = ATTN_TABLE_ORDER_DEFAULT;
    struct attn_table *table, *sorted;
    char ids[16] = "";

    order.sort = "change", order.n_most = 2, order.n_group = 1, order.is_joint = true;
    ck_assert(attn_table_create("ablate", columns, N_COLUMN, &table, NULL) == ATTN_OK);
    for (int i = 0; i < 12; i++) /* of each group a base and three heads */
        append(table,
               i < 4   ? "a"
               : i < 8 ? "b"
                       : "c",
               i % 4 == 0 ? "base" : "head", i % 4, changes[i], 0);
    ck_assert(attn_table_sort(table, &order, &sorted, NULL) == ATTN_OK);
    for (size_t row = 0; row < attn_table_n_row(sorted); row++)
        ids[row] = (char)('0' + attn_table_cell(sorted, row, 2).integer);
    ck_assert_str_eq(ids, "023023023"); /* 2 has 9 in b, 3 has -9; 1 has at most 3 */
    attn_table_free(sorted);
    order.sort = "change:up", order.n_most = 1;
    ck_assert(attn_table_sort(table, &order, &sorted, NULL) == ATTN_OK);
    ck_assert_int_eq(attn_table_cell(sorted, 1, 2).integer, 3); /* -9 */
    attn_table_free(sorted);
    attn_table_free(table);
}
END_TEST

START_TEST(joint_groups_have_as_many_rows)
{
    struct attn_table_order order = ATTN_TABLE_ORDER_DEFAULT;
    struct attn_table *table = create(), *sorted = NULL;
    struct attn_error err = {0};

    order.n_group = 1, order.is_joint = true;
    ck_assert_int_eq(attn_table_sort(table, &order, &sorted, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "the groups have 6 and 3 rows, expected as many");
    ck_assert_ptr_null(sorted);
    attn_table_free(table);
}
END_TEST

static void expect_refusal(const char *sort, const char *message)
{
    struct attn_table_order order = ATTN_TABLE_ORDER_DEFAULT;
    struct attn_table *table = create(), *sorted = NULL;
    struct attn_error err = {0};

    order.sort = sort;
    ck_assert_int_eq(attn_table_sort(table, &order, &sorted, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, message);
    ck_assert_int_eq(err.stage, ATTN_STAGE_OPTIONS);
    ck_assert_ptr_null(sorted);
    attn_table_free(table);
}

START_TEST(what_has_no_order_is_refused)
{
    expect_refusal("entropy", "there is no column 'entropy' to sort by, expected one of condition, "
                              "part, id, change, kl, same, kl:up");
    expect_refusal("change:left", "there is no order 'left' to sort by, expected up or down");
    expect_refusal("left:change", "there is no column 'left:change' to sort by, expected one of "
                                  "condition, part, id, change, kl, same, kl:up");
    expect_refusal("", "there is no column '' to sort by, expected one of condition, part, id, "
                       "change, kl, same, kl:up");
    expect_refusal("shape", "the column 'shape' holds lists, which have no order");
}
END_TEST

START_TEST(a_column_without_values_is_refused)
{
    static const struct attn_column empty_columns[] = {
        {.name = "part", .type = ATTN_VALUE_TEXT, .role = ATTN_ROLE_PART, .totals = "base sum"},
        {.name = "head", .type = ATTN_VALUE_INTEGER},
        {.name = "effect", .type = ATTN_VALUE_REAL},
        {.name = "kl", .type = ATTN_VALUE_REAL},
        {.name = "estimate", .type = ATTN_VALUE_REAL},
    };
    static const char *const sorts[] = {"effect", "kl:up"};
    struct attn_cell row[] = {attn_cell_text("base", 4), attn_cell_missing(), attn_cell_real(1),
                              attn_cell_real((double)NAN), attn_cell_missing()};
    struct attn_table *table, *sorted = NULL;
    struct attn_table_order order = ATTN_TABLE_ORDER_DEFAULT;

    order.sort = "effect";
    ck_assert(attn_table_create("patch", empty_columns, 5, &table, NULL) == ATTN_OK);
    ck_assert(attn_table_sort(table, &order, &sorted, NULL) == ATTN_OK); /* without rows */
    attn_table_free(sorted);
    ck_assert(attn_table_append(table, row, 5, NULL) == ATTN_OK);
    ck_assert(attn_table_sort(table, &order, &sorted, NULL) ==
              ATTN_OK); /* without rows that move */
    attn_table_free(sorted);
    row[0] = attn_cell_text("z", 1), row[1] = attn_cell_integer(3);
    row[2] = attn_cell_missing(), row[4] = attn_cell_real(0.5);
    ck_assert(attn_table_append(table, row, 5, NULL) == ATTN_OK);
    sorted = NULL;
    for (size_t i = 0; i < 2; i++) {
        struct attn_error err = {0};
        char message[128];

        order.sort = sorts[i];
        snprintf(message, sizeof message,
                 "there are no values in column '%s' to sort by, expected one of part, head, "
                 "estimate",
                 i == 0 ? "effect" : "kl");
        ck_assert_int_eq(attn_table_sort(table, &order, &sorted, &err), ATTN_INVALID);
        ck_assert_str_eq(err.message, message);
        ck_assert_str_eq(err.hint, "as with `sort estimate`");
        ck_assert_int_eq(err.stage, ATTN_STAGE_OPTIONS);
        ck_assert_ptr_null(sorted);
    }
    attn_table_free(table);
}
END_TEST

/* Returns the name of the column that SORT finds in a table with the columns NAMES, the second of a
 * later version; NULL if it is refused. */
static const char *find_sorted(const char *const names[2], const char *sort, char found[16])
{
    const struct attn_column made[] = {
        {.name = names[0], .type = ATTN_VALUE_INTEGER},
        {.name = names[1], .type = ATTN_VALUE_INTEGER, .since = 2},
    };
    struct attn_table_order order = ATTN_TABLE_ORDER_DEFAULT;
    struct attn_table *table, *sorted = NULL;

    order.columns = sort;
    ck_assert(attn_table_create("later", made, 2, &table, NULL) == ATTN_OK);
    if (attn_table_sort(table, &order, &sorted, NULL) == ATTN_OK)
        snprintf(found, 16, "%s", attn_table_column(sorted, 0)->name);
    attn_table_free(table);
    attn_table_free(sorted);
    return sorted ? found : NULL;
}

START_TEST(a_later_column_has_two_names)
{
    static const struct {
        const char *names[2], *sort, *found;
    } cases[] = {
        {{"head", "reach"}, "reach", "reach"},
        {{"head", "reach"}, "attn.reach", "reach"},
        {{"head", "attn.reach"}, "reach", "attn.reach"},
        {{"reach", "attn.reach"}, "reach", "reach"}, /* a label */
        {{"reach", "attn.reach"}, "attn.reach", "attn.reach"},
        {{"head", "reach"}, "attn.head", NULL},
        {{"head", "reach"}, "attn.", NULL},
        {{"head", "reach"}, "attn.attn.reach", NULL},
    };
    char found[16];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_pstr_eq(find_sorted(cases[i].names, cases[i].sort, found), cases[i].found);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    struct attn_table_order order = ATTN_TABLE_ORDER_DEFAULT;
    struct attn_table *table = create();

    order.sort = "change";
    for (long n = 0;; n++) {
        struct attn_table *sorted = NULL;
        enum attn_status status;

        attn_alloc_fail_at(n);
        status = attn_table_sort(table, &order, &sorted, NULL);
        attn_alloc_fail_off();
        if (status == ATTN_OK) {
            ck_assert_int_ge(n, 5);
            attn_table_free(sorted);
            break;
        }
        ck_assert_int_eq(status, ATTN_NO_MEMORY);
        ck_assert_ptr_null(sorted);
    }
    attn_table_free(table);
}
END_TEST

ATTN_SUITE("table_order", signed_numbers_go_by_their_magnitude,
           equal_and_empty_values_keep_their_order, a_name_is_taken_whole_first,
           fixed_rows_are_not_counted, a_group_is_sorted_for_itself,
           joint_groups_keep_the_same_rows, joint_groups_have_as_many_rows,
           what_has_no_order_is_refused, a_column_without_values_is_refused,
           a_later_column_has_two_names, every_allocation_may_fail)
