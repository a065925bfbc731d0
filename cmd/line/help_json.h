/* help_json.h - the help as JSON, for programs: commands, options, tables, topics, models, exit
 * codes and variables, from the rows of --help. */
#pragma once

#include "cmd/line/topics.h"

/* Prints one object: of COMMAND, of TOPIC, or of the program if both are NULL. */
enum attn_status help_json_print(struct attn_sink *out, const struct command *command,
                                 const struct topic *topic, struct attn_error *err);
