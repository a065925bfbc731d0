/* layers.c - the parts of a layer alone: its linear maps as a forward pass runs them, each
 * layer's weights from memory and not from a cache; packing; its attention with every matrix kept;
 * softmaxes. */
#include "tests/bench/parts/parts.h"

#include "attention/heads.h"
#include "base/dtype_internal.h"
#include "base/memory.h"
#include "base/pool_internal.h"
#include "model/model_internal.h"
#include "trace/site_set.h"

#include <stdio.h>
#include <string.h>

enum { N_MAP = 64 };

/* The same linear map of all layers, or the output layer. */
struct product {
    struct attn_bench *bench;
    const struct attn_linear *maps[N_MAP]; /* [n_map], run in turn */
    size_t n_map, next;
    size_t n_row;
    float *y;          /* [n_row, n_col] owns */
    uint16_t *rounded; /* owns */
    float *memory;     /* owns; of the scratch */
    float **scratch;   /* [n_thread] owns */
};

static enum attn_status run_product(void *context, struct attn_error *err)
{
    struct product *product = context;
    struct attn_bench *bench = product->bench;
    const struct attn_linear *map = product->maps[product->next++ % product->n_map];
    const struct attn_linear_args args = {.linear = map,
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

/* The scratch of each thread: N_SCRATCH floats. */
static enum attn_status make_scratch(struct product *product, size_t n_scratch,
                                     struct attn_error *err)
{
    const size_t n_thread = (size_t)product->bench->n_thread;

    ATTN_TRY(ATTN_ALLOC(product->memory, n_thread * n_scratch, err));
    ATTN_TRY(ATTN_ALLOC(product->scratch, n_thread, err));
    for (size_t i = 0; i < n_thread; i++)
        product->scratch[i] = product->memory + i * n_scratch;
    return ATTN_OK;
}

/* All lengths of one map. */
static enum attn_status measure_lengths(struct product *product, struct attn_error *err)
{
    struct attn_bench *bench = product->bench;
    const struct attn_linear *map = product->maps[0];
    const size_t n_rounded = attn_linear_rounded(map, bench->options->model->compute);
    const double n_in = (double)map->weight.n_row, n_out = (double)map->weight.n_col;
    struct attn_bench_part part = {.n_byte = (double)attn_linear_packed_size(
                                       map, bench->gemm.kernels, bench->options->model->compute),
                                   .run = run_product,
                                   .context = product};

    ATTN_TRY(make_scratch(product, attn_linear_scratch(map), err));
    for (size_t i = 0; bench->lengths[i] > 0; i++) {
        product->n_row = bench->lengths[i];
        if (product->n_row * map->weight.n_row > bench->n_random)
            break;
        attn_free(product->y);
        attn_free(product->rounded);
        ATTN_TRY(ATTN_ALLOC(product->y, product->n_row * map->weight.n_col, err));
        ATTN_TRY(ATTN_ALLOC(product->rounded, product->n_row * n_rounded, err));
        part.n_flop = 2 * n_in * n_out * (double)product->n_row;
        snprintf(part.name, sizeof part.name, "%zu x %zu, %zu rows", map->weight.n_row,
                 map->weight.n_col, product->n_row);
        ATTN_TRY(attn_bench_measure(bench, &part, err));
    }
    return ATTN_OK;
}

/* The maps number WHICH of all blocks, after those of blocks the output layer. Empty if the model
 * lacks them, or has earlier ones of the same shape. */
static struct product product_of(struct attn_bench *bench, size_t which)
{
    const struct attn_weights *weights = &bench->options->model->weights;
    const struct attn_linear *linears = weights->blocks[0].linears;
    struct product product = {.bench = bench};

    if (which == ATTN_BLOCK_N_LINEAR) {
        product.maps[0] = &weights->unembed;
        product.n_map = bench->config->output != ATTN_OUTPUT_NONE;
        return product;
    }
    for (size_t i = 0; i < which; i++)
        if (linears[i].weight.data && linears[i].weight.n_row == linears[which].weight.n_row &&
            linears[i].weight.n_col == linears[which].weight.n_col)
            return product;
    for (size_t layer = 0; layer < bench->config->n_layer && product.n_map < N_MAP; layer++)
        if (weights->blocks[layer].linears[which].weight.data)
            product.maps[product.n_map++] = &weights->blocks[layer].linears[which];
    return product;
}

/* Calls MEASURE for each shape of map that the model has. */
static enum attn_status measure_shapes(struct attn_bench *bench,
                                       enum attn_status (*measure)(struct product *product,
                                                                   struct attn_error *err),
                                       struct attn_error *err)
{
    for (size_t which = 0; which <= ATTN_BLOCK_N_LINEAR; which++) {
        struct product product = product_of(bench, which);
        const enum attn_status status = product.n_map > 0 ? measure(&product, err) : ATTN_OK;

        attn_free(product.scratch);
        attn_free(product.memory);
        attn_free(product.rounded);
        attn_free(product.y);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}

enum attn_status bench_product(struct attn_bench *bench, struct attn_error *err)
{
    return measure_shapes(bench, measure_lengths, err);
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
    const struct attn_matrix *weight = &product->maps[0]->weight;
    struct attn_bench_part part = {
        .n_byte = (double)attn_dtype_n_byte(weight->dtype, weight->n_row) * (double)weight->n_col,
        .run = run_pack,
        .context = product};

    snprintf(part.name, sizeof part.name, "%zu x %zu into panels", weight->n_row, weight->n_col);
    ATTN_TRY(make_scratch(product, 64 * weight->n_row, err));
    return attn_bench_measure(product->bench, &part, err);
}

enum attn_status bench_pack(struct attn_bench *bench, struct attn_error *err)
{
    return measure_shapes(bench, measure_pack, err);
}

/* --- Attention ------------------------------------------------------------------------------- */

/* A layer's attention on random queries, keys and values. */
struct layer {
    struct attn_bench *bench;
    struct attn_attention attention;
    struct attn_head_shape shape;
    struct attn_engines engines;
    struct attn_selection *selection;
    struct attn_arena arena;
    struct attn_heads_memory memory;
    struct attn_kv *kv; /* [n_kv_head] */
    float *z;           /* [n, n_head * d_value] */
    size_t n;
};

static bool needs_head(const void *context, int head)
{
    (void)context, (void)head;
    return true;
}

static bool needs_rows(const void *context, size_t row0, size_t n_row)
{
    (void)context, (void)row0, (void)n_row;
    return true;
}

static bool is_stopped(void *context)
{
    (void)context;
    return false;
}

static void ignore(void *context, const struct attn_trace_event *event)
{
    (void)context, (void)event;
}

static struct attn_heads heads_of(struct layer *layer)
{
    const struct attn_config *config = layer->bench->config;

    return (struct attn_heads){
        .feed = {.attention = &layer->attention,
                 .shape = &layer->shape,
                 .n_row = layer->n,
                 .n_key = layer->n,
                 .ldz = config->n_head * config->d_value},
        .engines = &layer->engines,
        .memory = &layer->memory,
        .caller = {needs_head, needs_rows, is_stopped, ignore, layer},
        .pool = layer->bench->options->pool,
        .n_worker = layer->bench->n_thread,
        .selection = layer->selection,
        .watched = ATTN_SITES(ATTN_SITE_PATTERN),
        .n_head = config->n_head,
        .n_kv_head = config->n_kv_head,
        .q = layer->bench->random,
        .q_step = config->d_head,
        .kv = layer->kv,
        .z = layer->z,
        .z_step = config->d_value,
    };
}

static void append_head(void *context, size_t g, int worker)
{
    struct layer *layer = context;
    const struct attn_config *config = layer->bench->config;
    const struct attn_heads heads = heads_of(layer);
    const struct attn_kv_rows rows = {.k = layer->bench->random + g * config->d_head,
                                      .v = layer->bench->random + g * config->d_value,
                                      .ldk = config->n_kv_head * config->d_head,
                                      .ldv = config->n_kv_head * config->d_value,
                                      .n = layer->n};

    attn_heads_append_kv(&heads, g, worker, &rows);
}

static enum attn_status run_layer(void *context, struct attn_error *err)
{
    struct layer *layer = context;
    const struct attn_heads heads = heads_of(layer);

    (void)err;
    attn_pool_run(heads.pool, heads.n_kv_head, append_head, layer);
    attn_heads_run(&heads);
    return ATTN_OK;
}

static void plan(struct layer *layer, struct attn_arena *arena)
{
    const struct attn_config *config = layer->bench->config;
    const struct attn_heads_sizes sizes = {.shape = layer->shape,
                                           .n_head = config->n_head,
                                           .n_kv_head = config->n_kv_head,
                                           .n_query = layer->n,
                                           .n_key = layer->n,
                                           .n_worker = layer->bench->n_thread};
    struct attn_heads_needs needs = {0};

    attn_heads_needs_include(&needs, &sizes, &layer->attention, ATTN_SITES(ATTN_SITE_PATTERN),
                             config->n_head);
    attn_heads_plan(&layer->memory, arena, &sizes, &needs);
    layer->kv = attn_kv_plan(arena, &layer->shape, config->n_kv_head, 0);
    layer->z = attn_arena_take(arena, layer->n * config->n_head, config->d_value * sizeof(float));
}

static enum attn_status prepare(struct layer *layer, struct attn_error *err)
{
    const struct attn_config *config = layer->bench->config;
    const struct attn_dims dims = {.n_layer = 1,
                                   .n_head = config->n_head,
                                   .n_kv_head = config->n_kv_head,
                                   .d_head = config->d_head,
                                   .d_value = config->d_value,
                                   .n_position = layer->n,
                                   .sites = ATTN_SITES(ATTN_SITE_PATTERN)};

    ATTN_TRY(attn_selection_create(&dims, &layer->selection, err));
    layer->attention = ATTN_ATTENTION_DEFAULT;
    layer->shape = (struct attn_head_shape){
        .d_head = config->d_head,
        .d_value = config->d_value,
        .n_max = layer->n,
        .ldq = config->n_head * config->d_head,
        .is_bf16 = attn_gemm_rounds_attention(&layer->bench->gemm,
                                              attn_model_compute(layer->bench->options->model))};
    plan(layer, &layer->arena);
    ATTN_TRY(attn_arena_allocate(&layer->arena, err));
    plan(layer, &layer->arena);
    attn_kv_clear(layer->kv, &layer->shape, config->n_kv_head);
    attn_engines_plan(&layer->engines, &layer->bench->gemm, &layer->shape, &layer->attention, 1,
                      layer->n);
    return ATTN_OK;
}

static enum attn_status measure_layer(struct layer *layer, struct attn_error *err)
{
    const struct attn_config *config = layer->bench->config;
    const size_t n = layer->n;
    const double n_pair = (double)n * (double)(n + 1) / 2 * (double)config->n_head;
    struct attn_bench_part part = {.n_flop =
                                       2 * n_pair * (double)(config->d_head + config->d_value),
                                   .run = run_layer,
                                   .context = layer};

    snprintf(part.name, sizeof part.name, "%zu head%s of %zu, %zu tokens", config->n_head,
             config->n_head == 1 ? "" : "s", config->d_head, n);
    ATTN_TRY(prepare(layer, err));
    return attn_bench_measure(layer->bench, &part, err);
}

enum attn_status bench_attention(struct attn_bench *bench, struct attn_error *err)
{
    const struct attn_config *config = bench->config;

    for (size_t i = 0; bench->lengths[i] > 0; i++) {
        struct layer layer = {.bench = bench, .n = bench->lengths[i]};
        enum attn_status status;

        if (layer.n * config->n_head * (config->d_head + config->d_value) > bench->n_random)
            continue;
        status = measure_layer(&layer, err);
        attn_selection_free(layer.selection);
        attn_arena_release(&layer.arena);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}

/* --- Softmax --------------------------------------------------------------------------------- */

enum { N_ROW = 64, N_COL = 1024 };

struct softmax_rows {
    struct attn_bench *bench;
    float *x; /* [N_ROW, N_COL]: in the cache of one core */
};

static enum attn_status run_softmax(void *context, struct attn_error *err)
{
    const struct softmax_rows *rows = context;

    (void)err;
    for (size_t i = 0; i < N_ROW; i++)
        rows->bench->gemm.kernels->softmax(rows->x + i * N_COL, N_COL, N_COL, 1);
    return ATTN_OK;
}

enum attn_status bench_softmax(struct attn_bench *bench, struct attn_error *err)
{
    struct softmax_rows rows = {bench, attn_alloc((size_t)N_ROW * N_COL, sizeof *rows.x, err)};
    /* On one thread: its time is not bounded by reading, so there is no limit to compare with. */
    const struct attn_bench_part part = {
        .name = "64 rows of 1024, one thread", .run = run_softmax, .context = &rows};
    enum attn_status status;

    if (!rows.x)
        return ATTN_NO_MEMORY;
    memcpy(rows.x, bench->random, (size_t)N_ROW * N_COL * sizeof *rows.x);
    status = attn_bench_measure(bench, &part, err);
    attn_free(rows.x);
    return status;
}
