/* linear_attention.c - see linear_attention.h. */
#include "attention/linear_attention.h"

#include <assert.h>
#include <string.h>

size_t attn_linear_attention_state_size(const struct attn_linear_attention *linear)
{
    return linear->d_head * (linear->d_value + 1);
}

size_t attn_linear_attention_scratch(const struct attn_linear_attention *linear)
{
    return ATTN_QUERY_TILE * (linear->d_head + ATTN_KEY_BLOCK);
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
        if (rows->v != NULL)
            kernels->add_outer(features, linear->d_head, rows->v + i * rows->ldv, linear->d_value,
                               state);
    }
}

/* Also makes zeros canonical: adding +0 turns -0 into +0. */
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
    if (z != NULL) {
        kernels->multiply_row(features, linear->d_head, state, linear->d_value, z);
        divide(z, divisor, linear->d_value);
    }
    return divisor;
}

/* Keys that row I of the tile may look at; they are a prefix. */
static size_t n_visible(const struct attn_linear_attention_tile *tile, size_t i)
{
    return tile->is_causal && tile->position + i < tile->n_key ? tile->position + i + 1
                                                               : tile->n_key;
}

/* The visible ones of a panel of products, phi(q[i]) . phi(k[j]) for j from FIRST on, divided. */
static void keep_visible(const struct attn_linear_attention_tile *tile, const float *products,
                         size_t first)
{
    for (size_t i = 0; i < tile->n_row; i++, products += ATTN_KEY_BLOCK) {
        const size_t end = n_visible(tile, i);
        const size_t left = end > first ? end - first : 0;
        const size_t n = left < ATTN_KEY_BLOCK ? left : ATTN_KEY_BLOCK;
        float *weights = tile->pattern + i * tile->n_key + first;

        memcpy(weights, products, n * sizeof *weights);
        divide(weights, tile->divisors[i], n);
    }
}

void attn_linear_attention_pattern(const struct attn_linear_attention *linear,
                                   const struct attn_gemm_engine *engine,
                                   const struct attn_linear_attention_tile *tile, float *scratch)
{
    const size_t d_head = linear->d_head;
    const struct attn_gemm_shape shape = {.m = ATTN_KEY_BLOCK,
                                          .n = tile->n_row,
                                          .k = d_head,
                                          .lda = ATTN_KEY_BLOCK,
                                          .ldb = d_head,
                                          .ldc = ATTN_KEY_BLOCK};
    const struct attn_gemm_kernel product = attn_gemm_kernel_find(engine, &shape);
    float *features = scratch, *products = scratch + ATTN_QUERY_TILE * d_head;
    const struct attn_feature_rows rows = {
        .x = tile->q, .ldx = tile->ldq, .n = tile->n_row, .y = features, .ldy = d_head};

    assert(tile->n_row >= 1 && tile->n_row <= ATTN_QUERY_TILE);
    attn_linear_attention_map(linear, &rows);
    memset(tile->pattern, 0, tile->n_row * tile->n_key * sizeof *tile->pattern);
    for (size_t first = 0; first < n_visible(tile, tile->n_row - 1); first += ATTN_KEY_BLOCK) {
        attn_gemm_kernel_run(&product, tile->features + first * d_head, features, products, 1);
        keep_visible(tile, products, first);
    }
}
