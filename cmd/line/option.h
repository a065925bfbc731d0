/*
 * option.h - the options of a command, from which parsing, help, manual and completions come.
 *
 * Options come in groups. A group fills one struct, and several commands may have it:
 *
 *     static const struct option prediction_rows[] = {
 *         OPTION_NUMBER("top", "K", struct prediction_args, top, 1, 1000, "print the K most ..."),
 *     };
 *     const struct option_group prediction_options = OPTION_GROUP("Output", prediction_rows);
 *
 * A command lists its groups, and where each group's struct lies in its own struct of arguments:
 *
 *     static const struct option_part parts[] = {
 *         {&prediction_options, offsetof(struct run_args, prediction)},
 *     };
 *     const struct command command_run = {.name = "run", OPTION_PARTS(parts), .work = run};
 *
 * Every command also has --help as its last option.
 */
#ifndef CMD_OPTION_H
#define CMD_OPTION_H

#include "extra.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct command;

enum option_kind {
    OPTION_KIND_FLAG,     /* bool: present */
    OPTION_KIND_TEXT,     /* const char *: borrowed from the command line */
    OPTION_KIND_LIST,     /* struct text_list: every value */
    OPTION_KIND_NUMBER,   /* int64_t: a whole number, min..max */
    OPTION_KIND_REAL,     /* double: finite, from min on, and below max unless that is 0 */
    OPTION_KIND_CHOICE,   /* int: index of the value among the words of `argument`, "map|read" */
    OPTION_KIND_NAMED,    /* struct named_list: its name and value; neighbours share the list */
    OPTION_KIND_SETTINGS, /* no value of its own: those of its settings */
    OPTION_KIND_HELP,     /* ends the reading */
    OPTION_KIND_HEADING,  /* no option: the heading of the rows after it */
};

struct option {
    const char *name; /* long name; NULL: it stands for arguments that are not options (a list) */
    char letter;      /* short name, or 0 */
    const char *argument; /* placeholder of the value; NULL for flags */
    /* heading in the help; it comes from the group, or from the last OPTION_HEADING */
    const char *heading;
    const char *help;        /* any length; the lines are wrapped when printed */
    const char *environment; /* environment variable for its default, or NULL */
    enum option_kind kind;
    size_t offset; /* offset of the value in the struct of its group */
    int64_t min, max;
    const char *of;  /* the option whose setting it is, "style": --style 'dpi=300'; or NULL */
    unsigned traits; /* a set of enum option_trait; rows also have those of their group */
    unsigned media;  /* that it changes, a set of enum attn_medium; 0: all */
    const struct attn_param *param; /* which it sets, whatever its kind; or NULL */
};

/* What an option affects. */
enum option_trait {
    OPTION_SHAPES_TENSORS = 1 << 0, /* changes tensors: outputs that list options include it */
    /* changes gradients: they include it if there are gradients */
    OPTION_SHAPES_GRADIENTS = 1 << 1,
    OPTION_NOT_COMPARED = 1 << 2, /* cannot be combined with --compare */
};

/* Rows of a group. (NAME, ARGUMENT, TYPE, MEMBER, HELP) is an option whose value is stored in
 * MEMBER of the struct TYPE. Flags have no ARGUMENT and plain arguments no NAME; numbers have their
 * limits before HELP. Further members of struct option may follow: .letter = 'p', .environment =
 * "ATTN_CLI_MODEL". */
#define OPTION_TEXT(...) OPTION_ROW(TEXT, __VA_ARGS__)
#define OPTION_LIST(...) OPTION_ROW(LIST, __VA_ARGS__)
#define OPTION_REAL(...) OPTION_ROW(REAL, __VA_ARGS__)
#define OPTION_CHOICE(...) OPTION_ROW(CHOICE, __VA_ARGS__)
#define OPTION_NAMED(...) OPTION_ROW(NAMED, __VA_ARGS__)
#define OPTION_FLAG(word, ...) OPTION_ROW(FLAG, word, NULL, __VA_ARGS__)
#define OPTION_PLAIN(...) OPTION_ROW(LIST, NULL, __VA_ARGS__)
#define OPTION_NUMBER(word, what, type, member, least, largest, ...)                               \
    OPTION_ROW(NUMBER, word, what, type, member, __VA_ARGS__, .min = (least), .max = (largest))

#define OPTION_ROW(which, word, what, type, member, ...)                                           \
    OPTION_AT(which, word, what, offsetof(type, member), __VA_ARGS__)

/* A row of a group without a struct: the value itself is at offset AT, which is 0. */
#define OPTION_AT(which, word, what, at, ...)                                                      \
    {                                                                                              \
        .kind = OPTION_KIND_##which, .name = (word), .argument = (what), .offset = (at),           \
        .help = __VA_ARGS__                                                                        \
    }

/* --sync, an option of all commands that write files. */
#define OPTION_SYNC(type)                                                                          \
    OPTION_FLAG("sync", type, is_synced,                                                           \
                "wait until the disk has each file and its name: what is written survives a "      \
                "power failure")

/* The heading of the rows that follow, in a group with more than one heading. */
#define OPTION_HEADING(text)                                                                       \
    {                                                                                              \
        .kind = OPTION_KIND_HEADING, .heading = (text)                                             \
    }

struct option_group;

/* A group among the options of a command or of a larger group. */
struct option_part {
    const struct option_group *group;
    /* offset of the group's struct in the struct of the command or of the larger group */
    size_t offset;
};

/* The options that fill one struct. They are an array of rows, or are made by a function, or come
 * from parameters of the library, or from smaller groups, which have rows. */
struct option_group {
    const char *heading;       /* heading of its first rows; NULL: the heading before */
    const struct option *rows; /* [n] in the order of the help */
    size_t n;
    /* sets *row to row I; returns false if there are only I rows */
    bool (*make_row)(size_t i, struct option *row);
    const struct attn_param_list *params;
    size_t offset; /* offset in the group's struct of the struct that `params` fill */
    /* the options are parameters of the command's question, and fill its arguments */
    bool is_of_question;
    bool is_input; /* with is_of_question: those of its input; else the others */
    /* with is_of_question: offset of the request, which some of these fill, in the command's
     * struct */
    size_t request;
    const struct option_part *parts; /* [n_part] */
    size_t n_part;
    unsigned traits; /* traits of all its rows */
};

/* A group with an array of rows. SET is the traits of all rows. */
#define OPTION_GROUP(title, array) OPTION_GROUP_WITH(0, title, array)
#define OPTION_GROUP_WITH(set, title, array)                                                       \
    {                                                                                              \
        .heading = (title), .rows = (array), .n = sizeof(array) / sizeof *(array), .traits = (set) \
    }

/* The members of a command or of a larger group that list its groups. */
#define OPTION_PARTS(array) .parts = (array), .n_part = sizeof(array) / sizeof *(array)

/*
 * An iterator over all options of a command:
 *
 *     for (struct option_walk walk = {.command = command}; option_next(&walk);)
 *         puts(walk.option.name);
 */
struct option_walk {
    const struct command *command;
    size_t part, sub;     /* index of the group, and of the subgroup in it */
    size_t row;           /* index of the next row */
    const char *heading;  /* heading of the current rows */
    const char *shown;    /* heading of the last option that has a name */
    bool begins;          /* this option is the first one with a name under its heading */
    size_t n;             /* number of options so far, including this one */
    struct option option; /* this option; its offset is that in the command's struct of arguments */
};

/* Moves to the first or next option. Returns false after the last. */
bool option_next(struct option_walk *walk);

size_t options_count(const struct command *command);

/* Whether COMMAND has the option or the setting NAME. */
bool option_is_of(const struct command *command, const char *name);

/* Whether OPTION of COMMAND has settings. */
bool option_has_settings(const struct command *command, const struct option *option);

enum { OPTION_LABEL_SIZE = 64 };

/* Writes the name of OPTION to LABEL, which is returned: "--load", "--style dpi". */
const char *option_label(const struct option *option, char label[OPTION_LABEL_SIZE]);

/* Writes the help of OPTION to TEXT [size], with the names of its settings if it is one of COMMAND;
 * COMMAND may be NULL. */
void option_help(const struct option *option, const struct command *command, char *text,
                 size_t size);

#endif
