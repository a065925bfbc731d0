/*
 * linear.c - linear attention: the state of a head, the heads of a layer, and its row in the list
 * of kinds.
 *
 * One key/value head is one task: its state reads the keys once, and serves all queries of its
 * group. The state is stored with the keys, so that a later feed continues from it; after a rewind
 * it is computed again from the remaining keys, in the same order.
 */
#include "kinds/linear.h"

#include "attention/attention_internal.h"
#include "attention/heads.h"
#include "base/os/thread.h"
#include "base/pool_internal.h"
#include "trace/site_set.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static struct attn_linear_attention make_linear(const struct attn_attention *attention,
                                                const struct attn_head_shape *shape,
                                                const struct attn_kernels *kernels)
{
    return (struct attn_linear_attention){.kernels = kernels,
                                          .feature = attention->feature,
                                          .is_raw = attention->is_raw,
                                          .d_head = shape->d_head,
                                          .d_value = shape->d_value};
}

size_t attn_linear_attention_state_size(const struct attn_linear_attention *linear)
{
    return linear->d_head * (linear->d_value + 1);
}

size_t attn_linear_attention_scratch(const struct attn_linear_attention *linear)
{
    return ATTN_QUERY_TILE * (linear->d_head + ATTN_PANEL);
}

static void map(const struct attn_linear_attention *linear, const float *x, float *y)
{
    switch (linear->feature) {
    case ATTN_FEATURE_ELU:
        linear->kernels->elu_plus_one(x, linear->d_head, y);
        break;
    case ATTN_FEATURE_RELU:
        linear->kernels->relu_plus_tiny(x, linear->d_head, y);
        break;
    case ATTN_FEATURE_EXP:
        linear->kernels->exp(x, linear->d_head, y);
        break;
    }
}

void attn_linear_attention_map(const struct attn_linear_attention *linear,
                               const struct attn_feature_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        map(linear, rows->x + i * rows->ldx, rows->y + i * rows->ldy);
}

void attn_linear_attention_add(const struct attn_linear_attention *linear,
                               const struct attn_kv_rows *rows, float *state, float *scratch)
{
    const struct attn_kernels *kernels = linear->kernels;
    float *features = scratch, *sums = state + linear->d_head * linear->d_value;

    for (size_t i = 0; i < rows->n; i++) {
        map(linear, rows->k + i * rows->ldk, features);
        kernels->add(sums, features, linear->d_head, sums);
        if (rows->v)
            kernels->add_outer(features, linear->d_head, rows->v + i * rows->ldv, linear->d_value,
                               state);
    }
}

/* Divides x [n] by DIVISOR; a divisor of 0 makes x 0. Adding +0 turns -0 into +0, so that zeros are
 * canonical. */
static void divide(float *x, float divisor, size_t n)
{
    if (divisor == 0)
        memset(x, 0, n * sizeof *x);
    else
        for (size_t i = 0; i < n; i++)
            x[i] = x[i] / divisor + 0.0F;
}

float attn_linear_attention_row(const struct attn_linear_attention *linear, const float *state,
                                const float *q, float *z, float *scratch)
{
    const struct attn_kernels *kernels = linear->kernels;
    const float *sums = state + linear->d_head * linear->d_value;
    float *features = scratch, divisor = 1;

    map(linear, q, features);
    if (!linear->is_raw)
        kernels->multiply_row(features, linear->d_head, sums, 1, &divisor);
    if (z) {
        kernels->multiply_row(features, linear->d_head, state, linear->d_value, z);
        divide(z, divisor, linear->d_value);
    }
    return divisor;
}

void attn_linear_attention_pattern(const struct attn_linear_attention *linear,
                                   const struct attn_gemm_engine *engine,
                                   const struct attn_tile *tile, const float *keys,
                                   const float *divisors, float *scratch)
{
    const size_t d_head = linear->d_head;
    const struct attn_gemm_shape shape = {.m = ATTN_PANEL,
                                          .n = tile->n_row,
                                          .k = d_head,
                                          .lda = ATTN_PANEL,
                                          .ldb = d_head,
                                          .ldc = ATTN_PANEL};
    const struct attn_gemm_kernel product = attn_gemm_kernel_find(engine, &shape);
    float *features = scratch, *products = scratch + ATTN_QUERY_TILE * d_head;
    float *pattern = attn_tile_watched(tile, ATTN_SITE_PATTERN);
    const struct attn_feature_rows rows = {.x = tile->q,
                                           .ldx = tile->feed->shape->ldq,
                                           .n = tile->n_row,
                                           .y = features,
                                           .ldy = d_head};

    assert(tile->n_row >= 1 && tile->n_row <= ATTN_QUERY_TILE);
    attn_linear_attention_map(linear, &rows);
    memset(pattern, 0, tile->n_row * tile->n_key * sizeof *pattern);
    for (size_t first = 0; first < attn_tile_n_visible(tile, tile->n_row - 1);
         first += ATTN_PANEL) {
        attn_gemm_kernel_run(&product, keys + first * d_head, features, products, 1);
        for (size_t i = 0; i < tile->n_row; i++) { /* copy the visible keys of the panel */
            const size_t end = attn_tile_n_visible(tile, i);
            const size_t left = end > first ? end - first : 0;
            const size_t n = left < ATTN_PANEL ? left : ATTN_PANEL;
            float *weights = pattern + i * tile->n_key + first;

            memcpy(weights, products + i * ATTN_PANEL, n * sizeof *weights);
            divide(weights, divisors[i], n);
        }
    }
}

struct linear_pass {
    const struct attn_heads *heads;
    struct attn_linear_attention linear;
};

/* Adds the keys before LAST that are not yet in the state to it. */
static void add_keys(const struct linear_pass *pass, struct attn_kv *kv, size_t last,
                     float *scratch)
{
    const struct attn_head_shape *shape = pass->heads->feed.shape;
    const size_t ld = attn_kv_ld_value(shape), first = kv->n_summed;
    const struct attn_kv_rows rows = {
        .k = kv->keys + first * shape->d_head,
        .v = pass->heads->z ? kv->values + first * ld : NULL,
        .ldk = shape->d_head,
        .ldv = ld,
        .n = last - first,
    };

    if (first == 0)
        memset(kv->state, 0, attn_linear_attention_state_size(&pass->linear) * sizeof *kv->state);
    if (last > first)
        attn_linear_attention_add(&pass->linear, &rows, kv->state, scratch);
    kv->n_summed = last;
}

static void run_kv_head(void *context, size_t g, int worker)
{
    const struct linear_pass *pass = context;
    const struct attn_heads *heads = pass->heads;
    const bool is_causal = heads->feed.attention->mask == ATTN_MASK_CAUSAL;
    const size_t group = heads->n_head / heads->n_kv_head;
    float *scratch = heads->memory->scratch[worker];

    for (size_t i = 0; i < heads->feed.n_row; i++) {
        if (attn_is_canceled(heads->cancel))
            return;
        add_keys(pass, &heads->kv[g],
                 is_causal ? heads->feed.row0 + i + heads->feed.ahead + 1 : heads->feed.n_key,
                 scratch);
        for (size_t h = g * group; h < (g + 1) * group; h++) { /* the heads that share the state */
            const float *q = heads->q + h * heads->q_step + i * heads->feed.shape->ldq;
            float *z = heads->z ? heads->z + h * heads->z_step + i * heads->feed.ldz : NULL;

            if (heads->caller.needs_head(heads->caller.context, (int)(heads->first_head + h)))
                heads->memory->divisors[h * heads->feed.n_row + i] =
                    attn_linear_attention_row(&pass->linear, heads->kv[g].state, q, z, scratch);
        }
    }
}

/* Computes phi(k) of all keys of key/value head G in panels, for the matrix. */
static void map_keys(void *context, size_t g, int worker)
{
    const struct linear_pass *pass = context;
    const struct attn_heads *heads = pass->heads;
    const struct attn_head_shape *shape = heads->feed.shape;
    const size_t d = shape->d_head;
    float *features = heads->memory->features + g * attn_kv_keys_size(shape);
    float *row = heads->memory->scratch[worker];

    for (size_t j = 0; j < heads->feed.n_key; j++) {
        map(&pass->linear, heads->kv[g].keys + j * d, row);
        pass->linear.kernels->pack_keys(row, d, 1, d, j, features);
    }
}

static void run_heads(const struct attn_heads *heads)
{
    struct linear_pass pass = {heads, make_linear(heads->feed.attention, heads->feed.shape,
                                                  heads->engines->gemm->kernels)};

    attn_pool_run(heads->pool, heads->n_kv_head, run_kv_head, &pass);
    if (!attn_sites_are_empty(heads->watched))
        attn_pool_run(heads->pool, heads->n_kv_head, map_keys, &pass);
}

static void run_tile(const struct attn_heads *heads, const struct attn_tile *tile, float *scratch)
{
    const struct attn_head_shape *shape = heads->feed.shape;
    const struct attn_linear_attention linear =
        make_linear(heads->feed.attention, shape, heads->engines->gemm->kernels);
    const size_t head = (size_t)tile->head - heads->first_head;
    const size_t g = head / (heads->n_head / heads->n_kv_head);
    const float *keys = heads->memory->features + g * attn_kv_keys_size(shape);
    const float *divisors =
        heads->memory->divisors + head * heads->feed.n_row + (tile->row0 - heads->feed.row0);

    attn_linear_attention_pattern(&linear, heads->engines->gemm, tile, keys, divisors, scratch);
}

static struct attn_heads_needs find_needs(const struct attn_heads_sizes *sizes,
                                          const struct attn_attention *attention, bool is_watched)
{
    const struct attn_head_shape *shape = &sizes->shape;
    const struct attn_linear_attention linear = make_linear(attention, shape, NULL);

    return (struct attn_heads_needs){
        .n_scratch = attn_linear_attention_scratch(&linear),
        .n_divisor = attn_size_mul(sizes->n_head, sizes->n_query),
        .n_feature = is_watched ? attn_size_mul(sizes->n_kv_head, attn_kv_keys_size(shape)) : 0,
    };
}

static size_t state_size(const struct attn_head_shape *shape)
{
    const struct attn_linear_attention linear = {.d_head = shape->d_head,
                                                 .d_value = shape->d_value};

    return attn_linear_attention_state_size(&linear);
}

static const struct attn_kind_engine engine = {.engine = ATTN_ENGINE_LINEAR,
                                               .needs = find_needs,
                                               .state_size = state_size,
                                               .run_heads = run_heads,
                                               .run_tile = run_tile};

const struct attn_kind attn_kind_linear = {
    .summary = "all keys, by phi(q) . phi(k) instead of a softmax",
    .params = {{ATTN_KIND_PARAM_FEATURE, "feature", offsetof(struct attn_attention, feature), true},
               {ATTN_KIND_PARAM_RAW, "raw", offsetof(struct attn_attention, is_raw), true}},
    .engine = &engine,
    .pattern = ATTN_GIVES_ON_DEMAND,
    .no_matrix = "it adds keys up once, for all queries alike",
    .no_dropout = "it computes no weights that could be dropped",
    .no_cosine = "phi takes queries and keys as they are",
    .no_eps = "it divides no scores by sqrt(d_head)",
    .no_scores = "it has no scores",
};
