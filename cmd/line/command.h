/* command.h - a subcommand: a name, its help, its options, and a function. To add one: write
 * cmd/<name>.c that defines `const struct command command_<name>`, and add its row to the table in
 * command.c. Its options are used for parsing and for --help (options.h, help.h). Each question of
 * the library has a command, even without a file; a command that does more than ask the question
 * has a file and is in the list. */
#pragma once

#include "tool.h"

#include <stddef.h>

/* Exit codes that scripts can rely on. A process that signal n ends has 128 + n. X(NAME, code,
 * text, whether the same command may succeed later) */
#define EXIT_MAP(X)                                                                                \
    X(DONE, 0, "done", false)                                                                      \
    X(INTERNAL, 1, "internal failure", false)                                                      \
    X(USAGE, 2, "usage: options and their values", false)                                          \
    X(MODEL, 3, "model or vocabulary unreadable", false)                                           \
    X(INPUT, 4, "invalid input: text, ids or arrays", false)                                       \
    X(OUTPUT, 5, "output cannot be written", true)                                                 \
    X(FAILED_ITEMS, 6, "items failed", false)                                                      \
    X(CHECK, 7, "a check failed", false)                                                           \
    X(MEMORY, 8, "out of memory", true)

enum {
#define EXIT_ENUM(name, code, text, may_retry) EXIT_##name = (code),
    EXIT_MAP(EXIT_ENUM)
#undef EXIT_ENUM
};

struct attn_question;
struct attn_sink;
struct option_walk;
struct question;
struct call;

/* A table of a command without a question, for help --json. */
struct command_table {
    struct attn_table *table; /* empty */
    const char *when;         /* the option that gives it; or NULL */
    bool has_row_types;       /* rows are written with a column row_type, which the table lacks */
};

struct command {
    const char *name;
    /* gives the summary and the description that the next members lack; or NULL */
    const struct attn_question *question;
    const char *summary;     /* one line for the list of commands; or NULL */
    const char *usage;       /* the arguments: "[OPTIONS] TEXT" */
    const char *ways;        /* options that ask another question, for the first screen:
                                "--compare, --live"; or NULL */
    const char *description; /* paragraphs for --help, with lines of at most 80 columns */
    const char *examples;    /* command lines to paste; NULL: the examples of the question */
    const struct attn_param_part *parts; /* [n_part] its options (option.h) */
    size_t n_part;
    /* options of these parts that the command doesn't have, "image|label", or plain arguments,
     * "TEXT"; its question's own stay; or NULL */
    const char *lacks;
    const char *lacks_own;     /* options of its question that it doesn't have; or NULL */
    const char *lacks_columns; /* of the question's table, which it never writes; or NULL */
    const char *plain; /* the parameter that a plain argument is the value of, "probe"; or NULL */
    /* size of its struct of arguments, which the options fill; the arguments of its question
     * follow */
    size_t args_size;
    const void *defaults; /* [args_size] values before parsing; NULL: zeros */
    /* Performs CALL and prints to CALL->out. It frees the memory that it allocates. */
    enum attn_status (*work)(struct call *call, struct attn_error *err);
    /* Instead of `work`, for arguments that begin with a struct question_args: computes and writes
     * the answer (args/question.h). */
    enum attn_status (*ask)(struct question *question, struct attn_error *err);
    /* For a command without a question: fills SHOWN with table I, whose columns help --json lists.
     * After the last one `table` is NULL. NULL: none */
    enum attn_status (*tabulate)(size_t i, struct command_table *shown, struct attn_error *err);
    void (*print_sites)(struct attn_sink *out); /* prints the list of --sites help; or NULL */
    size_t own_size;                            /* size of the data of `ask`, zeros at first */
    void (*release)(void *own);                 /* frees them; or NULL */
};

/* Where the value of an option is from. */
enum call_origin {
    CALL_ORIGIN_NONE, /* it has its default */
    CALL_ORIGIN_COMMAND_LINE,
    CALL_ORIGIN_OFF,      /* --no-NAME on the command line */
    CALL_ORIGIN_VARIABLE, /* of the environment */
    CALL_ORIGIN_FILE,     /* of ATTN_CLI_CONFIG */
};

struct call_source {
    enum call_origin origin;
    const char *label; /* the option in messages, where it is no option of the command line:
                          "ATTN_CLI_STYLE dpi", "FILE:3"; or NULL */
};

/* Help that a command line asks for: --help, with all options in full, or -h. */
enum call_help { CALL_HELP_NONE, CALL_HELP_OWN, CALL_HELP_WHOLE, CALL_HELP_BRIEF };

/* The state of a command that is run. main.c fills it. */
struct call {
    const struct command *command;
    char **argv;        /* [argc] after the command's name */
    int argc, n_read;   /* n_read: arguments that were parsed */
    char **made;        /* owns; `argv` if it was made; or NULL */
    bool takes_file;    /* a plain argument is a file */
    void *args;         /* [args_size] the command's struct of arguments */
    void *how;          /* the arguments of its question, which follow; or NULL */
    const char **given; /* [options_count] the text of each option's value, of a list the last,
                           "true" of a flag; or NULL */
    struct call_source *sources; /* [options_count] */
    char **kept;                 /* [n_kept] owns; texts that values and labels are part of */
    size_t n_kept;
    struct option_walk *found; /* [n_found] the options that have a value, as a walk meets them, in
                                  the order of the command line */
    size_t n_found;
    struct attn_buffer key; /* owns; the options that decide the rows of items, a line each */
    struct attn_sink *out;  /* standard output */
    bool has_file;          /* `out` is a file, which appears when the command is done */
    enum call_help help;
    int exit_code;       /* exit code on success; EXIT_DONE unless the command changes it */
    char last_note[128]; /* a note to print after a failure, or "" */
};

/* Returns command I in the order of the help; NULL after the last one. */
const struct command *command_at(size_t i);

/* The groups of commands in the order of the help, up to NULL; the group of command I; and what
 * that is for, in at most four words. */
extern const char *const command_groups[];
const char *command_group_at(size_t i);
const char *command_words_at(size_t i);

/* The commands that only ask a question (args/question.c), one for each question of
 * ATTN_QUESTION_MAP (parts.h). */
extern const struct command question_commands[];

/* Return the summary of COMMAND, its description, and its examples, or NULL. They have names of
 * options instead of fields, and are valid until the process ends. */
const char *command_summary(const struct command *command);
const char *command_description(const struct command *command);
const char *command_example_lines(const struct command *command);

/* Returns the options that COMMAND doesn't have (`lacks`), or NULL. */
const char *command_lacks(const struct command *command);

/* Returns the command NAME; NULL if there is none. */
const struct command *command_find(const char *name);

/* Refuses the unknown NAME and sets a hint. WHAT is "command", "option" or "command or topic". */
enum attn_status command_refuse_unknown(const char *what, const char *name, struct attn_error *err);
