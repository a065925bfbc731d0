/* heads_memory.c - which engine evaluates an attention, and the memory that a layer needs. */
#include "attention/heads_state.h"
#include "attention/keys.h"
#include "attention/lowrank.h"
#include "base/memory.h"

#include <string.h>

enum { KEPT_BYTES = 64 << 20 }; /* watched matrices of a layer held at a time, if one tile fits */

enum attn_engine attn_attention_engine(const struct attn_attention *attention)
{
    if (attention->kind == ATTN_ATTENTION_LINEAR)
        return ATTN_ENGINE_LINEAR;
    if (attention->kind == ATTN_ATTENTION_LOWRANK)
        return ATTN_ENGINE_LOWRANK;
    if (attention->algorithm == ATTN_ALGORITHM_BLOCKWISE)
        return ATTN_ENGINE_BLOCKWISE;
    if (!attn_attention_is_listed(attention) || attn_keys_are_together(attention))
        return ATTN_ENGINE_DENSE;
    return ATTN_ENGINE_GATHER;
}

void attn_engines_plan(struct attn_engines *engines, const struct attn_gemm_engine *gemm,
                       const struct attn_dense_shape *shape, const struct attn_attention *attention,
                       size_t n, size_t n_row)
{
    bool is_used[ATTN_N_ENGINE] = {false};

    engines->shape = *shape;
    engines->gemm = gemm;
    for (size_t i = 0; i < n; i++)
        is_used[attn_attention_engine(&attention[i])] = true;
    if (is_used[ATTN_ENGINE_DENSE] || is_used[ATTN_ENGINE_BLOCKWISE] ||
        is_used[ATTN_ENGINE_LOWRANK])
        attn_dense_plan(&engines->dense, gemm, shape, n_row);
    if (is_used[ATTN_ENGINE_GATHER])
        attn_gather_plan(&engines->gather, gemm, shape);
}

size_t attn_heads_row_size(const struct attn_attention *attention, size_t n_key)
{
    if (attention->kind == ATTN_ATTENTION_LOWRANK)
        return attention->count;
    return attn_attention_is_listed(attention) ? attn_keys_most(attention, n_key) : n_key;
}

size_t attn_heads_n_matrix(const struct attn_attention *attention, uint64_t watched)
{
    size_t n = 0;

    for (int i = 0; i < ATTN_N_MATRIX_SITE; i++)
        n += (watched & ATTN_SITE_BIT(ATTN_SITE_QK + i)) != 0;
    return n == 0 ? 0 : n + attn_attention_is_listed(attention);
}

static void raise_to(size_t *most, size_t n)
{
    *most = n > *most ? n : *most;
}

struct attn_linear_attention attn_heads_linear(const struct attn_attention *attention,
                                               const struct attn_dense_shape *shape,
                                               const struct attn_kernels *kernels)
{
    return (struct attn_linear_attention){.kernels = kernels,
                                          .feature = attention->feature,
                                          .is_raw = attention->is_raw,
                                          .d_head = shape->d_head,
                                          .d_value = shape->d_value};
}

size_t attn_heads_state_size(const struct attn_attention *attention,
                             const struct attn_dense_shape *shape)
{
    const struct attn_linear_attention linear = attn_heads_linear(attention, shape, NULL);

    return attention->kind == ATTN_ATTENTION_LINEAR ? attn_linear_attention_state_size(&linear) : 0;
}

/* What the engine of ATTENTION needs beside watched matrices. */
static void raise_engine(struct attn_heads_needs *needs, const struct attn_heads_sizes *sizes,
                         const struct attn_attention *attention, uint64_t watched)
{
    const struct attn_dense_shape *shape = &sizes->shape;
    const struct attn_linear_attention linear = attn_heads_linear(attention, shape, NULL);
    const size_t dense = attn_dense_scratch(shape, attention);

    switch (attn_attention_engine(attention)) {
    case ATTN_ENGINE_GATHER:
        raise_to(&needs->n_scratch, attn_gather_scratch(shape, attention));
        break;
    case ATTN_ENGINE_LINEAR:
        raise_to(&needs->n_scratch, attn_linear_attention_scratch(&linear));
        raise_to(&needs->n_divisor, attn_saturated_mul(sizes->n_head, sizes->n_query));
        if (watched != 0)
            raise_to(&needs->n_feature,
                     attn_saturated_mul(sizes->n_kv_head, attn_dense_keys_size(shape)));
        break;
    case ATTN_ENGINE_LOWRANK:
        raise_to(&needs->n_scratch, dense);
        raise_to(&needs->n_scratch,
                 attn_lowrank_scratch(sizes->n_key) + attention->count * shape->d_head);
        raise_to(&needs->n_map, attn_saturated_mul(2 * sizes->n_key, attention->count));
        break;
    case ATTN_ENGINE_BLOCKWISE:
        raise_to(&needs->n_scratch, attn_blockwise_scratch(shape));
        if (watched != 0)
            raise_to(&needs->n_scratch, dense);
        break;
    default:
        raise_to(&needs->n_scratch, dense);
    }
}

void attn_heads_raise(struct attn_heads_needs *needs, const struct attn_heads_sizes *sizes,
                      const struct attn_attention *attention, uint64_t watched,
                      size_t n_watched_head)
{
    const size_t n_query = sizes->n_query, ld = attn_heads_row_size(attention, sizes->n_key);
    const size_t n_tile_row = n_query < ATTN_QUERY_TILE ? n_query : ATTN_QUERY_TILE;
    const size_t n = attn_heads_n_matrix(attention, watched);
    const size_t all =
        attn_saturated_mul(attn_saturated_mul(n_query, ld), attn_saturated_mul(n, n_watched_head));
    size_t limit = attn_saturated_mul(n, attn_saturated_mul(n_tile_row, ld));

    raise_to(&limit, KEPT_BYTES / sizeof(float));
    raise_to(&needs->n_kept, all < limit ? all : limit);
    if (n > 0 && attn_attention_is_listed(attention))
        raise_to(&needs->n_cells, attn_saturated_mul(n_query, sizes->n_head));
    if (attention->dropout > 0 && attention->keep.cells == NULL)
        raise_to(&needs->n_dropout,
                 attn_saturated_mul(attn_saturated_mul(sizes->n_head, n_query), sizes->n_key) / 64 +
                     1);
    raise_engine(needs, sizes, attention, watched);
}

void attn_heads_plan(struct attn_heads_memory *memory, struct attn_arena *arena,
                     const struct attn_heads_sizes *sizes, const struct attn_heads_needs *needs)
{
    const size_t n_worker = (size_t)sizes->n_worker;

    memory->n_kept = needs->n_kept;
    memory->kept = attn_arena_take(arena, needs->n_kept, sizeof *memory->kept);
    memory->n_cells = attn_arena_take(arena, needs->n_cells, sizeof *memory->n_cells);
    memory->dropout = attn_arena_take(arena, needs->n_dropout, sizeof *memory->dropout);
    memory->divisors = attn_arena_take(arena, needs->n_divisor, sizeof *memory->divisors);
    memory->features = attn_arena_take(arena, needs->n_feature, sizeof *memory->features);
    memory->maps = attn_arena_take(arena, needs->n_map, sizeof *memory->maps);
    memory->map_rank = 0;
    memory->edited = attn_arena_take(arena, n_worker, sizeof *memory->edited);
    memory->heads = attn_arena_take(arena, 2 * sizes->n_head, sizeof *memory->heads);
    memory->scratch = attn_arena_take(arena, n_worker, sizeof *memory->scratch);
    for (size_t i = 0; i < n_worker; i++) {
        float *scratch = attn_arena_take(arena, needs->n_scratch, sizeof *scratch);

        if (memory->scratch != NULL)
            memory->scratch[i] = scratch;
    }
}

uint64_t attn_heads_watched(const struct attn_selection *selection, int layer)
{
    uint64_t watched = 0;

    for (int site = ATTN_SITE_QK; site <= ATTN_SITE_PATTERN_LOWRANK && selection != NULL; site++)
        if (attn_selection_wants(selection, (enum attn_site)site, layer))
            watched |= ATTN_SITE_BIT(site);
    return watched;
}

struct attn_kv *attn_heads_plan_kv(struct attn_arena *arena, const struct attn_dense_shape *shape,
                                   size_t n, size_t n_state)
{
    struct attn_kv *kv = attn_arena_take(arena, n, sizeof *kv);

    for (size_t i = 0; i < n; i++) {
        float *keys = attn_arena_take(arena, attn_dense_keys_size(shape), sizeof *keys);
        float *values = attn_arena_take(arena, attn_dense_values_size(shape), sizeof *values);
        float *state = attn_arena_take(arena, n_state, sizeof *state);

        if (kv != NULL)
            kv[i] = (struct attn_kv){.keys = keys, .values = values, .state = state};
    }
    return kv;
}

void attn_heads_clear_kv(struct attn_kv *kv, const struct attn_dense_shape *shape, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        memset(kv[i].keys, 0, attn_dense_keys_size(shape) * sizeof(float));
        memset(kv[i].values, 0, attn_dense_values_size(shape) * sizeof(float));
    }
}
