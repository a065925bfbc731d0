/* ledger_resume.c - passes on or skips the items of earlier runs: see ledger_internal.h. */
#include "stream/ledger_internal.h"

#include "base/escape.h"
#include "base/memory.h"
#include "stream/batch_lines.h"
#include "stream/items_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A run that goes on after earlier ones. */
struct resuming {
    struct attn_ledger *ledger;
    struct attn_items *items;
    attn_record_take_fn load;
    void *user; /* passed to `load` */
};

/* Returns the journal or the manifest, which names the state to restore. */
static const char *told_by(const struct resuming *resuming)
{
    return resuming->ledger->is_whole ? resuming->ledger->manifest_path.data
                                      : resuming->ledger->journal_path.data;
}

/* Sets the error that the input differs from the recorded one. WHAT is the difference. */
static enum attn_status report_input(const struct resuming *resuming, const char *what,
                                     struct attn_error *err)
{
    const struct attn_quote told = attn_quote_string(told_by(resuming));

    attn_error_set(err, ATTN_INVALID, "'%s' %s, expected the input recorded in '%s'",
                   attn_quote_string(attn_items_name(resuming->items)).text, what, told.text);
    attn_error_hint(err, "remove '%s' to compute all anew", told.text);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* Replays the next item of an earlier run, and counts its failure. */
static enum attn_status load_next(const struct resuming *resuming, char hex[ATTN_DIGEST_HEX_SIZE],
                                  uint64_t failures[ATTN_N_RECORD_FAILURE], struct attn_error *err)
{
    enum attn_record_failure failure = ATTN_RECORD_FAILURE_NONE;
    struct attn_item *item;
    enum attn_status status;

    ATTN_TRY(attn_items_next(resuming->items, &item, err));
    if (!item)
        return report_input(resuming, "has fewer items", err);
    attn_digest_hex(item->read, hex);
    status = attn_records_load(resuming->ledger->records, item, resuming->load, resuming->user,
                               &failure, err);
    failures[failure]++;
    attn_item_free(item);
    return status;
}

/* Checks that the kept results of earlier runs give the files and the state that were recorded. */
static enum attn_status compare_kept(const struct resuming *resuming, struct attn_error *err)
{
    struct attn_ledger *ledger = resuming->ledger;
    const struct attn_ledger_extent *extents = ledger->extents;
    struct attn_buffer state = {0};
    enum attn_status status;
    bool is_same = true;

    for (size_t i = 0; is_same && i < ledger->n_file; i++) {
        char hex[ATTN_DIGEST_HEX_SIZE];
        uint64_t size = 0;

        ATTN_TRY(attn_records_replayed(ledger->records, i, ledger->is_whole, &size, hex, err));
        is_same = hex[0] != '\0' && size == extents[i].size && strcmp(hex, extents[i].hex) == 0;
    }
    is_same = attn_records_save(ledger->records, &state) && is_same;
    status = attn_buffer_string(&state) ? ATTN_OK : attn_error_no_memory(err);
    is_same =
        is_same && status == ATTN_OK && strcmp(state.data, attn_buffer_string(&ledger->state)) == 0;
    attn_buffer_release(&state);
    if (is_same || status != ATTN_OK)
        return status;
    attn_error_set(err, ATTN_INVALID,
                   "'%s' and the rows of its run do not agree, expected all as they were written",
                   attn_quote_string(told_by(resuming)).text);
    attn_error_hint(err, "remove it to compute all anew");
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* Checks the rows and the items of earlier runs, and passes these on. */
static enum attn_status replay(const struct resuming *resuming, struct attn_error *err)
{
    struct attn_ledger *ledger = resuming->ledger;
    uint64_t failures[ATTN_N_RECORD_FAILURE] = {0};
    char found[ATTN_DIGEST_HEX_SIZE];
    bool is_good;

    ATTN_TRY(attn_buffer_check(&ledger->state, err));
    ATTN_TRY(
        attn_records_restore(ledger->records, attn_buffer_string(&ledger->state), &is_good, err));
    if (!is_good)
        return attn_ledger_report_other(told_by(resuming), "other columns",
                                        "remove it to compute all anew", err);
    attn_digest_bytes("", 0, found);
    for (uint64_t i = 0; i < ledger->done.n_record; i++)
        ATTN_TRY(load_next(resuming, found, failures, err));
    if (strcmp(found, ledger->done.input) != 0)
        return report_input(resuming, "has other items", err);
    if (!ledger->has_kept)
        return ATTN_OK;
    ATTN_TRY(compare_kept(resuming, err));
    memcpy(ledger->done.failures, failures, sizeof failures);
    ledger->n_failed = ledger->done.n_record - failures[ATTN_RECORD_FAILURE_NONE];
    return ATTN_OK;
}

/* Skips the input up to the last record, and checks that it has the recorded digest and, unless
 * that is 0, the recorded number of records before the shard. */
static enum attn_status skip_over(const struct resuming *resuming, struct attn_error *err)
{
    const struct attn_ledger_done *done = &resuming->ledger->done;
    struct attn_items *items = resuming->items;
    char found[ATTN_DIGEST_HEX_SIZE], what[96];
    uint64_t begin, end, n_before = done->n_line_before;

    ATTN_TRY(attn_items_skip(items, (size_t)done->n_record,
                             resuming->ledger->is_whole ? done->end : done->begin, done->end,
                             (uint32_t)done->crc, err));
    attn_items_digest(items, found);
    attn_batch_lines_range(attn_items_lines(items), &begin, &end);
    snprintf(what, sizeof what, "differs between byte %" PRIu64 " and byte %" PRIu64, begin, end);
    if (strcmp(found, done->input) != 0)
        return report_input(resuming, what, err);
    if (n_before > 0)
        ATTN_TRY(attn_items_count_before(items, &n_before, err));
    return n_before == done->n_line_before
               ? ATTN_OK
               : report_input(resuming, "has another number of lines before the shard", err);
}

/* Checks that the input of complete results ends after their last item. */
static enum attn_status check_end(const struct resuming *resuming, struct attn_error *err)
{
    struct attn_item *next = NULL;

    ATTN_TRY(attn_items_next(resuming->items, &next, err));
    if (!next)
        return ATTN_OK;
    attn_item_free(next);
    return report_input(resuming,
                        resuming->ledger->skips_lines ? "has more lines" : "has more items", err);
}

static enum attn_status resume(const struct resuming *resuming, struct attn_each_result *result,
                               struct attn_error *err)
{
    struct attn_ledger *ledger = resuming->ledger;
    enum attn_status status = ATTN_OK;

    ATTN_TRY(attn_ledger_find(ledger, err));
    result->is_complete = ledger->is_whole;
    result->has_failed = ledger->has_failed;
    if (!ledger->is_whole && !ledger->skips_lines) /* rows are read from what is cut */
        ATTN_TRY(attn_error_at(attn_ledger_cut(ledger, err), ATTN_STAGE_OUTPUT, err));
    if (ledger->done.n_record > 0 || ledger->is_whole)
        status = ledger->skips_lines ? skip_over(resuming, err) : replay(resuming, err);
    ATTN_TRY(status);
    result->n_item = result->n_before = ledger->done.n_record;
    result->n_failed = ledger->n_failed;
    if (ledger->is_whole)
        ATTN_TRY(check_end(resuming, err));
    else if (ledger->skips_lines)
        ATTN_TRY(attn_error_at(attn_ledger_cut(ledger, err), ATTN_STAGE_OUTPUT, err));
    if (ledger->is_whole)
        attn_note(ledger->notes.on_note, ledger->notes.user, ATTN_NOTE_COMPLETE, "'%s' is complete",
                  attn_quote_string(ledger->name).text);
    return ATTN_OK;
}

enum attn_status attn_ledger_resume(struct attn_ledger *ledger, struct attn_items *items,
                                    attn_record_take_fn load, void *user,
                                    struct attn_each_result *result, struct attn_error *err)
{
    const struct resuming resuming = {.ledger = ledger, .items = items, .load = load, .user = user};

    return ledger->options->is_resumed ? resume(&resuming, result, err) : ATTN_OK;
}
