/*
 * batch.h - many records from a file or a pipe into files: in shards, with a journal from which a
 * run that ended early is resumed, and a manifest that says how the results were made. What
 * `attn-cli batch` does.
 *
 *     struct attn_records_item outputs[] = {{"jsonl", "results.jsonl"}, {"npy", "arrays"}};
 *     struct attn_batch_options options = ATTN_BATCH_OPTIONS_DEFAULT;
 *     struct attn_many_options many = ATTN_MANY_OPTIONS_DEFAULT;
 *     struct attn_batch_result result;
 *     options.path = "prompts.jsonl", options.is_resumed = true;
 *     options.outputs = outputs, options.n_output = 2, options.source = &source;
 *     many.request = &request, many.measures = ATTN_MEASURES_DEFAULT;
 *     attn_batch_open(&options, &batch, &err);                  // the input is there
 *     attn_host_create(&source, &host_options, &host, &err);
 *     attn_batch_run(batch, host, &many, &result, &err);        // results.jsonl, arrays
 *     attn_batch_free(batch);
 *
 * Files grow under names FILE.part and have their own when all is whole. Beside the first one,
 * which is a file, lies FILE.journal while it grows, with a line for each checkpoint, about one per
 * second; and then FILE.run.json: version, model files, options, input, counts and outputs with
 * their SHA-256. A batch that is opened with `is_resumed` continues after the last checkpoint that
 * the parts hold; where all is whole it compares input and outputs with the manifest; and where
 * there is nothing, it begins. Results do not depend on threads, shards or restarts.
 *
 * Shard I of N has the lines that begin in the bytes [size*I/N, size*(I+1)/N) of a file. The names
 * of its outputs say so: results-00003-of-00008.jsonl. The records of all shards are those of the
 * file.
 */
#ifndef ATTN_BATCH_BATCH_H
#define ATTN_BATCH_BATCH_H

#include "base/note.h"
#include "batch/records.h"
#include "run/many.h"

/* How far a batch is. */
struct attn_batch_progress {
    uint64_t n_record, n_failed; /* done, with those of earlier runs */
    uint64_t n_before;           /* of these, done by earlier runs */
    double seconds;              /* since records are computed */
    double share;                /* of the input that is read, 0..1 */
    double seconds_left; /* until its end, as far as that is known; 0: it is not, nor is share */
};

struct attn_batch_options {
    size_t size; /* of this struct */

    const char *path; /* a file or a pipe; NULL or "-": standard input */
    bool takes_texts; /* a line is a text, without a final \r; else an object of JSON with `text`
                             or `ids`, and `id`, `source` and `next`, its own continuations, if
                             it has them */
    const char *text_key; /* what is called otherwise in that object; NULL: "text" */
    const char *id_key;   /* NULL: "id" */
    size_t max_line;      /* bytes; a longer line is a record that failed; 0: ATTN_MAX_LINE */
    size_t shard;         /* of n_shard, from 0 */
    size_t n_shard;       /* 0: all of the input, which can be a pipe then */
    uint64_t max_record;  /* at most so many records; 0: all */
    int64_t max_failed;   /* so many may fail, one more ends it; negative: all may */

    const struct attn_records_item *outputs; /* [n_output] the first names journal and manifest */
    size_t n_output;
    attn_record_field_set fields; /* of jsonl; 0: ids, measures and, where asked for, predictions.
                                     csv has the one among measures, predictions and surprisal, and
                                     measures where it has these or none */
    int precision; /* digits after the point of decimal numbers, 0..17; -1: the shortest text that
                      reads back as the same number */

    bool is_resumed; /* resume a run that ended early; the first output is a file */
    bool is_synced;  /* wait for the disk at each checkpoint and at the end */

    /* Where the first output is a file: what the host's model was opened from. */
    const struct attn_source *source;

    /* An object of JSON on one line: what else shapes the results. A run is resumed only with the
     * same text. NULL: "{}", and the caller vouches for the rest. */
    const char *asked;
    const char *const *files; /* [n_file] masks, archives that shape them: their SHA-256 is added */
    size_t n_file;
    const char *const *command; /* [n_command] for the manifest: what the user typed */
    size_t n_command;

    const volatile sig_atomic_t *cancel; /* the host's: not 0 ends it early; or NULL */
    attn_note_fn on_note;                /* gets what continues and what is damaged; or NULL */

    /* Gets how far it is, once before the first record and after each: on any thread, one call at a
     * time. Or NULL. */
    void (*on_progress)(void *user, const struct attn_batch_progress *progress);

    /* Asked when it ends early: whether what was computed last cannot be trusted, so that no
     * checkpoint is taken of it. Or NULL. */
    bool (*is_spoiled)(void *user);
    void *user; /* for these */

    const char *labels; /* keys of a record that stand beside its results, "condition,verb"; or
                           "all" that mean nothing else; NULL: none */
};

#define ATTN_BATCH_OPTIONS_DEFAULT                                                                 \
    ((struct attn_batch_options){                                                                  \
        .size = sizeof(struct attn_batch_options), .max_failed = -1, .precision = -1})

/* What the row `batch` of attn_question_find is about (experiment/questions.h): a batch, and what
 * its records are asked. */
struct attn_batch_args {
    struct attn_batch_options options;
    struct attn_many_options many;
};

/* What came of it. */
struct attn_batch_result {
    uint64_t n_record, n_failed; /* with those of earlier runs */
    bool has_failed;             /* records failed, and max_failed is negative */
    bool is_complete;            /* the outputs were whole before: nothing was computed */
    bool can_resume;             /* it ended early, and can be resumed after n_record */
    bool is_abandoned;           /* it ended early: nobody reads the pipes that it writes into */
    double seconds;              /* of computing, with that of earlier runs */
};

struct attn_batch;

/* Opens the input, and nothing else: before a large model is. OPTIONS and what they point to are
 * borrowed until the batch is freed. Input and options that do not go together are failures. */
ATTN_API enum attn_status attn_batch_open(const struct attn_batch_options *options,
                                          struct attn_batch **batch, struct attn_error *err);

/* Runs all of it, once: MANY says what is asked of every record. Measures, surprisals, edges and
 * tensors are computed where an output has them; measures are ATTN_MEASURES_DEFAULT and edges 3
 * where MANY does not say which. *result, if not NULL, is filled after a failure too. ATTN_INVALID
 * when it cannot be resumed: with another model, another input, other options or other outputs. */
ATTN_API enum attn_status attn_batch_run(struct attn_batch *batch, struct attn_host *host,
                                         const struct attn_many_options *many,
                                         struct attn_batch_result *result, struct attn_error *err);

ATTN_API void attn_batch_free(struct attn_batch *batch); /* parts stay; NULL is allowed */

#endif
