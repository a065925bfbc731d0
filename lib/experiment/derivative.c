/* derivative.c - see derivative.h. */
#include "experiment/derivative.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "capture/capture.h"
#include "run/host_internal.h"
#include "trace/selection_internal.h"

struct attn_derivative {
    const struct attn_answer *answer;
    struct attn_selection *stream; /* owns all of these */
    struct attn_capture *resid;
    struct attn_session *session;
    struct attn_backward *backward;
    struct attn_reply reply;
    float *logits;        /* [V] */
    const float **layers; /* [n_layer + 1] in resid */
};

/* The stream into every layer and after the last. */
static enum attn_status choose_stream(struct attn_derivative *made, struct attn_error *err)
{
    const struct attn_run *run = made->answer->run;
    const struct attn_dims dims = attn_config_dims(attn_model_config(run->model), run->text.n);

    ATTN_TRY(attn_selection_create(&dims, &made->stream, err));
    ATTN_TRY(attn_selection_set_sites(
        made->stream, ATTN_SITE_BIT(ATTN_SITE_RESID_PRE) | ATTN_SITE_BIT(ATTN_SITE_RESID_POST),
        err));
    return attn_capture_create(made->stream, &made->resid, err);
}

static enum attn_status build(struct attn_derivative *made, enum attn_backward_rule rule,
                              const struct attn_trace *trace, struct attn_error *err)
{
    const struct attn_run *run = made->answer->run;
    const struct attn_config *config = attn_model_config(run->model);
    struct attn_session_options session = attn_run_session_options(run);
    const struct attn_backward_options options = {.n = run->text.n,
                                                  .rule = rule,
                                                  .n_goal = attn_answer_goal(made->answer).n,
                                                  .trace = trace,
                                                  .attention = run->attention.layers,
                                                  .pool = attn_host_pool(run->host, 1e9),
                                                  .cancel = session.cancel,
                                                  .gemm = session.gemm,
                                                  .isa = session.isa};

    ATTN_TRY(attn_error_at(attn_backward_check(run->model, run->attention.layers, err),
                           ATTN_STAGE_OPTIONS, err));
    made->logits = attn_alloc(config->n_vocab, sizeof *made->logits, err);
    made->layers = attn_alloc(config->n_layer + 1, sizeof *made->layers, err);
    if (!made->logits || !made->layers)
        return ATTN_NO_MEMORY;
    ATTN_TRY(choose_stream(made, err));
    session.cache = ATTN_CACHE_ONE_LAYER;
    session.has_logits = true;
    session.pool = options.pool;
    session.trace = attn_capture_trace(made->resid);
    ATTN_TRY(attn_session_create(run->model, &session, &made->session, err));
    for (int layer = 0; layer < (int)config->n_layer; layer++)
        made->layers[layer] = attn_capture_tensor(made->resid, ATTN_SITE_RESID_PRE, layer);
    made->layers[config->n_layer] =
        attn_capture_tensor(made->resid, ATTN_SITE_RESID_POST, (int)config->n_layer - 1);
    return attn_backward_create(run->model, &options, &made->backward, err);
}

enum attn_status attn_derivative_create(const struct attn_answer *answer,
                                        enum attn_backward_rule rule,
                                        const struct attn_trace *trace,
                                        struct attn_derivative **derivative, struct attn_error *err)
{
    struct attn_derivative *made = attn_alloc(1, sizeof *made, err);
    enum attn_status status;

    if (!made)
        return attn_error_at(ATTN_NO_MEMORY, ATTN_STAGE_MODEL, err);
    made->answer = answer;
    status = build(made, rule, trace, err);
    if (status == ATTN_OK)
        *derivative = made;
    else
        attn_derivative_free(made);
    return attn_error_at(status, ATTN_STAGE_MODEL, err);
}

enum attn_status attn_derivative_feed(struct attn_derivative *derivative, const float *x,
                                      double *value, struct attn_error *err)
{
    const struct attn_reading reading = {.logits = derivative->logits,
                                         .replies = &derivative->reply};

    attn_session_reset(derivative->session);
    ATTN_TRY(attn_error_at(
        attn_session_feed_embeddings(derivative->session, x, derivative->answer->run->text.n, err),
        ATTN_STAGE_MODEL, err));
    ATTN_TRY(attn_answer_read(derivative->answer, derivative->session, &reading, err));
    *value = derivative->reply.value;
    return ATTN_OK;
}

const struct attn_reply *attn_derivative_reply(const struct attn_derivative *derivative)
{
    return &derivative->reply;
}

enum attn_status attn_derivative_go_back(struct attn_derivative *derivative, struct attn_error *err)
{
    const struct attn_backward_goal goal = attn_answer_goal(derivative->answer);

    return attn_error_at(attn_backward_run(derivative->backward, derivative->layers, &goal, err),
                         ATTN_STAGE_MODEL, err);
}

const float *attn_derivative_resid(const struct attn_derivative *derivative, int layer)
{
    return derivative->layers[layer];
}

void attn_derivative_free(struct attn_derivative *derivative)
{
    if (!derivative)
        return;
    attn_backward_free(derivative->backward);
    attn_session_free(derivative->session);
    attn_capture_free(derivative->resid);
    attn_selection_free(derivative->stream);
    attn_free(derivative->logits);
    attn_free(derivative->layers);
    attn_free(derivative);
}
