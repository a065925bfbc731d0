/*
 * frame.h - what all experiments have in common. An experiment is a row: its columns, and functions
 * that say what it asks. The frame reads what is given, prepares the run, makes the table,
 * reports progress and frees. For the files of this layer.
 *
 *     struct lens {
 *         struct attn_frame frame; // comes first
 *         float *logits;           // [V] the frame's
 *     };
 *     static enum attn_status prepare(void *state, struct attn_error *err)
 *     {
 *         struct lens *lens = state;
 *
 *         lens->logits = attn_frame_alloc(&lens->frame, n_vocab, sizeof *lens->logits);
 *         return attn_frame_memory(&lens->frame, err);
 *     }
 *     static const struct attn_experiment experiment = {
 *         .name = "lens", .state_size = sizeof(struct lens), .needs_output = true,
 *         .columns = columns, .n_column = N_COLUMN, .prepare = prepare, .ask = ask};
 *     return attn_experiment_perform(&experiment, &inquiry, err);
 *
 * One input becomes rows (`ask`), and the rows of several texts or items become means: two steps,
 * of which an experiment knows the first alone. Of an item it says what that changes in its
 * arguments (`take_item`).
 */
#ifndef ATTN_STUDY_FRAME_H
#define ATTN_STUDY_FRAME_H

#include "capture/capture.h"
#include "run/many.h"
#include "run/run_internal.h"
#include "study/drawn.h"
#include "study/question.h"
#include "study/rows.h"
#include "study/study_internal.h"
#include "study/trial.h"

struct attn_inquiry;

/* --- An experiment ---------------------------------------------------------------------------- */

/* Columns and functions; all functions except `ask` may be NULL. STATE is the experiment's struct,
 * which begins with a struct attn_frame, followed by zeros. Functions set the stage of errors,
 * except `check` and `choose`, whose errors get the stage of options. */
struct attn_experiment {
    const char *name;                     /* of its table */
    const struct attn_question *question; /* what it takes, and which keys of items replace its
                                             arguments; or NULL */
    const struct attn_column *columns;    /* [n_column] of its table; none: no table */
    size_t n_column;
    size_t state_size; /* of its struct */
    size_t sum_size;   /* of its results beside the table; 0: none */
    /* Offset in the arguments of the pointer to a study; 0: it takes no items. The experiment runs
     * for each item, in parallel on the host's threads, and the table is the fold (fold.h). */
    size_t study;
    /* Applies ITEM to copies of the arguments and of the request, which already have its input and
     * its source. NULL: nothing else changes. */
    enum attn_status (*take_item)(void *args, struct attn_request *request,
                                  const struct attn_item *item, struct attn_error *err);
    unsigned (*pairs)(const void *args); /* ATTN_ITEM_BIT of the texts that its items may have;
                                            NULL: SINGLE */
    attn_fold_derive_fn derive;          /* of struct attn_fold_form */
    const char *hint;                    /* likewise */
    bool is_listed;                      /* its items have rows, and no table of means */
    bool is_ragged;                      /* and each as many as it has */
    bool makes_runs;    /* by itself, also those of items (attn_study_pack_run). False: the frame
                           checks the host and prepares the run of each input */
    bool needs_output;  /* the model of such a run needs an output layer */
    bool refuses_edits; /* it follows gradients, which are those of an unchanged run */
    enum attn_status (*check)(const void *args, struct attn_error *err); /* the arguments alone */
    /* Changes the frame's request before its run is prepared. NULL: attn_frame_choose_nothing. Its
     * failure counts for every item. */
    enum attn_status (*choose)(void *state, struct attn_error *err);
    enum attn_status (*prepare)(void *state, struct attn_error *err);
    /* Whether the table has COLUMN. NULL: it has all. For items also called before `prepare`; if
     * makes_runs, after it. */
    bool (*shows)(const void *state, size_t column);
    /* The views of the table (figures/table_picture.h), whose ATTN_TABLE_COLUMN is one of
     * `columns`: the first that the table has the columns of is drawn. `draw` changes what depends
     * on the arguments; NULL: nothing does. */
    const struct attn_table_view *views; /* [n_view] */
    size_t n_view;
    void (*draw)(const void *args, struct attn_drawn *drawn);
    enum attn_status (*ask)(void *state, struct attn_error *err); /* appends the rows */
    /* Performs INQUIRY by a copy of this row, with a plan, for example. NULL: the row as it is. */
    enum attn_status (*perform)(const struct attn_inquiry *inquiry, struct attn_error *err);
    void (*release)(void *state); /* frees what the frame does not own, also after a failure */
    const void *plan;             /* results that hold for all items; set in a copy of the row */
};

/* A call of an experiment, with arguments that may be wrong. Borrowed. */
struct attn_inquiry {
    struct attn_host *host;
    const struct attn_request *request;
    const void *given;         /* arguments, which begin with their size (base/given.h); or NULL */
    void *args;                /* the defaults, which `given` overwrites; or a struct without
                                  defaults */
    struct attn_table **table; /* this and `sum` are untouched on failure */
    void *sum;                 /* zeros over items */
};

/* Performs INQUIRY. The caller owns *table. Errors have a stage; if one of several texts fails, a
 * hint names it. */
enum attn_status attn_experiment_perform(const struct attn_experiment *experiment,
                                         const struct attn_inquiry *inquiry,
                                         struct attn_error *err);

/* --- The frame -------------------------------------------------------------------------------- */

enum { ATTN_FRAME_MOST_OWNED = 18 };

/* The first member of every experiment's struct. What it owns may stay empty. */
struct attn_frame {
    struct attn_host *host;           /* borrowed; of the model that runs */
    const struct attn_config *config; /* of its model; if makes_runs, set by the experiment */
    const void *args;                 /* borrowed; as they were read */
    void *sum;                        /* borrowed; zeros at first */
    struct attn_request request;      /* the request for this input */
    bool is_one_of_many;              /* the input is one of several texts or items */
    const void *plan;                 /* borrowed; of the experiment */
    struct attn_study *study;         /* borrowed; if makes_runs: the experiment runs the items
                                         itself */
    const struct attn_item *item;     /* borrowed; the current item, which is not a text; or NULL */
    struct attn_study_answer *answer; /* borrowed; about that item, results beside its rows */
    struct attn_run *run;             /* owns; of the request */
    struct attn_run *other;           /* owns; the run that it is compared with */
    struct attn_selection *selection; /* owns; of attn_frame_select */
    struct attn_capture *capture;     /* owns */
    struct attn_session *session;     /* owns */
    struct attn_trials trials;        /* owns */
    struct attn_rows rows;            /* owns */
    const struct attn_answer *asked;  /* borrowed; of attn_frame_find_answer; or NULL */
    struct attn_spaces spaces;        /* odd spaces of the words in the question */
    bool has_noted_spaces;            /* an experiment that this one uses has noted them */
    void *owned[ATTN_FRAME_MOST_OWNED];
    size_t n_owned;
    bool lacks_memory; /* an allocation failed */
};

/* Clears selection, predictions and outputs of REQUEST. */
void attn_frame_choose_nothing(struct attn_request *request);

/* Selects SITES of the run, of all layers, heads and positions. */
enum attn_status attn_frame_select(struct attn_frame *frame, attn_site_set sites,
                                   struct attn_error *err);

/* Allocates COUNT elements of SIZE bytes, zeros, which the frame frees at the end. After a failure
 * attn_frame_memory returns ATTN_NO_MEMORY, so several blocks can be checked at once. */
void *attn_frame_alloc(struct attn_frame *frame, size_t count, size_t size);
enum attn_status attn_frame_memory(const struct attn_frame *frame, struct attn_error *err);

/* Sets of edits that are tried, and the outcome of each. Owned by the frame. */
struct attn_sets {
    struct attn_trial_change *changes;   /* [n] */
    struct attn_trial_outcome *outcomes; /* [n] */
    struct attn_edit *edits;             /* of all */
    size_t n;
};

/* Allocates N sets of up to N_EDIT edits, as attn_frame_alloc does. */
void attn_frame_take_sets(struct attn_frame *frame, struct attn_sets *sets, size_t n,
                          size_t n_edit);

/* Runs each of SETS by the frame's trials. */
enum attn_status attn_frame_try_sets(struct attn_frame *frame, const struct attn_sets *sets,
                                     struct attn_error *err);

/* Resolves ARGS in the frame's run (predict/answer_internal.h). The metric that ANSWER has in the
 * end becomes a fact about the table. */
enum attn_status attn_frame_find_answer(struct attn_frame *frame,
                                        const struct attn_answer_args *args,
                                        struct attn_answer *answer, struct attn_error *err);

/* Reports the reply of the unchanged run, if there is an item. */
void attn_frame_report_base(struct attn_frame *frame, const struct attn_answer *asked,
                            const struct attn_reply *reply);

/* Reports copies of NUMBERS [n] beside the rows (fold.h), if there is an item. */
enum attn_status attn_frame_report_more(struct attn_frame *frame, const double *numbers, size_t n,
                                        struct attn_error *err);

/* Appends a row to the table: CELLS, one per column of the experiment. */
enum attn_status attn_frame_append(struct attn_frame *frame, const struct attn_cell *cells,
                                   struct attn_error *err);

/* Where SITE of BLOCK, and of HEAD, is in the model that runs. */
struct attn_location attn_frame_at(const struct attn_frame *frame, enum attn_site site, int block,
                                   int head);

/* Reports that N_DONE of N parts of the work are done. */
void attn_frame_report(const struct attn_frame *frame, size_t n_done, size_t n);

#endif
