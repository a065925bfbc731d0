/* live.h - the options of a live page, and the files that are embedded in it. */
#ifndef CMD_LIVE_ARGS_H
#define CMD_LIVE_ARGS_H

#include "cmd/args/model.h"
#include "cmd/args/prompt.h"
#include "cmd/args/request.h"
#include "cmd/line/options.h"

struct live_args {
    bool is_live;
    size_t limit; /* size limit of the model in MiB; 0: the default */
    const char *story;
    const char *words;
};

/* The options of struct live_args. */
extern const struct attn_param_list live_options;

/* Refuses options that cannot be combined with a live page, before anything is opened. */
enum attn_status live_check(const struct live_args *args, const struct served *served,
                            struct attn_error *err);

/* The files of a page. Initialize with = {0}. */
struct live {
    struct attn_live_files *files;
    struct attn_option *reading;
};

/* Opens the files for the page of SERVED and adds them to the options of its pictures. The request
 * of SERVED was filled from PROMPT. LIVE remains empty if there is no live page. */
enum attn_status live_open(const struct live_args *args, const struct model_args *model,
                           const struct prompt_args *prompt, struct served *served,
                           struct live *live, struct attn_error *err);
void live_release(struct live *live);

#endif
