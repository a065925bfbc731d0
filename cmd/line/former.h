/* former.h - options of version 0.3.0 that have another form now. They are refused with this form
 * as a hint, for one release. */
#ifndef CMD_FORMER_H
#define CMD_FORMER_H

#include "cmd/line/command.h"

#include <stdbool.h>
#include <stddef.h>

enum { FORMER_HINT_SIZE = 160 };

/* Writes into HINT the new form of the option NAME [size] of COMMAND, "dpi", with VALUE instead of
 * its placeholder unless VALUE is NULL. Returns whether the option had another form. */
bool former_hint(const struct command *command, const char *name, size_t size, const char *value,
                 char hint[FORMER_HINT_SIZE]);

#endif
