/* many.c - see many.h. */
#include "run/many.h"

#include "run/many_item.h"

static enum attn_status compute(const struct attn_many_task *task, struct attn_many_item *item,
                                struct attn_error *err)
{
    struct attn_trace trace = {NULL, attn_many_item_event, item};
    enum attn_status status = attn_many_item_prepare(task, item, err);

    if (status != ATTN_OK || item->record.failure != ATTN_RECORD_FAILURE_NONE)
        return status;
    status = attn_many_item_listen(task, item, task->host->pool, err);
    trace.selection = item->watched;
    if (status == ATTN_OK)
        status =
            attn_run_perform(item->run, item->watched != NULL ? &trace : NULL, &item->result, err);
    return status == ATTN_OK ? attn_many_item_finish(task, item, err) : status;
}

static enum attn_status run_all(const struct attn_many_task *task,
                                const struct attn_many_calls *calls, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    for (size_t number = 0; status == ATTN_OK; number++) {
        struct attn_many_item item = {.record.number = number};
        bool is_over = false;

        status = calls->next(calls->user, &item.record, &is_over, err);
        if (status != ATTN_OK || is_over)
            break;
        status = compute(task, &item, err);
        if (status == ATTN_OK) {
            const struct attn_many_result result = attn_many_item_result(task, &item);

            status = calls->done(calls->user, &result, err);
        }
        if (calls->release != NULL)
            calls->release(calls->user, &item.record);
        attn_many_item_release(&item);
    }
    return status;
}

enum attn_status attn_run_many(struct attn_host *host, const struct attn_many_options *options,
                               const struct attn_many_calls *calls, struct attn_error *err)
{
    struct attn_many_task task;
    enum attn_status status = attn_many_task_init(&task, host, options, err);

    return status == ATTN_OK ? run_all(&task, calls, err) : status;
}

const float *attn_many_measure(const struct attn_many_result *result, enum attn_measure measure)
{
    const uint64_t before = result->which & (ATTN_MEASURE_BIT(measure) - 1);

    if (result->measures == NULL || (result->which & ATTN_MEASURE_BIT(measure)) == 0)
        return NULL;
    return result->measures +
           (size_t)attn_measures_count(before) * result->n_layer * result->n_head;
}
