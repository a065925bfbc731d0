/*
 * compare.c - the exact run, each layer beside it, the other run, and the predictions of both.
 *
 * The exact run comes first. q, k, v and z of its layers are kept, its pattern is not: when an
 * event holds rows of one head, the same rows of the exact pattern are computed again from q and k
 * of that head, and the two are compared.
 */
#include "experiment/compare_internal.h"

#include "analysis/difference_internal.h"
#include "analysis/metric.h"
#include "attention/attention_internal.h"
#include "attention/kind.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "capture/capture.h"
#include "experiment/comparison_internal.h"
#include "experiment/pattern_difference.h"
#include "model/model_internal.h"
#include "output/outputs_internal.h"
#include "output/writer.h"
#include "run/prediction.h"
#include "run/run_internal.h"
#include "trace/selection_internal.h"
#include "trace/site_internal.h"

#include <time.h>

/* What a comparison works on. */
struct job {
    const struct attn_compare_args *args;  /* a model's run; NULL: arrays */
    const struct attn_config *config;      /* of the model */
    const struct attn_attend_args *arrays; /* NULL: a model's run */
    const struct attn_selection *selection;
    struct attn_metric_settings settings;
    struct attn_pool *pool;
    struct attn_dims dims;                       /* of run or arrays */
    struct attn_attention *chosen, *exact;       /* owns; [n_layer] each, strides resolved */
    struct attn_selection *kept;                 /* owns; sites q, k, v and z */
    struct attn_capture *capture;                /* owns; of the exact run */
    struct attn_session *exact_run, *run;        /* owns */
    struct attn_measurement *local, *propagated; /* owns */
    const struct attn_pattern_pairs *pairs;      /* or NULL */
};

/* --- What a layer computes from --------------------------------------------------------------- */

/* Numbers that dropout draws for the layers before LAYER: a run draws them from one stream. */
static uint64_t count_drawn(const struct job *job, int layer)
{
    const struct attn_dims *dims = &job->dims;
    uint64_t n = 0;

    for (int i = 0; i < layer; i++)
        if (job->chosen[i].dropout > 0 && !job->chosen[i].dropout_mask.cells)
            n += (uint64_t)dims->n_head * dims->n_position * attn_site_n_key(dims, i);
    return n;
}

/* The arrays that LAYER computes the chosen or the exact attention from, with the heads of the
 * run. */
static struct attn_attend_args layer_inputs(const struct job *job, int layer, bool is_chosen)
{
    const struct attn_compare_args *args = job->args;
    const struct attn_config *config = job->config;
    const struct attn_attention *attention = is_chosen ? &job->chosen[layer] : &job->exact[layer];
    const enum attn_site query_site = attn_site_of_scores(&job->dims, ATTN_LAYOUT_QUERY);
    const enum attn_site key_site = attn_site_of_scores(&job->dims, ATTN_LAYOUT_KEY);
    struct attn_attend_args inputs;

    if (job->arrays) {
        inputs = *job->arrays;
        inputs.attention = *attention;
        inputs.compute = is_chosen ? inputs.compute : ATTN_COMPUTE_F32;
        return inputs;
    }
    inputs = (struct attn_attend_args){
        .size = sizeof inputs,
        .n_head = config->n_head,
        .n_kv_head = config->n_kv_head,
        .n_query = args->n,
        .n_key = attn_site_n_key(&job->dims, layer),
        .d_head = config->d_head,
        .d_value = config->d_value,
        .q = attn_capture_tensor(job->capture, query_site, layer),
        .k = attn_capture_tensor(job->capture, key_site, layer),
        .v = attn_capture_tensor(job->capture, ATTN_SITE_V, layer),
        .attention = *attention,
        .random_layer = layer,
        .n_drawn = count_drawn(job, layer),
        .pool = args->pool,
        .cancel = args->cancel,
        .gemm = args->gemm,
        .isa = args->isa,
        .compute = is_chosen ? attn_model_compute(args->model) : ATTN_COMPUTE_F32,
    };
    inputs.attention.dropout_seed = job->chosen[0].dropout_seed; /* as in a session */
    if (config->is_cross[layer] && attention->mask == ATTN_MASK_CAUSAL)
        inputs.attention.mask = ATTN_MASK_NONE; /* as in a session, too: a source has no order */
    return inputs;
}

/* Narrows INPUTS to those of the pattern of one head. */
static void narrow(struct attn_attend_args *inputs, size_t head)
{
    struct attn_mask_matrix *matrix = &inputs->attention.matrix;
    const size_t kv_head = head / (inputs->n_head / inputs->n_kv_head);
    const size_t n_cell = inputs->n_query * inputs->n_key;

    if (inputs->scores) {
        inputs->scores += head * n_cell;
    } else {
        inputs->q += head * inputs->n_query * inputs->d_head;
        inputs->k += kv_head * inputs->n_key * inputs->d_head;
    }
    if (matrix->cells && matrix->n_head > 1)
        matrix->cells += head * n_cell;
    matrix->n_head = matrix->n_head > 1 ? 1 : matrix->n_head;
    inputs->v = NULL;
    inputs->n_head = inputs->n_kv_head = 1;
}

/* Computes attention on INPUTS and calls ON_EVENT with what SELECTION wants; it has their sizes. */
static enum attn_status attend(const struct attn_attend_args *inputs,
                               const struct attn_selection *selection, attn_trace_fn on_event,
                               void *user, struct attn_error *err)
{
    const struct attn_trace trace = {selection, on_event, user};
    struct attn_attend_args args = *inputs;

    args.trace = &trace;
    return attn_attend(&args, err);
}

/* --- Rows of a head --------------------------------------------------------------------------- */

/* Where the events of a run go. */
struct pass {
    struct job *job;
    int layer; /* that the events are of; ATTN_ALL_LAYERS: the one in each event */
    struct attn_measurement *measurement;
};

/* Rows of one head, and where their sums go. */
struct rows {
    struct attn_measurement *measurement;
    const struct attn_trace_event *event;
    const struct attn_pattern_pairs *pairs; /* told of both, or NULL */
};

/* An attn_trace_fn: the exact rows, all or some of those of the event. */
static enum attn_status on_exact_rows(void *user, const struct attn_trace_event *exact,
                                      struct attn_error *err)
{
    const struct rows *rows = user;

    attn_measurement_add(rows->measurement, rows->event, exact);
    return rows->pairs ? attn_pattern_pairs_tell(rows->pairs, rows->event, exact, err) : ATTN_OK;
}

/* Selects the rows of the pattern that EVENT holds, for one head with DIMS. */
static enum attn_status select_rows(const struct attn_dims *dims,
                                    const struct attn_trace_event *event,
                                    struct attn_selection **selection, struct attn_error *err)
{
    enum attn_status status = attn_selection_create(dims, selection, err);

    if (status != ATTN_OK)
        return status;
    status = attn_selection_set_sites(*selection, ATTN_SITE_BIT(ATTN_SITE_PATTERN), err);
    if (status == ATTN_OK)
        status = attn_selection_keep_queries(*selection, event->row0, event->n_row, err);
    if (status != ATTN_OK)
        attn_selection_free(*selection);
    return status;
}

static enum attn_status compare_pattern(const struct pass *pass,
                                        const struct attn_trace_event *event,
                                        struct attn_error *err)
{
    const struct job *job = pass->job;
    struct attn_attend_args inputs = layer_inputs(job, event->layer, false);
    const bool is_local = pass->measurement == job->local;
    struct rows rows = {pass->measurement, event, is_local ? job->pairs : NULL};
    struct attn_selection *selection;
    struct attn_dims dims;
    enum attn_status status;

    narrow(&inputs, (size_t)event->head);
    dims = attn_attend_dims(&inputs);
    status = select_rows(&dims, event, &selection, err);
    if (status != ATTN_OK)
        return status;
    status = attend(&inputs, selection, on_exact_rows, &rows, err);
    attn_selection_free(selection);
    return status;
}

static void compare_z(const struct pass *pass, const struct attn_trace_event *event)
{
    const float *exact_z =
        attn_capture_head(pass->job->capture, ATTN_SITE_Z, event->layer, event->head);
    struct attn_trace_event exact = *event;

    exact.data = exact_z + event->row0 * event->n_col;
    exact.ld = event->n_col;
    attn_measurement_add(pass->measurement, event, &exact);
}

/* An attn_trace_fn for patterns and z. */
static enum attn_status on_rows(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    const struct pass *pass = user;
    struct attn_trace_event own = *event;

    if (pass->layer != ATTN_ALL_LAYERS)
        own.layer = pass->layer;
    if (event->site == ATTN_SITE_PATTERN)
        return compare_pattern(pass, &own, err);
    compare_z(pass, &own);
    return ATTN_OK;
}

/* Selects the heads and queries of LAYER that are compared, for arrays with DIMS. */
static enum attn_status select_layer(const struct job *job, int layer, const struct attn_dims *dims,
                                     struct attn_selection **selection, struct attn_error *err)
{
    const struct attn_selection *from = job->selection;
    enum attn_status status = attn_selection_create(dims, selection, err);

    if (status != ATTN_OK)
        return status;
    for (int head = 0; status == ATTN_OK && head < (int)dims->n_head; head++)
        if (attn_selection_has_head(from, layer, head))
            status = attn_selection_keep(*selection, 0, head, err);
    for (size_t query = 0; status == ATTN_OK && query < dims->n_position; query++)
        if (attn_selection_has_query(from, query))
            status = attn_selection_keep_queries(*selection, query, 1, err);
    if (status != ATTN_OK)
        attn_selection_free(*selection);
    return status;
}

/* Measures the chosen attention of LAYER, computed from q, k and v of the exact run. */
static enum attn_status compare_locally(struct job *job, int layer, struct attn_error *err)
{
    const struct attn_attend_args inputs = layer_inputs(job, layer, true);
    const struct attn_dims dims = attn_attend_dims(&inputs);
    struct pass pass = {job, layer, job->local};
    struct attn_selection *selection;
    enum attn_status status = select_layer(job, layer, &dims, &selection, err);

    if (status != ATTN_OK)
        return status;
    status = attend(&inputs, selection, on_rows, &pass, err);
    attn_selection_free(selection);
    return status;
}

/* --- What an attention costs ------------------------------------------------------------------ */

/* Floats of one head between q, k, v and z. */
static uint64_t n_float(const struct attn_attend_args *inputs, uint64_t n_pair)
{
    const struct attn_attention *attention = &inputs->attention;

    if (attention->kind == ATTN_ATTENTION_LINEAR)
        return attn_saturated_mul(inputs->d_head, inputs->d_value + 1);
    if (attention->kind == ATTN_ATTENTION_LOWRANK)
        return attn_saturated_add(
            n_pair, attn_saturated_mul(attention->count, inputs->d_head + inputs->d_value));
    if (attention->kind == ATTN_ATTENTION_FULL && attention->algorithm == ATTN_ALGORITHM_BLOCKWISE)
        return attn_saturated_mul(2, inputs->n_query);
    return n_pair;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static enum attn_status take_no_note(void *user, const struct attn_trace_event *event,
                                     struct attn_error *err)
{
    (void)user, (void)event, (void)err;
    return ATTN_OK;
}

/* The site that is computed last: z, or the weights where there are no values. */
static uint64_t last_site(const struct attn_dims *dims)
{
    const uint64_t z = ATTN_SITE_BIT(ATTN_SITE_Z);

    return dims->sites & z ? z
                           : dims->sites & (ATTN_SITE_BIT(ATTN_SITE_PATTERN) |
                                            ATTN_SITE_BIT(ATTN_SITE_PATTERN_LOWRANK));
}

static enum attn_status measure(const struct attn_attend_args *inputs, double *seconds,
                                struct attn_error *err)
{
    const struct attn_dims dims = attn_attend_dims(inputs);
    struct attn_attend_args args = *inputs;
    struct attn_trace trace = {.on_event = take_no_note};
    struct attn_selection *selection;
    enum attn_status status = attn_selection_create(&dims, &selection, err);
    double begun;

    if (status != ATTN_OK)
        return status;
    trace.selection = selection;
    args.trace = &trace;
    status = attn_selection_set_sites(selection, last_site(&dims), err);
    begun = now();
    if (status == ATTN_OK)
        status = attn_attend(&args, err);
    *seconds = now() - begun;
    attn_selection_free(selection);
    return status;
}

/* What the chosen or the exact attention costs in LAYER: pairs are counted, bytes follow from them, time is measured. */
static enum attn_status find_cost(const struct job *job, int layer, bool is_chosen,
                                  struct attn_attention_cost *cost, struct attn_error *err)
{
    const struct attn_attend_args inputs = layer_inputs(job, layer, is_chosen);

    *cost = (struct attn_attention_cost){0};
    for (int head = 0; head < (int)inputs.n_head; head++) {
        const uint64_t n_pair =
            attn_attention_n_pair(&inputs.attention, inputs.n_query, inputs.n_key, layer, head);

        cost->n_pair = attn_saturated_add(cost->n_pair, n_pair);
        cost->n_byte = attn_saturated_add(
            cost->n_byte, attn_saturated_mul(sizeof(float), n_float(&inputs, n_pair)));
    }
    return measure(&inputs, &cost->seconds, err);
}

/* --- Next tokens ------------------------------------------------------------------------------ */

enum { BLOCK_BYTES = 16 << 20 }; /* of logits at a time: a row is as wide as the vocabulary */

/* Consecutive positions, and the logits of both runs after them. */
struct block {
    size_t first, n;
    float *exact, *chosen; /* [n, n_vocab] */
    size_t n_vocab;
    struct attn_compared_logits *logits; /* [n] */
};

static void compare_row(void *context, size_t task, int worker)
{
    const struct block *block = context;
    const float *exact = block->exact + task * block->n_vocab;
    const float *chosen = block->chosen + task * block->n_vocab;

    (void)worker;
    block->logits[task] = (struct attn_compared_logits){
        .position = block->first + task,
        .kl = attn_logits_kl(exact, chosen, block->n_vocab),
        .exact_first = attn_logits_first(exact, block->n_vocab),
        .chosen_first = attn_logits_first(chosen, block->n_vocab),
    };
}

static enum attn_status compare_block(struct job *job, struct block *block, struct attn_error *err)
{
    const struct attn_compare_args *args = job->args;
    enum attn_status status;

    if (args->cancel && *args->cancel != 0)
        return attn_error_set(err, ATTN_CANCELED, "canceled");
    status = attn_session_logits_at(job->exact_run, block->first, block->n, block->exact, err);
    if (status == ATTN_OK)
        status = attn_session_logits_at(job->run, block->first, block->n, block->chosen, err);
    if (status == ATTN_OK)
        attn_pool_run(args->pool, block->n, compare_row, block);
    return status;
}

/* Compares the logits of the two runs after the selected queries: LOGITS [their number]. */
static enum attn_status compare_logits(struct job *job, struct attn_compared_logits *logits,
                                       struct attn_error *err)
{
    const struct attn_selection *selection = job->selection;
    const size_t n = job->args->n, n_vocab = job->config->n_vocab;
    const size_t n_fit = BLOCK_BYTES / sizeof(float) / n_vocab + 1, n_most = n_fit < n ? n_fit : n;
    struct block block = {.n_vocab = n_vocab, .logits = logits};
    enum attn_status status = ATTN_OK;

    block.exact = attn_alloc_uninitialized(n_most * n_vocab, sizeof(float), err);
    block.chosen = attn_alloc_uninitialized(n_most * n_vocab, sizeof(float), err);
    if (!block.exact || !block.chosen)
        status = ATTN_NO_MEMORY;
    while (status == ATTN_OK && block.first < n) {
        block.n = 0;
        while (block.n < n_most && block.first + block.n < n &&
               attn_selection_has_query(selection, block.first + block.n))
            block.n++;
        if (block.n > 0)
            status = compare_block(job, &block, err);
        block.logits += block.n;
        block.first += block.n > 0 ? block.n : 1;
    }
    attn_free(block.exact);
    attn_free(block.chosen);
    return status;
}

/* --- The runs --------------------------------------------------------------------------------- */

static void release(struct job *job)
{
    attn_session_free(job->run);
    attn_session_free(job->exact_run);
    attn_capture_free(job->capture);
    attn_selection_free(job->kept);
    attn_free(job->chosen);
    attn_free(job->exact);
    attn_measurement_free(job->local);
    attn_measurement_free(job->propagated);
}

/* Full attention, or the window that the model's own layer has. */
static struct attn_attention find_exact_kind(const struct job *job, size_t layer)
{
    if (job->config && job->config->attention[layer].kind == ATTN_ATTENTION_WINDOW)
        return job->config->attention[layer];
    return ATTN_ATTENTION_DEFAULT;
}

static bool is_other_kind(const struct attn_attention *a, struct attn_attention b)
{
    return a->kind != b.kind || (a->kind == ATTN_ATTENTION_WINDOW && a->window != b.window);
}

/* Whether anything differs from exact attention of the same scores. */
static bool is_other(const struct job *job, const struct attn_attention *attention)
{
    if (job->args && attn_model_compute(job->args->model) != ATTN_COMPUTE_F32)
        return true;
    for (size_t layer = 0; layer < job->dims.n_layer; layer++) {
        const struct attn_attention *own = &attention[layer];

        if (is_other_kind(own, find_exact_kind(job, layer)) || own->masking != ATTN_MASKING_INF ||
            own->algorithm == ATTN_ALGORITHM_BLOCKWISE || own->dropout > 0 ||
            own->dropout_mask.cells)
            return true;
    }
    return false;
}

static enum attn_status check(const struct job *job, const struct attn_attention *attention,
                              struct attn_error *err)
{
    const uint64_t known = ATTN_SITE_BIT(ATTN_SITE_PATTERN) | ATTN_SITE_BIT(ATTN_SITE_Z);
    size_t n_head = 0;

    if (job->settings.n_recalled == 0 || job->settings.n_recalled > ATTN_MOST_RECALLED)
        return attn_error_set(err, ATTN_INVALID, "%zu keys cannot be recalled, expected 1 to %d",
                              job->settings.n_recalled, ATTN_MOST_RECALLED);
    if ((attn_selection_sites(job->selection) & ~known) != 0)
        return attn_error_set(err, ATTN_INVALID,
                              "the selection holds other sites than 'pattern' and 'z'");
    for (int layer = 0; layer < (int)job->dims.n_layer; layer++)
        n_head += attn_selection_n_head(job->selection, layer);
    if (n_head == 0)
        return attn_error_set(err, ATTN_INVALID,
                              "the selection holds no head, expected one or more");
    if (is_other(job, attention))
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "the attention of every layer is exact, there is nothing to compare it with");
    attn_error_hint(err, "choose another, as with --attention window:64, --masking zero or "
                         "--algorithm blockwise");
    return ATTN_INVALID;
}

/* ATTENTION [n_layer], and the exact attention of the same scores. */
static void choose_attention(struct job *job, const struct attn_attention *attention)
{
    for (size_t layer = 0; layer < job->dims.n_layer; layer++) {
        struct attn_attention *chosen = &job->chosen[layer];
        struct attn_attention *exact = &job->exact[layer];

        *chosen = attention[layer];
        attn_attention_resolve_stride(chosen, attn_site_n_key(&job->dims, (int)layer));
        *exact = *chosen;
        exact->kind = find_exact_kind(job, layer).kind;
        exact->window = find_exact_kind(job, layer).window;
        exact->algorithm =
            exact->kind == ATTN_ATTENTION_FULL ? ATTN_ALGORITHM_DENSE : ATTN_ALGORITHM_AUTO;
        exact->masking = ATTN_MASKING_INF;
        exact->dropout = 0;
        exact->dropout_mask = (struct attn_mask_matrix){0};
    }
}

/* What is kept of the exact run: q, k, v and z of the layers with selected heads; q and k as scores
 * are made of them. */
static enum attn_status choose_kept(struct job *job, struct attn_error *err)
{
    const uint64_t sites = ATTN_SITE_BIT(attn_site_of_scores(&job->dims, ATTN_LAYOUT_QUERY)) |
                           ATTN_SITE_BIT(attn_site_of_scores(&job->dims, ATTN_LAYOUT_KEY)) |
                           ATTN_SITE_BIT(ATTN_SITE_V) | ATTN_SITE_BIT(ATTN_SITE_Z);

    ATTN_TRY(attn_selection_create(&job->dims, &job->kept, err));
    ATTN_TRY(attn_selection_set_sites(job->kept, sites, err));
    for (int layer = 0; layer < (int)job->dims.n_layer; layer++)
        if (attn_selection_n_head(job->selection, layer) > 0)
            ATTN_TRY(attn_selection_keep(job->kept, layer, ATTN_ALL_HEADS, err));
    return attn_capture_create(job->kept, &job->capture, err);
}

static enum attn_status prepare(struct job *job, const struct attn_attention *attention,
                                struct attn_error *err)
{
    const size_t n_layer = job->dims.n_layer;
    const struct attn_metric *metric = attn_metric_find("difference");
    enum attn_status status = attn_error_at(check(job, attention, err), ATTN_STAGE_OPTIONS, err);

    if (status != ATTN_OK)
        return status;
    job->chosen = attn_alloc(n_layer, sizeof *job->chosen, err);
    job->exact = attn_alloc(n_layer, sizeof *job->exact, err);
    if (!job->chosen || !job->exact)
        return ATTN_NO_MEMORY;
    choose_attention(job, attention);
    status = attn_measurement_create(metric, &job->settings, job->selection, job->pool, &job->local,
                                     err);
    if (status == ATTN_OK)
        status = attn_measurement_create(metric, &job->settings, job->selection, job->pool,
                                         &job->propagated, err);
    return status;
}

/* Feeds a new session that computes what was chosen, or what is exact. */
static enum attn_status feed(const struct job *job, bool is_chosen, const struct attn_trace *trace,
                             struct attn_session **session, struct attn_error *err)
{
    const struct attn_compare_args *args = job->args;
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;

    options.n_max = args->n;
    options.n_source = args->n_source;
    options.cache = ATTN_CACHE_ONE_LAYER;
    options.has_logits = job->config->output != ATTN_OUTPUT_NONE;
    options.pool = args->pool;
    options.trace = trace;
    options.attention = is_chosen ? job->chosen : job->exact;
    options.needs_float32 = !is_chosen;
    options.cancel = args->cancel;
    options.gemm = args->gemm;
    options.isa = args->isa;
    options.embeddings_name = args->embeddings_name;
    options.source_name = args->source_name;
    ATTN_TRY(attn_session_create(args->model, &options, session, err));
    if (args->n_source > 0)
        ATTN_TRY(attn_session_set_source(*session, args->source, args->n_source, err));
    return args->embeddings ? attn_session_feed_embeddings(*session, args->embeddings, args->n, err)
                            : attn_session_feed(*session, args->ids, args->n, err);
}

/* Each layer by itself: error and cost. */
static enum attn_status compare_layers(struct job *job, struct attn_comparison *comparison,
                                       struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    for (int layer = 0; status == ATTN_OK && layer < (int)job->dims.n_layer; layer++) {
        struct attn_compared_layer *found = &comparison->layers[comparison->n_layer];

        if (attn_selection_n_head(job->selection, layer) == 0)
            continue;
        found->layer = layer;
        comparison->n_layer++;
        status = compare_locally(job, layer, err);
        if (status == ATTN_OK)
            status = find_cost(job, layer, false, &found->exact, err);
        if (status == ATTN_OK)
            status = find_cost(job, layer, true, &found->chosen, err);
    }
    return status;
}

static void find_both(const struct job *job, int layer, int head, struct attn_difference *local,
                      struct attn_difference *propagated)
{
    attn_measurement_find(job->local, layer, head, local->values);
    attn_measurement_find(job->propagated, layer, head, propagated->values);
}

/* Stores what the sums of heads, layers and everything come to. */
static void find_differences(const struct job *job, struct attn_comparison *comparison)
{
    const int n_head = (int)job->dims.n_head;

    for (size_t i = 0; i < comparison->n_layer; i++) {
        struct attn_compared_layer *layer = &comparison->layers[i];

        for (int head = 0; head < n_head; head++) {
            struct attn_compared_head *found = &comparison->heads[comparison->n_head];

            if (!attn_selection_has_head(job->selection, layer->layer, head))
                continue;
            comparison->n_head++;
            found->layer = layer->layer;
            found->head = head;
            find_both(job, layer->layer, head, &found->local, &found->propagated);
        }
        find_both(job, layer->layer, ATTN_ALL_HEADS, &layer->local, &layer->propagated);
    }
    find_both(job, ATTN_ALL_LAYERS, ATTN_ALL_HEADS, &comparison->local, &comparison->propagated);
}

static enum attn_status compare_run(struct job *job, struct attn_comparison *comparison,
                                    struct attn_error *err)
{
    struct pass pass = {job, ATTN_ALL_LAYERS, job->propagated};
    const struct attn_trace trace = {job->selection, on_rows, &pass};
    enum attn_status status = choose_kept(job, err);

    if (status == ATTN_OK)
        status = feed(job, false, attn_capture_trace(job->capture), &job->exact_run, err);
    if (status == ATTN_OK)
        status = compare_layers(job, comparison, err);
    if (status == ATTN_OK)
        status = feed(job, true, &trace, &job->run, err);
    if (status == ATTN_OK && job->config->output != ATTN_OUTPUT_NONE) {
        comparison->n_logits = attn_selection_n_query(job->selection);
        status = compare_logits(job, comparison->logits, err);
    }
    comparison->has_propagated = true;
    find_differences(job, comparison);
    return status;
}

/* Of arrays only z of the exact attention is kept. */
static enum attn_status compare_arrays(struct job *job, struct attn_comparison *comparison,
                                       struct attn_error *err)
{
    struct attn_attend_args inputs = layer_inputs(job, 0, false);
    const struct attn_dims dims = attn_attend_dims(&inputs);
    const uint64_t z = dims.sites & ATTN_SITE_BIT(ATTN_SITE_Z);
    enum attn_status status = attn_selection_create(&dims, &job->kept, err);

    if (status == ATTN_OK && z != 0) {
        status = attn_selection_set_sites(job->kept, z, err);
        if (status == ATTN_OK)
            status = attn_capture_create(job->kept, &job->capture, err);
        if (status == ATTN_OK) {
            inputs.trace = attn_capture_trace(job->capture);
            status = attn_attend(&inputs, err);
        }
    }
    if (status == ATTN_OK)
        status = compare_layers(job, comparison, err);
    find_differences(job, comparison);
    return status;
}

/* Makes the comparison by RUN, and releases JOB. */
static enum attn_status compare(struct job *job, const struct attn_attention *attention,
                                enum attn_status (*run)(struct job *, struct attn_comparison *,
                                                        struct attn_error *),
                                struct attn_comparison **comparison, struct attn_error *err)
{
    struct attn_comparison *made = NULL;
    enum attn_status status = prepare(job, attention, err);

    if (status == ATTN_OK)
        status = attn_comparison_create(job->selection, &made, err);
    if (status == ATTN_OK)
        status = run(job, made, err);
    release(job);
    if (status != ATTN_OK)
        goto fail;
    *comparison = made;
    return ATTN_OK;
fail:
    attn_comparison_free(made);
    return status;
}

enum attn_status attn_compare_run(const struct attn_compare_args *given,
                                  struct attn_comparison **comparison, struct attn_error *err)
{
    struct attn_compare_args args = ATTN_COMPARE_ARGS_DEFAULT;
    struct job job = {.args = &args};

    ATTN_TRY(attn_options_read(given, &args, err));
    job.config = attn_model_config(args.model);
    job.selection = args.selection;
    job.settings.n_recalled = args.n_recalled;
    job.pool = args.pool;
    job.pairs = args.pairs;
    job.dims = attn_config_dims(job.config, args.n);
    job.dims.n_source = args.n_source;
    return compare(&job, args.attention, compare_run, comparison, err);
}

enum attn_status attn_compare_attend(const struct attn_attend_args *given,
                                     const struct attn_selection *selection, size_t n_recalled,
                                     const struct attn_pattern_pairs *pairs,
                                     struct attn_comparison **comparison, struct attn_error *err)
{
    struct attn_attend_args args = ATTN_ATTEND_ARGS_DEFAULT;
    struct job job = {.arrays = &args, .selection = selection, .settings.n_recalled = n_recalled};

    ATTN_TRY(attn_options_read(given, &args, err));
    job.dims = attn_attend_dims(&args);
    job.pool = args.pool;
    job.pairs = pairs;
    return compare(&job, &args.attention, compare_arrays, comparison, err);
}

/* --- Of a request ----------------------------------------------------------------------------- */

static enum attn_status compare_run_of_model(const struct attn_run *run, size_t n_recalled,
                                             const struct attn_pattern_pairs *pairs,
                                             struct attn_comparison **comparison,
                                             struct attn_error *err)
{
    const struct attn_host_options *host = &run->host->options;
    const struct attn_compare_args args = {.size = sizeof args,
                                           .model = run->model,
                                           .ids = run->text.ids,
                                           .embeddings = run->text.rows,
                                           .n = run->text.n,
                                           .source = run->source.rows,
                                           .n_source = run->source.n,
                                           .embeddings_name = run->text.name,
                                           .source_name = run->source.name,
                                           .attention = run->attention.layers,
                                           .selection = run->selection,
                                           .n_recalled = n_recalled,
                                           .pool = run->host->pool,
                                           .cancel = host->cancel,
                                           .gemm = host->gemm,
                                           .isa = host->isa,
                                           .pairs = pairs};
    const enum attn_status status = attn_compare_run(&args, comparison, err);

    return attn_error_at(status, status == ATTN_INVALID ? ATTN_STAGE_INPUT : ATTN_STAGE_MODEL, err);
}

static enum attn_status compare_run_of_arrays(const struct attn_run *run, size_t n_recalled,
                                              const struct attn_pattern_pairs *pairs,
                                              struct attn_comparison **comparison,
                                              struct attn_error *err)
{
    const struct attn_host_options *host = &run->host->options;
    struct attn_attend_args args = run->arrays;

    args.pool = run->host->pool;
    args.cancel = host->cancel;
    args.gemm = host->gemm;
    args.isa = host->isa;
    return attn_error_at(
        attn_compare_attend(&args, run->selection, n_recalled, pairs, comparison, err),
        ATTN_STAGE_OPTIONS, err);
}

static enum attn_status compare_and_tell(const struct attn_run *run, size_t n_recalled,
                                         const struct attn_pattern_pairs *pairs,
                                         struct attn_comparison **comparison,
                                         struct attn_error *err)
{
    enum attn_status status = run->model
                                  ? compare_run_of_model(run, n_recalled, pairs, comparison, err)
                                  : compare_run_of_arrays(run, n_recalled, pairs, comparison, err);

    if (status == ATTN_OK) /* the flag may have been set after the last look */
        status = attn_error_at(attn_host_check_canceled(run->host, err), ATTN_STAGE_MODEL, err);
    return status;
}

/* Selects the patterns of RUN alone. */
static enum attn_status select_patterns(const struct attn_run *run,
                                        struct attn_selection **selection, struct attn_error *err)
{
    enum attn_status status;

    if (!attn_selection_has_site(run->selection, ATTN_SITE_PATTERN)) {
        attn_error_set(err, ATTN_INVALID,
                       "a figure of a comparison needs patterns, and there are none");
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    status = attn_selection_copy(run->selection, selection, err);
    if (status != ATTN_OK)
        return status;
    status = attn_selection_set_sites(*selection, ATTN_SITE_BIT(ATTN_SITE_PATTERN), err);
    if (status != ATTN_OK)
        attn_selection_free(*selection);
    return status;
}

/* An attn_pattern_pair_fn: USER is the struct attn_outputs. */
static enum attn_status draw_pair(void *user, const struct attn_trace_event *chosen,
                                  const struct attn_trace_event *exact, struct attn_error *err)
{
    const struct attn_trace differences = {NULL, attn_outputs_event, user};

    ATTN_TRY(attn_outputs_pair(user, chosen, exact, err));
    return attn_pattern_difference_tell(&differences, chosen, exact, err);
}

/* With the outputs open for LABELS: compares, and draws the differences. */
static enum attn_status compare_into(const struct attn_run *run, size_t n_recalled,
                                     const struct attn_labels *labels,
                                     struct attn_comparison **comparison, struct attn_error *err)
{
    struct attn_picture_options picture =
        run->request.picture ? *run->request.picture : ATTN_PICTURE_OPTIONS_DEFAULT;
    struct attn_writer_options options = ATTN_WRITER_OPTIONS_DEFAULT;
    struct attn_outputs *outputs;
    struct attn_pattern_pairs pairs = {draw_pair, NULL};
    struct attn_error failure = {0};
    bool is_abandoned;
    enum attn_status status;

    picture.is_difference = true;
    options.cancel = run->host->options.cancel;
    options.picture = &picture;
    status = attn_outputs_create(run->request.outputs, run->request.n_output, labels, &options,
                                 &outputs, err);
    if (status != ATTN_OK)
        return status;
    pairs.user = outputs;
    status = compare_and_tell(run, n_recalled, &pairs, comparison, &failure);
    if (status == ATTN_OK)
        status = attn_outputs_finish(outputs, &failure);
    is_abandoned = attn_outputs_is_abandoned(outputs);
    attn_outputs_free(outputs);
    return status == ATTN_OK || is_abandoned ? ATTN_OK : attn_error_copy(err, &failure);
}

static enum attn_status compare_and_draw(const struct attn_run *run, size_t n_recalled,
                                         struct attn_comparison **comparison,
                                         struct attn_error *err)
{
    struct attn_labels labels = *attn_run_labels(run);
    struct attn_selection *patterns = NULL;
    enum attn_status status = select_patterns(run, &patterns, err);

    if (status != ATTN_OK)
        return status;
    labels.selection = patterns;
    status = compare_into(run, n_recalled, &labels, comparison, err);
    attn_selection_free(patterns);
    return status;
}

enum attn_status attn_compare(const struct attn_run *run, size_t n_recalled,
                              struct attn_comparison **comparison, struct attn_error *err)
{
    if (!attn_is_given(run, "run", err) || !attn_is_given(comparison, "comparison", err))
        return ATTN_INVALID;
    struct attn_comparison *found = NULL;
    enum attn_status status = run->request.n_output > 0
                                  ? compare_and_draw(run, n_recalled, &found, err)
                                  : compare_and_tell(run, n_recalled, NULL, &found, err);

    if (status == ATTN_OK)
        *comparison = found;
    else
        attn_comparison_free(found);
    return status;
}
