/*
 * command.h - what a subcommand is: a name, its help, one table of options, and a function.
 *
 * To add one: write cmd/<name>.c that defines `const struct command command_<name>`, and add its
 * line to the list in main.c. Parsing and --help come from the table (options.h, help.h).
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include <stddef.h>

/* The codes a script may rely on; 128+n is a process ended by signal n. */
enum {
    EXIT_DONE = 0,
    EXIT_INTERNAL = 1, /* out of memory, a failure of our own */
    EXIT_USAGE = 2,    /* options and their values */
    EXIT_MODEL = 3,    /* model or vocabulary unreadable */
    EXIT_INPUT = 4,    /* the text or ids are invalid */
    EXIT_OUTPUT = 5,   /* output cannot be written */
};

struct option;

struct command {
    const char *name;
    const char *summary;          /* one line for the list of commands */
    const char *usage;            /* what follows the name: "[OPTIONS] TEXT" */
    const char *description;      /* paragraphs for --help, lines broken at 80 columns */
    const char *examples;         /* lines to paste */
    const struct option *options; /* [n_option] */
    size_t n_option;
    int (*main)(int argc, char **argv); /* arguments after the name; returns the exit code */
};

#endif
