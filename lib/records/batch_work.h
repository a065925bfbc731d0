/*
 * batch_work.h - the records of a batch on their way: from lines, through the model, to the
 * outputs, with a checkpoint every second.
 *
 *     struct attn_batch_work work = {.options = options, .lines = lines, ...};
 *     attn_batch_work_init(&work, &err);
 *     attn_batch_work_resume(&work, &is_resumed, &err);     // or from the first record on
 *     attn_batch_work_run(&work, host, &many, &err);
 *     attn_batch_work_checkpoint(&work, &err);
 *     attn_batch_work_release(&work);
 */
#ifndef ATTN_RECORDS_BATCH_WORK_H
#define ATTN_RECORDS_BATCH_WORK_H

#include "base/thread.h"
#include "records/batch.h"
#include "records/batch_journal.h"
#include "records/batch_lines.h"
#include "records/batch_manifest.h"
#include "records/batch_parts.h"
#include "records/model_files.h"

/* Initialize the first part and zero the rest; end with attn_batch_work_release. */
struct attn_batch_work {
    const struct attn_batch_options *options; /* borrowed, as all of these */
    struct attn_batch_lines *lines;
    struct attn_records *records;        /* the outputs */
    struct attn_model_files *model;      /* they are waited for before the journal begins */
    const char *journal_path;            /* NULL: there will be no journal */
    struct attn_batch_identity identity; /* of the journal; its model is filled when it is known */
    bool needs_numbers;                  /* records have numbers also where they have ids */
    struct sha256_ctx input;             /* of all lines that were read */
    atomic_bool has_ended;               /* nothing more is wanted */

    struct attn_batch_journal *journal; /* owns; NULL: it is not begun */
    struct attn_batch_checkpoint done;  /* all results that were handed to the outputs */
    struct sha256_ctx done_input;       /* of their lines */
    struct attn_batch_extent *extents;  /* [n_file] owns: those of `done` */
    struct attn_batch_parts *parts;     /* owns; NULL without a journal */
    size_t n_file;
    uint64_t n_failed;            /* of those that are done */
    uint64_t n_before;            /* records that an earlier process did */
    uint64_t first;               /* where the lines begin */
    uint64_t begin_of_work;       /* where the lines began that are read now */
    uint64_t milliseconds_before; /* of earlier processes */
    double begun;                 /* seconds of a clock; when records began to be computed */

    struct attn_batch_line line; /* the one that is being read */
    uint64_t n_read;             /* lines */
    uint64_t number_before;      /* lines before the shard */
    bool has_numbers;            /* ... were counted */
    struct attn_error read_err;  /* why reading ended early */

    struct attn_monitor *monitor; /* owns; a lock for `free` */
    struct batch_slot *free;      /* owns all that are free */
    bool has_checkpoint;          /* the journal has a line */
    double checked;               /* seconds since `begun`; when the last checkpoint was */
};

/* Opens the files of work->records, for what they hold at a checkpoint. */
enum attn_status attn_batch_work_init(struct attn_batch_work *work, struct attn_error *err);
void attn_batch_work_release(struct attn_batch_work *work);

/*
 * Goes on after the last checkpoint of the journal that the outputs, opened to be resumed, hold;
 * where there is none, at the beginning. *is_resumed says which. ATTN_INVALID at the stage of the
 * options when the input up to there, or what its records have their numbers from, is another.
 */
enum attn_status attn_batch_work_resume(struct attn_batch_work *work, bool *is_resumed,
                                        struct attn_error *err);

/* Whether the input, of which nothing was read yet, and the files of the outputs are still those
 * that MADE says, which MANIFEST_PATH holds. ATTN_INVALID at the stage of the options when one is
 * not. */
enum attn_status attn_batch_work_compare(struct attn_batch_work *work,
                                         const struct attn_batch_made *made,
                                         const char *manifest_path, struct attn_error *err);

/* Computes the records that are left. MANY says what is asked of each. */
enum attn_status attn_batch_work_run(struct attn_batch_work *work, struct attn_host *host,
                                     const struct attn_many_options *many, struct attn_error *err);

/* Flushes the outputs, and appends to the journal, if it is wanted and the model's files are
 * known. */
enum attn_status attn_batch_work_checkpoint(struct attn_batch_work *work, struct attn_error *err);

/* Brings the digest of the input and the time in work->done up to date. */
void attn_batch_work_measure(struct attn_batch_work *work);

/* Seconds since records began to be computed; 0 before. */
double attn_batch_work_seconds(const struct attn_batch_work *work);

#endif
