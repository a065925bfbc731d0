/*
 * batch_work.c - see batch_work.h. Lines are read on one thread, and results come on another: what
 * both touch is the list of free slots, and has_ended.
 */
#include "cmd/batch_work.h"

#include "cmd/line/interrupt.h"
#include "cmd/line/progress.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_BYTES = 1 << 16 }; /* a slot that took more gives it back */

static const double checkpoint_seconds = 1;

bool batch_work_is_stopped(void *user)
{
    const struct batch_work *work = user;
    return *interrupt_flag() != 0 || work->has_ended;
}

void batch_work_take_bytes(void *user, const void *bytes, size_t size)
{
    struct batch_work *work = user;
    if (work->journal_path)
        sha256_update(&work->input, size, bytes);
}

/* --- Slots ------------------------------------------------------------------------------------ */

static struct batch_slot *take_slot(struct batch_work *work, struct attn_error *err)
{
    pthread_mutex_lock(&work->mutex);
    struct batch_slot *slot = work->free;
    if (slot)
        work->free = slot->next;
    pthread_mutex_unlock(&work->mutex);
    if (!slot)
        slot = calloc(1, sizeof *slot);
    if (!slot)
        attn_error_no_memory(err);
    return slot;
}

static void give_slot(struct batch_work *work, struct batch_slot *slot)
{
    const struct attn_record_store *store = &slot->store;
    if (store->text.capacity + store->source.capacity + store->id.capacity +
            sizeof *store->ids * store->ids_capacity + sizeof *store->rows * store->rows_capacity >
        KEPT_BYTES)
        attn_record_store_release(&slot->store);
    pthread_mutex_lock(&work->mutex);
    slot->next = work->free;
    work->free = slot;
    pthread_mutex_unlock(&work->mutex);
}

/* --- Records in ------------------------------------------------------------------------------- */

/* The number of a record is needed: counts the lines before the shard. */
static enum attn_status count_before(struct batch_work *work, struct attn_error *err)
{
    if (work->has_numbers)
        return ATTN_OK;
    work->has_numbers = true;
    return batch_lines_count_before(work->lines, &work->number_before, err);
}

static enum attn_status report_long_line(const struct batch_work *work, struct attn_record *record)
{
    char size[ATTN_QUANTITY_SIZE], most[ATTN_QUANTITY_SIZE];
    record->failure = ATTN_RECORD_FAILURE_LINE_TOO_LONG;
    attn_error_set(&record->err, ATTN_INVALID, "its line has %s bytes, expected at most %s",
                   attn_quantity_count(work->line.size, size),
                   attn_quantity_count(batch_lines_longest(work->lines), most));
    return ATTN_OK;
}

/* Fills RECORD with what the line holds. */
static enum attn_status fill_record(struct batch_work *work, struct batch_slot *slot,
                                    struct attn_record *record, struct attn_error *err)
{
    const struct batch_line *line = &work->line;
    if (line->is_too_long)
        return report_long_line(work, record);
    if (!work->options.takes_texts)
        return attn_record_read(line->text.data, line->text.size, &work->options.keys, &slot->store,
                                record, err);
    struct attn_buffer *text = &slot->store.text;
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
    struct batch_work *work = user;
    *is_over = true;
    if (work->n_read >= work->options.n_most ||
        batch_lines_next(work->lines, &work->line, is_over, &work->read_err) != ATTN_OK || *is_over)
        return ATTN_OK;
    struct batch_slot *slot = take_slot(work, err);
    if (!slot)
        return ATTN_NO_MEMORY;
    slot->begin = work->line.begin;
    slot->end = work->line.end;
    slot->crc = work->line.crc;
    slot->input = work->input;
    record->mine = slot;
    enum attn_status status = fill_record(work, slot, record, err);
    if (status == ATTN_OK &&
        (record->has == ATTN_RECORD_ID_NUMBER || work->options.needs_numbers) &&
        count_before(work, &work->read_err) != ATTN_OK)
        *is_over = true;
    slot->n_line_before = work->number_before;
    record->number = (size_t)(work->number_before + work->n_read++);
    if (status != ATTN_OK || *is_over)
        give_slot(work, slot);
    return status;
}

/* --- Results out ------------------------------------------------------------------------------ */

static void show_progress(struct batch_work *work)
{
    char line[256], left[PROGRESS_TIME_SIZE], count[ATTN_QUANTITY_SIZE], failed[ATTN_QUANTITY_SIZE];
    const double seconds = progress_seconds();
    const bool is_told = work->options.progress_seconds > 0 &&
                         seconds - work->told >= work->options.progress_seconds;
    const struct batch_checkpoint *done = &work->done;
    if (!is_told && !progress_is_due())
        return;
    const double first = (double)work->first;
    const double end = (double)batch_lines_end(work->lines), at = (double)done->end;
    const double left_bytes = end - at, read = at - (double)work->begin_of_work;
    int size = snprintf(line, sizeof(line), "%s records, %.0f records/s, %s failed",
                        attn_quantity_count(done->n_record, count),
                        (double)(done->n_record - work->n_before) / fmax(seconds, 1e-3),
                        attn_quantity_count(work->n_failed, failed));
    if (left_bytes > 0 && read > 0)
        snprintf(line + size, sizeof(line) - (size_t)size, ", %.0f %%, %s left",
                 100 * (at - first) / (end - first),
                 progress_time(seconds * left_bytes / read, left));
    if (is_told) {
        note("%s", line);
        work->told = seconds;
    } else {
        progress_draw("%s", line);
    }
}

/* Counts RESULT as done. */
static void count_result(struct batch_work *work, const struct attn_many_result *result)
{
    const struct batch_slot *slot = result->record->mine;
    struct batch_checkpoint *done = &work->done;
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

static enum attn_status check_failures(const struct batch_work *work, struct attn_error *err)
{
    if (work->n_failed <= work->options.n_most_failed)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "%" PRIu64 " of %" PRIu64 " records failed, --max-errors allows %" PRIu64,
                   work->n_failed, work->done.n_record, work->options.n_most_failed);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_INPUT, err);
}

/* An attn_done_fn. */
static enum attn_status take_result(void *user, const struct attn_many_result *result,
                                    struct attn_error *err)
{
    struct batch_work *work = user;
    const struct attn_outcome outcome = attn_outcome_of(result);
    enum attn_status status = attn_records_write(work->records, &outcome, err);
    if (status != ATTN_OK)
        return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
    count_result(work, result);
    const double seconds = progress_seconds();
    if (work->journal_path && seconds - work->checked >= checkpoint_seconds) {
        work->checked = seconds;
        status = batch_work_checkpoint(work, err);
    } else if (!result->is_followed) {
        status = attn_records_flush(work->records, false, err);
    }
    show_progress(work);
    if (status == ATTN_OK)
        status = check_failures(work, err);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

static void release_record(void *user, struct attn_record *record)
{
    if (record->mine)
        give_slot(user, record->mine);
}

static void end_reading(void *user)
{
    struct batch_work *work = user;
    work->has_ended = true;
}

/* --- Checkpoints ------------------------------------------------------------------------------ */

enum attn_status batch_work_init(struct batch_work *work, struct attn_error *err)
{
    pthread_mutex_init(&work->mutex, NULL);
    sha256_init(&work->input);
    work->done_input = work->input;
    if (work->journal_path &&
        batch_parts_open(work->records, interrupt_flag(), &work->parts, err) != ATTN_OK)
        return err->status;
    work->n_file = work->parts ? batch_parts_n(work->parts) : 0;
    work->done.extents = work->extents = calloc(work->n_file + 1, sizeof *work->extents);
    return work->extents ? ATTN_OK : attn_error_no_memory(err);
}

void batch_work_release(struct batch_work *work)
{
    for (struct batch_slot *slot = work->free, *next_one; slot; slot = next_one) {
        next_one = slot->next;
        attn_record_store_release(&slot->store);
        free(slot);
    }
    work->free = NULL;
    batch_line_release(&work->line);
    batch_journal_close(work->journal);
    batch_parts_close(work->parts);
    free(work->extents);
}

static enum attn_status begin_journal(struct batch_work *work, struct attn_error *err)
{
    const struct batch_journal_options options = {
        .path = work->journal_path, .identity = work->identity, .n_file = work->n_file};
    return batch_journal_create(&options, &work->journal, err);
}

enum attn_status batch_work_checkpoint(struct batch_work *work, struct attn_error *err)
{
    enum attn_status status = attn_records_flush(work->records, work->options.is_synced, err);
    if (status != ATTN_OK || !work->journal_path)
        return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
    if (!work->journal && !batch_model_is_ready(work->model))
        return ATTN_OK; /* without them nothing could be resumed */
    if (!work->journal) {
        status = batch_model_wait(work->model, &work->identity.model, err);
        if (status == ATTN_OK)
            status = begin_journal(work, err);
        if (status == ATTN_OK && work->options.is_synced)
            status =
                attn_error_at(attn_sink_sync_name(work->journal_path, err), ATTN_STAGE_OUTPUT, err);
    }
    if (status == ATTN_OK)
        status = batch_parts_measure(work->parts, work->records, work->extents, err);
    batch_digest_hex(&work->done_input, work->done.input);
    work->done.milliseconds = work->milliseconds_before + (uint64_t)(1e3 * progress_seconds());
    if (status == ATTN_OK)
        status = batch_journal_append(work->journal, &work->done, work->options.is_synced, err);
    work->has_checkpoint = work->has_checkpoint || status == ATTN_OK;
    return status;
}

/* --- Going on --------------------------------------------------------------------------------- */

/* A batch_holds_fn. */
static enum attn_status parts_hold(void *user, const struct batch_checkpoint *checkpoint,
                                   bool *is_held, struct attn_error *err)
{
    const struct batch_work *work = user;
    return batch_parts_hold(work->parts, checkpoint->extents, is_held, err);
}

static enum attn_status report_input(const struct batch_work *work, const char *path,
                                     const char *what, struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' %s, expected the input that '%s' tells of",
                   attn_quote_string(batch_lines_name(work->lines)).text, what,
                   attn_quote_string(path).text);
    attn_error_hint(err, "remove '%s' to compute all anew", attn_quote_string(path).text);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* Whether as many lines are before the shard as PATH says, where its records were counted. */
static enum attn_status compare_lines_before(struct batch_work *work, uint64_t n, const char *path,
                                             struct attn_error *err)
{
    if (n == 0)
        return ATTN_OK;
    enum attn_status status = count_before(work, err);
    if (status == ATTN_OK && work->number_before != n)
        status = report_input(work, path, "has another number of lines before the shard", err);
    return status;
}

/* Whether the lines that were read so far have the digest HEX of PATH. */
static enum attn_status compare_digest(const struct batch_work *work, const char *hex,
                                       const char *path, struct attn_error *err)
{
    char what[96], found[BATCH_DIGEST_HEX_SIZE];
    uint64_t begin, end;
    batch_digest_hex(&work->input, found);
    if (strcmp(found, hex) == 0)
        return ATTN_OK;
    batch_lines_range(work->lines, &begin, &end);
    snprintf(what, sizeof(what), "differs between byte %" PRIu64 " and byte %" PRIu64, begin, end);
    return report_input(work, path, what, err);
}

/* Goes to the end of what the checkpoint says is done. */
static enum attn_status skip_done(struct batch_work *work, struct attn_error *err)
{
    const struct batch_checkpoint *done = &work->done;
    enum attn_status status =
        batch_lines_skip(work->lines, done->begin, done->end, (uint32_t)done->crc, err);
    if (status == ATTN_OK)
        status = compare_digest(work, done->input, work->journal_path, err);
    work->done_input = work->input;
    if (status == ATTN_OK)
        status = compare_lines_before(work, done->n_line_before, work->journal_path, err);
    return status;
}

/* Cuts the outputs to what is done, or empties them. */
static enum attn_status cut_outputs(struct batch_work *work, bool is_resumed,
                                    struct attn_error *err)
{
    uint64_t *sizes = calloc(work->n_file + 1, sizeof *sizes);
    if (!sizes)
        return attn_error_no_memory(err);
    for (size_t i = 0; i < work->n_file; i++)
        sizes[i] = work->extents[i].size;
    const enum attn_status status = attn_records_begin(
        work->records, work->done.n_record, is_resumed ? sizes : NULL, work->n_file, err);
    free(sizes);
    return status;
}

enum attn_status batch_work_resume(struct batch_work *work, bool *is_resumed,
                                   struct attn_error *err)
{
    const struct batch_journal_options options = {.path = work->journal_path,
                                                  .identity = work->identity,
                                                  .n_file = work->n_file,
                                                  .holds = parts_hold,
                                                  .user = work};
    enum attn_status status = batch_journal_resume(&options, &work->done, &work->journal, err);
    if (status != ATTN_OK)
        return status;
    batch_parts_rewind(work->parts);
    *is_resumed = work->journal != NULL;
    if (!*is_resumed)
        work->done = (struct batch_checkpoint){.extents = work->extents};
    else
        status = skip_done(work, err);
    if (status == ATTN_OK)
        status = cut_outputs(work, *is_resumed, err);
    if (status != ATTN_OK)
        return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
    work->has_checkpoint = *is_resumed;
    work->n_before = work->n_read = work->done.n_record;
    work->milliseconds_before = work->done.milliseconds;
    work->done.n_restart += *is_resumed;
    for (int i = ATTN_RECORD_FAILURE_NONE + 1; i < ATTN_N_RECORD_FAILURE; i++)
        work->n_failed += work->done.failures[i];
    return check_failures(work, err);
}

/* Reads the input as far as MADE says; then there is no more, unless more was not wanted. */
static enum attn_status compare_input(struct batch_work *work, const struct batch_made *made,
                                      const char *path, struct attn_error *err)
{
    bool is_over = true;
    enum attn_status status = batch_lines_take(work->lines, made->end, err);
    if (status == ATTN_OK)
        status = compare_digest(work, made->input, path, err);
    if (status == ATTN_OK && made->n_record < work->options.n_most)
        status = batch_lines_next(work->lines, &work->line, &is_over, err);
    if (status == ATTN_OK && *interrupt_flag() != 0)
        return attn_error_set(err, ATTN_CANCELED, "%s", attn_status_text(ATTN_CANCELED));
    return status == ATTN_OK && !is_over ? report_input(work, path, "has more lines", err) : status;
}

enum attn_status batch_work_compare(struct batch_work *work, const struct batch_made *made,
                                    const char *manifest_path, struct attn_error *err)
{
    enum attn_status status =
        batch_manifest_compare(manifest_path, made, work->records, interrupt_flag(), err);
    if (status == ATTN_OK)
        status = compare_input(work, made, manifest_path, err);
    if (status == ATTN_OK)
        status = compare_lines_before(work, made->n_line_before, manifest_path, err);
    return status;
}

/* --- All of it -------------------------------------------------------------------------------- */

enum attn_status batch_work_run(struct batch_work *work, struct attn_host *host,
                                const struct attn_many_options *many, struct attn_error *err)
{
    const struct attn_many_calls calls = {
        .next = next,
        .done = take_result,
        .release = release_record,
        .on_end = end_reading,
        .user = work,
    };
    batch_lines_range(work->lines, &work->first, &work->begin_of_work);
    enum attn_status status = attn_run_many(host, many, &calls, err);
    progress_clear();
    if (status == ATTN_OK && *interrupt_flag() != 0) /* then lines have ended early */
        status = attn_error_set(err, ATTN_CANCELED, "%s", attn_status_text(ATTN_CANCELED));
    if (status == ATTN_OK && work->read_err.status != ATTN_OK)
        status = attn_error_copy(err, &work->read_err);
    return status;
}
