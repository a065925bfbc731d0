/* gather.c - see gather.h. */
#include "attention/gather.h"

#include "attention/keys.h"

#include <math.h>
#include <string.h>

static size_t round_up(size_t n)
{
    return (n + ATTN_KEY_BLOCK - 1) / ATTN_KEY_BLOCK * ATTN_KEY_BLOCK;
}

void attn_gather_plan(struct attn_gather *gather, const struct attn_gemm_engine *engine,
                      const struct attn_dense_shape *shape)
{
    const size_t ld = attn_dense_ld_value(shape);
    const struct attn_gemm_shape scores = {.m = ATTN_KEY_BLOCK,
                                           .n = 1,
                                           .k = shape->d_head,
                                           .lda = ATTN_KEY_BLOCK,
                                           .ldb = shape->d_head,
                                           .ldc = ATTN_KEY_BLOCK};
    struct attn_gemm_shape values = {.n = 1,
                                     .k = ATTN_KEY_BLOCK,
                                     .lda = ld,
                                     .ldb = ATTN_KEY_BLOCK,
                                     .ldc = ld,
                                     .step_a = ATTN_KEY_BLOCK * ld,
                                     .step_b = ATTN_KEY_BLOCK};

    gather->shape = *shape;
    gather->kernels = engine->kernels;
    gather->value_panels = attn_panels_split(shape->d_value);
    gather->scores = attn_gemm_kernel_find(engine, &scores);
    for (int kind = 0; kind < ATTN_N_PANEL_KIND; kind++) {
        const size_t panel = attn_dense_kind_panel(&gather->value_panels, kind);

        values.m = attn_panel_width(&gather->value_panels, panel);
        gather->values[kind] = attn_gemm_kernel_find(engine, &values);
    }
}

/* What one row works in. */
struct row {
    float *x;      /* [most]: scores, then weights, of the gathered keys */
    float *keys;   /* [64, d_head], on their way into a panel */
    float *panel;  /* [d_head, 64] */
    float *values; /* [most, ld_value] */
    float *z;      /* [ld_value] */
    float *wide;   /* [n_max]: a whole row, for edits */
    void *list;    /* [ATTN_QUERY_TILE, most] of int32_t */
};

static struct row lay_out(const struct attn_dense_shape *shape, size_t most, float *scratch)
{
    struct row row = {.x = scratch};

    row.keys = row.x + round_up(most);
    row.panel = row.keys + ATTN_KEY_BLOCK * shape->d_head;
    row.values = row.panel + ATTN_KEY_BLOCK * shape->d_head;
    row.z = row.values + round_up(most) * attn_dense_ld_value(shape);
    row.wide = row.z + attn_dense_ld_value(shape);
    row.list = row.wide + shape->n_max;
    return row;
}

size_t attn_gather_scratch(const struct attn_dense_shape *shape,
                           const struct attn_attention *attention)
{
    const size_t most = attn_keys_most(attention, shape->n_max), ld = attn_dense_ld_value(shape);

    return round_up(most) * (1 + ld) + (size_t)2 * ATTN_KEY_BLOCK * shape->d_head + ld +
           shape->n_max + attn_tile_list_size(attention, shape->n_max);
}

/* One row on its way. */
struct run {
    const struct attn_gather *gather;
    const struct attn_tile *tile;
    struct row row;
    const int32_t *keys; /* [n] */
    size_t n;
    size_t i; /* row of the tile */
    size_t n_edited;
};

/* x[j] = q . k[keys[j]] */
static void compute_products(struct run *run)
{
    const struct attn_gather *gather = run->gather;
    const struct attn_tile *tile = run->tile;
    const size_t d = gather->shape.d_head;

    for (size_t at = 0; tile->given == NULL && at < run->n; at += ATTN_KEY_BLOCK) {
        const size_t n = run->n - at < ATTN_KEY_BLOCK ? run->n - at : ATTN_KEY_BLOCK;

        for (size_t j = 0; j < n; j++)
            memcpy(run->row.keys + j * d, tile->kv->keys + (size_t)run->keys[at + j] * d,
                   d * sizeof(float));
        gather->kernels->pack_keys(run->row.keys, d, n, d, 0, run->row.panel);
        attn_gemm_kernel_run(&gather->scores, run->row.panel, tile->q + run->i * gather->shape.ldq,
                             run->row.x + at, 1);
    }
    for (size_t j = 0; tile->given != NULL && j < run->n; j++)
        run->row.x[j] = tile->given[run->i * tile->n_key + (size_t)run->keys[j]];
}

/* Edits speak of keys: the row is spread out, edited and gathered again. */
static void edit(struct run *run, enum attn_site site, float masked)
{
    const struct attn_tile *tile = run->tile;
    const struct attn_edit_target target = {.site = site,
                                            .layer = tile->layer,
                                            .head = tile->head,
                                            .row0 = tile->row0 + run->i,
                                            .n_row = 1,
                                            .n_col = tile->n_key,
                                            .ld = tile->n_key,
                                            .data = run->row.wide};

    if (!attn_tile_is_edited(tile, site))
        return;
    for (size_t j = 0; j < tile->n_key; j++)
        run->row.wide[j] = masked;
    for (size_t j = 0; j < run->n; j++)
        run->row.wide[run->keys[j]] = run->row.x[j];
    run->n_edited += attn_edits_apply(tile->edits, tile->n_edit, &target);
    for (size_t j = 0; j < run->n; j++)
        run->row.x[j] = run->row.wide[run->keys[j]];
}

static void visit(struct run *run, enum attn_site site, float masked)
{
    float *kept = attn_tile_kept(run->tile, site);

    edit(run, site, masked);
    if (kept != NULL)
        memcpy(kept + run->i * run->tile->keep.ld, run->row.x, run->n * sizeof(float));
}

/* z = sum of x[j] * v[keys[j]], over whole blocks of 64: behind the last key both are 0. */
static void compute_z(struct run *run)
{
    const struct attn_gather *gather = run->gather;
    const struct attn_panels *panels = &gather->value_panels;
    const size_t ld = attn_dense_ld_value(&gather->shape), n = round_up(run->n);
    float *z = run->tile->z + run->i * run->tile->ldz;

    for (size_t j = 0; j < run->n; j++)
        memcpy(run->row.values + j * ld, run->tile->kv->values + (size_t)run->keys[j] * ld,
               ld * sizeof(float));
    memset(run->row.values + run->n * ld, 0, (n - run->n) * ld * sizeof(float));
    memset(run->row.x + run->n, 0, (n - run->n) * sizeof(float));
    for (size_t p = 0; p < panels->n_panel && n > 0; p++) {
        const size_t first = attn_panel_first(panels, p);

        attn_gemm_kernel_run(&gather->values[attn_dense_panel_kind(panels, p)],
                             run->row.values + first, run->row.x, run->row.z + first,
                             n / ATTN_KEY_BLOCK);
    }
    for (size_t j = 0; j < gather->shape.d_value; j++)
        z[j] = n > 0 ? run->row.z[j] + 0.0F : 0;
}

static void run_row(struct run *run)
{
    const struct attn_tile *tile = run->tile;
    const struct attn_kernels *kernels = run->gather->kernels;
    const bool is_scored = attn_tile_kept(tile, ATTN_SITE_ATTN_SCORES) != NULL ||
                           attn_tile_is_edited(tile, ATTN_SITE_ATTN_SCORES);

    compute_products(run);
    visit(run, ATTN_SITE_QK, 0);
    if (is_scored) {
        kernels->scale(run->row.x, tile->scale, run->n, run->row.x);
        visit(run, ATTN_SITE_ATTN_SCORES, -INFINITY);
    }
    kernels->softmax(run->row.x, run->n, run->n, is_scored ? 1.0F : tile->scale);
    visit(run, ATTN_SITE_PATTERN, 0);
    if (tile->dropout != NULL) {
        attn_tile_drop(tile, tile->row0 + run->i, run->keys, run->n, run->row.x);
        visit(run, ATTN_SITE_PATTERN_DROPPED, 0);
    }
    if (tile->z != NULL)
        compute_z(run);
}

size_t attn_gather_run(const struct attn_gather *gather, const struct attn_tile *tile,
                       float *scratch)
{
    const size_t most = attn_keys_most(tile->attention, gather->shape.n_max);
    struct attn_tile_cells cells;
    struct run run = {
        .gather = gather, .tile = tile, .row = lay_out(&gather->shape, most, scratch)};

    attn_tile_find_cells(tile, run.row.list, &cells);
    for (run.i = 0; run.i < tile->n_row; run.i++) {
        run.keys = cells.keys + run.i * cells.ld;
        run.n = cells.n[run.i];
        run_row(&run);
    }
    return run.n_edited;
}
