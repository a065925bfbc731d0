/* step_attention.c - attention as one of the equations of a block, and the KV cache.
 * attention/heads.h computes the heads; it calls back to ask which heads and rows are needed, and
 * to pass watched matrices to the trace. */
#include "forward/step_internal.h"

#include "attention/attention_internal.h"
#include "base/pool_internal.h"
#include "trace/blocks_internal.h"
#include "trace/trace_internal.h"

#include <string.h>

/* One sequence of the feed in the current layer. */
struct attention_step {
    struct attn_forward *f;
    size_t sequence; /* its number */
    const struct attn_feed_part *part;
    struct attn_attention attention; /* the attention of this sequence */
    struct attn_heads heads;
    struct attn_dropout dropout; /* what the heads point to, if there is dropout */
};

static bool needs_head(const void *context, int head)
{
    const struct attention_step *step = context;

    return attn_forward_needs_head(step->f, ATTN_SITE_Z, head);
}

static bool needs_rows(const void *context, size_t row0, size_t n_row)
{
    const struct attention_step *step = context;

    return attn_forward_needs_rows(step->f, step->part, row0, n_row);
}

static bool is_stopped(void *context)
{
    const struct attention_step *step = context;

    return attn_forward_is_stopped(step->f);
}

static void emit(void *context, const struct attn_trace_event *event)
{
    const struct attention_step *step = context;

    attn_visit_emit(step->f, event);
}

/* Returns the heads of STEP. Dropout, q and z are set later. */
static struct attn_heads heads_of(struct attention_step *step)
{
    struct attn_forward *f = step->f;
    const struct attn_feed_part *part = step->part;
    const struct attn_site_rows left = attn_feed_part_left(part);
    const struct attn_dims *dims = &f->dims;
    const struct attn_selection *selection = f->trace ? f->trace->selection : NULL;
    const int layer = f->feed.layer;

    return (struct attn_heads){
        .feed = {.attention = &step->attention,
                 .shape = &f->shape,
                 .sequence = step->sequence,
                 .at = attn_location_of_block(dims, ATTN_SITE_PATTERN, layer, ATTN_ALL_HEADS),
                 .random_layer = layer,
                 .row0 = left.row0,
                 .n_row = left.n_row,
                 .n_key = attn_forward_is_cross(f) ? f->n_source : part->row0 + part->n_row,
                 .ldz = dims->n_head * dims->d_value,
                 .key_mask = attn_forward_is_cross(f) ? f->source_mask : part->key_mask,
                 .edits = part->edits,
                 .n_edit = part->n_edit,
                 .has_effect = part->has_effect,
                 .n_uncounted = part->n_uncounted},
        .engines = &f->engines,
        .memory = &f->heads,
        .caller = {needs_head, needs_rows, is_stopped, emit, step},
        .pool = f->feed.pool,
        .n_worker = f->n_worker,
        .cancel = f->cancel,
        .selection = selection,
        .watched = attn_forward_watched_matrices(f, layer),
        .n_head = dims->n_head,
        .n_kv_head = dims->n_kv_head,
        .q_step = dims->d_head,
        .kv = f->kv[layer],
        .z_step = dims->d_value,
        .takes_rows = selection && attn_selection_takes_rows(selection),
    };
}

/* Keys and values of all key/value heads of a layer, side by side, to write to the KV cache. */
struct appending {
    const struct attention_step *step;
    float *k;                 /* rows.k, but writable */
    struct attn_kv_rows rows; /* the rows of head 0 */
};

static void append_head(void *context, size_t g, int worker)
{
    const struct appending *appending = context;
    const struct attn_heads *heads = &appending->step->heads;
    const struct attn_forward *f = appending->step->f;
    const size_t d_head = f->dims.d_head;
    struct attn_kv_rows rows = appending->rows;

    if (!attn_forward_needs_head(f, ATTN_SITE_K, (int)g))
        return;
    rows.k += g * d_head;
    rows.v = attn_forward_needs_head(f, ATTN_SITE_V, (int)g) ? rows.v + g * f->dims.d_value : NULL;
    if (heads->feed.attention->similarity == ATTN_SIMILARITY_COSINE)
        attn_rows_normalize(appending->k + g * d_head, rows.ldk, rows.n, d_head);
    attn_heads_append_kv(heads, g, worker, &rows);
    /* If layers and sequences share one cache, old rows beyond the new ones are erased. */
    if (!f->has_all_caches && rows.first + rows.n < f->n_cached)
        attn_kv_erase(&heads->kv[g], &f->shape, rows.first + rows.n, f->n_cached);
}

/* Writes K and V of the whole feed to the KV cache. */
static void append_rows(const struct attention_step *step, float *k, const float *v)
{
    const struct attn_forward *f = step->f;
    const struct attn_site_rows rows = attn_forward_rows(f, ATTN_SITE_K, step->sequence);
    const size_t n_kv_head = f->dims.n_kv_head;
    const size_t ldk = n_kv_head * f->dims.d_head, ldv = n_kv_head * f->dims.d_value;
    struct appending appending = {.step = step,
                                  .k = k + rows.first * ldk,
                                  .rows = {.k = k + rows.first * ldk,
                                           .v = v + rows.first * ldv,
                                           .ldk = ldk,
                                           .ldv = ldv,
                                           .first = rows.row0,
                                           .n = rows.n_row}};
    const bool is_shared = attn_attention_engine(&step->attention) != ATTN_ENGINE_LOWRANK;

    /* Low-rank attention uses one scratch buffer, so its heads run one after the other. */
    if (rows.n_row > 0)
        attn_pool_run(is_shared ? f->feed.pool : NULL, n_kv_head, append_head, &appending);
}

/* Whether LAYER has a cache that no earlier layer has. */
static bool has_own_cache(const struct attn_forward *f, size_t layer)
{
    return f->kv[layer] && attn_forward_cache_layer(f, layer) == layer;
}

void attn_kv_cache_clear(struct attn_forward *f)
{
    for (size_t layer = 0; layer < f->dims.n_layer; layer++) {
        const struct attn_head_shape shape = attn_forward_shape(f, layer);

        if (has_own_cache(f, layer))
            attn_kv_clear(f->kv[layer], &shape,
                          attn_config_layer_dims(&f->model->config, layer).n_kv_head);
    }
}

void attn_kv_cache_truncate(struct attn_forward *f, size_t n)
{
    for (size_t layer = 0; layer < f->dims.n_layer && n < f->n_cached; layer++) {
        const struct attn_layer_dims own = attn_config_layer_dims(&f->model->config, layer);
        const struct attn_head_shape shape = attn_forward_shape(f, layer);

        if (!has_own_cache(f, layer) || (n > 0 && f->model->config.is_cross[layer]))
            continue;
        for (size_t g = 0; g < own.n_kv_head; g++) {
            attn_kv_erase(&f->kv[layer][g], &shape, n, f->n_cached);
            f->kv[layer][g].n_summed = 0;
        }
    }
    f->n_cached = n == 0 || n > f->n_source ? n : f->n_source;
}

static void attend(struct attention_step *step, float *q)
{
    struct attn_forward *f = step->f;
    const struct attn_attention *attention = &step->attention;
    const size_t n_row = attn_feed_part_left(step->part).n_row;
    const bool is_given = attention->dropout_mask.cells;

    if (attention->similarity == ATTN_SIMILARITY_COSINE)
        for (size_t h = 0; h < f->dims.n_head; h++)
            attn_rows_normalize(q + h * f->dims.d_head, f->shape.ldq, n_row, f->dims.d_head);
    if (attention->dropout > 0 || is_given) {
        const size_t n_query = step->part->n_row, n_key = step->heads.feed.n_key;

        if (!is_given)
            attn_dropout_draw(&f->dropouts[step->sequence], attention->dropout,
                              f->dims.n_head * n_query * n_key, f->heads.dropout);
        /* The weights of the layer that dropout keeps. */
        step->dropout = (struct attn_dropout){.given = is_given ? &attention->dropout_mask : NULL,
                                              .bits = f->heads.dropout,
                                              .n_query = n_query,
                                              .n_key = n_key,
                                              .factor = 1.0F / (float)(1 - attention->dropout)};
        step->heads.feed.dropout = &step->dropout;
    }
    if (f->n_engine_row != n_row)
        attn_engines_plan(&f->engines, &f->engine, &f->shape, f->attention, f->dims.n_layer, n_row);
    f->n_engine_row = n_row;
    if (attn_edits_have_matrix_function(step->part->edits, step->part->n_edit, f->feed.layer))
        attn_functions_run(f, &step->heads);
    else
        attn_visit_count(f, step->sequence, attn_heads_run(&step->heads));
}

/* Computes what places add to the scores of the sequence. */
static void add_places(struct attention_step *step, const float *q, const float *k)
{
    struct attn_forward *f = step->f;
    const size_t ldk = f->dims.n_kv_head * f->dims.d_head;

    attn_places_make(f, &(struct attn_place_rows){.layer = f->feed.layer,
                                                  .q = q,
                                                  .k = k + step->part->first * ldk,
                                                  .row0 = step->heads.feed.row0,
                                                  .n_query = step->heads.feed.n_row,
                                                  .n_key = step->heads.feed.n_key,
                                                  .pool = f->feed.pool});
    step->heads.feed.places = &f->place_terms;
    attn_places_emit(f, &step->heads.feed);
}

void attn_attention_step(struct attn_forward *f, float *q, float *k, const float *v, float *z)
{
    attn_step_finish(f);
    for (size_t i = 0; i < f->feed.n_part && !attn_forward_is_over(f); i++) {
        struct attention_step step = {
            .f = f, .sequence = i, .part = &f->parts[i], .attention = f->attention[f->feed.layer]};
        float *part_q = q + step.part->left * f->shape.ldq;

        if (f->feed.is_pack && f->has_own_stride[f->feed.layer]) {
            /* A sequence of a pack is whole, and its stride depends on its length. */
            step.attention.stride = 0;
            attn_attention_resolve_stride(&step.attention, step.part->n_row);
        }
        step.heads = heads_of(&step);
        step.heads.q = part_q;
        if (attn_forward_watches(f, ATTN_SITE_SINK))
            step.heads.sink_weights = f->sinks + step.part->left * f->dims.n_head;
        if (attn_forward_needs(f, ATTN_SITE_Z))
            step.heads.z = z + step.part->left * step.heads.feed.ldz;
        append_rows(&step, k, v);
        if (attn_has_places(f, f->feed.layer) && attn_forward_needs(f, ATTN_SITE_C2P))
            add_places(&step, part_q, k);
        if (attn_forward_needs(f, ATTN_SITE_QK))
            attend(&step, part_q);
    }
    if (attn_forward_is_over(f))
        return;
    attn_visit(f, ATTN_SITE_Z, z);
    if (attn_forward_watches(f, ATTN_SITE_SINK))
        attn_visit(f, ATTN_SITE_SINK, f->sinks);
}
