/*
 * test_outputs.c - one trace into several formats: what goes together, closed pipes, failures, and
 * the list of the formats itself.
 */
#include "tensors/outputs_internal.h"
#include "tests/support/folder.h"
#include "tests/support/made_up_run.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 20 };

static struct attn_made_up_run made;

/* A run of one row. */
static void set_up(void)
{
    attn_made_up_run_init(&made, &attn_made_up_small, NULL);
    attn_made_up_run_select(&made, "pattern", "0.0", "0");
    attn_folder_enter();
}

static void tear_down(void)
{
    attn_folder_leave();
    attn_made_up_run_release(&made);
}

static struct attn_output to_path(const char *format, const char *path)
{
    return (struct attn_output){.format = attn_format_find(format), .path = path};
}

static struct attn_output to_sink(const char *format, struct attn_sink *sink)
{
    return (struct attn_output){.format = attn_format_find(format), .sink = sink};
}

static struct attn_outputs *open_all(const struct attn_output *items, size_t n)
{
    struct attn_outputs *outputs = NULL;
    struct attn_error err = {0};

    ck_assert_msg(attn_outputs_create(items, n, &made.run, &ATTN_WRITER_OPTIONS_DEFAULT, &outputs,
                                      &err) == ATTN_OK,
                  "%s", err.message);
    return outputs;
}

static enum attn_status tell(struct attn_outputs *outputs, struct attn_error *err)
{
    static const float row[] = {1, 0, 0};
    const struct attn_trace_event event = {.at.site = ATTN_SITE_PATTERN,
                                           .n_row = 1,
                                           .n_col = 3,
                                           .ld = 3,
                                           .data = row,
                                           .is_causal = true};

    return attn_outputs_event(outputs, &event, err);
}

/* The sink of a pipe whose reader has gone. */
static struct attn_sink *closed_pipe(void)
{
    struct attn_error err = {0};
    struct attn_sink *sink;
    int ends[2];

    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(pipe(ends), 0);
    close(ends[0]);
    ck_assert_int_eq(attn_sink_create_descriptor(ends[1], "the pipe", &sink, &err), ATTN_OK);
    return sink;
}

/* Writes more than the sink keeps back. */
static void overflow(struct attn_sink *sink)
{
    static const char bytes[1 << 20];

    attn_sink_write(sink, bytes, sizeof bytes);
}

START_TEST(formats_are_found_by_their_names)
{
    for (size_t i = 0; i < attn_n_format(); i++) {
        const struct attn_format *format = attn_format_at(i);

        ck_assert_ptr_eq(attn_format_find(format->name), format);
        ck_assert(!format->argument == !format->help);
        ck_assert(format->tensors || format->has_tables);
        ck_assert(format->is_directory || !format->needs_directory);
        ck_assert_ptr_nonnull(format->title);
        ck_assert(format->medium != 0 && (format->medium & (format->medium - 1)) == 0);
        ck_assert(!format->table_help || format->has_tables || format->is_picture);
    }
    ck_assert_ptr_null(attn_format_find("cs"));
    ck_assert_ptr_null(attn_format_find(""));
    ck_assert_ptr_null(attn_format_at(attn_n_format()));
}
END_TEST

static bool is_npy(const struct attn_format *format)
{
    return strcmp(format->name, "npy") == 0;
}

static bool is_npy_or_csv(const struct attn_format *format)
{
    return is_npy(format) || strcmp(format->name, "csv") == 0;
}

static bool is_directory(const struct attn_format *format)
{
    return format->is_directory || strcmp(format->name, "npz") == 0;
}

START_TEST(lists_read_like_sentences)
{
    char list[64];

    ck_assert_uint_eq(attn_format_list(is_npy, "or", list, sizeof list), 5);
    ck_assert_str_eq(list, "`npy`");
    attn_format_list(is_npy_or_csv, "or", list, sizeof list);
    ck_assert_str_eq(list, "`csv` or `npy`");
    attn_format_list(is_directory, "and", list, sizeof list);
    ck_assert_str_eq(list, "`csv`, `npy` and `npz`");
    ck_assert_uint_eq(attn_format_list(is_directory, "and", list, 8), 22);
    ck_assert_str_eq(list, "`csv`, ");
}
END_TEST

START_TEST(any_number_goes_together)
{
    struct attn_output items[MANY];
    char paths[MANY][8];
    struct attn_outputs *outputs;
    struct attn_error err = {0};

    set_up();
    for (int i = 0; i < MANY; i++) {
        paths[i][0] = (char)('a' + i);
        paths[i][1] = '\0';
        items[i] = to_path(i % 2 ? "json" : "tidy", paths[i]);
    }
    outputs = open_all(items, MANY);
    ck_assert_int_eq(tell(outputs, &err), ATTN_OK);
    ck_assert_int_eq(attn_outputs_finish(outputs, &err), ATTN_OK);
    attn_outputs_free(outputs);
    ck_assert_uint_eq(attn_folder_count(), MANY);
#define TIDY "id,layer,head,query,key,query_token,key_token,weight\n0,0,0,0,0,w,w,1\n"
    attn_folder_assert("a", TIDY, sizeof TIDY - 1);
    attn_folder_assert("c", TIDY, sizeof TIDY - 1);
    tear_down();
}
END_TEST

static void ck_assert_refused(const struct attn_output *items, size_t n, const char *message,
                              const char *hint)
{
    struct attn_outputs *outputs = NULL;
    struct attn_error err = {0}, again = {0};

    ck_assert_int_eq(attn_outputs_check(items, n, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, message);
    ck_assert_str_eq(err.hint, hint);
    ck_assert_int_eq(err.stage, ATTN_STAGE_OPTIONS);
    ck_assert_int_eq(
        attn_outputs_create(items, n, &made.run, &ATTN_WRITER_OPTIONS_DEFAULT, &outputs, &again),
        ATTN_INVALID);
    ck_assert_str_eq(again.message, message);
    ck_assert_ptr_null(outputs);
    ck_assert_uint_eq(attn_folder_count(), 0);
}

START_TEST(what_does_not_go_together_is_refused)
{
    struct attn_error err = {0};
    struct attn_sink *sink;

    set_up();
    ck_assert_int_eq(attn_sink_create_memory(&sink, &err), ATTN_OK);
    ck_assert_refused(
        (struct attn_output[]){to_sink("csv", sink), to_path("npz", "a"), to_sink("json", sink)}, 3,
        "'`csv` -' and '`json` -' cannot both be standard output", "");
    ck_assert_refused((struct attn_output[]){to_path("tidy", "a"), to_sink("npy", sink)}, 2,
                      "'`npy`' is '-', expected a directory",
                      "`npz` - writes all arrays to standard output");
    attn_sink_free(sink);
    tear_down();
}
END_TEST

START_TEST(all_open_or_none)
{
    struct attn_output items[] = {to_path("tidy", "a"), to_path("json", "absent/b")};
    struct attn_outputs *outputs = NULL;
    struct attn_error err = {0};

    set_up();
    ck_assert_int_eq(
        attn_outputs_create(items, 2, &made.run, &ATTN_WRITER_OPTIONS_DEFAULT, &outputs, &err),
        ATTN_IO);
    ck_assert_int_eq(err.stage, ATTN_STAGE_OUTPUT);
    ck_assert_ptr_null(outputs);
    ck_assert_uint_eq(attn_folder_count(), 0);
    tear_down();
}
END_TEST

START_TEST(others_go_on_when_a_pipe_is_closed)
{
    struct attn_sink *sink = closed_pipe();
    struct attn_output items[] = {to_sink("text", sink), to_path("tidy", "a")};
    struct attn_outputs *outputs;
    struct attn_error err = {0};

    set_up();
    outputs = open_all(items, 2);
    overflow(sink);
    ck_assert_int_eq(tell(outputs, &err), ATTN_OK);
    ck_assert_int_eq(attn_outputs_finish(outputs, &err), ATTN_OK);
    ck_assert(!attn_outputs_is_abandoned(outputs));
    attn_outputs_free(outputs);
    attn_sink_free(sink);
    ck_assert_int_eq(access("a", F_OK), 0);
    tear_down();
}
END_TEST

START_TEST(a_run_that_nobody_reads_ends)
{
    struct attn_sink *sink = closed_pipe();
    struct attn_output items[] = {to_sink("npz", sink)};
    struct attn_outputs *outputs;
    struct attn_error err = {0};

    set_up();
    outputs = open_all(items, 1);
    ck_assert(!attn_outputs_is_abandoned(outputs));
    overflow(sink);
    ck_assert_int_eq(tell(outputs, &err), ATTN_IO);
    ck_assert(attn_outputs_is_abandoned(outputs));
    ck_assert_int_eq(err.stage, ATTN_STAGE_OUTPUT);
    ck_assert_int_eq(attn_outputs_finish(outputs, &err), ATTN_OK);
    attn_outputs_free(outputs);
    attn_sink_free(sink);
    tear_down();
}
END_TEST

START_TEST(a_pipe_may_be_closed_before_anything_is_opened)
{
    struct attn_sink *sink = closed_pipe();
    struct attn_output items[] = {to_sink("text", sink), to_path("tidy", "a")};
    struct attn_outputs *outputs;
    struct attn_error err = {0};

    set_up();
    overflow(sink);
    outputs = open_all(items, 2);
    ck_assert(!attn_outputs_is_abandoned(outputs));
    ck_assert_int_eq(tell(outputs, &err), ATTN_OK);
    attn_outputs_free(outputs);
    outputs = open_all(items, 1);
    ck_assert(attn_outputs_is_abandoned(outputs));
    ck_assert_int_eq(tell(outputs, &err), ATTN_IO);
    attn_outputs_free(outputs);
    attn_sink_free(sink);
    tear_down();
}
END_TEST

START_TEST(others_are_finished_when_one_fails)
{
    struct attn_output items[] = {to_path("tidy", "/dev/full"), to_path("json", "b")};
    struct attn_outputs *outputs;
    struct attn_error err = {0};

    set_up();
    outputs = open_all(items, 2);
    ck_assert_int_eq(tell(outputs, &err), ATTN_OK);
    ck_assert_int_eq(attn_outputs_finish(outputs, &err), ATTN_IO);
    ck_assert_int_eq(err.stage, ATTN_STAGE_OUTPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "/dev/full"));
    attn_outputs_free(outputs);
    ck_assert_int_eq(access("b", F_OK), 0);
    tear_down();
}
END_TEST

START_TEST(a_flag_stops_the_writing)
{
    struct attn_writer_options options = ATTN_WRITER_OPTIONS_DEFAULT;
    struct attn_output items[] = {to_path("tidy", "a")};
    volatile sig_atomic_t flag = 1;
    struct attn_outputs *outputs;
    struct attn_error err = {0};

    set_up();
    options.cancel = &flag;
    ck_assert_int_eq(attn_outputs_create(items, 1, &made.run, &options, &outputs, &err), ATTN_OK);
    ck_assert_int_eq(tell(outputs, &err), ATTN_CANCELED);
    flag = 0;
    ck_assert_int_eq(attn_outputs_finish(outputs, NULL), ATTN_CANCELED);
    attn_outputs_free(outputs);
    ck_assert_uint_eq(attn_folder_count(), 0);
    tear_down();
}
END_TEST

ATTN_SUITE("outputs", formats_are_found_by_their_names, lists_read_like_sentences,
           any_number_goes_together, what_does_not_go_together_is_refused, all_open_or_none,
           others_go_on_when_a_pipe_is_closed, a_run_that_nobody_reads_ends,
           a_pipe_may_be_closed_before_anything_is_opened, others_are_finished_when_one_fails,
           a_flag_stops_the_writing)
