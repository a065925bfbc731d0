/*
 * selection.h - what is asked of a run: what is kept, --layers, --heads, --queries, --sites; what
 * is changed, --ablate and its companions; and what comes next, --top and --next.
 */
#ifndef CMD_SELECTION_ARGS_H
#define CMD_SELECTION_ARGS_H

#include "cmd/line/options.h"

#include "attn.h"

struct selection_args {
    const char *layers, *heads, *queries, *sites; /* NULL: all; of sites the default ones */
};

struct ablation_args {
    const char *z, *pattern; /* heads whose context vectors, or patterns, become zero; or NULL */
    const char *mean;        /* heads whose context vectors become their mean; or NULL */
    struct text_list knockouts, patches;
};

struct prediction_args {
    int64_t top; /* most probable tokens to print; 0: none */
    struct text_list next;
};

/* Options that fill a struct selection_args. */
extern const struct option_group selection_options;

/* Options that fill a struct ablation_args. */
extern const struct option_group ablation_options;

/* Options that fill a struct prediction_args. */
extern const struct option_group prediction_options;

/* What ARGS change of REQUEST, which borrows them. */
void ablation_fill(const struct ablation_args *args, struct attn_request *request);

/* The table for --sites help. */
void sites_print(struct attn_sink *out);

#endif
