/* test_base_part.c - files that grow under NAME.part: what is there at each moment, and who may
 * write. */
#include "base/sink_internal.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static struct attn_sink *open_part(const char *path, bool is_resumed)
{
    struct attn_sink *part = NULL;
    struct attn_error err = {0};

    ck_assert_msg(attn_part_open(path, is_resumed, &part, &err) == ATTN_OK, "%s", err.message);
    return part;
}

/* Fails unless opening PATH fails with MESSAGE. */
static void assert_refused(const char *path, bool is_resumed, const char *message)
{
    struct attn_sink *part = NULL;
    struct attn_error err = {0};

    ck_assert_int_eq(attn_part_open(path, is_resumed, &part, &err), ATTN_IO);
    ck_assert_str_eq(err.message, message);
    ck_assert_ptr_null(part);
}

static void append(struct attn_sink *part, const char *text)
{
    attn_sink_write(part, text, strlen(text));
}

static void assert_file(const char *path, const char *text)
{
    attn_folder_assert(path, text, strlen(text));
}

START_TEST(a_file_has_its_name_when_it_is_whole)
{
    struct attn_sink *part;

    attn_folder_enter();
    attn_folder_write("x", "old", 3);
    ck_assert_int_eq(chmod("x", 0640), 0);
    part = open_part("x", false);
    append(part, "new ");
    append(part, "text");
    ck_assert_uint_eq(attn_sink_position(part), 8);
    assert_file("x.part", "");
    ck_assert_int_eq(attn_part_flush(part, NULL), ATTN_OK);
    assert_file("x.part", "new text");
    append(part, "!");
    assert_file("x", "old");
    ck_assert_int_eq(attn_part_finish(part, NULL), ATTN_OK);
    ck_assert_int_eq(attn_part_commit(part, NULL), ATTN_OK);
    attn_sink_free(part);
    assert_file("x", "new text!");
    ck_assert_uint_eq(attn_folder_count(), 1);
    attn_folder_leave();
}
END_TEST

START_TEST(what_was_not_committed_stays_and_can_be_gone_on_with)
{
    struct attn_sink *part;
    char bytes[3];

    attn_folder_enter();
    part = open_part("x", false);
    append(part, "0123456789");
    ck_assert_int_eq(attn_part_flush(part, NULL), ATTN_OK);
    attn_sink_free(part);
    part = open_part("x", true);
    ck_assert_uint_eq(attn_sink_position(part), 10);
    ck_assert_int_eq(attn_part_read_at(part, 2, bytes, 3, NULL), ATTN_OK);
    ck_assert_mem_eq(bytes, "234", 3);
    ck_assert_int_eq(attn_part_read_at(part, 9, bytes, 3, NULL), ATTN_IO);
    ck_assert_int_eq(attn_part_cut(part, 11, NULL), ATTN_IO);
    ck_assert_int_eq(attn_part_cut(part, 4, NULL), ATTN_OK);
    append(part, "ab");
    ck_assert_uint_eq(attn_sink_position(part), 6);
    ck_assert_int_eq(attn_part_finish(part, NULL), ATTN_OK);
    ck_assert_int_eq(attn_part_commit(part, NULL), ATTN_OK);
    attn_sink_free(part);
    assert_file("x", "0123ab");
    attn_folder_leave();
}
END_TEST

START_TEST(a_part_that_is_there_is_not_overwritten)
{
    attn_folder_enter();
    attn_folder_write("x.part", "work", 4);
    assert_refused("x", false, "'x.part' is there: an earlier run did not finish, or still runs");
    assert_file("x.part", "work");
    attn_folder_leave();
}
END_TEST

START_TEST(one_process_writes_at_a_time)
{
    struct attn_sink *part;

    attn_folder_enter();
    part = open_part("x", true);
    assert_refused("x", true, "cannot write 'x.part': another process is writing it");
    attn_sink_free(part);
    attn_sink_free(open_part("x", true));
    attn_folder_leave();
}
END_TEST

START_TEST(what_was_made_in_vain_is_removed)
{
    attn_folder_enter();
    attn_part_discard(open_part("x", true));
    ck_assert_uint_eq(attn_folder_count(), 0);
    attn_folder_write("x.part", "work", 4);
    attn_part_discard(open_part("x", true)); /* it was there before */
    assert_file("x.part", "work");
    attn_folder_leave();
}
END_TEST

START_TEST(links_are_resolved_and_not_planted)
{
    struct attn_sink *part;
    struct stat info;

    attn_folder_enter();
    ck_assert_int_eq(symlink("real", "link"), 0);
    part = open_part("link", false);
    ck_assert_str_eq(attn_part_path(part), "real.part");
    append(part, "text");
    ck_assert_int_eq(attn_part_finish(part, NULL), ATTN_OK);
    ck_assert_int_eq(attn_part_commit(part, NULL), ATTN_OK);
    attn_sink_free(part);
    ck_assert_int_eq(lstat("link", &info), 0);
    ck_assert(S_ISLNK(info.st_mode));
    assert_file("real", "text");
    ck_assert_int_eq(symlink("elsewhere", "x.part"), 0);
    assert_refused("x", true, "cannot write 'x.part': it is a link, expected a file");
    ck_assert_int_ne(access("elsewhere", F_OK), 0);
    attn_folder_leave();
}
END_TEST

START_TEST(places_that_cannot_be_written_are_refused)
{
    attn_folder_enter();
    assert_refused("absent/x", false, "cannot write 'absent/x.part': No such file or directory");
    ck_assert_int_eq(mkdir("folder", 0777), 0);
    assert_refused("folder", false, "cannot write 'folder': it is a directory, expected a file");
    attn_folder_leave();
}
END_TEST

START_TEST(devices_are_written_directly)
{
    struct attn_error err = {0};
    struct attn_sink *part = open_part("/dev/full", false);

    ck_assert(!attn_sink_is_seekable(part));
    append(part, "text");
    ck_assert_int_eq(attn_part_flush(part, &err), ATTN_IO);
    ck_assert_str_eq(err.message, "cannot write '/dev/full': No space left on device");
    attn_sink_free(part);
    part = open_part("/dev/null", true);
    ck_assert_int_eq(attn_part_cut(part, 0, NULL), ATTN_OK);
    append(part, "text");
    ck_assert_int_eq(attn_part_finish(part, NULL), ATTN_OK);
    ck_assert_int_eq(attn_part_commit(part, NULL), ATTN_OK);
    attn_sink_free(part);
}
END_TEST

START_TEST(memory_that_runs_out_leaves_nothing)
{
    enum attn_status status = ATTN_NO_MEMORY;

    attn_folder_enter();
    for (long n = 0; status != ATTN_OK; n++) {
        struct attn_sink *part = NULL;

        attn_alloc_fail_at(n);
        status = attn_part_open("x", false, &part, NULL);
        attn_alloc_fail_off();
        ck_assert(status == ATTN_OK || status == ATTN_NO_MEMORY);
        ck_assert_uint_eq(attn_folder_count(), status == ATTN_OK);
        attn_sink_free(part);
        ck_assert_int_lt(n, 100);
    }
    attn_folder_leave();
}
END_TEST

ATTN_SUITE("base_part", a_file_has_its_name_when_it_is_whole,
           what_was_not_committed_stays_and_can_be_gone_on_with,
           a_part_that_is_there_is_not_overwritten, one_process_writes_at_a_time,
           what_was_made_in_vain_is_removed, links_are_resolved_and_not_planted,
           places_that_cannot_be_written_are_refused, devices_are_written_directly,
           memory_that_runs_out_leaves_nothing)
