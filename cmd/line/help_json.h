/* help_json.h - the help as JSON, for programs: commands, options, tables, topics, models, exit
 * codes and variables, from the rows of --help. */
#ifndef CMD_HELP_JSON_H
#define CMD_HELP_JSON_H

#include "cmd/line/command.h"
#include "cmd/line/topics.h"

#include "attn.h"

/* Prints one object: of COMMAND, of TOPIC, or of the program if both are NULL. */
enum attn_status help_json_print(struct attn_sink *out, const struct command *command,
                                 const struct topic *topic, struct attn_error *err);

#endif
