/* effects.h - says which outputs an option affects. An option that affects none of the outputs of a
 * command line is refused. */
#ifndef CMD_EFFECTS_H
#define CMD_EFFECTS_H

#include "cmd/args/outputs.h"
#include "cmd/line/command.h"

/* Refuses an option of CALL that affects none of its outputs: the files of OUTPUT, the heat map of
 * PICTURE, and SHOWN, the media (enum attn_medium) that the command prints anyway. A table, tensors
 * and the first screen are only printed if there is no other output. FIGURE is the kind of figure
 * that is drawn without --figure. */
enum attn_status effects_check(const struct call *call, const struct output_args *output,
                               const struct picture_args *picture, unsigned shown,
                               enum attn_figure figure, struct attn_error *err);

#endif
