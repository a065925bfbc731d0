/* batch_work.c - the work of a batch: see batch_internal.h. Lines are read on one thread and
 * results are processed on another; both only share has_ended. */
#include "batch/batch_internal.h"

#include "base/clock.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "records/items_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_canceled(const struct attn_batch *batch)
{
    return attn_is_canceled(batch->options.cancel);
}

/* --- Records in ------------------------------------------------------------------------------ */

/* Counts the lines before the shard, once a record needs its number. */
static enum attn_status count_before(struct attn_batch *batch, struct attn_error *err)
{
    if (batch->has_numbers)
        return ATTN_OK;
    batch->has_numbers = true;
    return attn_batch_lines_count_before(batch->lines, &batch->number_before, err);
}

/* Marks ITEM as failed if its continuations, or those given for all records, do not fit the
 * outputs. */
static void check_next(const struct attn_batch *batch, struct attn_item *item)
{
    if (item->failure != ATTN_RECORD_FAILURE_NONE)
        return;
    if (batch->needs_next && !item->next)
        attn_error_set(&item->err, ATTN_INVALID,
                       "it has no 'next', and no continuation is given for all");
    else if (item->n_next > batch->most_next)
        attn_error_set(&item->err, ATTN_INVALID,
                       "'next' has %zu continuations, expected at most %zu, as the array has "
                       "columns",
                       item->n_next, batch->most_next);
    if (item->err.status != ATTN_OK)
        item->failure = ATTN_RECORD_FAILURE_NO_FIT;
}

/* Returns the first character of LINE, or NUL if it is blank or begins like an object of JSON. */
static char find_text(const struct attn_buffer *line)
{
    size_t at = 0;

    while (at < line->size && (line->data[at] == ' ' || line->data[at] == '\t'))
        at++;
    return at == line->size || strchr("{\r", line->data[at]) ? '\0' : line->data[at];
}

/* Reads an object of JSON into ITEM. Its text is the first character of a line that is not JSON. */
static enum attn_status read_object(struct attn_batch *batch, struct attn_item *item,
                                    struct attn_error *err)
{
    const struct attn_buffer *text = &batch->line.text;
    char first;

    ATTN_TRY(attn_record_labels_read(text->data, text->size, &batch->labels, item, err));
    ATTN_TRY(attn_item_place_labels(item, err));
    attn_item_name_places(item, batch->places);
    check_next(batch, item);
    if (item->failure != ATTN_RECORD_FAILURE_BAD_JSON)
        return ATTN_OK;
    first = find_text(text);
    item->input.text = attn_store_copy(&item->store, &first, 1, err);
    return item->input.text ? ATTN_OK : ATTN_NO_MEMORY;
}

/* Fills ITEM from the current line. */
static enum attn_status fill_item(struct attn_batch *batch, struct attn_item *item,
                                  struct attn_error *err)
{
    const struct attn_batch_line *line = &batch->line;
    struct attn_input *input = &item->input;
    char size[ATTN_QUANTITY_SIZE], most[ATTN_QUANTITY_SIZE];

    if (line->is_too_long) {
        item->failure = ATTN_RECORD_FAILURE_LINE_TOO_LONG;
        attn_error_set(&item->err, ATTN_INVALID, "its line has %s bytes, expected at most %s",
                       attn_quantity_count(line->size, size),
                       attn_quantity_count(batch->options.max_line, most));
        return ATTN_OK;
    }
    if (batch->options.form != ATTN_ITEMS_LINES)
        return read_object(batch, item, err);
    input->n_text = line->text.size;
    input->n_text -= input->n_text > 0 && line->text.data[input->n_text - 1] == '\r';
    input->text = attn_store_copy(&item->store, line->text.data, input->n_text, err);
    return input->text ? ATTN_OK : ATTN_NO_MEMORY;
}

/* Stores in ITEM where its line is, and the digest of the input up to its end. */
static enum attn_status place_item(const struct attn_batch *batch, struct attn_item *item,
                                   struct attn_error *err)
{
    struct attn_sha256 *read = attn_store_take(&item->store, sizeof *read, err);

    if (!read)
        return ATTN_NO_MEMORY;
    *read = batch->input;
    item->read = read;
    item->begin = batch->line.begin;
    item->end = batch->line.end;
    item->crc = batch->line.crc;
    return ATTN_OK;
}

/* Reads the next item (attn_next_fn). A read error is stored in read_err, and reported after the
 * items before it. */
static enum attn_status next(void *user, struct attn_item **item, struct attn_error *err)
{
    struct attn_batch *batch = user;
    const uint64_t most = batch->options.max_record;
    struct attn_item *made;
    enum attn_status status;
    bool is_over;

    if ((most > 0 && batch->n_read >= most) ||
        attn_batch_lines_next(batch->lines, &batch->line, &is_over, &batch->read_err) != ATTN_OK ||
        is_over)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    status = fill_item(batch, made, err);
    if (status == ATTN_OK)
        status = place_item(batch, made, err);
    if (status != ATTN_OK || ((made->id_kind == ATTN_RECORD_ID_NUMBER || batch->needs_numbers) &&
                              count_before(batch, &batch->read_err) != ATTN_OK)) {
        attn_item_free(made);
        return status;
    }
    made->number = (size_t)(batch->number_before + batch->n_read++);
    *item = made;
    return ATTN_OK;
}

/* --- Results out ----------------------------------------------------------------------------- */

static void emit_progress(const struct attn_batch *batch)
{
    const struct attn_batch_options *options = &batch->options;
    const double first = (double)batch->begin_of_lines, at = (double)batch->ledger.done.end;
    const double left = (double)attn_batch_lines_end(batch->lines) - at;
    const double read = at - (double)batch->begin_of_work;
    struct attn_batch_progress progress = {
        .n_record = batch->ledger.done.n_record,
        .n_failed = batch->ledger.n_failed,
        .n_before = batch->n_before,
        .seconds = attn_ledger_seconds(&batch->ledger),
    };

    if (!options->on_progress)
        return;
    if (left > 0 && read > 0) {
        progress.share = (at - first) / (at + left - first);
        progress.seconds_left = progress.seconds * left / read;
    }
    options->on_progress(options->user, &progress);
}

static enum attn_status check_failures(const struct attn_batch *batch, struct attn_error *err)
{
    return attn_items_check_failures("records", batch->ledger.n_failed, batch->ledger.done.n_record,
                                     batch->options.max_failed, err);
}

/* Sends one note that a line is not an object, with the option that reads such a file. For a CSV
 * file it suggests other commands, as its lines are not texts. */
static void note_text(struct attn_batch *batch, const struct attn_item *item)
{
    const char *name = attn_batch_lines_name(batch->lines);

    batch->has_noted_text = true;
    attn_note(batch->options.on_note, batch->options.user, ATTN_NOTE_NOT_JSON,
              "record %zu is not a JSON object; %s", item->number,
              attn_items_separator_of(name)
                  ? "commands with `items` read CSV, such as score; batch reads JSON Lines"
              : *item->input.text == '[' ? "jq -c '.[]' writes the objects of an array as lines"
                                         : "`form lines` reads each line as a text");
}

static enum attn_status take(struct attn_batch *batch, const struct attn_item_result *result,
                             struct attn_error *err)
{
    struct attn_record_outcome outcome = attn_record_outcome_of(result);
    const struct attn_item *item = result->item;
    struct attn_ledger_done at = {.begin = item->begin,
                                  .end = item->end,
                                  .crc = item->crc,
                                  .n_line_before = item->number - batch->ledger.done.n_record};

    for (size_t i = 0; i < batch->labels.n && i < item->n_label; i++)
        if (item->labels[i].value.type != ATTN_VALUE_MISSING)
            batch->seen_labels[i] = true;
    if (!item->next && result->failure == ATTN_RECORD_FAILURE_NONE)
        batch->has_used_next = true;
    outcome.item_labels = item->labels;
    outcome.n_item_label = item->n_label;
    if (item->failure == ATTN_RECORD_FAILURE_BAD_JSON && *item->input.text &&
        !batch->has_noted_text)
        note_text(batch, item);
    attn_digest_hex(item->read, at.input);
    ATTN_TRY(attn_ledger_write(&batch->ledger, &outcome, result->failure, &at, result->is_followed,
                               err));
    emit_progress(batch);
    return check_failures(batch, err);
}

/* Processes a result (attn_done_fn). */
static enum attn_status take_result(void *user, const struct attn_item_result *result,
                                    struct attn_error *err)
{
    return attn_error_at(take(user, result, err), ATTN_STAGE_OUTPUT, err);
}

/* Frees an item (`release` of struct attn_many_calls). */
static void release_item(void *user, struct attn_item *item)
{
    (void)user;
    attn_item_free(item);
}

static void end_reading(void *user)
{
    struct attn_batch *batch = user;

    batch->has_ended = true;
}

/* --- Beginning, or resuming ------------------------------------------------------------------ */

enum attn_status attn_batch_work_init(struct attn_batch *batch, struct attn_error *err)
{
    attn_sha256_init(&batch->input);
    batch->seen_labels = attn_alloc(batch->labels.n, sizeof *batch->seen_labels, err);
    return batch->seen_labels ? ATTN_OK : ATTN_NO_MEMORY;
}

void attn_batch_work_release(struct attn_batch *batch)
{
    attn_batch_line_release(&batch->line);
}

/* Returns an error if the number of lines before the shard is not N, which is recorded in PATH. N
 * 0: they were not counted. */
static enum attn_status compare_lines_before(struct attn_batch *batch, uint64_t n, const char *path,
                                             struct attn_error *err)
{
    if (n == 0)
        return ATTN_OK;
    ATTN_TRY(count_before(batch, err));
    return batch->number_before == n
               ? ATTN_OK
               : attn_ledger_report_input(attn_batch_lines_name(batch->lines), path,
                                          "has another number of lines before the shard", err);
}

/* Returns an error if the lines so far do not have the digest HEX, which is recorded in PATH. */
static enum attn_status compare_digest(const struct attn_batch *batch, const char *hex,
                                       const char *path, struct attn_error *err)
{
    char what[96], found[ATTN_DIGEST_HEX_SIZE];
    uint64_t begin, end;

    attn_digest_hex(&batch->input, found);
    if (strcmp(found, hex) == 0)
        return ATTN_OK;
    attn_batch_lines_range(batch->lines, &begin, &end);
    snprintf(what, sizeof what, "differs between byte %" PRIu64 " and byte %" PRIu64, begin, end);
    return attn_ledger_report_input(attn_batch_lines_name(batch->lines), path, what, err);
}

enum attn_status attn_batch_work_resume(struct attn_batch *batch, struct attn_error *err)
{
    const struct attn_ledger_done *done = &batch->ledger.done;
    const char *path = batch->ledger.journal_path.data;

    if (batch->ledger.journal >= 0) { /* the input up to the checkpoint must be skipped */
        ATTN_TRY(attn_batch_lines_skip(batch->lines, &batch->line, done->begin, done->end,
                                       (uint32_t)done->crc, err));
        ATTN_TRY(compare_digest(batch, done->input, path, err));
        ATTN_TRY(compare_lines_before(batch, done->n_line_before, path, err));
    }
    ATTN_TRY(attn_ledger_cut(&batch->ledger, err));
    batch->n_before = batch->n_read = done->n_record;
    return check_failures(batch, err);
}

enum attn_status attn_batch_work_compare(struct attn_batch *batch,
                                         const struct attn_ledger_made *made,
                                         struct attn_error *err)
{
    const char *manifest_path = batch->ledger.manifest_path.data;
    const uint64_t most = batch->options.max_record;
    bool is_over = true;

    /* Compares the input up to the end recorded in MADE. The input must end there, unless
     * `max_record` stopped the run. */
    ATTN_TRY(attn_batch_lines_take(batch->lines, made->end, err));
    ATTN_TRY(compare_digest(batch, made->input, manifest_path, err));
    if (most == 0 || made->n_record < most)
        ATTN_TRY(attn_batch_lines_next(batch->lines, &batch->line, &is_over, err));
    if (is_canceled(batch))
        return attn_report_stopped(err);
    if (!is_over)
        return attn_ledger_report_input(attn_batch_lines_name(batch->lines), manifest_path,
                                        "has more lines", err);
    return compare_lines_before(batch, made->n_line_before, manifest_path, err);
}

/* --- All of it ------------------------------------------------------------------------------- */

/* Sends notes about labels that no record had, which may be misspelt, and about continuations given
 * for all records if every record had its own. */
static void note_unseen(const struct attn_batch *batch, bool has_next)
{
    const uint64_t n_record = batch->ledger.done.n_record;

    if (batch->n_before > 0 || n_record == 0)
        return;
    if (has_next && !batch->has_used_next && batch->ledger.n_failed < n_record)
        attn_note(batch->options.on_note, batch->options.user, ATTN_NOTE_UNUSED_DEFAULT,
                  "`next` has no effect: all records have their own");
    for (size_t i = 0; i < batch->labels.n; i++)
        if (!batch->seen_labels[i])
            attn_note(batch->options.on_note, batch->options.user, ATTN_NOTE_UNSEEN_LABEL,
                      "no record has the label '%s'",
                      attn_quote_string(batch->labels.names[i]).text);
}

enum attn_status attn_batch_work_run(struct attn_batch *batch, struct attn_host *host,
                                     const struct attn_many_options *many, struct attn_error *err)
{
    const struct attn_many_calls calls = {
        .next = next,
        .done = take_result,
        .release = release_item,
        .on_end = end_reading,
        .user = batch,
    };

    attn_batch_lines_range(batch->lines, &batch->begin_of_lines, &batch->begin_of_work);
    batch->ledger.begun = attn_clock_seconds();
    batch->places = many->request ? many->request->reading.places : NULL;
    emit_progress(batch);
    ATTN_TRY(attn_run_many(host, many, &calls, err));
    if (is_canceled(batch)) /* the lines ended early because of the cancel */
        return attn_report_stopped(err);
    ATTN_TRY(batch->read_err.status == ATTN_OK ? ATTN_OK : attn_error_copy(err, &batch->read_err));
    note_unseen(batch,
                many->request && many->request->predict.n_next > 0 && batch->most_next == SIZE_MAX);
    attn_batch_lines_note_mark(batch->lines, batch->options.on_note, batch->options.user);
    return ATTN_OK;
}
