/*
 * field_names.h - what the library calls fields, in the words of the command line. Its texts name a
 * field of what a caller fills, maybe with a value, in backquotes: "choose one, as with
 * `heads 0.0`". Here that reads "choose one, as with --heads 0.0".
 */
#ifndef CMD_FIELD_NAMES_H
#define CMD_FIELD_NAMES_H

#include "extra.h"

/*
 * Copies TEXT to OUT [size] with options instead of fields: of those in backquotes, and of one that
 * TEXT begins with and a colon follows ("heads: bad item '9.9'"). Fields without an option, other
 * backquotes and quoted texts of the user stay as they are. A result that is too long is cut.
 */
void field_names_show(const char *text, char *out, size_t size);

/* Tells texts of the user from fields by ITEMS [n], the command line; borrowed. */
void field_names_set_arguments(char **items, int n);

/* TEXT, which lives as long as the process, likewise; and so long does the result. */
const char *field_names_of_help(const char *text);

/* attn_format_list, as the command line names the formats. */
void field_names_list(attn_format_fn is_listed, const char *last, char *out, size_t size);

#endif
