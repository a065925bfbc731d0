/* field_names.h - writes field names in messages of the library as options. A message names a
 * field, perhaps with a value, in backquotes: "choose one, as with `heads 0.0`" becomes "choose
 * one, as with --heads 0.0". */
#ifndef CMD_FIELD_NAMES_H
#define CMD_FIELD_NAMES_H

#include "cmd/line/command.h"

#include "extra.h"

/* Copies TEXT to OUT [size] with options instead of fields: of those in backquotes, and of one that
 * TEXT begins with and a colon follows ("heads: bad item '9.9'"). Fields without an option, other
 * backquotes and quoted texts of the user stay as they are. A result that is too long is cut. */
void field_names_show(const char *text, char *out, size_t size);

/* Whether TEXT has no fields, or one that is an option of COMMAND, or one "of a run". */
bool field_names_fit(const char *text, const struct command *command);

/* Tells texts of the user from fields by ITEMS [n], the command line; borrowed. */
void field_names_set_arguments(char **items, int n);

/* The same for TEXT, which must stay valid until the process ends, and so does the result. */
const char *field_names_of_help(const char *text);

/* attn_format_list, as the command line names the formats. */
void field_names_list(attn_format_fn is_listed, const char *last, char *out, size_t size);

#endif
