/*
 * stream_internal.h - many items from their input to their files: reads and computes them, and
 * writes the results in order. A run that ended early is resumed. A batch and every study is a
 * stream.
 *
 *     struct attn_stream_form form = {.items = items, .each = &each, .max_failed = -1};
 *     struct attn_stream_work work = {.records = &records, .ask = ask, .user = mine};
 *     attn_stream_open(&form, &stream, &err);            // names the files
 *     attn_stream_run(stream, host, &work, &err);        // resumes, and runs the other items
 *     attn_stream_finish(stream, &err);                  // the files get their final names
 *     attn_stream_keep(stream, &err);                    // or ends early
 *     attn_stream_free(stream);
 */
#ifndef ATTN_STREAM_STREAM_INTERNAL_H
#define ATTN_STREAM_STREAM_INTERNAL_H

#include "base/status_internal.h"
#include "params/param.h"
#include "run/host.h"
#include "stream/each.h"
#include "stream/items.h"
#include "stream/many.h"
#include "stream/records_internal.h"

/* Answers about the item of RESULT, which has nothing else, except `spaces`. A failure belongs to
 * the item, unless all items would fail with it. Called on several threads at a time. */
typedef enum attn_status (*attn_ask_fn)(void *user, struct attn_item_result *result,
                                        struct attn_error *err);

/* Runs all items like attn_run_many, but ASK computes each, also a pair at once, on one thread of
 * HOST. Without IS_PARALLEL items follow one after the other, each on all threads. USER of CALLS is
 * passed to ASK. A failure of all items ends the run after the items before it. */
enum attn_status attn_ask_many(struct attn_host *host, attn_ask_fn ask, bool is_parallel,
                               const struct attn_many_calls *calls, struct attn_error *err);

/* Returns true if STATUS with ERR is a failure of a single item. */
bool attn_many_is_of_item(enum attn_status status, const struct attn_error *err);

struct attn_stream;

/* Borrowed, except for the struct itself. */
struct attn_stream_form {
    struct attn_items *items;
    const struct attn_each_options *each; /* the files; NULL: results are not written */
    /* [n_output] the outputs of a batch, whose input is skipped rather than read again when it is
     * resumed; NULL: `each` has rows */
    const struct attn_records_item *outputs;
    size_t n_output;
    bool are_kept;      /* rows are stored for a resumed run; as in the form of records */
    int64_t max_failed; /* items that may fail before the run ends; negative: any number */
    const volatile sig_atomic_t *cancel; /* or NULL */
    struct attn_notes notes;
    /* Completes an item that was read. One call at a time. Or NULL. */
    enum attn_status (*read)(void *user, struct attn_item *item, struct attn_error *err);
    /* Receives the result of an item before it is written, and may mark it as failed. Called in the
     * order of the items, one call at a time, on any thread. An error ends the run. */
    enum attn_status (*take)(void *user, struct attn_item_result *result, struct attn_error *err);
    /* Receives the items of earlier runs; unused for a batch. */
    attn_record_take_fn load;
    /* Called before the first item, with RESULT NULL, and after the result of each was written. */
    void (*on_progress)(void *user, const struct attn_batch_progress *progress,
                        const struct attn_item_result *result);
    void *user; /* passed to the functions above */
};

/* Adds the answer to the RESULT of one text of an item, the only one, or the first or second of a
 * pair; that of the last text counts. An emptied table and `beside` are reused. Called in the order
 * of the items, one call at a time, on any thread; not called again for an item after one of its
 * texts failed. */
typedef enum attn_status (*attn_stream_find_fn)(void *user, struct attn_item_result *result,
                                                struct attn_error *err);

/* How each item is computed. Borrowed. */
struct attn_stream_work {
    const struct attn_records_form *records; /* the contents of the files */
    /* answers about each item alone; on one thread, unless a file has fewer items than the host has
     * threads. NULL: texts are run by `options`, short ones together */
    attn_ask_fn ask;
    const struct attn_many_options *options;
    attn_stream_find_fn find; /* NULL: the result of a text is complete */
    void *user;               /* passed to `ask` and `find` */
};

/* Names the files, and describes the input and the options. */
enum attn_status attn_stream_open(const struct attn_stream_form *form, struct attn_stream **stream,
                                  struct attn_error *err);

/* Opens the files, passes on or skips the items of earlier runs, and computes the others. Call
 * once. ATTN_INVALID at the stage of the options if the files belong to another model, input or
 * options. */
enum attn_status attn_stream_run(struct attn_stream *stream, struct attn_host *host,
                                 const struct attn_stream_work *work, struct attn_error *err);

/* The results so far. */
const struct attn_each_result *attn_stream_result(struct attn_stream *stream);

/* Completes the files and gives them their final names. */
enum attn_status attn_stream_finish(struct attn_stream *stream, struct attn_error *err);

/* Ends early because of ERR, after a checkpoint. NULL STREAM is allowed. */
void attn_stream_keep(struct attn_stream *stream, const struct attn_error *err);

/* Frees STREAM and removes unfinished files, unless attn_stream_keep kept them. NULL is allowed. */
void attn_stream_free(struct attn_stream *stream);

/* Parameters about shards and resuming, shared by all runs over many records.
 * Lists of parameters include them as rows. */

/* Reads "3/8" into two size_t (`read` of struct attn_param). */
enum attn_status attn_shard_read(const struct attn_param *param, void *home, const char *label,
                                 const char *text, struct attn_error *err);

#define ATTN_SHARD_PARAM(structure, shard_member, n_shard_member)                                  \
    ATTN_PARAM(OWN, "shard", "I/N", structure, shard_member,                                       \
               "take only part I of N of a file, 0 <= I < N; names of outputs say which: "         \
               "rows-00003-of-00008.jsonl",                                                        \
               .second = offsetof(structure, n_shard_member), .read = attn_shard_read)

/* The parameter max_failed. MEMBER is an int64_t, negative by default. */
#define ATTN_FAILED_PARAM(structure, member)                                                       \
    ATTN_PARAM(SEED, "max_failed", "N", structure, member,                                         \
               "number of records or items that may fail; one more ends the run. Default: any "    \
               "number, and the exit code is 6",                                                   \
               .option = "max-errors", .most = INT64_MAX)

#define ATTN_RESUME_PARAM(structure, member)                                                       \
    ATTN_PARAM(FLAG, "resume", NULL, structure, member,                                            \
               "continue the output file of a run of the same command that ended early. Start "    \
               "from the beginning if the file does not exist; if it is complete, only check "     \
               "that input and outputs are unchanged. The table covers all items, also those of "  \
               "the earlier run")

#endif
