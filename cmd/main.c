/*
 * main.c - takes the command, and what is true of the whole process: open standard streams, an
 * environment that libxsmm ignores, signals, the C locale.
 */
#include "cmd/args/running.h"
#include "cmd/line/command.h"
#include "cmd/line/help.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int print_version(void)
{
    struct attn_sink *out = NULL;
    int code = print_open(&out);
    if (code == EXIT_DONE)
        print(out, "attn-cli " ATTN_VERSION " (%s, %s%s)\n", attn_isa_name(attn_isa_detect()),
              attn_gemm_can_jit() ? "libxsmm" : "the portable loop",
              attn_gemm_has_tiles(running_gemm(), running_isa()) ? ", amx" : "");
    return print_close(out, code);
}

/*
 * A stack that is too small would end the process by a signal wherever it happens to be used up. We
 * take up to 60 KiB, libxsmm 130 when it makes code. Above the stack lie the arguments and the
 * environment, whose last text ends near the top.
 */
static int check_stack(void)
{
    enum { KIB = 1024, LEAST = 192 * KIB };
    struct rlimit limit;
    char **last = environ;
    size_t used = 0;
    while (*last && last[1])
        last++;
    if (*last && (uintptr_t)*last > (uintptr_t)&limit)
        used = (uintptr_t)*last + strlen(*last) - (uintptr_t)&limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        (limit.rlim_cur >= used && limit.rlim_cur - used >= LEAST))
        return EXIT_DONE;
    return report_problem(EXIT_INTERNAL, "'ulimit -s 8192' is what most systems have",
                          "the stack is limited to %llu KiB, expected at least %d beside arguments "
                          "and environment",
                          (unsigned long long)limit.rlim_cur / KIB, LEAST / KIB);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2)
        return report_problem(EXIT_USAGE, "'attn-cli --help' lists the commands",
                              "no command given");
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return help_print(NULL, strcmp(name, "-h") == 0);
    if (strcmp(name, "--version") == 0)
        return print_version();
    const struct command *command = command_find(name);
    if (!command)
        return command_report_unknown(name[0] == '-' ? "option" : "command", name);
    int code = check_stack();
    return code == EXIT_DONE ? command->main(argc - 2, argv + 2) : code;
}

/*
 * A file must never be opened as descriptor 0, 1 or 2: what is printed would go into it. In place
 * of a closed one, standard input is empty and standard error takes what is said; standard output
 * stays one that cannot be written.
 */
static void open_standard_streams(void)
{
    static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
    for (int descriptor = 0; descriptor <= STDERR_FILENO; descriptor++)
        if (fcntl(descriptor, F_GETFD) == -1 && errno == EBADF &&
            open("/dev/null", modes[descriptor]) != descriptor)
            _exit(EXIT_INTERNAL);
}

/* LIBXSMM_VERBOSE and others make it print and write files; its settings are ours to choose. */
static void clear_libxsmm_environment(void)
{
    static const char prefix[] = "LIBXSMM_";
    for (char **variable = environ; *variable;) {
        char name[128];
        size_t size = strcspn(*variable, "=");
        if (strncmp(*variable, prefix, sizeof(prefix) - 1) != 0 || size >= sizeof(name)) {
            variable++;
            continue;
        }
        memcpy(name, *variable, size);
        name[size] = '\0';
        unsetenv(name); /* closes the gap: the next variable is now in this place */
    }
}

int main(int argc, char **argv)
{
    open_standard_streams();
    clear_libxsmm_environment();
    interrupt_ignore_writes();
    interrupt_catch_truncation();
    int code = dispatch(argc, argv);
    interrupt_end();
    return code;
}
