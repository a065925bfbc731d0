/* weights_packed.c - all weights of a model as the products read them, for a model that is run again
 * and again. */
#include "base/arena.h"
#include "base/file.h"
#include "base/memory.h"
#include "model/model_state.h"

enum { N_LINEAR = 6 }; /* linear maps of a block */

/* Every linear map that a model of CONFIG has: I from 0 on. NULL behind the last. */
static struct attn_linear *find_linear(struct attn_weights *weights,
                                       const struct attn_config *config, size_t i)
{
    struct attn_block_weights *block;

    if (i == config->n_layer * N_LINEAR)
        return &weights->unembed;
    if (i > config->n_layer * N_LINEAR)
        return NULL;
    block = &weights->blocks[i / N_LINEAR];
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
    if (attn_safetensors_owns_address(st, matrix->data))
        attn_file_drop_pages(matrix->data, attn_matrix_extent(matrix, matrix->n_col));
}

/* What is packed, and from which files. */
struct packing {
    struct attn_weights *weights;
    const struct attn_config *config;
    const struct attn_safetensors *st;
    const struct attn_kernels *kernels;
    struct attn_pool *pool;
};

/* Packs the maps from BEGIN on that a block has. As q, k and v may lie in the same pages, these are
 * given back when all of them are packed. */
static void pack_block(const struct packing *p, size_t begin)
{
    struct attn_linear *linears[N_LINEAR];
    size_t n = 0;

    for (size_t i = begin; i < begin + N_LINEAR; i++) {
        struct attn_linear *linear = find_linear(p->weights, p->config, i);

        if (linear != NULL && linear->packed != NULL)
            linears[n++] = linear;
    }
    for (size_t i = 0; i < n; i++)
        attn_linear_pack(linears[i], p->kernels, p->pool);
    for (size_t i = 0; i < n; i++)
        drop_pages(&linears[i]->weight, p->st);
}

enum attn_status attn_weights_pack(struct attn_weights *weights, const struct attn_config *config,
                                   const struct attn_safetensors *st,
                                   const struct attn_model_options *options, struct attn_error *err)
{
    const struct packing packing = {weights, config, st, attn_kernels_find(ATTN_ISA_BEST),
                                    options->pool};
    enum attn_status status;

    plan(weights, config, options->compute);
    status = attn_arena_allocate(&weights->packed, err);
    if (status != ATTN_OK)
        return status;
    plan(weights, config, options->compute);
    for (size_t i = 0; find_linear(weights, config, i) != NULL; i += N_LINEAR)
        pack_block(&packing, i);
    return ATTN_OK;
}
