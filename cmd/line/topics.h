/* topics.h - what several commands have in common, explained once. */
#ifndef CMD_TOPICS_H
#define CMD_TOPICS_H

#include "cmd/line/options.h"

#include "extra.h"

#include <stdbool.h>
#include <stddef.h>

enum { TOPIC_NAME_SIZE = 64, TOPIC_HINT_SIZE = 160 };

/* A line of a topic's table. */
struct topic_row {
    char name[TOPIC_NAME_SIZE]; /* the explained name */
    const char *text;           /* any length */
};

/* What several commands have in common, explained once: attn-cli help TOPIC, and a section of the
 * manual page. To add one: write its row in topics.c. */
struct topic {
    const char *name;             /* the argument of `help` */
    const char *summary;          /* one line for the list of topics */
    const char *text;             /* paragraphs, lines broken at 80 columns */
    const char *const (*rows)[2]; /* [n_row] after the text, each a name and a text; or NULL */
    size_t n_row;
    bool (*make_row)(size_t i, struct topic_row *row); /* instead of `rows`: sets row I; false after
                                                          the last; or NULL */
    size_t column;                                     /* in which the text of a row begins */
    const char *heading;  /* the options below this heading of any command follow; or NULL */
    const char *examples; /* lines to paste */
};

/* A walk over the options of a topic: each name and help once. Begin with {0}. */
struct topic_walk {
    size_t command;
    struct option_walk options;
    struct option
        option; /* this one; its help ends with the commands that have it, if not all do */
    char help[1024];
};

/* All of them, in the order of the help. */
extern const struct topic topics[];
extern const size_t n_topic;

/* Sets row I of TOPIC; false after the last. */
bool topic_row(const struct topic *topic, size_t i, struct topic_row *row);

/* The topic NAME, or NULL. */
const struct topic *topic_find(const char *name);

/* The name of the topic that has the options below HEADING, or NULL. */
const char *topic_of_heading(const char *heading);

/* Writes into HINT which topic or chapter of the manual NAME, "gguf", is about, and the command
 * that shows more. Returns whether there is one. */
bool topic_hint(const char *name, char hint[TOPIC_HINT_SIZE]);

/* Moves to the first or next option of TOPIC. Returns whether there is one. */
bool topic_option_next(const struct topic *topic, struct topic_walk *walk);

/* Prints TOPIC as the help has it. */
void topic_print(struct attn_sink *out, const struct topic *topic);

#endif
