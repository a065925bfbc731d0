/*
 * selection_args.h - what is kept and what is changed: --layers, --heads, --queries, --sites,
 * --ablate and --ablate-pattern.
 */
#ifndef CMD_SELECTION_ARGS_H
#define CMD_SELECTION_ARGS_H

#include "options.h"

#include "attn.h"

struct selection_args {
    const char *layers, *heads, *queries, *sites; /* NULL: all; of sites the default ones */
};

struct ablation_args {
    const char *z, *pattern; /* heads whose context vectors, or patterns, become zero; or NULL */
};

/* Rows for the option table of a command whose struct T has a `struct selection_args selection`. */
#define SELECTION_ROWS(T)                                                                          \
    {.name = "layers",                                                                             \
     .argument = "SPEC",                                                                           \
     .group = "Selection",                                                                         \
     .kind = OPTION_TEXT,                                                                          \
     .offset = offsetof(struct T, selection.layers),                                               \
     .help = "layers to keep, counted from 0: 0,2-4 or 0-11+2; -1 is the last"},                   \
        {.name = "heads",                                                                          \
         .argument = "SPEC",                                                                       \
         .group = "Selection",                                                                     \
         .kind = OPTION_TEXT,                                                                      \
         .offset = offsetof(struct T, selection.heads),                                            \
         .help = "heads to keep: 0,3 in every layer, 5.1 or L5H1 head 1 of layer 5, 9.* all of "   \
                 "layer 9"},                                                                       \
        {.name = "queries",                                                                        \
         .argument = "SPEC",                                                                       \
         .group = "Selection",                                                                     \
         .kind = OPTION_TEXT,                                                                      \
         .offset = offsetof(struct T, selection.queries),                                          \
         .help = "positions whose rows to keep"},                                                  \
    {                                                                                              \
        .name = "sites", .argument = "LIST", .group = "Selection", .kind = OPTION_TEXT,            \
        .offset = offsetof(struct T, selection.sites),                                             \
        .help = "tensors to show, names or globs (resid_*), default pattern,z; 'help' lists them"  \
    }

/* Likewise, with a `struct ablation_args ablation`. */
#define ABLATION_ROWS(T)                                                                           \
    {.name = "ablate",                                                                             \
     .argument = "HEADS",                                                                          \
     .group = "Interventions",                                                                     \
     .kind = OPTION_TEXT,                                                                          \
     .offset = offsetof(struct T, ablation.z),                                                     \
     .help = "set the context vectors of these heads to zero, as in 0.3,1.*"},                     \
    {                                                                                              \
        .name = "ablate-pattern", .argument = "HEADS", .group = "Interventions",                   \
        .kind = OPTION_TEXT, .offset = offsetof(struct T, ablation.pattern),                       \
        .help = "set the attention patterns of these heads to zero"                                \
    }

/* Reports what does not fit, or leaves nothing; returns an exit code. */
int selection_find(const struct selection_args *args, const struct attn_dims *dims,
                   struct attn_selection **selection);

/* The edits that ARGS mean, none when they are empty; free *edits with free(). */
int ablation_find(const struct ablation_args *args, const struct attn_dims *dims,
                  struct attn_edit **edits, size_t *n);

/* The table for --sites help. */
void sites_print(struct attn_sink *out);

#endif
