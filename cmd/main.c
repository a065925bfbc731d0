/*
 * main.c - the table of commands, and what is true of the whole process: open standard streams, an
 * environment that libxsmm ignores, signals, the C locale.
 */
#include "command.h"
#include "help.h"
#include "interrupt.h"
#include "manual.h"
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

/* One line a command; cmd/<name>.c defines command_<name>. */
#define COMMAND_MAP(X)                                                                             \
    X(run)                                                                                         \
    X(attend)                                                                                      \
    X(tokenize)                                                                                    \
    X(init)                                                                                        \
    X(inspect)                                                                                     \
    X(bench)                                                                                       \
    X(completion)                                                                                  \
    X(help)

#define COMMAND_EXTERN(name) extern const struct command command_##name;
COMMAND_MAP(COMMAND_EXTERN)
#undef COMMAND_EXTERN

#define COMMAND_ADDRESS(name) &command_##name,
const struct command *const commands[] = {COMMAND_MAP(COMMAND_ADDRESS)};
#undef COMMAND_ADDRESS

const size_t n_command = sizeof(commands) / sizeof(commands[0]);

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < n_command; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int report_unknown(const char *what, const char *name)
{
    char hint[128] = "'attn-cli --help' lists the commands";
    for (size_t i = 0; i < n_command; i++) {
        size_t size = strlen(name);
        if (is_near(edit_distance(name, size, commands[i]->name, strlen(commands[i]->name)), size))
            snprintf(hint, sizeof(hint), "did you mean '%s'?", commands[i]->name);
    }
    return report_problem(EXIT_USAGE, hint, "unknown %s '%s'", what, name);
}

static void print_overview(struct attn_sink *out)
{
    print_text(out, "attn-cli " ATTN_VERSION ": runs GPT-style models on a CPU and shows their "
                    "attention\n\nUsage: attn-cli COMMAND [OPTIONS]\n\nCommands:\n");
    for (size_t i = 0; i < n_command; i++)
        help_row(out, commands[i]->name, commands[i]->summary, 14);
    print_text(out, "\nOptions:\n");
    help_row(out, "-h, --help", "print this help; 'attn-cli help COMMAND' lists its options", 16);
    help_row(out, "--version", "print the version and what the numeric code uses here", 16);
    print_text(out, "\nExit codes:\n");
#define EXIT_ROW(name, code, text) help_row(out, #code, text, 9);
    EXIT_MAP(EXIT_ROW)
#undef EXIT_ROW
    help_row(out, "128+n", "ended by signal n", 9);
    print_text(out, "\nTry:\n  attn-cli run --sentence \"Life is short, eat dessert first\"\n");
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
        print(out, "attn-cli " ATTN_VERSION " (%s, %s)\n", attn_isa_name(attn_isa_detect()),
              attn_gemm_can_jit() ? "libxsmm" : "portable matrix products");
    return print_close(out, code);
}

struct help_args {
    struct text_list names;
    bool is_manual;
};

static const struct option rows[] = {
    {.argument = "COMMAND", .kind = OPTION_LIST, .offset = offsetof(struct help_args, names)},
    {.name = "man",
     .heading = "Output",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct help_args, is_manual),
     .help = "print the manual page, for 'man -l' or groff"},
};

static const struct option_group own_options = OPTION_GROUP(rows);

static const struct option_part parts[] = {{&own_options, 0}, {&help_options, 0}};

static int print_manual(void)
{
    struct attn_sink *out = NULL;
    int code = print_open(&out);
    if (code == EXIT_DONE)
        manual_page(out);
    return print_close(out, code);
}

static int help(const struct help_args *args)
{
    if (args->names.n > 1)
        return report_problem(EXIT_USAGE, NULL, "'help' takes one command, got %zu", args->names.n);
    if (args->is_manual)
        return print_manual();
    if (args->names.n == 0)
        return print_help(NULL);
    const struct command *command = find(args->names.items[0]);
    return command ? print_help(command) : report_unknown("command", args->names.items[0]);
}

static int help_main(int argc, char **argv)
{
    struct help_args args = {0};
    int code = options_parse(&command_help, argc, argv, &args);
    if (code == OPTIONS_OK)
        code = help(&args);
    text_list_release(&args.names);
    return code;
}

const struct command command_help = {
    .name = "help",
    .summary = "help on attn-cli, or on one command",
    .usage = "[COMMAND]",
    .parts = parts,
    .n_part = sizeof(parts) / sizeof(parts[0]),
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

/*
 * A file must never be opened as descriptor 0, 1 or 2: what is printed would go into it. In place of
 * a closed one, standard input is empty and standard error takes what is said; standard output stays
 * one that cannot be written.
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
