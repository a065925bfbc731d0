/*
 * frame.h - what all procedures have in common. A procedure is a struct with its columns and its
 * functions. The frame reads the arguments, prepares the run, creates the table, reports progress,
 * and frees memory. Private to lib/questions.
 *
 *     struct lens {
 *         struct attn_frame frame; // must be the first member
 *         float *logits;           // [V] owned by the frame
 *     };
 *     static enum attn_status prepare(void *state, struct attn_error *err)
 *     {
 *         struct lens *lens = state;
 *
 *         lens->logits = attn_frame_alloc(&lens->frame, n_vocab, sizeof *lens->logits);
 *         return attn_frame_memory(&lens->frame, err);
 *     }
 *     static const struct attn_procedure procedure = {
 *         .table.name = "lens", .state_size = sizeof(struct lens), .needs_output = true,
 *         ATTN_PROCEDURE_COLUMNS(columns), .prepare = prepare, .ask = ask};
 *     return attn_procedure_perform(&procedure, &call, err);
 *
 * A procedure only implements the step from one input to rows (`ask`), and applies an item to its
 * arguments (`items.take_item`). The frame computes means over several items.
 */
#pragma once

#include "frame/asked.h"
#include "frame/drawn.h"
#include "frame/question_internal.h"
#include "frame/stream.h"
#include "frame/table_names.h"
#include "means/fold.h"
#include "means/rows.h"
#include "run/prepared_extra.h"
#include "run/request.h"
#include "run/run_extra.h"
#include "stream/many.h"
#include "trace/capture.h"
#include "trials/trial.h"

struct attn_procedure_call;

enum { ATTN_SHOWN_ALONE = 1 }; /* `shown` of columns that items lack. Procedures use 2, 4, 8 ... */

/* --- Items ------------------------------------------------------------------------------------ */

/* Collects the answers about items in another way than by means. */
struct attn_study_gather {
    /* Adds an answer. Called in the order of the items, one call at a time, on any thread; a
     * resumed run begins with those of an earlier run, from a file with any content. ATTN_FORMAT
     * if the question cannot give such an answer. */
    enum attn_status (*add)(void *user, const struct attn_item_result *result,
                            struct attn_error *err);
    /* Creates the table, which the caller owns, after the last item. It may read the items again
     * (attn_stream_again). */
    enum attn_status (*tabulate)(void *user, struct attn_stream *stream, struct attn_table **table,
                                 struct attn_error *err);
    void *user; /* passed to these functions */
};

/* How a procedure takes items.
 *
 *     what its items are, and give                            | fields
 *     --------------------------------------------------------+------------------------------------
 *     none: one text at a time                                | none
 *     texts; means of the rows of a text                      | study
 *     with values for its arguments: `target`, `at`, ...      | study, take_item
 *     pairs of texts                                          | study, pairs, take_item
 *     arguments that follow from the first item               | ... meet_first
 *     numbers that are no means, from means and from `beside` | ... derive, beyond_rows
 *     rows that differ: the words of a text, its heads        | ... is_keyed
 *     rows of their own, without a table of means             | study, is_listed, is_ragged
 *     one thing of all items: examples, a lens that is fitted | study, is_listed, gather
 *     short texts that are run together, by `find` or `ask`   | ... and makes_runs of the procedure
 */
struct attn_item_rules {
    /* Offset of the pointer to a study in the arguments; 0: it does not support items. The
     * procedure runs for each item, in parallel on the host's threads, and the tables are folded
     * (fold.h). */
    size_t study;
    /* Changes the arguments by FIRST, the first item that can be read, and by the request for it.
     * NULL: nothing to change. */
    void (*meet_first)(void *args, const struct attn_item *first,
                       const struct attn_request *request);
    /* Applies ITEM to copies of the arguments and of the request, which already has the item's
     * input and source. NULL: nothing else to apply. */
    enum attn_status (*take_item)(void *args, struct attn_request *request,
                                  const struct attn_item *item, struct attn_error *err);
    /* returns a set of ATTN_ITEM_BIT: which texts its items may have; NULL: SINGLE */
    unsigned (*pairs)(const void *args);
    /* Adds the NUMBERS beside the rows of an item to the sum beside the table; or NULL. */
    void (*add_up)(void *sum, const double *numbers);
    attn_fold_derive_fn derive; /* `derive` of struct attn_fold_form */
    /* Returns what of ARGS needs more of an item than its rows, so that a run of it cannot go on
     * from the rows of an earlier one: "`control`", for a message; or NULL */
    const char *(*beyond_rows)(const void *args);
    const char *hint; /* `hint` of struct attn_fold_form */
    bool is_listed;   /* items have rows, but no table of means */
    bool is_ragged;   /* items have different numbers of rows */
    bool is_keyed;    /* items have different rows; `is_keyed` of struct attn_fold_form */
    /* makes the table of items, instead of means; set in a copy of the procedure; or NULL */
    const struct attn_study_gather *gather;
};

/* --- A procedure ------------------------------------------------------------------------------ */

/* The table of a procedure. */
struct attn_procedure_table {
    const char *name;                  /* of ATTN_TABLE_MAP; NULL: no table */
    const struct attn_column *columns; /* [n_column]; 0: no table */
    size_t n_column;
    const char *sort; /* the column by which it is sorted by default; or NULL */
    size_t n_most;    /* rows that are kept by default; 0: all */
    /* Its views (figures/table_picture.h); their ATTN_TABLE_COLUMN refer to `columns`. The first
     * view whose columns the table has is drawn. */
    const struct attn_table_view *views; /* [n_view] */
    size_t n_view;
};

/* Table and functions of a procedure; all functions except `ask` may be NULL. STATE is the
 * procedure's struct, which begins with a struct attn_frame and is otherwise zeroed. Functions set
 * the stage of errors, except `check` and `choose`, whose errors get the stage of options. */
struct attn_procedure {
    struct attn_procedure_table table;
    /* its arguments, and which keys of items replace them; or NULL */
    const struct attn_question *question;
    size_t state_size; /* size of its struct */
    size_t sum_size;   /* size of the struct of results beside the table; 0: none */
    /* Offset of the enum attn_tower of the model that is asked; 0: the input selects it. */
    size_t tower;
    struct attn_item_rules items; /* how it takes items */
    const char *sites;            /* that its runs record, unless `choose` is set; or NULL */
    /* prepares its runs itself, also for items (attn_stream_run). False: the frame checks the
     * host and prepares the run of each input */
    bool makes_runs;
    bool needs_output; /* the model must have an output layer */
    bool reads_turns;  /* a text that is no conversation is noted, if its model is for them */
    bool reads_unequal_layers; /* it answers about layers of unequal sizes, as Gemma 4 has */
    /* checks the arguments only */
    enum attn_status (*check)(const void *args, struct attn_error *err);
    /* Changes the frame's request before its run is prepared. NULL: attn_question_choose_nothing,
     * but for `sites`. An error counts for every item. */
    enum attn_status (*choose)(void *state, struct attn_error *err);
    enum attn_status (*prepare)(void *state, struct attn_error *err);
    /* Returns which of its flags hold, for `shown` of its columns. NULL: it has none. For items
     * also called before `prepare`; if makes_runs, after it. */
    uint64_t (*shows)(const void *state);
    /* Adapts the view that is drawn to the arguments; NULL: no adaptation. */
    void (*draw)(const void *args, struct attn_drawn *drawn);
    enum attn_status (*ask)(void *state, struct attn_error *err); /* appends the rows */
    /* Performs CALL in its own way, for example with a copy of this struct that has a plan.
     * NULL: performs it with this struct. */
    enum attn_status (*perform)(const struct attn_procedure_call *call, struct attn_error *err);
    /* frees memory that the frame does not own; also called after a failure */
    void (*release)(void *state);
    const void *plan; /* results shared by all items; set in a copy of this struct */
};

/* Initializers of the columns and the views of a procedure, with the lengths of these arrays. */
#define ATTN_PROCEDURE_COLUMNS(rows)                                                               \
    .table.columns = (rows), .table.n_column = sizeof(rows) / sizeof *(rows)
#define ATTN_PROCEDURE_VIEWS(rows)                                                                 \
    .table.views = (rows), .table.n_view = sizeof(rows) / sizeof *(rows)
#define ATTN_PROCEDURE_TABLE(column_rows, view_rows)                                               \
    ATTN_PROCEDURE_COLUMNS(column_rows), ATTN_PROCEDURE_VIEWS(view_rows)

/* A call of a procedure, with arguments that were not checked. Borrowed. */
struct attn_procedure_call {
    struct attn_host *host;
    const struct attn_request *request;
    /* arguments, which begin with their size (base/text/given.h); or NULL for the defaults */
    const void *given;
    /* the default arguments, which `given` overwrites; or a struct that has no defaults */
    void *args;
    struct attn_table **table; /* not changed on failure, like `sum` */
    void *sum;                 /* zeroed over items */
};

/* Performs CALL. The caller owns *table. Errors have a stage. */
enum attn_status attn_procedure_perform(const struct attn_procedure *procedure,
                                        const struct attn_procedure_call *call,
                                        struct attn_error *err);

/* Performs PROCEDURE over the items of CALL in a pass of its own, for what the items share: without
 * notes, files, groups and intervals. The arguments GIVEN [size] are complete; their study changes.
 * SHARD [2] are the message and the hint (or NULL) if the items are a shard, which has only some of
 * them. The items can be read again afterwards. */
enum attn_status attn_procedure_perform_first(const struct attn_procedure *procedure,
                                              const struct attn_procedure_call *call, void *given,
                                              const char *const shard[2], struct attn_error *err);

/* --- The frame -------------------------------------------------------------------------------- */

/* The first member of every procedure's struct. Owned members may be NULL. */
struct attn_frame {
    struct attn_host *host; /* borrowed; host of the model that runs */
    /* config of its model; if makes_runs, set by the procedure */
    const struct attn_config *config;
    const void *args;            /* borrowed; the complete arguments */
    void *sum;                   /* borrowed; zeroed at first */
    struct attn_request request; /* the request for this input */
    bool is_one_of_many;         /* the input is one of several items */
    const void *plan;            /* borrowed; plan of the procedure */
    /* borrowed; set if makes_runs: the procedure runs the items itself */
    struct attn_stream *stream;
    const struct attn_item *item;      /* borrowed; the current item; or NULL */
    struct attn_result_answer *answer; /* borrowed; for an item: results beside its rows */
    const struct attn_fold *fold;      /* borrowed; for an item: the table of all */
    struct attn_run *run;              /* owns; the run of the request */
    struct attn_run *other;            /* owns; a second run to compare with */
    struct attn_selection *selection;  /* owns; of the question, or of attn_derivative_select */
    struct attn_capture *capture;      /* owns */
    struct attn_session *session;      /* owns */
    struct attn_trials trials;         /* owns */
    struct attn_rows rows;             /* owns */
    const struct attn_answer *asked;   /* borrowed; what attn_frame_find_answer found; or NULL */
    struct attn_spaces spaces;         /* unusual spaces of the words in the question */
    struct attn_store *store;          /* owns; the blocks of attn_frame_alloc */
    bool lacks_memory;                 /* an allocation failed; see attn_frame_memory */
};

/* Lets PROCEDURE read the text of REQUEST as it is, without a note that it is no conversation. */
void attn_frame_take_plain(const struct attn_procedure *procedure, struct attn_request *request);

/* Allocates COUNT zeroed elements of SIZE bytes, which the frame frees at the end. After a failure
 * attn_frame_memory returns ATTN_NO_MEMORY, so that several allocations can be checked at once. */
void *attn_frame_alloc(struct attn_frame *frame, size_t count, size_t size);
enum attn_status attn_frame_memory(const struct attn_frame *frame, struct attn_error *err);

/* Resolves ARGS in the frame's run (predict/answer_internal.h) into ANSWER, and stores its metric
 * as a fact about the table. */
enum attn_status attn_frame_find_answer(struct attn_frame *frame,
                                        const struct attn_answer_args *args,
                                        struct attn_answer *answer, struct attn_error *err);

/* Reports the reply of the unchanged run, if the input is an item. */
void attn_frame_report_base(struct attn_frame *frame, const struct attn_answer *asked,
                            const struct attn_reply *reply);

/* Reports a copy of NUMBERS [n] beside the rows (fold.h), if the input is an item. */
enum attn_status attn_frame_report_more(struct attn_frame *frame, const double *numbers, size_t n,
                                        struct attn_error *err);

/* Appends a row to the table: CELLS, one per column of the procedure. */
enum attn_status attn_frame_append(struct attn_frame *frame, const struct attn_cell *cells,
                                   struct attn_error *err);

/* Reports progress: N_DONE of N parts are done. */
void attn_frame_report(const struct attn_frame *frame, size_t n_done, size_t n);
