/* embedding.c - see embedding.h. */
#include "model/embedding.h"

#include "base/dtype_internal.h"
#include "base/elementary.h"
#include "model/image_patches.h"

bool attn_model_maps_first(const struct attn_model *model)
{
    const struct attn_tensor *positions = &model->weights.positions;
    const struct attn_matrix *map = &model->weights.embed_map.weight;

    return !model->config.is_encoder && map->data && positions->data &&
           positions->shape[positions->rank - 1] == map->n_col;
}

/* x [De] += TABLE[at] */
static void add_row(const struct attn_kernels *kernels, const struct attn_tensor *table, size_t at,
                    size_t d, float *row, float *x)
{
    kernels->convert((const char *)table->data + at * attn_dtype_n_byte(table->dtype, d),
                     table->dtype, d, row);
    kernels->add(x, row, d, x);
}

void attn_model_add_types(const struct attn_model *model, const struct attn_kernels *kernels,
                          const struct attn_embedding_rows *rows, float *row, float *x)
{
    const struct attn_tensor *table = &model->weights.types;
    const size_t d = model->config.d_embed;

    for (size_t i = 0; table->data && rows->grid.n_row == 0 && i < rows->n; i++)
        add_row(kernels, table, rows->types ? (size_t)rows->types[i] : 0, d, row, x + i * d);
}

static void add_places(const struct attn_model *model, const struct attn_kernels *kernels,
                       const struct attn_embedding_rows *rows, float *row, float *x)
{
    const struct attn_image_grid *grid = &rows->grid;
    const struct attn_image_config *image = &model->config.image;
    const struct attn_tensor *table = &model->weights.positions;
    const size_t d = model->config.d_embed;
    const struct attn_resampling resampling = {.resample = image->resample,
                                               .table = table,
                                               .n = attn_image_side(image),
                                               .d = d,
                                               .grid = grid,
                                               .kernels = kernels,
                                               .row = row};

    add_row(kernels, table, 0, d, row, x);
    for (size_t i = 0; i < grid->n_row * grid->n_col; i++) {
        float *patch = x + (grid->n_front + i) * d;

        if (rows->has_usual_grid) {
            add_row(kernels, table, 1 + i, d, row, patch);
            continue;
        }
        attn_image_resample(&resampling, i / grid->n_col, i % grid->n_col, row + d);
        kernels->add(patch, row + d, d, patch);
    }
}

/* ROW [d]: the sines of POSITION / 10000^(2i/d), then the cosines. M2M100's last power is 10000,
 * its angles have the precision of float32, and the last number of an odd d is 0. */
static void fill_sines(const struct attn_config *config, size_t position, float *row)
{
    const bool is_m2m = config->stack.makes_positions == ATTN_SINES_M2M100;
    const size_t d = config->d_embed, n_sine = is_m2m ? d / 2 : d - d / 2;
    const float step = (float)(attn_log(10000) / (n_sine > 1 ? (double)n_sine - 1 : 1));

    row[d - 1] = 0;
    for (size_t i = 0; i < n_sine; i++) {
        const float power = is_m2m ? (float)attn_exp((double)((float)i * -step)) : 0;
        const double angle = is_m2m ? (double)((float)position * power)
                                    : (double)position / attn_pow(10000, 2 * (double)i / (double)d);

        row[i] = (float)attn_sin(angle);
        if (n_sine + i < d)
            row[n_sine + i] = (float)attn_cos(angle);
    }
}

void attn_model_add_positions(const struct attn_model *model, const struct attn_kernels *kernels,
                              const struct attn_embedding_rows *rows, float *row, float *x)
{
    const struct attn_tensor *table = &model->weights.positions;
    const size_t first = model->config.first_position;
    const size_t d = table->data ? table->shape[table->rank - 1] : 0; /* of the stream, if the
                                                                         embedding was mapped */
    const bool is_made = !table->data && model->config.stack.makes_positions;
    size_t next = first + rows->row0;

    if (rows->grid.n_row > 0) {
        add_places(model, kernels, rows, row, x);
        return;
    }
    for (size_t i = 0; (is_made || table->data) && i < rows->n; i++) {
        const bool is_pad = (model->config.is_encoder || is_made) &&
                            !model->config.stack.counts_padding && first > 0 && rows->ids &&
                            (size_t)rows->ids[i] == first - 1;

        if (!is_made) {
            add_row(kernels, table, is_pad ? first - 1 : next, d, row, x + i * d);
        } else if (!is_pad) {
            fill_sines(&model->config, next, row);
            kernels->add(x + i * model->config.d_embed, row, model->config.d_embed,
                         x + i * model->config.d_embed);
        }
        next += !is_pad || !model->config.is_encoder; /* a decoder's rows are fed in any parts */
    }
}

void attn_model_fill_front(const struct attn_model *model, const struct attn_kernels *kernels,
                           size_t n_front, float *x)
{
    const struct attn_weights *weights = &model->weights;
    const size_t d = model->config.d_embed;

    kernels->convert(weights->cls.data, weights->cls.dtype, d, x);
    if (n_front > 1)
        kernels->convert(weights->registers.data, weights->registers.dtype, (n_front - 1) * d,
                         x + d);
}
