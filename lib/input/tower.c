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

/* Encodes picture number I of PASS, which it sets PICTURE to. TRACE may be NULL. FINAL [patches, D
 * of the tower] receives the final rows; or NULL. */
static enum attn_status encode(struct attn_tower_pass *pass, size_t i,
                               struct attn_tower_picture *picture, const struct attn_trace *trace,
                               float *final, struct attn_error *err)
{
    struct attn_encoder_rows made = {.final = final, .has_effect = pass->has_effect};
    struct attn_pass own;
    size_t at = 0;

    ATTN_TRY(attn_tower_take(pass->model, pass->text, i, picture, err));
    picture->sequence.pool = pass->options.pool;
    picture->sequence.gemm = pass->options.gemm;
    picture->sequence.isa = pass->options.isa;
    own = attn_encoder_pass_of(pass->model, &picture->sequence, &pass->options);
    own.options.trace = trace;
    while (at < pass->n_tile && pass->tiles[at] != i)
        at++;
    if (at < pass->n_tile) {
        own.options.edits = pass->edits;
        own.options.n_edit = pass->n_edit;
        own.n_uncounted = pass->n_uncounted;
    }
    ATTN_TRY(attn_encoder_run(&own, &made, err));
    pass->n_edited += made.n_edited;
    return ATTN_OK;
}

/* Computes the features of picture number I: FEATURES [cells, d_feature]. */
static enum attn_status see(struct attn_tower_pass *pass, size_t i, const struct sight *sight,
                            float *features, struct attn_error *err)
{
    const struct attn_model *tower = pass->model->tower;
    const size_t merge = tower->config.vision.merge;
    struct attn_encoder_map map = {
        .linear = &tower->weights.connector, .x = sight->joined, .y = features};
    struct attn_tower_picture picture;

    ATTN_TRY(encode(pass, i, &picture, NULL, sight->final, err));
    map.n = picture.sequence.n / (merge * merge);
    if (tower->weights.ln_connector.w.data)
        average_patches(tower, &picture.sequence.grid, sight->final, sight->joined);
    else
        join_patches(&picture.sequence.grid, merge, tower->config.d_model, sight->final,
                     sight->joined);
    if (tower->weights.connector_in.weight.data) {
        const struct attn_encoder_map in = {.linear = &tower->weights.connector_in,
                                            .x = sight->joined,
                                            .n = map.n,
                                            .y = sight->final,
                                            .activation = "gelu"};

        ATTN_TRY(attn_encoder_map(&in, &picture.sequence, err));
        map.x = sight->final;
    }
    return attn_encoder_map(&map, &picture.sequence, err);
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

/* Copies the features of the pictures of LIKE, which are those of SEQUENCE, to ROWS. */
static void copy_features(const struct attn_model *model, const struct attn_sequence *like,
                          const struct attn_sequence *sequence, float *rows)
{
    const size_t d = model->config.d_embed;
    size_t to = attn_picture_prompt_next(sequence, 0);

    for (size_t at = attn_picture_prompt_next(like, 0); at < like->n;
         at = attn_picture_prompt_next(like, at + 1)) {
        memcpy(rows + to * d, like->rows + at * d, d * sizeof *rows);
        to = attn_picture_prompt_next(sequence, to + 1);
    }
}

enum attn_status attn_tower_see(struct attn_tower_pass *pass, const struct attn_sequence *like,
                                float *rows, struct attn_error *err)
{
    const struct attn_sequence *sequence = pass->text;
    const struct attn_picture_prompt *seen = &sequence->seen;
    const struct attn_model *tower = pass->model->tower;
    const size_t d = pass->model->config.d_embed, n_cell = seen->rows * seen->columns;
    const size_t merge = tower->config.vision.merge, n_patch = n_cell * merge * merge;
    struct sight sight = {NULL, NULL};
    float *features;
    enum attn_status status;
    size_t at = attn_picture_prompt_next(sequence, 0);

    if (like && pass->n_edit == 0 && like->seen.n_picture > 0 && are_same(like, sequence)) {
        copy_features(pass->model, like, sequence, rows);
        return ATTN_OK;
    }
    sight.final = attn_alloc(n_patch, tower->config.d_model * sizeof(float), err);
    sight.joined = attn_alloc(n_patch, tower->config.d_model * sizeof(float), err);
    features = attn_alloc(n_cell, d * sizeof *features, err);
    status = sight.final && sight.joined && features ? ATTN_OK : ATTN_NO_MEMORY;
    for (size_t i = 0; i < seen->n_picture && status == ATTN_OK; i++) {
        status = see(pass, i, &sight, features, err);
        for (size_t cell = 0; cell < n_cell && status == ATTN_OK; cell++) {
            memcpy(rows + at * d, features + cell * d, d * sizeof *features);
            at = attn_picture_prompt_next(sequence, at + 1);
        }
    }
    attn_free(sight.final);
    attn_free(sight.joined);
    attn_free(features);
    return status;
}

enum attn_status attn_tower_prepare(const struct attn_model *model, struct attn_sequence *sequence,
                                    struct attn_error *err)
{
    sequence->embedded =
        attn_alloc(sequence->n, model->config.d_embed * sizeof *sequence->embedded, err);
    if (!sequence->embedded)
        return ATTN_NO_MEMORY;
    sequence->rows = sequence->embedded;
    ATTN_TRY(embed_text(model, sequence, err));
    return place_patches(model->tower, &sequence->seen, err);
}

/* What the events of one picture are sent to, and its number among those that are watched. */
struct tile_trace {
    const struct attn_trace *to;
    size_t number;
};

static enum attn_status number_event(void *user, const struct attn_trace_event *event,
                                     struct attn_error *err)
{
    const struct tile_trace *tile = user;
    struct attn_trace_event numbered = *event;

    numbered.sequence = tile->number;
    return tile->to->on_event(tile->to->user, &numbered, err);
}

enum attn_status attn_tower_watch(struct attn_tower_pass *pass, const size_t *tiles, size_t n,
                                  struct attn_error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct tile_trace tile = {pass->options.trace, i};
        const struct attn_trace numbered = {
            .selection = tile.to->selection, .on_event = number_event, .user = &tile};
        struct attn_tower_picture picture;

        ATTN_TRY(encode(pass, tiles[i], &picture, &numbered, NULL, err));
    }
    return ATTN_OK;
}
