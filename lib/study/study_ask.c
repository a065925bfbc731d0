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

/* An item in the window. */
struct slot {
    struct attn_item *item;         /* owns */
    struct attn_item_result result; /* owns its rows and numbers */
    struct attn_spaces spaces;
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
 * folded. If it concerns more than this item, it then ends the study. */
static enum attn_status answer_item(void *user, struct attn_window *window, int worker,
                                    size_t number, size_t n, struct attn_error *err)
{
    const struct asking *asking = user;
    struct slot *slot = attn_window_slot(window, number);
    struct attn_item_result *result = &slot->result;
    struct attn_error why = {0};

    (void)worker;
    (void)err;
    result->item = slot->item;
    result->spaces = &slot->spaces;
    result->failure = slot->item->failure;
    if (result->failure != ATTN_RECORD_FAILURE_NONE) {
        result->err = slot->item->err;
    } else {
        why.status = asking->ask(asking->user, result, &why);
        result->err = why;
        result->failure =
            why.status == ATTN_OK ? ATTN_RECORD_FAILURE_NONE : ATTN_RECORD_FAILURE_NO_FIT;
        result->is_general = why.status != ATTN_OK &&
                             (result->is_general || !attn_study_is_of_item(why.status, &why));
    }
    attn_window_finish(window, number, n);
    return ATTN_OK;
}

/* Folds the answer about the item in SLOT. */
static enum attn_status take_item(void *user, void *slot, bool is_followed, struct attn_error *err)
{
    const struct asking *asking = user;
    struct attn_item_result *result = &((struct slot *)slot)->result;

    (void)is_followed;
    return result->is_general ? attn_error_copy(err, &result->err)
                              : attn_study_take(asking->study, result, err);
}

static void release_item(void *user, void *slot)
{
    struct slot *taken = slot;

    (void)user;
    attn_item_free(taken->item);
    attn_table_free(taken->result.rows);
    attn_free(taken->result.beside);
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

struct packing {
    const struct attn_study_pack *pack;
    struct attn_table *rows;   /* owns; those of the current item; or NULL */
    double *beside;            /* owns; the numbers beside them; or NULL */
    struct attn_error failure; /* failure of the first text; or {0} */
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

/* Adds the answer to the result of a text, unless an earlier text of the item failed. */
static enum attn_status find(struct packing *packing, struct attn_item_result *result,
                             struct attn_error *err)
{
    const struct attn_study_pack *pack = packing->pack;
    struct attn_error why = packing->failure;

    if (why.status == ATTN_OK && result->failure != ATTN_RECORD_FAILURE_NONE)
        return ATTN_OK;
    if (why.status == ATTN_OK) {
        result->rows = packing->rows;
        result->beside = packing->beside;
        why.status = attn_error_at(pack->find(pack->user, result, &why), ATTN_STAGE_INPUT, &why);
        packing->rows = result->rows;
        packing->beside = result->beside;
        if (why.status == ATTN_OK)
            return ATTN_OK;
        if (!attn_study_is_of_item(why.status, &why))
            return attn_error_copy(err, &why);
    }
    result->failure = ATTN_RECORD_FAILURE_NO_FIT;
    result->err = why;
    return ATTN_OK;
}

/* Processes the result of a text (attn_done_fn). */
static enum attn_status done(void *user, const struct attn_item_result *given,
                             struct attn_error *err)
{
    struct packing *packing = user;
    struct attn_item_result result = *given;
    struct attn_spaces spaces = {0};

    result.spaces = &spaces;
    ATTN_TRY(find(packing, &result, err));
    packing->failure = (struct attn_error){.status = ATTN_OK};
    if (!result.is_last) {
        if (result.failure != ATTN_RECORD_FAILURE_NONE)
            packing->failure = result.err;
        return ATTN_OK;
    }
    ATTN_TRY(attn_study_take(packing->pack->study, &result, err));
    if (packing->rows)
        attn_table_reset(packing->rows);
    return ATTN_OK;
}

enum attn_status attn_study_pack_run(const struct attn_study_pack *pack,
                                     struct attn_many_options *options, struct attn_error *err)
{
    struct attn_request request = *pack->request;
    struct packing packing = {.pack = pack};
    const struct attn_many_calls calls = {
        .next = next, .done = done, .release = attn_item_free, .user = &packing};
    enum attn_status status;

    attn_study_fill_request(pack->study, NULL, &request);
    options->request = &request;
    status = attn_run_many(pack->host, options, &calls, err);
    attn_table_free(packing.rows);
    attn_free(packing.beside);
    return status;
}
