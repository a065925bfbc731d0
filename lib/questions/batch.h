/*
 * batch.h - runs many records from a file or a pipe, and writes the results to files. It supports
 * shards, a journal from which an interrupted run can be resumed, and a manifest that documents how
 * the results were made. `attn-cli batch` uses it.
 *
 *     struct attn_records_item outputs[] = {{"jsonl", "results.jsonl"}, {"npy", "arrays"}};
 *     struct attn_batch_options options = ATTN_BATCH_OPTIONS_DEFAULT;
 *     struct attn_many_options many = ATTN_MANY_OPTIONS_DEFAULT;
 *     struct attn_each_result result;
 *     options.items.path = "prompts.jsonl", options.each.is_resumed = true;
 *     options.outputs = outputs, options.n_output = 2, options.each.source = &source;
 *     many.request = &request, many.measures = ATTN_MEASURES_DEFAULT;
 *     attn_batch_open(&options, &batch, &err);                  // opens the input
 *     attn_host_create(&source, &host_options, &host, &err);
 *     attn_batch_run(batch, host, &many, &result, &err);        // results.jsonl, arrays
 *     attn_batch_free(batch);
 *
 * Outputs are written to FILE.part and get their final names when all are complete. If the first
 * output is a file, FILE.journal is written beside it, with a line for each checkpoint, about one
 * per second. At the end it is replaced by FILE.run.json with version, model files, options, input,
 * counts and outputs, and their SHA-256. With `each.is_resumed`, a batch continues after the last
 * checkpoint that the parts contain; if it is already complete, its input and outputs are compared
 * with the manifest; if nothing exists, it begins. Results do not depend on threads, shards or
 * restarts.
 *
 * Shard I of N has the lines that begin in the bytes [size*I/N, size*(I+1)/N) of a file. The names
 * of its outputs contain the shard: results-00003-of-00008.jsonl. Together, the shards have the
 * records of the whole file.
 */
#ifndef ATTN_QUESTIONS_BATCH_H
#define ATTN_QUESTIONS_BATCH_H

#include "base/note.h"
#include "stream/each.h"
#include "stream/items.h"
#include "stream/many.h"
#include "stream/records.h"

struct attn_batch_options {
    size_t size; /* size of this struct */

    /* The records. LINES: each line is a text, without a final \r; JSON_LINES: an object with
     * `text` or `ids`, and optionally `id`, `source` and `next`, its own continuations; FASTA;
     * BY_NAME: JSON_LINES, or FASTA by the name or the first byte. CSV, TSV, data and inputs are
     * not read. A shard may be of a file alone. */
    struct attn_items_options items;
    const char *text_key; /* name of the key `text` in these objects; NULL: "text" */
    const char *id_key;   /* name of the key `id`; NULL: "id" */
    uint64_t max_record;  /* maximum number of records; 0: all */
    /* number of records that may fail before the batch ends; negative: any number */
    int64_t max_failed;

    /* [n_output] the first one gives journal and manifest their names */
    const struct attn_records_item *outputs;
    size_t n_output;
    /* fields of jsonl; 0: ids, measures and, if requested, predictions. csv shows measures, unless
     * `fields` has no measures but predictions or surprisal */
    attn_record_field_set fields;
    /* decimals of numbers, 0..17; -1: the shortest text that reads back as the same number */
    int precision;

    /* How the files are kept: a run that ended early is resumed if the first output is a file. Its
     * path, sink, form and result are not used. */
    struct attn_each_options each;

    attn_note_fn on_note; /* receives notes about resumed and damaged outputs; or NULL */

    /* Reports progress, before the first record and after each record. Called on any thread, one
     * call at a time. May be NULL. */
    void (*on_progress)(void *user, const struct attn_batch_progress *progress);

    void *user; /* passed to the functions above */

    /* keys of a record to write beside its results, "condition,verb"; or "all" keys without another
     * meaning; NULL: none */
    const char *labels;
};

/* Sets OPTIONS [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_batch_options *attn_batch_options_init(struct attn_batch_options *options,
                                                            size_t size);
#define ATTN_BATCH_OPTIONS_DEFAULT ATTN_DEFAULT_OF(attn_batch_options)

/* The arguments of the question `batch` (attn_question_find in questions/questions.h): a batch,
 * and what is computed for its records. */
struct attn_batch_args {
    struct attn_batch_options options;
    struct attn_many_options many;
};

struct attn_batch;

/* Opens only the input, so that errors are found before a large model is opened. OPTIONS and its
 * pointers are borrowed until the batch is freed. Returns an error if input and options do not go
 * together. */
ATTN_API enum attn_status attn_batch_open(const struct attn_batch_options *options,
                                          struct attn_batch **batch, struct attn_error *err);

/* Runs the whole batch. Call once. MANY is what to compute for every record. Measures, surprisals,
 * edges and tensors are computed if an output contains them; the defaults are ATTN_MEASURES_DEFAULT
 * and 3 edges. *RESULT, unless NULL, is set after a failure, too. ATTN_INVALID if the run cannot be
 * resumed because model, input, options or outputs differ. */
ATTN_API enum attn_status attn_batch_run(struct attn_batch *batch, struct attn_host *host,
                                         const struct attn_many_options *many,
                                         struct attn_each_result *result, struct attn_error *err);

ATTN_API void attn_batch_free(struct attn_batch *batch); /* keeps the parts; NULL is allowed */

#endif
