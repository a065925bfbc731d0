/* derivative.c - see derivative.h. */
#include "experiment/derivative.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "capture/capture.h"
#include "run/host_internal.h"
#include "trace/selection_internal.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

struct attn_derivative {
    const struct attn_answer *answer;
    struct attn_selection *stream; /* owns all of these */
    struct attn_capture *resid;
    struct attn_kept_layers *kept; /* or NULL */
    struct attn_selection *seen;   /* of a feed: what any of the following wants */
    const struct attn_trace *listeners[3];
    size_t n_listener;
    struct attn_trace trace; /* that hands events to them */
    struct attn_session *session;
    struct attn_backward *backward;
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

/* An attn_trace_fn. */
static enum attn_status on_event(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    const struct attn_derivative *made = user;

    for (size_t i = 0; i < made->n_listener; i++) {
        const struct attn_trace *trace = made->listeners[i];

        if (attn_selection_wants(trace->selection, event->site, event->layer))
            ATTN_TRY(trace->on_event(trace->user, event, err));
    }
    return ATTN_OK;
}

/* What a feed is watched for: the stream, what the way back reads if that is kept, and what the
 * caller wants. */
static enum attn_status listen(struct attn_derivative *made,
                               const struct attn_derivative_options *options,
                               struct attn_error *err)
{
    const struct attn_run *run = made->answer->run;
    const struct attn_config *config = attn_model_config(run->model);
    attn_site_set sites = 0;

    ATTN_TRY(choose_stream(made, err));
    made->listeners[made->n_listener++] = attn_capture_trace(made->resid);
    if (options->kept_bytes > 0 &&
        attn_kept_layers_size(config, run->text.n) <= options->kept_bytes) {
        ATTN_TRY(attn_kept_layers_create(config, run->text.n, &made->kept, err));
        made->listeners[made->n_listener++] = attn_kept_layers_trace(made->kept);
    }
    if (options->watched)
        made->listeners[made->n_listener++] = options->watched;
    for (size_t i = 0; i < made->n_listener; i++)
        sites |= attn_selection_sites(made->listeners[i]->selection);
    ATTN_TRY(attn_selection_copy(made->stream, &made->seen, err));
    made->trace = (struct attn_trace){made->seen, on_event, made};
    return attn_selection_set_sites(made->seen, sites, err);
}

static enum attn_status build(struct attn_derivative *made,
                              const struct attn_derivative_options *asked, struct attn_error *err)
{
    const struct attn_run *run = made->answer->run;
    const struct attn_config *config = attn_model_config(run->model);
    struct attn_session_options session = attn_run_session_options(run);
    struct attn_backward_options options = {.n = run->text.n,
                                            .rule = asked->rule,
                                            .n_goal = attn_answer_goal(made->answer).n,
                                            .trace = asked->trace,
                                            .attention = run->attention.layers,
                                            .pool = attn_host_pool(run->host, 1e9),
                                            .cancel = session.cancel,
                                            .swaps = asked->swaps,
                                            .gemm = session.gemm,
                                            .isa = session.isa};

    ATTN_TRY(attn_error_at(attn_backward_check(run->model, run->attention.layers, err),
                           ATTN_STAGE_OPTIONS, err));
    made->logits = attn_alloc(config->n_vocab, sizeof *made->logits, err);
    made->layers = attn_alloc(config->n_layer + 1, sizeof *made->layers, err);
    if (!made->logits || !made->layers)
        return ATTN_NO_MEMORY;
    ATTN_TRY(listen(made, asked, err));
    options.kept = made->kept;
    session.cache = ATTN_CACHE_ONE_LAYER;
    session.has_logits = true;
    session.pool = options.pool;
    session.trace = &made->trace;
    ATTN_TRY(attn_session_create(run->model, &session, &made->session, err));
    for (int layer = 0; layer < (int)config->n_layer; layer++)
        made->layers[layer] = attn_capture_tensor(made->resid, ATTN_SITE_RESID_PRE, layer);
    made->layers[config->n_layer] =
        attn_capture_tensor(made->resid, ATTN_SITE_RESID_POST, (int)config->n_layer - 1);
    return attn_backward_create(run->model, &options, &made->backward, err);
}

enum attn_status attn_derivative_create(const struct attn_answer *answer,
                                        const struct attn_derivative_options *options,
                                        struct attn_derivative **derivative, struct attn_error *err)
{
    struct attn_derivative *made = attn_alloc(1, sizeof *made, err);
    enum attn_status status;

    if (!made)
        return attn_error_at(ATTN_NO_MEMORY, ATTN_STAGE_MODEL, err);
    made->answer = answer;
    status = build(made, options, err);
    if (status == ATTN_OK)
        *derivative = made;
    else
        attn_derivative_free(made);
    return attn_error_at(status, ATTN_STAGE_MODEL, err);
}

enum attn_status attn_derivative_feed(struct attn_derivative *derivative, const float *x,
                                      double *value, struct attn_error *err)
{
    struct attn_reply reply = {.value = 0};
    const struct attn_reading reading = {.logits = derivative->logits, .replies = &reply};

    attn_session_reset(derivative->session);
    ATTN_TRY(attn_error_at(
        attn_session_feed_embeddings(derivative->session, x, derivative->answer->run->text.n, err),
        ATTN_STAGE_MODEL, err));
    ATTN_TRY(attn_answer_read(derivative->answer, derivative->session, &reading, err));
    *value = reply.value;
    return ATTN_OK;
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

/* A root of a polynomial, by Newton's method. */
double attn_derivative_point(size_t i, size_t n, double *weight)
{
    double x = cos(pi * ((double)i + 0.75) / ((double)n + 0.5)), slope = 1;

    for (int step = 0; step < 100; step++) {
        double p = 1, before = 0, change;

        for (size_t k = 0; k < n; k++) { /* p_k+1 from p_k and p_k-1 */
            const double next =
                ((2 * (double)k + 1) * x * p - (double)k * before) / ((double)k + 1);

            before = p;
            p = next;
        }
        slope = (double)n * (x * p - before) / (x * x - 1);
        change = p / slope;
        x -= change;
        if (fabs(change) < 1e-15)
            break;
    }
    *weight = 1 / ((1 - x * x) * slope * slope);
    return (1 - x) / 2;
}

void attn_derivative_free(struct attn_derivative *derivative)
{
    if (!derivative)
        return;
    attn_backward_free(derivative->backward);
    attn_session_free(derivative->session);
    attn_capture_free(derivative->resid);
    attn_kept_layers_free(derivative->kept);
    attn_selection_free(derivative->seen);
    attn_selection_free(derivative->stream);
    attn_free(derivative->logits);
    attn_free(derivative->layers);
    attn_free(derivative);
}
