/* many_pack.c - see many_pack.h. */
#include "run/many_pack.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "model/session_pack.h"

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

    return attn_many_item_event(pack->items[event->sequence], event, err);
}

enum attn_status attn_many_pack_create(const struct attn_many_task *task,
                                       struct attn_many_pack **pack, struct attn_error *err)
{
    struct attn_many_pack *made = attn_alloc(1, sizeof *made, err);

    if (!made)
        return ATTN_NO_MEMORY;
    made->task = task;
    made->trace = (struct attn_trace){task->watched, on_event, made};
    *pack = made;
    return ATTN_OK;
}

void attn_many_pack_free(struct attn_many_pack *pack)
{
    if (!pack)
        return;
    attn_session_free(pack->session);
    attn_free(pack);
}

static enum attn_status start(struct attn_many_pack *pack, struct attn_error *err)
{
    const struct attn_run *run = pack->task->longest;
    struct attn_session_options options = attn_run_session_options(run);
    enum attn_status status;

    if (pack->session)
        return ATTN_OK;
    options.n_max = pack->task->n_session_row;
    options.n_sequence = ATTN_MANY_PACK_ROWS;
    options.cache = ATTN_CACHE_ONE_LAYER;
    options.has_logits = attn_question_is_asked(&run->request.predict);
    options.trace = pack->task->watched ? &pack->trace : NULL;
    options.edits = run->edits;
    options.n_edit = run->n_edit;
    status = attn_session_create(run->model, &options, &pack->session, err);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

/* Answers the question after the last position of each item. */
static enum attn_status predict(const struct attn_many_pack *pack, struct attn_error *err)
{
    const struct attn_run *run = pack->items[0]->run;
    const struct attn_prediction_args args = {.question = &run->request.predict,
                                              .continuations = &run->continuations,
                                              .tokenizer = run->tokenizer,
                                              .n_vocab = attn_model_config(run->model)->n_vocab};
    enum attn_status status;
    float *logits;

    if (!attn_question_is_asked(&run->request.predict))
        return ATTN_OK;
    logits = attn_alloc_uninitialized(pack->n * args.n_vocab, sizeof *logits, err);
    if (!logits)
        return ATTN_NO_MEMORY;
    status = attn_session_logits_last(pack->session, logits, err);
    for (size_t i = 0; status == ATTN_OK && i < pack->n; i++)
        status =
            attn_predict_last(&args, pack->items[i]->run->text.n - 1, logits + i * args.n_vocab,
                              &pack->items[i]->result.predictions, err);
    attn_free(logits);
    return status;
}

static enum attn_status feed(struct attn_many_pack *pack, struct attn_error *err)
{
    struct attn_session_sequence sequences[ATTN_MANY_PACK_ROWS] = {{.n = 0}};
    enum attn_status status;

    for (size_t i = 0; i < pack->n; i++) {
        sequences[i].ids = pack->items[i]->run->text.ids;
        sequences[i].n = pack->items[i]->run->text.n;
    }
    attn_session_reset(pack->session);
    status = attn_session_feed_many(pack->session, sequences, pack->n, err);
    if (status == ATTN_OK) /* after the last time that the session looked */
        status = attn_host_check_canceled(pack->task->host, err);
    if (status == ATTN_OK)
        status = predict(pack, err);
    return attn_error_at(status, ATTN_STAGE_MODEL, err);
}

enum attn_status attn_many_pack_run(struct attn_many_pack *pack,
                                    struct attn_many_item *const *items, size_t n,
                                    struct attn_error *err)
{
    enum attn_status status = start(pack, err);

    for (size_t i = 0; status == ATTN_OK && i < n; i++)
        status = attn_many_item_listen(pack->task, items[i], NULL, err);
    pack->items = items;
    pack->n = n;
    if (status == ATTN_OK)
        status = feed(pack, err);
    for (size_t i = 0; status == ATTN_OK && i < n; i++)
        status = attn_many_item_finish(pack->task, items[i], err);
    return status;
}
