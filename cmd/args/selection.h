/* selection.h - the options of a run that select (--layers, --heads, --queries, --sites), edit
 * (--ablate and others) and predict (--top, --next). */
#ifndef CMD_SELECTION_ARGS_H
#define CMD_SELECTION_ARGS_H

#include "cmd/line/options.h"

#include "extra.h"

/* Interventions. What is owned is made by ablation_fill and ablation_list_files. */
struct ablation_args {
    const char *z, *pattern; /* heads whose context vectors, or patterns, become zero; or NULL */
    const char *mean;        /* heads whose context vectors become their mean; or NULL */
    struct text_list knockouts, patches, steers, rescales;
    struct text_list places;        /* --positions */
    struct attn_knockout *knockout; /* [n_knockout] owns */
    struct attn_patch *patch;       /* [n_patch] owns */
    struct attn_steering *steering; /* [n_steering] owns */
    size_t n_knockout, n_patch, n_steering;
    struct named_values named;            /* owns; of the places */
    struct attn_item_place *named_places; /* [named.n] owns */
    struct attn_places place;             /* these */
    char **files;                         /* [n_file] owns, like its texts */
    size_t n_file;
};

/* Options that fill a struct attn_request, and --max-span, of a struct attn_request_labels. */
extern const struct option_group selection_options, prediction_options, span_options;

/* Options that fill a struct ablation_args: the interventions; and the names of places. */
extern const struct option_group ablation_options, place_options;

/* Whether there are any interventions. */
bool ablation_is_given(const struct ablation_args *args);

/* Refuses names of places that no option of CALL may use; HAS_ROWS: each is a row. */
enum attn_status places_check(const struct call *call, const struct ablation_args *args,
                              bool has_rows, struct attn_error *err);

/* Sets the edits and places of ARGS, which it borrows, in REQUEST: reads the files of patches and
 * steering for the model of HOST. Errors have a stage. */
enum attn_status ablation_fill(struct ablation_args *args, const struct attn_host *host,
                               struct attn_request *request, struct attn_error *err);

/* Lists the files that shape the rows of a command: those GIVEN by other options, or NULL, and
 * those of edits. */
enum attn_status ablation_list_files(struct ablation_args *args, const char *const given[2],
                                     struct attn_error *err);
void ablation_release(struct ablation_args *args); /* frees the edits and the list of files */

/* The table for --sites help. */
void sites_print(struct attn_sink *out);

#endif
