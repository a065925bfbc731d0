/* options_internal.h - what the files that read a command line share. */
#pragma once

#include "cmd/line/options.h"

/* Walks to the option NAME [size], or to the setting NAME of the option OF unless that is NULL.
 * Returns whether there is one. */
bool option_find(struct option_walk *walk, const char *of, const char *name, size_t size);

/* Walks to the next setting of the option OF. Returns false after the last. */
bool option_next_setting(struct option_walk *walk, const struct option_walk *of);

/* Stores VALUE for the option of WALK. LABEL is its name in messages: "--load", or the name of a
 * variable. An option that is given on the command line keeps its value if ORIGIN is weaker. An
 * option that takes one value is refused if it has one of the same ORIGIN. */
enum attn_status option_take(struct call *call, const struct option_walk *walk, const char *label,
                             const char *value, enum call_origin origin, struct attn_error *err);

/* The same for an option whose VALUE is no list of settings. */
enum attn_status option_take_value(struct call *call, const struct option_walk *walk,
                                   const char *label, const char *value, enum call_origin origin,
                                   struct attn_error *err);

/* Reads VALUE, the settings of the option of WALK, and stores each: 'theme=dark dpi=300'. */
enum attn_status settings_take(struct call *call, const struct option_walk *walk, const char *label,
                               const char *value, enum call_origin origin, struct attn_error *err);

/* Reads VALUE of OPTION, which may begin with what it is, and stores it. */
enum attn_status form_take(struct call *call, const struct option_walk *option, const char *label,
                           const char *value, enum call_origin origin, struct attn_error *err);

/* A terminated copy of TEXT [size] that CALL owns; NULL without memory. */
char *call_keep(struct call *call, const char *text, size_t size);

/* Parses the values that may set a field which another option also sets. */
enum attn_status options_set_late(const struct call *call, struct attn_error *err);
