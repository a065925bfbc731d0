/* blockwise.c - exact attention in memory that does not grow with the number of keys. */
#include "attention/engines_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The stride of a block's scores, in floats. Avoids multiples of 2 KiB, which share a cache set. */
enum { LD_SCORES = ATTN_BLOCKWISE_N_KEY + 16 };

size_t attn_blockwise_scratch(const struct attn_head_shape *shape)
{
    return ATTN_QUERY_TILE * (LD_SCORES + 2 * attn_kv_ld_value(shape));
}

/* The state of one tile while attn_blockwise_run computes it. */
struct blockwise_work {
    const struct attn_gemm_engine *engine;
    const struct attn_head_shape *shape;
    const struct attn_tile *tile;
    float *x;       /* [n_row, LD_SCORES] scores, then weights, of the current block */
    float *product; /* [n_row, ld_value] weights times values of the current block */
    float *sum;     /* [n_row, ld_value] over all blocks so far */
    size_t ld_value;
    float scale; /* attn_tile_scale */
    struct attn_running_softmax softmax[ATTN_QUERY_TILE];
    float sink[ATTN_QUERY_TILE]; /* the exponential of the sink, relative to the same maximum as
                                    those of the block */
};

/* Returns how many keys row I of the tile may see in the block that begins at key FIRST. */
static size_t n_visible_in_block(const struct attn_tile *tile, size_t i, size_t first)
{
    const size_t n = attn_tile_n_visible(tile, i);
    const size_t left = n > first ? n - first : 0;

    return left < ATTN_BLOCKWISE_N_KEY ? left : ATTN_BLOCKWISE_N_KEY;
}

/* Computes x = q k^T for N_PANEL panels of keys from FIRST on. */
static void compute_scores(const struct blockwise_work *work, size_t first, size_t n_panel)
{
    const size_t d_head = work->shape->d_head;
    const struct attn_gemm_shape shape = {.m = ATTN_PANEL,
                                          .n = work->tile->n_row,
                                          .k = d_head,
                                          .lda = ATTN_PANEL,
                                          .ldb = work->shape->ldq,
                                          .ldc = LD_SCORES};
    const struct attn_gemm_kernel kernel = attn_gemm_kernel_find(work->engine, &shape);
    const float *keys = work->tile->kv->keys + first * d_head;

    for (size_t p = 0; p < n_panel; p++)
        attn_gemm_kernel_run(&kernel, keys + p * d_head * ATTN_PANEL, work->tile->q,
                             work->x + p * ATTN_PANEL, 1);
}

/* Computes product = x v for N_PANEL panels of keys from FIRST on. */
static void compute_product(const struct blockwise_work *work, size_t first, size_t n_panel)
{
    const struct attn_panels panels = attn_panels_split(work->shape->d_value);
    struct attn_gemm_shape shape = {.n = work->tile->n_row,
                                    .k = ATTN_PANEL,
                                    .lda = work->ld_value,
                                    .ldb = LD_SCORES,
                                    .ldc = work->ld_value,
                                    .step_a = ATTN_PANEL * work->ld_value,
                                    .step_b = ATTN_PANEL};

    for (size_t p = 0; p < panels.n_panel; p++) {
        const size_t column = attn_panel_first(&panels, p);
        struct attn_gemm_kernel kernel;

        shape.m = attn_panel_width(&panels, p);
        kernel = attn_gemm_kernel_find(work->engine, &shape);
        attn_gemm_kernel_run(&kernel, work->tile->kv->values + first * work->ld_value + column,
                             work->x, work->product + column, n_panel);
    }
}

/* Replaces the scores of the block by weights, and rescales the sums so far to the new maximum of
 * each row. */
static void compute_weights(struct blockwise_work *work, size_t first, size_t n_panel)
{
    const struct attn_kernels *kernels = work->engine->kernels;
    const bool is_scored = attn_tile_is_scored(work->tile);

    for (size_t i = 0; i < work->tile->n_row; i++) {
        const size_t n = n_visible_in_block(work->tile, i, first);
        const struct attn_tile_span span = {.i = i, .first = first, .n = n};
        float *x = work->x + i * LD_SCORES, *sum = work->sum + i * work->ld_value, factor;

        if (n == 0)
            continue;
        if (is_scored)
            attn_tile_score(work->tile, kernels, &span, x, NULL);
        factor = kernels->softmax_block(x, n, n_panel * ATTN_PANEL, is_scored ? 1 : work->scale,
                                        &work->softmax[i]);
        kernels->scale(sum, factor, work->shape->d_value, sum);
        work->sink[i] *= factor;
    }
}

/* Adds one block of keys to the sums. Rows without visible keys in the block do not change. */
static void run_block(struct blockwise_work *work, size_t first)
{
    const struct attn_tile *tile = work->tile;
    const size_t n_key = n_visible_in_block(tile, tile->n_row - 1, first);
    const size_t n_panel = (n_key + ATTN_PANEL - 1) / ATTN_PANEL;

    compute_scores(work, first, n_panel);
    compute_weights(work, first, n_panel);
    compute_product(work, first, n_panel);
    for (size_t i = 0; i < tile->n_row; i++) {
        float *sum = work->sum + i * work->ld_value;

        if (n_visible_in_block(tile, i, first) > 0)
            work->engine->kernels->add(sum, work->product + i * work->ld_value,
                                       work->shape->d_value, sum);
    }
}

void attn_blockwise_run(const struct attn_gemm_engine *engine, const struct attn_tile *tile,
                        float *scratch)
{
    const struct attn_head_shape *shape = tile->feed->shape;
    const size_t ld_value = attn_kv_ld_value(shape);
    const struct attn_attention *attention = tile->feed->attention;
    const float *sink =
        attention->sinks ? &attention->sinks[attention->first_head + (size_t)tile->head] : NULL;
    struct blockwise_work work = {.engine = engine,
                                  .shape = shape,
                                  .tile = tile,
                                  .x = scratch,
                                  .product = scratch + (size_t)ATTN_QUERY_TILE * LD_SCORES,
                                  .sum = scratch + ATTN_QUERY_TILE * (LD_SCORES + ld_value),
                                  .ld_value = ld_value,
                                  .scale = attn_tile_scale(tile)};

    assert(tile->n_row >= 1 && tile->n_row <= ATTN_QUERY_TILE);
    memset(work.sum, 0, tile->n_row * ld_value * sizeof *work.sum);
    for (size_t i = 0; i < tile->n_row; i++) {
        work.sink[i] = sink ? 1 : 0;
        work.softmax[i] =
            sink ? (struct attn_running_softmax){*sink, 1} : ATTN_RUNNING_SOFTMAX_START;
    }
    for (size_t first = 0; first < attn_tile_n_visible(tile, tile->n_row - 1);
         first += ATTN_BLOCKWISE_N_KEY)
        run_block(&work, first);
    /* Divides by the sum of the weights, which is at least 1 if any key is visible. Adding +0 turns
     * -0 into +0, so that zeros are canonical. */
    for (size_t i = 0; i < tile->n_row; i++) {
        const float *sum = work.sum + i * ld_value;
        const float total = work.softmax[i].sum, reciprocal = total == 0 ? 0 : 1 / total;
        float *z = tile->z + i * tile->feed->ldz;

        if (tile->sink_weights)
            tile->sink_weights[i * tile->ld_sink] = work.sink[i] * reciprocal;
        for (size_t j = 0; j < shape->d_value; j++)
            z[j] = isnan(total) ? NAN : sum[j] * reciprocal + 0.0F;
    }
}
