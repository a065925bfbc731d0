/* help.h - prints help texts, 80 columns wide: of the program, and of commands and their
 * options. */
#pragma once

#include "cmd/line/command.h"
#include "cmd/line/options.h"
#include "cmd/line/topics.h"

#include "extra.h"

#include <stdbool.h>
#include <stddef.h>

/* Prints the help of COMMAND; of the program if COMMAND is NULL. CALL_HELP_OWN prints a line for
 * each group of options that other commands have, too; CALL_HELP_BRIEF only about twenty lines:
 * three examples and a list of names. */
void help_print(struct attn_sink *out, const struct command *command, enum call_help kind);

/* Prints a row: NAME, padded to COLUMN, followed by TEXT, whose lines are wrapped and indented. */
void help_row(struct attn_sink *out, const char *name, const char *text, size_t column);

/* Sets *row to variable I of the environment that the program reads: those of options, then others.
 * Returns false after the last. */
bool help_variable(size_t i, struct topic_row *row);

/* Returns true if VALUE of an option is `help`, which asks for its values. VALUE may be NULL. */
bool help_is_asked(const char *value);

/* Prints the option, or setting, of WALK: its names and argument, then HELP. */
void help_option(struct attn_sink *out, const struct option_walk *walk, const char *help);
