/* help.h - prints help texts, 80 columns wide: of the program, and of commands and their
 * options. */
#ifndef CMD_HELP_H
#define CMD_HELP_H

#include "cmd/line/command.h"
#include "cmd/line/options.h"

#include "extra.h"

#include <stdbool.h>
#include <stddef.h>

/* Prints the help of COMMAND; of the program if COMMAND is NULL. If IS_BRIEF, prints only about
 * twenty lines: three examples and a list of names. */
void help_print(struct attn_sink *out, const struct command *command, bool is_brief);

/* Prints a row: NAME, padded to COLUMN, followed by TEXT, whose lines are wrapped and indented. */
void help_row(struct attn_sink *out, const char *name, const char *text, size_t column);

/* Returns true if VALUE of an option is `help`, which asks for its values. VALUE may be NULL. */
bool help_is_asked(const char *value);

/* Prints an option: its names and its argument, followed by its help. */
void help_option(struct attn_sink *out, const struct option *option);

/* Some options under a heading are explained in a topic. Writes their names, such as "--scale,
 * --eps", to NAMES [size]. WALK must be at the first option of the heading. Returns the name of the
 * topic; NULL if there are no such options. */
const char *help_list_explained(const struct option_walk *walk, char *names, size_t size);

#endif
