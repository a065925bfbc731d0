/*
 * topic.h - what several commands have in common, explained once: attn-cli help TOPIC, and a
 * section of the manual page.
 *
 * To add one: write its row in topic.c.
 */
#ifndef CMD_TOPIC_H
#define CMD_TOPIC_H

#include "extra.h"

#include <stdbool.h>
#include <stddef.h>

enum { TOPIC_NAME_SIZE = 64 };

/* A line of a topic's table. */
struct topic_row {
    char name[TOPIC_NAME_SIZE]; /* what is explained */
    const char *text;           /* any length */
};

struct topic {
    const char *name;                                  /* what follows `help` */
    const char *summary;                               /* one line for the list of topics */
    const char *text;                                  /* paragraphs, lines broken at 80 columns */
    bool (*make_row)(size_t i, struct topic_row *row); /* the row I behind the text; false: there
                                                          are I rows. NULL: none */
    size_t column;                                     /* in which the text of a row begins */
    const char *examples;                              /* lines to paste */
};

/* All of them, in the order of the help. */
extern const struct topic topics[];
extern const size_t n_topic;

/* The topic NAME, or NULL. */
const struct topic *topic_find(const char *name);

/* Prints TOPIC as the help has it. */
void topic_print(struct attn_sink *out, const struct topic *topic);

#endif
