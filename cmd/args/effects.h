/* effects.h - which outputs an option has an effect on. An option that changes none of the outputs
 * of a command line is refused. */
#ifndef CMD_EFFECTS_H
#define CMD_EFFECTS_H

#include "cmd/args/outputs.h"
#include "cmd/line/command.h"

/* Refuses an option of CALL that changes none of its outputs: those of OUTPUT, the heat map of
 * PICTURE, and SHOWN, a set of enum attn_medium that the command has by itself. A table, tensors
 * and the first screen are only printed if there is no other output. FIGURE is the kind of figure
 * without --figure. */
enum attn_status effects_check(const struct call *call, const struct output_args *output,
                               const struct picture_args *picture, unsigned shown,
                               enum attn_figure figure, struct attn_error *err);

#endif
