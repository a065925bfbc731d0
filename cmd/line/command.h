/*
 * command.h - what a subcommand is: a name, its help, one table of options, and a function.
 *
 * To add one: write cmd/<name>.c that defines `const struct command command_<name>`, and add its
 * line to the list in command.c. Parsing and --help come from its options (options.h, help.h).
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include <stddef.h>

/* The codes a script may rely on; 128+n is a process ended by signal n. X(NAME, code, text) */
#define EXIT_MAP(X)                                                                                \
    X(DONE, 0, "done")                                                                             \
    X(INTERNAL, 1, "internal failure or out of memory")                                            \
    X(USAGE, 2, "usage: options and their values")                                                 \
    X(MODEL, 3, "model or vocabulary unreadable")                                                  \
    X(INPUT, 4, "invalid input: text, ids or arrays")                                              \
    X(OUTPUT, 5, "output cannot be written")                                                       \
    X(FAILED_RECORDS, 6, "batch finished with failed records")                                     \
    X(CHECK, 7, "a check failed")

enum {
#define EXIT_ENUM(name, code, text) EXIT_##name = (code),
    EXIT_MAP(EXIT_ENUM)
#undef EXIT_ENUM
};

struct option_part;

struct command {
    const char *name;
    const char *summary;             /* one line for the list of commands */
    const char *usage;               /* what follows the name: "[OPTIONS] TEXT" */
    const char *description;         /* paragraphs for --help, lines broken at 80 columns */
    const char *examples;            /* lines to paste */
    const struct option_part *parts; /* [n_part] its options */
    size_t n_part;
    int (*main)(int argc, char **argv); /* arguments after the name; returns the exit code */
};

/* All of them, in the order of the help. */
extern const struct command *const commands[];
extern const size_t n_command;

/* The command NAME, or NULL. */
const struct command *command_find(const char *name);

/* Reports that there is no NAME, with a hint what was meant; WHAT is "command" or "option". Returns
 * EXIT_USAGE. */
int command_report_unknown(const char *what, const char *name);

#endif
