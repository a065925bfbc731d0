/* command.c - see command.h. */
#include "tests/support/command.h"

#include "base/text/utf8.h"
#include "tests/support/assert.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ARG = 64 };

/* This program is BUILD/tests/unit/test_x, the tool BUILD/attn-cli; or what ATTN_CLI names, which
 * an emulator can start. */
static const char *find_tool(char path[4096])
{
    const char *named = getenv("ATTN_CLI");
    ssize_t size = readlink("/proc/self/exe", path, 4000);

    if (named != NULL)
        return named;
    ck_assert_int_gt(size, 0);
    path[size] = '\0';
    for (int i = 0; i < 3; i++)
        *strrchr(path, '/') = '\0';
    memcpy(path + strlen(path), "/attn-cli", sizeof "/attn-cli");
    return path;
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

static char *take(int descriptor, size_t *size)
{
    off_t end = lseek(descriptor, 0, SEEK_END);
    char *text = malloc((size_t)end + 1);

    ck_assert(end >= 0 && text != NULL);
    ck_assert_int_eq(pread(descriptor, text, (size_t)end, 0), end);
    text[end] = '\0';
    *size = (size_t)end;
    close(descriptor);
    return text;
}

struct attn_ran attn_command_in(const char *const *environment, const char *const *args)
{
    char path[4096], *argv[MAX_ARG + 2], *env[MAX_ARG + 3];
    int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC), status;
    posix_spawn_file_actions_t actions;
    struct attn_ran ran = {0};
    struct rusage usage;
    size_t n = 0;
    pid_t pid;

    argv[0] = (char *)(uintptr_t)find_tool(path);
    for (n = 0; args[n] != NULL && n < MAX_ARG; n++)
        argv[n + 1] = (char *)(uintptr_t)args[n];
    argv[n + 1] = NULL;
    for (n = 0; environment[n] != NULL && n < MAX_ARG; n++)
        env[n] = (char *)(uintptr_t)environment[n];
    env[n] = (char *)(uintptr_t) "LC_ALL=C.UTF-8";
    env[n + 1] = (char *)(uintptr_t) "ASAN_OPTIONS=allocator_may_return_null=1";
    env[n + 2] = NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    ck_assert_int_eq(posix_spawn(&pid, argv[0], &actions, NULL, argv, env), 0);
    ck_assert_int_eq(wait4(pid, &status, 0, &usage), pid);
    posix_spawn_file_actions_destroy(&actions);
    ran.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ran.seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    ran.resident = usage.ru_maxrss;
    ran.out = take(out, &ran.n_out);
    ran.err = take(err, &ran.n_err);
    return ran;
}

struct attn_ran attn_command(const char *const *args)
{
    return attn_command_in((const char *const[]){NULL}, args);
}

void attn_ran_release(struct attn_ran *ran)
{
    free(ran->out);
    free(ran->err);
    *ran = (struct attn_ran){0};
}

/* Said again here, as the tests must not rest on the library's own table: what acts instead of
 * being shown, and what is not seen. */
static bool is_hidden(uint32_t code_point)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},     {0x180e, 0x180e},
        {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164},   {0xfeff, 0xfeff},
        {0xffa0, 0xffa0}, {0xfff9, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe01ef},
    };

    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (code_point >= hidden[i].first && code_point <= hidden[i].last)
            return true;
    return false;
}

void attn_assert_printable(const char *what, const char *text, size_t size)
{
    enum { LEFT_TO_RIGHT = 0x200e };
    uint32_t code_point = 0;
    bool is_right_to_left = false; /* the line has such a letter */

    for (size_t at = 0, length; at < size; at += length) {
        length = attn_utf8_decode(text + at, size - at, &code_point);
        if (length == 0) /* no assertion for each: Check notes them all in a file */
            ck_abort_msg("%.100s: not UTF-8 at byte %zu of\n%.2000s", what, at, text);
        if (code_point == LEFT_TO_RIGHT && is_right_to_left)
            continue; /* a table ends such text so, for terminals that turn it */
        if ((code_point == 0x200c || code_point == 0x200d) && at > 0 &&
            (unsigned char)text[at - 1] >= 0x80 && at + length < size &&
            (unsigned char)text[at + length] >= 0x80)
            continue; /* it joins two characters */
        if (code_point == '\n')
            is_right_to_left = false;
        is_right_to_left |= (code_point >= 0x590 && code_point < 0x900) ||
                            (code_point >= 0xfb1d && code_point < 0xfe00) ||
                            (code_point >= 0xfe70 && code_point < 0xff00);
        if (code_point != '\n' && is_hidden(code_point))
            ck_abort_msg("%.100s: U+%04X at byte %zu of\n%.2000s", what, (unsigned)code_point, at,
                         text);
    }
}

void attn_assert_failed(const char *what, const struct attn_ran *ran, int code)
{
    static const char error[] = "attn-cli: error: ", hint[] = "hint: ";
    const char *end = strchr(ran->err, '\n');

    ck_assert_msg(ran->exit == code, "%s: exit %d, expected %d\n%s", what, ran->exit, code,
                  ran->err);
    ck_assert_msg(ran->n_out == 0, "%s: standard output has\n%s", what, ran->out);
    attn_assert_printable(what, ran->err, ran->n_err);
    ck_assert_msg(strncmp(ran->err, error, sizeof error - 1) == 0 && end != NULL, "%s: says\n%s",
                  what, ran->err);
    if (end[1] != '\0') {
        ck_assert_msg(strncmp(end + 1, hint, sizeof hint - 1) == 0, "%s: says\n%s", what, ran->err);
        end = strchr(end + 1, '\n');
        ck_assert_msg(end != NULL && end[1] == '\0', "%s: says\n%s", what, ran->err);
    }
}
