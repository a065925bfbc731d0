/*
 * main.c - the table of commands, and what is true of the whole process: open standard streams, an
 * environment that libxsmm ignores, signals, the C locale.
 */
#include "command.h"
#include "help.h"
#include "interrupt.h"
#include "options.h"
#include "print.h"
#include "report.h"
#include "typo.h"

#include "attn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERSION "0.1.0"

/* One line a command; cmd/<name>.c defines command_<name>. */
#define COMMAND_MAP(X)                                                                             \
    X(run)                                                                                         \
    X(tokenize)                                                                                    \
    X(help)

#define COMMAND_EXTERN(name) extern const struct command command_##name;
COMMAND_MAP(COMMAND_EXTERN)
#undef COMMAND_EXTERN

#define COMMAND_ADDRESS(name) &command_##name,
static const struct command *const table[] = {COMMAND_MAP(COMMAND_ADDRESS)};
#undef COMMAND_ADDRESS

enum { N_COMMAND = sizeof(table) / sizeof(table[0]) };

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < N_COMMAND; i++)
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    return NULL;
}

static int report_unknown(const char *what, const char *name)
{
    char hint[128] = "'attn-cli --help' lists the commands";
    for (size_t i = 0; i < N_COMMAND; i++) {
        size_t size = strlen(name);
        if (is_near(edit_distance(name, size, table[i]->name, strlen(table[i]->name)), size))
            snprintf(hint, sizeof(hint), "did you mean '%s'?", table[i]->name);
    }
    return report_problem(EXIT_USAGE, hint, "unknown %s '%s'", what, name);
}

static void print_overview(struct attn_sink *out)
{
    print_text(out, "attn-cli " VERSION ": runs GPT-style models on a CPU and shows their "
                    "attention\n\nUsage: attn-cli COMMAND [OPTIONS]\n\nCommands:\n");
    for (size_t i = 0; i < N_COMMAND; i++)
        help_row(out, table[i]->name, table[i]->summary, 13);
    print_text(out, "\nOptions:\n");
    help_row(out, "-h, --help", "print this help; 'attn-cli help COMMAND' lists its options", 16);
    help_row(out, "--version", "print the version and what the numeric code uses here", 16);
    print_text(out,
               "\nExit codes: 0 done, 1 internal failure or out of memory, 2 usage, 3 model or\n"
               "vocabulary unreadable, 4 invalid input, 5 output cannot be written, 128+n\n"
               "ended by signal n.\n"
               "\nTry:\n"
               "  attn-cli run --sentence \"Life is short, eat dessert first\"\n");
}

static int print_help(const struct command *command)
{
    struct attn_sink *out = NULL;
    int code = print_open(&out);
    if (code == EXIT_DONE && command)
        help_command(out, command);
    else if (code == EXIT_DONE)
        print_overview(out);
    return print_close(out, code);
}

static int print_version(void)
{
    struct attn_sink *out = NULL;
    int code = print_open(&out);
    if (code == EXIT_DONE)
        print(out, "attn-cli " VERSION " (%s, %s)\n", attn_isa_name(attn_isa_detect()),
              attn_gemm_can_jit() ? "libxsmm" : "portable matrix products");
    return print_close(out, code);
}

static const struct option help_options[] = {OPTION_HELP_ROW};

static int help_main(int argc, char **argv)
{
    if (argc > 1)
        return report_problem(EXIT_USAGE, NULL, "'help' takes one command, got %d", argc);
    if (argc == 0 || strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
        return print_help(NULL);
    const struct command *command = find(argv[0]);
    return command ? print_help(command) : report_unknown("command", argv[0]);
}

const struct command command_help = {
    .name = "help",
    .summary = "help on attn-cli, or on one command",
    .usage = "[COMMAND]",
    .options = help_options,
    .n_option = 1,
    .main = help_main,
};

static int dispatch(int argc, char **argv)
{
    if (argc < 2)
        return report_problem(EXIT_USAGE, "'attn-cli --help' lists the commands",
                              "no command given");
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return print_help(NULL);
    if (strcmp(name, "--version") == 0)
        return print_version();
    const struct command *command = find(name);
    if (!command)
        return report_unknown(name[0] == '-' ? "option" : "command", name);
    return command->main(argc - 2, argv + 2);
}

/* A file must never be opened as descriptor 0, 1 or 2: what is printed would go into it. */
static void open_standard_streams(void)
{
    for (int descriptor = 0; descriptor <= STDERR_FILENO; descriptor++)
        if (fcntl(descriptor, F_GETFD) == -1 && errno == EBADF &&
            open("/dev/null", O_RDWR) != descriptor)
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
    int code = dispatch(argc, argv);
    interrupt_end();
    return code;
}
