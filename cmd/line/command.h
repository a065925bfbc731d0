/* command.h - a subcommand: a name, its help, one table of options, and a function. To add one:
 * write cmd/<name>.c that defines `const struct command command_<name>`, and add its line to the
 * list in command.c. Parsing and --help come from its options (options.h, help.h). A question of
 * the library has a command without a file; one that does more than ask has a file and a line. */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include "attn.h"

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

struct attn_question;
struct option_part;
struct option_walk;
struct call;

struct command {
    const char *name;
    const struct attn_question *question; /* its summary and description; or NULL: */
    const char *summary;                  /* one line for the list of commands */
    const char *usage;                    /* the arguments: "[OPTIONS] TEXT" */
    const char *description;              /* paragraphs for --help, lines broken at 80 columns */
    const char *examples;                 /* lines to paste; NULL: those of the question */
    const struct option_part *parts;      /* [n_part] its options */
    size_t n_part;
    const char *lacks;    /* options of these groups that it cannot use, "image|label"; or NULL */
    const char *older;    /* "similarity=pairs": the option without one of its words meant the flag
                             in an older version; or NULL */
    size_t args_size;     /* of its struct of arguments, which the options fill; those of its
                             question follow */
    const void *defaults; /* [args_size] its values before parsing; NULL: zeros */
    /* Performs CALL and prints on CALL->out. Frees its own memory. */
    enum attn_status (*work)(struct call *call, struct attn_error *err);
};

/* Help that a command line asks for. */
enum call_help { CALL_HELP_NONE, CALL_HELP_WHOLE, CALL_HELP_BRIEF };

/* A command that is running; main.c fills it. */
struct call {
    const struct command *command;
    char **argv;        /* [argc] after the command's name */
    int argc, n_read;   /* n_read: arguments that were parsed */
    void *args;         /* [args_size] the command's struct of arguments */
    void *how;          /* the arguments of its question, which follow; or NULL */
    const char **given; /* [options_count] the text of each option's value, of a list the last,
                           "true" of a flag; or NULL */
    struct option_walk *found; /* [n_found] the options that have a value, as a walk meets them, in
                                  the order of the command line */
    size_t n_found;
    struct attn_sink *out; /* standard output */
    enum call_help help;
    int exit_code;       /* after success; EXIT_DONE unless the command changes it */
    char last_note[128]; /* a note after a failure, or "" */
};

/* Command I in the order of the help; NULL after the last one. */
const struct command *command_at(size_t i);

/* The commands that only ask a question (args/question.c), one for each of ATTN_QUESTION_MAP. */
extern const struct command question_commands[];

/* Its summary; its description and examples, or NULL, with the names of options. Kept. */
const char *command_summary(const struct command *command);
const char *command_description(const struct command *command);
const char *command_examples(const struct command *command);

/* What it cannot use, or NULL. */
const char *command_lacks(const struct command *command);

/* The command NAME, or NULL. */
const struct command *command_find(const char *name);

/* Refuses the unknown NAME, with a hint. WHAT is "command" or "option". */
enum attn_status command_refuse_unknown(const char *what, const char *name, struct attn_error *err);

#endif
