/* Input files and the parts of a source. */
#include "base/file.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void assert_bytes(const struct attn_file *file, const void *bytes, size_t size)
{
    ck_assert_ptr_nonnull(file->data);
    ck_assert_uint_eq(file->size, size);
    ck_assert_int_eq(memcmp(file->data, bytes, size), 0);
}

START_TEST(mapped_and_read_files_are_the_same)
{
    struct attn_file file = {0};

    attn_folder_enter();
    attn_folder_write("a.txt", "Life is short", 13);
    ck_assert_int_eq(attn_file_open("a.txt", ATTN_MAP, &file, NULL), ATTN_OK);
    ck_assert_int_eq(file.storage, ATTN_FILE_MAPPED);
    ck_assert_str_eq(file.path, "a.txt");
    assert_bytes(&file, "Life is short", 13);
    attn_file_release(&file);
    ck_assert_ptr_null(file.data);
    attn_file_release(&file);

    ck_assert_int_eq(attn_file_open("a.txt", ATTN_READ, &file, NULL), ATTN_OK);
    ck_assert_int_eq(file.storage, ATTN_FILE_ALLOCATED);
    attn_folder_write("a.txt", "cut", 3); /* what was read is not touched by this */
    assert_bytes(&file, "Life is short", 13);
    attn_file_release(&file);
    attn_folder_leave();
}
END_TEST

START_TEST(mapped_files_are_read_again)
{
    struct attn_file file = {0};
    char copy[8] = "";

    attn_folder_enter();
    attn_folder_write("a.txt", "Life is short", 13);
    ck_assert_int_eq(attn_file_open("a.txt", ATTN_MAP, &file, NULL), ATTN_OK);
    ck_assert(attn_file_read_again(&file, file.data + 5, 8, copy));
    ck_assert_int_eq(memcmp(copy, "is short", 8), 0);
    ck_assert(attn_file_read_again(&file, file.data + 13, 0, copy));
    ck_assert(!attn_file_read_again(&file, file.data + 6, 8, copy));
    ck_assert(!attn_file_read_again(&file, file.data + 14, 0, copy));
    ck_assert_int_eq(truncate("a.txt", 12), 0);
    ck_assert(attn_file_read_again(&file, file.data + 5, 7, copy));
    ck_assert(!attn_file_read_again(&file, file.data + 5, 8, copy));
    attn_file_release(&file);

    ck_assert_int_eq(attn_file_open("a.txt", ATTN_READ, &file, NULL), ATTN_OK);
    ck_assert(!attn_file_read_again(&file, file.data, 1, copy));
    attn_file_release(&file);
    attn_folder_leave();
}
END_TEST

START_TEST(empty_files_have_data)
{
    struct attn_file file = {0};

    attn_folder_enter();
    attn_folder_write("empty", "", 0);
    for (int load = ATTN_MAP; load <= ATTN_READ; load++) {
        ck_assert_int_eq(attn_file_open("empty", (enum attn_load)load, &file, NULL), ATTN_OK);
        assert_bytes(&file, "", 0);
        attn_file_release(&file);
    }
    attn_folder_leave();
}
END_TEST

START_TEST(files_that_do_not_know_their_size_are_read)
{
    struct attn_file file = {0};

    ck_assert_int_eq(attn_file_open("/proc/self/stat", ATTN_MAP, &file, NULL), ATTN_OK);
    ck_assert_uint_gt(file.size, 10);
    attn_file_release(&file);
}
END_TEST

START_TEST(pipes_are_read_to_their_end)
{
    enum { SIZE = 300001 };
    static char bytes[SIZE];
    struct attn_file file = {0};
    pid_t writer;

    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (char)(i % 251);
    attn_folder_enter();
    ck_assert_int_eq(mkfifo("pipe", 0600), 0);
    writer = fork();
    if (writer == 0) {
        attn_folder_write("pipe", bytes, SIZE);
        _exit(0);
    }
    ck_assert_int_eq(attn_file_open("pipe", ATTN_MAP, &file, NULL), ATTN_OK);
    assert_bytes(&file, bytes, SIZE);
    attn_file_release(&file);
    ck_assert_int_eq(waitpid(writer, NULL, 0), writer);
    attn_folder_leave();
}
END_TEST

START_TEST(what_cannot_be_opened_is_named)
{
    struct attn_file file = {.size = 77};
    struct attn_error err = {0};

    attn_folder_enter();
    ck_assert_int_eq(attn_file_open("no\nwhere", ATTN_MAP, &file, &err), ATTN_IO);
    ck_assert_str_eq(err.message, "cannot open 'no\\nwhere': No such file or directory");
    err = (struct attn_error){0};
    ck_assert_int_eq(mkdir("folder", 0700), 0);
    ck_assert_int_eq(attn_file_open("folder", ATTN_READ, &file, &err), ATTN_IO);
    ck_assert_str_eq(err.message, "'folder' is a directory, expected a file");
    ck_assert_uint_eq(file.size, 77);
    attn_folder_leave();
}
END_TEST

START_TEST(devices_are_refused)
{
    struct attn_file file = {.size = 77};
    struct attn_error err = {0};

    ck_assert_int_eq(attn_file_open("/dev/zero", ATTN_READ, &file, &err), ATTN_IO);
    ck_assert_str_eq(err.message, "'/dev/zero' is a device, expected a file");
    ck_assert_uint_eq(file.size, 77);
}
END_TEST

/* Sends more than should be read, until the reader stops. */
static _Noreturn void write_without_end(const char *path)
{
    static const char bytes[1 << 16];
    int descriptor = open(path, O_WRONLY);

    while (write(descriptor, bytes, sizeof bytes) > 0)
        ;
    _exit(0);
}

START_TEST(texts_that_are_too_large_are_not_read)
{
    struct attn_source source = {.directory = "."};
    const struct attn_override override = {"a", "pipe"};
    struct attn_file file = {0};
    struct attn_error err = {0};
    pid_t writer;

    attn_folder_enter();
    attn_folder_write("a", "", 0);
    ck_assert_int_eq(truncate("a", (off_t)1 << 40), 0);
    ck_assert_int_eq(attn_file_read_part(&source, "a", &file, &err), ATTN_FORMAT);
    ck_assert_str_eq(err.message, "'./a' has 1099511627776 bytes, expected at most 67108864");
    ck_assert_int_eq(truncate("a", 9), 0);
    ck_assert_int_eq(attn_file_read_part(&source, "a", &file, NULL), ATTN_OK);
    ck_assert_uint_eq(file.size, 9);
    attn_file_release(&file);
    ck_assert_int_eq(mkfifo("pipe", 0600), 0);
    writer = fork();
    if (writer == 0)
        write_without_end("pipe");
    err = (struct attn_error){0};
    source.overrides = &override, source.n_override = 1;
    ck_assert_int_eq(attn_file_read_part(&source, "a", &file, &err), ATTN_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.message, "'pipe' has at least "));
    ck_assert_ptr_nonnull(strstr(err.message, " bytes, expected at most 67108864"));
    ck_assert_int_eq(waitpid(writer, NULL, 0), writer);
    attn_folder_leave();
}
END_TEST

START_TEST(held_files_are_read_as_they_are_then)
{
    struct attn_source source = {.directory = "."};
    struct attn_file file = {0};
    struct attn_error err = {0};

    attn_folder_enter();
    attn_folder_write("a", "before", 6);
    ck_assert_int_eq(attn_file_hold_part(&source, "a", &file, &err), ATTN_OK);
    ck_assert_str_eq(file.path, "./a");
    attn_folder_write("a", "afterwards", 10);
    ck_assert_int_eq(attn_file_read_held(&file, &err), ATTN_OK);
    assert_bytes(&file, "afterwards", 10);
    ck_assert_int_eq(attn_file_read_held(&file, &err), ATTN_OK); /* nothing is left to do */
    assert_bytes(&file, "afterwards", 10);
    attn_file_release(&file);

    ck_assert_int_eq(attn_file_hold_part(&source, "a", &file, &err), ATTN_OK);
    ck_assert_int_eq(truncate("a", (off_t)1 << 40), 0);
    ck_assert_int_eq(attn_file_read_held(&file, &err), ATTN_FORMAT);
    ck_assert_str_eq(err.message, "'./a' has 1099511627776 bytes, expected at most 67108864");
    ck_assert_int_eq(truncate("a", 2), 0);
    ck_assert_int_eq(attn_file_read_held(&file, &err), ATTN_OK);
    assert_bytes(&file, "af", 2);
    attn_file_release(&file);
    attn_folder_leave();
}
END_TEST

START_TEST(what_cannot_be_held_is_refused_or_read_at_once)
{
    static const struct attn_blob blob = {"blob", "bytes", 5};
    const struct attn_override overrides[] = {{"pipe", "pipe"}};
    struct attn_source source = {.directory = ".", .blobs = &blob, .n_blob = 1};
    struct attn_file file = {0};
    struct attn_error err = {0};
    pid_t writer;

    attn_folder_enter();
    ck_assert_int_eq(attn_file_hold_part(&source, "absent", &file, &err), ATTN_IO);
    ck_assert_str_eq(err.message, "cannot open './absent': No such file or directory");
    attn_folder_write("a", "", 0);
    ck_assert_int_eq(truncate("a", (off_t)1 << 40), 0);
    err = (struct attn_error){0};
    ck_assert_int_eq(attn_file_hold_part(&source, "a", &file, &err), ATTN_FORMAT);
    ck_assert_str_eq(err.message, "'./a' has 1099511627776 bytes, expected at most 67108864");

    ck_assert_int_eq(attn_file_hold_part(&source, "blob", &file, &err), ATTN_OK);
    assert_bytes(&file, "bytes", 5);
    ck_assert_int_eq(attn_file_read_held(&file, &err), ATTN_OK);
    assert_bytes(&file, "bytes", 5);
    attn_file_release(&file);

    ck_assert_int_eq(mkfifo("pipe", 0600), 0);
    source.overrides = overrides, source.n_override = 1;
    writer = fork();
    if (writer == 0)
        _exit(write(open("pipe", O_WRONLY), "late", 4) != 4);
    ck_assert_int_eq(attn_file_hold_part(&source, "pipe", &file, &err), ATTN_OK);
    assert_bytes(&file, "late", 4);
    attn_file_release(&file);
    ck_assert_int_eq(waitpid(writer, NULL, 0), writer);
    attn_folder_leave();
}
END_TEST

/* Both have the same descriptor, and none moves the other's place in the file. */
START_TEST(a_forked_process_reads_what_was_held)
{
    enum { N_BYTE = 1 << 20 };
    struct attn_source source = {.directory = "."};
    struct attn_file file = {0};
    char *bytes = malloc(N_BYTE);
    int status = 0;
    pid_t child;

    for (size_t i = 0; i < N_BYTE; i++)
        bytes[i] = (char)(i % 251);
    attn_folder_enter();
    attn_folder_write("a", bytes, N_BYTE);
    ck_assert_int_eq(attn_file_hold_part(&source, "a", &file, NULL), ATTN_OK);
    child = fork();
    if (child == 0)
        _exit(attn_file_read_held(&file, NULL) != ATTN_OK || file.size != N_BYTE ||
              memcmp(file.data, bytes, N_BYTE) != 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(attn_file_read_held(&file, NULL), ATTN_OK);
    assert_bytes(&file, bytes, N_BYTE);
    attn_file_release(&file);
    free(bytes);
    attn_folder_leave();
}
END_TEST

/* Opening a FIFO waits for its other end, which may never come. */
START_TEST(what_is_no_file_in_a_folder_is_refused_at_once)
{
    static const char *const names[] = {"fifo", "folder", "device", "link"};
    static const char *const messages[] = {
        "'./fifo' is a FIFO, expected a file", "'./folder' is a directory, expected a file",
        "'./device' is a device, expected a file", "'./link' is a FIFO, expected a file"};
    struct attn_source source = {.directory = "."};
    struct attn_file file = {0};

    attn_folder_enter();
    ck_assert_int_eq(mkfifo("fifo", 0600), 0);
    ck_assert_int_eq(mkdir("folder", 0700), 0);
    ck_assert_int_eq(symlink("/dev/zero", "device"), 0);
    ck_assert_int_eq(symlink("fifo", "link"), 0);
    for (size_t i = 0; i < 4; i++) {
        struct attn_error err = {0};

        ck_assert_int_eq(attn_file_open_part(&source, names[i], ATTN_MAP, &file, &err), ATTN_IO);
        ck_assert_str_eq(err.message, messages[i]);
        err = (struct attn_error){0};
        ck_assert_int_eq(attn_file_open_regular(names[i], ATTN_READ, &file, &err), ATTN_IO);
        ck_assert_str_eq(err.message + 1, messages[i] + 3);
    }
    attn_folder_leave();
}
END_TEST

static void on_alarm(int signal_number)
{
    (void)signal_number;
}

START_TEST(signals_do_not_end_the_wait_for_a_pipe)
{
    struct sigaction action = {.sa_handler = on_alarm}; /* without SA_RESTART */
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    struct attn_file file = {0};
    struct attn_error err = {0};
    pid_t writer;

    attn_folder_enter();
    ck_assert_int_eq(mkfifo("pipe", 0600), 0);
    sigaction(SIGALRM, &action, NULL);
    writer = fork();
    if (writer == 0) {
        int descriptor;

        usleep(20000);
        descriptor = open("pipe", O_WRONLY);
        usleep(20000);
        _exit(write(descriptor, "late", 4) != 4);
    }
    setitimer(ITIMER_REAL, &often, NULL);
    ck_assert_msg(attn_file_open("pipe", ATTN_MAP, &file, &err) == ATTN_OK, "%s", err.message);
    setitimer(ITIMER_REAL, &never, NULL);
    assert_bytes(&file, "late", 4);
    attn_file_release(&file);
    ck_assert_int_eq(waitpid(writer, NULL, 0), writer);
    attn_folder_leave();
}
END_TEST

static const struct attn_blob blobs[] = {{"config.json", "{}", 2}, {"merges.txt", NULL, 0}};

START_TEST(parts_come_from_blobs)
{
    struct attn_source source = {.blobs = blobs, .n_blob = 2};
    struct attn_file file = {0};
    struct attn_error err = {0};

    ck_assert(attn_source_has_part(&source, "config.json"));
    ck_assert(!attn_source_has_part(&source, "vocab.json"));
    ck_assert_int_eq(attn_file_open_part(&source, "config.json", ATTN_MAP, &file, NULL), ATTN_OK);
    ck_assert_int_eq(file.storage, ATTN_FILE_BORROWED);
    ck_assert_ptr_eq(file.data, blobs[0].data);
    ck_assert_str_eq(file.path, "built-in/config.json");
    attn_file_release(&file);

    source.name = "toy";
    ck_assert_int_eq(attn_file_open_part(&source, "merges.txt", ATTN_MAP, &file, NULL), ATTN_OK);
    assert_bytes(&file, "", 0);
    attn_file_release(&file);
    ck_assert_int_eq(attn_file_open_part(&source, "vocab.json", ATTN_MAP, &file, &err), ATTN_IO);
    ck_assert_str_eq(err.message, "cannot open 'toy/vocab.json': No such file or directory");
}
END_TEST

START_TEST(parts_come_from_a_directory)
{
    static const char *const directories[] = {".", "./"};
    struct attn_file file = {0};

    attn_folder_enter();
    attn_folder_write("config.json", "[]", 2);
    ck_assert_int_eq(symlink("nowhere", "dangling"), 0);
    for (size_t i = 0; i < 2; i++) {
        struct attn_source source = {.directory = directories[i], .name = "shown elsewhere"};
        struct attn_error err = {0};

        ck_assert_int_eq(attn_file_open_part(&source, "config.json", ATTN_MAP, &file, NULL),
                         ATTN_OK);
        ck_assert_str_eq(file.path, "./config.json");
        assert_bytes(&file, "[]", 2);
        attn_file_release(&file);
        ck_assert_int_eq(attn_file_open_part(&source, "x.json", ATTN_MAP, &file, &err), ATTN_IO);
        ck_assert_str_eq(err.message, "cannot open './x.json': No such file or directory");
        ck_assert(attn_source_has_part(&source, "config.json"));
        ck_assert(attn_source_has_part(&source, "dangling"));
        ck_assert(!attn_source_has_part(&source, "x.json"));
        ck_assert(!attn_source_has_part(&source, "config.json/x"));
    }
    attn_folder_leave();
}
END_TEST

START_TEST(overrides_win_over_blobs_and_directories)
{
    static const struct attn_override overrides[] = {{"config.json", "mine"}, {"a", "absent"}};
    struct attn_source source = {
        .directory = "d", .blobs = blobs, .n_blob = 2, .overrides = overrides, .n_override = 2};
    struct attn_file file = {0};
    struct attn_error err = {0};

    attn_folder_enter();
    attn_folder_write("mine", "my own", 6);
    ck_assert_int_eq(attn_file_open_part(&source, "config.json", ATTN_READ, &file, NULL), ATTN_OK);
    ck_assert_str_eq(file.path, "mine");
    assert_bytes(&file, "my own", 6);
    attn_file_release(&file);
    ck_assert(attn_source_has_part(&source,
                                   "a")); /* so that it is opened, and the failure says why not */
    ck_assert_int_eq(attn_file_open_part(&source, "a", ATTN_READ, &file, &err), ATTN_IO);
    ck_assert_str_eq(err.message, "cannot open 'absent': No such file or directory");
    attn_folder_leave();
}
END_TEST

START_TEST(opening_survives_lack_of_memory)
{
    struct attn_source source = {.directory = "."};
    struct attn_file file = {.size = 77};
    long n;

    attn_folder_enter();
    attn_folder_write("a", "bytes", 5);
    for (n = 0;; n++) {
        struct attn_error err = {0};
        enum attn_status status;

        attn_alloc_fail_at(n);
        status = attn_file_open_part(&source, "a", ATTN_READ, &file, &err);
        attn_alloc_fail_off();
        if (status == ATTN_OK)
            break;
        ck_assert_int_eq(status, ATTN_NO_MEMORY);
        ck_assert_int_eq(err.status, ATTN_NO_MEMORY);
        ck_assert_uint_eq(file.size, 77);
    }
    ck_assert_int_ge(n, 3); /* two names and the bytes */
    attn_file_release(&file);
    attn_folder_leave();
}
END_TEST

START_TEST(reading_a_held_file_survives_lack_of_memory)
{
    struct attn_source source = {.directory = "."};
    struct attn_file file = {0};
    struct attn_error err = {0};

    attn_folder_enter();
    attn_folder_write("a", "bytes", 5);
    ck_assert_int_eq(attn_file_hold_part(&source, "a", &file, &err), ATTN_OK);
    attn_alloc_fail_at(0);
    ck_assert_int_eq(attn_file_read_held(&file, &err), ATTN_NO_MEMORY);
    attn_alloc_fail_off();
    ck_assert_int_eq(attn_file_read_held(&file, &err), ATTN_OK);
    assert_bytes(&file, "bytes", 5);
    attn_file_release(&file);
    attn_folder_leave();
}
END_TEST

ATTN_SUITE("base file", mapped_and_read_files_are_the_same, mapped_files_are_read_again,
           empty_files_have_data, files_that_do_not_know_their_size_are_read,
           pipes_are_read_to_their_end, what_cannot_be_opened_is_named, devices_are_refused,
           texts_that_are_too_large_are_not_read, held_files_are_read_as_they_are_then,
           what_cannot_be_held_is_refused_or_read_at_once, a_forked_process_reads_what_was_held,
           reading_a_held_file_survives_lack_of_memory,
           what_is_no_file_in_a_folder_is_refused_at_once, signals_do_not_end_the_wait_for_a_pipe,
           parts_come_from_blobs, parts_come_from_a_directory,
           overrides_win_over_blobs_and_directories, opening_survives_lack_of_memory)
