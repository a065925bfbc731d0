/*
 * dense.c - scores, softmax and the weighted sum of values, tile by tile.
 *
 * z[t,:] = sum_s pattern[t,s] * v[s,:] runs over whole panels of 64 keys: pattern is +0 behind a
 * row's last key and values are finite there, so the added terms change nothing. The one thing they
 * could change is the sign of a zero, so z is canonical: adding +0 turns -0 into +0.
 */
#include "attention/dense.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Floats from one row of the tile's scores to the next; off the multiples of 4 KiB that crowd one
 * cache set. */
static size_t ld_scores(const struct attn_dense_shape *shape)
{
    return round_up(shape->n_max, ATTN_KEY_BLOCK) + 16;
}

size_t attn_dense_ld_value(const struct attn_dense_shape *shape)
{
    const struct attn_panels panels = attn_panels_split(shape->d_value);
    const size_t last = panels.n_panel - 1;

    return attn_panel_first(&panels, last) + attn_panel_width(&panels, last);
}

size_t attn_dense_keys_size(const struct attn_dense_shape *shape)
{
    return round_up(shape->n_max, ATTN_KEY_BLOCK) * shape->d_head;
}

size_t attn_dense_values_size(const struct attn_dense_shape *shape)
{
    return round_up(shape->n_max, ATTN_KEY_BLOCK) * attn_dense_ld_value(shape);
}

size_t attn_dense_scratch(const struct attn_dense_shape *shape)
{
    return ATTN_QUERY_TILE * (ld_scores(shape) + attn_dense_ld_value(shape));
}

float attn_attention_scale(const struct attn_attention *attention, size_t d_head)
{
    if (!attention->is_scaled)
        return (float)attention->factor;
    return (float)(attention->factor / (sqrt((double)d_head) + attention->eps));
}

void attn_kv_write(const struct attn_kv *kv, const struct attn_dense_shape *shape,
                   const struct attn_kernels *kernels, const struct attn_kv_rows *rows)
{
    const size_t ld = attn_dense_ld_value(shape);

    kernels->pack_keys(rows->k, rows->ldk, rows->n, shape->d_head, rows->first, kv->keys);
    for (size_t i = 0; rows->v != NULL && i < rows->n; i++)
        memcpy(kv->values + (rows->first + i) * ld, rows->v + i * rows->ldv,
               shape->d_value * sizeof(float));
}

void attn_kv_forget(const struct attn_kv *kv, const struct attn_dense_shape *shape, size_t first,
                    size_t last)
{
    const size_t ld = attn_dense_ld_value(shape);

    memset(kv->values + first * ld, 0, (last - first) * ld * sizeof(float));
}

/* Panels have one width but for the last two: three kinds. The panel that stands for KIND. */
static size_t kind_panel(const struct attn_panels *panels, int kind)
{
    const size_t behind = (size_t)(ATTN_N_PANEL_KIND - 1 - kind);

    return kind == 0 || panels->n_panel <= behind ? 0 : panels->n_panel - 1 - behind;
}

static int panel_kind(const struct attn_panels *panels, size_t panel)
{
    const size_t behind = panels->n_panel - 1 - panel;

    return behind < ATTN_N_PANEL_KIND - 1 ? ATTN_N_PANEL_KIND - 1 - (int)behind : 0;
}

static void plan_tile(struct attn_dense *dense, const struct attn_gemm_engine *engine, int which,
                      size_t n)
{
    const struct attn_dense_shape *shape = &dense->shape;
    const struct attn_panels *panels = &dense->value_panels;
    const size_t ld = attn_dense_ld_value(shape);
    const struct attn_gemm_shape scores = {.m = ATTN_KEY_BLOCK,
                                           .n = n,
                                           .k = shape->d_head,
                                           .lda = ATTN_KEY_BLOCK,
                                           .ldb = shape->ldq,
                                           .ldc = ld_scores(shape)};
    struct attn_gemm_shape values = {.n = n,
                                     .k = ATTN_KEY_BLOCK,
                                     .lda = ld,
                                     .ldb = ld_scores(shape),
                                     .ldc = ld,
                                     .step_a = ATTN_KEY_BLOCK * ld,
                                     .step_b = ATTN_KEY_BLOCK};

    dense->scores[which] = attn_gemm_kernel_find(engine, &scores);
    for (int kind = 0; kind < ATTN_N_PANEL_KIND; kind++) {
        values.m = attn_panel_width(panels, kind_panel(panels, kind));
        dense->values[which][kind] = attn_gemm_kernel_find(engine, &values);
    }
}

void attn_dense_plan(struct attn_dense *dense, const struct attn_gemm_engine *engine,
                     const struct attn_dense_shape *shape, size_t n_row)
{
    dense->shape = *shape;
    dense->kernels = engine->kernels;
    dense->value_panels = attn_panels_split(shape->d_value);
    dense->rest = n_row % ATTN_QUERY_TILE;
    if (n_row >= ATTN_QUERY_TILE)
        plan_tile(dense, engine, 0, ATTN_QUERY_TILE);
    if (dense->rest > 0)
        plan_tile(dense, engine, 1, dense->rest);
}

/* What attn_dense_run derives from a tile. */
struct run {
    const struct attn_dense *dense;
    const struct attn_dense_tile *tile;
    float *x; /* [n_row, ld]: raw scores, scores, pattern, one after the other in place */
    size_t ld;
    size_t n_block;  /* panels of keys that are computed */
    int which;       /* kernels of the full or the last tile */
    size_t n_edited; /* rows changed */
};

static bool is_touched(const struct attn_dense_tile *tile, enum attn_site site)
{
    return attn_edits_touch(tile->edits, tile->n_edit, site, tile->layer);
}

/* Keys that the row at tile row I may look at; they are a prefix. */
static size_t n_visible(const struct attn_dense_tile *tile, size_t i)
{
    return tile->is_causal ? tile->row0 + i + 1 : tile->n_key;
}

/* Panels that hold anything anyone needs: those up to the last row's own key, unless masked cells
 * matter. */
static size_t count_blocks(const struct attn_dense_tile *tile)
{
    const bool is_whole = tile->keep.qk != NULL || is_touched(tile, ATTN_SITE_QK) ||
                          is_touched(tile, ATTN_SITE_ATTN_SCORES) ||
                          is_touched(tile, ATTN_SITE_PATTERN);
    const size_t n_key = is_whole ? tile->n_key : n_visible(tile, tile->n_row - 1);

    return round_up(n_key, ATTN_KEY_BLOCK) / ATTN_KEY_BLOCK;
}

/* Applies the edits of SITE to the tile, then copies it to KEEP, with FILL in columns that were not
 * computed. */
static void visit(struct run *run, enum attn_site site, float *keep, float fill)
{
    const struct attn_dense_tile *tile = run->tile;
    const size_t n_computed = run->n_block * ATTN_KEY_BLOCK;
    const size_t n_copy = n_computed < tile->n_key ? n_computed : tile->n_key;
    const struct attn_edit_target target = {.site = site,
                                            .layer = tile->layer,
                                            .head = tile->head,
                                            .row0 = tile->row0,
                                            .n_row = tile->n_row,
                                            .n_col = tile->n_key,
                                            .ld = run->ld,
                                            .data = run->x};

    if (is_touched(tile, site))
        run->n_edited += attn_edits_apply(tile->edits, tile->n_edit, &target);
    if (keep == NULL)
        return;
    for (size_t i = 0; i < tile->n_row; i++) {
        float *row = keep + i * tile->n_key;

        memcpy(row, run->x + i * run->ld, n_copy * sizeof(float));
        for (size_t j = n_copy; j < tile->n_key; j++)
            row[j] = fill;
    }
}

/* qk[t,s] = q[t,:] . k[s,:] */
static void compute_products(struct run *run)
{
    const size_t panel = run->dense->shape.d_head * ATTN_KEY_BLOCK;

    for (size_t b = 0; b < run->n_block; b++)
        attn_gemm_kernel_run(&run->dense->scores[run->which], run->tile->kv->keys + b * panel,
                             run->tile->q, run->x + b * ATTN_KEY_BLOCK, 1);
    visit(run, ATTN_SITE_QK, run->tile->keep.qk, 0);
}

/* attn_scores = qk * scale, -inf where masked. Returns whether it was done: else the softmax
 * scales. */
static bool compute_scores(struct run *run)
{
    const struct attn_dense_tile *tile = run->tile;

    if (tile->keep.scores == NULL && !is_touched(tile, ATTN_SITE_ATTN_SCORES))
        return false;
    for (size_t i = 0; i < tile->n_row; i++) {
        float *row = run->x + i * run->ld;
        const size_t n = n_visible(tile, i);

        run->dense->kernels->scale(row, tile->scale, n, row);
        for (size_t j = n; j < run->n_block * ATTN_KEY_BLOCK; j++)
            row[j] = -INFINITY;
    }
    visit(run, ATTN_SITE_ATTN_SCORES, tile->keep.scores, -INFINITY);
    return true;
}

static void compute_pattern(struct run *run, bool is_scored)
{
    const struct attn_dense_tile *tile = run->tile;
    const size_t n_computed = run->n_block * ATTN_KEY_BLOCK;
    /* An edit may have let a masked key in: then the whole row of scores counts. */
    const bool is_whole = is_touched(tile, ATTN_SITE_ATTN_SCORES);

    for (size_t i = 0; i < tile->n_row; i++)
        run->dense->kernels->softmax(run->x + i * run->ld,
                                     is_whole ? tile->n_key : n_visible(tile, i), n_computed,
                                     is_scored ? 1.0F : tile->scale);
    visit(run, ATTN_SITE_PATTERN, tile->keep.pattern, 0);
}

static void compute_z(struct run *run, float *sums)
{
    const struct attn_dense_tile *tile = run->tile;
    const struct attn_panels *panels = &run->dense->value_panels;
    const size_t ld = attn_dense_ld_value(&run->dense->shape);

    for (size_t p = 0; p < panels->n_panel; p++) {
        const size_t first = attn_panel_first(panels, p);

        attn_gemm_kernel_run(&run->dense->values[run->which][panel_kind(panels, p)],
                             tile->kv->values + first, run->x, sums + first, run->n_block);
    }
    for (size_t i = 0; i < tile->n_row; i++)
        for (size_t j = 0; j < run->dense->shape.d_value; j++)
            tile->z[i * tile->ldz + j] = sums[i * ld + j] + 0.0F;
}

size_t attn_dense_run(const struct attn_dense *dense, const struct attn_dense_tile *tile,
                      float *scratch)
{
    struct run run = {.dense = dense,
                      .tile = tile,
                      .x = scratch,
                      .ld = ld_scores(&dense->shape),
                      .n_block = count_blocks(tile),
                      .which = tile->n_row != ATTN_QUERY_TILE};
    bool is_scored;

    assert(tile->n_row == ATTN_QUERY_TILE || tile->n_row == dense->rest);
    compute_products(&run);
    is_scored = compute_scores(&run);
    compute_pattern(&run, is_scored);
    if (tile->z != NULL)
        compute_z(&run, scratch + ATTN_QUERY_TILE * run.ld);
    return run.n_edited;
}
