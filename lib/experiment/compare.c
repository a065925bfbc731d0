/*
 * compare.c - the order of a comparison: the exact run, each layer beside it, the other run, the
 * predictions of both, and the sums.
 */
#include "experiment/compare.h"

#include "attention/attention.h"
#include "base/memory.h"
#include "experiment/comparing.h"

#include <string.h>

static void release(struct attn_comparing *comparing)
{
    attn_session_free(comparing->run);
    attn_session_free(comparing->exact_run);
    attn_capture_free(comparing->capture);
    attn_selection_free(comparing->kept);
    attn_free(comparing->chosen);
    attn_free(comparing->exact);
    attn_free(comparing->local);
    attn_free(comparing->propagated);
    attn_free(comparing->row_difference);
    attn_free(comparing->is_row_counted);
}

static enum attn_status check(const struct attn_comparing *comparing, struct attn_error *err)
{
    const uint64_t known = ATTN_SITE_BIT(ATTN_SITE_PATTERN) | ATTN_SITE_BIT(ATTN_SITE_Z);
    size_t n_head = 0;

    if (comparing->n_recalled == 0 || comparing->n_recalled > ATTN_MOST_RECALLED)
        return attn_error_set(err, ATTN_INVALID, "%zu keys cannot be recalled, expected 1 to %d",
                              comparing->n_recalled, ATTN_MOST_RECALLED);
    if ((attn_selection_sites(comparing->selection) & ~known) != 0)
        return attn_error_set(err, ATTN_INVALID,
                              "the selection holds other sites than 'pattern' and 'z'");
    for (int layer = 0; layer < (int)comparing->dims.n_layer; layer++)
        n_head += attn_selection_n_head(comparing->selection, layer);
    if (n_head == 0)
        return attn_error_set(err, ATTN_INVALID,
                              "the selection holds no head, expected one or more");
    return ATTN_OK;
}

/* ATTENTION [n_layer], and the exact attention of the same scores. */
static void settle(struct attn_comparing *comparing, const struct attn_attention *attention)
{
    for (size_t layer = 0; layer < comparing->dims.n_layer; layer++) {
        struct attn_attention *chosen = &comparing->chosen[layer];
        struct attn_attention *exact = &comparing->exact[layer];

        *chosen = attention[layer];
        attn_attention_resolve_stride(chosen, attn_site_n_key(&comparing->dims, (int)layer));
        *exact = *chosen;
        exact->kind = ATTN_ATTENTION_FULL;
        exact->algorithm = ATTN_ALGORITHM_DENSE;
        exact->masking = ATTN_MASKING_INF;
        exact->dropout = 0;
        exact->dropout_mask = (struct attn_mask_matrix){0};
    }
}

/* What is kept of the exact run: q, k, v and z of the layers with selected heads. */
static enum attn_status choose_kept(struct attn_comparing *comparing, struct attn_error *err)
{
    const uint64_t sites = ATTN_SITE_BIT(ATTN_SITE_Q) | ATTN_SITE_BIT(ATTN_SITE_K) |
                           ATTN_SITE_BIT(ATTN_SITE_V) | ATTN_SITE_BIT(ATTN_SITE_Z);
    enum attn_status status = attn_selection_create(&comparing->dims, &comparing->kept, err);

    if (status == ATTN_OK)
        status = attn_selection_set_sites(comparing->kept, sites, err);
    for (int layer = 0; status == ATTN_OK && layer < (int)comparing->dims.n_layer; layer++)
        if (attn_selection_n_head(comparing->selection, layer) > 0)
            status = attn_selection_keep(comparing->kept, layer, ATTN_ALL_HEADS, err);
    if (status == ATTN_OK)
        status = attn_capture_create(comparing->kept, &comparing->capture, err);
    return status;
}

static enum attn_status prepare(struct attn_comparing *comparing,
                                const struct attn_attention *attention, struct attn_error *err)
{
    const size_t n_layer = comparing->dims.n_layer, n = comparing->dims.n_position;
    const size_t n_head = n_layer * comparing->dims.n_head;
    enum attn_status status = check(comparing, err);

    if (status != ATTN_OK)
        return status;
    comparing->chosen = attn_alloc(n_layer, sizeof *comparing->chosen, err);
    comparing->exact = attn_alloc(n_layer, sizeof *comparing->exact, err);
    comparing->local = attn_alloc(n_head, sizeof *comparing->local, err);
    comparing->propagated = attn_alloc(n_head, sizeof *comparing->propagated, err);
    comparing->row_difference = attn_alloc(n, sizeof *comparing->row_difference, err);
    comparing->is_row_counted = attn_alloc(n, sizeof *comparing->is_row_counted, err);
    if (comparing->chosen == NULL || comparing->exact == NULL || comparing->local == NULL ||
        comparing->propagated == NULL || comparing->row_difference == NULL ||
        comparing->is_row_counted == NULL)
        return ATTN_NO_MEMORY;
    settle(comparing, attention);
    return ATTN_OK;
}

/* Feeds a new session that computes what was chosen, or what is exact. */
static enum attn_status feed(const struct attn_comparing *comparing, bool is_chosen,
                             const struct attn_trace *trace, struct attn_session **session,
                             struct attn_error *err)
{
    const struct attn_compare_args *args = comparing->args;
    struct attn_session_options options = ATTN_SESSION_OPTIONS_DEFAULT;
    enum attn_status status;

    options.n_max = args->n;
    options.n_source = args->n_source;
    options.cache = ATTN_CACHE_ONE_LAYER;
    options.has_logits = comparing->config->output != ATTN_OUTPUT_NONE;
    options.pool = args->pool;
    options.trace = trace;
    options.attention = is_chosen ? comparing->chosen : comparing->exact;
    options.needs_float32 = !is_chosen;
    options.cancel = args->cancel;
    options.gemm = args->gemm;
    options.isa = args->isa;
    status = attn_session_create(args->model, &options, session, err);
    if (status == ATTN_OK && args->n_source > 0)
        status = attn_session_set_source(*session, args->source, args->n_source, err);
    if (status != ATTN_OK)
        return status;
    return args->embeddings != NULL
               ? attn_session_feed_embeddings(*session, args->embeddings, args->n, err)
               : attn_session_feed(*session, args->ids, args->n, err);
}

/* Each layer by itself: error and cost. */
static enum attn_status compare_layers(struct attn_comparing *comparing,
                                       struct attn_comparison *comparison, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    for (int layer = 0; status == ATTN_OK && layer < (int)comparing->dims.n_layer; layer++) {
        struct attn_compared_layer *found = &comparison->layers[comparison->n_layer];

        if (attn_selection_n_head(comparing->selection, layer) == 0)
            continue;
        found->layer = layer;
        comparison->n_layer++;
        status = attn_compare_locally(comparing, layer, err);
        if (status == ATTN_OK)
            status =
                attn_compare_cost(comparing, layer, &comparing->exact[layer], &found->exact, err);
        if (status == ATTN_OK)
            status =
                attn_compare_cost(comparing, layer, &comparing->chosen[layer], &found->chosen, err);
    }
    return status;
}

/* The sums of a head, a layer, or everything; and what comes of them. */
struct sums {
    struct attn_difference_sums local, propagated;
};

static void add(struct sums *sums, const struct sums *other)
{
    attn_difference_add(&sums->local, &other->local);
    attn_difference_add(&sums->propagated, &other->propagated);
}

static void add_up(const struct attn_comparing *comparing, struct attn_comparison *comparison)
{
    const size_t n_head = comparing->dims.n_head;
    struct sums all = {0};

    for (size_t i = 0; i < comparison->n_layer; i++) {
        struct attn_compared_layer *layer = &comparison->layers[i];
        struct sums sums = {0};

        for (size_t head = 0; head < n_head; head++) {
            struct attn_compared_head *found = &comparison->heads[comparison->n_head];
            const size_t at = (size_t)layer->layer * n_head + head;
            const struct sums own = {comparing->local[at], comparing->propagated[at]};

            if (!attn_selection_has_head(comparing->selection, layer->layer, (int)head))
                continue;
            comparison->n_head++;
            found->layer = layer->layer;
            found->head = (int)head;
            attn_difference_finish(&own.local, &found->local);
            attn_difference_finish(&own.propagated, &found->propagated);
            add(&sums, &own);
        }
        attn_difference_finish(&sums.local, &layer->local);
        attn_difference_finish(&sums.propagated, &layer->propagated);
        add(&all, &sums);
    }
    attn_difference_finish(&all.local, &comparison->local);
    attn_difference_finish(&all.propagated, &comparison->propagated);
}

static enum attn_status compare_run(struct attn_comparing *comparing,
                                    struct attn_comparison *comparison, struct attn_error *err)
{
    struct attn_head_pass pass = {comparing, ATTN_ALL_LAYERS, comparing->propagated};
    const struct attn_trace trace = {comparing->selection, attn_compare_event, &pass};
    enum attn_status status = choose_kept(comparing, err);

    if (status == ATTN_OK)
        status = feed(comparing, false, attn_capture_trace(comparing->capture),
                      &comparing->exact_run, err);
    if (status == ATTN_OK)
        status = compare_layers(comparing, comparison, err);
    if (status == ATTN_OK)
        status = feed(comparing, true, &trace, &comparing->run, err);
    if (status == ATTN_OK && comparing->config->output != ATTN_OUTPUT_NONE) {
        comparison->n_logits = attn_selection_n_query(comparing->selection);
        status = attn_compare_logits(comparing, comparison->logits, err);
    }
    comparison->has_propagated = true;
    add_up(comparing, comparison);
    return status;
}

/* Of arrays only z of the exact attention is kept. */
static enum attn_status compare_arrays(struct attn_comparing *comparing,
                                       struct attn_comparison *comparison, struct attn_error *err)
{
    struct attn_attend_args inputs = attn_comparing_inputs(comparing, 0, comparing->exact);
    const struct attn_dims dims = attn_attend_dims(&inputs);
    const uint64_t z = dims.sites & ATTN_SITE_BIT(ATTN_SITE_Z);
    enum attn_status status = attn_selection_create(&dims, &comparing->kept, err);

    if (status == ATTN_OK && z != 0) {
        status = attn_selection_set_sites(comparing->kept, z, err);
        if (status == ATTN_OK)
            status = attn_capture_create(comparing->kept, &comparing->capture, err);
        if (status == ATTN_OK) {
            inputs.trace = attn_capture_trace(comparing->capture);
            status = attn_attend(&inputs, err);
        }
    }
    if (status == ATTN_OK)
        status = compare_layers(comparing, comparison, err);
    add_up(comparing, comparison);
    return status;
}

/* Room for what will be found: [n_layer, H] heads at most. */
static enum attn_status create(const struct attn_comparing *comparing,
                               struct attn_comparison **comparison, struct attn_error *err)
{
    const size_t n_layer = comparing->dims.n_layer, n_head = comparing->dims.n_head;
    const size_t n_query = attn_selection_n_query(comparing->selection);
    struct attn_comparison *c = attn_alloc(1, sizeof *c, err);

    if (c == NULL)
        return ATTN_NO_MEMORY;
    c->heads = attn_alloc(n_layer * n_head, sizeof *c->heads, err);
    c->layers = attn_alloc(n_layer, sizeof *c->layers, err);
    c->logits = attn_alloc(n_query, sizeof *c->logits, err);
    if (c->heads == NULL || c->layers == NULL || c->logits == NULL) {
        attn_comparison_free(c);
        return ATTN_NO_MEMORY;
    }
    *comparison = c;
    return ATTN_OK;
}

/* Makes what COMPARING is about, by RUN. */
static enum attn_status compare(
    struct attn_comparing *comparing, const struct attn_attention *attention,
    enum attn_status (*run)(struct attn_comparing *, struct attn_comparison *, struct attn_error *),
    struct attn_comparison **comparison, struct attn_error *err)
{
    struct attn_comparison *made = NULL;
    enum attn_status status = prepare(comparing, attention, err);

    if (status == ATTN_OK)
        status = create(comparing, &made, err);
    if (status == ATTN_OK)
        status = run(comparing, made, err);
    release(comparing);
    if (status != ATTN_OK)
        goto fail;
    *comparison = made;
    return ATTN_OK;
fail:
    attn_comparison_free(made);
    return status;
}

enum attn_status attn_compare_run(const struct attn_compare_args *args,
                                  struct attn_comparison **comparison, struct attn_error *err)
{
    struct attn_comparing comparing = {.args = args,
                                       .config = attn_model_config(args->model),
                                       .selection = args->selection,
                                       .n_recalled = args->n_recalled,
                                       .pool = args->pool};

    comparing.dims = attn_config_dims(comparing.config, args->n);
    comparing.dims.n_source = args->n_source;
    return compare(&comparing, args->attention, compare_run, comparison, err);
}

enum attn_status attn_compare_attend(const struct attn_attend_args *args,
                                     const struct attn_selection *selection, size_t n_recalled,
                                     struct attn_comparison **comparison, struct attn_error *err)
{
    struct attn_comparing comparing = {.arrays = args,
                                       .dims = attn_attend_dims(args),
                                       .selection = selection,
                                       .n_recalled = n_recalled,
                                       .pool = args->pool};

    return compare(&comparing, &args->attention, compare_arrays, comparison, err);
}

void attn_comparison_free(struct attn_comparison *comparison)
{
    if (comparison == NULL)
        return;
    attn_free(comparison->heads);
    attn_free(comparison->layers);
    attn_free(comparison->logits);
    attn_free(comparison);
}
