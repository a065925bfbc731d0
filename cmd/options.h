/*
 * options.h - one table of options a command, from which parsing and help come.
 *
 *     static const struct option options[] = {
 *         {.name = "top", .argument = "K", .kind = OPTION_NUMBER, .min = 1, .max = 1000,
 *          .offset = offsetof(struct run_args, top), .group = "Output", .help = "..."},
 *
 * The command line may be written --name VALUE, --name=VALUE, -n VALUE, -nVALUE and -qv for flags
 * without values; names are never abbreviated and `--` ends the options. The last of a repeated
 * option counts, except in a list. A variable of the environment stands for an option that is not
 * given.
 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include "command.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values in the order given. Borrows the texts, owns the array. */
struct text_list {
    const char **items;
    size_t n;
};

enum option_kind {
    OPTION_FLAG,   /* bool: present */
    OPTION_TEXT,   /* const char *: borrowed from the command line */
    OPTION_LIST,   /* struct text_list: every value */
    OPTION_NUMBER, /* int64_t: a whole number, min..max */
    OPTION_REAL,   /* double: finite, from min on, and below max unless that is 0 */
    OPTION_CHOICE, /* int: index of the value among the words of `argument`, "map|read" */
    OPTION_HELP,   /* prints the help and ends */
};

struct option {
    const char *name;        /* long name; NULL: the arguments that are no options (a list) */
    char letter;             /* short name, or 0 */
    const char *argument;    /* what its value is called; NULL for flags */
    const char *group;       /* heading in the help */
    const char *help;        /* any length; the help breaks its lines */
    const char *environment; /* variable that gives its default, or NULL */
    enum option_kind kind;
    size_t offset; /* of the value in the command's struct of arguments */
    int64_t min, max;
};

#define OPTION_HELP_ROW                                                                            \
    {                                                                                              \
        .name = "help", .letter = 'h', .group = "Other", .help = "print this help",                \
        .kind = OPTION_HELP                                                                        \
    }

enum { OPTIONS_OK = -1 };

/*
 * Stores what the environment, then the command line say into ARGS, the command's struct, which
 * holds the defaults. Returns OPTIONS_OK, or the exit code when the command is over: help was
 * printed, or a mistake was reported.
 */
int options_parse(const struct command *command, int argc, char **argv, void *args);

/* The same, and in GIVEN [command->n_option] the text of each option's value as it was given last;
 * others stay. Borrows from the command line and the environment. */
int options_parse_noting(const struct command *command, int argc, char **argv, void *args,
                         const char **given);

void text_list_release(struct text_list *list);

#endif
