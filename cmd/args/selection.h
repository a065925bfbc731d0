/* selection.h - the options of a run that select (--layers, --heads, --queries, --sites), edit
 * (--ablate and others) and predict (--top, --next). */
#ifndef CMD_SELECTION_ARGS_H
#define CMD_SELECTION_ARGS_H

#include "cmd/line/options.h"

#include "extra.h"

struct selection_args {
    const char *layers, *heads, *queries, *sites; /* NULL: all, or the default sites */
};

struct steering_args {
    struct text_list steers, rescales;
    struct attn_steering *items; /* [n] owns; made by steering_fill */
    size_t n;
};

struct ablation_args {
    const char *z, *pattern; /* heads whose context vectors, or patterns, become zero; or NULL */
    const char *mean;        /* heads whose context vectors become their mean; or NULL */
    struct text_list knockouts, patches;
    struct steering_args steering;
    struct attn_knockout
        *knockout;            /* [n_knockout] owns; made by ablation_fill, and so are the patches */
    struct attn_patch *patch; /* [n_patch] owns */
    size_t n_knockout, n_patch;
};

struct prediction_args {
    int64_t top; /* number of most probable tokens to print */
    struct text_list next;
};

/* Options that fill a struct selection_args. */
extern const struct option_group selection_options;

/* --steer and --rescale, which fill a struct steering_args; and with the others of an ablation a
 * struct ablation_args. */
extern const struct option_group steering_options, ablation_options;

/* Options that fill a struct prediction_args. */
extern const struct option_group prediction_options;

/* Sets the edits of ARGS, which it borrows, in REQUEST: reads the files of patches for the model of
 * HOST. Errors have a stage. */
enum attn_status ablation_fill(struct ablation_args *args, const struct attn_host *host,
                               struct attn_request *request, struct attn_error *err);
void ablation_release(struct ablation_args *args); /* frees the edits */

/* The same for steering. */
enum attn_status steering_fill(struct steering_args *args, const struct attn_host *host,
                               struct attn_request *request, struct attn_error *err);
void steering_release(struct steering_args *args);

/* The file in TEXT, a value of --steer, to be freed; NULL if it names none, or without memory. */
char *steering_file(const char *text);

/* The table for --sites help. */
void sites_print(struct attn_sink *out);

#endif
