/* test_record_state.c - rows of items as bytes: the same values come back, and a file that is cut
 * or changed is refused or read as other values. */
#include "stream/records_internal.h"
#include "tables/table_internal.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static struct attn_records *open_state(bool is_resumed)
{
    const struct attn_records_item item = {.format = "state", .path = "kept"};
    struct attn_records_form form = ATTN_RECORDS_FORM_DEFAULT;
    struct attn_records *records = NULL;
    bool is_good;

    form.columns = columns;
    form.n_column = N_COLUMN;
    ck_assert_int_eq(attn_records_open(&item, 1, &form, is_resumed, &records, NULL), ATTN_OK);
    if (is_resumed)
        ck_assert_int_eq(attn_records_restore(records, "0,1,2,3,4,5;1;", &is_good, NULL), ATTN_OK);
    return records;
}

/* Three items: one row with a metric and two numbers, one row of missing values, a failure. */
static void make(struct attn_buffer *out)
{
    struct attn_records *records = open_state(false);
    double beside[] = {3, (double)INFINITY};
    char bytes[4096];
    FILE *file;

    for (size_t item = 0; item < N_ITEM; item++) {
        static const struct attn_item none;
        struct attn_item_result result = {.item = &none, .beside = beside};
        struct attn_cell cells[N_COLUMN];

        fill(item, cells);
        ck_assert_int_eq(attn_table_create("t", columns, N_COLUMN, &result.rows, NULL), ATTN_OK);
        ck_assert_int_eq(attn_table_append(result.rows, cells, N_COLUMN, NULL), ATTN_OK);
        result.n_beside = item == 0 ? 2 : 0;
        result.metric = item == 0 ? "logit_diff" : NULL;
        result.row = "base", result.value = 0.5, result.right = 1, result.has_right = item == 0;
        result.failure = item == 2 ? ATTN_RECORD_FAILURE_NO_FIT : ATTN_RECORD_FAILURE_NONE;
        ck_assert_int_eq(attn_records_write(records, &result, NULL), ATTN_OK);
        attn_table_free(result.rows);
    }
    ck_assert_int_eq(attn_records_finish(records, false, NULL), ATTN_OK);
    ck_assert_int_eq(attn_records_commit(records, NULL), ATTN_OK);
    attn_records_free(records);
    file = fopen("kept", "r");
    attn_buffer_append(out, bytes, fread(bytes, 1, sizeof bytes, file));
    fclose(file);
    ck_assert(!out->has_failed);
}

static void write_file(const char *bytes, size_t size)
{
    FILE *file = fopen("kept", "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

/* What is compared of the next item. */
struct taking {
    size_t i;
    bool is_same;
};

/* An attn_record_take_fn: with `is_same` compares an item with the one that was written. */
static enum attn_status take(void *user, const struct attn_item_result *result,
                             struct attn_error *err)
{
    const struct taking *taking = user;
    struct attn_cell cells[N_COLUMN];

    (void)err;
    if (!taking->is_same)
        return ATTN_OK;
    ck_assert_uint_eq(result->n_beside, taking->i == 0 ? 2 : 0);
    ck_assert(taking->i > 0 || (result->beside[0] == 3 && isinf(result->beside[1])));
    ck_assert((result->rows == NULL) == (taking->i == 2));
    ck_assert((result->metric != NULL) == (taking->i == 0));
    if (!result->rows)
        return ATTN_OK;
    ck_assert_str_eq(result->row, "base");
    ck_assert(result->value == 0.5 && result->has_right == (taking->i == 0));
    ck_assert_uint_eq(attn_table_n_row(result->rows), 1);
    fill(taking->i, cells);
    for (size_t c = 0; c < N_COLUMN; c++) {
        const struct attn_cell cell = attn_table_cell(result->rows, 0, c);

        ck_assert(attn_cell_is_equal(&cell, &cells[c]));
    }
    return ATTN_OK;
}

static enum attn_status refuse(void *user, const struct attn_item_result *result,
                               struct attn_error *err)
{
    (void)user, (void)result, (void)err;
    return ATTN_FORMAT;
}

/* Reads all items. With IS_SAME compares them with those that were written. */
static enum attn_status read_file(bool is_same)
{
    struct attn_records *records = open_state(true);
    struct taking taking = {.is_same = is_same};
    enum attn_record_failure failure = ATTN_RECORD_FAILURE_NONE;
    struct attn_item item = {.number = 0};
    struct attn_error err = {0};
    enum attn_status status = ATTN_OK;

    for (; status == ATTN_OK && taking.i < N_ITEM; taking.i++)
        status = attn_records_load(records, &item, take, &taking, &failure, &err);
    ck_assert_msg(!is_same || status == ATTN_OK, "%s", err.message);
    ck_assert(!is_same || failure == ATTN_RECORD_FAILURE_NO_FIT);
    if (status == ATTN_OK)
        ck_assert_int_eq(attn_records_load(records, &item, take, &taking, &failure, &err),
                         ATTN_FORMAT);
    attn_records_free(records);
    unlink("kept.part");
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

/* By the name of the file. */
START_TEST(refuses_what_the_question_cannot_have)
{
    struct attn_item item = {.number = 0};
    struct attn_buffer bytes = {0};
    struct attn_error err = {0};
    struct attn_records *records;
    enum attn_record_failure failure;

    attn_folder_enter();
    make(&bytes);
    records = open_state(true);
    ck_assert_int_eq(attn_records_load(records, &item, refuse, NULL, &failure, &err), ATTN_FORMAT);
    ck_assert_str_eq(err.message, "'kept' does not hold the rows of items");
    attn_records_free(records);
    unlink("kept.part");
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

ATTN_SUITE("record_state", gives_back_every_value, refuses_what_the_question_cannot_have,
           refuses_what_is_cut_or_changed)
