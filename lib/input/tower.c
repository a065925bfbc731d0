/*
 * tower.c - see tower.h.
 *
 * A cell is merge x merge patches of the final rows y of the tower. The row of the decoder is
 *
 *     SmolVLM, Idefics3: W [y of each patch, row by row]
 *     PaliGemma: W y + b, of cells of one patch
 *     Gemma 3: RMSNorm(the mean of y over the patches) W, the norm times 1 + w
 *     Qwen: W gelu(W_in [y of each patch, row by row] + b_in) + b
 */
#include "input/tower.h"

#include "base/memory.h"
#include "forward/session_internal.h"
#include "input/picture_prompt.h"
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

enum attn_status attn_tower_take(const struct attn_model *model,
                                 const struct attn_sequence *sequence, size_t i,
                                 struct attn_tower_picture *picture, struct attn_error *err)
{
    const struct attn_pixels *all = sequence->seen.pixels;

    *picture = (struct attn_tower_picture){.pixels = *all};
    picture->pixels.values += i * all->n_channel * all->height * all->width;
    picture->sequence.pixels = &picture->pixels;
    ATTN_TRY(
        attn_model_image_grid(model->tower, all->height, all->width, &picture->sequence.grid, err));
    picture->sequence.n = picture->sequence.grid.n_row * picture->sequence.grid.n_col;
    if (sequence->seen.patches)
        picture->sequence.numbers =
            (struct attn_position_numbers){sequence->seen.patches, picture->sequence.n, 0};
    return ATTN_OK;
}

/* Sets where the patches of the pictures of SEQUENCE are, if the tower turns them by that. */
static enum attn_status place_patches(const struct attn_model *tower,
                                      struct attn_picture_prompt *seen, struct attn_error *err)
{
    const size_t merge = tower->config.vision.merge, n_row = seen->rows * merge,
                 n_col = seen->columns * merge, n = n_row * n_col;

    if (tower->config.positions != ATTN_POSITIONS_ROTARY)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(seen->patches, 3 * n, err));
    for (size_t i = 0; i < n; i++) {
        seen->patches[n + i] = (int32_t)(i / n_col);
        seen->patches[2 * n + i] = (int32_t)(i % n_col);
    }
    return ATTN_OK;
}

/* The memory for one picture. */
struct sight {
    float *final;  /* [patches, D of the tower] */
    float *joined; /* [cells, merge * merge * D of the tower] */
};

/* Computes the features of picture number I: FEATURES [cells, d_feature]. */
static enum attn_status see(const struct attn_model *model, const struct attn_sequence *sequence,
                            size_t i, const struct sight *sight, float *features,
                            struct attn_error *err)
{
    const struct attn_session_options options = {.pool = sequence->pool,
                                                 .cancel = sequence->cancel,
                                                 .isa = sequence->isa,
                                                 .gemm = sequence->gemm};
    const struct attn_vision_config *vision = &model->tower->config.vision;
    struct attn_encoder_rows made = {.final = sight->final};
    struct attn_encoder_map map = {
        .linear = &model->tower->weights.connector, .x = sight->joined, .y = features};
    struct attn_tower_picture picture;
    struct attn_pass pass;

    ATTN_TRY(attn_tower_take(model, sequence, i, &picture, err));
    map.n = picture.sequence.n / (vision->merge * vision->merge);
    pass = attn_encoder_pass_of(model, &picture.sequence, &options);
    ATTN_TRY(attn_encoder_run(&pass, &made, err));
    if (model->tower->weights.ln_connector.w.data)
        average_patches(model->tower, &picture.sequence.grid, sight->final, sight->joined);
    else
        join_patches(&picture.sequence.grid, vision->merge, model->tower->config.d_model,
                     sight->final, sight->joined);
    if (model->tower->weights.connector_in.weight.data) {
        const struct attn_encoder_map in = {.linear = &model->tower->weights.connector_in,
                                            .x = sight->joined,
                                            .n = map.n,
                                            .y = sight->final,
                                            .activation = "gelu"};

        ATTN_TRY(attn_encoder_map(&in, sequence, err));
        map.x = sight->final;
    }
    return attn_encoder_map(&map, sequence, err);
}

/* Computes the embeddings of the tokens of SEQUENCE that are no cells, whose ids need no row. */
static enum attn_status embed_text(const struct attn_model *model,
                                   const struct attn_sequence *sequence, struct attn_error *err)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);

    for (size_t i = 0; i < sequence->n; i++) {
        if (sequence->seen.region[i] == ATTN_REGION_PICTURE)
            continue;
        ATTN_TRY(attn_model_check_ids(model, &sequence->ids[i], 1, i, err));
        attn_model_row(model, kernels, sequence->ids[i],
                       sequence->embedded + i * model->config.d_embed);
    }
    return ATTN_OK;
}

/* Whether A and B have the same pictures. */
static bool are_same(const struct attn_sequence *a, const struct attn_sequence *b)
{
    const struct attn_pixels *x = a->seen.pixels, *y = b->seen.pixels;

    return a->rows && a->seen.n_picture == b->seen.n_picture && x->height == y->height &&
           x->width == y->width &&
           memcmp(x->values, y->values,
                  a->seen.n_picture * x->n_channel * x->height * x->width * sizeof(float)) == 0;
}

/* Copies the features of the pictures of LIKE, which are those of SEQUENCE. */
static void copy_features(const struct attn_model *model, const struct attn_sequence *like,
                          const struct attn_sequence *sequence)
{
    const size_t d = model->config.d_embed;
    size_t to = attn_picture_prompt_next(sequence, 0);

    for (size_t at = attn_picture_prompt_next(like, 0); at < like->n;
         at = attn_picture_prompt_next(like, at + 1)) {
        memcpy(sequence->embedded + to * d, like->rows + at * d, d * sizeof *like->rows);
        to = attn_picture_prompt_next(sequence, to + 1);
    }
}

/* Computes the features of all pictures of SEQUENCE, one after the other. */
static enum attn_status see_all(const struct attn_model *model,
                                const struct attn_sequence *sequence, struct attn_error *err)
{
    const struct attn_picture_prompt *seen = &sequence->seen;
    const size_t d = model->config.d_embed, n_cell = seen->rows * seen->columns;
    const size_t merge = model->tower->config.vision.merge, n_patch = n_cell * merge * merge;
    const size_t d_tower = model->tower->config.d_model;
    const struct sight sight = {attn_alloc(n_patch, d_tower * sizeof(float), err),
                                attn_alloc(n_patch, d_tower * sizeof(float), err)};
    float *features = attn_alloc(n_cell, d * sizeof *features, err);
    enum attn_status status = sight.final && sight.joined && features ? ATTN_OK : ATTN_NO_MEMORY;
    size_t at = attn_picture_prompt_next(sequence, 0);

    for (size_t i = 0; i < seen->n_picture && status == ATTN_OK; i++) {
        status = see(model, sequence, i, &sight, features, err);
        for (size_t cell = 0; cell < n_cell && status == ATTN_OK; cell++) {
            memcpy(sequence->embedded + at * d, features + cell * d, d * sizeof *features);
            at = attn_picture_prompt_next(sequence, at + 1);
        }
    }
    attn_free(sight.final);
    attn_free(sight.joined);
    attn_free(features);
    return status;
}

enum attn_status attn_tower_see(const struct attn_model *model, const struct attn_sequence *like,
                                struct attn_sequence *sequence, struct attn_error *err)
{
    sequence->embedded =
        attn_alloc(sequence->n, model->config.d_embed * sizeof *sequence->embedded, err);
    if (!sequence->embedded)
        return ATTN_NO_MEMORY;
    sequence->rows = sequence->embedded;
    ATTN_TRY(embed_text(model, sequence, err));
    ATTN_TRY(place_patches(model->tower, &sequence->seen, err));
    if (!like || like->seen.n_picture == 0 || !are_same(like, sequence))
        return see_all(model, sequence, err);
    copy_features(model, like, sequence);
    return ATTN_OK;
}
