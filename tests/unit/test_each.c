/* test_each.c - a line for each item and row: what is written, and that a run which ended early,
 * and shards, come to the same bytes and hand back the same values. */
#include "base/memory.h"
#include "extra.h"
#include "frame/frame.h"
#include "frame/stream.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PART, LAYER, CHANGE, SAME, SHAPE, OTHER_CHANGE, N_COLUMN, N_ROW = 2, SIZE = 1 << 16 };

/* Two of one name, of which one is shown. */
static const struct attn_column columns[] = {
    [PART] = {.name = "part", .type = ATTN_VALUE_TEXT},
    [LAYER] = {.name = "layer", .type = ATTN_VALUE_INTEGER},
    [CHANGE] = {.name = "change", .type = ATTN_VALUE_INTEGER},
    [SAME] = {.name = "same", .type = ATTN_VALUE_BOOLEAN},
    [SHAPE] = {.name = "shape", .type = ATTN_VALUE_LIST},
    [OTHER_CHANGE] = {.name = "change", .type = ATTN_VALUE_REAL},
};

static const char lines[] =
    "{\"text\":\n"
    "{\"id\":\"b,\",\"text\":\"x\",\"part\":\"q\\n\",\"n\":1.50,\"fails\":true}\n"
    "{\"id\":7,\"text\":\"x\",\"part\":\"=1\"}\n"
    "{\"text\":\"x\",\"part\":\"r\",\"late\":2}\n"
    "{\"text\":\"x\",\"n\":-0.0,\"part\":\"s\",\"fails\":false}\n"
    "{\"text\":\"x\",\"n\":1e999}\n";

static const char csv[] =
    "id,item.part,n,fails,part,layer,same,shape,change,error\n"
    "0,,,,,,,,,\"bad_json: line 1: 'line' ends at byte 8, expected a value\"\n"
    "\"b,\",\"q\n\",1.50,true,,,,,,no_fit: it fails\n"
    "7,=1,,,\\x3dq\\\\\\n\xc3\xa9\\xf0,2,1,,0.2,\n"
    "7,=1,,,b,,0,\"[1, -2]\",nan,\n"
    "3,r,,,\\x3dq\\\\\\n\xc3\xa9\\xf0,3,1,[],-inf,\n"
    "3,r,,,b,,0,\"[1, -2]\",nan,\n"
    "4,s,-0.0,false,\\x3dq\\\\\\n\xc3\xa9\\xf0,4,1,[],1e-300,\n"
    "4,s,-0.0,false,b,,0,\"[1, -2]\",nan,\n"
    "5,,,,,,,,,\"bad_value: line 6: 'n' has '1e999' at byte 16, expected a text, a number or a "
    "boolean\"\n";

static const char jsonl[] =
    "{\"id\":0,\"error\":{\"code\":\"bad_json\",\"message\":\"line 1: 'line' ends at byte 8, "
    "expected a value\"}}\n"
    "{\"id\":\"b,\",\"item.part\":\"q\\n\",\"n\":1.50,\"fails\":true,\"error\":{\"code\":\"no_"
    "fit\",\"message\":\"it fails\"}}\n"
    "{\"id\":7,\"item.part\":\"=1\",\"part\":\"=q\\\\\\n\xc3\xa9\\\\xf0\",\"layer\":2,\"same\":"
    "true,"
    "\"change\":0.2}\n"
    "{\"id\":7,\"item.part\":\"=1\",\"part\":\"b\",\"same\":false,\"shape\":[1, -2],"
    "\"change\":null}\n"
    "{\"id\":3,\"item.part\":\"r\",\"late\":2,\"part\":\"=q\\\\\\n\xc3\xa9\\\\xf0\",\"layer\":3,"
    "\"same\":true,\"shape\":[],\"change\":-1e999}\n"
    "{\"id\":3,\"item.part\":\"r\",\"late\":2,\"part\":\"b\",\"same\":false,\"shape\":[1, -2],"
    "\"change\":null}\n"
    "{\"id\":4,\"n\":-0.0,\"item.part\":\"s\",\"fails\":false,\"part\":\"="
    "q\\\\\\n\xc3\xa9\\\\xf0\","
    "\"layer\":4,\"same\":true,\"shape\":[],\"change\":1e-300}\n"
    "{\"id\":4,\"n\":-0.0,\"item.part\":\"s\",\"fails\":false,\"part\":\"b\",\"same\":false,"
    "\"shape\":[1, -2],\"change\":null}\n"
    "{\"id\":5,\"error\":{\"code\":\"bad_value\",\"message\":\"line 6: 'n' has '1e999' at byte 16, "
    "expected a text, a number or a boolean\"}}\n";

static struct attn_source source;
static struct attn_host *host;
static char notes[1024];
static volatile sig_atomic_t is_canceled;

static void keep_note(void *user, enum attn_note code, const char *message)
{
    (void)user;
    if (code == ATTN_NOTE_ITEM_FAILED)
        return;
    snprintf(notes + strlen(notes), sizeof notes - strlen(notes), "%s\n", message);
}

static void begin(void)
{
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;

    attn_folder_enter();
    options.n_thread = 1;
    options.cancel = &is_canceled;
    ck_assert(attn_builtin_find("fable", &source));
    ck_assert_int_eq(attn_host_create(&source, &options, &host, NULL), ATTN_OK);
    *notes = '\0';
}

static void end(void)
{
    attn_host_free(host);
    attn_folder_leave();
}

/* Fills ROW of the item NUMBER. */
static void fill_row(size_t number, size_t row, struct attn_cell *cells)
{
    static const int64_t shape[] = {1, -2};
    static const char text[] = "=q\\\n\xc3\xa9\xf0";
    static const double changes[] = {0, 0, 0.2, (double)-INFINITY, 1e-300, 0, 0};

    cells[0] = row == 0 ? attn_cell_text(text, sizeof text - 1) : attn_cell_text("b", 1);
    cells[1] = row == 0 ? attn_cell_integer((int64_t)number) : attn_cell_missing();
    cells[2] = attn_cell_boolean(row == 0);
    cells[3] = row == 1      ? attn_cell_list(shape, 2)
               : number == 2 ? attn_cell_missing()
                             : attn_cell_list(shape, 0);
    cells[4] = attn_cell_real(row == 1 ? (double)NAN : changes[number % 7]);
}

static enum attn_status make_table(size_t number, struct attn_table **table, struct attn_error *err)
{
    const struct attn_column shown[] = {columns[PART], columns[LAYER], columns[SAME],
                                        columns[SHAPE], columns[OTHER_CHANGE]};
    struct attn_cell cells[5];
    enum attn_status status = attn_table_create("t", shown, 5, table, err);

    if (status != ATTN_OK)
        *table = NULL;
    for (size_t row = 0; status == ATTN_OK && row < N_ROW; row++) {
        fill_row(number, row, cells);
        status = attn_table_append(*table, cells, 5, err);
    }
    if (status != ATTN_OK) {
        attn_table_free(*table);
        *table = NULL;
    }
    return status;
}

/* What the run that follows is. */
struct asked {
    struct attn_each_options each;
    const char *data;
    size_t shard, n_shard;
    size_t n_most;             /* items, then it ends early; 0: all */
    size_t n_handed, n_failed; /* items of earlier runs, and items that failed */
    bool has_no_rows;          /* that a resumed run gets */
    bool has_no_values;        /* that are compared */
    struct attn_each_result result;
};

/* `add` of struct attn_study_gather: the same values come back. */
static enum attn_status take(void *user, const struct attn_item_result *kept,
                             struct attn_error *err)
{
    const struct attn_item *item = kept->item;
    const struct attn_table *table = kept->answer.rows;
    const char *path = ((const struct asked *)user)->each.path;
    const bool is_json = path && strstr(path, "json");

    (void)err;
    if (kept->answer.n_beside > 0 || ((const struct asked *)user)->has_no_values)
        return ATTN_OK;
    ck_assert(table && item->failure == ATTN_REASON_NONE);
    for (size_t row = 0; row < N_ROW; row++) {
        struct attn_cell cells[5];

        fill_row(item->number, row, cells);
        ck_assert_uint_eq(attn_table_n_row(table), N_ROW);
        for (size_t c = 0; c < 5; c++) {
            const struct attn_cell cell = attn_table_cell(table, row, c);

            if (cells[c].type == ATTN_VALUE_LIST || (is_json && c == 0))
                continue; /* no mean is of a list, and JSON has no bytes that are not UTF-8 */
            ck_assert_int_eq(cell.type, cells[c].type);
            if (cell.type == ATTN_VALUE_TEXT) {
                ck_assert_uint_eq(cell.size, cells[c].size);
                ck_assert_mem_eq(cell.text, cells[c].text, cell.size);
            } else {
                ck_assert(cell.integer == cells[c].integer);
                ck_assert(cell.real == cells[c].real || isnan(cells[c].real) == isnan(cell.real));
                ck_assert(cell.real == cells[c].real || isnan(cell.real));
            }
        }
    }
    return ATTN_OK;
}

/* Makes the table of an item, unless it has the label `fails` (attn_answer_fn). */
static enum attn_status ask(void *user, struct attn_item_result *result, struct attn_error *err)
{
    const struct attn_item *item = result->item;

    (void)user;
    for (size_t i = 0; i < item->n_label; i++)
        if (strcmp(item->labels[i].name, "fails") == 0 && item->labels[i].value.integer == 1)
            return attn_error_set(err, ATTN_INVALID, "it fails");
    result->answer.beside = attn_alloc(2, sizeof *result->answer.beside, err);
    if (!result->answer.beside)
        return ATTN_NO_MEMORY;
    result->answer.beside[0] = (double)item->number;
    result->answer.beside[1] = (double)NAN;
    result->answer.n_beside = 2;
    return make_table(item->number, &result->answer.rows, err);
}

static enum attn_status make_no_table(void *user, struct attn_stream *stream,
                                      struct attn_table **table, struct attn_error *err)
{
    (void)user;
    (void)stream;
    (void)table;
    (void)err;
    return ATTN_OK;
}

static void end_early(void *user, size_t n_done, size_t n)
{
    const struct asked *asked = user;

    (void)n;
    is_canceled = asked->n_most > 0 && n_done == asked->n_most;
}

static enum attn_status write_all(struct asked *asked, struct attn_items *items,
                                  struct attn_error *err)
{
    const struct attn_study_gather gather = {take, make_no_table, asked};
    const struct attn_procedure procedure = {.table.name = "t",
                                             .table.columns = columns,
                                             .table.n_column = N_COLUMN,
                                             .items.is_listed = true,
                                             .items.gather = asked->has_no_rows ? NULL : &gather};
    const struct attn_study_args study = {
        .size = sizeof study, .items = items, .max_errors = -1, .each = &asked->each};
    const struct attn_item_calls calls = {.ask = ask};
    const struct attn_many_options options = ATTN_MANY_OPTIONS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    const struct attn_procedure_call call = {.host = host, .request = &request};
    struct attn_table *none = NULL;
    struct attn_stream *stream;
    enum attn_status status;

    request.on_note = keep_note;
    request.on_progress = end_early;
    request.user = asked;
    asked->each.result = &asked->result;
    ATTN_TRY(attn_stream_open(&procedure, &call, &study, &stream, err));
    status = attn_stream_show(stream, (const bool[N_COLUMN]){[CHANGE] = true}, err);
    if (status == ATTN_OK)
        status = attn_stream_run(stream, host, &options, &calls, err);
    if (status == ATTN_OK)
        status = attn_stream_end(stream, &none, err);
    else
        attn_stream_keep(stream, err);
    attn_stream_free(stream);
    asked->n_handed = (size_t)asked->result.n_before;
    asked->n_failed = (size_t)asked->result.n_failed;
    is_canceled = 0;
    return status;
}

static enum attn_status run(struct asked *asked, struct attn_error *err)
{
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;
    struct attn_items *items;
    enum attn_status status;

    options.path = "in.jsonl";
    options.data = asked->data;
    options.n_data = strlen(asked->data);
    options.shard = asked->shard;
    options.shards = asked->n_shard;
    asked->n_handed = asked->n_failed = 0;
    asked->result = (struct attn_each_result){0};
    ATTN_TRY(attn_items_open(&options, &items, err));
    status = write_all(asked, items, err);
    attn_items_free(items);
    return status;
}

static struct asked asked_for(const char *path)
{
    struct asked asked = {.each = ATTN_EACH_OPTIONS_DEFAULT, .data = lines};

    asked.each.path = path;
    return asked;
}

static void expect_ok(struct asked *asked)
{
    struct attn_error err = {0};

    ck_assert_msg(run(asked, &err) == ATTN_OK, "%s", err.message);
}

START_TEST(writes_every_value)
{
    struct asked asked = asked_for("rows.csv"), other = asked_for("rows.jsonl");

    begin();
    expect_ok(&asked);
    attn_folder_assert("rows.csv", csv, sizeof csv - 1);
    ck_assert_str_eq(notes, "the label '=1' of item 2 begins like a formula: a spreadsheet runs "
                            "it, unless the column is imported as text\n"
                            "the label 'late' of item 3 is left out: columns are the labels of "
                            "the first item\n");
    expect_ok(&other);
    attn_folder_assert("rows.jsonl", jsonl, sizeof jsonl - 1);
    ck_assert_uint_eq(attn_folder_count(), 2);
    end();
}
END_TEST

START_TEST(writes_to_a_sink)
{
    struct asked asked = asked_for(NULL);
    const char *bytes;
    size_t size;

    begin();
    ck_assert_int_eq(attn_sink_create_memory(&asked.each.sink, NULL), ATTN_OK);
    expect_ok(&asked);
    bytes = attn_sink_bytes(asked.each.sink, &size);
    ck_assert_uint_eq(size, sizeof csv - 1);
    ck_assert_mem_eq(bytes, csv, size);
    attn_sink_free(asked.each.sink);
    ck_assert_uint_eq(attn_folder_count(), 0);
    end();
}
END_TEST

/* Ends after each item, and is resumed. */
static void expect_restarts(const char *path, const char *whole, bool has_no_rows)
{
    struct asked asked = asked_for(path);
    struct attn_error err = {0};

    begin();
    asked.has_no_rows = has_no_rows;
    for (size_t n = 1; n <= 6; n++) {
        const size_t n_before = asked.result.n_item;

        asked.n_most = n;
        *notes = '\0';
        err = (struct attn_error){0};
        ck_assert_int_eq(run(&asked, &err), ATTN_CANCELED);
        ck_assert_uint_eq(asked.n_handed, asked.each.is_resumed ? n_before - 1 : 0);
        ck_assert_uint_eq(asked.result.n_item, n);
        asked.each.is_resumed = asked.result.can_resume;
        if (!asked.result.can_resume) /* the columns of CSV are not known */
            ck_assert_uint_eq(attn_folder_count(), 0);
        else if (asked.n_handed > 0)
            ck_assert_msg(strstr(notes, "continues at item"), "%s", notes);
    }
    ck_assert(asked.each.is_resumed);
    asked.n_most = 0;
    expect_ok(&asked);
    ck_assert_uint_eq(asked.n_handed, 5); /* the last is computed again */
    ck_assert_uint_eq(asked.n_failed, 3);
    attn_folder_assert(path, whole, strlen(whole));
    ck_assert_uint_eq(attn_folder_count(), 1);
    *notes = '\0';
    expect_ok(&asked);
    ck_assert(asked.result.is_complete && asked.n_handed == 5);
    ck_assert_msg(strstr(notes, "is complete, and its last rows are those of this run\n"), "%s",
                  notes);
    ck_assert_uint_eq(attn_folder_count(), 1);
    end();
}

START_TEST(goes_on_where_it_ended)
{
    expect_restarts("rows.csv", csv, false);
    expect_restarts("rows.csv", csv, true);
    expect_restarts("rows.jsonl", jsonl, false);
    expect_restarts("rows.jsonl", jsonl, true);
}
END_TEST

/* What was done goes on with nothing else. */
START_TEST(refuses_what_is_other)
{
    struct asked asked = asked_for("rows.csv");
    struct attn_error err = {0};
    char other[sizeof lines];

    begin();
    memcpy(other, lines, sizeof other);
    *strstr(other, "r\"") = 's';
    asked.n_most = 4;
    ck_assert_int_eq(run(&asked, &err), ATTN_CANCELED);
    asked.each.is_resumed = true;
    asked.n_most = 0;
#define REFUSED(at, words)                                                                         \
    do {                                                                                           \
        err = (struct attn_error){0};                                                              \
        ck_assert_int_eq(run(&asked, &err), ATTN_INVALID);                                         \
        ck_assert_int_eq(err.stage, at);                                                           \
        ck_assert_msg(strstr(err.message, words), "%s", err.message);                              \
    } while (0)
    asked.each.key = "a=1\nb=2\n";
    REFUSED(ATTN_STAGE_INPUT,
            "'rows.csv' has rows of other options, files or version, expected those of this run");
    asked.each.key = NULL;
    asked.data = other;
    REFUSED(ATTN_STAGE_INPUT, "'rows.csv' has rows of other items, expected those of this run");
    asked.data = strchr(lines, '\n') + 1;
    REFUSED(ATTN_STAGE_INPUT, "'rows.csv' has rows of other items");
    rename("rows.csv.part.key", "key");
    asked.data = other;
    REFUSED(ATTN_STAGE_OPTIONS, "'rows.csv.part' has other values, expected the rows of this run");
    rename("key", "rows.csv.part.key");
    asked.data = lines;
    expect_ok(&asked); /* what was refused is still there */
    attn_folder_assert("rows.csv", csv, sizeof csv - 1);
    ck_assert_uint_eq(asked.n_handed, 3);
    end();
}
END_TEST

/* Rows of two neighbours with one id cannot be told apart. */
START_TEST(refuses_neighbours_of_one_id)
{
    struct asked asked = asked_for("rows.csv");
    struct attn_error err = {0};

    begin();
    asked.data = "{\"id\":\"a\",\"text\":\"x\"}\n{\"id\":\"b\",\"text\":\"x\"}\n"
                 "{\"id\":\"b\",\"text\":\"y\"}\n{\"id\":\"c\",\"text\":\"x\"}\n";
    asked.n_most = 4;
    ck_assert_int_eq(run(&asked, &err), ATTN_CANCELED);
    asked.each.is_resumed = true;
    asked.n_most = 0;
    err = (struct attn_error){0};
    ck_assert_int_eq(run(&asked, &err), ATTN_INVALID);
    ck_assert_int_eq(err.stage, ATTN_STAGE_OPTIONS);
    end();
}
END_TEST

/* A file that was cut at any byte, as a killed process leaves it, is continued to the same bytes:
 * with its key after the rows that are there, and without from the beginning. */
static void expect_cuts(const char *path, const char *whole)
{
    struct asked asked = asked_for(path);
    struct attn_error err = {0};
    char part[32], key[40];
    size_t n_handed = 0;

    begin();
    snprintf(part, sizeof part, "%s.part", path);
    snprintf(key, sizeof key, "%s.key", part);
    asked.n_most = 6;
    ck_assert_int_eq(run(&asked, &err), ATTN_CANCELED);
    ck_assert_int_eq(rename(key, "key"), 0);
    asked.n_most = 0;
    asked.each.is_resumed = true;
    for (size_t size = 1; size <= 2 * strlen(whole); size++) {
        unlink(path);
        attn_folder_write(part, whole, (size + 1) / 2);
        if (size % 2 == 0)
            ck_assert_int_eq(link("key", key), 0);
        expect_ok(&asked);
        n_handed += asked.n_handed;
        ck_assert_uint_eq(asked.result.n_item, 6);
        ck_assert_uint_eq(asked.n_failed, 3);
        attn_folder_assert(path, whole, strlen(whole));
        ck_assert_uint_eq(attn_folder_count(), 2);
    }
    ck_assert_uint_gt(n_handed, strlen(whole));
    end();
}

START_TEST(goes_on_after_a_cut_at_any_byte)
{
    expect_cuts("rows.csv", csv);
    expect_cuts("rows.jsonl", jsonl);
}
END_TEST

/* Any other byte in the rows of an earlier run harms nobody: an error, or a value that is read. */
START_TEST(survives_any_other_byte)
{
    struct asked asked = asked_for("rows.csv");
    static char changed[sizeof csv];

    begin();
    asked.n_most = 6;
    ck_assert_int_eq(run(&asked, &(struct attn_error){0}), ATTN_CANCELED);
    ck_assert_int_eq(rename("rows.csv.part.key", "key"), 0);
    unlink("rows.csv.part");
    asked.n_most = 0;
    asked.each.is_resumed = true;
    asked.has_no_values = true;
    for (size_t i = 0; i < sizeof csv - 1; i++)
        for (int k = 0; k < 6; k++) {
            struct attn_error err = {0};

            memcpy(changed, csv, sizeof csv);
            changed[i] = "\",\n\\7\xff"[k];
            attn_folder_write("rows.csv.part", changed, sizeof csv - 1);
            ck_assert_int_eq(link("key", "rows.csv.part.key"), 0);
            if (run(&asked, &err) != ATTN_OK)
                ck_assert_int_eq(err.status, ATTN_INVALID);
            unlink("rows.csv.part.key");
            unlink("rows.csv.part");
            unlink("rows.csv");
        }
    end();
}
END_TEST

START_TEST(shards_together_are_the_whole)
{
    struct asked asked = asked_for("rows.jsonl");
    char path[64], *parts = calloc(1, SIZE);

    begin();
    asked.n_shard = 3;
    for (asked.shard = 0; asked.shard < 3; asked.shard++) {
        size_t size = strlen(parts);
        FILE *file;

        expect_ok(&asked);
        snprintf(path, sizeof path, "rows-%05zu-of-00003.jsonl", asked.shard);
        file = fopen(path, "r");
        ck_assert_ptr_nonnull(file);
        size += fread(parts + size, 1, SIZE - 1 - size, file);
        fclose(file);
    }
    ck_assert_str_eq(parts, jsonl);
    free(parts);
    end();
}
END_TEST

START_TEST(notes_labels_without_a_column)
{
    struct asked asked = asked_for("rows.csv");

    begin();
    asked.data = "{\"text\":\"x\",\"u\":1}\n{\"text\":\"x\",\"v\":1}\n{\"text\":\"x\",\"v\":1}\n";
    expect_ok(&asked);
    ck_assert_str_eq(notes, "the label 'v' of item 1 is left out: columns are the labels of the "
                            "first item\n");
    end();
}
END_TEST

/* Without an item there is a header, and one without columns where all failed. */
START_TEST(writes_no_item)
{
    struct asked asked = asked_for("rows.csv");

    begin();
    asked.data = "";
    expect_ok(&asked);
    attn_folder_assert("rows.csv", "id,part,layer,same,shape,change,error\n", 38);
    asked.each.is_resumed = true;
    expect_ok(&asked);
    ck_assert(asked.result.is_complete);
    asked.each.is_resumed = false;
    asked.data = "{\"text\":\"x\",\"fails\":true}\n";
    expect_ok(&asked);
    attn_folder_assert(
        "rows.csv", "id,fails,part,layer,same,shape,change,error\n0,true,,,,,,no_fit: it fails\n",
        73);
    end();
}
END_TEST

START_TEST(survives_every_failed_allocation)
{
    struct asked asked = asked_for("rows.csv");
    enum attn_status status = ATTN_NO_MEMORY;
    struct attn_error err;

    begin();
    for (long n = 0; status != ATTN_OK; n++) {
        err = (struct attn_error){0};
        attn_alloc_fail_at(n);
        status = run(&asked, &err);
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%ld: %s", n, err.message);
        unlink("rows.csv.part");
        unlink("rows.csv.part.key");
    }
    attn_folder_assert("rows.csv", csv, sizeof csv - 1);
    asked.n_most = 5;
    unlink("rows.csv");
    ck_assert_int_eq(run(&asked, &err), ATTN_CANCELED);
    asked.each.is_resumed = true;
    asked.n_most = 0;
    status = ATTN_NO_MEMORY;
    for (long n = 0; status != ATTN_OK; n++) {
        err = (struct attn_error){0};
        attn_alloc_fail_at(n);
        status = run(&asked, &err);
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%ld: %s", n, err.message);
    }
    attn_folder_assert("rows.csv", csv, sizeof csv - 1);
    end();
}
END_TEST

/* --- Of a study ------------------------------------------------------------------------------- */

/* A study of DATA whose lines go to EACH: *table is the answer. */
static enum attn_status study(const char *data, const struct attn_each_options *each,
                              struct attn_table **table, struct attn_error *err)
{
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;
    struct attn_study_args asked = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_ablate_sum sum = ATTN_ABLATE_SUM_DEFAULT;
    enum attn_status status;

    options.path = "in.jsonl";
    options.data = data;
    options.n_data = strlen(data);
    ATTN_TRY(attn_items_open(&options, &asked.items, err));
    asked.each = each;
    asked.group_by = "n";
    asked.paired = "kind=a:b";
    args.study = &asked;
    args.answer.target = " are";
    args.by = ATTN_ABLATE_BY_ATTN;
    status = attn_ablate(host, &request, &args, table, &sum, err);
    attn_items_free(asked.items);
    return status;
}

static void expect_same_table(const struct attn_table *a, const struct attn_table *b)
{
    ck_assert_uint_eq(attn_table_n_row(a), attn_table_n_row(b));
    ck_assert_uint_eq(attn_table_n_column(a), attn_table_n_column(b));
    for (size_t row = 0; row < attn_table_n_row(a); row++)
        for (size_t c = 0; c < attn_table_n_column(a); c++) {
            const struct attn_cell x = attn_table_cell(a, row, c), y = attn_table_cell(b, row, c);

            ck_assert_int_eq(x.type, y.type);
            ck_assert(x.integer == y.integer && (x.real == y.real || isnan(x.real)));
            ck_assert_uint_eq(x.size, y.size);
            if (x.size > 0)
                ck_assert_mem_eq(x.text, y.text, x.size);
        }
}

/* Partners that wait are taken over, too; and every allocation fails once, at
 * the beginning and when it goes on. */
START_TEST(a_study_goes_on)
{
    static const char all[] = "{\"id\":1,\"kind\":\"a\",\"n\":1,\"text\":\"The keys\"}\n"
                              "{\"id\":2,\"kind\":\"a\",\"n\":1,\"text\":\"The dogs\"}\n"
                              "{\"id\":1,\"kind\":\"b\",\"n\":1,\"text\":\"The key\"}\n"
                              "{\"id\":2,\"kind\":\"b\",\"n\":1,\"text\":\"The dog\"}\n";
    struct attn_each_options each = ATTN_EACH_OPTIONS_DEFAULT;
    struct attn_table *whole, *table = NULL;
    struct attn_error err = {0};
    enum attn_status status = ATTN_NO_MEMORY;

    begin();
    each.path = "rows.csv";
    ck_assert_msg(study(all, &each, &whole, &err) == ATTN_OK, "%s", err.message);
    unlink("rows.csv");
    each.is_resumed = true; /* so far as it came before memory ran out */
    for (long n = 0; status != ATTN_OK; n += 1 + n / 64) {
        err = (struct attn_error){0};
        attn_alloc_fail_at(n);
        status = study(all, &each, &table, &err);
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%ld: %s", n, err.message);
    }
    expect_same_table(table, whole);
    attn_table_free(table);
    ck_assert_int_eq(study(all, &each, &table, &err), ATTN_OK);
    expect_same_table(table, whole);
    attn_table_free(table);
    attn_table_free(whole);
    end();
}
END_TEST

ATTN_SUITE("each", writes_every_value, writes_to_a_sink, goes_on_where_it_ended,
           refuses_what_is_other, refuses_neighbours_of_one_id, goes_on_after_a_cut_at_any_byte,
           survives_any_other_byte, shards_together_are_the_whole, notes_labels_without_a_column,
           writes_no_item, survives_every_failed_allocation, a_study_goes_on)
