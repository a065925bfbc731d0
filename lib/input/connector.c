/*
 * connector.c - see connector.h.
 *
 * A cell is merge x merge patches of the final rows y of the tower. The row of the decoder is
 *
 *     SmolVLM, Idefics3: W [y of each patch, row by row]
 *     PaliGemma: W y + b, of cells of one patch
 *     Gemma 3: RMSNorm(the mean of y over the patches) W, the norm times 1 + w
 *     LLaVA: W gelu(W_in y + b_in) + b, of cells of one patch, without the row of [CLS]
 *     Qwen: W gelu(W_in [y of each patch, row by row] + b_in) + b
 */
#include "input/connector.h"

#include "model/model_internal.h"

#include <string.h>

/* Writes the input of the connector's map for the patches Y [n_row, n_col, d] of a picture: X
 * [cells, merge * merge * d]. */
static void join_patches(const struct attn_image_grid *grid, size_t merge, size_t d, const float *y,
                         float *x)
{
    for (size_t row = 0; row < grid->n_row; row += merge)
        for (size_t col = 0; col < grid->n_col; col += merge)
            for (size_t i = 0; i < merge; i++, x += merge * d)
                memcpy(x, y + ((row + i) * grid->n_col + col) * d, merge * d * sizeof *x);
}

/* Writes the normalized means X [cells, d] of the patches Y [n_row, n_col, d] of a picture. Y is
 * scratch afterwards. */
static void average_patches(const struct attn_model *tower, const struct attn_image_grid *grid,
                            float *y, float *x)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    const struct attn_vector *w = &tower->weights.ln_connector.w;
    const size_t merge = tower->config.vision.merge, d = tower->config.d_model;
    const size_t n_col = grid->n_col / merge, n = grid->n_row / merge * n_col;

    memset(x, 0, n * d * sizeof *x);
    for (size_t row = 0; row < grid->n_row; row++)
        for (size_t col = 0; col < grid->n_col; col++) {
            float *cell = x + (row / merge * n_col + col / merge) * d;

            kernels->add(cell, y + (row * grid->n_col + col) * d, d, cell);
        }
    kernels->convert(w->data, w->dtype, d, y);
    for (size_t i = 0; i < d; i++)
        y[i] += 1;
    for (size_t i = 0; i < n; i++, x += d) {
        kernels->scale(x, 1 / (float)(merge * merge), d, x);
        kernels->rms_norm(x, y, d, tower->config.norm_eps, x);
    }
}

enum attn_status attn_connector_run(const struct attn_model *tower,
                                    const struct attn_sequence *picture, float *y, float *joined,
                                    float *rows, struct attn_error *err)
{
    const struct attn_weights *w = &tower->weights;
    const size_t merge = tower->config.vision.merge, n_front = picture->grid.n_front;
    const size_t n_patch = picture->n - n_front;
    struct attn_encoder_map map = {
        .linear = &w->connector, .x = joined, .n = n_patch / (merge * merge), .y = rows};

    y += n_front * tower->config.d_model;
    if (w->ln_connector.w.data)
        average_patches(tower, &picture->grid, y, joined);
    else
        join_patches(&picture->grid, merge, tower->config.d_model, y, joined);
    if (w->connector_in.weight.data) {
        const struct attn_encoder_map in = {
            .linear = &w->connector_in, .x = joined, .n = map.n, .y = y, .activation = "gelu"};

        ATTN_TRY(attn_encoder_map(&in, picture, err));
        map.x = y;
    }
    return attn_encoder_map(&map, picture, err);
}
