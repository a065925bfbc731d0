/*
 * heads_linear.c - linear attention over the heads of a layer.
 *
 * One key/value head is one task: its state passes over the keys once and serves all queries of its
 * group. The state stays with the keys, so that a later feed goes on where it stands; after a
 * rewind it is made anew from the keys that are left, in the same order.
 */
#include "attention/heads_state.h"

#include <string.h>

struct pass {
    const struct attn_heads *heads;
    struct attn_linear_attention linear;
};

/* Takes keys up to LAST-1 into the state. */
static void take_keys(const struct pass *pass, struct attn_kv *kv, size_t last, float *scratch)
{
    const struct attn_dense_shape *shape = &pass->heads->engines->shape;
    const size_t ld = attn_dense_ld_value(shape), first = kv->n_summed;
    const struct attn_kv_rows rows = {
        .k = kv->keys + first * shape->d_head,
        .v = pass->heads->z != NULL ? kv->values + first * ld : NULL,
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

/* Row I of the feed, for the heads that share a key/value head. */
static void run_row(const struct pass *pass, size_t g, size_t i, float *scratch)
{
    const struct attn_heads *heads = pass->heads;
    const size_t group = heads->n_head / heads->n_kv_head;

    for (size_t h = g * group; h < (g + 1) * group; h++) {
        const float *q = heads->q + h * heads->q_step + i * heads->engines->shape.ldq;
        float *z = heads->z;

        if (!heads->owner.needs_head(heads->owner.owner, (int)(heads->first_head + h)))
            continue;
        if (z != NULL)
            z += h * heads->z_step + i * heads->ldz;
        heads->memory->divisors[h * heads->n_row + i] =
            attn_linear_attention_row(&pass->linear, heads->kv[g].state, q, z, scratch);
    }
}

static void run_kv_head(void *context, size_t g, int worker)
{
    const struct pass *pass = context;
    const struct attn_heads *heads = pass->heads;
    const bool is_causal = heads->attention->mask == ATTN_MASK_CAUSAL;
    float *scratch = heads->memory->scratch[worker];

    for (size_t i = 0; i < heads->n_row; i++) {
        if (heads->cancel != NULL && *heads->cancel != 0)
            return;
        take_keys(pass, &heads->kv[g],
                  is_causal ? heads->row0 + i + heads->ahead + 1 : heads->n_key, scratch);
        run_row(pass, g, i, scratch);
    }
}

/* phi(k) of all keys in panels, for the matrix. */
static void map_keys(void *context, size_t g, int worker)
{
    const struct pass *pass = context;
    const struct attn_heads *heads = pass->heads;
    const struct attn_dense_shape *shape = &heads->engines->shape;
    const size_t d = shape->d_head;
    float *features = heads->memory->features + g * attn_dense_keys_size(shape);
    float *row = heads->memory->scratch[worker];

    for (size_t j = 0; j < heads->n_key; j++) {
        const struct attn_feature_rows rows = {
            .x = heads->kv[g].keys + j * d, .ldx = d, .n = 1, .y = row, .ldy = d};

        attn_linear_attention_map(&pass->linear, &rows);
        pass->linear.kernels->pack_keys(row, d, 1, d, j, features);
    }
}

void attn_heads_run_linear(const struct attn_heads *heads)
{
    struct pass pass = {heads, attn_heads_linear(heads->attention, &heads->engines->shape,
                                                 heads->engines->gemm->kernels)};

    attn_pool_run(heads->pool, heads->n_kv_head, run_kv_head, &pass);
    if (heads->watched != 0)
        attn_pool_run(heads->pool, heads->n_kv_head, map_keys, &pass);
}

void attn_heads_run_linear_tile(const struct attn_heads *heads, const struct attn_tile *tile,
                                float *scratch)
{
    const struct attn_dense_shape *shape = &heads->engines->shape;
    const struct attn_linear_attention linear =
        attn_heads_linear(heads->attention, shape, heads->engines->gemm->kernels);
    const size_t head = (size_t)tile->head - heads->first_head;
    const size_t g = head / (heads->n_head / heads->n_kv_head);
    const struct attn_linear_attention_tile rows = {
        .is_causal = heads->attention->mask == ATTN_MASK_CAUSAL,
        .position = tile->row0 + tile->ahead,
        .n_row = tile->n_row,
        .n_key = tile->n_key,
        .q = tile->q,
        .ldq = shape->ldq,
        .features = heads->memory->features + g * attn_dense_keys_size(shape),
        .divisors = heads->memory->divisors + head * heads->n_row + (tile->row0 - heads->row0),
        .pattern = attn_tile_kept(tile, ATTN_SITE_PATTERN),
    };

    attn_linear_attention_pattern(&linear, heads->engines->gemm, &rows, scratch);
}
