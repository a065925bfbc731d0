/*
 * options.h - the options of a command, from which parsing, help, manual and completions come.
 *
 * Options come in groups. A group fills one struct, and several commands may have it:
 *
 *     static const struct option prediction_rows[] = {
 *         {.name = "top", .argument = "K", .kind = OPTION_NUMBER, .min = 1, .max = 1000,
 *          .offset = offsetof(struct prediction_args, top), .heading = "Output", .help = "..."},
 *     };
 *     const struct option_group prediction_options = OPTION_GROUP(prediction_rows);
 *
 * A command lists its groups, and where each group's struct lies in its own struct of arguments:
 *
 *     static const struct option_part parts[] = {
 *         {&prediction_options, offsetof(struct run_args, prediction)},
 *
 * The command line may be written --name VALUE, --name=VALUE, -n VALUE, -nVALUE and -qv for flags
 * without values; names are never abbreviated and `--` ends the options. Flags and lists may be
 * repeated; an option that takes one value is refused when it is given twice. A variable of the
 * environment stands for an option that is not given.
 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include "cmd/line/command.h"

#include "attn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values in the order given. Borrows the texts, owns the array. */
struct text_list {
    const char **items;
    size_t n;
};

/* Options by their names, in the order given. Borrows the texts, owns the array. */
struct named_list {
    struct attn_option *items;
    size_t n;
};

enum option_kind {
    OPTION_FLAG,   /* bool: present */
    OPTION_TEXT,   /* const char *: borrowed from the command line */
    OPTION_LIST,   /* struct text_list: every value */
    OPTION_NUMBER, /* int64_t: a whole number, min..max */
    OPTION_REAL,   /* double: finite, from min on, and below max unless that is 0 */
    OPTION_CHOICE, /* int: index of the value among the words of `argument`, "map|read" */
    OPTION_NAMED,  /* struct named_list: its name and value, beside those of its neighbours */
    OPTION_HELP,   /* prints the help and ends */
};

struct option {
    const char *name;        /* long name; NULL: the arguments that are no options (a list) */
    char letter;             /* short name, or 0 */
    const char *argument;    /* what its value is called; NULL for flags */
    const char *heading;     /* in the help, above it and its neighbours */
    const char *help;        /* any length; the help breaks its lines */
    const char *environment; /* variable that gives its default, or NULL */
    enum option_kind kind;
    size_t offset; /* of the value in the struct that its group fills */
    int64_t min, max;
};

/* Options that fill one struct: an array of rows, or a function that makes them. */
struct option_group {
    const struct option *rows; /* [n] in the order of the help */
    size_t n;
    bool (*make_row)(size_t i, struct option *row); /* the row I; false: there are I rows */
};

/* --sync, which all that write files have: sets is_synced of TYPE. */
#define OPTION_SYNC(title, type)                                                                   \
    {                                                                                              \
        .name = "sync", .heading = (title), .kind = OPTION_FLAG,                                   \
        .offset = offsetof(type, is_synced),                                                       \
        .help =                                                                                    \
            "wait until the disk has each file and its name: what is written survives a power "    \
            "failure"                                                                              \
    }

/* The group of an array of rows. */
#define OPTION_GROUP(array)                                                                        \
    {                                                                                              \
        .rows = (array), .n = sizeof(array) / sizeof((array)[0])                                   \
    }

/* A group among the options of a command. */
struct option_part {
    const struct option_group *group;
    size_t offset; /* of the group's struct in the command's struct of arguments */
};

/* --help, which fills nothing. Every command has it as its last group. */
extern const struct option_group help_options;

/*
 * A walk over all options of a command:
 *
 *     for (struct option_walk walk = {.command = command}; option_next(&walk);)
 *         puts(walk.option.name);
 */
struct option_walk {
    const struct command *command;
    size_t part, row;     /* the next one */
    size_t n;             /* options so far, this one with them */
    struct option option; /* this one; its offset is that in the command's struct of arguments */
};

/* Goes on to the first or next option. Returns whether there is one. */
bool option_next(struct option_walk *walk);

size_t options_count(const struct command *command);

enum { OPTIONS_OK = -1 };

/*
 * Stores what the command line says, and the environment where that says nothing, into ARGS, the
 * command's struct, which holds the defaults. Returns OPTIONS_OK, or the exit code when the command
 * is over: help was printed, or a mistake was reported.
 */
int options_parse(const struct command *command, int argc, char **argv, void *args);

/* The same, and in GIVEN [options_count(command)], all NULL before, the text of each option's
 * value, of a list the last, and "true" of a flag. Borrows from the command line and the
 * environment. */
int options_parse_noting(const struct command *command, int argc, char **argv, void *args,
                         const char **given);

/* The value that NAME was given, or NULL. */
const char *named_list_find(const struct named_list *list, const char *name);

void text_list_release(struct text_list *list);
void named_list_release(struct named_list *list);

#endif
