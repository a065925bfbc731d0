/* attention.h - options that select the kind of attention: --attention, --mask and related ones. */
#ifndef CMD_ATTENTION_ARGS_H
#define CMD_ATTENTION_ARGS_H

#include "extra.h"

/* Prints the table of --attention help. */
void attention_kinds_print(struct attn_sink *out);

#endif
