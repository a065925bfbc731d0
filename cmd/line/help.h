/* help.h - help texts, made from commands and their options; 80 columns. */
#ifndef CMD_HELP_H
#define CMD_HELP_H

#include "cmd/line/command.h"

#include "extra.h"

#include <stdbool.h>

/*
 * Prints the help of COMMAND, or with NULL that of the program, on standard output: the whole, or
 * what fits twenty lines, three examples and the names of what there is. Reports and returns an
 * exit code.
 */
int help_print(const struct command *command, bool is_brief);

/* One row: NAME padded to a column, then TEXT with its lines broken and indented. */
void help_row(struct attn_sink *out, const char *name, const char *text, size_t column);

/* Whether VALUE of an option, which may be NULL, asks what values there are. */
bool help_is_asked(const char *value);

#endif
