/*
 * test_output_sparse.c - sparse matrices, which are told by the keys that they hold: every format
 * writes what it writes of the whole matrix, with the cells that are not held masked.
 *
 * Where arrays are compared the whole matrix is told with what arrays have in masked cells; where
 * text is, with a number of its own in them, which is then taken out of the text.
 */
#include "tests/support/folder.h"
#include "tests/support/parts.h"
#include "tests/support/picture.h"
#include "tests/support/suite.h"
#include "tests/support/written.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const bool is_cross[] = {false, true};

static const struct attn_dims small = {
    .n_layer = 2,
    .n_head = 3,
    .n_kv_head = 1,
    .d_model = 3,
    .d_head = 2,
    .d_value = 2,
    .d_mlp = 4,
    .n_vocab = 5,
    .n_position = 20, /* more than a table shows */
    .n_source = 23,
    .is_cross = is_cross,
};

enum { N_ROUND = 48, STAND_IN = 12345 };

static const char sites[] = "qk,attn_scores,pattern,pattern_dropped,z,v,resid_mid";

static struct attn_made_up_run made;

/* --- Which cells are held -------------------------------------------------------------------- */

static unsigned int round_number;

static unsigned int mix(unsigned int state, size_t value)
{
    state = (state ^ (unsigned int)value) * 0x9e3779b1U;
    return state ^ state >> 15;
}

static bool keeps(int layer, int head, size_t row, size_t col)
{
    size_t distance = row < col ? col - row : row - col;
    unsigned int chance = mix(mix(mix(round_number, (size_t)(layer * 8 + head)), row), 7);

    switch (round_number % 6) {
    case 0:
        return distance < 3;
    case 1:
        return distance % 4 == 0;
    case 2:
        return (distance & (distance - 1)) == 0;
    case 3:
        return row % 5 == col % 5 && head != 1; /* a head without anything */
    case 4:                                     /* rows from none to all */
        return mix(chance, col) % 8 < chance % 9;
    default:
        return mix(chance, col) % 2 == 0;
    }
}

static bool keeps_all(int layer, int head, size_t row, size_t col)
{
    (void)layer, (void)head, (void)row, (void)col;
    return true;
}

/* How a round feeds the run and what it selects. */
struct way {
    size_t n_row, step;
    bool is_stream;
};

static struct way begin_round(unsigned int number)
{
    static const char *const heads[] = {"all", "1", "0.0,1.2"}, *const queries[] = {"all", "3-11+2",
                                                                                    "0,18,19"};
    static const size_t n_rows[] = {SIZE_MAX, 1, 3, 7};
    unsigned int chance = mix(number, 3);

    round_number = number;
    attn_made_up_run_init(&made, &small, NULL);
    attn_made_up_run_select(&made, sites, heads[chance % 3], queries[chance / 3 % 3]);
    made.keeps = keeps;
    made.is_causal = chance / 9 % 2;
    made.ahead = chance / 18 % 2 * 3;
    made.room = chance / 864 % 2 * 3;
    return (struct way){.n_row = n_rows[chance / 36 % 4],
                        .step = chance / 144 % 3 ? 0 : 6,
                        .is_stream = chance / 432 % 2};
}

static void end_round(void)
{
    attn_made_up_run_release(&made);
}

/* --- Files ----------------------------------------------------------------------------------- */

struct bytes {
    char *data; /* terminated, owned */
    size_t size;
};

static void write_to(struct attn_sink *sink, const char *format, struct way way)
{
    struct attn_error err = {0};
    struct attn_writer *writer;

    ck_assert_msg(attn_writer_create_sink(attn_format_find(format), sink, &made.run,
                                          &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err) == ATTN_OK,
                  "%s", err.message);
    ck_assert_msg((way.step > 0 ? attn_made_up_run_play_steps(&made, writer, way.step, &err)
                                : attn_made_up_run_play(&made, writer, way.n_row, &err)) == ATTN_OK,
                  "%s", err.message);
    ck_assert_msg(attn_writer_finish(writer, &err) == ATTN_OK, "%s", err.message);
    attn_writer_free(writer);
}

/* What FORMAT makes of the run. */
static struct bytes write_bytes(const char *format, struct way way)
{
    struct attn_error err = {0};
    struct bytes bytes = {0};
    struct attn_sink *sink;
    FILE *file = tmpfile();

    ck_assert_ptr_nonnull(file);
    if (way.is_stream)
        ck_assert_int_eq(attn_sink_create_descriptor(fileno(file), "stream", &sink, &err), ATTN_OK);
    else
        ck_assert_int_eq(attn_sink_create_memory(&sink, &err), ATTN_OK);
    write_to(sink, format, way);
    if (way.is_stream)
        ck_assert_int_eq(attn_sink_commit(sink, &err), ATTN_OK);
    else
        fwrite(attn_sink_bytes(sink, &bytes.size), 1, bytes.size, file);
    fflush(file);
    bytes.size = (size_t)lseek(fileno(file), 0, SEEK_END);
    bytes.data = calloc(bytes.size + 1, 1);
    ck_assert_ptr_nonnull(bytes.data);
    ck_assert_int_eq(pread(fileno(file), bytes.data, bytes.size, 0), (ssize_t)bytes.size);
    attn_sink_free(sink);
    fclose(file);
    return bytes;
}

static struct bytes read_bytes(const char *path)
{
    const struct attn_part part = attn_part_read(path);

    return (struct bytes){(char *)part.bytes, part.size};
}

static void remove_files(const char *folder)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;

    ck_assert_ptr_nonnull(entries);
    while ((entry = readdir(entries)))
        unlinkat(dirfd(entries), entry->d_name, 0);
    closedir(entries);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void ck_assert_same(struct bytes actual, struct bytes expected, const char *what)
{
    ck_assert_msg(actual.size == expected.size &&
                      memcmp(actual.data, expected.data, actual.size) == 0,
                  "%s differs in round %u", what, round_number);
    free(actual.data);
    free(expected.data);
}

/* --- What stands for masked cells ------------------------------------------------------------- */

/* Replaces each number STAND_IN of TEXT, which is written FROM, by TO. */
static struct bytes replace(struct bytes text, const char *from, const char *to)
{
    struct bytes result = {.data = calloc(text.size + 1, 1)};
    size_t n = strlen(from);

    ck_assert(strlen(to) <= n && result.data);
    for (size_t i = 0; i < text.size;) {
        if (strncmp(text.data + i, from, n) == 0) {
            memcpy(result.data + result.size, to, strlen(to));
            result.size += strlen(to);
            i += n;
        } else {
            result.data[result.size++] = text.data[i++];
        }
    }
    free(text.data);
    return result;
}

/* Drops the lines that end with END. */
static struct bytes drop_lines(struct bytes text, const char *end)
{
    struct bytes result = {.data = calloc(text.size + 1, 1)};
    size_t n = strlen(end);

    ck_assert_ptr_nonnull(result.data);
    for (size_t i = 0, size; i < text.size; i += size) {
        size = strcspn(text.data + i, "\n") + 1;
        if (size > n && memcmp(text.data + i + size - 1 - n, end, n) == 0)
            continue;
        memcpy(result.data + result.size, text.data + i, size);
        result.size += size;
    }
    free(text.data);
    return result;
}

/* Makes one blank of several: columns of a table are as wide as what they show. */
static struct bytes squeeze(struct bytes text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] != ' ' || (n > 0 && text.data[n - 1] != ' ' && text.data[n - 1] != '\n'))
            text.data[n++] = text.data[i];
    text.data[n] = '\0';
    text.size = n;
    return text;
}

/* The whole matrices. */
static struct bytes write_whole(const char *format, struct way way, float stand_in)
{
    struct bytes bytes;

    made.is_dense = true;
    made.stand_in = stand_in;
    bytes = write_bytes(format, way);
    made.is_dense = false;
    return bytes;
}

/* --- Tests ----------------------------------------------------------------------------------- */

START_TEST(json_has_null_where_nothing_is_held)
{
    for (unsigned int i = 0; i < N_ROUND; i++) {
        struct way way = begin_round(i);
        struct bytes expected = replace(write_whole("json", way, STAND_IN), "12345", "null");

        ck_assert_same(write_bytes("json", way), expected, "JSON");
        end_round();
    }
}
END_TEST

START_TEST(tidy_leaves_out_what_is_not_held)
{
    for (unsigned int i = 0; i < N_ROUND; i++) {
        struct way way = begin_round(i);
        struct bytes expected = drop_lines(write_whole("tidy", way, STAND_IN), ",12345");

        ck_assert_same(write_bytes("tidy", way), expected, "tidy");
        end_round();
    }
}
END_TEST

START_TEST(tables_show_a_point_where_nothing_is_held)
{
    for (unsigned int i = 0; i < N_ROUND; i++) {
        struct way way = begin_round(i);
        struct bytes expected =
            squeeze(replace(write_whole("text", way, STAND_IN), "12345.0000", "."));

        ck_assert_same(squeeze(write_bytes("text", way)), expected, "text");
        end_round();
    }
}
END_TEST

START_TEST(csv_is_empty_where_nothing_is_held)
{
    static const char *const names[] = {"qk", "attn_scores", "pattern", "pattern_dropped", "z"};

    for (unsigned int i = 0; i < N_ROUND; i++) {
        struct way way = begin_round(i);

        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
            struct bytes expected;

            attn_made_up_run_select(&made, names[n], i % 2 ? "0.1" : "1.2", i % 3 ? "all" : "2,19");
            expected = replace(write_whole("csv", way, STAND_IN), "12345", "");
            ck_assert_same(write_bytes("csv", way), expected, names[n]);
        }
        end_round();
    }
}
END_TEST

START_TEST(archives_hold_what_stands_for_masked_cells)
{
    for (unsigned int i = 0; i < N_ROUND; i++) {
        struct way way = begin_round(i);
        struct bytes expected = write_whole("npz", way, 0);

        ck_assert_same(write_bytes("npz", way), expected, "NPZ");
        end_round();
    }
}
END_TEST

START_TEST(npy_files_hold_it_too)
{
    static const char *const names[] = {"qk", "attn_scores", "pattern", "pattern_dropped"};

    attn_folder_enter();
    for (unsigned int i = 0; i < N_ROUND; i++) {
        struct way way = begin_round(i);

        for (int is_dense = 0; is_dense < 2; is_dense++) {
            made.is_dense = is_dense;
            attn_written_to(&made, "npy", is_dense ? "dense" : "sparse", way.n_row, way.step);
        }
        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
            char path[2][80];

            for (int is_dense = 0; is_dense < 2; is_dense++)
                snprintf(path[is_dense], sizeof path[0], "%s/blocks.1.attn.hook_%s.npy",
                         is_dense ? "dense" : "sparse", names[n]);
            ck_assert_same(read_bytes(path[0]), read_bytes(path[1]), names[n]);
        }
        remove_files("dense");
        remove_files("sparse");
        end_round();
    }
    attn_folder_leave();
}
END_TEST

START_TEST(keys_of_all_columns_are_a_dense_row)
{
    const bool can_draw = attn_can_draw();

    for (unsigned int i = 0; i < N_ROUND; i += (unsigned int)attn_one_in(5)) {
        struct way way = begin_round(i);

        attn_made_up_run_select(&made, "attn_scores,pattern,pattern_dropped,z", "all", "all");
        for (size_t f = 0; f < attn_n_format(); f++) {
            const struct attn_format *format = attn_format_at(f);
            struct bytes expected;

            if (!format->tensors || format->is_directory || (attn_is_drawn(format) && !can_draw))
                continue;
            made.keeps = NULL;
            expected = write_bytes(format->name, way);
            made.keeps = keeps_all;
            ck_assert_same(write_bytes(format->name, way), expected, format->name);
        }
        end_round();
    }
}
END_TEST

START_TEST(long_rows_wait_in_pieces)
{
    struct attn_dims dims = small;
    struct way way = {.n_row = 40, .is_stream = true}; /* two pieces of half of the keys */
    struct bytes expected;

    round_number = 5;
    dims.n_position = 64;
    dims.n_source = 4000;
    attn_made_up_run_init(&made, &dims, NULL);
    attn_made_up_run_select(&made, "attn_scores,pattern", "1.0", "all");
    made.is_causal = false;
    made.keeps = keeps;
    expected = write_whole("npz", way, 0);
    ck_assert_same(write_bytes("npz", way), expected, "NPZ");
    end_round();
}
END_TEST

/* Two rows of a matrix of twenty columns, with room for four cells each, in the one layer and head
 * that is selected. */
static enum attn_status tell_keys(enum attn_site site, const int32_t *keys, const size_t *n_kept,
                                  struct attn_error *err)
{
    static const float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct attn_trace_event event = {.at.site = site,
                                     .n_row = 2,
                                     .n_col = site == ATTN_SITE_Z ? small.d_value : 20,
                                     .ld = 4,
                                     .data = values,
                                     .keys = keys,
                                     .n_kept = n_kept};
    struct attn_writer *writer;
    struct attn_sink *sink;
    enum attn_status status;

    ck_assert_int_eq(attn_sink_create_memory(&sink, err), ATTN_OK);
    ck_assert_int_eq(attn_writer_create_sink(attn_format_find("npz"), sink, &made.run,
                                             &ATTN_WRITER_OPTIONS_DEFAULT, &writer, err),
                     ATTN_OK);
    status = attn_writer_event(writer, &event, err);
    attn_writer_free(writer);
    attn_sink_free(sink);
    return status;
}

START_TEST(keys_that_are_no_columns_are_refused)
{
    static const struct {
        int32_t keys[8];
        size_t n_kept[2];
        enum attn_status status;
    } cases[] = {
        {{0, 1, 18, 19, 3, 7}, {4, 2}, ATTN_OK},
        {{0}, {0, 0}, ATTN_OK},
        {{0, 1, 18, 20}, {4, 0}, ATTN_INVALID},
        {{0, 1, 1, 2}, {4, 0}, ATTN_INVALID},
        {{0, 2, 1, 3}, {4, 0}, ATTN_INVALID},
        {{-1, 0, 1, 2}, {4, 0}, ATTN_INVALID},
        {{0, 1, 2, 3, INT32_MIN, 0}, {4, 2}, ATTN_INVALID},
        {{0, 1, 2, 3, 4, 5, 6, 7}, {5, 2}, ATTN_INVALID}, /* more than the room of a row */
    };
    static const int32_t keys[] = {0, 1, 2, 3, 0, 1, 2, 3};
    static const size_t n_kept[] = {1, 1};

    attn_made_up_run_init(&made, &small, NULL);
    attn_made_up_run_select(&made, "pattern,z", "0.0", "0,1");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attn_error err = {0};

        ck_assert_msg(tell_keys(ATTN_SITE_PATTERN, cases[i].keys, cases[i].n_kept, &err) ==
                          cases[i].status,
                      "case %zu: %s", i, err.message);
        if (cases[i].status != ATTN_OK)
            ck_assert_str_eq(err.message, "the keys of 'pattern' in layer 0, rows 0 to 1, are not "
                                          "ascending numbers below 20");
    }
    ck_assert_int_eq(tell_keys(ATTN_SITE_PATTERN, keys, NULL, NULL), ATTN_INVALID);
    ck_assert_int_eq(tell_keys(ATTN_SITE_Z, keys, n_kept, NULL), ATTN_INVALID);
    end_round();
}
END_TEST

START_TEST(every_failed_allocation_leaves_nothing)
{
    const bool can_draw = attn_can_draw();

    attn_folder_enter();
    for (size_t i = 0; i < attn_n_format(); i++) {
        if (!attn_format_at(i)->tensors || (attn_is_drawn(attn_format_at(i)) && !can_draw))
            continue;
        begin_round(4);
        attn_made_up_run_select(&made, "attn_scores,pattern", "0.0,0.1", "all");
        attn_written_fails_whole(&made, attn_format_at(i)->name, "written");
        end_round();
    }
    attn_folder_leave();
}
END_TEST

ATTN_SUITE("output_sparse", json_has_null_where_nothing_is_held, tidy_leaves_out_what_is_not_held,
           tables_show_a_point_where_nothing_is_held, csv_is_empty_where_nothing_is_held,
           archives_hold_what_stands_for_masked_cells, npy_files_hold_it_too,
           keys_of_all_columns_are_a_dense_row, long_rows_wait_in_pieces,
           keys_that_are_no_columns_are_refused, every_failed_allocation_leaves_nothing)
