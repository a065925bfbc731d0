/* weights_packed.c - all weights of a model as the products read them, for a model that is run again
 * and again. */
#include "base/arena.h"
#include "base/file.h"
#include "base/memory.h"
#include "model/model_state.h"

/* Every linear map that a model of CONFIG has: I from 0 on. NULL behind the last. */
static struct attn_linear *find_linear(struct attn_weights *weights,
                                       const struct attn_config *config, size_t i)
{
    enum { N_LINEAR = 6 };
    struct attn_block_weights *block = &weights->blocks[i / N_LINEAR];

    if (i == config->n_layer * N_LINEAR)
        return &weights->unembed;
    if (i > config->n_layer * N_LINEAR)
        return NULL;
    return (struct attn_linear *[]){&block->q,   &block->k,      &block->v,
                                    &block->out, &block->mlp_in, &block->mlp_out}[i % N_LINEAR];
}

/* The same code measures and carves; see base/arena.h. */
static void plan(struct attn_weights *weights, const struct attn_config *config,
                 enum attn_compute compute)
{
    struct attn_linear *linear;

    for (size_t i = 0; (linear = find_linear(weights, config, i)) != NULL; i++)
        if (linear->weight.data != NULL) {
            linear->packed =
                attn_arena_take(&weights->packed, attn_linear_packed_size(linear, compute), 1);
            linear->packed_for = compute;
        }
}

/* Gives back the pages of MATRIX; they are read again if its elements are wanted once more. */
static void drop_pages(const struct attn_matrix *matrix, const struct attn_safetensors *st)
{
    const size_t size = attn_dtype_bits(matrix->dtype) / 8;

    if (attn_safetensors_owns_address(st, matrix->data))
        attn_file_drop_pages(matrix->data, matrix->n_row * matrix->n_col * size);
}

enum attn_status attn_weights_pack(struct attn_weights *weights, const struct attn_config *config,
                                   const struct attn_safetensors *st,
                                   const struct attn_model_options *options, struct attn_error *err)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    struct attn_linear *linear;
    enum attn_status status;

    plan(weights, config, options->compute);
    status = attn_arena_allocate(&weights->packed, err);
    if (status != ATTN_OK)
        return status;
    plan(weights, config, options->compute);
    for (size_t i = 0; (linear = find_linear(weights, config, i)) != NULL; i++) {
        if (linear->packed == NULL)
            continue;
        attn_linear_pack(linear, kernels, options->pool);
        drop_pages(&linear->weight, st);
    }
    return ATTN_OK;
}
