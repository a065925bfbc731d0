/* help.h - help texts, 80 columns wide: of the program and of commands, made from these and their
 * options, and of topics. */
#ifndef CMD_HELP_H
#define CMD_HELP_H

#include "cmd/line/command.h"

#include "extra.h"

#include <stdbool.h>
#include <stddef.h>

/* Prints the help of COMMAND, or of the program for NULL; IS_BRIEF: twenty lines with three
 * examples and a list of names. */
void help_print(struct attn_sink *out, const struct command *command, bool is_brief);

/* One row: NAME padded to a column, then TEXT with its lines broken and indented. */
void help_row(struct attn_sink *out, const char *name, const char *text, size_t column);

/* Whether VALUE of an option, which may be NULL, asks what values there are. */
bool help_is_asked(const char *value);

enum { TOPIC_NAME_SIZE = 64 };

/* A line of a topic's table. */
struct topic_row {
    char name[TOPIC_NAME_SIZE]; /* the explained name */
    const char *text;           /* any length */
};

/* What several commands have in common, explained once: attn-cli help TOPIC, and a section of the
 * manual page. To add one: write its row in help.c. */
struct topic {
    const char *name;    /* the argument of `help` */
    const char *summary; /* one line for the list of topics */
    const char *text;    /* paragraphs, lines broken at 80 columns */
    bool (*make_row)(
        size_t i,
        struct topic_row *row); /* sets row I after the text; false after the last; or NULL */
    size_t column;              /* in which the text of a row begins */
    const char *examples;       /* lines to paste */
};

/* All of them, in the order of the help. */
extern const struct topic topics[];
extern const size_t n_topic;

/* The topic NAME, or NULL. */
const struct topic *topic_find(const char *name);

/* Prints TOPIC as the help has it. */
void topic_print(struct attn_sink *out, const struct topic *topic);

#endif
