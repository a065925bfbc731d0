/* Sinks: every byte arrives, or the target is as it was. */
#include "base/memory.h"
#include "base/sink_internal.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum { BIG = 300001 };
static char big[BIG];

static void fill_big(void)
{
    for (size_t i = 0; i < BIG; i++)
        big[i] = (char)(i * 7 % 253);
}

static struct attn_sink *create_file(const char *path)
{
    struct attn_sink *sink = NULL;
    struct attn_error err = {0};

    ck_assert_msg(attn_sink_create_file(path, &sink, &err) == ATTN_OK, "%s", err.message);
    return sink;
}

static void write_text(struct attn_sink *sink, const char *text)
{
    attn_sink_write(sink, text, strlen(text));
}

static void commit(struct attn_sink *sink)
{
    struct attn_error err = {0};

    ck_assert_msg(attn_sink_commit(sink, &err) == ATTN_OK, "%s", err.message);
    attn_sink_free(sink);
}

static void assert_file(const char *path, const char *text)
{
    attn_folder_assert(path, text, strlen(text));
}

static mode_t mode_of(const char *path)
{
    struct stat info;

    ck_assert_int_eq(lstat(path, &info), 0);
    return info.st_mode & (S_IFMT | 07777);
}

static void assert_refused(const char *path, const char *message)
{
    struct attn_sink *sink = NULL;
    struct attn_error err = {0};

    ck_assert_int_eq(attn_sink_create_file(path, &sink, &err), ATTN_IO);
    ck_assert_str_eq(err.message, message);
    ck_assert_ptr_null(sink);
}

START_TEST(memory_collects_bytes)
{
    struct attn_sink *sink;
    size_t size = 77;

    ck_assert_int_eq(attn_sink_create_memory(&sink, NULL), ATTN_OK);
    ck_assert(attn_sink_is_seekable(sink));
    ck_assert_ptr_nonnull(attn_sink_bytes(sink, &size));
    ck_assert_uint_eq(size, 0);
    write_text(sink, "Life is");
    attn_sink_write_at(sink, 5, "IS short", 8);
    ck_assert_uint_eq(attn_sink_position(sink), 7);
    write_text(sink, "-");
    attn_sink_write_at(sink, 15, "!", 1);
    ck_assert_int_eq(attn_sink_commit(sink, NULL), ATTN_OK);
    ck_assert_mem_eq(attn_sink_bytes(sink, &size), "Life IS-short\0\0!", 16);
    ck_assert_uint_eq(size, 16);
    attn_sink_free(sink);
}
END_TEST

START_TEST(files_appear_whole_at_the_commit)
{
    struct attn_sink *sink;

    fill_big();
    attn_folder_enter();
    sink = create_file("out.bin");
    for (size_t at = 0, step = 1; at < BIG; at += step, step = step * 3 % 70001 + 1)
        attn_sink_write(sink, big + at, step < BIG - at ? step : BIG - at);
    ck_assert_uint_eq(attn_sink_position(sink), BIG);
    ck_assert_int_ne(access("out.bin", F_OK), 0);
    ck_assert_uint_eq(attn_folder_count(), 1);
    commit(sink);
    ck_assert_uint_eq(attn_folder_count(), 1);
    attn_folder_assert("out.bin", big, BIG);
    attn_folder_leave();
}
END_TEST

START_TEST(without_a_commit_nothing_appears)
{
    struct attn_sink *sink;

    fill_big();
    attn_folder_enter();
    attn_folder_write("old", "as it was", 9);
    for (int i = 0; i < 2; i++) {
        sink = create_file(i ? "old" : "new");
        attn_sink_write(sink, big, BIG);
        attn_sink_free(sink);
    }
    ck_assert_uint_eq(attn_folder_count(), 1);
    assert_file("old", "as it was");
    attn_sink_free(NULL);
    attn_folder_leave();
}
END_TEST

START_TEST(temporary_files_lie_beside_the_target)
{
    struct attn_sink *sinks[20];

    attn_folder_enter();
    ck_assert_int_eq(mkdir("folder", 0700), 0);
    for (size_t i = 0; i < 20; i++)
        sinks[i] = create_file("folder/out");
    ck_assert_uint_eq(attn_folder_count(), 1);
    ck_assert_int_eq(chdir("folder"), 0);
    ck_assert_uint_eq(attn_folder_count(), 20);
    ck_assert_int_eq(chdir(".."), 0);
    for (size_t i = 0; i < 20; i++) {
        attn_sink_write(sinks[i], &"abcdefghijklmnopqrst"[i], 1);
        commit(sinks[i]);
    }
    assert_file("folder/out", "t"); /* the last one wins */
    ck_assert_int_eq(unlink("folder/out"), 0);
    attn_folder_leave();
}
END_TEST

START_TEST(modes_follow_the_umask_or_the_old_file)
{
    attn_folder_enter();
    umask(027);
    commit(create_file("new"));
    ck_assert_uint_eq(mode_of("new"), S_IFREG | 0640);
    ck_assert_uint_eq(umask(022), 027); /* it was not changed on the way */

    ck_assert_int_eq(chmod("new", 0606), 0);
    commit(create_file("new"));
    ck_assert_uint_eq(mode_of("new"), S_IFREG | 0606);
    attn_folder_leave();
}
END_TEST

START_TEST(links_are_resolved_and_their_target_replaced)
{
    struct attn_sink *sink;

    attn_folder_enter();
    ck_assert_int_eq(mkdir("folder", 0700), 0);
    ck_assert_int_eq(symlink("../target", "folder/inner"), 0);
    ck_assert_int_eq(symlink("folder/inner", "outer"), 0);
    for (int i = 0; i < 2; i++) { /* a target that is absent, then one that exists */
        sink = create_file("outer");
        write_text(sink, i ? "second" : "first");
        commit(sink);
        ck_assert_uint_eq(mode_of("outer") & S_IFMT, S_IFLNK);
        ck_assert_uint_eq(mode_of("folder/inner") & S_IFMT, S_IFLNK);
        ck_assert_uint_eq(mode_of("target") & S_IFMT, S_IFREG);
        assert_file("target", i ? "second" : "first");
    }
    ck_assert_int_eq(symlink("loop", "loop"), 0);
    assert_refused("loop", "cannot write 'loop': Too many levels of symbolic links");
    ck_assert_int_eq(unlink("folder/inner"), 0);
    attn_folder_leave();
}
END_TEST

START_TEST(targets_that_cannot_be_are_refused)
{
    struct attn_sink *sink;
    struct attn_error err = {0};

    attn_folder_enter();
    ck_assert_int_eq(mkdir("folder", 0700), 0);
    assert_refused("folder", "cannot write 'folder': it is a directory, expected a file");
    assert_refused("folder/", "cannot write 'folder/': it is a directory, expected a file");
    assert_refused("none/out", "cannot write 'none/out': No such file or directory");
    assert_refused("none/", "cannot write 'none/': No such file or directory");
    assert_refused("", "cannot write '': No such file or directory");
    assert_refused("/dev/fd/987", "cannot write '/dev/fd/987': Bad file descriptor");
    ck_assert_uint_eq(attn_folder_count(), 1);

    /* Something else is there when the file is finished. */
    sink = create_file("late");
    ck_assert_int_eq(mkdir("late", 0700), 0);
    ck_assert_int_eq(attn_sink_commit(sink, &err), ATTN_IO);
    ck_assert_str_eq(err.message, "cannot write 'late': Is a directory");
    attn_sink_free(sink);
    ck_assert_uint_eq(attn_folder_count(), 2);
    attn_folder_leave();
}
END_TEST

START_TEST(read_only_files_are_not_replaced)
{
    attn_folder_enter();
    attn_folder_write("precious", "kept", 4);
    ck_assert_int_eq(chmod("precious", 0444), 0);
    /* root may write everything: be another user for a moment. Before glibc 2.33 faccessat asks the
     * kernel about the real user. */
    if (geteuid() == 0) {
        ck_assert_int_eq(chmod(".", 0777), 0);
        ck_assert_int_eq(setresuid(65534, 65534, 0), 0);
        assert_refused("precious", "cannot write 'precious': Permission denied");
        ck_assert_int_eq(setresuid(0, 0, 0), 0);
    } else {
        assert_refused("precious", "cannot write 'precious': Permission denied");
    }
    assert_file("precious", "kept");
    attn_folder_leave();
}
END_TEST

START_TEST(write_at_agrees_with_memory)
{
    struct attn_sink *file, *memory;
    unsigned seed = 1;
    size_t size;
    const void *bytes;

    fill_big();
    attn_folder_enter();
    file = create_file("out");
    ck_assert(attn_sink_is_seekable(file));
    ck_assert_int_eq(attn_sink_create_memory(&memory, NULL), ATTN_OK);
    for (int i = 0; i < 2000; i++) {
        unsigned r = seed = seed * 1664525u + 1013904223u;
        const char *piece = big + (r >> 8) % 1000;
        size_t length = (r >> 4) % (i % 100 ? 300 : 80000), offset = (r >> 10) % 200000;

        if (r >> 31) {
            attn_sink_write(file, piece, length);
            attn_sink_write(memory, piece, length);
        } else {
            /* Often near the end, where bytes are still pending. */
            if (r >> 30)
                offset = (size_t)attn_sink_position(file) + offset % 600;
            offset = offset > 300 ? offset - 300 : offset;
            attn_sink_write_at(file, offset, piece, length);
            attn_sink_write_at(memory, offset, piece, length);
        }
        ck_assert_uint_eq(attn_sink_position(file), attn_sink_position(memory));
    }
    commit(file);
    bytes = attn_sink_bytes(memory, &size);
    attn_folder_assert("out", bytes, size);
    attn_sink_free(memory);
    attn_folder_leave();
}
END_TEST

START_TEST(offsets_beyond_all_files_are_refused)
{
    struct attn_sink *sink;
    struct attn_error err = {0};

    attn_folder_enter();
    sink = create_file("out");
    attn_sink_write_at(sink, UINT64_MAX - 1, "abc", 3);
    ck_assert_int_eq(attn_sink_check(sink, &err), ATTN_IO);
    ck_assert_str_eq(err.message, "cannot write 'out': File too large");
    attn_sink_free(sink);
    attn_folder_leave();
}
END_TEST

START_TEST(a_full_device_is_reported_by_the_commit)
{
    struct attn_sink *sink = create_file("/dev/full");
    struct attn_error err = {0};

    ck_assert(!attn_sink_is_seekable(sink));
    write_text(sink, "pending");
    ck_assert_int_eq(attn_sink_check(sink, NULL), ATTN_OK);
    ck_assert_int_eq(attn_sink_commit(sink, &err), ATTN_IO);
    ck_assert_str_eq(err.message, "cannot write '/dev/full': No space left on device");
    ck_assert(!attn_sink_is_closed_pipe(sink));
    attn_sink_free(sink);
}
END_TEST

START_TEST(a_failed_write_leaves_the_target_alone)
{
    struct rlimit before, small;
    struct attn_sink *sink;
    struct attn_error err = {0};

    fill_big();
    attn_folder_enter();
    attn_folder_write("old", "as it was", 9);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 100000;
    setrlimit(RLIMIT_FSIZE, &small);
    sink = create_file("old");
    attn_sink_write(sink, big, 99990);
    attn_sink_write(sink, big, 20); /* a short write, then the failure */
    ck_assert_int_eq(attn_sink_check(sink, NULL), ATTN_OK);
    attn_sink_write(sink, big, BIG);
    ck_assert_int_eq(attn_sink_check(sink, &err), ATTN_IO);
    attn_sink_write(sink, big, 5);
    ck_assert_int_eq(attn_sink_commit(sink, NULL), ATTN_IO);
    ck_assert_str_eq(err.message, "cannot write 'old': File too large");
    attn_sink_free(sink);
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_uint_eq(attn_folder_count(), 1);
    assert_file("old", "as it was");
    attn_folder_leave();
}
END_TEST

START_TEST(a_closed_pipe_is_remembered)
{
    struct attn_sink *sink;
    struct attn_error err = {0};
    int ends[2];

    fill_big();
    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(attn_sink_create_descriptor(ends[1], "standard output", &sink, NULL), ATTN_OK);
    close(ends[0]);
    attn_sink_write(sink, big, BIG);
    ck_assert(attn_sink_is_closed_pipe(sink));
    ck_assert_int_eq(attn_sink_commit(sink, &err), ATTN_IO);
    ck_assert_str_eq(err.message, "cannot write 'standard output': Broken pipe");
    attn_sink_free(sink);
    ck_assert_int_eq(close(ends[1]), 0);
}
END_TEST

/* Reads what comes out of a pipe, slowly at first. */
static void *drain(void *argument)
{
    int descriptor = *(int *)argument;
    char *found = attn_alloc(2, BIG, NULL);
    size_t size = 0;
    ssize_t n;

    usleep(10000);
    while (size < 2 * BIG && (n = read(descriptor, found + size, 2 * BIG - size)) != 0) {
        size += n > 0 ? (size_t)n : 0;
        if (size < 100000)
            usleep(1000);
    }
    if (size != BIG || memcmp(found, big, BIG) != 0) {
        attn_free(found);
        return NULL;
    }
    attn_free(found);
    return argument;
}

static void on_alarm(int signal_number)
{
    (void)signal_number;
}

/* Every byte gets through a pipe while signals interrupt, and while it says EAGAIN. */
START_TEST(pipes_get_every_byte)
{
    struct sigaction action = {.sa_handler = on_alarm}; /* without SA_RESTART */
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};

    fill_big();
    sigaction(SIGALRM, &action, NULL);
    for (int i = 0; i < 2; i++) {
        struct attn_sink *sink;
        pthread_t reader;
        void *result;
        int ends[2];

        ck_assert_int_eq(pipe2(ends, i ? O_NONBLOCK : 0), 0);
        ck_assert_int_eq(attn_sink_create_descriptor(ends[1], "pipe", &sink, NULL), ATTN_OK);
        ck_assert(!attn_sink_is_seekable(sink));
        ck_assert_int_eq(pthread_create(&reader, NULL, drain, &ends[0]), 0);
        setitimer(ITIMER_REAL, &often, NULL);
        attn_sink_write(sink, big, 1000);
        attn_sink_write(sink, big + 1000, BIG - 1000);
        commit(sink);
        setitimer(ITIMER_REAL, &never, NULL);
        ck_assert_int_eq(close(ends[1]), 0); /* the descriptor was left open */
        pthread_join(reader, &result);
        ck_assert_ptr_nonnull(result);
        close(ends[0]);
    }
}
END_TEST

START_TEST(fifos_are_written_directly)
{
    char found[16] = "";
    struct attn_sink *sink;
    int reader;

    attn_folder_enter();
    ck_assert_int_eq(mkfifo("fifo", 0600), 0);
    reader = open("fifo", O_RDONLY | O_NONBLOCK);
    sink = create_file("fifo");
    ck_assert(!attn_sink_is_seekable(sink));
    write_text(sink, "through");
    commit(sink);
    ck_assert_int_eq(read(reader, found, sizeof found), 7);
    ck_assert_str_eq(found, "through");
    ck_assert_int_eq(read(reader, found, sizeof found), 0); /* the writing end was closed */
    close(reader);
    ck_assert_uint_eq(mode_of("fifo") & S_IFMT, S_IFIFO);
    ck_assert_uint_eq(attn_folder_count(), 1);
    attn_folder_leave();
}
END_TEST

START_TEST(own_descriptors_are_appended_to)
{
    struct attn_sink *sink;
    char path[32];
    int descriptor;

    attn_folder_enter();
    descriptor = open("log", O_WRONLY | O_CREAT, 0600);
    ck_assert_int_eq(write(descriptor, "before ", 7), 7);
    snprintf(path, sizeof path, "/dev/fd/%d", descriptor);
    sink = create_file(path);
    ck_assert(!attn_sink_is_seekable(sink));
    write_text(sink, "sink");
    commit(sink);
    ck_assert_int_eq(write(descriptor, " after", 6), 6);
    close(descriptor);
    assert_file("log", "before sink after");
    attn_folder_leave();
}
END_TEST

START_TEST(a_descriptor_can_be_committed_again)
{
    struct attn_sink *sink;
    int descriptor;

    attn_folder_enter();
    descriptor = open("log", O_WRONLY | O_CREAT, 0600);
    ck_assert_int_eq(attn_sink_create_descriptor(descriptor, "log", &sink, NULL), ATTN_OK);
    write_text(sink, "one");
    ck_assert_int_eq(attn_sink_commit(sink, NULL), ATTN_OK);
    assert_file("log", "one");
    write_text(sink, " two");
    ck_assert_uint_eq(attn_sink_position(sink), 7);
    commit(sink);
    assert_file("log", "one two");
    close(descriptor);
    attn_folder_leave();
}
END_TEST

START_TEST(creation_survives_lack_of_memory)
{
    attn_folder_enter();
    attn_folder_write("target", "old", 3);
    ck_assert_int_eq(symlink("target", "link"), 0);
    for (long n = 0;; n++) {
        struct attn_sink *sink = NULL;
        struct attn_error err = {0};
        enum attn_status status;

        attn_alloc_fail_at(n);
        status = attn_sink_create_file("link", &sink, &err);
        attn_alloc_fail_off();
        if (status == ATTN_OK) {
            attn_sink_free(sink);
            ck_assert_int_ge(n, 5);
            break;
        }
        ck_assert_int_eq(status, ATTN_NO_MEMORY);
        ck_assert_int_eq(err.status, ATTN_NO_MEMORY);
        ck_assert_ptr_null(sink);
    }
    ck_assert_uint_eq(attn_folder_count(), 2);
    assert_file("target", "old");
    attn_folder_leave();
}
END_TEST

START_TEST(memory_that_runs_out_sticks)
{
    struct attn_sink *sink;
    size_t size;

    ck_assert_int_eq(attn_sink_create_memory(&sink, NULL), ATTN_OK);
    write_text(sink, "kept");
    attn_alloc_fail_from(0);
    attn_sink_write(sink, big, BIG);
    attn_alloc_fail_off();
    write_text(sink, "ignored");
    attn_sink_write_at(sink, 0, "ignored", 7);
    ck_assert_int_eq(attn_sink_commit(sink, NULL), ATTN_NO_MEMORY);
    ck_assert_uint_eq(attn_sink_position(sink), 4);
    ck_assert_mem_eq(attn_sink_bytes(sink, &size), "kept", 4);
    ck_assert_uint_eq(size, 4);
    attn_sink_free(sink);
}
END_TEST

ATTN_SUITE("base sink", memory_collects_bytes, files_appear_whole_at_the_commit,
           without_a_commit_nothing_appears, temporary_files_lie_beside_the_target,
           modes_follow_the_umask_or_the_old_file, links_are_resolved_and_their_target_replaced,
           targets_that_cannot_be_are_refused, read_only_files_are_not_replaced,
           write_at_agrees_with_memory, offsets_beyond_all_files_are_refused,
           a_full_device_is_reported_by_the_commit, a_failed_write_leaves_the_target_alone,
           a_closed_pipe_is_remembered, pipes_get_every_byte, fifos_are_written_directly,
           own_descriptors_are_appended_to, a_descriptor_can_be_committed_again,
           creation_survives_lack_of_memory, memory_that_runs_out_sticks)
