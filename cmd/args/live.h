/* live.h - the options of a live page, and the files that it holds. */
#ifndef CMD_LIVE_ARGS_H
#define CMD_LIVE_ARGS_H

#include "cmd/args/model.h"
#include "cmd/args/prompt.h"
#include "cmd/args/request.h"
#include "cmd/line/options.h"

struct live_args {
    bool is_live;
    int64_t limit; /* MiB of a model; 0: the default */
    const char *story;
    const char *words;
};

/* Options that fill a struct live_args. */
extern const struct option_group live_options;

/* Checks that they fit the other options, before anything is opened. */
enum attn_status live_check(const struct live_args *args, const struct served *served,
                            struct attn_error *err);

/* The files of a page. Initialize with = {0}. */
struct live {
    struct attn_live_files *files;
    struct attn_option *reading;
};

/* Opens the files of the page of SERVED, whose request is filled from PROMPT, and sets them in the
 * options of its pictures. LIVE stays empty if no page is live. */
enum attn_status live_open(const struct live_args *args, const struct model_args *model,
                           const struct prompt_args *prompt, struct served *served,
                           struct live *live, struct attn_error *err);
void live_release(struct live *live);

#endif
