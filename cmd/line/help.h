/* help.h - help texts, 80 columns wide: of the program and of commands, made from these and their
 * options. */
#ifndef CMD_HELP_H
#define CMD_HELP_H

#include "cmd/line/command.h"
#include "cmd/line/options.h"

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

/* One option: its names and argument, then its help. */
void help_option(struct attn_sink *out, const struct option *option);

/* Writes "--scale, --eps" into NAMES [size]: the options below the heading of WALK that a topic
 * explains. WALK is at the first option of the heading. Returns the topic's name, or NULL. */
const char *help_list_explained(const struct option_walk *walk, char *names, size_t size);

#endif
