/*
 * batch_work.c - see batch_work.h. Lines are read on one thread, and results come on another: what
 * both touch is the list of free slots, and has_ended.
 */
#include "records/batch_work.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "records/records_internal.h"
#include "run/record_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { KEPT_BYTES = 1 << 16 }; /* a slot that took more gives it back */

static const double checkpoint_seconds = 1;

/* A record that is being computed, and what it points to. */
struct batch_slot {
    struct attn_record_store store;
    uint64_t begin, end;     /* of its line */
    uint32_t crc;            /* of that */
    uint64_t n_line_before;  /* before the shard, if they were counted */
    struct sha256_ctx input; /* of all lines up to this one */
    struct batch_slot *next; /* among those that are free */
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double attn_batch_work_seconds(const struct attn_batch_work *work)
{
    return work->begun > 0 ? now() - work->begun : 0;
}

void attn_batch_work_measure(struct attn_batch_work *work)
{
    attn_digest_hex(&work->done_input, work->done.input);
    work->done.milliseconds =
        work->milliseconds_before + (uint64_t)(1e3 * attn_batch_work_seconds(work));
}

static bool is_canceled(const struct attn_batch_work *work)
{
    return work->options->cancel && *work->options->cancel;
}

/* --- Slots ----------------------------------------------------------------------------------- */

static struct batch_slot *take_slot(struct attn_batch_work *work, struct attn_error *err)
{
    struct batch_slot *slot;

    attn_monitor_enter(work->monitor);
    slot = work->free;
    if (slot)
        work->free = slot->next;
    attn_monitor_leave(work->monitor);
    return slot ? slot : attn_alloc(1, sizeof *slot, err);
}

static void give_slot(struct attn_batch_work *work, struct batch_slot *slot)
{
    const struct attn_record_store *store = &slot->store;

    if (store->text.capacity + store->source.capacity + store->id.capacity +
            sizeof *store->ids * store->ids_capacity + sizeof *store->rows * store->rows_capacity >
        KEPT_BYTES)
        attn_record_store_release(&slot->store);
    attn_monitor_enter(work->monitor);
    slot->next = work->free;
    work->free = slot;
    attn_monitor_leave(work->monitor);
}

/* --- Records in ------------------------------------------------------------------------------ */

/* The number of a record is needed: counts the lines before the shard. */
static enum attn_status count_before(struct attn_batch_work *work, struct attn_error *err)
{
    if (work->has_numbers)
        return ATTN_OK;
    work->has_numbers = true;
    return attn_batch_lines_count_before(work->lines, &work->number_before, err);
}

/* Fills RECORD with what the line holds. */
static enum attn_status fill_record(struct attn_batch_work *work, struct batch_slot *slot,
                                    struct attn_record *record, struct attn_error *err)
{
    const struct attn_record_keys keys = {work->options->text_key, work->options->id_key};
    const struct attn_batch_line *line = &work->line;
    struct attn_buffer *text = &slot->store.text;
    char size[ATTN_QUANTITY_SIZE], most[ATTN_QUANTITY_SIZE];

    if (line->is_too_long) {
        record->failure = ATTN_RECORD_FAILURE_LINE_TOO_LONG;
        attn_error_set(&record->err, ATTN_INVALID, "its line has %s bytes, expected at most %s",
                       attn_quantity_count(line->size, size),
                       attn_quantity_count(attn_batch_lines_longest(work->lines), most));
        return ATTN_OK;
    }
    if (!work->options->takes_texts)
        return attn_record_read(line->text.data, line->text.size, &keys, &slot->store, record, err);
    attn_buffer_reset(text);
    attn_buffer_append(text, line->text.data, line->text.size);
    if (text->size > 0 && text->data[text->size - 1] == '\r')
        text->size--;
    record->input.text = attn_buffer_string(text);
    record->input.n_text = text->size;
    return attn_buffer_check(text, err);
}

/* An attn_next_fn. What fails is kept for later: all records before it are to be done. */
static enum attn_status next(void *user, struct attn_record *record, bool *is_over,
                             struct attn_error *err)
{
    struct attn_batch_work *work = user;
    const uint64_t most = work->options->max_record;
    struct batch_slot *slot;
    enum attn_status status;

    *is_over = true;
    if (most > 0 && work->n_read >= most)
        return ATTN_OK;
    if (attn_batch_lines_next(work->lines, &work->line, is_over, &work->read_err) != ATTN_OK)
        *is_over = true;
    if (*is_over)
        return ATTN_OK;
    slot = take_slot(work, err);
    if (!slot)
        return ATTN_NO_MEMORY;
    slot->begin = work->line.begin;
    slot->end = work->line.end;
    slot->crc = work->line.crc;
    slot->input = work->input;
    record->mine = slot;
    status = fill_record(work, slot, record, err);
    if (status == ATTN_OK && (record->has == ATTN_RECORD_ID_NUMBER || work->needs_numbers) &&
        count_before(work, &work->read_err) != ATTN_OK)
        *is_over = true;
    slot->n_line_before = work->number_before;
    record->number = (size_t)(work->number_before + work->n_read++);
    return status;
}

/* --- Results out ----------------------------------------------------------------------------- */

static void emit_progress(const struct attn_batch_work *work)
{
    const struct attn_batch_options *options = work->options;
    const double first = (double)work->first, at = (double)work->done.end;
    const double left = (double)attn_batch_lines_end(work->lines) - at;
    const double read = at - (double)work->begin_of_work;
    struct attn_batch_progress progress = {
        .n_record = work->done.n_record,
        .n_failed = work->n_failed,
        .n_before = work->n_before,
        .seconds = attn_batch_work_seconds(work),
    };

    if (!options->on_progress)
        return;
    if (left > 0 && read > 0) {
        progress.share = (at - first) / (at + left - first);
        progress.seconds_left = progress.seconds * left / read;
    }
    options->on_progress(options->user, &progress);
}

/* Counts RESULT as done. */
static void count_result(struct attn_batch_work *work, const struct attn_many_result *result)
{
    const struct batch_slot *slot = result->record->mine;
    struct attn_batch_checkpoint *done = &work->done;

    done->n_record++;
    done->begin = slot->begin;
    done->end = slot->end;
    done->crc = slot->crc;
    done->n_line_before = slot->n_line_before;
    work->done_input = slot->input;
    done->n_token += result->n_token;
    done->failures[result->record->failure]++;
    work->n_failed += result->record->failure != ATTN_RECORD_FAILURE_NONE;
}

static enum attn_status check_failures(const struct attn_batch_work *work, struct attn_error *err)
{
    const int64_t most = work->options->max_failed;

    if (most < 0 || work->n_failed <= (uint64_t)most)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "%" PRIu64 " of %" PRIu64 " records failed, max_failed allows %" PRId64,
                   work->n_failed, work->done.n_record, most);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_INPUT, err);
}

static enum attn_status take(struct attn_batch_work *work, const struct attn_many_result *result,
                             struct attn_error *err)
{
    const struct attn_outcome outcome = attn_outcome_of(result);
    enum attn_status status = ATTN_OK;
    double seconds;

    ATTN_TRY(attn_records_write(work->records, &outcome, err));
    count_result(work, result);
    seconds = attn_batch_work_seconds(work);
    if (work->journal_path && seconds - work->checked >= checkpoint_seconds) {
        work->checked = seconds;
        status = attn_batch_work_checkpoint(work, err);
    } else if (!result->is_followed) {
        status = attn_records_flush(work->records, false, err);
    }
    emit_progress(work);
    ATTN_TRY(status);
    return check_failures(work, err);
}

/* An attn_done_fn. */
static enum attn_status take_result(void *user, const struct attn_many_result *result,
                                    struct attn_error *err)
{
    return attn_error_at(take(user, result, err), ATTN_STAGE_OUTPUT, err);
}

static void release_record(void *user, struct attn_record *record)
{
    if (record->mine)
        give_slot(user, record->mine);
}

static void end_reading(void *user)
{
    struct attn_batch_work *work = user;

    work->has_ended = true;
}

/* --- Checkpoints ----------------------------------------------------------------------------- */

enum attn_status attn_batch_work_init(struct attn_batch_work *work, struct attn_error *err)
{
    sha256_init(&work->input);
    work->done_input = work->input;
    ATTN_TRY(attn_monitor_create(1, &work->monitor, err));
    if (work->journal_path)
        ATTN_TRY(attn_batch_parts_open(work->records, work->options->cancel, &work->parts, err));
    work->n_file = work->parts ? attn_batch_parts_n(work->parts) : 0;
    work->done.extents = work->extents = attn_alloc(work->n_file, sizeof *work->extents, err);
    return work->extents ? ATTN_OK : ATTN_NO_MEMORY;
}

void attn_batch_work_release(struct attn_batch_work *work)
{
    for (struct batch_slot *slot = work->free, *next_one; slot; slot = next_one) {
        next_one = slot->next;
        attn_record_store_release(&slot->store);
        attn_free(slot);
    }
    work->free = NULL;
    attn_batch_line_release(&work->line);
    attn_batch_journal_free(work->journal);
    attn_batch_parts_free(work->parts);
    attn_free(work->extents);
    attn_monitor_free(work->monitor);
}

static enum attn_status begin_journal(struct attn_batch_work *work, struct attn_error *err)
{
    struct attn_batch_journal_options options = {.path = work->journal_path,
                                                 .n_file = work->n_file};

    ATTN_TRY(attn_model_files_wait(work->model, &work->identity.model, err));
    options.identity = work->identity;
    ATTN_TRY(attn_batch_journal_create(&options, &work->journal, err));
    return work->options->is_synced ? attn_sink_sync_name(work->journal_path, err) : ATTN_OK;
}

static enum attn_status checkpoint(struct attn_batch_work *work, struct attn_error *err)
{
    const bool is_synced = work->options->is_synced;

    ATTN_TRY(attn_records_flush(work->records, is_synced, err));
    if (!work->journal_path || (!work->journal && !attn_model_files_are_ready(work->model)))
        return ATTN_OK; /* without the model's files nothing could be resumed */
    if (!work->journal)
        ATTN_TRY(begin_journal(work, err));
    ATTN_TRY(attn_batch_parts_measure(work->parts, work->records, work->extents, err));
    attn_batch_work_measure(work);
    ATTN_TRY(attn_batch_journal_append(work->journal, &work->done, is_synced, err));
    work->has_checkpoint = true;
    return ATTN_OK;
}

enum attn_status attn_batch_work_checkpoint(struct attn_batch_work *work, struct attn_error *err)
{
    return attn_error_at(checkpoint(work, err), ATTN_STAGE_OUTPUT, err);
}

/* --- Going on -------------------------------------------------------------------------------- */

/* An attn_batch_holds_fn. */
static enum attn_status parts_hold(void *user, const struct attn_batch_checkpoint *checkpoint,
                                   bool *is_held, struct attn_error *err)
{
    const struct attn_batch_work *work = user;

    return attn_batch_parts_hold(work->parts, checkpoint->extents, is_held, err);
}

static enum attn_status report_input(const struct attn_batch_work *work, const char *path,
                                     const char *what, struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' %s, expected the input that '%s' tells of",
                   attn_quote_string(attn_batch_lines_name(work->lines)).text, what,
                   attn_quote_string(path).text);
    attn_error_hint(err, "remove '%s' to compute all anew", attn_quote_string(path).text);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* Whether as many lines are before the shard as PATH says, where its records were counted. */
static enum attn_status compare_lines_before(struct attn_batch_work *work, uint64_t n,
                                             const char *path, struct attn_error *err)
{
    if (n == 0)
        return ATTN_OK;
    ATTN_TRY(count_before(work, err));
    return work->number_before == n
               ? ATTN_OK
               : report_input(work, path, "has another number of lines before the shard", err);
}

/* Whether the lines that were read so far have the digest HEX of PATH. */
static enum attn_status compare_digest(const struct attn_batch_work *work, const char *hex,
                                       const char *path, struct attn_error *err)
{
    char what[96], found[ATTN_DIGEST_HEX_SIZE];
    uint64_t begin, end;

    attn_digest_hex(&work->input, found);
    if (strcmp(found, hex) == 0)
        return ATTN_OK;
    attn_batch_lines_range(work->lines, &begin, &end);
    snprintf(what, sizeof what, "differs between byte %" PRIu64 " and byte %" PRIu64, begin, end);
    return report_input(work, path, what, err);
}

/* Goes to the end of what the checkpoint says is done. */
static enum attn_status skip_done(struct attn_batch_work *work, struct attn_error *err)
{
    const struct attn_batch_checkpoint *done = &work->done;

    ATTN_TRY(attn_batch_lines_skip(work->lines, done->begin, done->end, (uint32_t)done->crc, err));
    ATTN_TRY(compare_digest(work, done->input, work->journal_path, err));
    work->done_input = work->input;
    return compare_lines_before(work, done->n_line_before, work->journal_path, err);
}

/* Cuts the outputs to what is done, or empties them. */
static enum attn_status cut_outputs(struct attn_batch_work *work, bool is_resumed,
                                    struct attn_error *err)
{
    uint64_t *sizes = attn_alloc(work->n_file, sizeof *sizes, err);
    enum attn_status status;

    if (!sizes)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < work->n_file; i++)
        sizes[i] = work->extents[i].size;
    status = attn_records_begin(work->records, work->done.n_record, is_resumed ? sizes : NULL,
                                work->n_file, err);
    attn_free(sizes);
    return status;
}

static enum attn_status go_on(struct attn_batch_work *work, bool *is_resumed,
                              struct attn_error *err)
{
    const struct attn_batch_journal_options options = {.path = work->journal_path,
                                                       .identity = work->identity,
                                                       .n_file = work->n_file,
                                                       .holds = parts_hold,
                                                       .user = work};

    ATTN_TRY(attn_batch_journal_resume(&options, &work->done, &work->journal, err));
    attn_batch_parts_rewind(work->parts);
    *is_resumed = work->journal;
    if (*is_resumed)
        ATTN_TRY(skip_done(work, err));
    else
        work->done = (struct attn_batch_checkpoint){.extents = work->extents};
    ATTN_TRY(cut_outputs(work, *is_resumed, err));
    work->has_checkpoint = *is_resumed;
    work->n_before = work->n_read = work->done.n_record;
    work->milliseconds_before = work->done.milliseconds;
    work->done.n_restart += *is_resumed;
    for (int i = ATTN_RECORD_FAILURE_NONE + 1; i < ATTN_N_RECORD_FAILURE; i++)
        work->n_failed += work->done.failures[i];
    return check_failures(work, err);
}

enum attn_status attn_batch_work_resume(struct attn_batch_work *work, bool *is_resumed,
                                        struct attn_error *err)
{
    return attn_error_at(go_on(work, is_resumed, err), ATTN_STAGE_OUTPUT, err);
}

/* Reads the input as far as MADE says; then there is no more, unless more was not wanted. */
static enum attn_status compare_input(struct attn_batch_work *work,
                                      const struct attn_batch_made *made, const char *path,
                                      struct attn_error *err)
{
    const uint64_t most = work->options->max_record;
    bool is_over = true;

    ATTN_TRY(attn_batch_lines_take(work->lines, made->end, err));
    ATTN_TRY(compare_digest(work, made->input, path, err));
    if (most == 0 || made->n_record < most)
        ATTN_TRY(attn_batch_lines_next(work->lines, &work->line, &is_over, err));
    if (is_canceled(work))
        return attn_report_stopped(err);
    return is_over ? ATTN_OK : report_input(work, path, "has more lines", err);
}

enum attn_status attn_batch_work_compare(struct attn_batch_work *work,
                                         const struct attn_batch_made *made,
                                         const char *manifest_path, struct attn_error *err)
{
    ATTN_TRY(attn_batch_manifest_compare(manifest_path, made, work->records, work->options->cancel,
                                         err));
    ATTN_TRY(compare_input(work, made, manifest_path, err));
    return compare_lines_before(work, made->n_line_before, manifest_path, err);
}

/* --- All of it ------------------------------------------------------------------------------- */

enum attn_status attn_batch_work_run(struct attn_batch_work *work, struct attn_host *host,
                                     const struct attn_many_options *many, struct attn_error *err)
{
    const struct attn_many_calls calls = {
        .next = next,
        .done = take_result,
        .release = release_record,
        .on_end = end_reading,
        .user = work,
    };

    attn_batch_lines_range(work->lines, &work->first, &work->begin_of_work);
    work->begun = now();
    emit_progress(work);
    ATTN_TRY(attn_run_many(host, many, &calls, err));
    if (is_canceled(work)) /* then lines have ended early */
        return attn_report_stopped(err);
    return work->read_err.status == ATTN_OK ? ATTN_OK : attn_error_copy(err, &work->read_err);
}
