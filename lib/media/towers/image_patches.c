/*
 * image_patches.c - see image_patches.h.
 *
 * Positions for another grid are computed as in transformers (modeling_dinov2.py,
 * modeling_dinov2_with_registers.py), by torch's bicubic interpolation, without or with
 * antialiasing. Row i of m is a weighted sum of rows t of n:
 *
 *     without: x = (n / m) (i + 1/2) - 1/2, the four t nearest to x, weights k(x - t), a = -0.75
 *     with: c = (n / m) (i + 1/2), w = max(n / m, 1), weights k((t + 1/2 - c) / w), a = -0.5
 *
 * Rows beyond an edge repeat the row at the edge in the first case; in the second they are left
 * out, and the weights are divided by their sum. k is Keys's cubic kernel. Qwen3-VL interpolates
 * linearly (modeling_qwen3_vl.py): x = i (n - 1) / (m - 1), the rows floor(x) and floor(x) + 1, all
 * in float32. Columns are resampled in
 * the same way; the weight of a patch is the product of both weights. Weights are in double
 * precision; sums are in float32, in the order of rows and columns.
 */
#include "towers/image_patches.h"

#include "base/dtype_internal.h"
#include "base/memory.h"
#include "base/text/given.h"
#include "forward/session_internal.h"
#include "model/config_internal.h"
#include "model/embedding.h"

#include <math.h>
#include <string.h>

/* --- the grid --------------------------------------------------------------------------------- */

void attn_image_place(const struct attn_image_grid *grid, int32_t *numbers)
{
    const size_t n = grid->n_front + grid->n_row * grid->n_col;

    for (size_t i = 0; i < n; i++) {
        const size_t patch = i - grid->n_front;

        numbers[i] = 0;
        numbers[n + i] = i < grid->n_front ? -1 : (int32_t)(patch / grid->n_col);
        numbers[2 * n + i] = i < grid->n_front ? -1 : (int32_t)(patch % grid->n_col);
    }
}

enum attn_status attn_model_place_patches(const struct attn_model *model,
                                          const struct attn_image_grid *grid,
                                          struct attn_store **store, int32_t **numbers,
                                          struct attn_error *err)
{
    if (model->config.positions != ATTN_POSITIONS_ROTARY ||
        attn_config_turns_nothing(&model->config))
        return ATTN_OK;
    ATTN_TRY(
        ATTN_STORE_ALLOC(store, *numbers, 3 * (grid->n_front + grid->n_row * grid->n_col), err));
    attn_image_place(grid, *numbers);
    return ATTN_OK;
}

bool attn_image_is_usual(const struct attn_image_config *image, size_t height, size_t width)
{
    const bool is_own = height == image->height && width == image->width;
    const size_t n = (height / image->patch_height) * (width / image->patch_width);

    if (image->resample == ATTN_RESAMPLE_NONE ||
        (image->resample == ATTN_RESAMPLE_OTHERS && is_own))
        return is_own;
    /* Transformers treats this case as usual. */
    return n == attn_image_n_patch(image) && height == width;
}

size_t attn_image_side(const struct attn_image_config *image)
{
    const size_t n = attn_image_n_patch(image);
    size_t side = (size_t)sqrt((double)n);

    while (side * side > n)
        side--;
    while ((side + 1) * (side + 1) <= n)
        side++;
    return side * side == n ? side : 0;
}

/* Returns the number of planes of a patch: its channels, each once for every frame. */
static size_t count_planes(const struct attn_image_config *image)
{
    return image->n_channel * (image->n_frame > 0 ? image->n_frame : 1);
}

/* Returns the number of lines of all patches of a picture, which follow each other in its rows. */
static size_t count_lines(const struct attn_image_config *image, size_t height, size_t width)
{
    return height / image->patch_height * (width / image->patch_width) * count_planes(image) *
           image->patch_height;
}

/* Returns where line number I of the patches begins in the pixels. */
static size_t place_of_line(const struct attn_image_config *image, size_t height, size_t width,
                            size_t i)
{
    const size_t n_col = width / image->patch_width, n_plane = count_planes(image);
    const size_t y = i % image->patch_height, plane = i / image->patch_height % n_plane;
    const size_t patch = i / image->patch_height / n_plane,
                 channel = plane * image->n_channel / n_plane;

    return (channel * height + patch / n_col * image->patch_height + y) * width +
           patch % n_col * image->patch_width;
}

void attn_image_cut(const struct attn_image_config *image, const float *pixels, size_t height,
                    size_t width, float *rows)
{
    for (size_t i = 0; i < count_lines(image, height, width); i++, rows += image->patch_width)
        memcpy(rows, pixels + place_of_line(image, height, width, i),
               image->patch_width * sizeof *rows);
}

void attn_image_add(const struct attn_image_config *image, const float *rows, size_t height,
                    size_t width, float *pixels)
{
    for (size_t i = 0; i < count_lines(image, height, width); i++, rows += image->patch_width) {
        float *line = pixels + place_of_line(image, height, width, i);

        for (size_t x = 0; x < image->patch_width; x++)
            line[x] += rows[x];
    }
}

/* --- positions -------------------------------------------------------------------------------- */

/* Keys's cubic kernel: 1 at 0, and 0 at other integers and from 2 on. */
static double cubic(double t, double a)
{
    t = fabs(t);
    if (t < 1)
        return ((a + 2) * t - (a + 3)) * t * t + 1;
    return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

/* The rows of the table that one row of the grid is computed from (or columns for a column): N from
 * number FIRST on. FIRST may lie beyond an edge if edges are repeated. */
struct taps {
    double first; /* a whole number */
    size_t n;
    double start, step, a; /* weight number i is k(start + i * step) / sum */
    double sum;
    float near; /* linear: the weight of the first of two; 0: k is cubic */
};

/* Returns the taps of row (or column) I of a grid of M rows, from a table of N rows. */
static struct taps find_taps(enum attn_resample resample, size_t n, size_t m, size_t i)
{
    const double ratio = (double)n / (double)m, centre = ratio * ((double)i + 0.5);
    const double wide = ratio > 1 ? ratio : 1;
    struct taps taps = {.n = 4, .a = -0.75, .sum = 1, .step = -1};
    double end;

    if (resample == ATTN_RESAMPLE_CORNERS) {
        const float x = (float)i * (float)(n - 1) / (float)(m > 1 ? m - 1 : 1);

        taps.first = floor((double)x);
        taps.n = 2;
        taps.near = 1.0F - (x - (float)taps.first);
        return taps;
    }
    if (resample != ATTN_RESAMPLE_ANTIALIAS) {
        taps.first = floor(centre - 0.5) - 1;
        taps.start = centre - 0.5 - taps.first;
        return taps;
    }
    taps.first = fmax(trunc(centre - 2 * wide + 0.5), 0);
    end = fmin(trunc(centre + 2 * wide + 0.5), (double)n);
    taps.n = (size_t)(end - taps.first);
    taps.a = -0.5;
    taps.step = 1 / wide;
    taps.start = (taps.first - centre + 0.5) / wide;
    taps.sum = 0;
    for (size_t k = 0; k < taps.n; k++)
        taps.sum += cubic(taps.start + (double)k * taps.step, taps.a);
    return taps;
}

static double weight_of(const struct taps *taps, size_t k)
{
    if (taps->near > 0)
        return (double)(k == 0 ? taps->near : 1.0F - taps->near);
    return cubic(taps->start + (double)k * taps->step, taps->a) / taps->sum;
}

/* Returns the row (or column) of the table, of N, that tap K reads. */
static size_t place_of(const struct taps *taps, size_t k, size_t n)
{
    const double at = taps->first + (double)k;

    return at <= 0 ? 0 : at >= (double)n ? n - 1 : (size_t)at;
}

/* The parameters for resampling learned positions to another grid. */
struct resampling {
    enum attn_resample resample;     /* must not be ATTN_RESAMPLE_NONE */
    const struct attn_tensor *table; /* [n_placed + n * n, d] learned positions */
    size_t n_placed;                 /* positions of [CLS] and DeiT's token */
    size_t n, d;
    const struct attn_image_grid *grid;
    const struct attn_kernels *kernels;
    float *row; /* [d] scratch */
};

/* Writes the position of the patch at ROW, COL of the grid to Y [d]. */
static void resample(const struct resampling *r, size_t row, size_t col, float *y)
{
    const struct taps rows = find_taps(r->resample, r->n, r->grid->n_row, row);
    const struct taps cols = find_taps(r->resample, r->n, r->grid->n_col, col);
    const size_t row_bytes = attn_dtype_n_byte(r->table->dtype, r->d);

    memset(y, 0, r->d * sizeof *y);
    for (size_t i = 0; i < rows.n; i++)
        for (size_t j = 0; j < cols.n; j++) {
            const size_t at =
                r->n_placed + place_of(&rows, i, r->n) * r->n + place_of(&cols, j, r->n);
            const float weight = (float)(weight_of(&rows, i) * weight_of(&cols, j));

            r->kernels->convert((const char *)r->table->data + at * row_bytes, r->table->dtype,
                                r->d, r->row);
            for (size_t k = 0; k < r->d; k++)
                y[k] += weight * r->row[k];
        }
}

static void add_places(const struct attn_model *model, const struct attn_kernels *kernels,
                       const struct attn_image_grid *grid, float *row, float *x)
{
    const struct attn_image_config *image = &model->config.image;
    const struct attn_tensor *table = &model->weights.positions;
    const size_t d = model->config.d_embed, n_placed = attn_image_n_placed(image);
    const struct resampling resampling = {.resample = image->resample,
                                          .table = table,
                                          .n_placed = n_placed,
                                          .n = attn_image_side(image),
                                          .d = d,
                                          .grid = grid,
                                          .kernels = kernels,
                                          .row = row};

    for (size_t i = 0; i < n_placed; i++)
        attn_model_add_row(kernels, table, i, d, row, x + i * d);
    for (size_t i = 0; i < grid->n_row * grid->n_col; i++) {
        float *patch = x + (grid->n_front + i) * d;

        if (grid->is_usual) {
            attn_model_add_row(kernels, table, n_placed + i, d, row, patch);
            continue;
        }
        resample(&resampling, i / grid->n_col, i % grid->n_col, row + d);
        kernels->add(patch, row + d, d, patch);
    }
}

/* --- the grid of a picture -------------------------------------------------------------------- */

enum attn_status attn_model_image_grid(const struct attn_model *model, size_t height, size_t width,
                                       struct attn_image_grid *grid, struct attn_error *err)
{
    ATTN_NEED(err, model, grid);
    const struct attn_image_config *image = &model->config.image;
    const char *name = model->name;
    struct attn_image_grid found = {.n_front = attn_image_n_front(image), .add_places = add_places};
    size_t n;

    if (image->patch_height == 0)
        return attn_error_set(err, ATTN_INVALID, "'%s' reads tokens, not pictures",
                              attn_quote_string(name).text);
    found.n_row = height / image->patch_height;
    found.n_col = width / image->patch_width;
    if (image->height > 0 && image->resample == ATTN_RESAMPLE_NONE &&
        !attn_image_is_usual(image, height, width))
        return attn_error_set(err, ATTN_INVALID,
                              "a picture has %zu x %zu pixels, '%s' reads %zu x %zu", width, height,
                              attn_quote_string(name).text, image->width, image->height);
    if (found.n_row == 0 || found.n_col == 0)
        return attn_error_set(err, ATTN_INVALID,
                              "a picture has %zu x %zu pixels, expected a patch of '%s' at least, "
                              "%zu x %zu",
                              width, height, attn_quote_string(name).text, image->patch_width,
                              image->patch_height);
    if (!attn_checked_mul(found.n_row, found.n_col, &n) || n > ATTN_MAX_CTX - found.n_front)
        return attn_error_set(err, ATTN_INVALID,
                              "a picture of %zu x %zu pixels has too many patches, expected %d at "
                              "most",
                              width, height, ATTN_MAX_CTX);
    if (image->height > 0 && !attn_image_is_usual(image, height, width) &&
        attn_image_side(image) == 0)
        return attn_error_set(err, ATTN_INVALID,
                              "a picture has %zu x %zu pixels, and '%s' has positions for %zu x "
                              "%zu patches: only those of a square can be resampled",
                              width, height, attn_quote_string(name).text,
                              image->width / image->patch_width,
                              image->height / image->patch_height);
    found.is_usual = attn_image_is_usual(image, height, width);
    *grid = found;
    return ATTN_OK;
}

enum attn_status attn_session_feed_pixels(struct attn_session *session, const float *pixels,
                                          size_t height, size_t width, struct attn_error *err)
{
    ATTN_NEED(err, session, pixels);
    struct attn_forward *f = &session->forward;
    const struct attn_image_config *image = &f->model->config.image;
    const struct attn_given_rows rows = {f->embeddings_name, "the picture", pixels,
                                         image->n_channel * height, width};
    const size_t n_in = f->model->weights.patches.weight.n_row;
    struct attn_image_grid grid;
    size_t n;

    ATTN_TRY(attn_model_image_grid(f->model, height, width, &grid, err));
    n = grid.n_front + grid.n_row * grid.n_col;
    if (f->places && n <= f->dims.n_position)
        attn_image_place(&grid, f->places);
    for (size_t i = 0; i < f->n_rotary && f->places; i++)
        f->rotaries[i].positions = (struct attn_position_numbers){f->places, n, 0};
    ATTN_TRY(attn_session_check_feed(session, 0, n, err));
    ATTN_TRY(attn_session_check_rows(f, &rows, err));
    attn_session_begin_feed(session, n, err);
    f->parts[0].grid = grid;
    memset(f->patches, 0, grid.n_front * n_in * sizeof *f->patches);
    attn_image_cut(image, pixels, height, width, f->patches + grid.n_front * n_in);
    return attn_session_run_feed(session);
}
