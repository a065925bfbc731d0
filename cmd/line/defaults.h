/* defaults.h - options that the command line lacks: from variables of the environment, then from
 * the file that ATTN_CLI_CONFIG names. */
#pragma once

#include "cmd/line/command.h"

/* Sets the options that the command line of CALL lacks. Lines of the file that only fit other
 * commands are skipped. */
enum attn_status defaults_take(struct call *call, struct attn_error *err);

/* Finds an option of the file that cannot be combined with the other options of CALL. Returns
 * false if all fit. Else CALL must be parsed again, and then skips this option. */
bool defaults_pass_over(struct call *call);

/* Puts the line of the file in front of the message of ERR if the message is about an option that
 * is from the file. */
void defaults_name(const struct call *call, struct attn_error *err);
