/* items.h - options for many items instead of one text: which file, and how its rows become one
 * table. */
#pragma once

#include "cmd/args/prompt.h"
#include "cmd/line/command.h"
#include "cmd/line/options.h"

#include "tool.h"

struct items_args {
    struct attn_items_args asked; /* if items.path is NULL, none of these options is given */
    bool is_listed;               /* `each.path` is the value of another option (question.h) */
};

#define ITEMS_ARGS_DEFAULT                                                                         \
    {                                                                                              \
        .asked.study.max_errors = -1                                                               \
    }

/* The state of a command with items. Initialize with = {0}. */
struct items {
    struct attn_items *items;    /* owned; NULL: no items */
    struct attn_study_args args; /* arguments for the library */
    struct attn_study_sum sum;   /* what the library returned about the items */
    struct attn_each_options each;
    struct attn_each_result each_result;
};

/* Opens the file that ARGS name, if any. If is_verbose, lists the labels. PROMPT must then be
 * empty. */
enum attn_status items_open(const struct call *call, const struct items_args *args,
                            const struct prompt_args *prompt, struct items *items,
                            struct attn_error *err);
void items_close(struct items *items);

/* If ARGS ask for a line for each item, sets that up in ITEMS. */
void items_ask_each(const struct items_args *args, const struct call *call, struct items *items);

/* Returns true if the lines of items are written to standard output. */
bool items_take_standard(const struct items *items);

/* Writes a line that says how many items were computed. */
void items_write_sum(const struct items *items, struct attn_sink *out);
