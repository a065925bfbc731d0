/* heads_input.c - what a layer's heads read: keys and values as the engine wants them, unit vectors
 * for cosine similarity, which weights dropout leaves. */
#include "attention/heads_state.h"
#include "attention/lowrank.h"

#include <math.h>
#include <string.h>

/* E and F for the keys of a sequence, kept until others are asked for. */
static void draw_maps(struct attn_heads_memory *memory, const struct attn_attention *attention,
                      size_t n_key)
{
    const size_t n_rank = attention->count;

    if (memory->map_rank == n_rank && memory->map_key == n_key &&
        memory->map_seed == attention->seed)
        return;
    attn_lowrank_draw(attention->seed, n_rank, n_key, memory->maps, memory->maps + n_rank * n_key);
    memory->map_rank = n_rank;
    memory->map_key = n_key;
    memory->map_seed = attention->seed;
}

/* Keys and values become mixtures: R of each. */
static void project(const struct attn_heads *heads, struct attn_kv *kv,
                    const struct attn_kv_rows *rows)
{
    const struct attn_dense_shape *shape = &heads->engines->shape;
    const struct attn_attention *attention = heads->attention;
    const size_t n_map = attention->count * rows->n;
    float *scratch = heads->memory->scratch[0]; /* aligned, as what is mixed need not be */
    float *mixed = scratch + attn_lowrank_scratch(rows->n);
    struct attn_lowrank_args args = {.engine = heads->engines->gemm,
                                     .n_rank = attention->count,
                                     .n_key = rows->n,
                                     .map = heads->memory->maps,
                                     .x = rows->k,
                                     .ldx = rows->ldk,
                                     .n_col = shape->d_head,
                                     .y = mixed,
                                     .ldy = shape->d_head};

    draw_maps(heads->memory, attention, rows->n);
    attn_lowrank_project(&args, scratch);
    args.engine->kernels->pack_keys(mixed, shape->d_head, attention->count, shape->d_head, 0,
                                    kv->keys);
    if (rows->v == NULL)
        return;
    args.map = heads->memory->maps + n_map;
    args.x = rows->v;
    args.ldx = rows->ldv;
    args.n_col = shape->d_value;
    args.y = kv->values;
    args.ldy = attn_dense_ld_value(shape);
    attn_lowrank_project(&args, scratch);
}

void attn_heads_remember(const struct attn_heads *heads, size_t g, const struct attn_kv_rows *rows)
{
    const struct attn_dense_shape *shape = &heads->engines->shape;
    const enum attn_engine engine = attn_attention_engine(heads->attention);
    const size_t d = shape->d_head;
    struct attn_kv *kv = &heads->kv[g];

    if (rows->first == 0)
        kv->n_summed = 0;
    if (engine == ATTN_ENGINE_LOWRANK) {
        project(heads, kv, rows);
        return;
    }
    attn_kv_write_values(kv, shape, rows);
    if (rows->k == NULL)
        return;
    if (engine == ATTN_ENGINE_DENSE || engine == ATTN_ENGINE_BLOCKWISE) {
        heads->engines->gemm->kernels->pack_keys(rows->k, rows->ldk, rows->n, d, rows->first,
                                                 kv->keys);
        return;
    }
    for (size_t i = 0; i < rows->n; i++)
        memcpy(kv->keys + (rows->first + i) * d, rows->k + i * rows->ldk, d * sizeof(float));
}

void attn_rows_normalize(float *x, size_t ld, size_t n, size_t d)
{
    for (size_t i = 0; i < n; i++) {
        float *row = x + i * ld, length = 0;

        for (size_t j = 0; j < d; j++)
            length = fmaf(row[j], row[j], length);
        length = sqrtf(length);
        for (size_t j = 0; j < d; j++)
            row[j] = length > 0 ? row[j] / length : 0;
    }
}

void attn_dropout_draw(struct attn_random *random, double dropout, size_t n, uint64_t *bits)
{
    memset(bits, 0, (n + 63) / 64 * sizeof *bits);
    for (size_t i = 0; i < n; i++)
        bits[i / 64] |= (uint64_t)attn_random_bernoulli(random, 1 - dropout) << (i % 64);
}
