/* manual.h - the manual page of attn-cli, made from the tables of commands and options. */
#ifndef CMD_MANUAL_H
#define CMD_MANUAL_H

#include "extra.h"

/* Writes it for man(7). */
void manual_page(struct attn_sink *out);

#endif
