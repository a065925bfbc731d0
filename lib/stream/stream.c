/* stream.c - see stream_internal.h: names the files, whose sinks (records_internal.h) are those of
 * a ledger, replays the items of earlier runs, and runs the others (stream/many.h). */
#include "stream/stream_internal.h"

#include "base/clock.h"
#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/thread.h"
#include "input/spaces.h"
#include "run/host_internal.h"
#include "run/run_internal.h"
#include "stream/batch_lines.h"
#include "stream/items_internal.h"
#include "stream/ledger_internal.h"
#include "tables/table_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

ATTN_DEFAULTS(attn_each_options, .size = sizeof(struct attn_each_options))

struct attn_stream {
    struct attn_stream_form form;
    struct attn_each_options options; /* those of the form, if it has files */
    struct attn_host *host;           /* borrowed, like `work` */
    const struct attn_stream_work *work;
    struct attn_ledger ledger; /* knows what has been written to the files */
    struct attn_each_result result;
    bool has_written, has_ended;
    bool is_torn;        /* an item was taken and not written, so no checkpoint is possible */
    double share_before; /* share of the input that earlier runs read */

    /* The current item of a pass over texts: */
    struct attn_table *rows;   /* owns; or NULL */
    double *beside;            /* owns; the numbers beside its rows; or NULL */
    struct attn_error failure; /* failure of its first text; or {0} */
};

/* --- Opening ---------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    const size_t n = text ? strlen(text) : 0, n_end = strlen(end);

    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

static bool is_batch(const struct attn_stream *stream)
{
    return stream->form.outputs;
}

/* Names the files. */
static enum attn_status name_files(struct attn_stream *stream, struct attn_error *err)
{
    const struct attn_each_options *options = &stream->options;
    const struct attn_stream_form *form = &stream->form;
    const struct attn_records_item output = {.format = options->form == ATTN_EACH_MATRICES ? "npz"
                                                                                           : "rows",
                                             .path = options->path,
                                             .sink = options->sink};
    uint64_t size;
    const bool is_file = attn_items_are_of_file(form->items, &size);

    attn_items_shard(form->items, &stream->ledger.shard, &stream->ledger.n_shard);
    return attn_ledger_name(&stream->ledger, is_batch(stream) ? form->outputs : &output,
                            is_batch(stream) ? form->n_output : 1, is_file ? &size : NULL, err);
}

/* Returns the form of lines for the options. */
static enum attn_record_rows_form row_form_of(const struct attn_each_options *options)
{
    if (options->form == ATTN_EACH_TEXTS)
        return ATTN_RECORD_ROWS_TEXTS;
    return options->form == ATTN_EACH_JSON_LINES || options->form == ATTN_EACH_MATRICES ||
                   (options->form == ATTN_EACH_BY_NAME &&
                    (ends_with(options->path, ".jsonl") || ends_with(options->path, ".json")))
               ? ATTN_RECORD_ROWS_JSON
               : ATTN_RECORD_ROWS_CSV;
}

/* Checks the options of the files, and names these. */
static enum attn_status open_stream(struct attn_stream *stream, struct attn_error *err)
{
    struct attn_each_options *options = &stream->options;
    const struct attn_stream_form *form = &stream->form;

    ATTN_TRY(attn_error_at(attn_options_read(form->each, options, err), ATTN_STAGE_OPTIONS, err));
    if (!attn_is_given(is_batch(stream) || options->path || options->sink, "path", err) ||
        !attn_is_choice(options->form, ATTN_EACH_MATRICES + 1, "form", err))
        return ATTN_INVALID;
    stream->ledger = (struct attn_ledger){
        .options = options,
        .is_batch = is_batch(stream),
        .has_kept = form->are_kept,
        .cancel = form->cancel,
        .notes = form->notes,
        .journal = -1,
    };
    return name_files(stream, err);
}

enum attn_status attn_stream_open(const struct attn_stream_form *form, struct attn_stream **stream,
                                  struct attn_error *err)
{
    struct attn_stream *made;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->form = *form;
    made->options = ATTN_EACH_OPTIONS_DEFAULT;
    made->ledger.journal = -1;
    status = form->each ? open_stream(made, err) : ATTN_OK;
    if (status == ATTN_OK)
        *stream = made;
    else
        attn_stream_free(made);
    return status;
}

/* Opens the files, with the contents that the work describes. */
static enum attn_status open_files(struct attn_stream *stream, struct attn_error *err)
{
    struct attn_records_form records = *stream->work->records;

    stream->ledger.begun = attn_clock_seconds();
    for (size_t i = 0; i < stream->ledger.n_output; i++) {
        const char *path = stream->ledger.outputs[i].path;

        if (!path || !attn_items_are_of_path(stream->form.items, path))
            continue;
        attn_error_set(err, ATTN_INVALID, "the output '%s' %s, expected another file",
                       attn_quote_string(path).text,
                       is_batch(stream) ? "is the input" : "has the items");
        attn_error_of(ATTN_INVALID, attn_ledger_field(&stream->ledger, i), err);
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    records.on_note = stream->form.notes.on_note;
    records.user = stream->form.notes.user;
    if (!is_batch(stream)) {
        records.are_kept = stream->form.are_kept;
        records.unit = "item";
        records.items = stream->form.items;
        records.row_form = row_form_of(&stream->options);
    }
    return attn_ledger_open(&stream->ledger, &records, stream->host, err);
}

void attn_stream_free(struct attn_stream *stream)
{
    if (!stream)
        return;
    if (!stream->has_ended)
        attn_stream_keep(stream, NULL);
    attn_ledger_release(&stream->ledger);
    attn_table_free(stream->rows);
    attn_free(stream->beside);
    attn_free(stream);
}

/* --- Resuming --------------------------------------------------------------------------------- */

/* Returns the journal or the manifest, which names the state to restore. */
static const char *told_by(const struct attn_stream *stream)
{
    return stream->result.is_complete ? stream->ledger.manifest_path.data
                                      : stream->ledger.journal_path.data;
}

static enum attn_status report_input(const struct attn_stream *stream, const char *what,
                                     struct attn_error *err)
{
    return attn_ledger_report_input(attn_items_name(stream->form.items), told_by(stream), what,
                                    err);
}

/* Replays the next item of an earlier run, and counts its failure. */
static enum attn_status load_next(struct attn_stream *stream, char hex[ATTN_DIGEST_HEX_SIZE],
                                  uint64_t failures[ATTN_N_RECORD_FAILURE], struct attn_error *err)
{
    enum attn_record_failure failure = ATTN_RECORD_FAILURE_NONE;
    struct attn_item *item;
    enum attn_status status;

    ATTN_TRY(attn_items_next(stream->form.items, &item, err));
    if (!item)
        return report_input(stream, "has fewer items", err);
    attn_digest_hex(item->read, hex);
    status = attn_records_load(stream->ledger.records, item, stream->form.load, stream->form.user,
                               &failure, err);
    failures[failure]++;
    attn_item_free(item);
    return status;
}

/* Checks that the kept results of earlier runs give the files and the state that were recorded. */
static enum attn_status compare_kept(struct attn_stream *stream,
                                     const struct attn_ledger_made *made, struct attn_error *err)
{
    struct attn_ledger *ledger = &stream->ledger;
    const struct attn_ledger_extent *extents = made->is_there ? made->outputs : ledger->extents;
    const size_t n = made->is_there ? made->n_output : ledger->n_file;
    struct attn_buffer state = {0};
    bool is_same = true;

    for (size_t i = 0; is_same && i < n; i++) {
        char hex[ATTN_DIGEST_HEX_SIZE];
        uint64_t size = 0;

        ATTN_TRY(attn_records_replayed(ledger->records, i, made->is_there, &size, hex, err));
        is_same = hex[0] != '\0' && size == extents[i].size && strcmp(hex, extents[i].hex) == 0;
    }
    is_same = attn_records_save(ledger->records, &state) && is_same && !state.has_failed &&
              strcmp(attn_buffer_string(&state), attn_buffer_string(&ledger->state)) == 0;
    attn_buffer_release(&state);
    if (is_same)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "'%s' and the rows of its run do not agree, expected all as they were written",
                   attn_quote_string(told_by(stream)).text);
    attn_error_hint(err, "remove it to compute all anew");
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* Checks the rows and the items of earlier runs, and passes these on. */
static enum attn_status replay(struct attn_stream *stream, const struct attn_ledger_made *made,
                               struct attn_error *err)
{
    struct attn_ledger *ledger = &stream->ledger;
    uint64_t failures[ATTN_N_RECORD_FAILURE] = {0};
    char found[ATTN_DIGEST_HEX_SIZE];
    bool is_good;

    ATTN_TRY(attn_buffer_check(&ledger->state, err));
    ATTN_TRY(
        attn_records_restore(ledger->records, attn_buffer_string(&ledger->state), &is_good, err));
    if (!is_good)
        return attn_ledger_report_other(told_by(stream), "other columns",
                                        "remove it to compute all anew", err);
    attn_digest_bytes("", 0, found);
    for (uint64_t i = 0; i < ledger->done.n_record; i++)
        ATTN_TRY(load_next(stream, found, failures, err));
    if (strcmp(found, ledger->done.input) != 0)
        return report_input(stream, "has other items", err);
    if (!ledger->has_kept)
        return ATTN_OK;
    ATTN_TRY(compare_kept(stream, made, err));
    memcpy(ledger->done.failures, failures, sizeof failures);
    ledger->n_failed = ledger->done.n_record - failures[ATTN_RECORD_FAILURE_NONE];
    return ATTN_OK;
}

/* Skips the input of a batch up to the last record, and checks that it has the recorded digest and,
 * unless that is 0, the recorded number of records before the shard. */
static enum attn_status skip_over(const struct attn_stream *stream, struct attn_error *err)
{
    const struct attn_ledger_done *done = &stream->ledger.done;
    struct attn_items *items = stream->form.items;
    char found[ATTN_DIGEST_HEX_SIZE], what[96];
    uint64_t begin, end, n_before = done->n_line_before;

    ATTN_TRY(attn_items_skip(items, (size_t)done->n_record,
                             stream->result.is_complete ? done->end : done->begin, done->end,
                             (uint32_t)done->crc, err));
    attn_items_digest(items, found);
    attn_batch_lines_range(attn_items_lines(items), &begin, &end);
    snprintf(what, sizeof what, "differs between byte %" PRIu64 " and byte %" PRIu64, begin, end);
    if (strcmp(found, done->input) != 0)
        return report_input(stream, what, err);
    if (n_before > 0)
        ATTN_TRY(attn_items_count_before(items, &n_before, err));
    return n_before == done->n_line_before
               ? ATTN_OK
               : report_input(stream, "has another number of lines before the shard", err);
}

/* Checks that the input of complete results ends after their last item. */
static enum attn_status check_end(const struct attn_stream *stream, struct attn_error *err)
{
    struct attn_item *next = NULL;

    ATTN_TRY(attn_items_next(stream->form.items, &next, err));
    if (!next)
        return ATTN_OK;
    attn_item_free(next);
    return report_input(stream, is_batch(stream) ? "has more lines" : "has more items", err);
}

static enum attn_status resume_from(struct attn_stream *stream, struct attn_ledger_made *made,
                                    struct attn_error *err)
{
    struct attn_ledger *ledger = &stream->ledger;
    struct attn_ledger_done *done = &ledger->done;
    struct attn_each_result *result = &stream->result;

    ATTN_TRY(attn_ledger_find(ledger, made, err));
    if (made->is_there) {
        result->is_complete = true;
        result->has_failed = made->has_failed;
        done->n_record = made->n_record;
        done->end = made->end;
        done->n_line_before = made->n_line_before;
        memcpy(done->input, made->input, sizeof done->input);
        ledger->n_failed = made->n_failed;
    } else if (!is_batch(stream)) {
        ATTN_TRY(attn_ledger_cut(ledger, err));
    }
    if (done->n_record > 0 || made->is_there)
        ATTN_TRY(is_batch(stream) ? skip_over(stream, err) : replay(stream, made, err));
    result->n_item = result->n_before = done->n_record;
    result->n_failed = ledger->n_failed;
    if (made->is_there)
        ATTN_TRY(check_end(stream, err));
    else if (is_batch(stream))
        ATTN_TRY(attn_error_at(attn_ledger_cut(ledger, err), ATTN_STAGE_OUTPUT, err));
    if (made->is_there)
        attn_note(ledger->notes.on_note, ledger->notes.user, ATTN_NOTE_COMPLETE, "'%s' is complete",
                  attn_quote_string(ledger->name).text);
    return ATTN_OK;
}

/* Returns an error if more items failed than allowed. */
static enum attn_status check_failures(const struct attn_stream *stream, struct attn_error *err)
{
    const int64_t most = stream->form.max_failed;

    if (most < 0 || stream->result.n_failed <= (uint64_t)most)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "%" PRIu64 " of %" PRIu64 " %s failed, `max_failed` allows %" PRId64,
                   stream->result.n_failed, stream->result.n_item,
                   is_batch(stream) ? "records" : "items", most);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_INPUT, err);
}

/* Reads the items of earlier runs from the beginning, if the run is resumed. */
static enum attn_status resume(struct attn_stream *stream, struct attn_error *err)
{
    struct attn_ledger_made made = {0};
    enum attn_status status = ATTN_OK;

    if (stream->options.is_resumed)
        status = resume_from(stream, &made, err);
    attn_ledger_made_release(&made);
    ATTN_TRY(status);
    if (is_batch(stream) && stream->result.is_complete)
        return ATTN_OK;
    ATTN_TRY(check_failures(stream, err));
    stream->has_written = is_batch(stream);
    if (is_batch(stream))
        stream->ledger.begun = attn_clock_seconds(); /* without the time of checking */
    return ATTN_OK;
}

/* --- Running ---------------------------------------------------------------------------------- */

/* Reads the next item (attn_next_fn). */
static enum attn_status next(void *user, struct attn_item **item, struct attn_error *err)
{
    const struct attn_stream_form *form = &((const struct attn_stream *)user)->form;

    ATTN_TRY(attn_items_next(form->items, item, err));
    return *item && form->read ? form->read(form->user, *item, err) : ATTN_OK;
}

/* Answers about an item (attn_ask_fn). */
static enum attn_status ask(void *user, struct attn_item_result *result, struct attn_error *err)
{
    const struct attn_stream_work *work = ((const struct attn_stream *)user)->work;

    return work->ask(work->user, result, err);
}

/* Adds the answer to the result of a text, unless an earlier text of the item failed. */
static enum attn_status find(struct attn_stream *stream, struct attn_item_result *result,
                             struct attn_error *err)
{
    const struct attn_stream_work *work = stream->work;
    struct attn_error why = stream->failure;

    if (why.status == ATTN_OK && result->failure != ATTN_RECORD_FAILURE_NONE)
        return ATTN_OK;
    if (why.status == ATTN_OK) {
        result->rows = stream->rows;
        result->beside = stream->beside;
        why.status = attn_error_at(work->find(work->user, result, &why), ATTN_STAGE_INPUT, &why);
        stream->rows = result->rows;
        stream->beside = result->beside;
        if (why.status == ATTN_OK)
            return ATTN_OK;
        if (!attn_many_is_of_item(why.status, &why))
            return attn_error_copy(err, &why);
    }
    result->failure = ATTN_RECORD_FAILURE_NO_FIT;
    result->err = why;
    return ATTN_OK;
}

static void report_progress(const struct attn_stream *stream, double share,
                            const struct attn_item_result *done)
{
    const struct attn_each_result *result = &stream->result;
    struct attn_batch_progress progress = {
        .n_record = result->n_item,
        .n_failed = result->n_failed,
        .n_before = result->n_before,
        .seconds = attn_ledger_seconds(&stream->ledger),
        .share = isnan(share) ? 0 : share,
    };

    if (share > stream->share_before)
        progress.seconds_left = progress.seconds * (1 - share) / (share - stream->share_before);
    stream->form.on_progress(stream->form.user, &progress, done);
}

/* Writes RESULT. */
static enum attn_status write_result(struct attn_stream *stream, struct attn_item_result *result,
                                     struct attn_error *err)
{
    stream->has_written = true;
    if (!is_batch(stream)) {
        result->n_token = 0; /* only a batch counts tokens */
        result->is_followed = stream->ledger.name;
    }
    return attn_error_at(attn_ledger_write(&stream->ledger, result, err), ATTN_STAGE_OUTPUT, err);
}

/* Processes the result of a text (attn_done_fn). */
static enum attn_status done(void *user, const struct attn_item_result *given,
                             struct attn_error *err)
{
    struct attn_stream *stream = user;
    struct attn_item_result result = *given;
    struct attn_spaces spaces = {0};

    if (stream->work->find) {
        result.spaces = &spaces;
        ATTN_TRY(find(stream, &result, err));
        stream->failure = (struct attn_error){.status = ATTN_OK};
    }
    if (!result.is_last) {
        if (result.failure != ATTN_RECORD_FAILURE_NONE)
            stream->failure = result.err;
        return ATTN_OK;
    }
    stream->is_torn = true;
    ATTN_TRY(stream->form.take(stream->form.user, &result, err));
    if (stream->form.each)
        ATTN_TRY(write_result(stream, &result, err));
    stream->is_torn = false;
    stream->result.n_item++;
    stream->result.n_failed += result.failure != ATTN_RECORD_FAILURE_NONE;
    if (stream->rows)
        attn_table_reset(stream->rows);
    report_progress(stream, attn_items_share_at(stream->form.items, result.item->end), &result);
    return check_failures(stream, err);
}

static void on_end(void *user)
{
    attn_items_stop(((const struct attn_stream *)user)->form.items);
}

/* Sets *IS_PARALLEL to true if more items follow than the host has threads: true for a pipe, whose
 * end is unknown. */
static enum attn_status look_ahead(const struct attn_stream *stream, bool *is_parallel,
                                   struct attn_error *err)
{
    const size_t n = (size_t)attn_host_n_thread(stream->host);
    struct attn_item *last = NULL;

    *is_parallel = n > 1;
    if (n == 1 || isnan(attn_items_share(stream->form.items)))
        return ATTN_OK;
    ATTN_TRY(attn_items_peek(stream->form.items, n - 1, &last, err));
    *is_parallel = last;
    return ATTN_OK;
}

enum attn_status attn_stream_run(struct attn_stream *stream, struct attn_host *host,
                                 const struct attn_stream_work *work, struct attn_error *err)
{
    const struct attn_many_calls calls = {
        .next = next, .done = done, .release = attn_item_free, .on_end = on_end, .user = stream};
    bool is_parallel = false;

    stream->host = host;
    stream->work = work;
    if (work->ask)
        ATTN_TRY(look_ahead(stream, &is_parallel, err));
    if (stream->form.each) {
        ATTN_TRY(open_files(stream, err));
        ATTN_TRY(resume(stream, err));
    }
    if (stream->result.is_complete)
        return ATTN_OK;
    stream->share_before = attn_items_share(stream->form.items);
    report_progress(stream, stream->share_before, NULL);
    ATTN_TRY(work->ask ? attn_ask_many(host, ask, is_parallel, &calls, err)
                       : attn_run_many(host, work->options, &calls, err));
    return attn_is_canceled(stream->form.cancel) ? attn_report_stopped(err) : ATTN_OK;
}

/* --- The end ---------------------------------------------------------------------------------- */

const struct attn_each_result *attn_stream_result(struct attn_stream *stream)
{
    if (!stream->result.is_complete)
        stream->result.seconds = 1e-3 * (double)stream->ledger.milliseconds_before +
                                 attn_ledger_seconds(&stream->ledger);
    return &stream->result;
}

static void report(struct attn_stream *stream)
{
    struct attn_each_result *result = &stream->result;

    if (!result->is_complete)
        result->has_failed = result->n_failed > 0 && stream->form.max_failed < 0;
    if (stream->options.result)
        *stream->options.result = *attn_stream_result(stream);
}

enum attn_status attn_stream_finish(struct attn_stream *stream, struct attn_error *err)
{
    struct attn_ledger *ledger = &stream->ledger;

    if (stream->result.is_complete) {
        attn_ledger_remove_empty(ledger);
    } else if (stream->form.each) {
        ledger->input_name = attn_items_name(stream->form.items);
        ledger->input_end = ledger->done.end;
        if (is_batch(stream))
            attn_batch_lines_range(attn_items_lines(stream->form.items), &ledger->input_begin,
                                   &ledger->input_end);
        ledger->has_failed = stream->result.n_failed > 0 && stream->form.max_failed < 0;
        ATTN_TRY(
            attn_error_at(attn_ledger_finish(ledger, stream->host, err), ATTN_STAGE_OUTPUT, err));
    }
    stream->has_ended = true;
    report(stream);
    return ATTN_OK;
}

void attn_stream_keep(struct attn_stream *stream, const struct attn_error *err)
{
    if (!stream)
        return;
    stream->has_ended = true;
    if (stream->ledger.records)
        stream->result.is_abandoned = attn_records_is_abandoned(stream->ledger.records);
    if (!stream->has_written)
        attn_ledger_remove_empty(&stream->ledger);
    else
        stream->result.can_resume = attn_ledger_keep(&stream->ledger, stream->is_torn ? NULL : err);
    report(stream);
}
