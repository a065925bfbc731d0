/*
 * batch_work.h - the records of a batch on their way: from lines, through the model, to the outputs,
 * with a checkpoint every second.
 *
 *     struct batch_work work = {.options = options, .lines = lines, .records = records};
 *     batch_work_run(&work, host, &many, &err);
 *     batch_work_checkpoint(&work, &err);
 *     batch_work_release(&work);
 */
#ifndef CMD_BATCH_WORK_H
#define CMD_BATCH_WORK_H

#include "cmd/batch_journal.h"
#include "cmd/batch_lines.h"
#include "cmd/batch_manifest.h"
#include "cmd/batch_model.h"
#include "cmd/batch_parts.h"

#include "attn.h"

#include <nettle/sha2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct batch_work_options {
    bool takes_texts;             /* a line is a text, not JSON */
    struct attn_record_keys keys; /* of JSON */
    uint64_t n_most;              /* records in all */
    uint64_t n_most_failed;       /* one more ends the work */
    bool needs_numbers;           /* records have numbers also where they have ids */
    bool is_synced;               /* checkpoints wait for the disk */
    double progress_seconds;      /* between two plain lines that say how far it is; 0: none */
};

/* A record that is being computed, and what it points to. */
struct batch_slot {
    struct attn_record_store store;
    uint64_t begin, end;     /* of its line */
    uint32_t crc;            /* of that */
    uint64_t n_line_before;  /* before the shard, if they were counted */
    struct sha256_ctx input; /* told of all lines up to this one */
    struct batch_slot *next; /* among those that are free */
};

/* Initialize the first part and zero the rest; end with batch_work_release. */
struct batch_work {
    struct batch_work_options options;
    struct batch_lines *lines;      /* borrowed, and set before anything is done */
    struct attn_records *records;   /* borrowed: the outputs */
    const char *journal_path;       /* borrowed; NULL: there will be no journal */
    struct batch_journal *journal;  /* owns; NULL: it is not begun */
    struct batch_model *model;      /* borrowed: it is waited for before the journal begins */
    struct batch_identity identity; /* of the journal; its model is filled when it is known */

    struct batch_checkpoint done; /* all results that were handed to the outputs */
    struct sha256_ctx done_input; /* told of their lines */
    struct batch_extent *extents; /* [n_file] owns: those of `done` */
    struct batch_parts *parts;    /* owns; NULL without a journal */
    size_t n_file;
    uint64_t n_failed;            /* of these */
    uint64_t n_before;            /* records that an earlier process did */
    uint64_t first;               /* where the lines begin */
    uint64_t begin_of_work;       /* where the lines began that are read now */
    uint64_t milliseconds_before; /* of earlier processes */

    struct batch_line line;     /* the one that is being read */
    uint64_t n_read;            /* lines */
    uint64_t number_before;     /* lines before the shard */
    bool has_numbers;           /* ... were counted */
    struct attn_error read_err; /* why reading ended early */
    struct sha256_ctx input;    /* told of all lines that were read; not without a journal */

    pthread_mutex_t mutex;   /* of `free` */
    struct batch_slot *free; /* owns all that are free */
    atomic_bool has_ended;   /* nothing more is wanted */
    bool has_checkpoint;     /* the journal has a line */
    double checked;          /* seconds; when the last checkpoint was */
    double told;             /* when progress was told in a plain line */
};

/* Opens the files of work->records, for what they hold at a checkpoint. */
enum attn_status batch_work_init(struct batch_work *work, struct attn_error *err);
void batch_work_release(struct batch_work *work);

/* Whether reading should stop: what batch_lines_options calls is_stopped. USER is a batch_work. */
bool batch_work_is_stopped(void *user);

/* Told of bytes of the input: what batch_lines_options calls on_taken. */
void batch_work_take_bytes(void *user, const void *bytes, size_t size);

/*
 * Goes on behind the last checkpoint of the journal that the outputs, opened to be resumed, hold;
 * where there is none, at the beginning. *is_resumed says which. ATTN_INVALID at the stage of the
 * options when the input up to there, or what its records have their numbers from, is another.
 */
enum attn_status batch_work_resume(struct batch_work *work, bool *is_resumed,
                                   struct attn_error *err);

/* Whether the input, of which nothing was read yet, and the files of the outputs are still those that
 * MADE says, which MANIFEST_PATH holds. ATTN_INVALID at the stage of the options when one is not. */
enum attn_status batch_work_compare(struct batch_work *work, const struct batch_made *made,
                                    const char *manifest_path, struct attn_error *err);

/* Computes the records that are left. MANY says what is asked of each. */
enum attn_status batch_work_run(struct batch_work *work, struct attn_host *host,
                                const struct attn_many_options *many, struct attn_error *err);

/* Flushes the outputs, and appends to the journal, if it is wanted and the model's files are
 * known. */
enum attn_status batch_work_checkpoint(struct batch_work *work, struct attn_error *err);

#endif
