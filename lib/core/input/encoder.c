#include "input/encoder.h"

#include "model/model_internal.h"

enum attn_status attn_encoder_map(const struct attn_encoder_map *map,
                                  const struct attn_sequence *sequence, struct attn_error *err)
{
    const struct attn_matrix *weight = &map->linear->weight;
    const bool is_back = map->is_transposed;
    const size_t n_in = is_back ? weight->n_col : weight->n_row;
    const size_t n_out = is_back ? weight->n_row : weight->n_col;
    const struct attn_gemm_engine engine = attn_gemm_engine_start(
        sequence->gemm, sequence->isa, (double)map->n * (double)n_in * (double)n_out);
    struct attn_linear_args args = {
        .linear = map->linear,
        .engine = &engine,
        .x = map->x,
        .ldx = n_in,
        .n_row = map->n,
        .y = map->y,
        .ldy = n_out,
        .last_col = n_out,
        .is_transposed = is_back,
        .has_activation = map->activation,
        .activation = map->activation ? attn_activation_find(map->activation) : ATTN_N_ACTIVATION};

    return attn_linear_run_alone(&args, 1, sequence->pool, err);
}
