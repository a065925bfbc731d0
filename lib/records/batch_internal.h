/*
 * batch_internal.h - a batch as its files see it: what it reads and writes, how far it is, and what
 * of that is on disk.
 *
 *     batch.c           opens what it reads and writes, begins or resumes it, and ends it
 *     batch_work.c      takes records from lines through the model to the outputs, with a
 *                       checkpoint every second
 *     batch_journal.c   writes down each checkpoint while the outputs grow: a process that is
 *                       killed leaves that, and the next one resumes at its last line
 *     batch_manifest.c  FILE.run.json, which says how the results beside it were made: tool, model,
 *                       options, input, counts, outputs, with the SHA-256 of each file
 *
 * Lines (batch_lines.h) and parts (batch_parts.h) know nothing of it.
 */
#ifndef ATTN_RECORDS_BATCH_INTERNAL_H
#define ATTN_RECORDS_BATCH_INTERNAL_H

#include "base/thread.h"
#include "records/batch.h"
#include "records/batch_lines.h"
#include "records/batch_parts.h"
#include "records/model_files.h"
#include "records/record_labels.h"

#include <time.h>

/* What a batch is of: two with the same three texts give the same bytes. Each is one line of JSON.
 * Borrows. */
struct attn_batch_identity {
    const char *model;   /* files of the model with their SHA-256; NULL: it is not known yet */
    const char *options; /* those that shape the results, with their values */
    const char *input;   /* its bytes */
};

/* What is done at one moment. */
struct attn_batch_checkpoint {
    uint64_t n_record;   /* records of which the results are in the files */
    uint64_t begin, end; /* of the last one's line in the input; end 0: there is none yet */
    uint64_t crc;        /* CRC-32 of that line */
    uint64_t n_token;
    uint64_t failures[ATTN_N_RECORD_FAILURE]; /* how often each happened */
    uint64_t milliseconds;                    /* of work, restarts with it */
    uint64_t n_restart;
    uint64_t n_line_before;           /* lines before the shard, where its records needed them */
    char input[ATTN_DIGEST_HEX_SIZE]; /* SHA-256 of the input, from the first line to that one */
};

struct attn_batch {
    struct attn_batch_options options;
    struct attn_records_item *outputs; /* [options.n_output] owns; their paths name the shard */
    struct attn_buffer *paths;         /* [options.n_output] owns; empty of sinks */
    const char *name;                  /* of the first output, a file; NULL: it is none, and there
                                          is nothing that could be resumed */
    struct attn_buffer journal_path, manifest_path; /* terminated; data NULL without a name */
    struct attn_buffer asked, input_size;           /* the identity's */
    struct attn_batch_identity identity;
    time_t started;
    bool is_run;       /* that is done once */
    bool is_complete;  /* it was done before */
    bool is_finishing; /* the outputs got their ends, and cannot be resumed from */

    struct attn_label_names labels;       /* owns; those that were asked for */
    bool *seen_labels;                    /* [labels.n] owns; which of them a record had */
    struct attn_label_store first_labels; /* owns; of the first record, where all were */
    const char **columns;                 /* [first_labels.n] owns; their names */
    enum attn_record_field table;         /* what csv holds */
    bool has_noted_text;                  /* that a line is no object of JSON */
    bool needs_next;                      /* a record without `next` fails */
    size_t most_next;                     /* so does one with more continuations */
    struct attn_batch_lines *lines;       /* owns; the input */
    struct attn_records *records;         /* owns; the outputs */
    struct attn_model_files *model;    /* owns; waited for before the journal begins; NULL without a
                                          name, as what follows */
    struct attn_batch_parts *parts;    /* owns; the files of the outputs, for what they hold */
    struct attn_batch_extent *extents; /* [n_file] owns: what they held at `done` */
    size_t n_file;
    int journal;         /* owns; a descriptor; -1: it is not begun */
    bool has_checkpoint; /* the journal has a line */

    struct attn_batch_checkpoint done; /* all results that were handed to the outputs */
    struct sha256_ctx done_input;      /* of their lines */
    uint64_t n_failed;                 /* of those that are done */
    uint64_t n_before;                 /* records that an earlier process did */
    uint64_t first;                    /* where the lines begin */
    uint64_t begin_of_work;            /* where the lines began that are read now */
    uint64_t milliseconds_before;      /* of earlier processes */
    double begun;                      /* seconds of a clock; when records began to be computed */
    double checked;                    /* seconds since `begun`; when the last checkpoint was */

    struct attn_batch_line line; /* the one that is being read */
    struct sha256_ctx input;     /* of all lines that were read */
    uint64_t n_read;             /* lines */
    uint64_t number_before;      /* lines before the shard */
    bool has_numbers;            /* ... were counted */
    bool needs_numbers;          /* records have numbers also where they have ids */
    atomic_bool has_ended;       /* nothing more is wanted */
    struct attn_error read_err;  /* why reading ended early */

    struct attn_monitor *monitor; /* owns; a lock for `free` */
    struct batch_slot *free;      /* owns all that are free */
};

/* --- The work -------------------------------------------------------------------------------- */

/* Prepares it, where the outputs are open, and releases that. */
enum attn_status attn_batch_work_init(struct attn_batch *batch, struct attn_error *err);
void attn_batch_work_release(struct attn_batch *batch);

/*
 * Resumes after the last checkpoint of the journal that the outputs, opened to be resumed, hold;
 * where there is none, at the beginning. *is_resumed says which. ATTN_INVALID at the stage of the
 * options when the input up to there, or what its records have their numbers from, is another.
 */
enum attn_status attn_batch_work_resume(struct attn_batch *batch, bool *is_resumed,
                                        struct attn_error *err);

struct attn_batch_made;

/* Whether the input, of which nothing was read yet, and the files of the outputs are still those
 * that MADE says. ATTN_INVALID at the stage of the options when one is not. */
enum attn_status attn_batch_work_compare(struct attn_batch *batch,
                                         const struct attn_batch_made *made,
                                         struct attn_error *err);

/* Computes the records that are left. MANY says what is asked of each. */
enum attn_status attn_batch_work_run(struct attn_batch *batch, struct attn_host *host,
                                     const struct attn_many_options *many, struct attn_error *err);

/* Flushes the outputs, and appends to the journal, if it is wanted and the model's files are
 * known. */
enum attn_status attn_batch_work_checkpoint(struct attn_batch *batch, struct attn_error *err);

/* Brings the digest of the input and the time in batch->done up to date. */
void attn_batch_work_measure(struct attn_batch *batch);

/* Seconds since records began to be computed; 0 before. */
double attn_batch_work_seconds(const struct attn_batch *batch);

/* --- The journal ----------------------------------------------------------------------------- */

/* Begins a new one instead of what was there. */
enum attn_status attn_batch_journal_create(struct attn_batch *batch, struct attn_error *err);

/* Appends batch->done with its extents; where the batch is synced, down to the disk. */
enum attn_status attn_batch_journal_append(const struct attn_batch *batch, struct attn_error *err);

/*
 * Opens it to resume: finds the last checkpoint that the parts hold, each being asked until one is
 * not held, cuts the journal after it, and stores it in batch->done. batch->journal stays -1 where
 * there is no journal, or none with such a line: there is nothing to resume. ATTN_INVALID at
 * the stage of the options when it is of another batch.
 */
enum attn_status attn_batch_journal_resume(struct attn_batch *batch, struct attn_error *err);

/* Says that the file PATH is of a run with WHAT: "another model". REMEDY is the hint. */
enum attn_status attn_batch_report_other(const char *path, const char *what, const char *remedy,
                                         struct attn_error *err);

/* --- The manifest ---------------------------------------------------------------------------- */

/* What a manifest says of results that are whole. Initialize with = {0}; end with
 * attn_batch_made_release. */
struct attn_batch_made {
    bool is_there; /* there is a manifest; all else is 0 without */
    bool has_failed;
    uint64_t n_record, n_failed;
    uint64_t begin, end;               /* the range of the input, in bytes */
    uint64_t n_line_before;            /* before that, where records have their numbers from it */
    char input[ATTN_DIGEST_HEX_SIZE];  /* SHA-256 of the range */
    struct attn_batch_extent *outputs; /* [n_output] owns; in the order of attn_records_part */
    size_t n_output;
};

void attn_batch_made_release(struct attn_batch_made *made);

/* Writes the file: the input was read to its end, and the outputs are finished. Two batches with
 * the same identity have the same manifest, but for times, threads and paths. Its last member is
 * the SHA-256 of all before it, so a manifest that was changed is known. */
enum attn_status attn_batch_manifest_write(const struct attn_batch *batch,
                                           const struct attn_host *host, struct attn_error *err);

/* Reads the manifest, if it is there. ATTN_INVALID at the stage of the options when it is of
 * another batch, or is not as it was written. */
enum attn_status attn_batch_manifest_read(const struct attn_batch *batch,
                                          struct attn_batch_made *made, struct attn_error *err);

/* Whether the outputs are, under their final names, those of MADE; all are read. ATTN_INVALID at
 * the stage of the options when one is not, and ATTN_CANCELED when that was canceled. */
enum attn_status attn_batch_manifest_compare(const struct attn_batch *batch,
                                             const struct attn_batch_made *made,
                                             struct attn_error *err);

#endif
