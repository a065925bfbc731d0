/*
 * frame.h - what all experiments have in common. An experiment is a row: its columns, and functions
 * that say what it asks. The frame reads what is given, prepares the run, makes the table, takes
 * the means over texts, reports progress and frees. For the files of this layer.
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
#ifndef ATTN_EXPERIMENT_FRAME_H
#define ATTN_EXPERIMENT_FRAME_H

#include "capture/capture.h"
#include "experiment/rows.h"
#include "experiment/study_internal.h"
#include "experiment/trial.h"
#include "run/many.h"
#include "run/run_internal.h"

/* --- What an experiment is -------------------------------------------------------------------- */

/* A row of columns and functions, of which any but `ask` may be NULL. STATE is its struct, which
 * begins with a struct attn_frame and is zeros after it at first. Errors have a stage, but those of
 * `check` and `choose`, which get that of options. */
struct attn_experiment {
    const char *name;                  /* of its table */
    const struct attn_column *columns; /* [n_column] of its table; none: there is no table */
    size_t n_column;
    size_t state_size; /* of its struct */
    size_t sum_size;   /* of what it finds beside the table; 0: nothing */
    /* Offsets of the list of texts and of its length among the arguments; 0: it takes none. */
    size_t texts, n_text;
    size_t sort, n_most; /* likewise those of a struct attn_table_order, by which the table is
                            sorted; 0: it takes none */
    /* Offset of the pointer to a study among the arguments; 0: it takes no items. Each item is
     * asked about, side by side on the host's threads, and the table is the fold (fold.h). */
    size_t study;
    /* Puts what ITEM says over copies of the arguments and of the request. Its input and its source
     * are there. */
    enum attn_status (*take_item)(void *args, struct attn_request *request,
                                  const struct attn_item *item, struct attn_error *err);
    /* Where an item's keys go among the arguments, so that one that has no effect is refused; 0:
     * nowhere. Offsets of a struct attn_answer_args, `from`, `to`, places and the second source. */
    size_t answer, from, to, places, n_place, corrupted_source;
    uint64_t of_request; /* likewise in the request: ATTN_ITEM_KEY_BIT of QUERIES or READ */
    unsigned (*pairs)(const void *args); /* ATTN_ITEM_BIT of the texts that its items may have;
                                            NULL: SINGLE */
    uint64_t counts, derived, bounded, names, unfilled; /* columns (struct attn_fold_form) */
    attn_fold_derive_fn derive;                         /* likewise */
    const char *hint;                                   /* likewise */
    bool makes_runs;   /* by itself, also those of texts (attn_frame_run_texts). False: the frame
                          checks the host and prepares the run. Each text is asked about, one after
                          the other, and the table is the means */
    bool needs_output; /* of such a run's model: an output layer */
    enum attn_status (*check)(const void *args, struct attn_error *err); /* the arguments alone */
    /* Changes the frame's request before its run is prepared. NULL: attn_frame_choose_nothing. What
     * it finds wrong is wrong for every item. */
    enum attn_status (*choose)(void *state, struct attn_error *err);
    enum attn_status (*prepare)(void *state, struct attn_error *err);
    uint64_t (*hidden)(const void *state); /* of the columns; NULL: all are shown. Of an item also
                                              asked before `prepare`, of makes_runs after it */
    enum attn_status (*ask)(void *state, struct attn_error *err); /* appends the rows */
    void (*release)(void *state); /* what is not the frame's, also after a failure */
    const void *plan;             /* what it found before for all items; of a copy of the row */
};

/* What an experiment is asked, by a caller who may have made mistakes. Borrowed. */
struct attn_inquiry {
    struct attn_host *host;
    const struct attn_request *request;
    const void *given;         /* arguments, which begin with their size (base/given.h); or NULL */
    void *args;                /* their defaults, over which these are copied; or what takes none */
    struct attn_table **table; /* untouched on failure, likewise `sum` */
    void *sum;                 /* zeros over items */
};

/* Answers INQUIRY. The caller owns *table. Errors have a stage, those of one of several texts a
 * hint which one it was. */
enum attn_status attn_experiment_perform(const struct attn_experiment *experiment,
                                         const struct attn_inquiry *inquiry,
                                         struct attn_error *err);

/* --- The frame -------------------------------------------------------------------------------- */

enum { ATTN_FRAME_MOST_OWNED = 16 };

/* What every experiment begins with. What it owns may stay empty. */
struct attn_frame {
    struct attn_host *host;           /* borrowed; that whose model is asked */
    const struct attn_config *config; /* of its model; makes_runs: set by the experiment */
    const void *args;                 /* borrowed; as they were read */
    void *sum;                        /* borrowed; zeros at first. Of several texts all add to it */
    struct attn_request request;      /* as it was read; its input is what is asked about */
    const struct attn_input *texts;   /* [n_text] borrowed; of which that is one; or none */
    size_t n_text;
    const void *plan;             /* borrowed; of the experiment */
    struct attn_study *study;     /* borrowed; of makes_runs, which goes over its items itself */
    const struct attn_item *item; /* borrowed; which is asked about; NULL: none is */
    struct attn_study_answer *answer; /* borrowed; about that item, what stands beside its rows */
    struct attn_run *run;             /* owns; of the request */
    struct attn_run *other;           /* owns; that it is compared with */
    struct attn_selection *selection; /* owns; of attn_frame_select */
    struct attn_capture *capture;     /* owns */
    struct attn_session *session;     /* owns */
    struct attn_trials trials;        /* owns */
    struct attn_rows rows;            /* owns */
    struct attn_spaces spaces;        /* what is odd about those of what is asked */
    bool has_noted_spaces;            /* another experiment did, that it is made of */
    void *owned[ATTN_FRAME_MOST_OWNED];
    size_t n_owned;
    bool lacks_memory; /* for what it should own */
};

/* Leaves of REQUEST the input and how it is run: nothing is chosen, predicted or written. */
void attn_frame_choose_nothing(struct attn_request *request);

/* Selects SITES of the run, of all layers, heads and positions. */
enum attn_status attn_frame_select(struct attn_frame *frame, attn_site_set sites,
                                   struct attn_error *err);

/* COUNT elements of SIZE bytes, zeros, which the frame frees at the end. NULL is remembered, so
 * that several blocks are checked at once: attn_frame_memory is then ATTN_NO_MEMORY. */
void *attn_frame_alloc(struct attn_frame *frame, size_t count, size_t size);
enum attn_status attn_frame_memory(const struct attn_frame *frame, struct attn_error *err);

/* Sets of edits that are tried, and what came of each. Owned by the frame. */
struct attn_sets {
    struct attn_trial_change *changes;   /* [n] */
    struct attn_trial_outcome *outcomes; /* [n] */
    struct attn_edit *edits;             /* of all */
    size_t n;
};

/* Takes room for N sets of up to N_EDIT edits, as attn_frame_alloc does. */
void attn_frame_take_sets(struct attn_frame *frame, struct attn_sets *sets, size_t n,
                          size_t n_edit);

/* Runs each of SETS by the frame's trials. */
enum attn_status attn_frame_try_sets(struct attn_frame *frame, const struct attn_sets *sets,
                                     struct attn_error *err);

/* Finds what ARGS mean in the frame's run (run/answer_internal.h). */
enum attn_status attn_frame_find_answer(struct attn_frame *frame,
                                        const struct attn_answer_args *args,
                                        struct attn_answer *answer, struct attn_error *err);

/* Says what the unchanged run replied, of an item; of one text it does nothing. */
void attn_frame_report_base(struct attn_frame *frame, const struct attn_answer *asked,
                            const struct attn_reply *reply);

/* Puts copies of NUMBERS [n] beside the rows (fold.h), of an item; of one text it does nothing. */
enum attn_status attn_frame_report_more(struct attn_frame *frame, const double *numbers, size_t n,
                                        struct attn_error *err);

/* Appends a row to the table: CELLS, one a column of the experiment. */
enum attn_status attn_frame_append(struct attn_frame *frame, const struct attn_cell *cells,
                                   struct attn_error *err);

/* Reports that N_DONE of N parts of the work are done. */
void attn_frame_report(const struct attn_frame *frame, size_t n_done, size_t n);

/* Goes over the texts side by side (run/many.h) by OPTIONS, which get the frame's request. TAKE
 * gets the frame and what came of each text, in their order. A text that fails ends it. */
enum attn_status attn_frame_run_texts(struct attn_frame *frame, struct attn_many_options *options,
                                      attn_done_fn take, struct attn_error *err);

#endif
