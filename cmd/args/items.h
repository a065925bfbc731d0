/* items.h - many items instead of one text: which file, how its rows become one table. */
#ifndef CMD_ITEMS_ARGS_H
#define CMD_ITEMS_ARGS_H

#include "cmd/args/prompt.h"
#include "cmd/args/restart.h"
#include "cmd/line/command.h"
#include "cmd/line/options.h"

#include "tool.h"

struct items_args {
    struct attn_items_args asked; /* items.path NULL: not given, nor are the others */
    bool is_listed;               /* `each.path` is the value of another option (listing.h) */
};

#define ITEMS_ARGS_DEFAULT                                                                         \
    {                                                                                              \
        .asked.study.max_failed = -1                                                               \
    }

/* Fill a struct items_args: the second come after. */
extern const struct option_group items_options, items_restart_options;

/* Items on their way. Initialize with = {0}. */
struct items {
    struct attn_items *items;    /* owns; NULL: there are none */
    struct attn_study_args args; /* what the library is asked */
    struct attn_study_sum sum;   /* what came of it */
    struct attn_each_options each;
    struct attn_each_result each_result;
    struct restart restart; /* owns */
};

/* Opens what ARGS name, if they name a file; is_verbose lists the labels. PROMPT and HAS_TEXTS,
 * --texts, must not be given with it. */
enum attn_status items_open(const struct call *call, const struct items_args *args,
                            const struct prompt_args *prompt, bool has_texts, struct items *items,
                            struct attn_error *err);
void items_close(struct items *items);

/* Opens the file of --texts: its lines, or JSON Lines. */
enum attn_status items_open_texts(const char *path, bool are_lines, struct items *items,
                                  struct attn_error *err);

/* Where ARGS want a line for each item, asks for it: of the model of SOURCE, borrowed. */
enum attn_status items_ask_each(const struct items_args *args, const struct call *call,
                                const struct attn_source *source, struct items *items,
                                struct attn_error *err);

/* Whether these lines take standard output. */
bool items_take_standard(const struct items *items);

/* Writes the line that says what was computed. */
void items_write_sum(const struct items *items, struct attn_sink *out);

#endif
