/* bench_products.c - the linear maps of the model as a forward pass runs them: each layer's weights
 * come from memory, not from a cache. Packing alone. */
#include "bench/bench_internal.h"

#include "base/dtype_internal.h"
#include "base/memory.h"
#include "base/pool_internal.h"
#include "model/model_internal.h"

#include <assert.h>
#include <stdio.h>

enum { N_MAP = 64 };

/* The same linear map of all layers, or the output layer. */
struct product {
    struct attn_bench *bench;
    const struct attn_linear *maps[N_MAP]; /* [n_map], run in turn */
    size_t n_map, next;
    size_t n_row;
    float *y;        /* [n_row, n_col] */
    float **scratch; /* [n_thread] */
    uint16_t *rounded;
};

static enum attn_status run_product(void *context, struct attn_error *err)
{
    struct product *product = context;
    struct attn_bench *bench = product->bench;
    const struct attn_linear *map = product->maps[product->next++ % product->n_map];
    const struct attn_linear_args args = {.linear = map,
                                          .next = product->maps[product->next % product->n_map],
                                          .engine = &bench->gemm,
                                          .scratch = product->scratch,
                                          .x = bench->random,
                                          .ldx = map->weight.n_row,
                                          .n_row = product->n_row,
                                          .compute = bench->options->model->compute,
                                          .rounded = product->rounded,
                                          .y = product->y,
                                          .ldy = map->weight.n_col,
                                          .last_col = map->weight.n_col};

    (void)err;
    attn_linear_run(&args, 1, bench->options->pool);
    return ATTN_OK;
}

static double weight_bytes(const struct attn_linear *map)
{
    const size_t element = attn_dtype_bits(map->weight.dtype) / 8;

    return (double)map->weight.n_row * (double)map->weight.n_col * (double)element;
}

static enum attn_status measure_product(struct product *product, struct attn_error *err)
{
    const struct attn_linear *map = product->maps[0];
    const double n_in = (double)map->weight.n_row, n_out = (double)map->weight.n_col;
    char name[ATTN_BENCH_NAME_SIZE];
    const struct attn_bench_part part = {
        .part = "product",
        .name = name,
        .n_flop = 2 * n_in * n_out * (double)product->n_row,
        .n_byte = (double)attn_linear_packed_size(map, product->bench->options->model->compute),
        .run = run_product,
        .context = product};

    snprintf(name, sizeof name, "%zu x %zu, %zu rows", map->weight.n_row, map->weight.n_col,
             product->n_row);
    return attn_bench_measure(product->bench, &part, err);
}

/* All lengths of one map. */
static enum attn_status run_lengths(struct product *product, struct attn_error *err)
{
    struct attn_bench *bench = product->bench;
    const struct attn_linear *map = product->maps[0];
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; status == ATTN_OK && attn_bench_length(bench, i) > 0; i++) {
        product->n_row = attn_bench_length(bench, i);
        if (product->n_row * map->weight.n_row > bench->n_random)
            break;
        product->y = attn_alloc(product->n_row * map->weight.n_col, sizeof *product->y, err);
        product->rounded =
            attn_alloc(product->n_row * attn_linear_rounded(map, bench->options->model->compute),
                       sizeof *product->rounded, err);
        status = !product->y || !product->rounded ? ATTN_NO_MEMORY : measure_product(product, err);
        attn_free(product->y);
        attn_free(product->rounded);
    }
    return status;
}

static enum attn_status run_map(struct product *product, struct attn_error *err)
{
    const size_t n_thread = (size_t)product->bench->n_thread;
    const size_t n_scratch = attn_linear_scratch(product->maps[0]);
    float *memory = attn_alloc(n_thread * n_scratch, sizeof *memory, err);
    enum attn_status status;

    product->scratch = attn_alloc(n_thread, sizeof *product->scratch, err);
    status = !memory || !product->scratch ? ATTN_NO_MEMORY : ATTN_OK;
    for (size_t i = 0; status == ATTN_OK && i < n_thread; i++)
        product->scratch[i] = memory + i * n_scratch;
    if (status == ATTN_OK)
        status = run_lengths(product, err);
    attn_free(product->scratch);
    attn_free(memory);
    return status;
}

/* A map of a block; NULL where the model has none. */
static const struct attn_linear *map_of(const struct attn_block_weights *block, size_t which)
{
    return block->linears[which].weight.data ? &block->linears[which] : NULL;
}

/* Whether an earlier map of the block has the same shape. */
static bool is_repeated(const struct attn_block_weights *block, size_t which)
{
    const struct attn_linear *map = map_of(block, which);

    for (size_t i = 0; i < which; i++) {
        const struct attn_linear *other = map_of(block, i);

        if (other && other->weight.n_row == map->weight.n_row &&
            other->weight.n_col == map->weight.n_col)
            return true;
    }
    return false;
}

/* Calls RUN for each shape of map that the model has. */
static enum attn_status each_map(struct attn_bench *bench,
                                 enum attn_status (*run)(struct product *, struct attn_error *),
                                 struct attn_error *err)
{
    const struct attn_weights *weights = &bench->options->model->weights;
    const size_t n_layer = bench->config->n_layer;
    enum attn_status status = ATTN_OK;

    for (size_t which = 0; status == ATTN_OK && which < ATTN_BLOCK_N_LINEAR; which++) {
        struct product product = {.bench = bench};

        if (!map_of(&weights->blocks[0], which) || is_repeated(&weights->blocks[0], which))
            continue;
        for (size_t layer = 0; layer < n_layer && product.n_map < N_MAP; layer++) {
            product.maps[product.n_map++] = map_of(&weights->blocks[layer], which);
            assert(product.maps[layer]); /* as in layer 0 */
        }
        if (product.n_map > 0)
            status = run(&product, err);
    }
    if (status == ATTN_OK && bench->config->output != ATTN_OUTPUT_NONE) {
        struct product product = {.bench = bench, .maps = {&weights->unembed}, .n_map = 1};

        status = run(&product, err);
    }
    return status;
}

enum attn_status attn_bench_product(struct attn_bench *bench, struct attn_error *err)
{
    return each_map(bench, run_map, err);
}

/* --- Packing --------------------------------------------------------------------------------- */

static void pack_panel(void *context, size_t task, int worker)
{
    const struct product *product = context;
    const struct attn_matrix *weight = &product->maps[product->next % product->n_map]->weight;
    const struct attn_panels panels = attn_panels_split(weight->n_col);

    product->bench->gemm.kernels->pack_panel(
        weight, attn_panel_first(&panels, task), attn_panel_n_col(&panels, task),
        attn_panel_width(&panels, task), product->scratch[worker]);
}

static enum attn_status run_pack(void *context, struct attn_error *err)
{
    struct product *product = context;
    const struct attn_matrix *weight = &product->maps[0]->weight;

    (void)err;
    attn_pool_run(product->bench->options->pool, attn_panels_split(weight->n_col).n_panel,
                  pack_panel, product);
    product->next++;
    return ATTN_OK;
}

static enum attn_status measure_pack(struct product *product, struct attn_error *err)
{
    const struct attn_linear *map = product->maps[0];
    const size_t n_thread = (size_t)product->bench->n_thread;
    const size_t n_panel = 64 * map->weight.n_row;
    char name[ATTN_BENCH_NAME_SIZE];
    const struct attn_bench_part part = {.part = "pack",
                                         .name = name,
                                         .n_byte = weight_bytes(map),
                                         .run = run_pack,
                                         .context = product};
    float *memory = attn_alloc(n_thread * n_panel, sizeof *memory, err);
    enum attn_status status;

    snprintf(name, sizeof name, "%zu x %zu into panels", map->weight.n_row, map->weight.n_col);
    product->scratch = attn_alloc(n_thread, sizeof *product->scratch, err);
    status = !memory || !product->scratch ? ATTN_NO_MEMORY : ATTN_OK;
    for (size_t i = 0; status == ATTN_OK && i < n_thread; i++)
        product->scratch[i] = memory + i * n_panel;
    if (status == ATTN_OK)
        status = attn_bench_measure(product->bench, &part, err);
    attn_free(product->scratch);
    attn_free(memory);
    return status;
}

enum attn_status attn_bench_pack(struct attn_bench *bench, struct attn_error *err)
{
    return each_map(bench, measure_pack, err);
}
