/* attention.h - which attention is computed: --attention, --mask and what belongs to them. */
#ifndef CMD_ATTENTION_ARGS_H
#define CMD_ATTENTION_ARGS_H

#include "cmd/line/options.h"

/* Options that fill a struct attn_attention_args. */
extern const struct option_group attention_options, dropout_options;

/* The table for --attention help. */
void attention_kinds_print(struct attn_sink *out);

#endif
