/* bench_sessions.c - whole models: prompts of several lengths with every attention matrix
 * delivered, one token at a time, and opening one. */
#include "bench/bench_internal.h"

#include "base/dtype_internal.h"
#include "base/memory.h"
#include "model/cost.h"
#include "model/model_internal.h"
#include "model/session.h"

#include <stdio.h>

struct run {
    struct attn_bench *bench;
    struct attn_session *session;
    struct attn_selection *selection;
    struct attn_trace trace;
    int32_t *ids; /* [n_max] */
    size_t n;     /* fed in a round */
    size_t n_before;
};

static enum attn_status take(void *user, const struct attn_trace_event *event,
                             struct attn_error *err)
{
    (void)user, (void)event, (void)err;
    return ATTN_OK;
}

static void close_run(struct run *run)
{
    attn_session_free(run->session);
    attn_selection_free(run->selection);
    attn_free(run->ids);
}

/* A session over N positions that delivers every pattern, if IS_WATCHED. Close it in any case. */
static enum attn_status open_run(struct run *run, size_t n, bool is_watched, struct attn_error *err)
{
    const struct attn_bench_options *options = run->bench->options;
    const struct attn_dims dims = attn_config_dims(run->bench->config, n);
    struct attn_session_options session = ATTN_SESSION_OPTIONS_DEFAULT;
    enum attn_status status = attn_selection_create(&dims, &run->selection, err);

    if (status == ATTN_OK)
        status = attn_selection_set_sites(run->selection, ATTN_SITE_BIT(ATTN_SITE_PATTERN), err);
    run->ids = attn_alloc(n, sizeof *run->ids, err);
    if (status != ATTN_OK || !run->ids)
        return status != ATTN_OK ? status : ATTN_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        run->ids[i] = (int32_t)((i * 7919 + 13) % run->bench->config->n_vocab);
    run->trace = (struct attn_trace){.selection = run->selection, .on_event = take};
    session.n_max = n;
    session.pool = options->pool;
    session.trace = is_watched ? &run->trace : NULL;
    session.has_logits = run->bench->config->output != ATTN_OUTPUT_NONE;
    session.gemm = options->gemm;
    session.isa = options->isa;
    session.cancel = options->cancel;
    return attn_session_create(options->model, &session, &run->session, err);
}

static enum attn_status go_back(void *context, struct attn_error *err)
{
    struct run *run = context;

    return attn_session_rewind(run->session, run->n_before, err);
}

static enum attn_status feed(void *context, struct attn_error *err)
{
    struct run *run = context;
    const float *logits;

    ATTN_TRY(attn_session_feed(run->session, run->ids + run->n_before, run->n, err));
    if (run->bench->config->output != ATTN_OUTPUT_NONE)
        ATTN_TRY(attn_session_logits(run->session, &logits, err));
    return ATTN_OK;
}

/* Bytes of the weights that a run without logits reads. */
static double block_bytes(const struct attn_bench *bench, const struct attn_cost *cost)
{
    const struct attn_linear *output = &bench->options->model->weights.unembed;
    const size_t element = attn_dtype_bits(output->weight.dtype) / 8;

    if (bench->config->output == ATTN_OUTPUT_NONE)
        return (double)cost->weights;
    return (double)cost->weights -
           (double)output->weight.n_row * (double)output->weight.n_col * (double)element;
}

/* Bytes of the weights that a run with logits reads, from packed ones; files have one type. */
static double read_bytes(const struct attn_bench *bench, const struct attn_cost *cost)
{
    const struct attn_model *model = bench->options->model;
    const enum attn_dtype dtype = model->weights.embed.dtype;
    const size_t stored = attn_dtype_bits(dtype) / 8;
    const size_t packed =
        attn_panel_element(model->compute) * attn_panel_n_plane(dtype, model->compute);

    return (double)cost->weights * (double)packed / (double)stored;
}

enum attn_status attn_bench_prefill(struct attn_bench *bench, struct attn_error *err)
{
    const struct attn_config *config = bench->config;
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; status == ATTN_OK && attn_bench_length(bench, i) > 0; i++) {
        struct run run = {.bench = bench, .n = attn_bench_length(bench, i)};
        char name[ATTN_BENCH_NAME_SIZE];
        struct attn_bench_part part = {
            .part = "prefill", .name = name, .prepare = go_back, .run = feed, .context = &run};
        struct attn_cost cost;

        snprintf(name, sizeof name, "%zu tokens, all patterns", run.n);
        status = attn_cost_find(bench->options->model, run.n, 0, &cost, err);
        if (status == ATTN_OK)
            status = open_run(&run, run.n, true, err);
        if (status == ATTN_OK) {
            const double row = config->output == ATTN_OUTPUT_NONE
                                   ? 0
                                   : (double)config->d_model * (double)config->n_vocab;

            part.n_flop = 2 * ((double)(cost.projections + cost.matrices + cost.mlp) + row);
            part.n_byte = read_bytes(bench, &cost);
            status = attn_bench_measure(bench, &part, err);
        }
        close_run(&run);
    }
    return status;
}

enum attn_status attn_bench_decode(struct attn_bench *bench, struct attn_error *err)
{
    const size_t n_ctx = bench->config->n_ctx;
    struct run run = {.bench = bench, .n_before = n_ctx > 128 ? 128 : n_ctx - 1, .n = 1};
    char name[ATTN_BENCH_NAME_SIZE];
    struct attn_bench_part part = {
        .part = "decode", .name = name, .prepare = go_back, .run = feed, .context = &run};
    struct attn_cost cost;
    enum attn_status status;

    if (n_ctx < 2)
        return ATTN_OK;
    snprintf(name, sizeof name, "one token after %zu", run.n_before);
    status = attn_cost_find(bench->options->model, run.n_before + 1, 0, &cost, err);
    if (status == ATTN_OK)
        status = open_run(&run, run.n_before + 1, false, err);
    if (status == ATTN_OK)
        status = attn_session_feed(run.session, run.ids, run.n_before, err);
    if (status == ATTN_OK) {
        part.n_byte = read_bytes(bench, &cost) + (double)cost.keys_values;
        status = attn_bench_measure(bench, &part, err);
    }
    close_run(&run);
    return status;
}

/* --- Opening --------------------------------------------------------------------------------- */

static enum attn_status open_model(void *context, struct attn_error *err)
{
    const struct attn_bench *bench = context;
    struct attn_model *model;

    ATTN_TRY(attn_model_open(bench->options->source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, err));
    attn_model_close(model);
    return ATTN_OK;
}

/* Opens it and runs 6 tokens: every weight of the layers is read through the map. */
static enum attn_status first_run(void *context, struct attn_error *err)
{
    struct attn_bench *bench = context;
    const struct attn_bench_options *options = bench->options;
    struct attn_session_options session_options = ATTN_SESSION_OPTIONS_DEFAULT;
    const int32_t ids[6] = {0};
    struct attn_session *session = NULL;
    const struct attn_dims dims = attn_config_dims(bench->config, 6);
    struct attn_selection *selection = NULL;
    struct attn_trace trace = {.on_event = take};
    struct attn_model_options model_options = ATTN_MODEL_OPTIONS_DEFAULT;
    struct attn_model *model;
    enum attn_status status;

    model_options.compute = options->model->compute;
    status = attn_model_open(options->source, &model_options, &model, err);
    if (status != ATTN_OK)
        return status;
    status = attn_selection_create(&dims, &selection, err);
    trace.selection = selection;
    session_options.n_max = 6;
    session_options.pool = options->pool;
    session_options.trace = &trace;
    session_options.gemm = options->gemm;
    session_options.isa = options->isa;
    if (status == ATTN_OK)
        status = attn_session_create(model, &session_options, &session, err);
    if (status == ATTN_OK)
        status = attn_session_feed(session, ids, 6, err);
    attn_session_free(session);
    attn_selection_free(selection);
    attn_model_close(model);
    return status;
}

enum attn_status attn_bench_load(struct attn_bench *bench, struct attn_error *err)
{
    struct attn_bench_part open = {
        .part = "load", .name = "opening", .run = open_model, .context = bench};
    struct attn_bench_part first = {
        .part = "load", .name = "opening, first 6 tokens", .run = first_run, .context = bench};
    struct attn_cost cost;
    enum attn_status status;

    if (!bench->options->source || bench->config->n_ctx < 6)
        return ATTN_OK;
    status = attn_cost_find(bench->options->model, 6, 0, &cost, err);
    if (status == ATTN_OK)
        status = attn_bench_measure(bench, &open, err);
    if (status == ATTN_OK) {
        first.n_byte = block_bytes(bench, &cost);
        status = attn_bench_measure(bench, &first, err);
    }
    return status;
}
