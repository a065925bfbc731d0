/* foreign_names.h - options of other programs: they are refused with a hint that shows ours. */
#ifndef CMD_FOREIGN_NAMES_H
#define CMD_FOREIGN_NAMES_H

#include "cmd/line/command.h"

#include <stdbool.h>
#include <stddef.h>

enum { FOREIGN_HINT_SIZE = 160 };

/* Writes to HINT our form of the option NAME [size] of COMMAND, such as "dpi". VALUE, unless
 * NULL, is inserted for its placeholder. Returns false if we know none. */
bool foreign_hint(const struct command *command, const char *name, size_t size, const char *value,
                  char hint[FOREIGN_HINT_SIZE]);

#endif
