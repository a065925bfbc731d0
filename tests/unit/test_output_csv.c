/*
 * test_output_csv.c - CSV: every byte of a small file, the names of many, and what failures leave.
 */
#include "tests/support/alloc_fail.h"
#include "tests/support/made_up_run.h"
#include "tests/support/suite.h"
#include "tests/support/written.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const words[ATTN_MADE_UP_MAX] = {"Life", "a,b", "say \"hi\""};

static char folder[] = P_tmpdir "/attn-csv-XXXXXX";
static struct attn_made_up_run made;

static void set_up(const struct attn_dims *dims, const char *const *tokens)
{
    memset(folder + sizeof folder - sizeof "XXXXXX", 'X', 6); /* another test may have had it */
    ck_assert_ptr_nonnull(mkdtemp(folder));
    attn_made_up_run_init(&made, dims, tokens);
}

/* Removes DIRECTORY with the files in it; returns how many there were beside the manifest. */
static int remove_all(const char *directory)
{
    DIR *dir = opendir(directory);
    struct dirent *entry;
    int n = 0;

    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.' || entry->d_name[1] == 'a') { /* .attn-... too */
            unlinkat(dirfd(dir), entry->d_name, 0);
            n += strcmp(entry->d_name, "run.json") != 0;
        }
    if (dir)
        closedir(dir);
    rmdir(directory);
    return n;
}

static void tear_down(void)
{
    attn_made_up_run_release(&made);
    ck_assert_int_eq(remove_all(folder), 0); /* tests remove what they made inside */
}

/* FOLDER/NAME, valid until the next call. */
static const char *in_folder(const char *name)
{
    static char path[200];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void ck_assert_file(const char *name, const char *expected)
{
    char text[4096];
    FILE *file = fopen(in_folder(name), "r");
    size_t n;

    ck_assert_msg(file != NULL, "there is no '%s'", name);
    n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    fclose(file);
    ck_assert_str_eq(text, expected);
}

/* Writes all selected matrices to FOLDER/NAME; blocks of N_ROW, or feeds of STEP when not 0. */
static void write_directory(const char *name, size_t n_row, size_t step)
{
    struct attn_error err = {0};
    struct attn_writer *writer;

    ck_assert_msg(attn_writer_open(attn_format_find("csv"),
                                   &(struct attn_writer_target){.path = in_folder(name)}, &made.run,
                                   &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err) == ATTN_OK,
                  "%s", err.message);
    ck_assert_msg((step ? attn_made_up_run_play_steps(&made, writer, step, &err)
                        : attn_made_up_run_play(&made, writer, n_row, &err)) == ATTN_OK,
                  "%s", err.message);
    ck_assert_int_eq(attn_writer_finish(writer, &err), ATTN_OK);
    attn_writer_free(writer);
}

START_TEST(a_matrix_has_labels_and_empty_masked_cells)
{
    char *text;

    set_up(&attn_made_up_small, words);
    attn_made_up_run_select(&made, "pattern", "1.0", "all");
    text = attn_written_text(&made, "csv", &ATTN_WRITER_OPTIONS_DEFAULT);
    ck_assert_str_eq(text, "query,0|Life,\"1|a,b\",\"2|say \"\"hi\"\"\"\n"
                           "0|Life,7424,,\n"
                           "\"1|a,b\",7424.25,-7424.2344,\n"
                           "\"2|say \"\"hi\"\"\",7424.5,-7424.4844,7424.5312\n");
    free(text);
    tear_down();
}
END_TEST

START_TEST(vectors_have_numbered_columns)
{
    char *text;

    set_up(&attn_made_up_small, words);
    attn_made_up_run_select(&made, "z", "0.1", "0,2");
    text = attn_written_text(&made, "csv", &ATTN_WRITER_OPTIONS_DEFAULT);
    ck_assert_str_eq(text, "token,0,1\n"
                           "0|Life,8256,-8255.984\n"
                           "\"2|say \"\"hi\"\"\",8256.5,-8256.484\n");
    free(text);
    tear_down();
}
END_TEST

START_TEST(precision_fixes_the_digits)
{
    const struct attn_writer_options options = {.size = sizeof options, .precision = 2};
    char *text;

    set_up(&attn_made_up_small, words);
    attn_made_up_run_select(&made, "z", "0.1", "0");
    text = attn_written_text(&made, "csv", &options);
    ck_assert_str_eq(text, "token,0,1\n0|Life,8256.00,-8255.98\n");
    free(text);
    tear_down();
}
END_TEST

START_TEST(qk_has_no_mask_and_scores_may_be_infinite)
{
    struct attn_error err = {0};
    struct attn_writer *writer;
    struct attn_sink *sink;
    const float rows[] = {1, 2, 3, -__builtin_inff(), 5, 6, 7, 8, 9};
    struct attn_trace_event event = {
        .at.head = 1, .n_row = 3, .n_col = 3, .ld = 3, .data = rows, .is_causal = true};
    static const char *const expected[] = {"1,2,3\n1|b,-inf,5,6\n2|c,7,8,9\n",
                                           "1,,\n1|b,-inf,5,\n2|c,7,8,9\n"};
    static const char *const letters[ATTN_MADE_UP_MAX] = {"a", "b", "c"};

    set_up(&attn_made_up_small, letters);
    for (int i = 0; i < 2; i++) {
        const char *text;
        size_t size;

        attn_made_up_run_select(&made, i == 0 ? "qk" : "attn_scores", "0.1", "all");
        event.at.site = i == 0 ? ATTN_SITE_QK : ATTN_SITE_ATTN_SCORES;
        attn_sink_create_memory(&sink, &err);
        attn_writer_create_sink(attn_format_find("csv"), sink, &made.run,
                                &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err);
        ck_assert_int_eq(attn_writer_event(writer, &event, &err), ATTN_OK);
        ck_assert_int_eq(attn_writer_finish(writer, &err), ATTN_OK);
        attn_sink_write(sink, "", 1);
        text = strstr(attn_sink_bytes(sink, &size), "\n0|a,");
        ck_assert_str_eq(text + 5, expected[i]);
        attn_writer_free(writer);
        attn_sink_free(sink);
    }
    tear_down();
}
END_TEST

START_TEST(files_are_named_by_layer_head_and_site)
{
    static const char *const names[] = {"d/L01H00.pattern.csv", "d/L01H00.k.csv",
                                        "d/L01.resid_post.csv", "d/embed.csv", "d/logits.csv"};
    struct stat info;

    set_up(&attn_made_up_small, words);
    attn_made_up_run_select(&made, "*", "all", "all");
    write_directory("d", SIZE_MAX, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_msg(stat(in_folder(names[i]), &info) == 0, "there is no '%s'", names[i]);
    /* two layers: seventeen sites of two heads, six of one, twenty-two of none; and nine more */
    ck_assert_int_eq(remove_all(in_folder("d")), 138);
    tear_down();
}
END_TEST

START_TEST(many_layers_take_three_digits)
{
    struct attn_dims dims = attn_made_up_small;
    struct stat info;

    dims.n_layer = 101;
    set_up(&dims, words);
    attn_made_up_run_select(&made, "pattern", "7.1", "all");
    write_directory("d", SIZE_MAX, 0);
    ck_assert_int_eq(stat(in_folder("d/L007H01.pattern.csv"), &info), 0);
    ck_assert_int_eq(remove_all(in_folder("d")), 1);
    tear_down();
}
END_TEST

START_TEST(blocks_and_feeds_give_the_same_files)
{
    static const char expected[] = "query,0|w,1|w,2|w\n"
                                   "0|w,7232,,\n"
                                   "1|w,7232.25,-7232.2344,\n"
                                   "2|w,7232.5,-7232.4844,7232.5312\n";

    set_up(&attn_made_up_small, NULL);
    attn_made_up_run_select(&made, "pattern,qk,z,resid_post", "all", "all");
    for (int i = 0; i < 3; i++) {
        write_directory("d", i == 0 ? SIZE_MAX : 1, i == 2 ? 2 : 0);
        ck_assert_file("d/L00H01.pattern.csv", expected);
        ck_assert_int_eq(remove_all(in_folder("d")), 14);
    }
    tear_down();
}
END_TEST

START_TEST(a_directory_that_exists_is_written_into)
{
    FILE *other;

    set_up(&attn_made_up_small, words);
    attn_made_up_run_select(&made, "z", "0.1", "0");
    ck_assert_int_eq(mkdir(in_folder("d"), 0700), 0);
    other = fopen(in_folder("d/other.txt"), "w");
    fclose(other);
    write_directory("d", SIZE_MAX, 0);
    write_directory("d", SIZE_MAX, 0); /* replaces */
    ck_assert_file("d/L00H01.z.csv", "token,0,1\n0|Life,8256,-8255.984\n");
    ck_assert_int_eq(remove_all(in_folder("d")), 2);
    tear_down();
}
END_TEST

START_TEST(a_file_is_no_directory)
{
    struct attn_error err = {0};
    struct attn_writer *writer = NULL;
    FILE *file;

    set_up(&attn_made_up_small, words);
    file = fopen(in_folder("f"), "w");
    fclose(file);
    ck_assert_int_eq(attn_writer_open(attn_format_find("csv"),
                                      &(struct attn_writer_target){.path = in_folder("f")},
                                      &made.run, &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err),
                     ATTN_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "is a file, expected a directory"));
    ck_assert_ptr_null(writer);
    unlink(in_folder("f"));
    tear_down();
}
END_TEST

START_TEST(one_stream_takes_one_matrix)
{
    struct attn_error err = {0};
    struct attn_writer *writer = NULL;
    struct attn_sink *sink;

    set_up(&attn_made_up_small, words);
    attn_made_up_run_select(&made, "pattern,k", "1.*", "all");
    attn_sink_create_memory(&sink, &err);
    ck_assert_int_eq(attn_writer_create_sink(attn_format_find("csv"), sink, &made.run,
                                             &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err),
                     ATTN_INVALID);
    ck_assert_str_eq(err.message, "3 matrices are selected, one stream of CSV holds one");
    ck_assert_str_ne(err.hint, "");
    attn_sink_free(sink);
    tear_down();
}
END_TEST

START_TEST(an_abandoned_run_leaves_whole_files_or_nothing)
{
    struct attn_error err = {0};
    struct attn_writer *writer;
    const float row[3] = {1, 2, 3};
    struct attn_trace_event event = {
        .at.site = ATTN_SITE_PATTERN, .n_row = 1, .n_col = 3, .ld = 3, .data = row};
    struct stat info;

    set_up(&attn_made_up_small, words);
    for (int n_row = 2; n_row <= 3; n_row++) {
        attn_made_up_run_select(&made, "pattern", "0.*", "all");
        ck_assert_int_eq(attn_writer_open(attn_format_find("csv"),
                                          &(struct attn_writer_target){.path = in_folder("d")},
                                          &made.run, &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err),
                         ATTN_OK);
        for (event.row0 = 0; event.row0 < (size_t)n_row; event.row0++)
            ck_assert_int_eq(attn_writer_event(writer, &event, &err), ATTN_OK);
        attn_writer_free(writer);
        if (n_row == 2)
            ck_assert_int_ne(stat(in_folder("d"), &info), 0);
    }
    ck_assert_int_eq(remove_all(in_folder("d")), 1);
    tear_down();
}
END_TEST

START_TEST(every_failed_allocation_is_reported_and_leaves_no_part)
{
    struct attn_error err = {0};
    enum attn_status status = ATTN_NO_MEMORY;

    set_up(&attn_made_up_small, words);
    attn_made_up_run_select(&made, "pattern,z", "0.1", "all");
    for (long n = 0; status != ATTN_OK; n++) {
        struct attn_writer *writer = NULL;
        char path[200];

        snprintf(path, sizeof path, "%s", in_folder("d"));
        attn_alloc_fail_at(n);
        status =
            attn_writer_open(attn_format_find("csv"), &(struct attn_writer_target){.path = path},
                             &made.run, &ATTN_WRITER_OPTIONS_DEFAULT, &writer, &err);
        if (status == ATTN_OK)
            status = attn_made_up_run_play(&made, writer, 1, &err);
        if (status == ATTN_OK)
            status = attn_writer_finish(writer, &err);
        attn_alloc_fail_off();
        attn_writer_free(writer);
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%s", err.message);
        ck_assert_int_le(remove_all(path), 2);
        ck_assert_int_lt(n, 1000);
    }
    tear_down();
}
END_TEST

ATTN_SUITE("output_csv", a_matrix_has_labels_and_empty_masked_cells, vectors_have_numbered_columns,
           precision_fixes_the_digits, qk_has_no_mask_and_scores_may_be_infinite,
           files_are_named_by_layer_head_and_site, many_layers_take_three_digits,
           blocks_and_feeds_give_the_same_files, a_directory_that_exists_is_written_into,
           a_file_is_no_directory, one_stream_takes_one_matrix,
           an_abandoned_run_leaves_whole_files_or_nothing,
           every_failed_allocation_is_reported_and_leaves_no_part)
