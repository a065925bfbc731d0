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
 *     InternVL, DeepStack of Qwen3-VL: the same of LayerNorm([y of each patch, row by row])
 *     Pixtral: W gelu(W_in y + b_in) + b, of cells of one patch
 *     Mistral 3: the same of W_merge [RMSNorm(y) of each patch, component by component]
 */
#include "towers/connector.h"

#include "base/memory.h"
#include "model/model_internal.h"

#include <string.h>

/* Writes the input of the connector's map for the patches Y [n_row, n_col, d] of a picture: X
 * [cells, merge * merge * d]; or Y from X. */
static void join_patches(const struct attn_image_grid *grid, size_t merge, size_t d, bool is_back,
                         float *y, float *x)
{
    for (size_t row = 0; row < grid->n_row; row += merge)
        for (size_t col = 0; col < grid->n_col; col += merge)
            for (size_t i = 0; i < merge; i++, x += merge * d) {
                float *patch = y + ((row + i) * grid->n_col + col) * d;

                memcpy(is_back ? patch : x, is_back ? x : patch, merge * d * sizeof *x);
            }
}

/* The same, component by component: X [cells, d, merge * merge]. */
static void spread_patches(const struct attn_image_grid *grid, size_t merge, size_t d, bool is_back,
                           float *y, float *x)
{
    const size_t n_col = grid->n_col / merge, n_in_cell = merge * merge;

    for (size_t i = 0; i < grid->n_row * grid->n_col; i++) {
        const size_t row = i / grid->n_col, col = i % grid->n_col;
        float *cell = x + (row / merge * n_col + col / merge) * d * n_in_cell;

        for (size_t k = 0; k < d; k++) {
            float *in_cell = cell + k * n_in_cell + row % merge * merge + col % merge;

            *(is_back ? y + i * d + k : in_cell) = *(is_back ? in_cell : y + i * d + k);
        }
    }
}

/* The cells that are means of patches. */
struct means {
    const struct attn_kernels *kernels;
    const struct attn_image_grid *grid;
    size_t merge, d, n; /* patches of a side of a cell, width of a row, cells */
};

static struct means means_of(const struct attn_model *tower, const struct attn_image_grid *grid)
{
    const size_t merge = tower->config.vision.merge;

    return (struct means){.kernels = attn_kernels_find(ATTN_ISA_BEST),
                          .grid = grid,
                          .merge = merge,
                          .d = tower->config.d_model,
                          .n = grid->n_row / merge * (grid->n_col / merge)};
}

/* Returns the cell in X [cells, d] of patch number I. */
static float *cell_of(const struct means *means, size_t i, float *x)
{
    const size_t n_col = means->grid->n_col, merge = means->merge;

    return x + (i / n_col / merge * (n_col / merge) + i % n_col / merge) * means->d;
}

/* Writes the means X [cells, d] of the patches Y, and then the weight of their norm to Y [d]. */
static void average_patches(const struct attn_model *tower, const struct means *means, float *y,
                            float *x)
{
    const struct attn_vector *w = &tower->weights.ln_connector.w;
    const size_t d = means->d;

    memset(x, 0, means->n * d * sizeof *x);
    for (size_t i = 0; i < means->grid->n_row * means->grid->n_col; i++) {
        float *cell = cell_of(means, i, x);

        means->kernels->add(cell, y + i * d, d, cell);
    }
    for (size_t i = 0; i < means->n; i++)
        means->kernels->scale(x + i * d, 1 / (float)(means->merge * means->merge), d, x + i * d);
    means->kernels->convert(w->data, w->dtype, d, y);
    for (size_t i = 0; i < d && !tower->naming->dialect; i++) /* a GGUF file has the 1 in it */
        y[i] += 1;
}

/* Writes the normalized means X [cells, d] of the patches Y, which is scratch afterwards. */
static void normalize_means(const struct attn_model *tower, const struct attn_image_grid *grid,
                            float *y, float *x)
{
    const struct means means = means_of(tower, grid);

    average_patches(tower, &means, y, x);
    for (size_t i = 0; i < means.n; i++, x += means.d)
        means.kernels->rms_norm(x, y, means.d, tower->config.norm_eps, x);
}

/* The maps of a connector; `in` has no weight if there is one map alone. */
static const struct attn_linear *in_of(const struct attn_connector *connector)
{
    return connector->deep ? &connector->deep->in : &connector->tower->weights.connector_in;
}

static const struct attn_linear *out_of(const struct attn_connector *connector)
{
    return connector->deep ? &connector->deep->out : &connector->tower->weights.connector;
}

/* Returns what the connector does to the patches of a cell. */
static enum attn_cell_form cells_of(const struct attn_connector *connector)
{
    return connector->deep ? ATTN_CELLS_NORMED : connector->tower->config.vision.cells;
}

/* Normalizes the rows X [N, width] of the connector: cells, or the patches before they are merged.
 * D_NORMED, the gradient of the result, becomes that of X, which stays, unless it is NULL. */
static enum attn_status norm_rows(const struct attn_connector *connector, size_t n, float *x,
                                  float *d_normed, struct attn_error *err)
{
    const struct attn_model *tower = connector->tower;
    const struct attn_norm_weights *norm =
        connector->deep ? &connector->deep->norm : &tower->weights.ln_connector;
    const bool has_mean = cells_of(connector) != ATTN_CELLS_MERGED;
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    const float cell_eps = tower->config.vision.cell_eps;
    const float eps = cell_eps > 0 ? cell_eps : tower->config.norm_eps;
    const size_t d = norm->w.n;
    float *w;

    ATTN_TRY(ATTN_ALLOC(w, 2 * d, err));
    kernels->convert(norm->w.data, norm->w.dtype, d, w);
    if (has_mean)
        kernels->convert(norm->b.data, norm->b.dtype, d, w + d);
    for (size_t i = 0; i < n; i++, x += d) {
        const struct attn_norm_back back = {.x = x, .w = w, .n = d, .eps = eps};

        if (d_normed)
            (has_mean ? kernels->layer_norm_back : kernels->rms_norm_back)(&back, d_normed + i * d,
                                                                           d_normed + i * d);
        else if (has_mean)
            kernels->layer_norm(x, w, w + d, d, eps, x);
        else
            kernels->rms_norm(x, w, d, eps, x);
    }
    attn_free(w);
    return ATTN_OK;
}

/* Merges the patches Y of the picture into a row for each cell, which take their place. X is
 * scratch. */
static enum attn_status merge_patches(const struct attn_connector *connector, float *y, float *x,
                                      struct attn_error *err)
{
    const struct attn_model *tower = connector->tower;
    const struct attn_image_grid *grid = &connector->picture->grid;
    const size_t merge = tower->config.vision.merge, n = grid->n_row * grid->n_col;
    const struct attn_encoder_map map = {
        .linear = &tower->weights.connector_merge, .x = x, .n = n / (merge * merge), .y = y};

    ATTN_TRY(norm_rows(connector, n, y, NULL, err));
    spread_patches(grid, merge, tower->config.d_model, false, y, x);
    return attn_encoder_map(&map, connector->picture, err);
}

enum attn_status attn_connector_run(const struct attn_connector *connector, float *y, float *joined,
                                    float *rows, struct attn_error *err)
{
    const struct attn_model *tower = connector->tower;
    const struct attn_sequence *picture = connector->picture;
    const size_t merge = tower->config.vision.merge, n_front = picture->grid.n_front;
    const size_t n_patch = picture->n - n_front;
    struct attn_encoder_map map = {
        .linear = out_of(connector), .x = joined, .n = n_patch / (merge * merge), .y = rows};
    float *hidden = y += n_front * tower->config.d_model;

    if (cells_of(connector) == ATTN_CELLS_MERGED) {
        ATTN_TRY(merge_patches(connector, y, joined, err));
        map.x = y, hidden = joined;
    } else if (cells_of(connector) == ATTN_CELLS_AVERAGED) {
        normalize_means(tower, &picture->grid, y, joined);
    } else {
        join_patches(&picture->grid, merge, tower->config.d_model, false, y, joined);
    }
    if (cells_of(connector) == ATTN_CELLS_NORMED)
        ATTN_TRY(norm_rows(connector, map.n, joined, NULL, err));
    if (in_of(connector)->weight.data) {
        const struct attn_encoder_map in = {
            .linear = in_of(connector), .x = map.x, .n = map.n, .y = hidden, .activation = "gelu"};

        ATTN_TRY(attn_encoder_map(&in, picture, err));
        map.x = hidden;
    }
    return attn_encoder_map(&map, picture, err);
}

/* --- going back ------------------------------------------------------------------------------- */

/* The backward pass of normalize_means: D is the gradient of the normalized means. X [cells, d] is
 * scratch. Each patch gets its share of its cell. */
static void means_back(const struct attn_model *tower, const struct attn_image_grid *grid, float *y,
                       float *x, float *d, float *dy)
{
    const struct means means = means_of(tower, grid);
    struct attn_norm_back norm = {.w = y, .n = means.d, .eps = tower->config.norm_eps};
    const float share = 1 / (float)(means.merge * means.merge);

    average_patches(tower, &means, y, x);
    for (size_t i = 0; i < means.n; i++) {
        norm.x = x + i * means.d;
        means.kernels->rms_norm_back(&norm, d + i * means.d, d + i * means.d);
        means.kernels->scale(d + i * means.d, share, means.d, d + i * means.d);
    }
    for (size_t i = 0; i < grid->n_row * grid->n_col; i++)
        memcpy(dy + i * means.d, cell_of(&means, i, d), means.d * sizeof *dy);
}

/* A way back through a connector. The buffers are scratch. */
struct way_back {
    struct attn_connector of;
    size_t n; /* cells */
    float *y; /* [patches, D] the rows of the tower */
    /* [patches, D] the input of the first map, and [n, the input of the last map] twice */
    float *x, *d, *hidden;
};

/* The backward pass of h = gelu(X W_in + b_in): B->d, the gradient of h, becomes that of X in DX.
 */
static enum attn_status hidden_back(const struct way_back *b, const float *x, float *dx,
                                    struct attn_error *err)
{
    const struct attn_linear *in = in_of(&b->of);
    const struct attn_encoder_map again = {.linear = in, .x = x, .n = b->n, .y = b->hidden};
    const struct attn_encoder_map back = {
        .linear = in, .x = b->d, .n = b->n, .y = dx, .is_transposed = true};
    const struct attn_activation_back rows = {.x = b->hidden, .dy = b->d};

    ATTN_TRY(attn_encoder_map(&again, b->of.picture, err));
    attn_kernels_find(ATTN_ISA_BEST)
        ->activate_back(attn_activation_find("gelu"), &rows, b->n * in->weight.n_col);
    return attn_encoder_map(&back, b->of.picture, err);
}

/* The backward pass of merge_patches and of the first map after it. DY is scratch before. */
static enum attn_status merged_back(const struct way_back *b, float *dy, struct attn_error *err)
{
    const struct attn_model *tower = b->of.tower;
    const struct attn_image_grid *grid = &b->of.picture->grid;
    const size_t merge = tower->config.vision.merge, d_model = tower->config.d_model;
    const size_t n = b->n * merge * merge;
    const struct attn_encoder_map map = {.linear = &tower->weights.connector_merge,
                                         .x = b->x,
                                         .n = b->n,
                                         .y = dy,
                                         .is_transposed = true};

    memcpy(dy, b->y, n * d_model * sizeof *dy);
    ATTN_TRY(merge_patches(&b->of, dy, b->x, err));
    ATTN_TRY(hidden_back(b, dy, b->x, err));
    ATTN_TRY(attn_encoder_map(&map, b->of.picture, err));
    spread_patches(grid, merge, d_model, true, b->x, dy);
    memcpy(dy, b->x, n * d_model * sizeof *dy);
    return norm_rows(&b->of, n, b->y, dy, err);
}

static enum attn_status go_back(const struct way_back *b, const float *d_rows, float *dy,
                                struct attn_error *err)
{
    const struct attn_model *tower = b->of.tower;
    const struct attn_image_grid *grid = &b->of.picture->grid;
    const size_t merge = tower->config.vision.merge, d_model = tower->config.d_model;
    const struct attn_encoder_map map = {
        .linear = out_of(&b->of), .x = d_rows, .n = b->n, .y = b->d, .is_transposed = true};
    const bool has_hidden = in_of(&b->of)->weight.data;

    ATTN_TRY(attn_encoder_map(&map, b->of.picture, err));
    if (cells_of(&b->of) == ATTN_CELLS_AVERAGED) {
        means_back(tower, grid, b->y, b->x, b->d, dy);
        return ATTN_OK;
    }
    if (cells_of(&b->of) == ATTN_CELLS_MERGED)
        return merged_back(b, dy, err);
    join_patches(grid, merge, d_model, false, b->y, b->x);
    if (cells_of(&b->of) == ATTN_CELLS_NORMED) {
        memcpy(dy, b->x, b->n * in_of(&b->of)->weight.n_row * sizeof *dy);
        ATTN_TRY(norm_rows(&b->of, b->n, b->x, NULL, err));
    }
    if (has_hidden)
        ATTN_TRY(hidden_back(b, b->x, b->y, err));
    if (cells_of(&b->of) == ATTN_CELLS_NORMED)
        ATTN_TRY(norm_rows(&b->of, b->n, dy, b->y, err));
    join_patches(grid, merge, d_model, true, dy, has_hidden ? b->y : b->d);
    return ATTN_OK;
}

enum attn_status attn_connector_back(const struct attn_connector *connector, float *y,
                                     const float *d_rows, float *dy, struct attn_error *err)
{
    const struct attn_model *tower = connector->tower;
    const struct attn_sequence *picture = connector->picture;
    const size_t merge = tower->config.vision.merge, n_front = picture->grid.n_front;
    const size_t n = (picture->n - n_front) / (merge * merge),
                 d_front = n_front * tower->config.d_model;
    const size_t width = out_of(connector)->weight.n_row * sizeof(float);
    const struct way_back back = {
        .of = *connector,
        .n = n,
        .y = y + d_front,
        .x = attn_alloc(picture->n, tower->config.d_model * sizeof(float), err),
        .d = attn_alloc(n, width, err),
        .hidden = attn_alloc(n, width, err)};
    enum attn_status status = back.x && back.d && back.hidden ? ATTN_OK : ATTN_NO_MEMORY;

    ATTN_THEN(status, go_back(&back, d_rows, dy + d_front, err));
    memset(dy, 0, d_front * sizeof *dy); /* rows that are no part of a cell have no influence */
    attn_free(back.x);
    attn_free(back.d);
    attn_free(back.hidden);
    return status;
}
