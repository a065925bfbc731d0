/*
 * batch_internal.h - a batch as its files see it: what it reads and writes, and how far it is.
 *
 *     batch.c           opens what it reads and writes, begins or resumes it, and ends it
 *     batch_work.c      takes records from lines through the model to the outputs, with a
 *                       checkpoint every second
 *
 * What of that is on disk is in its ledger (ledger_internal.h), which knows nothing of it, nor do
 * lines (batch_lines.h).
 */
#ifndef ATTN_BATCH_BATCH_INTERNAL_H
#define ATTN_BATCH_BATCH_INTERNAL_H

#include "base/thread.h"
#include "batch/batch.h"
#include "batch/ledger_internal.h"
#include "records/batch_lines.h"
#include "records/record_labels.h"

struct attn_batch {
    struct attn_batch_options options;
    struct attn_records_item *outputs; /* [options.n_output] owns; their paths name the shard */
    struct attn_buffer *paths;         /* [options.n_output] owns; empty of sinks */
    struct attn_ledger ledger;         /* what of the outputs is on disk */
    bool is_run;                       /* that is done once */
    bool is_complete;                  /* it was done before */

    struct attn_label_names labels;       /* owns; those that were asked for */
    bool *seen_labels;                    /* [labels.n] owns; which of them a record had */
    struct attn_label_store first_labels; /* owns; of the first record, where all were */
    const char **columns;                 /* [first_labels.n] owns; their names */
    enum attn_record_field table;         /* what csv holds */
    bool has_noted_text;                  /* that a line is no object of JSON */
    bool needs_next;                      /* a record without `next` fails */
    bool has_used_next;                   /* a record took the continuations for all */
    size_t most_next;                     /* so does one with more continuations */
    struct attn_batch_lines *lines;       /* owns; the input */

    struct sha256_ctx done_input; /* of the lines that are done */
    uint64_t n_before;            /* records that an earlier process did */
    uint64_t first;               /* where the lines begin */
    uint64_t begin_of_work;       /* where the lines began that are read now */
    uint64_t milliseconds_before; /* of earlier processes */
    double begun;                 /* seconds of a clock; when records began to be computed */
    double checked;               /* seconds since `begun`; when the last checkpoint was */

    struct attn_batch_line line; /* the one that is being read */
    struct sha256_ctx input;     /* of all lines that were read */
    uint64_t n_read;             /* lines */
    uint64_t number_before;      /* lines before the shard */
    bool has_numbers;            /* ... were counted */
    bool needs_numbers;          /* records have numbers also where they have ids */
    atomic_bool has_ended;       /* nothing more is wanted */
    struct attn_error read_err;  /* why reading ended early */
};

/* --- The work -------------------------------------------------------------------------------- */

/* Prepares it, where the outputs are open, and releases that. */
enum attn_status attn_batch_work_init(struct attn_batch *batch, struct attn_error *err);
void attn_batch_work_release(struct attn_batch *batch);

/* Whether the input up to what the ledger found to be done, and what its records have their numbers
 * from, is as it was; the lines are then after it. ATTN_INVALID at the stage of the options when it
 * is not. */
enum attn_status attn_batch_work_resume(struct attn_batch *batch, struct attn_error *err);

/* Whether the input, of which nothing was read yet, is still that of MADE. ATTN_INVALID at the
 * stage of the options when it is not. */
enum attn_status attn_batch_work_compare(struct attn_batch *batch,
                                         const struct attn_ledger_made *made,
                                         struct attn_error *err);

/* Computes the records that are left. MANY says what is asked of each. */
enum attn_status attn_batch_work_run(struct attn_batch *batch, struct attn_host *host,
                                     const struct attn_many_options *many, struct attn_error *err);

/* Brings the digest of the input and the time in the ledger up to date. OWNER is the batch. */
void attn_batch_work_measure(void *owner);

/* Seconds since records began to be computed; 0 before. */
double attn_batch_work_seconds(const struct attn_batch *batch);

#endif
