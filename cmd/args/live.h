/* live.h - the options of a live page, and what they open. */
#ifndef CMD_LIVE_ARGS_H
#define CMD_LIVE_ARGS_H

#include "cmd/args/model.h"
#include "cmd/args/request.h"
#include "cmd/line/options.h"

struct live_args {
    bool is_live;
    int64_t limit; /* MiB of a model; 0: the default */
    const char *story;
};

/* Options that fill a struct live_args. */
extern const struct option_group live_options;

/* Whether they go with what else was given. Before anything is opened. */
enum attn_status live_check(const struct live_args *args, const struct served *served,
                            struct attn_error *err);

/* Opens what the page of SERVED holds, whose model is open, and says so to its pictures; *files
 * stays NULL where no page is live. Release it with attn_live_close. */
enum attn_status live_open(const struct live_args *args, const struct model_args *model,
                           struct served *served, struct attn_live_files **files,
                           struct attn_error *err);

#endif
