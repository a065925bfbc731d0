/*
 * test_output_records.c - what many records came to, as files: every byte of each format, runs that
 * are gone on with, and what failures leave.
 */
#include "extra.h"
#include "stream/records_internal.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/folder.h"
#include "tests/support/kept.h"
#include "tests/support/made_up_run.h"
#include "tests/support/npy.h"
#include "tests/support/open.h"
#include "tests/support/parts.h"
#include "tests/support/suite.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_LAYER = 2, N_HEAD = 2, N_TOP = 2, N_MEASURE = 2, N_CELL = N_LAYER * N_HEAD };

static struct attn_made_up_run made;
static struct attn_records_form form;

static void set_up(void)
{
    attn_made_up_run_init(&made, &attn_made_up_small, NULL);
    form = ATTN_RECORDS_FORM_DEFAULT;
    form.fields = ATTN_RECORD_FIELD_BIT(IDS) | ATTN_RECORD_FIELD_BIT(MEASURES);
    form.measures = ATTN_MEASURE_BIT(ATTN_MEASURE_ENTROPY) | ATTN_MEASURE_BIT(ATTN_MEASURE_FIRST);
    form.n_layer = N_LAYER;
    form.n_stack = 1;
    form.n_head = N_HEAD;
    attn_folder_enter();
}

/* Removes the folder of arrays, too. */
static void tear_down(void)
{
    if (chdir("arrays") == 0) {
        ck_assert_int_eq(system("rm -f ./*"), 0);
        ck_assert_int_eq(chdir(".."), 0);
        rmdir("arrays");
    }
    attn_folder_leave();
    attn_made_up_run_release(&made);
}

/* The item of the current outcome. */
static struct attn_item given;

static const struct attn_item *item_of(size_t number)
{
    given = (struct attn_item){.number = number};
    return &given;
}

static void give_id(const char *id, size_t n, enum attn_record_id kind)
{
    given.id = id, given.n_id = n, given.id_kind = kind;
}

/* The outcome of record NUMBER, whose measures are 10 * number + k and, in the first cell, NaN. */
static struct attn_item_result outcome_of(size_t number)
{
    static float measures[N_MEASURE * N_CELL];
    struct attn_item_result outcome = {
        .item = item_of(number), .n_token = 3, .labels = &made.run, .measures = measures};

    for (int k = 0; k < N_MEASURE * N_CELL; k++)
        measures[k] = k == 0 ? NAN : (float)number * 10 + (float)k / 4;
    return outcome;
}

static struct attn_item_result failure_of(size_t number)
{
    return (struct attn_item_result){.item = item_of(number),
                                     .failure = ATTN_RECORD_FAILURE_TOO_LONG,
                                     .err.message = "9 tokens, \"expected\" 1 to 8"};
}

static void write_outcome(struct attn_records *records, struct attn_item_result outcome)
{
    struct attn_error err = {0};

    ck_assert_msg(attn_records_write(records, &outcome, &err) == ATTN_OK, "%s", err.message);
}

static struct attn_records *open_items(const struct attn_records_item *items, size_t n,
                                       bool is_resumed)
{
    struct attn_records *records = NULL;
    struct attn_error err = {0};

    ck_assert_msg(attn_records_open(items, n, &form, is_resumed, &records, &err) == ATTN_OK, "%s",
                  err.message);
    return records;
}

static void finish(struct attn_records *records)
{
    struct attn_error err = {0};

    ck_assert_msg(attn_records_finish(records, false, &err) == ATTN_OK, "%s", err.message);
    ck_assert_msg(attn_records_commit(records, &err) == ATTN_OK, "%s", err.message);
    attn_records_free(records);
}

/* Opens "out" in FORMAT alone. */
static struct attn_records *open_one(const char *format)
{
    return open_items(&(struct attn_records_item){.format = format, .path = "out"}, 1, false);
}

static void assert_out(const char *text)
{
    attn_folder_assert("out", text, strlen(text));
}

/* --- Lines ------------------------------------------------------------------------------------ */

/* What a record has beside its measures, or that it failed. */
enum { FAILED = 1, PREDICTED = 2, WITH_EDGES = 4 };

/* Records of one run, and the whole file that FORMAT makes of them. */
static const struct lines {
    const char *format, *fields, *heads; /* NULL: ids and measures, of all heads */
    int n_digit;                         /* precision and 1; 0: exact */
    int n_note;                          /* of ids that are formulas */
    size_t n;
    struct {
        size_t number;
        const char *id; /* NULL: the number */
        size_t n_id;
        enum attn_record_id kind;
        unsigned has;
    } records[4];
    const char *text;
} lines[] = {
    {"jsonl", .n = 2, .records = {{0}, {7, .has = FAILED}},
     .text = "{\"id\":0,\"n_token\":3,\"ids\":[10,11,12],\"measures\":{\"entropy\":[[null,0.25],"
             "[0.5,0.75]],\"first\":[[1,1.25],[1.5,1.75]]}}\n"
             "{\"id\":7,\"error\":{\"code\":\"too_long\",\"message\":\"9 tokens, "
             "\\\"expected\\\" 1 to 8\"}}\n"},
    {"jsonl", .n = 2,
     .records = {{0, "a\"\\\n\x7f\xc2\x85\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\xc3\xa9", 18,
                  ATTN_RECORD_ID_TEXT, FAILED},
                 {0, "-007", 4, ATTN_RECORD_ID_INTEGER, FAILED}},
     .text = "{\"id\":\"a\\\"\\\\\\n\\u007f\\u0085\\u2028\\u2029\\u202a\xc3\xa9\",\"error\":{"
             "\"code\":\"too_long\",\"message\":\"9 tokens, \\\"expected\\\" 1 to 8\"}}\n"
             "{\"id\":-007,\"error\":{\"code\":\"too_long\",\"message\":\"9 tokens, "
             "\\\"expected\\\" 1 to 8\"}}\n"},
    /* In one order, and null where there is none. */
    {"jsonl", .fields = "tensors,predictions,surprisal,offsets,tokens", .n = 2,
     .records = {{.has = PREDICTED}, {.number = 0}},
     .text = "{\"id\":0,\"n_token\":3,\"tokens\":[\"w\",\"w\",\"w\"],\"offsets\":null,"
             "\"surprisal\":[null,0.5,2],\"predictions\":{\"top\":[{\"id\":5,\"token\":"
             "\" x\",\"probability\":0.5}],\"next\":[]},\"tensors\":null}\n"
             "{\"id\":0,\"n_token\":3,\"tokens\":[\"w\",\"w\",\"w\"],\"offsets\":null,"
             "\"surprisal\":null,\"predictions\":{\"top\":[],\"next\":[]},\"tensors\":null}\n"},
    {"csv", .n_note = 1, .n = 4,
     .records = {{0, "a,\"b\"\n", 6, ATTN_RECORD_ID_TEXT, 0},
                 {1, .has = FAILED},
                 {1, "=1+1", 4, ATTN_RECORD_ID_TEXT, 0},
                 {1, "=1+1", 4, ATTN_RECORD_ID_TEXT, 0}},
     .text = "id,layer,head,n_token,entropy,first\n"
             "\"a,\"\"b\"\"\n\",0,0,3,,1\n"
             "\"a,\"\"b\"\"\n\",0,1,3,0.25,1.25\n"
             "\"a,\"\"b\"\"\n\",1,0,3,0.5,1.5\n"
             "\"a,\"\"b\"\"\n\",1,1,3,0.75,1.75\n"
             "=1+1,0,0,3,,11\n=1+1,0,1,3,10.25,11.25\n"
             "=1+1,1,0,3,10.5,11.5\n=1+1,1,1,3,10.75,11.75\n"
             "=1+1,0,0,3,,11\n=1+1,0,1,3,10.25,11.25\n"
             "=1+1,1,0,3,10.5,11.5\n=1+1,1,1,3,10.75,11.75\n"},
    {"csv", .heads = "1.0", .n_digit = 4, .n = 1, .records = {{.number = 2}},
     .text = "id,layer,head,n_token,entropy,first\n2,1,0,3,20.500,21.500\n"},
    {"edges", .heads = "1.1", .n = 2, .records = {{5, .has = WITH_EDGES}, {6, .has = FAILED}},
     .text = "id,layer,head,query,key,weight\n5,1,1,0,0,1\n5,1,1,1,1,0.75\n5,1,1,1,0,0.25\n"
             "5,1,1,2,0,0.5\n5,1,1,2,1,0.25\n"},
};

static int n_note;

static void count_note(void *user, enum attn_note code, const char *message)
{
    (void)user;
    ck_assert_int_eq(code, ATTN_NOTE_FORMULA);
    ck_assert_ptr_nonnull(strstr(message, "'=1+1' of record 1"));
    n_note++;
}

/* Edges of head 1 of layer 1; free them. */
static struct attn_edges *make_edges(void)
{
    static const float rows[] = {1, 9, 9, 0.25F, 0.75F, 9, 0.5F, 0.25F, 0.25F};
    const struct attn_trace_event event = {.at.site = ATTN_SITE_PATTERN,
                                           .at.layer = 1,
                                           .at.head = 1,
                                           .n_row = 3,
                                           .n_col = 3,
                                           .ld = 3,
                                           .data = rows,
                                           .is_causal = true};
    struct attn_edges *edges = NULL;

    ck_assert_int_eq(attn_edges_create(made.selection, 2, NULL, &edges, NULL), ATTN_OK);
    attn_edges_add(edges, &event);
    return edges;
}

static void write_lines(struct attn_records *records, const struct lines *run)
{
    static struct attn_candidate top[] = {
        {.position = 2, .id = 5, .token = " x", .token_size = 2, .probability = 0.5}};
    static const double surprisal[] = {(double)NAN, 0.5, 2};

    for (size_t i = 0; i < run->n; i++) {
        const unsigned has = run->records[i].has;
        const size_t number = run->records[i].number;
        struct attn_item_result outcome = has & FAILED ? failure_of(number) : outcome_of(number);
        struct attn_edges *edges = has & WITH_EDGES ? make_edges() : NULL;

        if (run->records[i].id)
            give_id(run->records[i].id, run->records[i].n_id, run->records[i].kind);
        if (has & PREDICTED)
            outcome.predictions = (struct attn_predictions){.top = top, .n_top = 1},
            outcome.surprisal = surprisal;
        outcome.edges = edges;
        write_outcome(records, outcome);
        attn_edges_free(edges);
    }
}

START_TEST(records_are_lines)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct attn_records *records;

        set_up();
        form.on_note = count_note;
        form.precision = lines[i].n_digit - 1;
        n_note = 0;
        if (lines[i].heads)
            attn_made_up_run_select(&made, "pattern", lines[i].heads, "all");
        if (lines[i].fields)
            ck_assert_int_eq(attn_record_fields_parse(lines[i].fields, &form.fields, NULL),
                             ATTN_OK);
        records = open_one(lines[i].format);
        write_lines(records, &lines[i]);
        finish(records);
        ck_assert_int_eq(n_note, lines[i].n_note);
        assert_out(lines[i].text);
        tear_down();
    }
}
END_TEST

START_TEST(unknown_fields_are_refused)
{
    uint64_t fields = 77;
    struct attn_error err = {0};

    ck_assert_int_eq(attn_record_fields_parse("ids,,tokens", &fields, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "'' is no field of a record, expected some of ids, tokens, "
                                  "offsets, measures, surprisal, predictions, tensors");
    ck_assert_int_eq(attn_record_fields_parse("id", &fields, NULL), ATTN_INVALID);
    ck_assert_int_eq(attn_record_fields_parse("ids,", &fields, NULL), ATTN_INVALID);
    ck_assert_uint_eq(fields, 77);
}
END_TEST

/* --- Arrays ----------------------------------------------------------------------------------- */

/* Fails unless the file PATH has shape [N, A, B] (0: no such axis) and these VALUES. */
static void assert_array(const char *path, size_t n, size_t a, size_t b, const double *values)
{
    const size_t shape[] = {n, a, b};
    struct attn_npy array;

    ck_assert_msg(attn_npy_read(path, &array), "%s is missing", path);
    ck_assert_int_eq(array.rank, 1 + (a > 0) + (b > 0));
    for (int i = 0; i < array.rank; i++)
        ck_assert_uint_eq(array.shape[i], shape[i]);
    for (size_t i = 0; i < array.n; i++)
        ck_assert_msg(array.values[i] == values[i] || (isnan(array.values[i]) && isnan(values[i])),
                      "%s[%zu] is %g, expected %g", path, i, array.values[i], values[i]);
    attn_npy_release(&array);
}

/* The int32 numbers of FILE [n] behind a header of 128 bytes. */
static void assert_integers(const char *path, const int32_t *expected, size_t n)
{
    int32_t values[16];
    FILE *file = fopen(path, "rb");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, 128, SEEK_SET), 0);
    ck_assert_uint_eq(fread(values, sizeof *values, 16, file), n);
    fclose(file);
    ck_assert_mem_eq(values, expected, n * sizeof *values);
}

START_TEST(a_record_is_a_row_of_every_array)
{
    struct attn_candidate top[] = {{.position = 1, .id = 3, .probability = 0.75},
                                   {.position = 1, .id = 4, .probability = 0.125},
                                   {.position = 2, .id = 8, .probability = 0.5},
                                   {.position = 2, .id = 9, .probability = 0.25}};
    const struct attn_predictions found = {.top = top, .n_top = 4, .has_positions = true};
    const struct attn_predictions fewer = {.top = top, .n_top = 1};
    const double none = (double)NAN;
    const double entropy[] = {none, 0.25, 0.5,  0.75,  none, none,
                              none, none, none, 20.25, 20.5, 20.75};
    const double p[] = {0.5, 0.25, none, none, 0.75, none};
    struct attn_records *records;
    struct attn_item_result outcome;

    set_up();
    form.n_top = N_TOP;
    records = open_items(&(struct attn_records_item){"npy", "arrays", NULL}, 1, false);
    outcome = outcome_of(0), outcome.predictions = found;
    write_outcome(records, outcome);
    write_outcome(records, failure_of(1));
    outcome = outcome_of(2), outcome.predictions = fewer;
    write_outcome(records, outcome);
    ck_assert_int_ne(access("arrays/entropy.npy", F_OK), 0);
    finish(records);
    assert_array("arrays/entropy.npy", 3, N_LAYER, N_HEAD, entropy);
    assert_array("arrays/top_p.npy", 3, N_TOP, 0, p);
    assert_integers("arrays/n_token.npy", (const int32_t[]){3, 0, 3}, 3);
    assert_integers("arrays/top_id.npy", (const int32_t[]){8, 9, -1, -1, 3, -1}, 6);
    ck_assert_int_eq(access("arrays/first.npy", F_OK), 0);
    tear_down();
}
END_TEST

START_TEST(arrays_of_no_records_are_arrays)
{
    set_up();
    finish(open_items(&(struct attn_records_item){"npy", "arrays", NULL}, 1, false));
    assert_array("arrays/entropy.npy", 0, N_LAYER, N_HEAD, NULL);
    tear_down();
}
END_TEST

/* --- Archives --------------------------------------------------------------------------------- */

/* Runs TEXT on life-is-short; the caller frees what is returned. */
static struct attn_run *run_text(struct attn_host *host, struct attn_request *request,
                                 const char *text, struct attn_capture **capture)
{
    struct attn_result result = {0};
    struct attn_error err = {0};
    struct attn_run *run;

    request->input.text = text, request->input.n_text = strlen(text);
    ck_assert_msg(attn_run_prepare(host, request, &run, &err) == ATTN_OK, "%s", err.message);
    ck_assert_int_eq(attn_capture_create(attn_run_selection(run), capture, &err), ATTN_OK);
    ck_assert_int_eq(attn_run_perform(run, attn_capture_trace(*capture), &result, &err), ATTN_OK);
    attn_result_release(&result);
    return run;
}

static struct attn_host *host;

static void set_up_model(void)
{
    set_up();
    host = attn_open_host("life-is-short", NULL);
    form.n_layer = form.n_stack = form.n_head = 1;
}

static void tear_down_model(void)
{
    attn_host_free(host);
    tear_down();
}

/* Writes TEXT as record NUMBER. */
static void write_text(struct attn_records *records, const char *text, size_t number)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_capture *capture;
    struct attn_run *run;
    struct attn_item_result outcome = {.item = item_of(number)};

    request.selection.sites = "*";
    run = run_text(host, &request, text, &capture);
    outcome.labels = attn_run_labels(run);
    outcome.capture = capture;
    write_outcome(records, outcome);
    attn_capture_free(capture);
    attn_run_free(run);
}

/* How many members the end of the archive PATH says it has. */
static unsigned count_members(const char *path)
{
    unsigned char end[22];
    FILE *file = fopen(path, "rb");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, -(long)sizeof end, SEEK_END), 0);
    ck_assert_uint_eq(fread(end, 1, sizeof end, file), sizeof end);
    fclose(file);
    return end[10] | (unsigned)end[11] << 8;
}

START_TEST(an_archive_has_the_arrays_of_each_run)
{
    static const char *const names[] = {"ids",
                                        "hook_embed",
                                        "blocks.0.attn.hook_q",
                                        "blocks.0.attn.hook_attn_scores",
                                        "blocks.0.attn.hook_pattern",
                                        "blocks.0.attn.hook_z"};
    struct attn_output output = {.format = attn_format_find("npz"), .path = "one.npz"};
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_result result = {0};
    struct attn_records *records;

    set_up_model();
    records = open_items(&(struct attn_records_item){"npz", "all.npz", NULL}, 1, false);
    write_text(records, "Life is short", 0);
    write_outcome(records, failure_of(1));
    write_text(records, "eat dessert first", 2);
    ck_assert_int_eq(access("all.npz", F_OK), -1);
    finish(records);
    ck_assert_uint_eq(attn_folder_count(), 1);
    request.input.text = "eat dessert first", request.input.n_text = 17;
    request.selection.sites = "*", request.outputs.items = &output, request.outputs.n = 1;
    ck_assert_int_eq(attn_run_request(host, &request, &result, NULL), ATTN_OK);
    attn_result_release(&result);
    ck_assert_uint_eq(count_members("all.npz"), 2 * count_members("one.npz"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[100];
        struct attn_npy one, of_all;

        snprintf(path, sizeof path, "one.npz/%s.npy", names[i]);
        ck_assert_msg(attn_npy_read(path, &one), "%s", path);
        snprintf(path, sizeof path, "all.npz/000000002/%s.npy", names[i]);
        ck_assert_msg(attn_npy_read(path, &of_all), "%s", path);
        ck_assert_int_eq(one.rank, of_all.rank);
        ck_assert_mem_eq(one.shape, of_all.shape, (size_t)one.rank * sizeof *one.shape);
        ck_assert_mem_eq(one.values, of_all.values, one.n * sizeof *one.values);
        attn_npy_release(&one);
        attn_npy_release(&of_all);
    }
    tear_down_model();
}
END_TEST

START_TEST(a_capture_knows_which_cells_count)
{
    enum { N = 12 };
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_capture *capture;
    struct attn_run *run;

    set_up_model();
    request.selection.sites = "pattern,z";
    run = run_text(host, &request,
                   "Life is short eat dessert first Life is short eat dessert first", &capture);
    for (size_t i = 0; i < (size_t)N * N; i++)
        ck_assert_int_eq(attn_kept_cell(capture, ATTN_SITE_PATTERN, 0, i), i % N <= i / N);
    ck_assert(attn_kept_cell(capture, ATTN_SITE_Z, 0, 0));
    attn_capture_free(capture);
    attn_run_free(run);
    tear_down_model();
}
END_TEST

/* --- Runs that are gone on with --------------------------------------------------------------- */

static const struct attn_records_item all_items[] = {{"jsonl", "out", NULL},
                                                     {"csv", "out.csv", NULL},
                                                     {"edges", "edges.csv", NULL},
                                                     {"npy", "arrays", NULL},
                                                     {"npz", "out.npz", NULL}};
enum { N_ITEM = sizeof all_items / sizeof *all_items, MOST_PARTS = 16 };

/* Writes records FIRST to END of a run with a failure in its middle. */
static void write_some(struct attn_records *records, size_t first, size_t end)
{
    static const char *const texts[] = {"Life is short", "eat dessert first", "dessert is first"};

    for (size_t i = first; i < end; i++)
        if (i == 2)
            write_outcome(records, failure_of(i));
        else
            write_text(records, texts[i % 3], i);
}

/* Notes the sizes of all parts after a flush; returns how many there are. */
static size_t note_sizes(struct attn_records *records, uint64_t *sizes)
{
    struct attn_records_part part;
    size_t n = 0;

    ck_assert_int_eq(attn_records_flush(records, true, NULL), ATTN_OK);
    for (; attn_records_part(records, n, &part); n++) {
        struct stat info;

        ck_assert_int_eq(stat(part.path, &info), 0);
        ck_assert_uint_eq((uint64_t)info.st_size, part.size);
        sizes[n] = part.size;
    }
    return n;
}

START_TEST(a_run_that_is_gone_on_with_gives_the_same_bytes)
{
    static const char *const files[] = {
        "out", "out.csv", "edges.csv", "out.npz", "arrays/entropy.npy", "arrays/n_token.npy"};
    enum { N_FILE = sizeof files / sizeof *files, N_RECORD = 6 };
    struct attn_part expected[N_FILE];
    struct attn_records *records;

    set_up_model();
    records = open_items(all_items, N_ITEM, false);
    write_some(records, 0, N_RECORD);
    finish(records);
    for (size_t i = 0; i < N_FILE; i++)
        expected[i] = attn_part_read(files[i]);
    for (size_t cut = 0; cut <= N_RECORD; cut++) {
        uint64_t sizes[MOST_PARTS];
        size_t n;

        records = open_items(all_items, N_ITEM, false);
        write_some(records, 0, cut);
        n = note_sizes(records, sizes);
        write_some(records, cut, N_RECORD);
        if (cut % 2 == 0) /* it ended within the completion of the parts */
            ck_assert_int_eq(attn_records_finish(records, false, NULL), ATTN_OK);
        attn_records_free(records);
        records = open_items(all_items, N_ITEM, true);
        ck_assert_int_eq(attn_records_begin(records, cut, sizes, n, NULL), ATTN_OK);
        write_some(records, cut, N_RECORD);
        finish(records);
        for (size_t i = 0; i < N_FILE; i++)
            attn_folder_assert(files[i], expected[i].bytes, expected[i].size);
    }
    for (size_t i = 0; i < N_FILE; i++)
        free(expected[i].bytes);
    ck_assert_int_ne(access("out.npz.members.part", F_OK), 0);
    tear_down_model();
}
END_TEST

START_TEST(what_was_flushed_changes_only_where_a_part_says_so)
{
    struct attn_records *records;
    struct attn_records_part part;
    struct attn_part before[MOST_PARTS];
    size_t n = 0, n_changing = 0;

    set_up_model();
    records = open_items(all_items, N_ITEM, false);
    write_some(records, 0, 3);
    ck_assert_int_eq(attn_records_flush(records, false, NULL), ATTN_OK);
    for (; attn_records_part(records, n, &part); n++)
        before[n] = attn_part_read(part.path);
    write_some(records, 3, 6);
    ck_assert_int_eq(attn_records_finish(records, false, NULL), ATTN_OK);
    for (size_t i = 0; i < n; i++) {
        struct attn_part after;

        ck_assert(attn_records_part(records, i, &part));
        after = attn_part_read(part.path);
        ck_assert_uint_le(before[i].size, after.size);
        ck_assert_uint_le(part.n_changing, before[i].size);
        ck_assert_mem_eq(before[i].bytes + part.n_changing, after.bytes + part.n_changing,
                         before[i].size - part.n_changing);
        ck_assert_int_eq(part.n_changing > 0, strstr(part.path, ".npy.part") != NULL);
        n_changing += part.n_changing > 0;
        free(before[i].bytes);
        free(after.bytes);
    }
    ck_assert_uint_eq(n_changing, 3);
    attn_records_free(records);
    tear_down_model();
}
END_TEST

START_TEST(without_sizes_a_run_begins_anew)
{
    struct attn_records *records;

    set_up();
    records = open_one("csv");
    write_outcome(records, outcome_of(0));
    attn_records_free(records);
    records = open_items(&(struct attn_records_item){"csv", "out", NULL}, 1, true);
    ck_assert_int_eq(attn_records_begin(records, 0, NULL, 0, NULL), ATTN_OK);
    finish(records);
    assert_out("id,layer,head,n_token,entropy,first\n");
    tear_down();
}
END_TEST

START_TEST(parts_that_do_not_fit_are_refused)
{
    uint64_t sizes[] = {1000, 0};
    struct attn_records *records;
    struct attn_error err = {0};

    set_up();
    attn_folder_write("out.part", "some", 4);
    records = open_items(&(struct attn_records_item){"csv", "out", NULL}, 1, true);
    ck_assert_int_eq(attn_records_begin(records, 1, sizes, 1, &err), ATTN_IO);
    ck_assert_str_eq(err.message, "'out.part' has 4 bytes, expected 1000 or more");
    ck_assert_int_eq(err.stage, ATTN_STAGE_OUTPUT);
    sizes[0] = 2;
    ck_assert_int_eq(attn_records_begin(records, 1, sizes, 2, NULL), ATTN_INVALID);
    attn_records_free(records);
    tear_down();
}
END_TEST

START_TEST(archives_whose_members_are_damaged_are_refused)
{
    const uint64_t sizes[] = {4, 60};
    struct attn_records *records;
    struct attn_error err = {0};
    char members[60] = "PK\1\2";

    set_up();
    attn_folder_write("out.part", "some", 4);
    attn_folder_write("out.members.part", members, sizeof members);
    records = open_items(&(struct attn_records_item){"npz", "out", NULL}, 1, true);
    ck_assert_int_eq(attn_records_begin(records, 1, sizes, 2, &err), ATTN_IO);
    ck_assert_str_eq(err.message, "'out.members.part' does not hold members of an archive");
    attn_records_free(records);
    tear_down();
}
END_TEST

/* --- Failures --------------------------------------------------------------------------------- */

START_TEST(a_full_device_is_reported)
{
    static const char *const formats[] = {"jsonl", "csv", "edges"};

    for (size_t i = 0; i < 3; i++) {
        const struct attn_records_item item = {formats[i], "/dev/full", NULL};
        struct attn_records *records = NULL;
        struct attn_error err = {0};
        enum attn_status status;

        set_up();
        status = attn_records_open(&item, 1, &form, false, &records, &err);
        ck_assert_int_eq(status, ATTN_OK);
        write_outcome(records, outcome_of(0));
        ck_assert_int_eq(attn_records_flush(records, false, &err), ATTN_IO);
        ck_assert_str_eq(err.message, "cannot write '/dev/full': No space left on device");
        ck_assert_int_eq(err.stage, ATTN_STAGE_OUTPUT);
        ck_assert(!attn_records_is_abandoned(records));
        attn_records_free(records);
        tear_down();
    }
}
END_TEST

START_TEST(a_pipe_that_nobody_reads_ends_nothing_else)
{
    struct attn_records_item items[] = {{"jsonl", NULL, NULL}, {"csv", "out", NULL}};
    struct attn_records *records;
    int ends[2];

    set_up();
    signal(SIGPIPE, SIG_IGN);
    for (size_t n = 1; n <= 2; n++) {
        ck_assert_int_eq(pipe(ends), 0);
        close(ends[0]);
        ck_assert_int_eq(
            attn_sink_create_descriptor(ends[1], "standard output", &items[0].sink, NULL), ATTN_OK);
        records = open_items(items, n, false);
        write_outcome(records, outcome_of(0));
        ck_assert_int_eq(attn_records_flush(records, false, NULL), n == 1 ? ATTN_IO : ATTN_OK);
        ck_assert_int_eq(attn_records_is_abandoned(records), n == 1);
        if (n == 2)
            finish(records);
        else
            attn_records_free(records);
        attn_sink_free(items[0].sink);
        close(ends[1]);
    }
    assert_out("id,layer,head,n_token,entropy,first\n0,0,0,3,,1\n0,0,1,3,0.25,1.25\n"
               "0,1,0,3,0.5,1.5\n0,1,1,3,0.75,1.75\n");
    tear_down();
}
END_TEST

START_TEST(what_is_not_finished_stays_under_its_other_name)
{
    struct attn_records *records;
    struct attn_records_part part;

    set_up();
    attn_folder_write("out", "old", 3);
    records = open_one("jsonl");
    ck_assert(attn_records_part(records, 0, &part));
    ck_assert_str_eq(part.target, "out");
    ck_assert_str_eq(part.path, "out.part");
    ck_assert(!attn_records_part(records, 1, &part));
    write_outcome(records, failure_of(0));
    ck_assert_int_eq(attn_records_finish(records, true, NULL), ATTN_OK);
    attn_records_free(records);
    assert_out("old");
    ck_assert_int_eq(access("out.part", F_OK), 0);
    tear_down();
}
END_TEST

/* All outputs open, or none. */
START_TEST(outputs_that_do_not_open_leave_nothing)
{
    static const struct {
        struct attn_records_item items[2];
        size_t n;
        enum attn_status status;
        const char *message; /* a part of it */
    } cases[] = {
        {{{"jsonl", "out", NULL}, {"csv", "absent/csv", NULL}}, 2, ATTN_IO, "absent"},
        {{{"jsonl", "out", NULL}, {"csv", "./out", NULL}},
         2,
         ATTN_INVALID,
         "'out' and './out', two outputs, are the same file"},
        {{{"npy", NULL, NULL}}, 1, ATTN_INVALID, ""}, /* it needs files */
        {{{"npz", "/dev/null", NULL}}, 1, ATTN_IO, ""},
        {{{"xml", "out", NULL}}, 1, ATTN_INVALID, "xml"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attn_records *records = NULL;
        struct attn_error err = {0};

        set_up();
        ck_assert_int_eq(
            attn_records_open(cases[i].items, cases[i].n, &form, false, &records, &err),
            cases[i].status);
        ck_assert_ptr_nonnull(strstr(err.message, cases[i].message));
        ck_assert(i != 1 || err.stage == ATTN_STAGE_OPTIONS);
        ck_assert_ptr_null(records);
        ck_assert_uint_eq(attn_folder_count(), 0);
        tear_down();
    }
}
END_TEST

START_TEST(memory_that_runs_out_is_reported)
{
    enum attn_status status = ATTN_NO_MEMORY;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_capture *capture;
    struct attn_item_result outcome;
    struct attn_run *run;

    set_up_model();
    form.fields = 2 * ATTN_RECORD_FIELD_BIT(TENSORS) - 1;
    run = run_text(host, &request, "Life is short", &capture);
    for (long n = 0; status != ATTN_OK; n++) {
        struct attn_records *records = NULL;

        outcome = outcome_of(0);
        outcome.labels = attn_run_labels(run), outcome.capture = capture;
        attn_alloc_fail_at(n);
        status = attn_records_open(all_items, N_ITEM, &form, false, &records, NULL);
        if (status == ATTN_OK)
            status = attn_records_write(records, &outcome, NULL);
        if (status == ATTN_OK)
            status = attn_records_finish(records, false, NULL);
        if (status == ATTN_OK)
            status = attn_records_commit(records, NULL);
        attn_alloc_fail_off();
        attn_records_free(records);
        ck_assert_int_eq(system("rm -rf ./*.part arrays/*.part"), 0);
        ck_assert(status == ATTN_OK || status == ATTN_NO_MEMORY);
        ck_assert_int_eq(access("out", F_OK) == 0, status == ATTN_OK);
        ck_assert_int_lt(n, 2000);
    }
    attn_capture_free(capture);
    attn_run_free(run);
    tear_down_model();
}
END_TEST

ATTN_SUITE("output_records", records_are_lines, unknown_fields_are_refused,
           a_record_is_a_row_of_every_array, arrays_of_no_records_are_arrays,
           an_archive_has_the_arrays_of_each_run, a_capture_knows_which_cells_count,
           a_run_that_is_gone_on_with_gives_the_same_bytes,
           what_was_flushed_changes_only_where_a_part_says_so, without_sizes_a_run_begins_anew,
           parts_that_do_not_fit_are_refused, archives_whose_members_are_damaged_are_refused,
           a_full_device_is_reported, a_pipe_that_nobody_reads_ends_nothing_else,
           what_is_not_finished_stays_under_its_other_name, outputs_that_do_not_open_leave_nothing,
           memory_that_runs_out_is_reported)
