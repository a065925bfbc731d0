/*
 * ledger_internal.h - manages results on disk while they are computed: growing files, their
 * checkpoints, and a manifest. The results of a batch and of items (each.h) own one.
 *
 *     struct attn_ledger ledger = {.journal = -1, .options = &each};
 *     attn_ledger_name(&ledger, outputs, n_output, &size, &err);   // a file, so it can be resumed
 *     attn_ledger_open(&ledger, &form, host, &err);
 *     attn_ledger_resume(&ledger, items, load, user, &result, &err);
 *     attn_ledger_write(&ledger, &result, &err);            // each record
 *     attn_ledger_finish(&ledger, host, &err);              // parts get their final names
 *     attn_ledger_keep(&ledger, &err);                      // or ends early
 *     attn_ledger_release(&ledger);
 *
 *     ledger.c           names, checkpoints, the end
 *     ledger_resume.c    passes on or skips the items of earlier runs
 *     ledger_text.c      tool, model, options, input, counts and outputs of the results, with the
 *                        SHA-256 of each file, as an object of JSON
 *     ledger_files.c     FILE.journal, a line with that object for each checkpoint, from which a
 *                        killed process is resumed; FILE.run.json, the object of complete results
 */
#ifndef ATTN_STREAM_LEDGER_INTERNAL_H
#define ATTN_STREAM_LEDGER_INTERNAL_H

#include "base/buffer.h"
#include "base/status_internal.h"
#include "run/host.h"
#include "run/item.h"
#include "stream/each.h"
#include "stream/ledger_parts.h"
#include "stream/model_files.h"
#include "stream/records_internal.h"

#include <time.h>

/* The identity of results: equal identities give byte-identical results. Each text is one line of
 * JSON. Borrowed. */
struct attn_ledger_identity {
    const char *model;   /* files of the model with their SHA-256; NULL: not known yet */
    const char *options; /* the options that affect the results, with their values */
    const char *input;   /* size of the input in bytes */
};

/* The state at a checkpoint. */
struct attn_ledger_done {
    uint64_t n_record; /* number of records whose results are in the files */
    /* where the last record's line begins and ends in the input; end 0: no record */
    uint64_t begin, end;
    uint64_t crc; /* CRC-32 of that line; 0: not known */
    uint64_t n_token;
    uint64_t failures[ATTN_N_RECORD_FAILURE]; /* number of failed records by code */
    uint64_t milliseconds;                    /* working time of all processes */
    uint64_t n_restart;
    uint64_t n_line_before; /* number of lines before the shard, if records needed their numbers */
    /* SHA-256 of the input from the first line to the last record's line */
    char input[ATTN_DIGEST_HEX_SIZE];
};

/* Initialize `journal` with -1, set the fields up to `state`, and zero the rest. */
struct attn_ledger {
    const struct attn_each_options *options; /* borrowed; its path, sink and result are not used */
    const char *unit;                        /* what results are of, "record" or "item" */
    const char *field; /* the field that names the first output, for messages */
    bool has_tokens;   /* results are of texts, whose tokens are counted */
    /* A resumed run skips the input up to the last line, which is recorded, instead of reading its
     * items again. */
    bool skips_lines;
    bool has_kept; /* the rows are also written to NAME.state, the last output */
    size_t shard, n_shard;
    const volatile sig_atomic_t *cancel; /* or NULL */
    struct attn_notes notes;
    /* owns; the state of the sinks (attn_records_save): printable ASCII without quotes and
     * backslashes */
    struct attn_buffer state;

    struct attn_records_item *outputs; /* [n_output] owns; their paths include the shard */
    struct attn_buffer *paths;         /* [n_output] owns */
    size_t n_output;
    const char *whole; /* path of the first output without the shard, or NULL; borrowed */
    const char *name;  /* path of the first output; NULL: not a file, cannot be resumed */
    /* null-terminated; data is NULL without a name */
    struct attn_buffer journal_path, manifest_path, kept_path;
    struct attn_buffer asked, input_size; /* texts of the identity */
    struct attn_ledger_identity identity;
    time_t started;
    const char *input_name; /* name of the input for the manifest; set by the owner */
    /* range of the input that was read, in bytes; set by the owner */
    uint64_t input_begin, input_end;

    struct attn_records *records; /* owns; the outputs */
    /* owns; digests of the model's files, which the journal needs. Without a name this and the next
     * two are NULL */
    struct attn_model_files *model;
    struct attn_ledger_parts *parts; /* owns; the files of the outputs */
    /* [n_file] owns: sizes and digests of these files at `done` */
    struct attn_ledger_extent *extents;
    size_t n_file;
    int journal;        /* owns; file descriptor; -1: not begun */
    uint64_t n_checked; /* number of records at the last checkpoint; 0: there is none */
    bool is_finishing;  /* the ends of the outputs are written, so they cannot be resumed */

    double begun; /* start of computing, as a clock time in seconds; set by the owner; 0: not yet */
    double checked;               /* last checkpoint, in seconds since `begun` */
    uint64_t milliseconds_before; /* working time of earlier processes */

    struct attn_sha256 read; /* digest of the input up to the last item, if has_read */
    bool has_read;
    struct attn_ledger_done done; /* state after all results so far */
    uint64_t n_failed;            /* failed records among them */
    bool has_failed;              /* failures cause an exit code; set by the owner, or read */
    bool is_whole;                /* a manifest of complete results was read */
};

/* --- Beginning -------------------------------------------------------------------------------- */

/* Appends PATH with the shard in its last part, results-00003-of-00008.jsonl. PATH is unchanged if
 * N_SHARD is 0 or PATH is a stream. */
void attn_ledger_append_path(struct attn_buffer *out, const char *path, size_t shard,
                             size_t n_shard);

/* Returns the name of the field that names output I, for messages. */
const char *attn_ledger_field(const struct attn_ledger *ledger, size_t i);

/* Sets the outputs [n], borrowed, of which the first names the results unless it is a stream; and
 * the identity: the options, the digests of their files, and the size of the input, or NULL if it
 * is not known. Notes the first other shard whose manifest is of another input. */
enum attn_status attn_ledger_name(struct attn_ledger *ledger,
                                  const struct attn_records_item *outputs, size_t n,
                                  const uint64_t *input_size, struct attn_error *err);

/* Opens the outputs with FORM. Returns an error for an output that would replace a file of the
 * model. Starts to read the files of the host's model on another thread. */
enum attn_status attn_ledger_open(struct attn_ledger *ledger, const struct attn_records_form *form,
                                  struct attn_host *host, struct attn_error *err);

/* Finds earlier results to resume. If they are complete, sets is_whole and ledger->done, and
 * compares their files with the manifest; otherwise sets ledger->done to the last checkpoint that
 * the parts contain, or to zeros. ATTN_INVALID at the stage of the options if they belong to
 * another model or input, or were changed. The owner then compares the input up to there. */
enum attn_status attn_ledger_find(struct attn_ledger *ledger, struct attn_error *err);

/* Truncates the outputs to ledger->done, and sends a note about what is resumed. */
enum attn_status attn_ledger_cut(struct attn_ledger *ledger, struct attn_error *err);

/* Sets the error that the file PATH belongs to a run with WHAT, "another model". REMEDY is the
 * hint. */
enum attn_status attn_ledger_report_other(const char *path, const char *what, const char *remedy,
                                          struct attn_error *err);

/* If the options say so, goes on after the items of earlier runs: passes each to LOAD, as
 * attn_records_load does, or skips their lines. Sets the counts of RESULT, and `is_complete` if
 * nothing is left to compute. ATTN_INVALID at the stage of the options if the files belong to
 * another model, input or options. */
enum attn_status attn_ledger_resume(struct attn_ledger *ledger, struct attn_items *items,
                                    attn_record_take_fn load, void *user,
                                    struct attn_each_result *result, struct attn_error *err);

/* --- Checkpoints and the end ------------------------------------------------------------------ */

/* Seconds since computing began; 0 before. */
double attn_ledger_seconds(const struct attn_ledger *ledger);

/* Writes a record. About once per second a checkpoint follows. Without one, the outputs are flushed
 * unless another result follows at once. */
enum attn_status attn_ledger_write(struct attn_ledger *ledger,
                                   const struct attn_item_result *result, struct attn_error *err);

/* Gives the complete outputs their final names, and writes the manifest. */
enum attn_status attn_ledger_finish(struct attn_ledger *ledger, const struct attn_host *host,
                                    struct attn_error *err);

/* Ends early because of ERR, after a checkpoint unless the last results may be wrong or ERR is NULL
 * or of an output. Returns true if the run can be resumed; otherwise the parts are removed, unless
 * the readers of the outputs closed them. */
bool attn_ledger_keep(struct attn_ledger *ledger, const struct attn_error *err);

/* Removes the parts of the outputs if all are empty. */
void attn_ledger_remove_empty(const struct attn_ledger *ledger);

void attn_ledger_release(struct attn_ledger *ledger);

/* --- Texts ------------------------------------------------------------------------------------ */

enum attn_ledger_form {
    ATTN_LEDGER_MANIFEST, /* complete results, with a line for each member */
    ATTN_LEDGER_FIRST,    /* the first line of a journal */
    ATTN_LEDGER_LINE      /* a later line, without the identity */
};

/* Appends ledger->done with its extents and the state in FORM. HOST is read for a manifest.
 * Manifests with the same identity only differ in times, threads and paths. */
void attn_ledger_text_append(const struct attn_ledger *ledger, enum attn_ledger_form form,
                             const struct attn_host *host, struct attn_buffer *out);

/* Reads TEXT [size] into ledger->done, the extents and the state. ATTN_FORMAT, without a message,
 * if it is incomplete, was changed or is malformed. *OTHER is what differs from the identity,
 * "another model", or NULL. */
enum attn_status attn_ledger_text_read(struct attn_ledger *ledger, enum attn_ledger_form form,
                                       const char *text, size_t size, const char **other,
                                       struct attn_error *err);

/* --- The journal ------------------------------------------------------------------------------ */

/* Appends a line; syncs to disk if is_synced. Without an open journal creates it, replacing an old
 * one. */
enum attn_status attn_ledger_journal_append(struct attn_ledger *ledger, struct attn_error *err);

/* Opens the journal to resume: sets ledger->done to the last checkpoint that the parts contain, and
 * truncates the journal after it. Without such a checkpoint ledger->journal stays -1. ATTN_INVALID
 * at the stage of the options if the journal has another identity. */
enum attn_status attn_ledger_journal_resume(struct attn_ledger *ledger, struct attn_error *err);

/* --- The manifest ----------------------------------------------------------------------------- */

/* Writes the manifest of finished outputs. */
enum attn_status attn_ledger_manifest_write(struct attn_ledger *ledger,
                                            const struct attn_host *host, struct attn_error *err);

/* Whether the manifest PATH is absent, or is of an input of INPUT_SIZE bytes; NULL: not known. */
bool attn_ledger_manifest_is_of(const char *path, const uint64_t *input_size);

/* Reads the manifest, if it exists, and sets is_whole. ATTN_INVALID at the stage of the options if
 * it has another identity, or was changed. */
enum attn_status attn_ledger_manifest_read(struct attn_ledger *ledger, struct attn_error *err);

/* Compares the outputs, under their final names, with the manifest that was read, by reading them
 * completely. ATTN_INVALID at the stage of the options if one differs. */
enum attn_status attn_ledger_manifest_compare(const struct attn_ledger *ledger,
                                              struct attn_error *err);

#endif
