/*
 * test_batch.c - a batch as a C program asks for it: shards are the whole, a run that ended early
 * goes on, what does not fit is a status that names the field, and every failed allocation is
 * survived.
 */
#include "extra.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/folder.h"
#include "tests/support/parts.h"
#include "tests/support/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_LINE = 40 };

static struct attn_source source;

static struct attn_host *open_host(void)
{
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    struct attn_host *host;

    options.n_thread = 2;
    ck_assert(attn_builtin_find("fable", &source));
    ck_assert_msg(attn_host_create(&source, &options, &host, &err) == ATTN_OK, "%s", err.message);
    return host;
}

static void write_lines(void)
{
    FILE *file = fopen("in", "w");

    for (int i = 0; i < N_LINE; i++)
        fprintf(file, i % 10 == 9 ? "\n" : "the keys to %d cabinets\n", i);
    fclose(file);
}

/* Options for the lines of the file above, into OUTPUT. */
static struct attn_batch_options options_for(struct attn_records_item *output)
{
    struct attn_batch_options options = ATTN_BATCH_OPTIONS_DEFAULT;

    options.items.path = "in";
    options.items.form = ATTN_ITEMS_LINES;
    options.outputs = output;
    options.n_output = 1;
    options.fields = ATTN_RECORD_FIELD_BIT(IDS);
    options.each.source = &source;
    return options;
}

static enum attn_status run(const struct attn_batch_options *options, struct attn_host *host,
                            struct attn_each_result *result, struct attn_error *err)
{
    struct attn_batch *batch;
    enum attn_status status = attn_batch_open(options, &batch, err);

    if (status != ATTN_OK)
        return status;
    status = attn_batch_run(batch, host, NULL, result, err);
    attn_batch_free(batch);
    return status;
}

START_TEST(shards_together_are_the_whole)
{
    struct attn_records_item output = {.format = "jsonl", .path = "out.jsonl"};
    struct attn_batch_options options;
    struct attn_each_result result;
    struct attn_error err = {0};
    char path[64], *all, *parts = calloc(1, 1 << 16);
    struct attn_host *host;

    attn_folder_enter();
    host = open_host();
    write_lines();
    options = options_for(&output);
    ck_assert_msg(run(&options, host, &result, &err) == ATTN_OK, "%s", err.message);
    ck_assert_uint_eq(result.n_item, N_LINE);
    ck_assert_uint_eq(result.n_failed, N_LINE / 10);
    ck_assert(result.has_failed && !result.is_complete && !result.can_resume);
    all = attn_file_text("out.jsonl");
    options.items.n_shard = 3;
    for (options.items.shard = 0; options.items.shard < 3; options.items.shard++) {
        char *part;

        ck_assert_msg(run(&options, host, &result, &err) == ATTN_OK, "%s", err.message);
        snprintf(path, sizeof path, "out-%05zu-of-00003.jsonl", options.items.shard);
        part = attn_file_text(path);
        memcpy(parts + strlen(parts), part, strlen(part));
        free(part);
    }
    ck_assert_str_eq(parts, all);
    free(parts);
    free(all);
    attn_host_free(host);
    attn_folder_leave();
}
END_TEST

static void keep_note(void *user, enum attn_note code, const char *message)
{
    ck_assert_str_eq(attn_note_name(code), strstr(message, "complete") ? "complete" : "continued");
    snprintf(user, 256, "%s", message);
}

START_TEST(goes_on_where_it_ended)
{
    struct attn_records_item output = {.format = "jsonl", .path = "out.jsonl"};
    struct attn_batch_options options;
    struct attn_each_result result;
    struct attn_error err = {0};
    char note[256] = "", *all, *again;
    struct attn_host *host;

    attn_folder_enter();
    host = open_host();
    write_lines();
    options = options_for(&output);
    ck_assert_int_eq(run(&options, host, &result, &err), ATTN_OK);
    all = attn_file_text("out.jsonl");
    ck_assert(unlink("out.jsonl") == 0 && unlink("out.jsonl.run.json") == 0);
    options.max_failed = 1;
    ck_assert_int_eq(run(&options, host, &result, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "2 of 20 records failed, `max_failed` allows 1");
    ck_assert(result.can_resume && !result.has_failed);
    options = options_for(&output);
    options.each.is_resumed = true;
    options.on_note = keep_note;
    options.user = note;
    err = (struct attn_error){0};
    ck_assert_msg(run(&options, host, &result, &err) == ATTN_OK, "%s", err.message);
    ck_assert_str_eq(note, "'out.jsonl' continues at record 20");
    again = attn_file_text("out.jsonl");
    ck_assert_str_eq(again, all);
    ck_assert_int_eq(run(&options, host, &result, &err), ATTN_OK);
    ck_assert_str_eq(note, "'out.jsonl' is complete");
    ck_assert(result.is_complete && result.has_failed);
    ck_assert_uint_eq(result.n_item, N_LINE);
    ck_assert_uint_eq(result.n_failed, N_LINE / 10);
    options.each.asked = "{\"other\":1}";
    ck_assert_int_eq(run(&options, host, &result, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "'out.jsonl.run.json' is of a run with other options, expected "
                                  "the same");
    free(all);
    free(again);
    attn_host_free(host);
    attn_folder_leave();
}
END_TEST

START_TEST(names_the_field_that_does_not_fit)
{
    struct attn_records_item output = {.format = "jsonl", .path = "out.jsonl"};
    struct attn_batch_options options = options_for(&output), other;
    struct attn_each_result result;
    struct attn_batch *batch = NULL;
    struct attn_error err = {0};
    struct attn_host *host;

    attn_folder_enter();
    host = open_host();
    write_lines();
#define REFUSED(words, field, value)                                                               \
    do {                                                                                           \
        other = options;                                                                           \
        err = (struct attn_error){0};                                                              \
        other.field = value;                                                                       \
        ck_assert_int_eq(run(&other, host, &result, &err), ATTN_INVALID);                          \
        ck_assert_int_eq(err.stage, ATTN_STAGE_OPTIONS);                                           \
        ck_assert_msg(strstr(err.message, words), "%s", err.message);                              \
    } while (0)
    REFUSED("outputs", n_output, 0);
    REFUSED("source", each.source, NULL);
    REFUSED("no inputs and no data", items.data, "{}");
    options.items.n_shard = 1;
    REFUSED("shard is 1 of 1", items.shard, 1);
    options.items.n_shard = 0;
    REFUSED("size", size, 3);
    output.path = NULL;
    REFUSED("path", n_output, 1);
    ck_assert_int_eq(attn_sink_create_memory(&output.sink, NULL), ATTN_OK);
    REFUSED("is_resumed", each.is_resumed, true);
    attn_sink_free(output.sink);
    output.path = "in";
    err = (struct attn_error){0};
    ck_assert_int_eq(run(&options, host, &result, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "the output 'in' is the input, expected another file");
    ck_assert_uint_eq(attn_folder_count(), 1);
    output.path = "out.jsonl";
    ck_assert_int_eq(attn_batch_open(&options, &batch, NULL), ATTN_OK);
    ck_assert_int_eq(attn_batch_run(batch, NULL, NULL, NULL, NULL), ATTN_INVALID);
    ck_assert_int_eq(attn_batch_run(batch, host, NULL, NULL, NULL), ATTN_OK);
    err = (struct attn_error){0};
    ck_assert_int_eq(attn_batch_run(batch, host, NULL, NULL, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "the batch was run, and is run once");
    attn_batch_free(batch);
    attn_batch_free(NULL);
    ck_assert_int_eq(attn_batch_open(NULL, &batch, NULL), ATTN_INVALID);
    attn_host_free(host);
    attn_folder_leave();
}
END_TEST

/* Of a run with OPTIONS over LINES, which leaves N_FILE files. */
static void survive_failed_allocations(const struct attn_batch_options *options, const char *lines,
                                       size_t n_file)
{
    struct attn_each_result result;
    enum attn_status status = ATTN_NO_MEMORY;
    struct attn_host *host;

    attn_folder_enter();
    host = open_host();
    attn_folder_write("in", lines, strlen(lines));
    for (long n = 0; status != ATTN_OK; n++) {
        struct attn_error err = {0};

        attn_alloc_fail_at(n);
        status = run(options, host, &result, &err);
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%ld: %s", n, err.message);
        unlink("out.jsonl.part"); /* what is done before memory runs out may stay */
        unlink("out.jsonl.journal");
        unlink("out.csv.part");
    }
    ck_assert_uint_eq(attn_folder_count(), n_file);
    attn_host_free(host);
    attn_folder_leave();
}

static volatile sig_atomic_t is_canceled;

static void cancel_at_the_end(void *user, const struct attn_batch_progress *progress)
{
    (void)user;
    if (progress->n_record == 1)
        usleep(200000); /* meanwhile all lines are read */
    is_canceled = progress->n_record == N_LINE;
}

START_TEST(is_canceled_after_its_last_record)
{
    struct attn_records_item output = {.format = "jsonl", .path = "out.jsonl"};
    struct attn_batch_options options = options_for(&output);
    struct attn_each_result result;
    struct attn_error err = {0};
    struct attn_host *host;

    attn_folder_enter();
    host = open_host();
    write_lines();
    options.items.cancel = &is_canceled;
    options.on_progress = cancel_at_the_end;
    ck_assert_int_eq(run(&options, host, &result, &err), ATTN_CANCELED);
    ck_assert(result.can_resume && result.n_item == N_LINE);
    is_canceled = 0;
    options.on_progress = NULL;
    options.each.is_resumed = true;
    ck_assert_msg(run(&options, host, &result, &err) == ATTN_OK, "%s", err.message);
    ck_assert_uint_eq(result.n_item, N_LINE);
    attn_host_free(host);
    attn_folder_leave();
}
END_TEST

START_TEST(survives_every_failed_allocation)
{
    struct attn_records_item output = {.format = "jsonl", .path = "out.jsonl"};
    struct attn_batch_options options = options_for(&output);

    survive_failed_allocations(&options, "Life\nis\n", 3);
}
END_TEST

START_TEST(survives_them_with_labels_and_words)
{
    struct attn_records_item outputs[] = {{.format = "jsonl", .path = "out.jsonl"},
                                          {.format = "csv", .path = "out.csv"}};
    struct attn_batch_options options = options_for(outputs);

    options.n_output = 2;
    options.items.form = ATTN_ITEMS_BY_NAME;
    options.labels = "all";
    options.fields = ATTN_RECORD_FIELD_BIT(SURPRISAL);
    survive_failed_allocations(&options,
                               "{\"text\":\"the key\",\"a\":\"b\",\"n\":1,\"next\":[\" is\"]}\n"
                               "{\"text\":\"keys\",\"c\":true}\n",
                               4);
}
END_TEST

ATTN_SUITE("batch", shards_together_are_the_whole, goes_on_where_it_ended,
           names_the_field_that_does_not_fit, is_canceled_after_its_last_record,
           survives_every_failed_allocation, survives_them_with_labels_and_words)
