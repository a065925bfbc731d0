/*
 * study_pack.c - see study_pack.h. A record is one text. The last one of an item owns it, because
 * records are handed out in their order: it is the last one that is asked for.
 */
#include "experiment/study_pack.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/table_internal.h"

/* What a record is of. */
struct text {
    struct attn_item *item; /* owned by the last text */
    bool is_second, is_last;
};

struct packing {
    const struct attn_study_pack *pack;
    struct attn_item *item; /* owns; its second text comes next; or NULL */
    struct attn_study_answer answer;
    struct attn_error failure; /* of the first text */
    bool has_failed;
};

static void fill_record(const struct packing *packing, const struct text *text,
                        struct attn_record *record)
{
    const struct attn_item *item = text->item;

    record->input = text->is_second ? item->other : item->record.input;
    record->source = item->record.source;
    record->at = item->at ? item->at : packing->pack->at;
    record->failure = item->record.failure;
    record->err = item->record.err;
}

/* An attn_next_fn. */
static enum attn_status next(void *user, struct attn_record *record, bool *is_over,
                             struct attn_error *err)
{
    struct packing *packing = user;
    struct text *text = attn_alloc(1, sizeof *text, err);

    if (!text)
        return ATTN_NO_MEMORY;
    record->mine = text;
    text->is_second = packing->item;
    text->item = packing->item;
    packing->item = NULL;
    if (!text->item)
        ATTN_TRY(attn_study_next(packing->pack->study, &text->item, err));
    *is_over = !text->item;
    if (*is_over)
        return ATTN_OK;
    text->is_last = text->is_second || text->item->pair == ATTN_ITEM_SINGLE ||
                    text->item->record.failure != ATTN_RECORD_FAILURE_NONE;
    if (!text->is_last)
        packing->item = text->item;
    fill_record(packing, text, record);
    return ATTN_OK;
}

/* An attn_done_fn's `release`. */
static void release(void *user, struct attn_record *record)
{
    struct text *text = record->mine;

    (void)user;
    if (text && text->is_last)
        attn_item_free(text->item);
    attn_free(text);
}

/* Finds what RESULT adds to the answer about its item, or why the item fails. */
static enum attn_status find(struct packing *packing, const struct attn_many_result *result,
                             struct attn_error *err)
{
    const struct attn_study_pack *pack = packing->pack;
    const struct attn_record *record = result->record;
    const struct text *text = record->mine;
    enum attn_status status = ATTN_OK;
    struct attn_error why = {0};

    if (packing->has_failed)
        return ATTN_OK;
    if (record->failure != ATTN_RECORD_FAILURE_NONE)
        why = record->err;
    else
        status = attn_error_at(
            pack->find(pack->user, text->item, text->is_second, result, &packing->answer, &why),
            ATTN_STAGE_INPUT, &why);
    if (status != ATTN_OK && !attn_study_is_of_item(status, &why))
        return attn_error_copy(err, &why);
    packing->has_failed = status != ATTN_OK || record->failure != ATTN_RECORD_FAILURE_NONE;
    packing->failure = why;
    return ATTN_OK;
}

/* An attn_done_fn. */
static enum attn_status done(void *user, const struct attn_many_result *result,
                             struct attn_error *err)
{
    struct packing *packing = user;
    const struct text *text = result->record->mine;
    enum attn_status status = find(packing, result, err);

    if (status != ATTN_OK || !text->is_last)
        return status;
    status = attn_study_take(packing->pack->study, text->item, &packing->answer,
                             packing->has_failed ? &packing->failure : NULL, err);
    if (packing->answer.table)
        attn_table_reset(packing->answer.table);
    packing->answer =
        (struct attn_study_answer){.table = packing->answer.table, .more = packing->answer.more};
    packing->has_failed = false;
    attn_study_report(packing->pack->study);
    return status;
}

enum attn_status attn_study_pack_run(const struct attn_study_pack *pack,
                                     struct attn_many_options *options, struct attn_error *err)
{
    struct attn_request request = *pack->request;
    struct packing packing = {.pack = pack};
    const struct attn_many_calls calls = {
        .next = next, .done = done, .release = release, .user = &packing};
    enum attn_status status;

    request.on_note = attn_study_note_once;
    request.on_progress = NULL; /* it counts items */
    request.user = pack->study;
    request.reading.example = NULL;
    options->request = &request;
    status = attn_run_many(pack->host, options, &calls, err);
    attn_item_free(packing.item);
    attn_table_free(packing.answer.table);
    attn_free(packing.answer.more);
    return status;
}
