/*
 * options.h - the options of a command, from which parsing, help, manual and completions come.
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
 * Every command also has --help, the last of its options.
 *
 * The command line may be written --name VALUE, --name=VALUE, -n VALUE, -nVALUE and -qv for flags
 * without values; names are never abbreviated and `--` ends the options. Flags and lists may be
 * repeated; an option that takes one value is refused when it is given twice. A variable of the
 * environment stands for an option that is not given.
 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include "cmd/line/command.h"

#include "extra.h"

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
    OPTION_KIND_FLAG,    /* bool: present */
    OPTION_KIND_TEXT,    /* const char *: borrowed from the command line */
    OPTION_KIND_LIST,    /* struct text_list: every value */
    OPTION_KIND_NUMBER,  /* int64_t: a whole number, min..max */
    OPTION_KIND_REAL,    /* double: finite, from min on, and below max unless that is 0 */
    OPTION_KIND_CHOICE,  /* int: index of the value among the words of `argument`, "map|read" */
    OPTION_KIND_NAMED,   /* struct named_list: its name and value; neighbours share the list */
    OPTION_KIND_HELP,    /* ends the reading */
    OPTION_KIND_HEADING, /* no option: the heading of the rows after it */
};

struct option {
    const char *name;        /* long name; NULL: the arguments that are no options (a list) */
    char letter;             /* short name, or 0 */
    const char *argument;    /* what its value is called; NULL for flags */
    const char *heading;     /* in the help, above it and its neighbours; rows get it from their
                                group, or from the last OPTION_HEADING */
    const char *help;        /* any length; the help breaks its lines */
    const char *environment; /* variable that gives its default, or NULL */
    enum option_kind kind;
    size_t offset; /* of the value in the struct that its group fills */
    int64_t min, max;
    const char
        *topic; /* of `help`, which explains it: the help of a command only names it; or NULL */
    unsigned traits; /* a set of enum option_trait; rows also have those of their group */
    unsigned media;  /* that it changes, a set of enum attn_medium; 0: all */
    const struct attn_param *param; /* which it sets, whatever its kind; or NULL */
};

/* The effects of an option on requests. */
enum option_trait {
    OPTION_SHAPES_TENSORS = 1 << 0,   /* changes tensors: outputs that list options list it */
    OPTION_SHAPES_GRADIENTS = 1 << 1, /* changes gradients: listed where there are some */
    OPTION_NOT_COMPARED = 1 << 2,     /* does not go together with --compare */
};

/* The rows of a group: (NAME, ARGUMENT, TYPE, MEMBER, HELP) is an option whose value goes into
 * MEMBER of TYPE. Flags and plain arguments lack one of these, numbers have their limits before the
 * help. What few options have follows the help: .letter = 'p', .environment = "ATTN_CLI_MODEL". */
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

/* The row of a group that fills no struct but one value, AT 0. */
#define OPTION_AT(which, word, what, at, ...)                                                      \
    {                                                                                              \
        .kind = OPTION_KIND_##which, .name = (word), .argument = (what), .offset = (at),           \
        .help = __VA_ARGS__                                                                        \
    }

/* --sync, which all that write files have. */
#define OPTION_SYNC(type)                                                                          \
    OPTION_FLAG("sync", type, is_synced,                                                           \
                "wait until the disk has each file and its name: what is written survives a "      \
                "power failure")

/* The heading of the rows after it, where a group has more than one. */
#define OPTION_HEADING(text)                                                                       \
    {                                                                                              \
        .kind = OPTION_KIND_HEADING, .heading = (text)                                             \
    }

struct option_group;

/* A group among the options of a command, or of a larger group. */
struct option_part {
    const struct option_group *group;
    size_t offset; /* of the group's struct in that of the command, or of the larger group */
};

/* Options that fill one struct: an array of rows, a function that makes them, parameters of the
 * library, or smaller groups, which have rows. */
struct option_group {
    const char *heading;       /* of its first rows; NULL: the one before */
    const struct option *rows; /* [n] in the order of the help */
    size_t n;
    bool (*make_row)(size_t i, struct option *row); /* the row I; false: there are I rows */
    const struct attn_param_list *params;
    size_t offset;       /* of the struct that `params` are about in the group's struct */
    bool is_of_question; /* the parameters of the command's question, which fill its arguments: */
    bool is_input;       /* those of its input, else the others */
    size_t request;      /* offset in the command's struct of the request that some of these fill */
    const struct option_part *parts; /* [n_part] */
    size_t n_part;
    unsigned traits; /* of all its rows */
};

/* The group of an array of rows; all of them have the traits of SET. */
#define OPTION_GROUP(title, array) OPTION_GROUP_WITH(0, title, array)
#define OPTION_GROUP_WITH(set, title, array)                                                       \
    {                                                                                              \
        .heading = (title), .rows = (array), .n = sizeof(array) / sizeof *(array), .traits = (set) \
    }

/* The groups of a command or of a larger group, among the fields of its struct. */
#define OPTION_PARTS(array) .parts = (array), .n_part = sizeof(array) / sizeof *(array)

/*
 * A walk over all options of a command:
 *
 *     for (struct option_walk walk = {.command = command}; option_next(&walk);)
 *         puts(walk.option.name);
 */
struct option_walk {
    const struct command *command;
    size_t part, sub;     /* the group, and the smaller one in it */
    size_t row;           /* the next one */
    const char *heading;  /* of the rows here */
    const char *shown;    /* the heading of the last named option */
    bool begins;          /* this one is named, and the first below its heading */
    size_t n;             /* options so far, this one with them */
    struct option option; /* this one; its offset is that in the command's struct of arguments */
};

/* Moves to the first or next option. Returns whether there is one. */
bool option_next(struct option_walk *walk);

size_t options_count(const struct command *command);

/* Whether COMMAND has the option NAME. */
bool option_is_of(const struct command *command, const char *name);

/* Parses the command line of CALL into CALL->args, the command's struct, which holds the defaults,
 * and the texts of the values into CALL->given [options_count], all NULL before. A variable of the
 * environment replaces an option that is not given. Borrows the command line and the environment.
 * Ends early at --help and sets CALL->help. */
enum attn_status options_parse(struct call *call, struct attn_error *err);

/* Frees the lists that options_parse filled. */
void options_release(struct call *call);

/* Which of the words of LIST, "map|read", WORD is; -1: none. */
int word_find(const char *list, const char *word);

bool text_ends_in(const char *text, const char *ending);

/* Whether the parameter NAME, "merge_words", is given on the command line of USER, a struct call; a
 * word that is the default is not. An attn_param_given_fn. */
bool option_is_param_given(void *user, const char *name);

/* The text of the option NAME on the command line of CALL, or NULL. */
const char *option_text(const struct call *call, const char *name);

/* Writes the help of OPTION to TEXT [size]. */
void option_help(const struct option *option, char *text, size_t size);

/* The first option of LIST, "probe|texts", that the command line of CALL has, or NULL. */
const char *option_find_given(const struct call *call, const char *list);

/* The first option below a heading of HEADINGS, "Input|Items", that the command line of CALL has,
 * unless its name is in the list EXCEPT; or NULL. */
const char *option_find_under(const struct call *call, const char *headings, const char *except);

/* The value that NAME was given, or NULL. */
const char *named_list_find(const struct named_list *list, const char *name);

void text_list_release(struct text_list *list);

#endif
