/*
 * attention_step.c - see attention_step.h. attention/heads.h computes the heads; it calls back to
 * find out which heads and rows are needed, and to give watched matrices to the trace.
 */
#include "model/attention_step.h"

#include <string.h>

/* --- callbacks of heads.h --------------------------------------------------------------------- */

static bool needs_head(const void *context, int head)
{
    return attn_forward_needs_head(context, ATTN_SITE_Z, head);
}

/* Whether a later feed depends on z of some row, or a watcher of a later site. Earlier layers need
 * all of them. */
static bool needs_rows(const void *context, size_t row0, size_t n_row)
{
    const struct attn_forward *f = context;
    const size_t last = f->feed.row0 + f->feed.n_row - 1;
    const int n_layer = (int)f->dims.n_layer;
    const int last_layer = f->end.layer < n_layer ? f->end.layer : n_layer - 1;

    if (f->feed.layer != last_layer)
        return true;
    /* A rewind may make any position the last, unless only a reset is possible. */
    if (f->has_logits && (f->is_rewindable || row0 + n_row > last))
        return true;
    for (size_t row = row0; row < row0 + n_row; row++)
        if (attn_forward_watches_row(f, row))
            return true;
    return false;
}

static bool is_stopped(void *context)
{
    return attn_forward_is_stopped(context);
}

static void tell(void *context, const struct attn_trace_event *event)
{
    attn_visit_tell(context, event);
}

/* The current layer, without dropout, q and z. */
static struct attn_heads heads_of(struct attn_forward *f)
{
    const struct attn_dims *dims = &f->dims;
    const struct attn_selection *selection = f->trace != NULL ? f->trace->selection : NULL;
    const int layer = f->feed.layer;
    const size_t n_position = f->feed.row0 + f->feed.n_row;

    return (struct attn_heads){
        .feed = {.attention = &f->attention[layer],
                 .shape = &f->shape,
                 .layer = layer,
                 .random_layer = layer,
                 .row0 = f->feed.row0,
                 .n_row = f->feed.n_row,
                 .n_key = attn_forward_is_cross(f) ? f->n_source : n_position,
                 .ldz = dims->n_head * dims->d_value,
                 .edits = f->edits,
                 .n_edit = f->n_edit},
        .engines = &f->engines,
        .memory = &f->heads,
        .caller = {needs_head, needs_rows, is_stopped, tell, f},
        .pool = f->feed.pool,
        .n_worker = f->n_worker,
        .cancel = f->cancel,
        .selection = selection,
        .watched = attn_heads_watched_sites(selection, layer),
        .n_head = dims->n_head,
        .n_kv_head = dims->n_kv_head,
        .q_step = dims->d_head,
        .kv = &f->kv[(size_t)layer % f->n_cache_layer * dims->n_kv_head],
        .z_step = dims->d_value,
    };
}

/* --- the KV cache ----------------------------------------------------------------------------- */

/* The rows of all key/value heads of a layer, side by side, on their way into the KV cache. */
struct appending {
    const struct attn_forward *f;
    const struct attn_heads *heads;
    float *k;                 /* rows.k */
    struct attn_kv_rows rows; /* of head 0 */
};

static void append_head(void *context, size_t g, int worker)
{
    const struct appending *appending = context;
    const struct attn_forward *f = appending->f;
    const size_t d_head = f->dims.d_head;
    struct attn_kv_rows rows = appending->rows;

    (void)worker;
    if (!attn_forward_needs_head(f, ATTN_SITE_K, (int)g))
        return;
    rows.k += g * d_head;
    rows.v = attn_forward_needs_head(f, ATTN_SITE_V, (int)g) ? rows.v + g * f->dims.d_value : NULL;
    if (appending->heads->feed.attention->similarity == ATTN_SIMILARITY_COSINE)
        attn_rows_normalize(appending->k + g * d_head, rows.ldk, rows.n, d_head);
    attn_heads_append_kv(appending->heads, g, &rows);
    /* Layers that share one cache may have held more rows before. */
    if (f->n_cache_layer == 1 && f->n_source > 0)
        attn_kv_erase(&appending->heads->kv[g], &f->shape, rows.first + rows.n, f->shape.n_max);
}

static void append_rows(struct attn_forward *f, const struct attn_heads *heads, float *k,
                        const float *v)
{
    const struct attn_site_part part = attn_forward_part(f, ATTN_SITE_K);
    const size_t n_kv_head = part.n_head;
    struct appending appending = {.f = f,
                                  .heads = heads,
                                  .k = k,
                                  .rows = {.k = k,
                                           .v = v,
                                           .ldk = n_kv_head * f->dims.d_head,
                                           .ldv = n_kv_head * f->dims.d_value,
                                           .first = part.row0,
                                           .n = part.n_row}};
    const bool is_shared = attn_attention_engine(heads->feed.attention) != ATTN_ENGINE_LOWRANK;

    /* Low-rank attention mixes one head after the other in one scratch. */
    if (part.n_row > 0)
        attn_pool_run(is_shared ? f->feed.pool : NULL, n_kv_head, append_head, &appending);
}

void attn_kv_cache_truncate(struct attn_forward *f, size_t n)
{
    const size_t n_kv_head = f->dims.n_kv_head;

    for (size_t i = 0; i < f->n_cache_layer * n_kv_head; i++)
        if (n < f->n_cached && (n == 0 || !f->model->config.is_cross[i / n_kv_head])) {
            attn_kv_erase(&f->kv[i], &f->shape, n, f->n_cached);
            f->kv[i].n_summed = 0;
        }
    f->n_cached = n == 0 || n > f->n_source ? n : f->n_source;
}

/* --- attention -------------------------------------------------------------------------------- */

/* Which weights of the layer stay; draws them when they were not given. */
static struct attn_dropout find_dropout(struct attn_forward *f, size_t n_key)
{
    const struct attn_attention *attention = &f->attention[f->feed.layer];
    const size_t n_query = f->feed.n_row;

    if (attention->dropout_mask.cells == NULL)
        attn_dropout_draw(&f->dropout, attention->dropout, f->dims.n_head * n_query * n_key,
                          f->heads.dropout);
    return (struct attn_dropout){
        .given = attention->dropout_mask.cells != NULL ? &attention->dropout_mask : NULL,
        .bits = f->heads.dropout,
        .n_query = n_query,
        .n_key = n_key,
        .factor = 1.0F / (float)(1 - attention->dropout),
    };
}

static void attend(struct attn_forward *f, struct attn_heads heads, float *q)
{
    const struct attn_attention *attention = heads.feed.attention;
    struct attn_dropout dropout;

    if (attention->similarity == ATTN_SIMILARITY_COSINE)
        for (size_t h = 0; h < f->dims.n_head; h++)
            attn_rows_normalize(q + h * f->dims.d_head, f->shape.ldq, f->feed.n_row,
                                f->dims.d_head);
    if (attention->dropout > 0 || attention->dropout_mask.cells != NULL) {
        dropout = find_dropout(f, heads.feed.n_key);
        heads.feed.dropout = &dropout;
    }
    f->n_edited += attn_heads_run(&heads);
}

void attn_attention_step(struct attn_forward *f, float *q, float *k, const float *v, float *z)
{
    struct attn_heads heads;

    attn_step_finish(f);
    if (attn_forward_is_over(f))
        return;
    heads = heads_of(f);
    heads.q = q;
    heads.z = attn_forward_needs(f, ATTN_SITE_Z) ? z : NULL;
    append_rows(f, &heads, k, v);
    if (attn_forward_needs(f, ATTN_SITE_QK))
        attend(f, heads, q);
    attn_visit(f, ATTN_SITE_Z, z);
}
