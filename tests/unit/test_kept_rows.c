/* test_kept_rows.c - rows of items as bytes: the same values come back, and a file that is cut or
 * changed is refused or read as other values. */
#include "base/table_internal.h"
#include "study/kept_rows.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_COLUMN = 6, N_ITEM = 3 };

static const struct attn_column columns[N_COLUMN] = {
    {.name = "part", .type = ATTN_VALUE_TEXT},    {.name = "layer", .type = ATTN_VALUE_INTEGER},
    {.name = "same", .type = ATTN_VALUE_BOOLEAN}, {.name = "value", .type = ATTN_VALUE_REAL},
    {.name = "shape", .type = ATTN_VALUE_LIST},   {.name = "log_probs", .type = ATTN_VALUE_REALS},
};

/* Fills the row of an item, the second of which has missing values alone. */
static void fill(size_t item, struct attn_cell cells[N_COLUMN])
{
    static const int64_t shape[] = {1, -2, INT64_MIN};
    static const double reals[] = {-0.0, 1e-300};

    cells[0] = attn_cell_text("a\0b", 3);
    cells[1] = attn_cell_integer(INT64_MAX);
    cells[2] = attn_cell_boolean(true);
    cells[3] = attn_cell_real((double)-INFINITY);
    cells[4] = attn_cell_list(shape, 3);
    cells[5] = attn_cell_reals(reals, 2);
    for (size_t c = 0; item == 1 && c < N_COLUMN; c++)
        cells[c] = attn_cell_missing();
}

/* Three items: one row and two numbers, one row of missing values, a failure. */
static void make(struct attn_buffer *out)
{
    const double beside[] = {3, (double)INFINITY};

    for (size_t item = 0; item < N_ITEM; item++) {
        struct attn_cell cells[N_COLUMN];
        struct attn_table *table;

        fill(item, cells);
        ck_assert_int_eq(attn_table_create("t", columns, N_COLUMN, &table, NULL), ATTN_OK);
        ck_assert_int_eq(attn_table_append(table, cells, N_COLUMN, NULL), ATTN_OK);
        attn_kept_rows_append(out, item == 0, item < 2 ? table : NULL, beside, item == 0 ? 2 : 0);
        attn_table_free(table);
    }
    ck_assert(!out->has_failed);
}

static void write_file(const char *bytes, size_t size)
{
    FILE *file = fopen("kept", "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

/* Reads all items. With IS_SAME compares them with those that were written. */
static enum attn_status read_file(bool is_same)
{
    struct attn_kept_rows *kept;
    struct attn_kept_item item;
    struct attn_error err = {0};
    static size_t places[N_COLUMN] = {0, 1, 2, 3, 4, 5};
    const struct attn_record_rows rows = {
        .all = columns, .n_all = N_COLUMN, .places = places, .n = N_COLUMN};
    enum attn_status status = attn_kept_rows_open("kept", &rows, &kept, &err);

    if (status != ATTN_OK)
        return status;
    for (size_t i = 0; status == ATTN_OK && i < N_ITEM; i++) {
        struct attn_cell cells[N_COLUMN];

        status = attn_kept_rows_next(kept, &item, &err);
        if (!is_same)
            continue;
        ck_assert_msg(status == ATTN_OK, "%s", err.message);
        ck_assert_uint_eq(item.n_beside, i == 0 ? 2 : 0);
        ck_assert(i > 0 || (item.beside[0] == 3 && isinf(item.beside[1])));
        ck_assert((item.table == NULL) == (i == 2));
        if (!item.table)
            continue;
        ck_assert_uint_eq(attn_table_n_row(item.table), 1);
        fill(i, cells);
        for (size_t c = 0; c < N_COLUMN; c++) {
            const struct attn_cell cell = attn_table_cell(item.table, 0, c);

            ck_assert(attn_cell_is_equal(&cell, &cells[c]));
        }
    }
    if (status == ATTN_OK)
        ck_assert_int_eq(attn_kept_rows_next(kept, &item, &err), ATTN_FORMAT);
    attn_kept_rows_free(kept);
    return status;
}

START_TEST(gives_back_every_value)
{
    struct attn_buffer bytes = {0};

    attn_folder_enter();
    make(&bytes);
    write_file(bytes.data, bytes.size);
    ck_assert_int_eq(read_file(true), ATTN_OK);
    attn_buffer_release(&bytes);
    attn_folder_leave();
}
END_TEST

START_TEST(refuses_what_is_cut_or_changed)
{
    struct attn_buffer bytes = {0};
    size_t n_refused = 0;

    attn_folder_enter();
    make(&bytes);
    for (size_t n = 0; n < bytes.size; n++) {
        write_file(bytes.data, n);
        ck_assert_int_eq(read_file(false), ATTN_FORMAT);
    }
    for (size_t i = 0; i < 2 * bytes.size; i++) {
        const char flip = (char)(i % 2 == 0 ? 0xff : 0x01);
        enum attn_status status;

        bytes.data[i / 2] = (char)(bytes.data[i / 2] ^ flip);
        write_file(bytes.data, bytes.size);
        status = read_file(false);
        ck_assert(status == ATTN_OK || status == ATTN_FORMAT || status == ATTN_NO_MEMORY);
        ck_assert(i >= 16 || status == ATTN_FORMAT); /* the header has the version */
        n_refused += status == ATTN_FORMAT;
        bytes.data[i / 2] = (char)(bytes.data[i / 2] ^ flip);
    }
    ck_assert_uint_gt(n_refused, bytes.size / 2);
    attn_buffer_release(&bytes);
    attn_folder_leave();
}
END_TEST

ATTN_SUITE("kept_rows", gives_back_every_value, refuses_what_is_cut_or_changed)
