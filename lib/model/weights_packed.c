/* weights_packed.c - all weights of a model as the products read them, for a model that is run again
 * and again. */
#include "base/arena.h"
#include "base/file.h"
#include "base/memory.h"
#include "model/model_internal.h"

/* The place for LINEAR. The same code measures and carves; see base/arena.h. */
static void plan_linear(struct attn_weights *weights, struct attn_linear *linear,
                        enum attn_compute compute)
{
    if (linear->weight.data == NULL)
        return;
    linear->packed = attn_arena_take(&weights->packed, attn_linear_packed_size(linear, compute), 1);
    linear->packed_for = compute;
}

static void plan(struct attn_weights *weights, const struct attn_config *config,
                 enum attn_compute compute)
{
    for (size_t layer = 0; layer < config->n_layer; layer++)
        for (size_t i = 0; i < ATTN_BLOCK_N_LINEAR; i++)
            plan_linear(weights, &weights->blocks[layer].linears[i], compute);
    plan_linear(weights, &weights->unembed, compute);
}

/* Gives back the pages of MATRIX; they are read again if its elements are wanted once more. */
static void drop_pages(const struct attn_matrix *matrix, const struct attn_safetensors *st)
{
    if (attn_safetensors_owns_address(st, matrix->data))
        attn_file_drop_pages(matrix->data, attn_matrix_extent(matrix, matrix->n_col));
}

/* Packs N maps, which may lie in the same pages, as q, k and v do: these are given back when all are
 * packed. */
static void pack(const struct attn_linear *linears, size_t n, const struct attn_safetensors *st,
                 struct attn_pool *pool)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);

    for (size_t i = 0; i < n; i++)
        if (linears[i].packed != NULL)
            attn_linear_pack(&linears[i], kernels, pool);
    for (size_t i = 0; i < n; i++)
        if (linears[i].packed != NULL)
            drop_pages(&linears[i].weight, st);
}

enum attn_status attn_weights_pack(struct attn_weights *weights, const struct attn_config *config,
                                   const struct attn_safetensors *st,
                                   const struct attn_model_options *options, struct attn_error *err)
{
    enum attn_status status;

    plan(weights, config, options->compute);
    status = attn_arena_allocate(&weights->packed, err);
    if (status != ATTN_OK)
        return status;
    plan(weights, config, options->compute);
    for (size_t layer = 0; layer < config->n_layer; layer++)
        pack(weights->blocks[layer].linears, ATTN_BLOCK_N_LINEAR, st, options->pool);
    pack(&weights->unembed, 1, st, options->pool);
    return ATTN_OK;
}
