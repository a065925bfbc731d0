/* bench_attention.c - the attention of one layer with every matrix kept, and softmaxes alone. */
#include "bench/bench_internal.h"

#include "attention/heads.h"
#include "base/memory.h"
#include "base/pool_internal.h"
#include "model/model_internal.h"

#include <stdio.h>
#include <string.h>

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
        .watched = ATTN_SITE_BIT(ATTN_SITE_PATTERN),
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

    attn_heads_needs_include(&needs, &sizes, &layer->attention, ATTN_SITE_BIT(ATTN_SITE_PATTERN),
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
                                   .sites = ATTN_SITE_BIT(ATTN_SITE_PATTERN)};
    enum attn_status status = attn_selection_create(&dims, &layer->selection, err);

    layer->attention = ATTN_ATTENTION_DEFAULT;
    layer->shape = (struct attn_head_shape){
        .d_head = config->d_head,
        .d_value = config->d_value,
        .n_max = layer->n,
        .ldq = config->n_head * config->d_head,
        .is_bf16 = attn_gemm_rounds_attention(&layer->bench->gemm,
                                              attn_model_compute(layer->bench->options->model))};
    plan(layer, &layer->arena);
    if (status == ATTN_OK)
        status = attn_arena_allocate(&layer->arena, err);
    if (status != ATTN_OK)
        return status;
    plan(layer, &layer->arena);
    attn_kv_clear(layer->kv, &layer->shape, config->n_kv_head);
    attn_engines_plan(&layer->engines, &layer->bench->gemm, &layer->shape, &layer->attention, 1,
                      layer->n);
    return ATTN_OK;
}

static enum attn_status measure_layer(struct attn_bench *bench, size_t n, struct attn_error *err)
{
    const struct attn_config *config = bench->config;
    struct layer layer = {.bench = bench, .n = n};
    const double n_pair = (double)n * (double)(n + 1) / 2 * (double)config->n_head;
    char name[ATTN_BENCH_NAME_SIZE];
    const struct attn_bench_part part = {.part = "attention",
                                         .name = name,
                                         .n_flop = 2 * n_pair *
                                                   (double)(config->d_head + config->d_value),
                                         .run = run_layer,
                                         .context = &layer};
    enum attn_status status = prepare(&layer, err);

    snprintf(name, sizeof name, "%zu head%s of %zu, %zu tokens", config->n_head,
             config->n_head == 1 ? "" : "s", config->d_head, n);
    if (status == ATTN_OK)
        status = attn_bench_measure(bench, &part, err);
    attn_selection_free(layer.selection);
    attn_arena_release(&layer.arena);
    return status;
}

enum attn_status attn_bench_attention(struct attn_bench *bench, struct attn_error *err)
{
    const struct attn_config *config = bench->config;
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; status == ATTN_OK && attn_bench_length(bench, i) > 0; i++) {
        const size_t n = attn_bench_length(bench, i);

        if (n * config->n_head * (config->d_head + config->d_value) <= bench->n_random)
            status = measure_layer(bench, n, err);
    }
    return status;
}

/* --- Softmax --------------------------------------------------------------------------------- */

enum { N_ROW = 64, N_COL = 1024 };

struct rows {
    struct attn_bench *bench;
    float *x; /* [N_ROW, N_COL]: in the cache of one core */
};

static enum attn_status run_softmax(void *context, struct attn_error *err)
{
    const struct rows *rows = context;

    (void)err;
    for (size_t i = 0; i < N_ROW; i++)
        rows->bench->gemm.kernels->softmax(rows->x + i * N_COL, N_COL, N_COL, 1);
    return ATTN_OK;
}

enum attn_status attn_bench_softmax(struct attn_bench *bench, struct attn_error *err)
{
    struct rows rows = {bench, attn_alloc((size_t)N_ROW * N_COL, sizeof *rows.x, err)};
    /* Of one thread: reading is not what takes its time, so there is no limit to compare with. */
    const struct attn_bench_part part = {.part = "softmax",
                                         .name = "64 rows of 1024, one thread",
                                         .run = run_softmax,
                                         .context = &rows};
    enum attn_status status;

    if (!rows.x)
        return ATTN_NO_MEMORY;
    memcpy(rows.x, bench->random, (size_t)N_ROW * N_COL * sizeof *rows.x);
    status = attn_bench_measure(bench, &part, err);
    attn_free(rows.x);
    return status;
}
