/* lowrank.c - low-rank attention: its entry in the list of kinds, E and F, and mixed keys and
 * values. */
#include "attention/kinds/lowrank.h"

#include "attention/attention_internal.h"
#include "base/random.h"
#include "kernels/linear.h"

#include <math.h>
#include <stddef.h>

const struct attn_kind attn_kind_lowrank = {
    .summary = "R random mixtures of all keys",
    .params = {{ATTN_KIND_PARAM_COUNT, "R", offsetof(struct attn_attention, count), false},
               {ATTN_KIND_PARAM_SEED, "SEED", offsetof(struct attn_attention, seed), true}},
    .pattern_lowrank = ATTN_GIVES_DIRECTLY,
    .no_causal = "each of its keys is a mixture of all keys, those after the query too",
    .no_matrix = "each of its keys is a mixture of all keys",
    .no_dropout = "its weights are those of mixtures, not of keys",
    .no_scores = "its scores are those of mixtures, not of keys",
};

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
