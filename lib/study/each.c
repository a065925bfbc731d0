/* each.c - see each.h: names the outputs of a study, whose sinks (records_internal.h) are those of
 * a ledger, and replays the items of earlier runs. */
#include "study/each_internal.h"

#include "base/clock.h"
#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/thread.h"
#include "batch/ledger_internal.h"
#include "batch/records_internal.h"
#include "records/batch_lines.h"
#include "records/items_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct attn_each {
    struct attn_each_options options;
    struct attn_each_outputs of;
    struct attn_host *host;
    struct attn_items *items;
    struct attn_ledger ledger; /* records what is on disk */
    struct attn_records_form form;
    struct attn_each_result result;
    bool has_written, has_ended;
};

/* --- Opening ---------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    const size_t n = text ? strlen(text) : 0, n_end = strlen(end);

    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

static bool is_batch(const struct attn_each *each)
{
    return each->of.items;
}

/* Names the file, and describes the input and the options in the ledger. */
static enum attn_status name_file(struct attn_each *each, struct attn_error *err)
{
    const struct attn_each_options *options = &each->options;
    const struct attn_records_item output = {.format = options->form == ATTN_EACH_MATRICES ? "npz"
                                                                                           : "rows",
                                             .path = options->path,
                                             .sink = options->sink};
    uint64_t size;
    bool is_file;

    attn_items_shard(each->items, &each->ledger.shard, &each->ledger.n_shard);
    ATTN_TRY(attn_ledger_name(&each->ledger, is_batch(each) ? each->of.items : &output,
                              is_batch(each) ? each->of.n : 1, err));
    ATTN_TRY(
        attn_ledger_describe(&each->ledger, options->asked, options->files, options->n_file, err));
    is_file = attn_items_are_of_file(each->items, &size);
    return attn_ledger_describe_input(&each->ledger, is_file, size, err);
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

enum attn_status attn_each_open(const struct attn_each_options *given,
                                const struct attn_records_form *form,
                                const struct attn_each_outputs *outputs, struct attn_items *items,
                                struct attn_each **each, struct attn_error *err)
{
    struct attn_each_options options = ATTN_EACH_OPTIONS_DEFAULT;
    struct attn_each *made;
    enum attn_status status;

    ATTN_TRY(attn_error_at(attn_options_read(given, &options, err), ATTN_STAGE_OPTIONS, err));
    if (!attn_is_given(outputs->items || options.path || options.sink, "path", err) ||
        !attn_is_choice(options.form, ATTN_EACH_MATRICES + 1, "form", err))
        return ATTN_INVALID;
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->options = options;
    made->form = *form;
    made->form.unit = "item";
    made->form.items = items;
    made->form.row_form = row_form_of(&options);
    made->of = *outputs;
    made->items = items;
    made->ledger = (struct attn_ledger){
        .unit = outputs->items ? "record" : "item",
        .unit_key = outputs->items ? "records" : "items",
        .option = outputs->items ? "output" : "each",
        .source = options.source,
        .is_resumed = options.is_resumed,
        .is_synced = options.is_synced,
        .cancel = outputs->cancel,
        .on_note = form->on_note,
        .user = form->user,
        .command = options.command,
        .n_command = options.n_command,
        .is_spoiled = options.is_spoiled,
        .spoiled_user = options.user,
        .has_state = !outputs->items,
        .skips_input = outputs->items,
        .has_kept = form->are_kept,
        .journal = -1,
    };
    status = name_file(made, err);
    if (status == ATTN_OK)
        *each = made;
    else
        attn_each_free(made);
    return status;
}

enum attn_status attn_each_begin(struct attn_each *each, struct attn_host *host,
                                 const struct attn_records_form *form, struct attn_error *err)
{
    each->host = host;
    each->ledger.begun = attn_clock_seconds();
    for (size_t i = 0; i < each->ledger.n_output; i++) {
        const char *path = each->ledger.outputs[i].path;

        if (!path || !attn_items_are_of_path(each->items, path))
            continue;
        attn_error_set(err, ATTN_INVALID, "the output '%s' %s, expected another file",
                       attn_quote_string(path).text, form ? "is the input" : "has the items");
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    return attn_ledger_open(&each->ledger, form ? form : &each->form, host, err);
}

void attn_each_free(struct attn_each *each)
{
    if (!each)
        return;
    if (!each->has_ended)
        attn_each_keep(each, NULL);
    attn_ledger_release(&each->ledger);
    attn_free(each);
}

/* --- Resuming --------------------------------------------------------------------------------- */

struct handing {
    struct attn_each *each;
    const char *told_by; /* the journal or the manifest, which names the state to restore */
    attn_record_take_fn take;
    void *user;
};

/* Replays the next item of an earlier run. */
static enum attn_status hand_next(struct handing *handing, char hex[ATTN_DIGEST_HEX_SIZE],
                                  struct attn_error *err)
{
    struct attn_each *each = handing->each;
    struct attn_item *item;
    enum attn_status status;

    ATTN_TRY(attn_items_next(each->items, &item, err));
    if (!item)
        return attn_ledger_report_input(attn_items_name(each->items), handing->told_by,
                                        "has fewer items", err);
    attn_digest_hex(item->read, hex);
    status = attn_records_load(each->ledger.records, item, handing->take, handing->user, err);
    attn_item_free(item);
    return status;
}

/* Replays N items of earlier runs, and checks that the input up to the last one has the digest HEX.
 * If IS_WHOLE, the input must end there. */
static enum attn_status hand_over(struct handing *handing, uint64_t n, const char *hex,
                                  bool is_whole, struct attn_error *err)
{
    struct attn_each *each = handing->each;
    const char *name = attn_items_name(each->items);
    char found[ATTN_DIGEST_HEX_SIZE];
    struct attn_item *item = NULL;

    attn_digest_bytes("", 0, found);
    for (uint64_t i = 0; i < n; i++)
        ATTN_TRY(hand_next(handing, found, err));
    if (strcmp(found, hex) != 0)
        return attn_ledger_report_input(name, handing->told_by, "has other items", err);
    if (is_whole)
        ATTN_TRY(attn_items_next(each->items, &item, err));
    if (item) {
        attn_item_free(item);
        return attn_ledger_report_input(name, handing->told_by, "has more items", err);
    }
    return ATTN_OK;
}

/* Skips the input of a batch up to DONE, and checks that it has this digest and, unless that is 0,
 * this number of records before the shard. If IS_WHOLE, the input must end there. */
static enum attn_status skip_over(const struct handing *handing,
                                  const struct attn_ledger_done *done, bool is_whole,
                                  struct attn_error *err)
{
    struct attn_items *items = handing->each->items;
    const char *name = attn_items_name(items);
    char found[ATTN_DIGEST_HEX_SIZE], what[96];
    struct attn_item *next = NULL;
    uint64_t begin, end, n_before = done->n_line_before;

    ATTN_TRY(attn_items_skip(items, (size_t)done->n_record, is_whole ? done->end : done->begin,
                             done->end, (uint32_t)done->crc, err));
    attn_items_digest(items, found);
    attn_batch_lines_range(attn_items_lines(items), &begin, &end);
    snprintf(what, sizeof what, "differs between byte %" PRIu64 " and byte %" PRIu64, begin, end);
    if (strcmp(found, done->input) != 0)
        return attn_ledger_report_input(name, handing->told_by, what, err);
    if (is_whole)
        ATTN_TRY(attn_items_next(items, &next, err));
    attn_item_free(next);
    if (attn_is_canceled(handing->each->of.cancel))
        return attn_report_stopped(err);
    if (next)
        return attn_ledger_report_input(name, handing->told_by, "has more lines", err);
    if (n_before > 0)
        ATTN_TRY(attn_items_count_before(items, &n_before, err));
    return n_before == done->n_line_before
               ? ATTN_OK
               : attn_ledger_report_input(name, handing->told_by,
                                          "has another number of lines before the shard", err);
}

/* Checks the rows and the items of earlier runs, and passes these on. */
static enum attn_status replay(struct handing *handing, bool is_whole, struct attn_error *err)
{
    struct attn_ledger *ledger = &handing->each->ledger;
    bool is_good;

    ATTN_TRY(attn_buffer_check(&ledger->state, err));
    ATTN_TRY(
        attn_records_restore(ledger->records, attn_buffer_string(&ledger->state), &is_good, err));
    if (!is_good)
        return attn_ledger_report_other(handing->told_by, "other columns",
                                        "remove it to compute all anew", err);
    return hand_over(handing, ledger->done.n_record, ledger->done.input, is_whole, err);
}

static enum attn_status resume(struct handing *handing, struct attn_ledger_made *made,
                               struct attn_error *err)
{
    struct attn_each *each = handing->each;
    struct attn_ledger *ledger = &each->ledger;
    struct attn_ledger_done *done = &ledger->done;
    enum attn_status status = ATTN_OK;

    ATTN_TRY(attn_ledger_find(ledger, made, err));
    if (made->is_there) {
        each->result.is_complete = true;
        each->result.has_failed = made->has_failed;
        done->n_record = made->n_record;
        done->end = made->end;
        done->n_line_before = made->n_line_before;
        memcpy(done->input, made->input, sizeof done->input);
        ledger->n_failed = made->n_failed;
    } else if (!is_batch(each)) {
        ATTN_TRY(attn_ledger_cut(ledger, err));
    }
    handing->told_by = made->is_there ? ledger->manifest_path.data : ledger->journal_path.data;
    each->result.n_item = each->result.n_before = done->n_record;
    if (done->n_record > 0 || made->is_there)
        status = is_batch(each) ? skip_over(handing, done, made->is_there, err)
                                : replay(handing, made->is_there, err);
    ATTN_TRY(status);
    if (is_batch(each) && !made->is_there)
        ATTN_TRY(attn_error_at(attn_ledger_cut(ledger, err), ATTN_STAGE_OUTPUT, err));
    if (made->is_there)
        attn_note(ledger->on_note, ledger->user, ATTN_NOTE_COMPLETE, "'%s' is complete",
                  attn_quote_string(ledger->name).text);
    return ATTN_OK;
}

enum attn_status attn_each_resume(struct attn_each *each, attn_record_take_fn take, void *user,
                                  struct attn_error *err)
{
    struct handing handing = {.each = each, .take = take, .user = user};
    struct attn_ledger_made made = {0};
    enum attn_status status = ATTN_OK;

    if (each->options.is_resumed)
        status = resume(&handing, &made, err);
    each->result.n_failed = each->ledger.n_failed;
    if (is_batch(each) && status == ATTN_OK && !each->result.is_complete) {
        status = attn_items_check_failures("records", each->result.n_failed, each->result.n_item,
                                           each->of.max_failed, err);
        each->has_written = status == ATTN_OK;
        each->ledger.begun = attn_clock_seconds(); /* without the time of checking */
    }
    attn_ledger_made_release(&made);
    return status;
}

/* --- Writing ---------------------------------------------------------------------------------- */

enum attn_status attn_each_write(struct attn_each *each, const struct attn_item_result *given,
                                 struct attn_error *err)
{
    struct attn_item_result result = *given;
    enum attn_status status;

    each->has_written = true;
    if (!is_batch(each)) {
        result.n_token = 0; /* only a batch counts tokens */
        result.is_followed = each->ledger.name;
    }
    status = attn_ledger_write(&each->ledger, &result, err);
    each->result.n_item = each->ledger.done.n_record;
    each->result.n_failed = each->ledger.n_failed;
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

/* --- The end ---------------------------------------------------------------------------------- */

const struct attn_each_result *attn_each_result(struct attn_each *each)
{
    if (!each->result.is_complete)
        each->result.seconds =
            1e-3 * (double)each->ledger.milliseconds_before + attn_ledger_seconds(&each->ledger);
    return &each->result;
}

double attn_each_seconds(const struct attn_each *each)
{
    return attn_ledger_seconds(&each->ledger);
}

uint64_t attn_each_input_end(const struct attn_each *each)
{
    return each->ledger.done.end;
}

static void report(struct attn_each *each)
{
    if (!each->result.is_complete)
        each->result.has_failed = each->ledger.n_failed > 0 && each->of.max_failed < 0;
    if (each->options.result)
        *each->options.result = *attn_each_result(each);
}

enum attn_status attn_each_finish(struct attn_each *each, struct attn_error *err)
{
    struct attn_ledger *ledger = &each->ledger;

    if (each->result.is_complete) {
        attn_ledger_remove_empty(ledger);
        each->has_ended = true;
        report(each);
        return ATTN_OK;
    }
    ledger->input_name = attn_items_name(each->items);
    ledger->input_end = ledger->done.end;
    if (is_batch(each))
        attn_batch_lines_range(attn_items_lines(each->items), &ledger->input_begin,
                               &ledger->input_end);
    ledger->has_failed = ledger->n_failed > 0 && each->of.max_failed < 0;
    ATTN_TRY(attn_error_at(attn_ledger_finish(ledger, each->host, err), ATTN_STAGE_OUTPUT, err));
    each->has_ended = true;
    report(each);
    return ATTN_OK;
}

void attn_each_keep(struct attn_each *each, const struct attn_error *err)
{
    struct attn_ledger *ledger = &each->ledger;

    each->has_ended = true;
    if (ledger->records)
        each->result.is_abandoned = attn_records_is_abandoned(ledger->records);
    if (!each->has_written)
        attn_ledger_remove_empty(ledger);
    else
        each->result.can_resume = attn_ledger_keep(ledger, err);
    report(each);
}
