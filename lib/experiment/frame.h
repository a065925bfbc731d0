/*
 * frame.h - what all experiments have in common. An experiment is a row of functions; the frame
 * reads what is given, makes the table, takes the means over texts, reports progress and frees. For
 * the files of this layer.
 *
 *     struct lens {
 *         struct attn_frame frame; // comes first
 *         float *logits;           // [V] the frame's
 *     };
 *     static enum attn_status prepare(void *state, struct attn_error *err)
 *     {
 *         struct lens *lens = state;
 *         ATTN_TRY(attn_frame_prepare_run(&lens->frame, err));
 *         lens->logits = attn_frame_own(&lens->frame, attn_alloc(n, sizeof *lens->logits, err));
 *         return attn_frame_memory(&lens->frame);
 *     }
 *     static const struct attn_experiment experiment = {
 *         .name = "lens", .state_size = sizeof(struct lens), .prepare = prepare,
 *         .columns = columns, .ask = ask};
 *     return attn_experiment_perform(&experiment, &inquiry, err);
 */
#ifndef ATTN_EXPERIMENT_FRAME_H
#define ATTN_EXPERIMENT_FRAME_H

#include "base/table_internal.h"
#include "capture/capture.h"
#include "run/many.h"
#include "run/run_internal.h"

/* --- Columns ---------------------------------------------------------------------------------- */

enum { ATTN_MOST_COLUMNS = 80, ATTN_COLUMN_NAME_SIZE = 64 };

/* The columns of a table, and their names where these are made. Initialize `n` with 0. */
struct attn_columns {
    struct attn_column items[ATTN_MOST_COLUMNS];
    size_t n;
    char names[ATTN_MOST_COLUMNS][ATTN_COLUMN_NAME_SIZE]; /* "value_sd" */
};

/* A column of KIND: INTEGER, TEXT, BOOLEAN or LIST. */
#define ATTN_COLUMN(label, kind)                                                                   \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_##kind                                                 \
    }

/* A column of reals with so many PLACES after the point, of a UNIT or NULL; NUMBERS: SIGNED,
 * POSITIVE or SHARE. */
#define ATTN_COLUMN_REAL(label, places, of, numbers)                                               \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_REAL, .unit = (of), .notation = ATTN_NOTATION_FIXED,   \
        .digits = (places), .range = ATTN_RANGE_##numbers                                          \
    }

void attn_columns_add(struct attn_columns *columns, const struct attn_column *items, size_t n);

/* Adds NAME_sd, the standard deviation of COLUMN. */
void attn_columns_add_sd(struct attn_columns *columns, const struct attn_column *column);

/* --- Means ------------------------------------------------------------------------------------ */

/* Mean and sum of squares of the differences from it, of N numbers (Welford). */
struct attn_moments {
    size_t n;
    double mean, squares;
};

void attn_moments_add(struct attn_moments *moments, double x);

/* The standard deviation, with n - 1; NaN of fewer than two numbers. As a cell it is then missing.
 * */
double attn_moments_sd(const struct attn_moments *moments);
struct attn_cell attn_moments_sd_cell(const struct attn_moments *moments);

/* --- What an experiment is -------------------------------------------------------------------- */

/* A row of functions. STATE is its struct, which begins with a struct attn_frame and is zeros after
 * it before `prepare`. Errors have a stage, but those of `check`, which get that of options. */
struct attn_experiment {
    const char *name;  /* of its table */
    size_t state_size; /* of its struct */
    size_t sum_size;   /* of what it finds beside the table; 0: nothing */
    /* Offsets of the list of texts and of its length among the arguments; 0: it takes none. */
    size_t texts, n_text;
    bool goes_over_texts; /* by itself (attn_frame_run_texts); false: each text is asked about, one
                             after the other, and the table is the means */
    enum attn_status (*check)(const void *args, struct attn_error *err); /* the arguments alone; or
                                                                            NULL */
    enum attn_status (*prepare)(void *state, struct attn_error *err);
    void (*columns)(const void *state, struct attn_columns *columns); /* NULL: there is no table */
    enum attn_status (*ask)(void *state, struct attn_error *err);     /* appends the rows */
    void (*release)(void *state); /* what is not the frame's, also after a failure; or NULL */
};

/* What an experiment is asked, by a caller who may have made mistakes. Borrowed. */
struct attn_inquiry {
    struct attn_host *host;
    const struct attn_request *request;
    const void *given;         /* arguments, which begin with their size (base/given.h); or NULL */
    void *args;                /* their defaults, over which these are copied; or what takes none */
    struct attn_table **table; /* untouched on failure, likewise `sum` */
    void *sum;
};

/* Answers INQUIRY. The caller owns *table. Errors have a stage, those of one of several texts a
 * hint which one it was. */
enum attn_status attn_experiment_perform(const struct attn_experiment *experiment,
                                         const struct attn_inquiry *inquiry,
                                         struct attn_error *err);

/* --- The frame -------------------------------------------------------------------------------- */

enum { ATTN_FRAME_MOST_OWNED = 12 };

/* What every experiment begins with. */
struct attn_frame {
    struct attn_host *host;         /* borrowed */
    const void *args;               /* borrowed; as they were read */
    void *sum;                      /* borrowed; zeros at first. Of several texts all add to it */
    struct attn_request request;    /* as it was read; its input is the text that is asked about */
    const struct attn_input *texts; /* [n_text] borrowed; of which that is one; or none */
    size_t n_text;
    struct attn_run *run;             /* owns; of attn_frame_prepare_run */
    const struct attn_config *config; /* of its model */
    struct attn_selection *selection; /* owns; of attn_frame_select */
    struct attn_capture *capture;     /* owns */
    struct attn_table *table;         /* owns */
    void *owned[ATTN_FRAME_MOST_OWNED];
    size_t n_owned;
    bool lacks_memory; /* of what it should own something was NULL */
};

/* Leaves of REQUEST the input and how it is run: nothing is chosen, predicted or written. */
void attn_frame_choose_nothing(struct attn_request *request);

/* Prepares the run of the frame's request. */
enum attn_status attn_frame_prepare_run(struct attn_frame *frame, struct attn_error *err);

/* Selects SITES of that run, of all layers, heads and positions. */
enum attn_status attn_frame_select(struct attn_frame *frame, attn_site_set sites,
                                   struct attn_error *err);

/* Takes BLOCK, which is freed at the end, and returns it. NULL is remembered: attn_frame_memory is
 * then ATTN_NO_MEMORY, so that several blocks are checked at once. */
void *attn_frame_own(struct attn_frame *frame, void *block);
enum attn_status attn_frame_memory(const struct attn_frame *frame);

/* Appends a row to the table: as many CELLS as it has columns. */
enum attn_status attn_frame_append(struct attn_frame *frame, const struct attn_cell *cells,
                                   struct attn_error *err);

/* Reports that N_DONE of N parts of the work are done. */
void attn_frame_report(const struct attn_frame *frame, size_t n_done, size_t n);

/* Goes over the texts side by side (run/many.h) by OPTIONS, which get the frame's request. TAKE
 * gets the frame and what came of each text, in their order. A text that fails ends it. */
enum attn_status attn_frame_run_texts(struct attn_frame *frame, struct attn_many_options *options,
                                      attn_done_fn take, struct attn_error *err);

#endif
