/*
 * batch_journal.h - how far a batch has come, on disk: what it is, and then a line for each
 * checkpoint. A process that is killed leaves it, and the next one goes on at its last line.
 *
 *     struct attn_batch_journal_options options = {.path = "results.jsonl.journal", ...};
 *     attn_batch_journal_create(&options, &journal, &err);
 *     attn_batch_journal_append(journal, &checkpoint, is_synced, &err); // the files were flushed
 *     attn_batch_journal_free(journal);
 *
 * Every line ends with its own CRC-32, so a line that was cut does not count.
 */
#ifndef ATTN_RECORDS_BATCH_JOURNAL_H
#define ATTN_RECORDS_BATCH_JOURNAL_H

#include "records/batch_parts.h"
#include "run/record.h"

/* What a batch is of: two with the same three texts give the same bytes. Each is one line of JSON.
 * Borrows. */
struct attn_batch_identity {
    const char *model;   /* files of the model with their SHA-256 */
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
    uint64_t n_line_before;            /* lines before the shard, where its records needed them */
    char input[ATTN_DIGEST_HEX_SIZE];  /* SHA-256 of the input, from the first line to that one */
    struct attn_batch_extent *extents; /* [n_file] what each file holds; borrows */
};

struct attn_batch_journal;

/* Whether the files still hold what CHECKPOINT says. It is asked of each checkpoint in turn, and of
 * none after the first that they do not hold. */
typedef enum attn_status (*attn_batch_holds_fn)(void *user,
                                                const struct attn_batch_checkpoint *checkpoint,
                                                bool *is_held, struct attn_error *err);

/* What a journal is opened for. Borrows. */
struct attn_batch_journal_options {
    const char *path;
    struct attn_batch_identity identity;
    size_t n_file;             /* files that results are in */
    attn_batch_holds_fn holds; /* to go on */
    void *user;                /* for `holds` */
};

/* Begins a new journal instead of what was there. Errors are at the stage of the output. */
enum attn_status attn_batch_journal_create(const struct attn_batch_journal_options *options,
                                           struct attn_batch_journal **journal,
                                           struct attn_error *err);

/*
 * Opens a journal to go on: finds the last checkpoint that the files hold, cuts the journal after
 * it, and stores it in CHECKPOINT, whose extents [n_file] the caller gives. *journal is NULL where
 * there is no journal, or none with such a line: there is nothing to go on with. ATTN_INVALID at
 * the stage of the options when it is of another batch than their identity.
 */
enum attn_status attn_batch_journal_resume(const struct attn_batch_journal_options *options,
                                           struct attn_batch_checkpoint *checkpoint,
                                           struct attn_batch_journal **journal,
                                           struct attn_error *err);

/* Appends a line; where IS_SYNCED, down to the disk. */
enum attn_status attn_batch_journal_append(struct attn_batch_journal *journal,
                                           const struct attn_batch_checkpoint *checkpoint,
                                           bool is_synced, struct attn_error *err);

void attn_batch_journal_free(struct attn_batch_journal *journal); /* NULL is allowed */

/* Says that the file PATH is of a run with WHAT: "another model". REMEDY is the hint. */
enum attn_status attn_batch_report_other(const char *path, const char *what, const char *remedy,
                                         struct attn_error *err);

#endif
