/*
 * test_output_directory.c - directories that several runs write into: who may write, what a failure
 * leaves, and what of earlier runs stays.
 */
#include "tensors/writer.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/folder.h"
#include "tests/support/made_up_run.h"
#include "tests/support/suite.h"

#include <unistd.h>

static struct attn_made_up_run made;

static void set_up(void)
{
    attn_made_up_run_init(&made, &attn_made_up_small, NULL);
    attn_folder_enter();
}

static void tear_down(void)
{
    attn_folder_leave();
    attn_made_up_run_release(&made);
}

static enum attn_status write_file(struct attn_directory *directory, const char *name,
                                   struct attn_error *err)
{
    struct attn_sink *sink;
    enum attn_status status = attn_directory_create_file(directory, name, &sink, err);

    return status == ATTN_OK ? attn_directory_commit_file(directory, sink, err) : status;
}

/* Writes the files NAMES, which end with NULL, in one run. */
static enum attn_status write_files(const char *const *names, struct attn_error *err)
{
    struct attn_directory *directory = NULL;
    struct attn_manifest_run *run = NULL;
    enum attn_status status = attn_directory_open("d", "CSV", &directory, err);

    if (status == ATTN_OK)
        status = attn_directory_read(directory, err);
    if (status == ATTN_OK)
        status = attn_directory_begin(directory, attn_format_find("csv"), &made.run, &run, err);
    for (size_t i = 0; names[i] && status == ATTN_OK; i++)
        attn_file_names_append(&run->files, names[i]);
    if (status == ATTN_OK)
        status = attn_buffer_check(&run->files.text, err);
    for (size_t i = 0; names[i] && status == ATTN_OK; i++)
        status = write_file(directory, names[i], err);
    if (status == ATTN_OK)
        status = attn_directory_finish(directory, run, err);
    attn_directory_free(directory);
    return status;
}

static void ck_assert_files(const char *const *names, size_t n)
{
    ck_assert_int_eq(chdir("d"), 0);
    ck_assert_uint_eq(attn_folder_count(), n + 1);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(access(names[i], F_OK) == 0, "%s", names[i]);
    ck_assert_int_eq(chdir(".."), 0);
}

static void remove_files(const char *const *names)
{
    ck_assert_int_eq(chdir("d"), 0);
    for (size_t i = 0; names[i]; i++)
        unlink(names[i]);
    unlink("run.json");
    ck_assert_int_eq(chdir(".."), 0);
    rmdir("d");
}

static const char *const first[] = {"a.csv", "b.csv", "c.csv", NULL};
static const char *const second[] = {"b.csv", "d.csv", NULL};
static const char *const both[] = {"a.csv", "b.csv", "c.csv", "d.csv", NULL};

START_TEST(what_a_run_does_not_write_goes)
{
    struct attn_error err = {0};

    set_up();
    ck_assert_int_eq(write_files(first, &err), ATTN_OK);
    ck_assert_files(first, 3);
    ck_assert_int_eq(write_files(second, &err), ATTN_OK);
    ck_assert_files(second, 2);
    remove_files(both);
    tear_down();
}
END_TEST

START_TEST(every_failed_allocation_leaves_a_manifest_of_all_files)
{
    enum attn_status status = ATTN_NO_MEMORY;

    set_up();
    for (long n = 0; status != ATTN_OK; n++) {
        struct attn_error err = {0};

        ck_assert_int_eq(write_files(first, &err), ATTN_OK);
        ck_assert_files(first, 3);
        attn_alloc_fail_at(n);
        status = write_files(second, &err);
        attn_alloc_fail_off();
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%s", err.message);
        ck_assert_int_lt(n, 1000);
    }
    ck_assert_files(second, 2);
    remove_files(both);
    tear_down();
}
END_TEST

ATTN_SUITE("output_directory", what_a_run_does_not_write_goes,
           every_failed_allocation_leaves_a_manifest_of_all_files)
