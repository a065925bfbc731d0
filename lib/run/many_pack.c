/* many_pack.c - see many_pack.h. */
#include "run/many_pack.h"

#include "base/memory.h"
#include "model/session.h"

struct attn_many_pack {
    const struct attn_many_task *task;
    struct attn_trace trace;
    struct attn_session *session;        /* owns; NULL before it is used */
    struct attn_many_item *const *items; /* [n] those that are fed */
    size_t n;
};

/* An attn_trace_fn. */
static enum attn_status on_event(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    const struct attn_many_pack *pack = user;

    return attn_many_item_event(pack->items[0], event, err);
}

enum attn_status attn_many_pack_create(const struct attn_many_task *task,
                                       struct attn_many_pack **pack, struct attn_error *err)
{
    struct attn_many_pack *made = attn_alloc(1, sizeof *made, err);

    if (made == NULL)
        return ATTN_NO_MEMORY;
    made->task = task;
    made->trace = (struct attn_trace){task->watched, on_event, made};
    *pack = made;
    return ATTN_OK;
}

void attn_many_pack_free(struct attn_many_pack *pack)
{
    if (pack == NULL)
        return;
    attn_session_free(pack->session);
    attn_free(pack);
}

static enum attn_status start(struct attn_many_pack *pack, struct attn_error *err)
{
    const struct attn_run *run = pack->task->longest;
    struct attn_session_options options = attn_run_session_options(run);
    enum attn_status status;

    if (pack->session != NULL)
        return ATTN_OK;
    options.cache = ATTN_CACHE_ONE_LAYER;
    options.has_logits = attn_question_is_asked(&run->request.predict);
    options.trace = pack->task->watched != NULL ? &pack->trace : NULL;
    options.edits = run->edits;
    options.n_edit = run->n_edit;
    status = attn_session_create(run->model, &options, &pack->session, err);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

static enum attn_status predict(const struct attn_many_pack *pack, struct attn_many_item *item,
                                struct attn_error *err)
{
    const struct attn_run *run = item->run;
    const struct attn_prediction_args args = {.question = &run->request.predict,
                                              .continuations = &run->continuations,
                                              .tokenizer = run->tokenizer,
                                              .n_vocab = attn_model_config(run->model)->n_vocab};

    if (!attn_question_is_asked(&run->request.predict))
        return ATTN_OK;
    return attn_predict(pack->session, &args, &item->result.predictions, err);
}

static enum attn_status feed(struct attn_many_pack *pack, struct attn_error *err)
{
    struct attn_many_item *item = pack->items[0];
    enum attn_status status;

    attn_session_reset(pack->session);
    status = attn_session_feed(pack->session, item->run->text.ids, item->run->text.n, err);
    attn_error_at(status, ATTN_STAGE_MODEL, err);
    if (status == ATTN_OK)
        status = predict(pack, item, err);
    return status;
}

enum attn_status attn_many_pack_run(struct attn_many_pack *pack,
                                    struct attn_many_item *const *items, size_t n,
                                    struct attn_error *err)
{
    enum attn_status status = start(pack, err);

    for (size_t i = 0; status == ATTN_OK && i < n; i++)
        status = attn_many_item_listen(pack->task, items[i], NULL, err);
    for (size_t i = 0; status == ATTN_OK && i < n; i++) {
        pack->items = items + i;
        pack->n = 1;
        status = feed(pack, err);
    }
    if (status == ATTN_OK)
        status = attn_host_check_canceled(pack->task->host, err);
    for (size_t i = 0; status == ATTN_OK && i < n; i++)
        status = attn_many_item_finish(pack->task, items[i], err);
    return status;
}
