/*
 * selection.h - what is asked of a run: what is kept, --layers, --heads, --queries, --sites; what
 * is changed, --ablate and its companions; and what comes next, --top and --next.
 */
#ifndef CMD_SELECTION_ARGS_H
#define CMD_SELECTION_ARGS_H

#include "cmd/line/options.h"

#include "extra.h"

struct selection_args {
    const char *layers, *heads, *queries, *sites; /* NULL: all; of sites the default ones */
};

struct steering_args {
    struct text_list steers, rescales;
    struct attn_steering *items; /* [n] owns; what steering_fill makes of these */
    size_t n;
};

struct ablation_args {
    const char *z, *pattern; /* heads whose context vectors, or patterns, become zero; or NULL */
    const char *mean;        /* heads whose context vectors become their mean; or NULL */
    struct text_list knockouts, patches;
    struct steering_args steering;
    struct attn_knockout *knockout; /* [n_knockout] owns; what ablation_fill makes of these */
    struct attn_patch *patch;       /* [n_patch] likewise */
    size_t n_knockout, n_patch;
};

struct prediction_args {
    int64_t top; /* most probable tokens to print; 0: none */
    struct text_list next;
};

/* Options that fill a struct selection_args. */
extern const struct option_group selection_options;

/* Options that fill a struct steering_args: --steer, --rescale, beside those of an ablation; a
 * struct ablation_args: these and the others. */
extern const struct option_group steering_options, ablation_options;

/* Options that fill a struct prediction_args. */
extern const struct option_group prediction_options;

/* What ARGS change of REQUEST, which borrows them: reads the files of patches for the model of
 * HOST. Errors have a stage. */
enum attn_status ablation_fill(struct ablation_args *args, const struct attn_host *host,
                               struct attn_request *request, struct attn_error *err);
void ablation_release(struct ablation_args *args); /* what ablation_fill made */

/* Likewise what of them steers. */
enum attn_status steering_fill(struct steering_args *args, const struct attn_host *host,
                               struct attn_request *request, struct attn_error *err);
void steering_release(struct steering_args *args);

/* The file that TEXT, a value of --steer, names, to be freed; NULL where it names none, or without
 * memory. */
char *steering_file(const char *text);

/* The table for --sites help. */
void sites_print(struct attn_sink *out);

#endif
