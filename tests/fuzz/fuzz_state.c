/*
 * fuzz_state.c - any bytes as the kept rows of items (FILE.state), behind a good header unless the
 * first byte says otherwise.
 *
 * Every item is read or refused in one line. What was read has a row's columns with their types,
 * lists and texts that can be read to their ends, and a failure that an item can have.
 */
#include "stream/records_internal.h"
#include "tables/table_internal.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_COLUMN = 6, MOST_ITEMS = 16, N_HEADER = 8 };

static const struct attn_column columns[N_COLUMN] = {
    {.name = "part", .type = ATTN_VALUE_TEXT},    {.name = "layer", .type = ATTN_VALUE_INTEGER},
    {.name = "same", .type = ATTN_VALUE_BOOLEAN}, {.name = "value", .type = ATTN_VALUE_REAL},
    {.name = "shape", .type = ATTN_VALUE_LIST},   {.name = "log_probs", .type = ATTN_VALUE_REALS},
};

static char folder[64], path[80], part[96];

static void remove_folder(void)
{
    unlink(path);
    unlink(part);
    rmdir(folder);
}

/* Makes the folder of the file, once. */
static void make_folder(void)
{
    if (*folder)
        return;
    snprintf(folder, sizeof folder, "%s/fuzz_state.XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    FUZZ_CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/kept", folder);
    snprintf(part, sizeof part, "%s.part", path);
    FUZZ_CHECK(atexit(remove_folder) == 0);
}

static void write_file(bool has_header, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "w");

    FUZZ_CHECK(file);
    FUZZ_CHECK(!has_header || fwrite("attnrow2", 1, N_HEADER, file) == N_HEADER);
    FUZZ_CHECK(fwrite(data, 1, size, file) == size);
    FUZZ_CHECK(fclose(file) == 0);
}

/* Reads CELL to its end. */
static void check_cell(const struct attn_cell *cell, enum attn_value_type type)
{
    uint64_t sum = 0;

    FUZZ_CHECK(cell->type == type || cell->type == ATTN_VALUE_MISSING);
    for (size_t i = 0; i < cell->size; i++) {
        if (cell->type == ATTN_VALUE_TEXT)
            sum += (unsigned char)cell->text[i];
        else if (cell->type == ATTN_VALUE_LIST)
            sum += (uint64_t)cell->list[i];
        else if (cell->type == ATTN_VALUE_REALS)
            sum += cell->reals[i] > 0;
    }
    FUZZ_CHECK(cell->size > 0 || sum == 0);
}

/* An attn_record_take_fn. */
static enum attn_status take(void *user, const struct attn_item_result *result,
                             struct attn_error *err)
{
    double sum = 0;

    (void)user, (void)err;
    FUZZ_CHECK((result->rows == NULL) == (result->failure != ATTN_RECORD_FAILURE_NONE));
    FUZZ_CHECK((unsigned)result->failure < ATTN_N_RECORD_FAILURE);
    FUZZ_CHECK(strlen(result->err.message) < sizeof result->err.message);
    for (size_t row = 0; row < attn_table_n_row(result->rows); row++)
        for (size_t c = 0; c < N_COLUMN; c++) {
            const struct attn_cell cell = attn_table_cell(result->rows, row, c);

            check_cell(&cell, columns[c].type);
        }
    for (size_t i = 0; i < result->n_beside; i++)
        sum += result->beside[i];
    FUZZ_CHECK(result->n_beside > 0 || sum == 0);
    FUZZ_CHECK(!result->metric || *result->metric);
    return ATTN_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct attn_records_item item = {.format = "state", .path = path};
    struct attn_records_form form = ATTN_RECORDS_FORM_DEFAULT;
    const bool has_header = attn_fuzz_byte(&data, &size) != 'x';
    enum attn_record_failure failure = ATTN_RECORD_FAILURE_NONE;
    enum attn_status status = ATTN_OK;
    struct attn_item read = {.number = 0};
    struct attn_records *records = NULL;
    bool is_good;

    make_folder();
    write_file(has_header, data, size);
    form.columns = columns;
    form.n_column = N_COLUMN;
    FUZZ_CHECK(attn_records_open(&item, 1, &form, true, &records, NULL) == ATTN_OK);
    FUZZ_CHECK(attn_records_restore(records, "0,1,2,3,4,5;1;", &is_good, NULL) == ATTN_OK);
    FUZZ_CHECK(is_good);
    for (int i = 0; status == ATTN_OK && i < MOST_ITEMS; i++) {
        struct attn_error err = {0};

        status = attn_records_load(records, &read, take, NULL, &failure, &err);
        attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT) | FUZZ_BIT(ATTN_NO_MEMORY));
    }
    attn_records_free(records);
    unlink(part);
    return 0;
}
