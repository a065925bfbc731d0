/* help.h - help texts, made from the tables of commands and options; 80 columns. */
#ifndef CMD_HELP_H
#define CMD_HELP_H

#include "command.h"

#include "attn.h"

void help_command(struct attn_sink *out, const struct command *command);

/* One row: NAME padded to a column, then TEXT with its lines broken and indented. */
void help_row(struct attn_sink *out, const char *name, const char *text, size_t column);

#endif
