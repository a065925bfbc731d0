/* field_names.h - replaces field names in messages of the library by options. A message has a
 * field, sometimes with a value, in backquotes: "choose one, as with `heads 0.0`" becomes "choose
 * one, as with --heads 0.0". */
#pragma once

#include "cmd/line/command.h"

#include "tool.h"

/* Copies TEXT to OUT [size] with options instead of field names: of names in backquotes, and of a
 * name at the start that is followed by a colon ("heads: bad item '9.9'"). Fields that have no
 * option, other text in backquotes, and quoted texts of the user are not changed. A result that is
 * too long is cut. */
void field_names_show(const char *text, char *out, size_t size);

/* Returns true if TEXT has no field names, or if they are options of COMMAND, or fields "of a
 * run". */
bool field_names_fit(const char *text, const struct command *command);

/* Whether the option NAME fills a field of FIELDS, "heads|is_soft". */
bool field_names_have(const char *fields, const char *name);

/* Stores the command line ITEMS [n], borrowed, by which texts of the user are recognized. */
void field_names_set_arguments(char **items, int n);

/* Returns TEXT with options instead of field names, like field_names_show. TEXT must be valid
 * until the process ends, and the result is. */
const char *field_names_of_help(const char *text);
