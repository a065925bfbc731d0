/* models.c - parts that run the whole model: prompts of several lengths, with or without a
 * trace that gets every attention matrix, and one token at a time. */
#include "tests/bench/parts/parts.h"

#include "base/dtype_internal.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "catalog/cost.h"
#include "kernels/panels.h"
#include "model/model_internal.h"
#include "trace/site_set.h"

#include <stdio.h>

/* A session that is fed repeatedly. */
struct fed {
    struct attn_bench *bench;
    struct attn_session *session;
    struct attn_selection *selection;
    struct attn_trace trace;
    int32_t *ids; /* [n_max] the tokens */
    size_t n;     /* number of tokens that a round feeds */
    size_t n_before;
};

enum attn_status attn_bench_ignore(void *user, const struct attn_trace_event *event,
                                   struct attn_error *err)
{
    (void)user, (void)event, (void)err;
    return ATTN_OK;
}

struct attn_session_options attn_bench_session_options(const struct attn_bench *bench, size_t n,
                                                       const struct attn_trace *trace)
{
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;

    options.n_max = n;
    options.trace = trace;
    options.gemm = bench->options->gemm;
    options.isa = bench->options->isa;
    return options;
}

static void close_fed(struct fed *fed)
{
    attn_session_free(fed->session);
    attn_selection_free(fed->selection);
    attn_free(fed->ids);
}

/* Opens a session of N positions. IS_WATCHED: a trace gets all patterns. The caller closes FED,
 * also after a failure. */
static enum attn_status open_fed(struct fed *fed, size_t n, bool is_watched, struct attn_error *err)
{
    const struct attn_bench *bench = fed->bench;
    const struct attn_dims dims = attn_config_dims(bench->config, n);
    struct attn_session_options session =
        attn_bench_session_options(bench, n, is_watched ? &fed->trace : NULL);

    ATTN_TRY(attn_selection_create(&dims, &fed->selection, err));
    ATTN_TRY(attn_selection_set_sites(fed->selection, ATTN_SITES(ATTN_SITE_PATTERN), err));
    ATTN_TRY(ATTN_ALLOC(fed->ids, n, err));
    for (size_t i = 0; i < n; i++)
        fed->ids[i] = attn_bench_id(bench, i);
    fed->trace = (struct attn_trace){.selection = fed->selection, .on_event = attn_bench_ignore};
    session.pool = bench->options->pool;
    session.has_logits = bench->config->output != ATTN_OUTPUT_NONE;
    return attn_session_create(bench->options->model, &session, &fed->session, err);
}

static enum attn_status rewind_fed(void *context, struct attn_error *err)
{
    struct fed *fed = context;

    return attn_session_rewind(fed->session, fed->n_before, err);
}

static enum attn_status feed(void *context, struct attn_error *err)
{
    struct fed *fed = context;
    const float *logits;

    ATTN_TRY(attn_session_feed(fed->session, fed->ids + fed->n_before, fed->n, err));
    if (fed->bench->config->output != ATTN_OUTPUT_NONE)
        ATTN_TRY(attn_session_logits(fed->session, &logits, err));
    return ATTN_OK;
}

/* Returns the number of bytes of weights that a run with logits reads. Packed weights may have
 * another type than the file, whose weights all have one type; tiles of blocks count as blocks. */
static double read_bytes(const struct attn_bench *bench, const struct attn_cost *cost)
{
    const struct attn_model *model = bench->options->model;
    const enum attn_dtype dtype = model->weights.embed.dtype;
    const double stored = (double)attn_dtype_n_byte(dtype, 256) / 256;

    if (!model->weights.unembed.packed || model->weights.unembed.tiled_by)
        return (double)cost->weights;
    return (double)cost->weights * (double)attn_panel_element(model->compute) / stored;
}

static enum attn_status measure_prompt(struct fed *fed, bool is_watched, struct attn_error *err)
{
    const struct attn_bench *bench = fed->bench;
    const struct attn_config *config = bench->config;
    struct attn_bench_part part = {.prepare = rewind_fed, .run = feed, .context = fed};
    struct attn_cost cost;
    double row = 0;

    snprintf(part.name, sizeof part.name, "%zu tokens, %s patterns", fed->n,
             is_watched ? "all" : "no");
    ATTN_TRY(attn_cost_find(bench->options->model, fed->n, 0, &cost, err));
    ATTN_TRY(open_fed(fed, fed->n, is_watched, err));
    if (config->output != ATTN_OUTPUT_NONE)
        row = (double)config->d_model * (double)config->n_vocab;
    part.n_flop = 2 * ((double)(cost.projections + cost.matrices + cost.mlp) + row);
    part.n_byte = read_bytes(bench, &cost);
    return attn_bench_measure(fed->bench, &part, err);
}

static enum attn_status measure_prompts(struct attn_bench *bench, bool is_watched,
                                        struct attn_error *err)
{
    for (size_t i = 0; bench->lengths[i] > 0; i++) {
        struct fed fed = {.bench = bench, .n = bench->lengths[i]};
        const enum attn_status status = measure_prompt(&fed, is_watched, err);

        close_fed(&fed);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}

enum attn_status bench_prefill(struct attn_bench *bench, struct attn_error *err)
{
    return measure_prompts(bench, true, err);
}

enum attn_status bench_feed(struct attn_bench *bench, struct attn_error *err)
{
    return measure_prompts(bench, false, err);
}

static enum attn_status measure_decode(struct fed *fed, struct attn_error *err)
{
    const size_t n_before = fed->n_before;
    struct attn_bench_part part = {.prepare = rewind_fed, .run = feed, .context = fed};
    struct attn_cost cost;

    snprintf(part.name, sizeof part.name, "one token after %zu", n_before);
    ATTN_TRY(attn_cost_find(fed->bench->options->model, n_before + 1, 0, &cost, err));
    ATTN_TRY(open_fed(fed, n_before + 1, false, err));
    ATTN_TRY(attn_session_feed(fed->session, fed->ids, n_before, err));
    part.n_byte = (double)cost.keys_values;
    /* The cost of one token includes the experts that it uses. */
    ATTN_TRY(attn_cost_find(fed->bench->options->model, 1, 0, &cost, err));
    part.n_byte += read_bytes(fed->bench, &cost);
    return attn_bench_measure(fed->bench, &part, err);
}

enum attn_status bench_decode(struct attn_bench *bench, struct attn_error *err)
{
    const size_t n_ctx = bench->config->n_ctx;
    struct fed fed = {.bench = bench, .n_before = n_ctx > 128 ? 128 : n_ctx - 1, .n = 1};
    enum attn_status status;

    if (n_ctx < 2 || bench->config->is_encoder)
        return ATTN_OK;
    status = measure_decode(&fed, err);
    close_fed(&fed);
    return status;
}
