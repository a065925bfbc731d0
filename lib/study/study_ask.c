/* study_ask.c - runs the items of a study through a window (run/window.h): each item on its own
 * thread, or their texts packed together (run/many.h). Answers are folded in the order of the
 * items. */
#include "study/study_internal.h"

#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "host/host_internal.h"
#include "run/item_internal.h"
#include "run/window.h"

/* Maximum items per thread that were read but not folded yet. It bounds memory while one slow item
 * delays the others. */
enum { WINDOW = 16 };

/* --- Each alone ------------------------------------------------------------------------------- */

/* An item in the window. */
struct slot {
    struct attn_item *item; /* owns */
    struct attn_study_answer answer;
    struct attn_error failure;
    bool has_failed;
    bool ends_all; /* the failure concerns more than this item, and ends the study */
};

struct asking {
    struct attn_study *study;
    attn_study_ask_fn ask;
    void *user;
};

/* Reads the next item into SLOT. */
static enum attn_status read_item(void *user, void *slot, size_t *n_byte, bool *is_over,
                                  struct attn_error *err)
{
    const struct asking *asking = user;
    struct slot *empty = slot;

    ATTN_TRY(attn_study_next(asking->study, &empty->item, err));
    *is_over = !empty->item;
    if (!*is_over)
        *n_byte = attn_item_n_byte(empty->item);
    return ATTN_OK;
}

/* Computes the answer about item NUMBER. A failure is stored until all items before it are
 * folded. */
static enum attn_status answer_item(void *user, struct attn_window *window, int worker,
                                    size_t number, size_t n, struct attn_error *err)
{
    const struct asking *asking = user;
    struct slot *slot = attn_window_slot(window, number);
    const struct attn_item *item = slot->item;

    (void)worker;
    (void)err;
    if (item->failure != ATTN_RECORD_FAILURE_NONE) {
        slot->failure = item->err;
        slot->has_failed = true;
    } else {
        const enum attn_status status =
            asking->ask(asking->user, item, &slot->answer, &slot->failure);

        slot->failure.status = status;
        slot->has_failed = status != ATTN_OK;
        slot->ends_all = slot->has_failed && (slot->answer.is_general ||
                                              !attn_study_is_of_item(status, &slot->failure));
    }
    attn_window_finish(window, number, n);
    return ATTN_OK;
}

/* Folds the answer about the item in SLOT. */
static enum attn_status take_item(void *user, void *slot, bool is_followed, struct attn_error *err)
{
    const struct asking *asking = user;
    const struct slot *answered = slot;

    (void)is_followed;
    if (answered->ends_all)
        return attn_error_copy(err, &answered->failure);
    return attn_study_take(asking->study, answered->item, &answered->answer,
                           answered->has_failed ? &answered->failure : NULL, err);
}

static void release_item(void *user, void *slot)
{
    struct slot *taken = slot;

    (void)user;
    attn_item_free(taken->item);
    attn_table_free(taken->answer.table);
    attn_free(taken->answer.more);
    *taken = (struct slot){.item = NULL};
}

enum attn_status attn_study_ask(struct attn_study *study, struct attn_host *host,
                                attn_study_ask_fn ask, void *user, struct attn_error *err)
{
    const int n_thread = attn_host_n_thread(host);
    struct asking asking = {.study = study, .ask = ask, .user = user};
    struct attn_window_form form = {
        .slot_size = sizeof(struct slot),
        .n_slot = WINDOW * (size_t)n_thread,
        .read = read_item,
        .compute = answer_item,
        .take = take_item,
        .release = release_item,
        .user = &asking,
    };
    enum attn_status status;
    bool has_enough, is_parallel, is_locked;

    ATTN_TRY(attn_study_has_items(study, (size_t)n_thread, &has_enough, err));
    is_parallel = n_thread > 1 && has_enough;
    form.n_worker = is_parallel ? n_thread : 0;
    is_locked = is_parallel && attn_pool_lock(host->pool);
    status = attn_window_run(&form, host, err);
    if (is_locked)
        attn_pool_unlock(host->pool);
    return status;
}

/* --- Packed ----------------------------------------------------------------------------------- */

struct packing {
    const struct attn_study_pack *pack;
    struct attn_study_answer answer;
    struct attn_error failure; /* failure of the first text */
    bool has_failed;
};

/* Reads the next item, and completes it by what the experiment asks (attn_next_fn). */
static enum attn_status next(void *user, struct attn_item **item, struct attn_error *err)
{
    const struct attn_study_pack *pack = ((const struct packing *)user)->pack;
    struct attn_item *made;

    ATTN_TRY(attn_study_next(pack->study, item, err));
    made = *item;
    if (!made)
        return ATTN_OK;
    if (!attn_input_is_given(&made->source))
        made->source = pack->request->source;
    if (!made->answer.at)
        made->answer.at = pack->at;
    if (pack->fill)
        return pack->fill(pack->user, made, err);
    made->queries = NULL;
    made->next = NULL;
    made->n_next = 0;
    return ATTN_OK;
}

/* Frees an item (`release` of struct attn_many_calls). */
static void release(void *user, struct attn_item *item)
{
    (void)user;
    attn_item_free(item);
}

/* Adds RESULT to the answer about its item, or records why the item fails. */
static enum attn_status find(struct packing *packing, const struct attn_item_result *result,
                             struct attn_error *err)
{
    const struct attn_study_pack *pack = packing->pack;
    enum attn_status status = ATTN_OK;
    struct attn_error why = {0};

    if (packing->has_failed)
        return ATTN_OK;
    if (result->failure != ATTN_RECORD_FAILURE_NONE)
        why = result->err;
    else
        status = attn_error_at(pack->find(pack->user, result, &packing->answer, &why),
                               ATTN_STAGE_INPUT, &why);
    if (status != ATTN_OK && !attn_study_is_of_item(status, &why))
        return attn_error_copy(err, &why);
    packing->has_failed = status != ATTN_OK || result->failure != ATTN_RECORD_FAILURE_NONE;
    packing->failure = why;
    return ATTN_OK;
}

/* Processes the result of a text (attn_done_fn). */
static enum attn_status done(void *user, const struct attn_item_result *result,
                             struct attn_error *err)
{
    struct packing *packing = user;
    enum attn_status status = find(packing, result, err);

    if (status != ATTN_OK || !result->is_last)
        return status;
    status = attn_study_take(packing->pack->study, result->item, &packing->answer,
                             packing->has_failed ? &packing->failure : NULL, err);
    if (packing->answer.table)
        attn_table_reset(packing->answer.table);
    packing->answer =
        (struct attn_study_answer){.table = packing->answer.table, .more = packing->answer.more};
    packing->has_failed = false;
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

    attn_study_fill_request(pack->study, NULL, &request);
    options->request = &request;
    status = attn_run_many(pack->host, options, &calls, err);
    attn_table_free(packing.answer.table);
    attn_free(packing.answer.more);
    return status;
}
