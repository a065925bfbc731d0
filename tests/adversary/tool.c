/* tool.c - see tool.h. */
#include "tests/adversary/tool.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the tool takes for nothing: code, libraries and tables, bytes. */
enum { FOR_NOTHING = 24 << 20, SHOWN = 300 };

/* This program is BUILD/tests/adversary/adversary, the tool BUILD/attn-cli. */
static void find_tool(char path[4096])
{
    const ssize_t size = readlink("/proc/self/exe", path, 4000);

    FUZZ_CHECK(size > 0);
    path[size] = '\0';
    for (int i = 0; i < 3; i++)
        *strrchr(path, '/') = '\0';
    memcpy(path + strlen(path), "/attn-cli", sizeof "/attn-cli");
}

/* ARGUMENT, in which @NAME at the end stands for the text of the file NAME, as far as a NUL. */
static char *expand(const struct attn_case *c, char *argument)
{
    const char *at = strchr(argument, '@');
    char *expanded = NULL;

    for (int i = 0; at != NULL && i < c->n_file; i++)
        if (strcmp(c->files[i].name, at + 1) == 0)
            FUZZ_CHECK(asprintf(&expanded, "%.*s%.*s", (int)(at - argument), argument,
                                (int)c->files[i].bytes.size, c->files[i].bytes.data) >= 0);
    return expanded != NULL ? expanded : argument;
}

static _Noreturn void become(const struct attn_case *c, const char *folder, int seconds,
                             const int streams[2])
{
    static char *environment[] = {NULL, NULL};
    const struct rlimit limit = {(rlim_t)seconds, (rlim_t)seconds},
                        space = {ATTN_CASE_SPACE, ATTN_CASE_SPACE};
    char *argv[ATTN_CASE_MAX_ARGUMENT + 2], path[4096];

    find_tool(path);
    argv[0] = path;
    for (int i = 0; i <= c->n_argument; i++)
        argv[i + 1] = i < c->n_argument ? expand(c, c->arguments[i]) : NULL;
    environment[0] = strdup("ASAN_OPTIONS=allocator_may_return_null=1");
    setrlimit(RLIMIT_CPU, &limit);
    setrlimit(RLIMIT_AS, &space);
    if (chdir(folder) == 0 && dup2(open("/dev/null", O_RDONLY), 0) == 0 &&
        dup2(streams[0], 1) == 1 && dup2(streams[1], 2) == 2)
        execve(path, argv, environment);
    _exit(127);
}

/* Entries of FOLDER; removes them, and it, when asked. */
static int count_entries(const char *folder, bool is_removed)
{
    DIR *directory = opendir(folder);
    struct dirent *entry;
    char path[4096];
    int n = 0;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        n++;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (is_removed)
            unlink(path);
    }
    if (directory != NULL)
        closedir(directory);
    if (is_removed)
        rmdir(folder);
    return n;
}

static size_t read_back(int descriptor, char *text, size_t size)
{
    const ssize_t n = pread(descriptor, text, size - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    return (size_t)lseek(descriptor, 0, SEEK_END);
}

/* "attn-cli: error: ...", and at most one "hint: ..." behind it, all printable. */
static bool is_error(const char *text)
{
    static const char error[] = "attn-cli: error: ", hint[] = "hint: ";
    const char *end = strchr(text, '\n'), *next;

    if (strncmp(text, error, sizeof error - 1) != 0 || end == NULL ||
        !attn_fuzz_is_printable(text, (size_t)(end - text)))
        return false;
    if (end[1] == '\0')
        return true;
    next = strchr(end + 1, '\n');
    return strncmp(end + 1, hint, sizeof hint - 1) == 0 && next != NULL && next[1] == '\0' &&
           attn_fuzz_is_printable(end + 1, (size_t)(next - end - 1));
}

static void judge(const struct attn_case *c, int status, const char *folder, const int streams[2],
                  struct attn_tool_run *ran)
{
    const int exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    const bool is_known = c->meant != ATTN_MEANT_UNKNOWN;
    char out[SHOWN], err[4096];
    const size_t n_out = read_back(streams[0], out, sizeof out);

    (void)read_back(streams[1], err, sizeof err);
    if (exit != 0 && (is_known ? exit != c->exit : exit < 2 || exit > 4))
        snprintf(ran->wrong, sizeof ran->wrong, "attn-cli ends with %d, expected 0 or %d: %.*s",
                 exit, c->exit, SHOWN, err);
    else if (c->meant == ATTN_MEANT_VALID && exit != 0)
        snprintf(ran->wrong, sizeof ran->wrong, "attn-cli refuses what is valid: %.*s", SHOWN, err);
    else if (c->meant == ATTN_MEANT_REFUSED && exit == 0)
        snprintf(ran->wrong, sizeof ran->wrong, "attn-cli takes it with %s", c->defect);
    else if (exit != 0 && !is_error(err))
        snprintf(ran->wrong, sizeof ran->wrong, "attn-cli says: %.*s", SHOWN, err);
    else if (exit != 0 && n_out > 0)
        snprintf(ran->wrong, sizeof ran->wrong, "attn-cli writes and fails: %s", out);
    else if (exit != 0 && count_entries(folder, false) > c->n_file)
        snprintf(ran->wrong, sizeof ran->wrong, "attn-cli leaves a file and fails");
}

struct attn_tool_run attn_tool_run(const struct attn_case *c, const char *folder, int seconds,
                                   size_t room)
{
    const int streams[2] = {memfd_create("out", 0), memfd_create("err", 0)};
    struct attn_tool_run ran = {0};
    struct rusage usage;
    pid_t pid = fork();
    int status;

    if (pid == 0)
        become(c, folder, seconds, streams);
    FUZZ_CHECK(pid > 0 && wait4(pid, &status, 0, &usage) == pid);
    ran.seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                  1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    ran.resident = (size_t)usage.ru_maxrss * 1024;
    judge(c, status, folder, streams, &ran);
    if (ran.wrong[0] == '\0' && room > 0 && ran.resident > FOR_NOTHING + room)
        snprintf(ran.wrong, sizeof ran.wrong, "attn-cli takes %zu bytes", ran.resident);
    close(streams[0]);
    close(streams[1]);
    count_entries(folder, true);
    return ran;
}
