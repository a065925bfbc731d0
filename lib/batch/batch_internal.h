/*
 * batch_internal.h - the state of a batch.
 *
 *     batch.c           opens input and outputs, begins or resumes, and ends
 *     batch_work.c      computes the records of the lines and writes them, with a checkpoint
 *                       every second
 *
 * The ledger (ledger_internal.h) manages the files on disk.
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
    struct attn_ledger ledger;
    bool is_run;      /* attn_batch_run was called; a batch runs once */
    bool is_complete; /* an earlier run was complete */

    struct attn_label_names labels; /* owns; the requested labels */
    bool *seen_labels;              /* [labels.n] owns; true for labels that some record had */
    /* owns; the first record, read for its labels if all labels are requested */
    struct attn_item first;
    const char **columns;         /* [first.n_label] owns; names of these labels */
    enum attn_record_field table; /* field shown by csv */
    bool has_noted_text;          /* a note about a line that is not an object was sent */
    bool needs_next;              /* a record without `next` fails */
    bool has_used_next;           /* some record used the continuations that are given for all */
    size_t most_next;             /* a record with more continuations fails */
    const struct attn_places *places; /* borrowed; those of the request, or NULL */
    struct attn_batch_lines *lines;   /* owns; the input */

    uint64_t n_before;       /* number of records of earlier processes */
    uint64_t begin_of_lines; /* offset of the first line in the input */
    uint64_t begin_of_work;  /* offset of the first line that this process reads */

    struct attn_batch_line line; /* the current line */
    struct attn_sha256 input;    /* digest of all lines so far */
    uint64_t n_read;             /* number of lines read */
    uint64_t number_before;      /* number of lines before the shard */
    bool has_numbers;            /* number_before was counted */
    bool needs_numbers;          /* records with ids need their number, too */
    atomic_bool has_ended;       /* no further records are needed */
    struct attn_error read_err;  /* error while reading */
};

/* --- The work -------------------------------------------------------------------------------- */

/* Prepares the work. Call when the outputs are open. */
enum attn_status attn_batch_work_init(struct attn_batch *batch, struct attn_error *err);
void attn_batch_work_release(struct attn_batch *batch);

/* Skips the input up to the ledger's checkpoint. ATTN_INVALID at the stage of the options if that
 * part of the input, or the number of lines before it, has changed. */
enum attn_status attn_batch_work_resume(struct attn_batch *batch, struct attn_error *err);

/* Compares the whole input with that of MADE. ATTN_INVALID at the stage of the options if it has
 * changed. */
enum attn_status attn_batch_work_compare(struct attn_batch *batch,
                                         const struct attn_ledger_made *made,
                                         struct attn_error *err);

/* Computes the remaining records. */
enum attn_status attn_batch_work_run(struct attn_batch *batch, struct attn_host *host,
                                     const struct attn_many_options *many, struct attn_error *err);

#endif
