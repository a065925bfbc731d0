/* control.h - random choices beside an effect, for commands whose tables hold effects. */
#ifndef CMD_CONTROL_ARGS_H
#define CMD_CONTROL_ARGS_H

#include "cmd/line/options.h"

struct control_args {
    const char *control; /* NULL: not given */
};

extern const struct option_group control_options; /* fills a struct control_args: --control */

/* How many choices, and their seed; both are left as they were without the option, the seed without
 * its own. */
enum attn_status control_read(const struct control_args *args, size_t *n, uint64_t *seed,
                              struct attn_error *err);

#endif
