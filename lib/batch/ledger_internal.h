/*
 * ledger_internal.h - results on disk while they are computed: files that grow, how far each is,
 * and how it was made. A batch (batch.h) and the rows of items (each.h) own a ledger each, and know
 * what the results are.
 *
 *     struct attn_ledger ledger = {.journal = -1, .unit = "record", .unit_key = "records"};
 *     attn_ledger_name(&ledger, "results.jsonl", &err);     // a file: it can be resumed
 *     attn_ledger_describe(&ledger, asked, files, n_file, &err);
 *     ledger.records = ...;                                 // opened
 *     attn_ledger_begin(&ledger, source, model, &err);
 *     attn_ledger_find(&ledger, &made, &err);               // to resume: what is there
 *     attn_ledger_cut(&ledger, &err);
 *     ... ledger.done grows with the records ...
 *     attn_ledger_checkpoint(&ledger, &err);                // about one per second
 *     attn_ledger_finish(&ledger, host, &err);              // all parts have their names
 *     attn_ledger_release(&ledger);
 *
 *     ledger.c           names, checkpoints, the end
 *     ledger_journal.c   writes down each checkpoint while the outputs grow: a process that is
 *                        killed leaves that, and the next one resumes at its last line
 *     ledger_manifest.c  FILE.run.json, which says how the results beside it were made: tool,
 *                        model, options, input, counts, outputs, with the SHA-256 of each file
 */
#ifndef ATTN_BATCH_LEDGER_INTERNAL_H
#define ATTN_BATCH_LEDGER_INTERNAL_H

#include "base/buffer.h"
#include "base/note.h"
#include "batch/ledger_parts.h"
#include "batch/model_files.h"
#include "host/host.h"
#include "run/record.h"

#include <time.h>

/* What results are of: two with the same three texts give the same bytes. Each is one line of JSON.
 * Borrows. */
struct attn_ledger_identity {
    const char *model;   /* files of the model with their SHA-256; NULL: it is not known yet */
    const char *options; /* those that shape the results, with their values */
    const char *input;   /* its bytes */
};

/* What is done at one moment. */
struct attn_ledger_done {
    uint64_t n_record;   /* records of which the results are in the files */
    uint64_t begin, end; /* of the last one's line in the input; end 0: there is none yet */
    uint64_t crc;        /* CRC-32 of that line; 0: it is not known */
    uint64_t n_token;
    uint64_t failures[ATTN_N_RECORD_FAILURE]; /* how often each happened */
    uint64_t milliseconds;                    /* of work, restarts with it */
    uint64_t n_restart;
    uint64_t n_line_before;           /* lines before the shard, where its records needed them */
    char input[ATTN_DIGEST_HEX_SIZE]; /* SHA-256 of the input, from the first line to that one */
};

/* Zeros, but for `journal`, -1, and what is said here to be the owner's. */
struct attn_ledger {
    const char *unit, *unit_key;         /* the owner's: "record", and "records" in the manifest */
    bool is_resumed, is_synced;          /* the owner's, and all up to `state` */
    const volatile sig_atomic_t *cancel; /* or NULL */
    attn_note_fn on_note;                /* or NULL */
    void *user;                          /* for it */
    const char *const *command;          /* [n_command] */
    size_t n_command;
    void (*measure)(void *owner); /* called before a checkpoint is written: brings `done` and
                                     `state` up to date */
    void *owner;                  /* for it */
    bool has_state;
    struct attn_buffer state; /* what the owner keeps beside `done`: printable ASCII without quotes
                                 and backslashes; released with the rest */

    const char *name; /* of the first output, a file; NULL: it is none, and there is nothing that
                         could be resumed. Borrowed */
    struct attn_buffer journal_path, manifest_path; /* terminated; data NULL without a name */
    struct attn_buffer asked, input_size;           /* the identity's */
    struct attn_ledger_identity identity;
    time_t started;
    const char *input_name;          /* the owner's, for the manifest */
    uint64_t input_begin, input_end; /* likewise: bytes that were read */

    struct attn_records *records;       /* owns; the outputs, which the owner opens */
    struct attn_model_files *model;     /* owns; waited for before the journal begins; NULL without
                                           a name, as what follows */
    struct attn_ledger_parts *parts;    /* owns; the files of the outputs, for what they hold */
    struct attn_ledger_extent *extents; /* [n_file] owns: what they held at `done` */
    size_t n_file;
    int journal;         /* owns; a descriptor; -1: it is not begun */
    bool has_checkpoint; /* the journal has a line */
    bool is_finishing;   /* the outputs got their ends, and cannot be resumed from */

    struct attn_ledger_done done; /* all results that were handed to the outputs */
    uint64_t n_failed;            /* of those that are done */
    bool has_failed;              /* the owner's: the exit code says so */
};

/* What a manifest says of results that are whole. Initialize with = {0}; end with
 * attn_ledger_made_release. */
struct attn_ledger_made {
    bool is_there; /* there is a manifest; all else is 0 without */
    bool has_failed;
    uint64_t n_record, n_failed;
    uint64_t begin, end;                /* the range of the input, in bytes */
    uint64_t n_line_before;             /* before that, where records have their numbers from it */
    char input[ATTN_DIGEST_HEX_SIZE];   /* SHA-256 of the range */
    struct attn_ledger_extent *outputs; /* [n_output] owns; in the order of attn_records_part */
    size_t n_output;
};

void attn_ledger_made_release(struct attn_ledger_made *made);

/* --- Beginning -------------------------------------------------------------------------------- */

/* Whether PATH is a pipe or a device, which has no other name. */
bool attn_ledger_is_stream(const char *path);

/* Appends PATH with the shard in its last part, results-00003-of-00008.jsonl; as it is where
 * N_SHARD is 0, and of pipes and devices. */
void attn_ledger_append_path(struct attn_buffer *out, const char *path, size_t shard,
                             size_t n_shard);

/* Takes PATH, borrowed, for the name of the results, unless it is NULL or a stream. */
enum attn_status attn_ledger_name(struct attn_ledger *ledger, const char *path,
                                  struct attn_error *err);

/* Says what shapes the results: ASKED, an object of JSON or NULL, and the digests of FILES [n]. */
enum attn_status attn_ledger_describe(struct attn_ledger *ledger, const char *asked,
                                      const char *const *files, size_t n, struct attn_error *err);

/* ... and that they are of an input of SIZE bytes, if that is known. */
enum attn_status attn_ledger_describe_input(struct attn_ledger *ledger, bool is_known,
                                            uint64_t size, struct attn_error *err);

/* The outputs are open: finds what they hold, and reads the files of MODEL, opened from SOURCE,
 * beside other work. */
enum attn_status attn_ledger_begin(struct attn_ledger *ledger, const struct attn_source *source,
                                   const struct attn_model *model, struct attn_error *err);

/*
 * Looks for what is there, to resume it: the results are whole, as *MADE says, and their files as
 * it says; or ledger->done is the last checkpoint that the parts hold, or zeros. ATTN_INVALID at
 * the stage of the options when they are of another model, of another input, or were changed.
 * Whether the input up to there is the same is the owner's to find out.
 */
enum attn_status attn_ledger_find(struct attn_ledger *ledger, struct attn_ledger_made *made,
                                  struct attn_error *err);

/* Cuts the outputs to ledger->done and says what continues. */
enum attn_status attn_ledger_cut(struct attn_ledger *ledger, struct attn_error *err);

/* Says that the file PATH is of a run with WHAT: "another model". REMEDY is the hint. */
enum attn_status attn_ledger_report_other(const char *path, const char *what, const char *remedy,
                                          struct attn_error *err);

/* Says that the input WHAT: "has more lines" than the journal or the manifest PATH tells of. */
enum attn_status attn_ledger_report_input(const char *input, const char *path, const char *what,
                                          struct attn_error *err);

/* --- Checkpoints and the end ------------------------------------------------------------------ */

/* Flushes the outputs, and appends to the journal, if it is wanted and the model's files are
 * known. */
enum attn_status attn_ledger_checkpoint(struct attn_ledger *ledger, struct attn_error *err);

/* Everything is computed: gives the outputs their names. */
enum attn_status attn_ledger_finish(struct attn_ledger *ledger, const struct attn_host *host,
                                    struct attn_error *err);

/* It ends early: keeps what is done, unless IS_SPOILED, of what was done since the last checkpoint.
 * Whether it can be resumed; else the parts are removed. */
bool attn_ledger_keep(struct attn_ledger *ledger, bool is_spoiled);

/* Removes the parts of the outputs where they hold nothing. */
void attn_ledger_remove_empty(const struct attn_ledger *ledger);

void attn_ledger_release(struct attn_ledger *ledger);

/* --- The journal ------------------------------------------------------------------------------ */

/* Begins a new one instead of what was there. */
enum attn_status attn_ledger_journal_create(struct attn_ledger *ledger, struct attn_error *err);

/* Appends ledger->done with its extents and the state; where it is synced, down to the disk. */
enum attn_status attn_ledger_journal_append(const struct attn_ledger *ledger,
                                            struct attn_error *err);

/*
 * Opens it to resume: finds the last checkpoint that the parts hold, each being asked until one is
 * not held, cuts the journal after it, and stores it in ledger->done. ledger->journal stays -1
 * where there is no journal, or none with such a line: there is nothing to resume. ATTN_INVALID at
 * the stage of the options when it is of other results.
 */
enum attn_status attn_ledger_journal_resume(struct attn_ledger *ledger, struct attn_error *err);

/* --- The manifest ----------------------------------------------------------------------------- */

/* Writes the file: the input was read to its end, and the outputs are finished. Two with the same
 * identity have the same manifest, but for times, threads and paths. Its last member is the SHA-256
 * of all before it, so a manifest that was changed is known. */
enum attn_status attn_ledger_manifest_write(struct attn_ledger *ledger,
                                            const struct attn_host *host, struct attn_error *err);

/* Reads the manifest, if it is there, and its state into the ledger's. ATTN_INVALID at the stage of
 * the options when it is of other results, or is not as it was written. */
enum attn_status attn_ledger_manifest_read(struct attn_ledger *ledger,
                                           struct attn_ledger_made *made, struct attn_error *err);

/* Whether the outputs are, under their final names, those of MADE; all are read. ATTN_INVALID at
 * the stage of the options when one is not, and ATTN_CANCELED when that was canceled. */
enum attn_status attn_ledger_manifest_compare(const struct attn_ledger *ledger,
                                              const struct attn_ledger_made *made,
                                              struct attn_error *err);

#endif
