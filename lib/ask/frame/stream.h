/*
 * stream.h - the items of a question from their input to its answer: each is met, computed, and
 * folded into one table (fold.h) or gathered otherwise, and its rows are written to files. A run
 * that ended early goes on after its last item. Private to lib/questions.
 *
 *     struct attn_item_calls calls = {.ask = ask, .user = mine};
 *     attn_stream_open(&procedure, &call, args, &stream, &err);    // names the files
 *     attn_stream_first(stream, &first, &err);                     // the columns follow from it
 *     attn_stream_show(stream, hidden, &err);
 *     attn_stream_run(stream, host, &options, &calls, &err);       // resumes, and every other item
 *     attn_stream_end(stream, &table, &err);                       // files get their final names
 *     attn_stream_keep(stream, &err);                              // or ends early
 *     attn_stream_free(stream);
 */
#pragma once

#include "means/study.h"
#include "stream/each.h"
#include "stream/many.h"
#include "stream/records_internal.h"
#include "trials/reply.h"

struct attn_fold;
struct attn_procedure;
struct attn_procedure_call;
struct attn_stream;

/* Opens a stream of the items of ARGS. CALL has the host, the request, which receives notes and
 * progress, and the complete arguments. All are borrowed. */
enum attn_status attn_stream_open(const struct attn_procedure *procedure,
                                  const struct attn_procedure_call *call,
                                  const struct attn_study_args *args, struct attn_stream **stream,
                                  struct attn_error *err);

/* Frees STREAM and removes unfinished files, unless attn_stream_keep kept them. NULL is allowed. */
void attn_stream_free(struct attn_stream *stream);

/* Ends early because of ERR, after a checkpoint. */
void attn_stream_keep(struct attn_stream *stream, const struct attn_error *err);

/* Fills REQUEST with the input of ITEM, or without an item with what all items share: each note is
 * sent once, from any thread, and progress counts items. */
void attn_stream_fill_request(struct attn_stream *stream, const struct attn_item *item,
                              struct attn_request *request);

/* The table of all items (fold.h), to which other threads add. */
const struct attn_fold *attn_stream_fold(const struct attn_stream *stream);

/* Finds the first item that did not fail to parse, from which a procedure derives its columns; it
 * is met once. Borrowed until attn_stream_run. NULL if the first thousand items all failed. */
enum attn_status attn_stream_first(struct attn_stream *stream, const struct attn_item **item,
                                   struct attn_error *err);

/* Sets the columns of the items' tables: all of the procedure except the HIDDEN ones [n_column].
 * Call it before the first item. Returns an error if the table of all items cannot be sorted,
 * grouped or paired as the arguments require. */
enum attn_status attn_stream_show(struct attn_stream *stream, const bool *hidden,
                                  struct attn_error *err);

/* The contents of the files, which a procedure without columns fills before attn_stream_run. */
struct attn_records_form *attn_stream_records(struct attn_stream *stream);

/* --- Running ---------------------------------------------------------------------------------- */

/* Runs all items on HOST. An item's result does not depend on other items. Of CALLS, `ask` or
 * `find` makes the answer of an item; without both, results are written as they are. `next` is
 * attn_stream_next if it is NULL; `done` may be NULL, and receives a result before it is written.
 * OPTIONS, with the request of texts that are run, are not used with `ask`. */
enum attn_status attn_stream_run(struct attn_stream *stream, struct attn_host *host,
                                 const struct attn_many_options *options,
                                 const struct attn_item_calls *calls, struct attn_error *err);

/* Reads the next item into *GIVEN and completes it with the texts that the procedure takes, the
 * caller's places and, for texts that are run, the caller's source. NULL after the last. */
enum attn_status attn_stream_next(struct attn_stream *stream, struct attn_item **given,
                                  struct attn_error *err);

/* --- The end ---------------------------------------------------------------------------------- */

/* Creates the table of all items, which the caller owns, fills the sum, and sends notes about
 * unused defaults and about items without a partner. *TABLE is not changed if items are
 * listed. */
enum attn_status attn_stream_end(struct attn_stream *stream, struct attn_table **table,
                                 struct attn_error *err);

/* For a second pass after attn_stream_run and attn_items_rewind: reads the items up to NUMBER, and
 * prepares its run, for SITES. The caller owns both, also after a failure; numbers come upwards. */
enum attn_status attn_stream_again(struct attn_stream *stream, uint64_t number, const char *sites,
                                   struct attn_item **item, struct attn_run **run,
                                   struct attn_error *err);

/* --- Values of an item ------------------------------------------------------------------------ */

/* Overwrites target, foil and `at` of ARGS with the values of ITEM. Returns an error if the metric
 * needs a target and none is given. */
enum attn_status attn_item_answer(const struct attn_item *item, struct attn_answer_args *args,
                                  struct attn_error *err);

/* Returns `chosen` of a result: METRIC is what the metric GIVEN means for an item that has a foil
 * or not. */
const char *attn_item_chosen(enum attn_answer_metric given, const char *metric, bool has_foil);
