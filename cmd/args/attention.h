/* attention.h - options that select the kind of attention: --attention, --mask and related ones. */
#ifndef CMD_ATTENTION_ARGS_H
#define CMD_ATTENTION_ARGS_H

#include "cmd/line/options.h"

/* The options of struct attn_attention_args. */
extern const struct option_group attention_options, dropout_options;

/* Prints the table of --attention help. */
void attention_kinds_print(struct attn_sink *out);

#endif
