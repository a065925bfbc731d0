/* gather.c - exact attention over scattered keys. */
#include "attention/engines_internal.h"

#include "attention/keys.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

void attn_gather_plan(struct attn_gather *gather, const struct attn_gemm_engine *engine,
                      const struct attn_head_shape *shape)
{
    const size_t ld = attn_kv_ld_value(shape);
    const struct attn_gemm_shape scores = {.m = ATTN_PANEL,
                                           .n = 1,
                                           .k = shape->d_head,
                                           .lda = ATTN_PANEL,
                                           .ldb = shape->d_head,
                                           .ldc = ATTN_PANEL};
    struct attn_gemm_shape values = {.n = 1,
                                     .k = ATTN_PANEL,
                                     .lda = ld,
                                     .ldb = ATTN_PANEL,
                                     .ldc = ld,
                                     .step_a = ATTN_PANEL * ld,
                                     .step_b = ATTN_PANEL};

    gather->kernels = engine->kernels;
    gather->value_panels = attn_panels_split(shape->d_value);
    gather->scores = attn_gemm_kernel_find(engine, &scores);
    for (int kind = 0; kind < ATTN_N_PANEL_KIND; kind++) {
        const size_t panel = attn_dense_kind_panel(&gather->value_panels, kind);

        values.m = attn_panel_width(&gather->value_panels, panel);
        gather->values[kind] = attn_gemm_kernel_find(engine, &values);
    }
}

/* The buffers for one row, in the worker's scratch. */
struct gather_row {
    float *x;      /* [n_max] scores, then weights, of the gathered keys */
    float *keys;   /* [64, d_head] gathered keys, to be packed into `panel` */
    float *panel;  /* [d_head, 64] */
    float *values; /* [n_max, ld_value] */
    float *z;      /* [ld_value] */
    float *wide;   /* [shape->n_max] the row with all keys, for edits */
    void *list;    /* [ATTN_QUERY_TILE, n_max] of int32_t */
};

size_t attn_gather_scratch(const struct attn_head_shape *shape,
                           const struct attn_attention *attention)
{
    const size_t n_max = attn_keys_largest(attention, shape->n_max), ld = attn_kv_ld_value(shape);

    return attn_round_up(n_max, ATTN_PANEL) * (1 + ld) + (size_t)2 * ATTN_PANEL * shape->d_head +
           ld + shape->n_max + attn_tile_list_size(attention, shape->n_max);
}

struct gather_work {
    const struct attn_gather *gather;
    const struct attn_tile *tile;
    const struct attn_head_shape *shape;
    float scale; /* attn_tile_scale */
    struct gather_row row;
    const int32_t *keys; /* [n] */
    size_t n;
    size_t i; /* row of the tile */
    size_t n_edited;
};

/* Computes x[j] = q . k[keys[j]]. */
static void compute_products(struct gather_work *work)
{
    const struct attn_gather *gather = work->gather;
    const struct attn_tile *tile = work->tile;
    const size_t d = work->shape->d_head;

    for (size_t at = 0; !tile->given && at < work->n; at += ATTN_PANEL) {
        const size_t n = work->n - at < ATTN_PANEL ? work->n - at : ATTN_PANEL;

        for (size_t j = 0; j < n; j++)
            memcpy(work->row.keys + j * d, tile->kv->keys + (size_t)work->keys[at + j] * d,
                   d * sizeof(float));
        gather->kernels->pack_keys(work->row.keys, d, n, d, 0, work->row.panel);
        attn_gemm_kernel_run(&gather->scores, work->row.panel, tile->q + work->i * work->shape->ldq,
                             work->row.x + at, 1);
    }
    for (size_t j = 0; tile->given && j < work->n; j++)
        work->row.x[j] = tile->given[work->i * tile->n_key + (size_t)work->keys[j]];
}

/* Applies the edits of SITE. Edits name keys, so the row is scattered to all keys, with MASKED in
 * the others, edited, and gathered again. */
static void edit_row(struct gather_work *work, enum attn_site site, float masked)
{
    const struct attn_tile *tile = work->tile;
    const struct attn_edit_target target = {.at.site = site,
                                            .at.stack = tile->feed->at.stack,
                                            .at.layer = tile->feed->at.layer,
                                            .n_uncounted = tile->feed->n_uncounted,
                                            .at.head = tile->head,
                                            .row0 = tile->row0 + work->i,
                                            .n_row = 1,
                                            .n_col = tile->n_key,
                                            .ld = tile->n_key,
                                            .data = work->row.wide};

    if (!attn_tile_is_edited(tile, site))
        return;
    for (size_t j = 0; j < tile->n_key; j++)
        work->row.wide[j] = masked;
    for (size_t j = 0; j < work->n; j++)
        work->row.wide[work->keys[j]] = work->row.x[j];
    work->n_edited += attn_edits_apply(tile->feed->edits, tile->feed->n_edit,
                                       tile->feed->has_effect, tile->feed->calls, &target);
    for (size_t j = 0; j < work->n; j++)
        work->row.x[j] = work->row.wide[work->keys[j]];
}

static void edit_and_store(struct gather_work *work, enum attn_site site, float masked)
{
    float *watched = attn_tile_watched(work->tile, site);

    edit_row(work, site, masked);
    if (watched)
        memcpy(watched + work->i * work->tile->watched.ld, work->row.x, work->n * sizeof(float));
}

/* Computes z = sum of x[j] * v[keys[j]] over whole blocks of 64; beyond the last key both factors
 * are 0. */
static void compute_z(struct gather_work *work)
{
    const struct attn_gather *gather = work->gather;
    const struct attn_panels *panels = &gather->value_panels;
    const size_t ld = attn_kv_ld_value(work->shape), n = attn_round_up(work->n, ATTN_PANEL);
    float *z = work->tile->z + work->i * work->tile->feed->ldz;

    for (size_t j = 0; j < work->n; j++)
        memcpy(work->row.values + j * ld, work->tile->kv->values + (size_t)work->keys[j] * ld,
               ld * sizeof(float));
    memset(work->row.values + work->n * ld, 0, (n - work->n) * ld * sizeof(float));
    memset(work->row.x + work->n, 0, (n - work->n) * sizeof(float));
    for (size_t p = 0; p < panels->n_panel && n > 0; p++) {
        const size_t first = attn_panel_first(panels, p);

        attn_gemm_kernel_run(&gather->values[attn_dense_panel_kind(panels, p)],
                             work->row.values + first, work->row.x, work->row.z + first,
                             n / ATTN_PANEL);
    }
    for (size_t j = 0; j < work->shape->d_value; j++)
        z[j] = n > 0 ? work->row.z[j] + 0.0F : 0;
}

static void run_row(struct gather_work *work)
{
    const struct attn_tile *tile = work->tile;
    const struct attn_kernels *kernels = work->gather->kernels;
    const struct attn_tile_span span = {.i = work->i, .keys = work->keys, .n = work->n};
    const bool is_scored = attn_tile_is_scored(tile) ||
                           attn_tile_watched(tile, ATTN_SITE_ATTN_SCORES) ||
                           attn_tile_is_edited(tile, ATTN_SITE_ATTN_SCORES);
    float sink;

    compute_products(work);
    edit_and_store(work, ATTN_SITE_QK, 0);
    if (is_scored) {
        attn_tile_score(tile, kernels, &span, work->row.x, NULL);
        edit_and_store(work, ATTN_SITE_ATTN_SCORES, -INFINITY);
    }
    sink = attn_tile_softmax(
        tile, kernels,
        &(struct attn_softmax_row){work->row.x, work->n, work->n, is_scored ? 1.0F : work->scale});
    if (tile->sink_weights)
        tile->sink_weights[work->i * tile->ld_sink] = sink;
    edit_and_store(work, ATTN_SITE_PATTERN, 0);
    if (tile->feed->dropout) {
        attn_tile_drop(tile, tile->row0 + work->i, work->keys, work->n, work->row.x);
        edit_and_store(work, ATTN_SITE_PATTERN_DROPPED, 0);
    }
    if (tile->z)
        compute_z(work);
}

size_t attn_gather_run(const struct attn_gather *gather, const struct attn_tile *tile,
                       float *scratch)
{
    /* In a pack, a short sequence has the stride of its own length, so the keys of a row could
     * exceed the planned n_max. */
    const size_t n_max = attn_keys_largest(tile->feed->attention, tile->n_key);
    const struct attn_head_shape *shape = tile->feed->shape;
    const size_t ld = attn_kv_ld_value(shape);
    struct attn_tile_cells cells;
    struct gather_work work = {
        .gather = gather, .tile = tile, .shape = shape, .scale = attn_tile_scale(tile)};

    work.row.x = scratch;
    work.row.keys = work.row.x + attn_round_up(n_max, ATTN_PANEL);
    work.row.panel = work.row.keys + ATTN_PANEL * shape->d_head;
    work.row.values = work.row.panel + ATTN_PANEL * shape->d_head;
    work.row.z = work.row.values + attn_round_up(n_max, ATTN_PANEL) * ld;
    work.row.wide = work.row.z + ld;
    work.row.list = work.row.wide + shape->n_max;
    attn_tile_find_cells(tile, work.row.list, &cells);
    for (work.i = 0; work.i < tile->n_row; work.i++) {
        work.keys = cells.keys + work.i * cells.ld;
        work.n = cells.n[work.i];
        run_row(&work);
    }
    return work.n_edited;
}
