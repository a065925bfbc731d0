/* lowrank.c - low-rank attention: E and F, mixed keys and values, and its row in the list of
 * kinds. */
#include "kinds/lowrank.h"

#include "attention/attention_internal.h"
#include "attention/heads.h"
#include "base/random.h"
#include "kernels/linear.h"

#include <math.h>
#include <stddef.h>

void attn_lowrank_draw(uint64_t seed, size_t n_rank, size_t n_key, float *e, float *f)
{
    const float root = (float)sqrt((double)n_rank);
    float *const maps[] = {e, f};
    const size_t n = n_rank * n_key;
    struct attn_random random;

    attn_random_seed(&random, seed);
    for (size_t m = 0; m < 2; m++) {
        attn_random_fill_normal(&random, maps[m], n, 0, 1);
        for (size_t i = 0; i < n; i++)
            maps[m][i] /= root;
    }
}

/* Returns a linear map with X as its weights; its inputs are the rows of E or F. */
static struct attn_linear as_linear(size_t n_key, size_t n_col, const float *x, size_t ldx)
{
    return (struct attn_linear){.weight = {.data = x,
                                           .dtype = ATTN_DTYPE_F32,
                                           .n_row = n_key,
                                           .n_col = n_col,
                                           .row_stride = ldx,
                                           .col_stride = 1,
                                           .group = n_col}};
}

size_t attn_lowrank_scratch(size_t n_key)
{
    const struct attn_linear linear = as_linear(n_key, 1, NULL, 1);

    return attn_linear_scratch(&linear);
}

void attn_lowrank_project(const struct attn_lowrank_args *args, float *scratch)
{
    const struct attn_linear linear = as_linear(args->n_key, args->n_col, args->x, args->ldx);

    attn_linear_run(&(struct attn_linear_args){.linear = &linear,
                                               .engine = args->engine,
                                               .scratch = &scratch,
                                               .x = args->map,
                                               .ldx = args->n_key,
                                               .n_row = args->n_rank,
                                               .y = args->y,
                                               .ldy = args->ldy,
                                               .last_col = args->n_col},
                    1, NULL);
}

/* --- In a layer ------------------------------------------------------------------------------ */

/* Replaces the keys and values of all positions by R mixtures each. */
static void mix(const struct attn_heads *heads, struct attn_kv *kv, const struct attn_kv_rows *rows)
{
    const struct attn_head_shape *shape = heads->feed.shape;
    const struct attn_attention *attention = heads->feed.attention;
    const size_t n_map = attention->count * rows->n;
    struct attn_heads_memory *memory = heads->memory;
    float *scratch = memory->scratch[0]; /* aligned; the mixed rows need not be */
    float *mixed = scratch + attn_lowrank_scratch(rows->n);
    struct attn_lowrank_args args = {.engine = heads->engines->gemm,
                                     .n_rank = attention->count,
                                     .n_key = rows->n,
                                     .map = memory->maps,
                                     .x = rows->k,
                                     .ldx = rows->ldk,
                                     .n_col = shape->d_head,
                                     .y = mixed,
                                     .ldy = shape->d_head};

    /* E and F are kept until the seed or a size changes. */
    if (memory->map_rank != attention->count || memory->map_key != rows->n ||
        memory->map_seed != attention->seed) {
        attn_lowrank_draw(attention->seed, attention->count, rows->n, memory->maps,
                          memory->maps + n_map);
        memory->map_rank = attention->count;
        memory->map_key = rows->n;
        memory->map_seed = attention->seed;
    }
    attn_lowrank_project(&args, scratch);
    args.engine->kernels->pack_keys(mixed, shape->d_head, attention->count, shape->d_head, 0,
                                    kv->keys);
    if (!rows->v)
        return;
    args.map = memory->maps + n_map;
    args.x = rows->v;
    args.ldx = rows->ldv;
    args.n_col = shape->d_value;
    args.y = kv->values;
    args.ldy = attn_kv_ld_value(shape);
    attn_lowrank_project(&args, scratch);
}

/* Beside what dense attention over the mixtures needs. */
static struct attn_heads_needs find_needs(const struct attn_heads_sizes *sizes,
                                          const struct attn_attention *attention, bool is_watched)
{
    const struct attn_head_shape *shape = &sizes->shape;
    const size_t dense = attn_dense_scratch(shape, attention);
    const size_t mixed = attn_lowrank_scratch(sizes->n_key) + attention->count * shape->d_head;

    (void)is_watched;
    return (struct attn_heads_needs){.n_scratch = dense > mixed ? dense : mixed,
                                     .n_map = attn_size_mul(2 * sizes->n_key, attention->count)};
}

static const struct attn_kind_engine engine = {
    .engine = ATTN_ENGINE_LOWRANK, .needs = find_needs, .append = mix};

const struct attn_kind attn_kind_lowrank = {
    .summary = "R random mixtures of all keys",
    .params = {{ATTN_KIND_PARAM_COUNT, "R", offsetof(struct attn_attention, count), false},
               {ATTN_KIND_PARAM_SEED, "SEED", offsetof(struct attn_attention, seed), true}},
    .engine = &engine,
    .pattern_lowrank = ATTN_GIVES_DIRECTLY,
    .no_causal = "each of its keys is a mixture of all keys, those after the query too",
    .no_matrix = "each of its keys is a mixture of all keys",
    .no_dropout = "its weights are those of mixtures, not of keys",
    .no_scores = "its scores are those of mixtures, not of keys",
};
