/* Tables: what is appended is read back, in its order, and what does not fit is refused. */
#include "tables/table_internal.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct attn_column columns[] = {
    {.name = "layer", .type = ATTN_VALUE_INTEGER},
    {.name = "entropy",
     .type = ATTN_VALUE_REAL,
     .unit = "nats",
     .notation = ATTN_NOTATION_FIXED,
     .digits = 4},
    {.name = "token", .type = ATTN_VALUE_TEXT},
    {.name = "same_top", .type = ATTN_VALUE_BOOLEAN},
    {.name = "shape", .type = ATTN_VALUE_LIST},
};
enum { N_COLUMN = sizeof columns / sizeof *columns };

static struct attn_table *create(void)
{
    struct attn_table *table;
    struct attn_error err = {0};

    ck_assert_msg(attn_table_create("heads", columns, N_COLUMN, &table, &err) == ATTN_OK, "%s",
                  err.message);
    return table;
}

/* A row that is told from others by its number. */
static enum attn_status append(struct attn_table *table, int64_t number, struct attn_error *err)
{
    char token[32];
    const size_t size = (size_t)snprintf(token, sizeof token, "token %d", (int)number);
    const int64_t shape[] = {number, 2 * number, INT64_MIN};
    const struct attn_cell row[N_COLUMN] = {
        attn_cell_integer(number), attn_cell_real((double)number / 3), attn_cell_text(token, size),
        attn_cell_boolean(number % 2), attn_cell_list(shape, (size_t)(number % 4))};

    return attn_table_append(table, row, N_COLUMN, err);
}

static void expect_row(const struct attn_table *table, size_t row, int64_t number)
{
    char token[32];
    const size_t size = (size_t)snprintf(token, sizeof token, "token %d", (int)number);
    const int64_t shape[] = {number, 2 * number, INT64_MIN};
    const struct attn_cell text = attn_table_cell(table, row, 2);
    const struct attn_cell list = attn_table_cell(table, row, 4);

    ck_assert_int_eq(attn_table_cell(table, row, 0).integer, number);
    ck_assert_double_eq(attn_table_cell(table, row, 1).real, (double)number / 3);
    ck_assert_uint_eq(text.size, size);
    ck_assert_mem_eq(text.text, token, size);
    ck_assert_int_eq(attn_table_cell(table, row, 3).integer, number % 2);
    ck_assert_uint_eq(list.size, (size_t)(number % 4));
    if (list.size > 0)
        ck_assert_mem_eq(list.list, shape, list.size * sizeof *shape);
}

START_TEST(rows_are_read_back_in_order)
{
    struct attn_table *table = create();

    ck_assert_uint_eq(attn_table_n_row(table), 0);
    for (int64_t i = 0; i < 1000; i++)
        ck_assert(append(table, i, NULL) == ATTN_OK);
    ck_assert_uint_eq(attn_table_n_row(table), 1000);
    for (int64_t i = 0; i < 1000; i += 37)
        expect_row(table, (size_t)i, i);
    attn_table_free(table);
}
END_TEST

START_TEST(a_reset_table_takes_rows_again)
{
    struct attn_table *table = create();

    for (int64_t i = 0; i < 50; i++)
        ck_assert(append(table, i, NULL) == ATTN_OK);
    attn_table_reset(table);
    ck_assert_uint_eq(attn_table_n_row(table), 0);
    attn_alloc_fail_from(0); /* memory is there already */
    for (int64_t i = 0; i < 50; i++)
        ck_assert(append(table, 49 - i, NULL) == ATTN_OK);
    attn_alloc_fail_off();
    for (int64_t i = 0; i < 50; i++)
        expect_row(table, (size_t)i, 49 - i);
    attn_table_free(table);
}
END_TEST

START_TEST(columns_are_copied)
{
    char name[] = "head", unit[] = "nats", quantity[] = "entropy", totals[] = "base sum",
         help[] = "from 0";
    const struct attn_column own[] = {
        {.name = name,
         .type = ATTN_VALUE_REAL,
         .unit = unit,
         .notation = ATTN_NOTATION_FIGURES,
         .digits = 9,
         .quantity = quantity,
         .help = help},
        {.name = "part", .type = ATTN_VALUE_TEXT, .totals = totals, .role = ATTN_ROLE_PART}};
    struct attn_table *table;

    ck_assert(attn_table_create("edges", own, 2, &table, NULL) == ATTN_OK);
    memset(name, 'x', sizeof name - 1);
    memset(unit, 'x', sizeof unit - 1);
    memset(quantity, 'x', sizeof quantity - 1);
    memset(totals, 'x', sizeof totals - 1);
    memset(help, 'x', sizeof help - 1);
    ck_assert_str_eq(attn_table_name(table), "edges");
    ck_assert_uint_eq(attn_table_n_column(table), 2);
    ck_assert_str_eq(attn_table_column(table, 0)->name, "head");
    ck_assert_str_eq(attn_table_column(table, 0)->unit, "nats");
    ck_assert_int_eq(attn_table_column(table, 0)->notation, ATTN_NOTATION_FIGURES);
    ck_assert_int_eq(attn_table_column(table, 0)->digits, 9);
    ck_assert_str_eq(attn_table_column(table, 0)->quantity, "entropy");
    ck_assert_str_eq(attn_table_column(table, 0)->help, "from 0");
    ck_assert_str_eq(attn_table_column(table, 1)->name, "part");
    ck_assert_ptr_null(attn_table_column(table, 1)->unit);
    ck_assert_ptr_null(attn_table_column(table, 1)->help);
    ck_assert_str_eq(attn_table_column(table, 1)->totals, "base sum");
    ck_assert_int_eq(attn_table_column(table, 1)->role, ATTN_ROLE_PART);
    attn_table_free(table);
}
END_TEST

START_TEST(any_cell_may_be_missing)
{
    struct attn_table *table = create();
    const struct attn_cell none[N_COLUMN] = {{0}};

    ck_assert(attn_table_append(table, none, N_COLUMN, NULL) == ATTN_OK);
    for (size_t i = 0; i < N_COLUMN; i++)
        ck_assert_int_eq(attn_table_cell(table, 0, i).type, ATTN_VALUE_MISSING);
    attn_table_free(table);
}
END_TEST

START_TEST(values_at_the_edges_are_kept)
{
    struct attn_table *table = create();
    const struct attn_cell row[N_COLUMN] = {attn_cell_integer(INT64_MIN),
                                            attn_cell_real((double)NAN), attn_cell_text("a\0b", 3),
                                            attn_cell_boolean(true), attn_cell_list(NULL, 0)};
    const struct attn_cell other[N_COLUMN] = {attn_cell_integer(INT64_MAX),
                                              attn_cell_real(-DBL_MAX), attn_cell_text("", 0),
                                              attn_cell_boolean(false), attn_cell_missing()};

    ck_assert(attn_table_append(table, row, N_COLUMN, NULL) == ATTN_OK);
    ck_assert(attn_table_append(table, other, N_COLUMN, NULL) == ATTN_OK);
    ck_assert_int_eq(attn_table_cell(table, 0, 0).integer, INT64_MIN);
    ck_assert_double_nan(attn_table_cell(table, 0, 1).real);
    ck_assert_uint_eq(attn_table_cell(table, 0, 2).size, 3);
    ck_assert_mem_eq(attn_table_cell(table, 0, 2).text, "a\0b", 3);
    ck_assert_int_eq(attn_table_cell(table, 0, 4).type, ATTN_VALUE_LIST);
    ck_assert_int_eq(attn_table_cell(table, 1, 0).integer, INT64_MAX);
    ck_assert_double_eq(attn_table_cell(table, 1, 1).real, -DBL_MAX);
    ck_assert_int_eq(attn_table_cell(table, 1, 2).type, ATTN_VALUE_TEXT); /* empty, not missing */
    ck_assert_uint_eq(attn_table_cell(table, 1, 2).size, 0);
    attn_table_free(table);
}
END_TEST

/* Also as the first text of a table, which has no memory for texts yet. */
START_TEST(an_empty_text_is_a_value)
{
    const struct attn_column column = {.name = "token", .type = ATTN_VALUE_TEXT};
    const struct attn_cell empty = attn_cell_text("", 0), none = attn_cell_text(NULL, 0);
    struct attn_table *table;

    ck_assert(attn_table_create("tokens", &column, 1, &table, NULL) == ATTN_OK);
    ck_assert(attn_table_append(table, &empty, 1, NULL) == ATTN_OK);
    ck_assert(attn_table_append(table, &none, 1, NULL) == ATTN_OK);
    ck_assert_int_eq(attn_table_cell(table, 0, 0).type, ATTN_VALUE_TEXT);
    ck_assert_int_eq(attn_table_cell(table, 1, 0).type, ATTN_VALUE_MISSING);
    attn_table_free(table);
}
END_TEST

static void expect_refusal(const char *name, const struct attn_column *own, size_t n,
                           const char *message)
{
    struct attn_table *table = NULL;
    struct attn_error err = {0};

    ck_assert_int_eq(attn_table_create(name, own, n, &table, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, message);
    ck_assert_ptr_null(table);
}

START_TEST(columns_that_make_no_table_are_refused)
{
    const struct attn_column twice[] = {{.name = "key", .type = ATTN_VALUE_INTEGER},
                                        {.name = "token", .type = ATTN_VALUE_TEXT},
                                        {.name = "key", .type = ATTN_VALUE_REAL}};
    const struct attn_column unnamed = {.type = ATTN_VALUE_REAL};
    const struct attn_column untyped = {.name = "key"};
    const struct attn_column of_nothing = {
        .name = "key", .type = ATTN_VALUE_TEXT, .role = (enum attn_column_role)27};
    const struct attn_column long_one = {.name = "key", .type = ATTN_VALUE_REAL, .digits = 18};

    expect_refusal(NULL, columns, N_COLUMN, "a table has no name");
    expect_refusal("t", columns, 0, "the table 't' has no columns");
    expect_refusal("t", twice, 3, "the table 't' has two columns 'key'");
    expect_refusal("t", &unnamed, 1, "column 0 of the table 't' has no name");
    expect_refusal("t", &untyped, 1, "column 'key' of the table 't' has type 0, expected 1 to 6");
    expect_refusal("t", &long_one, 1,
                   "column 'key' of the table 't' has 18 digits, expected 0 to 17");
    expect_refusal("t", &of_nothing, 1,
                   "column 'key' of the table 't' has role 27, expected 0 to 26");
}
END_TEST

START_TEST(rows_that_do_not_fit_are_refused)
{
    struct attn_table *table = create();
    struct attn_error err = {0};
    struct attn_cell row[N_COLUMN] = {attn_cell_integer(1), attn_cell_integer(2)};

    ck_assert(append(table, 7, NULL) == ATTN_OK);
    ck_assert_int_eq(attn_table_append(table, row, N_COLUMN, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "'entropy' of the table 'heads' is an integer, expected a real");
    err = (struct attn_error){0};
    ck_assert_int_eq(attn_table_append(table, row, 2, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "a row of 2 values for the table 'heads', expected 5");
    err = (struct attn_error){0};
    row[1] = attn_cell_real(0);
    row[2] = attn_cell_text("", (size_t)UINT32_MAX + 1);
    ck_assert_int_eq(attn_table_append(table, row, N_COLUMN, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "'token' of the table 'heads' has the size 4294967296, expected "
                                  "at most 4294967295");
    ck_assert_uint_eq(attn_table_n_row(table), 1);
    expect_row(table, 0, 7);
    attn_table_free(table);
}
END_TEST

START_TEST(a_table_is_whole_or_not_made)
{
    for (long n = 0;; n++) {
        struct attn_table *table;
        struct attn_error err = {0};

        attn_alloc_fail_at(n);
        enum attn_status status = attn_table_create("heads", columns, N_COLUMN, &table, &err);
        attn_alloc_fail_off();
        if (status == ATTN_OK) {
            ck_assert_int_ge(n, 3);
            attn_table_free(table);
            return;
        }
        ck_assert_int_eq(status, ATTN_NO_MEMORY);
    }
}
END_TEST

/* Cells, texts and lists grow at different rows; after each failure the row is appended again. */
START_TEST(a_row_is_whole_or_not_there)
{
    struct attn_table *table = create();
    int n_failed = 0;

    for (int64_t i = 0; i < 200; i++) {
        enum attn_status status = ATTN_NO_MEMORY;

        for (long n = 0; status != ATTN_OK; n++) {
            attn_alloc_fail_at(n);
            status = append(table, i, NULL);
            attn_alloc_fail_off();
            n_failed += status == ATTN_NO_MEMORY;
            ck_assert_uint_eq(attn_table_n_row(table), (size_t)i + (status == ATTN_OK));
        }
    }
    ck_assert_int_gt(n_failed, 10);
    for (int64_t i = 0; i < 200; i++)
        expect_row(table, (size_t)i, i);
    attn_table_free(table);
}
END_TEST

ATTN_SUITE("table", rows_are_read_back_in_order, a_reset_table_takes_rows_again, columns_are_copied,
           any_cell_may_be_missing, values_at_the_edges_are_kept, an_empty_text_is_a_value,
           columns_that_make_no_table_are_refused, rows_that_do_not_fit_are_refused,
           a_table_is_whole_or_not_made, a_row_is_whole_or_not_there)
