/* topics.h - help topics, which explain what several commands have in common. */
#pragma once

#include "cmd/line/options.h"

#include "extra.h"

#include <stdbool.h>
#include <stddef.h>

enum { TOPIC_NAME_SIZE = 64, TOPIC_HINT_SIZE = 160 };

/* A row in the table of a topic. */
struct topic_row {
    char name[TOPIC_NAME_SIZE]; /* the name that is explained */
    const char *text;           /* any length */
    char own[TOPIC_NAME_SIZE];  /* room for a text that is made */
};

/* A topic explains what several commands have in common. It is printed by attn-cli help TOPIC, and
 * is a section of the manual page. To add one, write its row in topics.c. */
struct topic {
    const char *name;             /* the argument of `help` */
    const char *summary;          /* one line for the list of topics */
    const char *text;             /* paragraphs, with lines of at most 80 columns */
    const char *const (*rows)[2]; /* [n_row] rows after the text, each a name and a text; or NULL */
    size_t n_row;
    /* instead of `rows`: sets row I; returns false after the last; or NULL */
    bool (*make_row)(size_t i, struct topic_row *row);
    size_t column; /* column where the texts of rows begin */
    /* the options under this heading in any command are listed, too; or NULL */
    const char *heading;
    const char *examples; /* command lines to paste */
};

/* An iterator over the options of a topic. Options with the same name and help come once.
 * Initialize with {0}. */
struct topic_walk {
    size_t command;
    struct option_walk options; /* at this one */
    char help[1024]; /* the option's, which ends with the commands that have it, unless all do */
};

/* All topics, in the order of the help. */
extern const struct topic topics[];
extern const size_t n_topic;

/* Sets *row to row I of TOPIC. Returns false after the last. */
bool topic_row(const struct topic *topic, size_t i, struct topic_row *row);

/* Returns the topic NAME, or the one that the chapter NAME of the manual leads to; NULL if there is
 * none. */
const struct topic *topic_find(const char *name);

/* Whether the help of the command says in full what OPTION does: no topic explains its heading, or
 * no other command has this option there. */
bool topic_is_own(const struct option_walk *option);

/* Returns the name of the topic with the options under HEADING; NULL if there is none. */
const char *topic_of_heading(const char *heading);

/* If NAME, such as "gguf", is the name of a topic or of a chapter of the manual, writes to HINT
 * what it is about and which command shows more. Returns false if it is not. */
bool topic_hint(const char *name, char hint[TOPIC_HINT_SIZE]);

/* Moves to the first or next option of TOPIC. Returns false after the last. */
bool topic_option_next(const struct topic *topic, struct topic_walk *walk);

/* Prints TOPIC as in the help. */
void topic_print(struct attn_sink *out, const struct topic *topic);
