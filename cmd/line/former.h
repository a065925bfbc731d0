/* former.h - options of version 0.3.0 that are written differently now. For one release they are
 * refused with a hint that shows the new form. */
#ifndef CMD_FORMER_H
#define CMD_FORMER_H

#include "cmd/line/command.h"

#include <stdbool.h>
#include <stddef.h>

enum { FORMER_HINT_SIZE = 160 };

/* Writes to HINT the new form of the option NAME [size] of COMMAND, such as "dpi". VALUE, unless
 * NULL, is inserted for its placeholder. Returns false if the option has no new form. */
bool former_hint(const struct command *command, const char *name, size_t size, const char *value,
                 char hint[FORMER_HINT_SIZE]);

/* Returns what replaces the command NAME that is no more, or NULL. */
const char *former_command(const char *name);

#endif
