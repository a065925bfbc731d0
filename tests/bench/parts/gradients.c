/* gradients.c - the forward and backward pass of a prompt: the gradients of all tensors. */
#include "tests/bench/parts/parts.h"

#include "base/memory.h"
#include "forward/session.h"
#include "gradient/backward.h"
#include "catalog/cost.h"
#include "model/model_internal.h"
#include "trace/trace_internal.h"

#include <stdio.h>

/* A session that is fed again and again, and the backward pass of each feed. */
struct passes {
    struct attn_bench *bench;
    size_t n;
    int32_t *ids; /* [n] owns all of these */
    struct attn_embedding_rows rows;
    float *embeddings; /* [n, De] */
    float *stream;     /* [n_layer + 1, n, D] */
    struct attn_selection *watched, *wanted;
    struct attn_session *session;
    struct attn_backward *backward;
    struct attn_trace feed_trace, trace;
};

/* An attn_trace_fn, of the feed. */
static enum attn_status keep_stream(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err)
{
    const struct passes *passes = user;

    (void)err;
    attn_trace_keep_stream(event, passes->bench->options->pool,
                           attn_selection_dims(passes->watched), passes->stream);
    return ATTN_OK;
}

/* The difference of two logits. */
static void differentiate(const void *context, size_t row, const float *logits, float *d)
{
    (void)context, (void)row, (void)logits;
    d[0] += 1;
    d[1] -= 1;
}

static enum attn_status run_passes(void *context, struct attn_error *err)
{
    struct passes *passes = context;
    const struct attn_backward_goal goal = {
        .first = passes->n - 1, .n = 1, .differentiate = differentiate};

    attn_session_reset(passes->session);
    ATTN_TRY(attn_session_feed(passes->session, passes->ids, passes->n, err));
    return attn_backward_run(passes->backward, passes->stream, &goal, err);
}

static void close_passes(struct passes *passes)
{
    attn_backward_free(passes->backward);
    attn_session_free(passes->session);
    attn_selection_free(passes->watched);
    attn_selection_free(passes->wanted);
    attn_free(passes->ids);
    attn_free(passes->stream);
    attn_free(passes->embeddings);
}

static enum attn_status open_session(struct passes *passes, struct attn_dims *dims,
                                     struct attn_error *err)
{
    const struct attn_bench *bench = passes->bench;
    struct attn_session_options options =
        attn_bench_session_options(bench, passes->n, &passes->feed_trace);

    ATTN_TRY(attn_selection_create(dims, &passes->watched, err));
    ATTN_TRY(attn_selection_set_sites(passes->watched,
                                      ATTN_SITES(ATTN_SITE_RESID_PRE, ATTN_SITE_RESID_POST), err));
    passes->feed_trace =
        (struct attn_trace){.selection = passes->watched, .on_event = keep_stream, .user = passes};
    options.cache = ATTN_CACHE_ONE_LAYER;
    options.pool = bench->options->pool;
    return attn_session_create(bench->options->model, &options, &passes->session, err);
}

static enum attn_status open_backward(struct passes *passes, struct attn_dims *dims,
                                      struct attn_error *err)
{
    const struct attn_bench *bench = passes->bench;
    const struct attn_backward_options options = {.n = passes->n,
                                                  .n_goal = 1,
                                                  .trace = &passes->trace,
                                                  .attention = bench->config->attention,
                                                  .pool = bench->options->pool,
                                                  .text = &passes->rows,
                                                  .embeddings = passes->embeddings,
                                                  .gemm = bench->options->gemm,
                                                  .isa = bench->options->isa};
    const struct attn_site_set gradients = attn_sites_gradients_of(dims->sites);

    attn_sites_extend(&dims->sites, gradients);
    ATTN_TRY(attn_selection_create(dims, &passes->wanted, err));
    ATTN_TRY(attn_selection_set_sites(passes->wanted, gradients, err));
    passes->trace = (struct attn_trace){.selection = passes->wanted, .on_event = attn_bench_ignore};
    return attn_backward_create(bench->options->model, &options, &passes->backward, err);
}

static enum attn_status open_passes(struct passes *passes, struct attn_error *err)
{
    const struct attn_config *config = passes->bench->config;
    struct attn_dims dims = attn_config_dims(config, passes->n);

    passes->ids = attn_alloc(passes->n, sizeof *passes->ids, err);
    passes->stream =
        attn_alloc(config->n_layer + 1, passes->n * config->d_model * sizeof *passes->stream, err);
    passes->embeddings = attn_alloc(passes->n, config->d_embed * sizeof *passes->embeddings, err);
    if (!passes->ids || !passes->stream || !passes->embeddings)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < passes->n; i++)
        passes->ids[i] = attn_bench_id(passes->bench, i);
    passes->rows = (struct attn_embedding_rows){.n = passes->n, .ids = passes->ids};
    ATTN_TRY(attn_model_embed(passes->bench->options->model, passes->ids, passes->n,
                              passes->embeddings, err));
    ATTN_TRY(open_session(passes, &dims, err));
    return open_backward(passes, &dims, err);
}

/* The forward pass, each layer again up to what its gradients read, and the backward pass: instead
 * of two products of patterns there are five. */
static double count(const struct attn_config *config, const struct attn_cost *cost)
{
    const double again = config->has_gated_mlp ? 2.0 / 3 : 1.0 / 2;

    return 2 * (3 * (double)cost->projections + (2 + again) * (double)cost->mlp +
                4.5 * (double)cost->matrices + 2 * (double)config->d_model);
}

enum attn_status bench_gradients(struct attn_bench *bench, struct attn_error *err)
{
    const struct attn_model *model = bench->options->model;
    struct attn_error none = {0};

    if (bench->config->n_vocab < 2 || bench->config->image.patch_height > 0 ||
        attn_backward_check(model, bench->config->attention, ATTN_BACKWARD_PLAIN, &none) != ATTN_OK)
        return ATTN_OK;
    for (size_t i = 0; bench->lengths[i] > 0; i++) {
        struct passes passes = {.bench = bench, .n = bench->lengths[i]};
        struct attn_bench_part part = {.run = run_passes, .context = &passes};
        struct attn_cost cost;
        enum attn_status status = attn_cost_find(model, passes.n, 0, &cost, err);

        snprintf(part.name, sizeof part.name, "%zu tokens, all tensors", passes.n);
        if (status == ATTN_OK)
            status = open_passes(&passes, err);
        if (status == ATTN_OK) {
            part.n_flop = count(bench->config, &cost);
            part.n_byte = (double)cost.weights;
            status = attn_bench_measure(bench, &part, err);
        }
        close_passes(&passes);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}
