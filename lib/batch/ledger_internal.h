/*
 * ledger_internal.h - results on disk while they are computed: files that grow, checkpoints of
 * them, and a manifest. A batch (batch.h) and the rows of items (each.h) each own a ledger.
 *
 *     struct attn_ledger ledger = {.journal = -1, .unit = "record", .unit_key = "records"};
 *     attn_ledger_name(&ledger, "results.jsonl", &err);     // a file: it can be resumed
 *     attn_ledger_describe(&ledger, asked, files, n_file, &err);
 *     ledger.records = ...;                                 // opened
 *     attn_ledger_begin(&ledger, source, model, &err);
 *     attn_ledger_find(&ledger, &made, &err);               // to resume
 *     attn_ledger_cut(&ledger, &err);
 *     ... ledger.done grows with the records ...
 *     attn_ledger_checkpoint(&ledger, &err);                // about one per second
 *     attn_ledger_finish(&ledger, host, &err);              // all parts have their names
 *     attn_ledger_release(&ledger);
 *
 *     ledger.c           names, checkpoints, the end
 *     ledger_journal.c   a line for each checkpoint; a killed process is resumed at the last one
 *     ledger_manifest.c  FILE.run.json: tool, model, options, input, counts and outputs of the
 *                        results, with the SHA-256 of each file
 */
#ifndef ATTN_BATCH_LEDGER_INTERNAL_H
#define ATTN_BATCH_LEDGER_INTERNAL_H

#include "base/buffer.h"
#include "base/note.h"
#include "batch/ledger_parts.h"
#include "batch/model_files.h"
#include "host/host.h"
#include "input/record.h"

#include <time.h>

/* Results with the same three texts have the same bytes. Each text is one line of JSON. Borrows. */
struct attn_ledger_identity {
    const char *model;   /* files of the model with their SHA-256; NULL: not known yet */
    const char *options; /* the options that shape the results, with their values */
    const char *input;   /* its number of bytes */
};

/* The state at a checkpoint. */
struct attn_ledger_done {
    uint64_t n_record;   /* records whose results are in the files */
    uint64_t begin, end; /* of the last record's line in the input; end 0: no record */
    uint64_t crc;        /* CRC-32 of that line; 0: not known */
    uint64_t n_token;
    uint64_t failures[ATTN_N_RECORD_FAILURE]; /* failed records by code */
    uint64_t milliseconds;                    /* of work in all processes */
    uint64_t n_restart;
    uint64_t n_line_before;           /* lines before the shard, if its records needed them */
    char input[ATTN_DIGEST_HEX_SIZE]; /* SHA-256 of the input, from the first line to that one */
};

/* Initialize `journal` with -1, the fields up to `state`, and the rest with zeros. */
struct attn_ledger {
    const char *unit, *unit_key; /* "record", and "records" in the manifest */
    bool is_resumed, is_synced;
    const volatile sig_atomic_t *cancel; /* or NULL */
    attn_note_fn on_note;                /* or NULL */
    void *user;                          /* for it */
    const char *const *command;          /* [n_command] */
    size_t n_command;
    void (*measure)(void *owner); /* updates `done` and `state` before each checkpoint */
    void *owner;                  /* for it */
    bool has_state;
    struct attn_buffer state; /* owns; the owner's state beside `done`: printable ASCII without
                                 quotes and backslashes */

    const char *name; /* of the first output, borrowed; NULL: not a file, cannot be resumed */
    struct attn_buffer journal_path, manifest_path; /* terminated; data NULL without a name */
    struct attn_buffer asked, input_size;           /* the identity's */
    struct attn_ledger_identity identity;
    time_t started;
    const char *input_name;          /* for the manifest; set by the owner */
    uint64_t input_begin, input_end; /* bytes that were read; set by the owner */

    struct attn_records *records;       /* owns; the outputs, opened by the owner */
    struct attn_model_files *model;     /* owns; the journal waits for it; without a name this and
                                           the next two are NULL */
    struct attn_ledger_parts *parts;    /* owns; the files of the outputs */
    struct attn_ledger_extent *extents; /* [n_file] owns: their contents at `done` */
    size_t n_file;
    int journal;         /* owns; a descriptor; -1: not begun */
    bool has_checkpoint; /* the journal has a line */
    bool is_finishing;   /* the outputs have their ends, and cannot be resumed */

    struct attn_ledger_done done; /* all results that the outputs got */
    uint64_t n_failed;            /* failed records among them */
    bool has_failed;              /* failures give an exit code; set by the owner */
};

/* Whole results, as their manifest describes them. Initialize with = {0}; end with
 * attn_ledger_made_release. */
struct attn_ledger_made {
    bool is_there; /* a manifest was found; else all is 0 */
    bool has_failed;
    uint64_t n_record, n_failed;
    uint64_t begin, end;                /* the range of the input, in bytes */
    uint64_t n_line_before;             /* lines before the range, if records needed them */
    char input[ATTN_DIGEST_HEX_SIZE];   /* SHA-256 of the range */
    struct attn_ledger_extent *outputs; /* [n_output] owns; in the order of attn_records_part */
    size_t n_output;
};

void attn_ledger_made_release(struct attn_ledger_made *made);

/* --- Beginning -------------------------------------------------------------------------------- */

/* Whether PATH is a pipe or a device. */
bool attn_ledger_is_stream(const char *path);

/* Appends PATH with the shard in its last part, results-00003-of-00008.jsonl; unchanged if N_SHARD
 * is 0 or PATH is a stream. */
void attn_ledger_append_path(struct attn_buffer *out, const char *path, size_t shard,
                             size_t n_shard);

/* Makes PATH, borrowed, the name of the results, unless it is NULL or a stream. */
enum attn_status attn_ledger_name(struct attn_ledger *ledger, const char *path,
                                  struct attn_error *err);

/* Sets the options of the identity: ASKED, an object of JSON or NULL, and the digests of FILES
 * [n]. */
enum attn_status attn_ledger_describe(struct attn_ledger *ledger, const char *asked,
                                      const char *const *files, size_t n, struct attn_error *err);

/* Sets the input of the identity: SIZE bytes, if IS_KNOWN. */
enum attn_status attn_ledger_describe_input(struct attn_ledger *ledger, bool is_known,
                                            uint64_t size, struct attn_error *err);

/* Call it when the outputs are open. Begins to read the files of MODEL, opened from SOURCE, on
 * another thread. */
enum attn_status attn_ledger_begin(struct attn_ledger *ledger, const struct attn_source *source,
                                   const struct attn_model *model, struct attn_error *err);

/* Finds earlier results, to resume them. If they are whole, *MADE describes them and their files
 * were compared with it; else ledger->done is the last checkpoint that the parts hold, or zeros.
 * ATTN_INVALID at the stage of the options if they have another model or another input, or were
 * changed. The owner compares the input up to that checkpoint. */
enum attn_status attn_ledger_find(struct attn_ledger *ledger, struct attn_ledger_made *made,
                                  struct attn_error *err);

/* Cuts the outputs to ledger->done, and notes what is resumed. */
enum attn_status attn_ledger_cut(struct attn_ledger *ledger, struct attn_error *err);

/* Fails because the file PATH is of a run with WHAT, "another model". REMEDY is the hint. */
enum attn_status attn_ledger_report_other(const char *path, const char *what, const char *remedy,
                                          struct attn_error *err);

/* Fails because the input WHAT, "has more lines", than the journal or manifest PATH recorded. */
enum attn_status attn_ledger_report_input(const char *input, const char *path, const char *what,
                                          struct attn_error *err);

/* --- Checkpoints and the end ------------------------------------------------------------------ */

/* Flushes the outputs, and appends to the journal if the model's files are known. */
enum attn_status attn_ledger_checkpoint(struct attn_ledger *ledger, struct attn_error *err);

/* Gives the complete outputs their names. */
enum attn_status attn_ledger_finish(struct attn_ledger *ledger, const struct attn_host *host,
                                    struct attn_error *err);

/* Ends early. Takes a checkpoint unless IS_SPOILED. Returns whether the run can be resumed; if not,
 * the parts are removed. */
bool attn_ledger_keep(struct attn_ledger *ledger, bool is_spoiled);

/* Removes the parts of the outputs if all are empty. */
void attn_ledger_remove_empty(const struct attn_ledger *ledger);

void attn_ledger_release(struct attn_ledger *ledger);

/* --- The journal ------------------------------------------------------------------------------ */

/* Creates the journal; an old one is lost. */
enum attn_status attn_ledger_journal_create(struct attn_ledger *ledger, struct attn_error *err);

/* Appends ledger->done with its extents and the state; waits for the disk if is_synced. */
enum attn_status attn_ledger_journal_append(const struct attn_ledger *ledger,
                                            struct attn_error *err);

/* Opens the journal to resume: stores the last checkpoint that the parts hold in ledger->done, and
 * cuts the journal after it. Without such a checkpoint ledger->journal stays -1. ATTN_INVALID at
 * the stage of the options if the journal has another identity. */
enum attn_status attn_ledger_journal_resume(struct attn_ledger *ledger, struct attn_error *err);

/* --- The manifest ----------------------------------------------------------------------------- */

/* Writes the manifest of finished outputs. Manifests with the same identity differ in times,
 * threads and paths alone. The last member is the SHA-256 of all before it, to find changes. */
enum attn_status attn_ledger_manifest_write(struct attn_ledger *ledger,
                                            const struct attn_host *host, struct attn_error *err);

/* Reads the manifest, if there is one, and its state into the ledger. ATTN_INVALID at the stage of
 * the options if it has another identity, or was changed. */
enum attn_status attn_ledger_manifest_read(struct attn_ledger *ledger,
                                           struct attn_ledger_made *made, struct attn_error *err);

/* Compares the outputs, under their final names, with MADE: reads all of them. ATTN_INVALID at the
 * stage of the options if one differs. */
enum attn_status attn_ledger_manifest_compare(const struct attn_ledger *ledger,
                                              const struct attn_ledger_made *made,
                                              struct attn_error *err);

#endif
