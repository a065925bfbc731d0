/* process.h - prepares the process, in the system's way. */
#pragma once

#include "attn.h"

/* Prepares standard streams, environment and terminal. Afterwards arguments, environment and what
 * is printed are UTF-8. Call it first. */
void process_begin(int *argc, char ***argv);

/* Refuses a stack that is too small, since the process would end with a signal when it is used
 * up. */
enum attn_status process_check_stack(struct attn_error *err);
