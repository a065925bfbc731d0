/*
 * compare.c - compares the exact run with the chosen attention of each layer, then with a whole run
 * of the chosen attention, and compares the predictions of both runs.
 *
 * The exact run comes first. q, k, v and z of its layers are recorded, but not its patterns. For
 * each event with rows of a head, the same rows of the exact pattern are recomputed from q and k of
 * that head, and compared.
 */
#include "questions/compare.h"

#include "attention/attend.h"
#include "attention/attention_internal.h"
#include "attention/kind.h"
#include "base/clock.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "forward/logit_rows.h"
#include "measures/analysis_internal.h"
#include "measures/metric.h"
#include "model/model_internal.h"
#include "predict/class_label.h"
#include "predict/logits.h"
#include "predict/prediction.h"
#include "questions/compare_internal.h"
#include "run/run_internal.h"
#include "tensors/outputs_internal.h"
#include "tensors/writer.h"
#include "trace/capture.h"
#include "trace/trace_internal.h"

struct comparing {
    const struct attn_run *run;             /* a run of a model or of arrays */
    const struct attn_config *config;       /* config of the model; NULL: arrays */
    const struct attn_attention *attention; /* [n_layer] attention of the run */
    struct attn_metric_settings settings;
    struct attn_dims dims;                       /* sizes of the run */
    struct attn_attention *chosen, *exact;       /* own; [n_layer] each, with strides resolved */
    struct attn_selection *kept;                 /* owns; sites q, k, v and z */
    struct attn_capture *capture;                /* owns; tensors of the exact run */
    struct attn_session *exact_run, *chosen_run; /* own; only for a model */
    struct attn_measurement *local, *propagated; /* owns */
    struct attn_outputs *outputs; /* receive the differences of local patterns; or NULL */
};

/* --- Inputs of a layer ------------------------------------------------------------------------ */

/* Returns what the exact run recorded of SITE in the layer of AT. */
static const float *kept(const struct comparing *comparing, enum attn_site site,
                         const struct attn_location *at)
{
    const struct attn_location own = attn_location_in(&comparing->dims, at, site);

    return attn_capture_tensor(comparing->capture, &own);
}

/* Returns the inputs from which the layer of AT computes the chosen or the exact attention, for all
 * heads. */
static struct attn_attend_args layer_inputs(const struct comparing *comparing,
                                            const struct attn_location *at, bool is_chosen)
{
    const size_t layer = attn_location_index(at);
    const struct attn_run *run = comparing->run;
    const struct attn_config *config = comparing->config;
    const struct attn_dims *dims = &comparing->dims;
    struct attn_attend_args inputs = run->arrays;
    struct attn_location before = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};
    uint64_t n_drawn = 0;

    /* a run draws the random numbers of all layers from one stream */
    while (attn_dims_next_layer(dims, &before) && attn_location_index(&before) < layer) {
        const struct attn_attention *one = &comparing->chosen[attn_location_index(&before)];

        if (one->dropout > 0 && !one->dropout_mask.cells)
            n_drawn +=
                (uint64_t)dims->n_head * dims->n_position * attn_location_n_key(dims, &before);
    }
    if (config)
        inputs = (struct attn_attend_args){
            .size = sizeof inputs,
            .n_head = config->n_head,
            .n_kv_head = config->n_kv_head,
            .n_query = run->text.n,
            .n_key = attn_location_n_key(dims, at),
            .d_head = config->d_head,
            .d_value = config->d_value,
            .q = kept(comparing, attn_site_of_scores(dims, ATTN_LAYOUT_QUERY), at),
            .k = kept(comparing, attn_site_of_scores(dims, ATTN_LAYOUT_KEY), at),
            .v = kept(comparing, ATTN_SITE_V, at),
            .random_layer = (int)layer,
            .n_drawn = n_drawn,
            .compute = attn_model_compute(run->model),
        };
    inputs.attention = is_chosen ? comparing->chosen[layer] : comparing->exact[layer];
    inputs.compute = is_chosen ? inputs.compute : ATTN_COMPUTE_F32;
    inputs.pool = run->host->pool;
    inputs.cancel = run->host->options.cancel;
    inputs.gemm = run->host->options.gemm;
    inputs.isa = run->host->options.isa;
    if (!config)
        return inputs;
    inputs.attention.dropout_seed = comparing->chosen[0].dropout_seed; /* as in a session */
    if (attn_location_is_cross(dims, at) && inputs.attention.mask == ATTN_MASK_CAUSAL)
        inputs.attention.mask = ATTN_MASK_NONE; /* like a session: a source has no order */
    return inputs;
}

/* Restricts INPUTS to those of the pattern of one head. */
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
    inputs->attention.first_head += head;
    inputs->n_head = inputs->n_kv_head = 1;
}

/* Computes attention on INPUTS and calls ON_EVENT for each tensor of SELECTION. */
static enum attn_status attend(const struct attn_attend_args *inputs,
                               const struct attn_selection *selection, attn_trace_fn on_event,
                               void *user, struct attn_error *err)
{
    const struct attn_trace trace = {.selection = selection, .on_event = on_event, .user = user};
    struct attn_attend_args args = *inputs;

    args.trace = &trace;
    return attn_attend(&args, err);
}

/* --- Rows of a head --------------------------------------------------------------------------- */

/* The context of a run's events. */
struct pass {
    struct comparing *comparing;
    const struct attn_location *at; /* layer of the events; NULL: each event has its layer */
    struct attn_measurement *measurement;
};

/* Chosen rows of one head that will be compared. */
struct rows {
    struct attn_measurement *measurement;
    const struct attn_trace_event *event;
    struct attn_outputs *outputs; /* receive chosen and exact rows; or NULL */
};

/* Passes the rows CHOSEN and the same rows of EXACT attention, and their difference (chosen minus
 * exact), to OUTPUTS. A cell that only one of them has counts as 0 in the other. */
static enum attn_status draw(struct attn_outputs *outputs, const struct attn_trace_event *chosen,
                             const struct attn_trace_event *exact, struct attn_error *err)
{
    const size_t ld = chosen->n_col > exact->n_col ? chosen->n_col : exact->n_col;
    const size_t n_row = exact->n_row;
    struct attn_trace_event event = *chosen;
    enum attn_status status = ATTN_NO_MEMORY;
    float *values;
    int32_t *keys;
    size_t *n_kept;

    ATTN_TRY(attn_outputs_pair(outputs, chosen, exact, err));
    values = attn_alloc_uninitialized(n_row * ld, sizeof *values, err);
    keys = attn_alloc_uninitialized(n_row * ld, sizeof *keys, err);
    n_kept = attn_alloc(n_row, sizeof *n_kept, err);
    if (values && keys && n_kept) {
        for (size_t r = 0; r < n_row; r++) {
            struct attn_row row = attn_event_row(chosen, r), exact_row = attn_event_row(exact, r);
            struct attn_compared_key next;

            for (; attn_difference_next(&exact_row, &row, &next); n_kept[r]++) {
                keys[r * ld + n_kept[r]] = (int32_t)next.key;
                values[r * ld + n_kept[r]] = next.other - next.exact;
            }
        }
        event.n_col = event.ld = ld;
        event.data = values;
        event.keys = keys;
        event.n_kept = n_kept;
        status = attn_outputs_event(outputs, &event, err);
    }
    attn_free(values);
    attn_free(keys);
    attn_free(n_kept);
    return status;
}

/* Compares some rows with EXACT (attn_trace_fn). Both get the layer and head of the chosen
 * event. */
static enum attn_status on_exact_rows(void *user, const struct attn_trace_event *exact,
                                      struct attn_error *err)
{
    const struct rows *rows = user;
    const size_t skipped = exact->row0 - rows->event->row0;
    struct attn_trace_event part = *rows->event, named = *exact;

    attn_measurement_add(rows->measurement, rows->event, exact);
    if (!rows->outputs)
        return ATTN_OK;
    part.row0 = exact->row0;
    part.n_row = exact->n_row;
    part.data += skipped * part.ld;
    if (part.keys) {
        part.keys += skipped * part.ld;
        part.n_kept += skipped;
    }
    named.at = part.at;
    return draw(rows->outputs, &part, &named, err);
}

/* Computes the exact rows for EVENT, and compares them. */
static enum attn_status compare_pattern(const struct pass *pass,
                                        const struct attn_trace_event *event,
                                        struct attn_error *err)
{
    const struct comparing *comparing = pass->comparing;
    const bool is_local = pass->measurement == comparing->local;
    struct rows rows = {pass->measurement, event, is_local ? comparing->outputs : NULL};
    struct attn_attend_args inputs = layer_inputs(comparing, &event->at, false);
    struct attn_selection *selection;
    struct attn_dims dims;
    enum attn_status status;

    narrow(&inputs, (size_t)event->at.head);
    dims = attn_attend_dims(&inputs);
    ATTN_TRY(attn_selection_create(&dims, &selection, err));
    status = attn_selection_set_sites(selection, ATTN_SITES(ATTN_SITE_PATTERN), err);
    if (status == ATTN_OK)
        status =
            attn_selection_add_queries(selection, ATTN_STACK_ONLY, event->row0, event->n_row, err);
    if (status == ATTN_OK)
        status = attend(&inputs, selection, on_exact_rows, &rows, err);
    attn_selection_free(selection);
    return status;
}

/* Compares rows of patterns and z (attn_trace_fn). */
static enum attn_status on_rows(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    const struct pass *pass = user;
    struct attn_trace_event own = *event, exact = *event;

    if (pass->at) {
        own.at.stack = pass->at->stack;
        own.at.layer = pass->at->layer;
    }
    if (event->at.site == ATTN_SITE_PATTERN)
        return compare_pattern(pass, &own, err);
    exact.at = own.at;
    exact.data = attn_capture_head(pass->comparing->capture, &own.at) + own.row0 * own.n_col;
    exact.ld = own.n_col;
    attn_measurement_add(pass->measurement, &own, &exact);
    return ATTN_OK;
}

/* Measures the chosen attention of the layer of AT on q, k and v of the exact run. */
static enum attn_status compare_locally(struct comparing *comparing, const struct attn_location *at,
                                        struct attn_error *err)
{
    const struct attn_attend_args inputs = layer_inputs(comparing, at, true);
    const struct attn_dims dims = attn_attend_dims(&inputs);
    struct pass pass = {comparing, at, comparing->local};
    struct attn_location head = *at, of_arrays = {0};
    struct attn_selection *selection;
    enum attn_status status;

    ATTN_TRY(attn_selection_create(&dims, &selection, err));
    status = ATTN_OK;
    for (head.head = 0; status == ATTN_OK && head.head < (int)dims.n_head; head.head++) {
        of_arrays.head = head.head;
        if (attn_selection_has_head(comparing->run->selection, &head))
            status = attn_selection_add_head(selection, &of_arrays, err);
    }
    for (size_t query = 0; status == ATTN_OK && query < dims.n_position; query++)
        if (attn_selection_has_query(comparing->run->selection, ATTN_STACK_ONLY, query))
            status = attn_selection_add_queries(selection, ATTN_STACK_ONLY, query, 1, err);
    if (status == ATTN_OK)
        status = attend(&inputs, selection, on_rows, &pass, err);
    attn_selection_free(selection);
    return status;
}

/* --- Cost of attention ------------------------------------------------------------------------ */

/* Returns the number of floats that one head needs between q, k, v and z. */
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

static enum attn_status ignore(void *user, const struct attn_trace_event *event,
                               struct attn_error *err)
{
    (void)user, (void)event, (void)err;
    return ATTN_OK;
}

/* Measures the time of the attention up to z, or up to the weights if there are no values. */
static enum attn_status measure(const struct attn_attend_args *inputs, double *seconds,
                                struct attn_error *err)
{
    const struct attn_dims dims = attn_attend_dims(inputs);
    const struct attn_site_set z = ATTN_SITES(ATTN_SITE_Z),
                               weights = ATTN_SITES(ATTN_SITE_PATTERN, ATTN_SITE_PATTERN_LOWRANK);
    struct attn_selection *selection;
    enum attn_status status;
    double begun;

    ATTN_TRY(attn_selection_create(&dims, &selection, err));
    status = attn_selection_set_sites(
        selection, attn_sites_meet(dims.sites, z) ? z : attn_sites_common(dims.sites, weights),
        err);
    begun = attn_clock_seconds();
    if (status == ATTN_OK)
        status = attend(inputs, selection, ignore, NULL, err);
    *seconds = attn_clock_seconds() - begun;
    attn_selection_free(selection);
    return status;
}

/* Determines the cost of the chosen or the exact attention in the layer of AT: pairs are counted,
 * bytes are derived from them, time is measured. */
static enum attn_status find_cost(const struct comparing *comparing, const struct attn_location *at,
                                  bool is_chosen, struct attn_attention_cost *cost,
                                  struct attn_error *err)
{
    const struct attn_attend_args inputs = layer_inputs(comparing, at, is_chosen);
    struct attn_location head = *at;

    *cost = (struct attn_attention_cost){0};
    for (head.head = 0; head.head < (int)inputs.n_head; head.head++) {
        const uint64_t n_pair =
            attn_attention_n_pair(&inputs.attention, inputs.n_query, inputs.n_key, &head);

        cost->n_pair = attn_saturated_add(cost->n_pair, n_pair);
        cost->n_byte = attn_saturated_add(
            cost->n_byte, attn_saturated_mul(sizeof(float), n_float(&inputs, n_pair)));
    }
    return measure(&inputs, &cost->seconds, err);
}

/* --- Next tokens ------------------------------------------------------------------------------ */

/* Some consecutive positions, and the logits of both runs at them. */
struct block {
    struct attn_logit_rows exact, chosen;
    size_t n_vocab;
    struct attn_compared_logits *logits; /* [exact.n] */
};

static void compare_row(void *context, size_t task, int worker)
{
    const struct block *block = context;
    const float *exact = block->exact.logits + task * block->n_vocab;
    const float *chosen = block->chosen.logits + task * block->n_vocab;

    (void)worker;
    block->logits[task] = (struct attn_compared_logits){
        .position = block->exact.first + task,
        .kl = attn_logits_kl(exact, chosen, block->n_vocab),
        .exact_first = attn_logits_first(exact, block->n_vocab),
        .chosen_first = attn_logits_first(chosen, block->n_vocab),
    };
}

/* Compares the logits of the two runs after the selected queries. LOGITS has one row per query; for
 * a classifier of pictures, one row for the picture. */
static enum attn_status compare_logits(struct comparing *comparing,
                                       struct attn_compared_logits *logits, struct attn_error *err)
{
    const struct attn_run *run = comparing->run;
    const bool is_classifier = attn_model_is_classifier(run->model);
    const struct attn_logit_rows all = {.session = comparing->exact_run,
                                        .selection = is_classifier ? NULL : run->selection,
                                        .end = is_classifier ? 1 : run->text.n};
    struct block block = {all, all, comparing->config->n_vocab, logits};

    block.chosen.session = comparing->chosen_run;
    while (attn_logit_rows_next(&block.exact, err)) {
        enum attn_status status = attn_host_check_canceled(run->host, err);

        if (status == ATTN_OK && attn_logit_rows_next(&block.chosen, err))
            attn_pool_run(run->host->pool, block.exact.n, compare_row, &block);
        block.logits += block.exact.n;
        block.exact.status = status == ATTN_OK ? block.chosen.status : status;
    }
    attn_logit_rows_end(&block.chosen);
    return attn_logit_rows_end(&block.exact);
}

/* --- The runs --------------------------------------------------------------------------------- */

/* Returns the exact attention of a layer: full attention, or the window if the model's own layer
 * has one, which for a picture is a block of its grid. */
static struct attn_attention find_exact_kind(const struct comparing *comparing, size_t layer)
{
    struct attn_attention own = ATTN_ATTENTION_DEFAULT;

    if (comparing->config)
        own = comparing->config->attention[layer];
    attn_attention_resolve_grid(&own, comparing->run->text.grid.n_col);
    return own.kind == ATTN_ATTENTION_BLOCK || own.kind == ATTN_ATTENTION_WINDOW
               ? own
               : ATTN_ATTENTION_DEFAULT;
}

static enum attn_status check(const struct comparing *comparing, struct attn_error *err)
{
    const struct attn_site_set known = ATTN_SITES(ATTN_SITE_PATTERN, ATTN_SITE_Z);
    struct attn_location first = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};

    if (comparing->settings.n_recalled == 0 || comparing->settings.n_recalled > ATTN_MOST_RECALLED)
        return attn_error_set(err, ATTN_INVALID, "%zu keys cannot be recalled, expected 1 to %d",
                              comparing->settings.n_recalled, ATTN_MOST_RECALLED);
    /* a text with a picture has its maps by default, of which no distance is taken */
    if (comparing->run->chosen && !comparing->run->request.selection.sites)
        ATTN_TRY(attn_selection_set_sites(
            comparing->run->chosen,
            attn_sites_common(attn_selection_sites(comparing->run->chosen), known), err));
    if (!attn_sites_are_empty(
            attn_sites_without(attn_selection_sites(comparing->run->selection), known)))
        return attn_error_set(err, ATTN_INVALID,
                              "the selection holds other sites than 'pattern' and 'z'");
    if (!attn_selection_next_head(comparing->run->selection, &first))
        return attn_error_set(err, ATTN_INVALID,
                              "the selection holds no head%s, expected one or more",
                              attn_selection_dims(comparing->run->selection)->encoder
                                  ? " of the decoder, whose attention alone can be changed"
                                  : "");
    if (comparing->run->text.key_mask || comparing->run->source.key_mask)
        return attn_error_set(err, ATTN_INVALID,
                              "'`compare`' computes attention again from q and k, without "
                              "`key_mask`");
    return ATTN_OK;
}

/* Returns true if CHOSEN attention differs from EXACT attention with the same scores. */
static bool is_other(const struct attn_attention *chosen, const struct attn_attention *exact)
{
    return chosen->kind != exact->kind ||
           (chosen->kind == ATTN_ATTENTION_WINDOW && chosen->window != exact->window) ||
           (chosen->kind == ATTN_ATTENTION_BLOCK &&
            (chosen->count != exact->count || chosen->stride != exact->stride)) ||
           chosen->masking != ATTN_MASKING_INF || chosen->algorithm == ATTN_ALGORITHM_BLOCKWISE ||
           chosen->dropout > 0 || chosen->dropout_mask.cells;
}

/* Sets the chosen attention of each layer, and the exact attention with the same scores, one of
 * which must differ. */
static enum attn_status find_attention(struct comparing *comparing, struct attn_error *err)
{
    const size_t n_layer = comparing->dims.n_layer;
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};
    bool has_other =
        comparing->config && attn_model_compute(comparing->run->model) != ATTN_COMPUTE_F32;

    ATTN_TRY(ATTN_ALLOC(comparing->chosen, n_layer, err));
    ATTN_TRY(ATTN_ALLOC(comparing->exact, n_layer, err));
    while (attn_dims_next_layer(&comparing->dims, &at)) {
        const size_t layer = attn_location_index(&at);
        struct attn_attention *chosen = &comparing->chosen[layer];
        struct attn_attention *exact = &comparing->exact[layer];
        const struct attn_attention kind = find_exact_kind(comparing, layer);

        *chosen = comparing->attention[layer];
        attn_attention_resolve_stride(chosen, attn_location_n_key(&comparing->dims, &at));
        *exact = *chosen;
        exact->kind = kind.kind;
        exact->window = kind.window;
        exact->count = kind.count;
        exact->stride = kind.stride;
        exact->algorithm =
            exact->kind == ATTN_ATTENTION_FULL ? ATTN_ALGORITHM_DENSE : ATTN_ALGORITHM_AUTO;
        exact->masking = ATTN_MASKING_INF;
        exact->dropout = 0;
        exact->dropout_mask = (struct attn_mask_matrix){0};
        has_other = has_other || is_other(chosen, exact);
    }
    if (has_other)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "the attention of every layer is exact, there is nothing to compare it with");
    return attn_error_hint(
        err, "choose another, as with `attention window:64` or `algorithm blockwise`");
}

/* Feeds a new session with the chosen or the exact attention. TRACE must live as long, since the
 * session keeps one layer's keys and values and asks it which rows were computed to their end. */
static enum attn_status feed(const struct comparing *comparing, bool is_chosen,
                             const struct attn_trace *trace, struct attn_session **session,
                             struct attn_error *err)
{
    struct attn_pass pass = attn_run_pass(comparing->run);

    pass.options.cache = ATTN_CACHE_ONE_LAYER;
    pass.options.has_logits = comparing->config->output != ATTN_OUTPUT_NONE;
    pass.options.pool = comparing->run->host->pool;
    pass.options.trace = trace;
    pass.options.attention = is_chosen ? comparing->chosen : comparing->exact;
    pass.options.needs_float32 = !is_chosen;
    return attn_pass_run(&pass, session, err);
}

static void add_cost(struct attn_attention_cost *sum, const struct attn_attention_cost *cost)
{
    sum->n_pair = attn_saturated_add(sum->n_pair, cost->n_pair);
    sum->n_byte = attn_saturated_add(sum->n_byte, cost->n_byte);
    sum->seconds += cost->seconds;
}

/* Computes local error and cost of each layer. */
static enum attn_status compare_layers(struct comparing *comparing,
                                       struct attn_comparison *comparison, struct attn_error *err)
{
    for (size_t i = 0; i < comparison->n_layer; i++) {
        struct attn_compared_row *row = &comparison->layers[i];

        ATTN_TRY(compare_locally(comparing, &row->at, err));
        ATTN_TRY(find_cost(comparing, &row->at, false, &row->exact, err));
        ATTN_TRY(find_cost(comparing, &row->at, true, &row->chosen, err));
        add_cost(&comparison->all->exact, &row->exact);
        add_cost(&comparison->all->chosen, &row->chosen);
    }
    return ATTN_OK;
}

/* Runs exact attention and records q, k, v and z of layers with selected heads; q and k in the form
 * from which scores are computed. Compares each layer, then runs the chosen attention. */
static enum attn_status compare_run(struct comparing *comparing, struct attn_comparison *comparison,
                                    struct attn_error *err)
{
    struct pass pass = {comparing, NULL, comparing->propagated};
    const struct attn_trace trace = {
        .selection = comparing->run->selection, .on_event = on_rows, .user = &pass};
    const struct attn_site_set sites = ATTN_SITES(
        attn_site_of_scores(&comparing->dims, ATTN_LAYOUT_QUERY),
        attn_site_of_scores(&comparing->dims, ATTN_LAYOUT_KEY), ATTN_SITE_V, ATTN_SITE_Z);
    struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};

    ATTN_TRY(attn_selection_create(&comparing->dims, &comparing->kept, err));
    ATTN_TRY(attn_selection_set_sites(comparing->kept, sites, err));
    while (attn_dims_next_layer(&comparing->dims, &at))
        if (attn_selection_count_heads(comparing->run->selection, &at) > 0)
            ATTN_TRY(attn_selection_add_head(comparing->kept, &at, err));
    ATTN_TRY(attn_capture_create(comparing->kept, &comparing->capture, err));
    ATTN_TRY(
        feed(comparing, false, attn_capture_trace(comparing->capture), &comparing->exact_run, err));
    ATTN_TRY(compare_layers(comparing, comparison, err));
    ATTN_TRY(feed(comparing, true, &trace, &comparing->chosen_run, err));
    if (comparing->config->output != ATTN_OUTPUT_NONE) {
        comparison->n_logits = attn_model_is_classifier(comparing->run->model)
                                   ? 1
                                   : attn_selection_n_query(comparing->run->selection);
        ATTN_TRY(compare_logits(comparing, comparison->logits, err));
    }
    comparison->has_propagated = true;
    return ATTN_OK;
}

/* Compares attention on arrays; only z of exact attention is recorded. */
static enum attn_status compare_arrays(struct comparing *comparing,
                                       struct attn_comparison *comparison, struct attn_error *err)
{
    struct attn_attend_args inputs = layer_inputs(comparing, &(struct attn_location){0}, false);
    const struct attn_dims dims = attn_attend_dims(&inputs);
    const struct attn_site_set z = attn_sites_common(dims.sites, ATTN_SITES(ATTN_SITE_Z));

    ATTN_TRY(attn_selection_create(&dims, &comparing->kept, err));
    if (!attn_sites_are_empty(z)) {
        ATTN_TRY(attn_selection_set_sites(comparing->kept, z, err));
        ATTN_TRY(attn_capture_create(comparing->kept, &comparing->capture, err));
        inputs.trace = attn_capture_trace(comparing->capture);
        ATTN_TRY(attn_attend(&inputs, err));
    }
    return compare_layers(comparing, comparison, err);
}

/* --- The comparison --------------------------------------------------------------------------- */

/* Allocates the rows of C, and names them. */
static enum attn_status list_rows(const struct attn_selection *selection, struct attn_comparison *c,
                                  struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    const struct attn_location before = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};
    struct attn_compared_row *head, *layer;

    for (struct attn_location at = before; attn_selection_next_head(selection, &at);)
        c->n_head++;
    for (struct attn_location at = before; attn_dims_next_layer(dims, &at);)
        c->n_layer += attn_selection_count_heads(selection, &at) > 0;
    ATTN_TRY(ATTN_ALLOC(c->heads, c->n_head + c->n_layer + 1, err));
    ATTN_TRY(ATTN_ALLOC(c->logits, attn_selection_n_query(selection), err));
    head = c->heads;
    layer = c->layers = c->heads + c->n_head;
    c->all = c->layers + c->n_layer;
    for (struct attn_location at = before; attn_selection_next_head(selection, &at);)
        *head++ = (struct attn_compared_row){.at = at, .n = 1};
    for (struct attn_location at = before; attn_dims_next_layer(dims, &at);)
        if (attn_selection_count_heads(selection, &at) > 0)
            *layer++ = (struct attn_compared_row){.at = at,
                                                  .n = attn_selection_count_heads(selection, &at)};
    *c->all = (struct attn_compared_row){.at = {.layer = ATTN_ALL_LAYERS, .head = ATTN_ALL_HEADS},
                                         .n = c->n_layer};
    return ATTN_OK;
}

void attn_comparison_free(struct attn_comparison *comparison)
{
    if (!comparison)
        return;
    attn_free(comparison->heads);
    attn_free(comparison->logits);
    attn_free(comparison);
}

/* Fills *COMPARISON, which the caller owns even after a failure. */
static enum attn_status work(struct comparing *comparing, struct attn_comparison **comparison,
                             struct attn_error *err)
{
    const struct attn_metric *metric = attn_metric_find("difference");
    const struct attn_run *run = comparing->run;

    ATTN_TRY(attn_error_at(check(comparing, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_error_at(find_attention(comparing, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_measurement_create(metric, &comparing->settings, run->selection, run->host->pool,
                                     &comparing->local, err));
    ATTN_TRY(attn_measurement_create(metric, &comparing->settings, run->selection, run->host->pool,
                                     &comparing->propagated, err));
    ATTN_TRY(ATTN_ALLOC(*comparison, 1, err));
    ATTN_TRY(list_rows(run->selection, *comparison, err));
    ATTN_TRY(run->model ? compare_run(comparing, *comparison, err)
                        : compare_arrays(comparing, *comparison, err));
    for (struct attn_compared_row *row = (*comparison)->heads; row <= (*comparison)->all; row++) {
        attn_measurement_find(comparing->local, &row->at, row->local.values);
        attn_measurement_find(comparing->propagated, &row->at, row->propagated.values);
    }
    return ATTN_OK;
}

/* Compares, and passes differences to OUTPUTS, which may be NULL. */
static enum attn_status compare(const struct attn_run *run, size_t n_recalled,
                                struct attn_outputs *outputs, struct attn_comparison **comparison,
                                struct attn_error *err)
{
    struct comparing comparing = {.run = run,
                                  .attention = &run->arrays.attention,
                                  .settings.n_recalled = n_recalled,
                                  .outputs = outputs};
    enum attn_status status;

    if (run->model) {
        comparing.config = attn_model_config(run->model);
        comparing.attention = run->attention.layers;
        comparing.dims = attn_config_dims(comparing.config, run->text.n);
        /* allows scores with and without rotation, whichever the model has */
        comparing.dims.lacking = NULL;
        comparing.dims.n_source = run->source.n;
    } else {
        comparing.dims = attn_attend_dims(&run->arrays);
    }
    status = work(&comparing, comparison, err);
    attn_session_free(comparing.chosen_run);
    attn_session_free(comparing.exact_run);
    attn_capture_free(comparing.capture);
    attn_selection_free(comparing.kept);
    attn_free(comparing.chosen);
    attn_free(comparing.exact);
    attn_measurement_free(comparing.local);
    attn_measurement_free(comparing.propagated);
    ATTN_TRY(attn_error_at(status,
                           !run->model              ? ATTN_STAGE_OPTIONS
                           : status == ATTN_INVALID ? ATTN_STAGE_INPUT
                                                    : ATTN_STAGE_MODEL,
                           err));
    /* The cancel flag may have been set after the last check. */
    return attn_error_at(attn_host_check_canceled(run->host, err), ATTN_STAGE_MODEL, err);
}

/* Opens the outputs of RUN, whose labels select only PATTERNS, compares, and draws the
 * differences. */
static enum attn_status compare_and_draw(const struct attn_run *run, size_t n_recalled,
                                         struct attn_selection *patterns,
                                         struct attn_comparison **comparison,
                                         struct attn_error *err)
{
    const struct attn_request_outputs *asked = &run->request.outputs;
    struct attn_picture_options picture =
        asked->picture ? *asked->picture : ATTN_PICTURE_OPTIONS_DEFAULT;
    struct attn_writer_options options = ATTN_WRITER_OPTIONS_DEFAULT;
    struct attn_labels labels = *attn_run_labels(run);
    struct attn_outputs *outputs;
    struct attn_error failure = {0};
    bool is_abandoned;
    enum attn_status status;

    picture.is_difference = true;
    options.cancel = run->host->options.cancel;
    options.picture = &picture;
    labels.selection = patterns;
    ATTN_TRY(attn_selection_set_sites(patterns, ATTN_SITES(ATTN_SITE_PATTERN), err));
    ATTN_TRY(attn_outputs_create(asked->items, asked->n, &labels, &options, &outputs, err));
    status = compare(run, n_recalled, outputs, comparison, &failure);
    if (status == ATTN_OK)
        status = attn_outputs_finish(outputs, &failure);
    is_abandoned = attn_outputs_is_abandoned(outputs);
    attn_outputs_free(outputs);
    return status == ATTN_OK || is_abandoned ? ATTN_OK : attn_error_copy(err, &failure);
}

enum attn_status attn_compare(const struct attn_run *run, size_t n_recalled,
                              struct attn_comparison **comparison, struct attn_error *err)
{
    struct attn_comparison *found = NULL;
    struct attn_selection *patterns;
    enum attn_status status;

    if (!attn_is_given(run, "run", err) || !attn_is_given(comparison, "comparison", err))
        return ATTN_INVALID;
    if (run->edits.n_part > 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "a comparison is that of a run without edits");
    if (run->request.outputs.n == 0) {
        status = compare(run, n_recalled, NULL, &found, err);
    } else if (!attn_selection_has_site(run->selection, ATTN_SITE_PATTERN) ||
               !attn_sites_have(attn_selection_dims(run->selection)->sites, ATTN_SITE_PATTERN)) {
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "there are no patterns, whose difference could be drawn");
    } else {
        ATTN_TRY(attn_selection_copy(run->selection, &patterns, err));
        status = compare_and_draw(run, n_recalled, patterns, &found, err);
        attn_selection_free(patterns);
    }
    if (status == ATTN_OK)
        *comparison = found;
    else
        attn_comparison_free(found);
    return status;
}

enum attn_status attn_comparison_tabulate(const struct attn_comparison *comparison,
                                          enum attn_comparison_part part,
                                          const struct attn_labels *labels,
                                          const struct attn_tokenizer *tokenizer,
                                          struct attn_table **table, struct attn_error *err)
{
    if (!attn_is_given(comparison, "comparison", err) || !attn_is_given(labels, "labels", err) ||
        !attn_is_given(table, "table", err) ||
        !attn_is_choice(part, ATTN_COMPARISON_LOGITS + 1, "part", err))
        return ATTN_INVALID;
    return attn_compared_tabulate(
        &(struct attn_compared_run){.found = comparison, .labels = labels, .tokenizer = tokenizer},
        part, table, err);
}
