#include "model/embedding.h"

#include "base/dtype_internal.h"
#include "base/elementary.h"

bool attn_model_maps_first(const struct attn_model *model)
{
    const struct attn_tensor *positions = &model->weights.positions;
    const struct attn_matrix *map = &model->weights.embed_map.weight;

    return !model->config.is_encoder && map->data && positions->data &&
           positions->shape[positions->rank - 1] == map->n_col;
}

void attn_model_add_row(const struct attn_kernels *kernels, const struct attn_tensor *table,
                        size_t at, size_t d, float *row, float *x)
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
        attn_model_add_row(kernels, table, rows->types ? (size_t)rows->types[i] : 0, d, row,
                           x + i * d);
}

/* Whether row I of ROWS is a padding token, which has the position before the first one and does
 * not advance the count. */
static bool is_padding(const struct attn_model *model, const struct attn_embedding_rows *rows,
                       size_t i)
{
    const struct attn_config *config = &model->config;
    const size_t first = config->first_position;

    return (config->is_encoder || !model->weights.positions.data) &&
           !config->stack.counts_padding && first > 0 && rows->ids &&
           (size_t)rows->ids[i] == first - 1;
}

/* Adds sinusoidal positions to the rows x: first the sines of p / 10000^(2k/d), then the cosines.
 * M2M100 differs: its last divisor is 10000, its angles have float32 precision, and it adds nothing
 * to the last number of an odd d. */
static void add_sines(const struct attn_model *model, const struct attn_embedding_rows *rows,
                      float *x)
{
    const struct attn_config *config = &model->config;
    const bool is_m2m = config->stack.makes_positions == ATTN_SINES_M2M100;
    const size_t d = config->d_embed, n_sine = is_m2m ? d / 2 : d - d / 2;
    const float step = (float)(attn_log(10000) / (n_sine > 1 ? (double)n_sine - 1 : 1));

    for (size_t k = 0; k < n_sine; k++) {
        const float power = is_m2m ? (float)attn_exp((double)((float)k * -step)) : 0;
        const double divisor = is_m2m ? 1 : attn_pow(10000, 2 * (double)k / (double)d);
        size_t next = config->first_position + rows->row0;

        for (size_t i = 0; i < rows->n; i++) {
            const bool is_pad =
                is_padding(model, rows, i) || (next == config->stack.zero_position && next > 0);
            const double angle = is_m2m ? (double)((float)next * power) : (double)next / divisor;

            if (!is_pad)
                x[i * d + k] += (float)attn_sin(angle);
            if (!is_pad && n_sine + k < d)
                x[i * d + n_sine + k] += (float)attn_cos(angle);
            /* Not in a decoder, whose rows may be fed in parts. */
            next += !is_padding(model, rows, i) || !config->is_encoder;
        }
    }
}

void attn_model_add_positions(const struct attn_model *model, const struct attn_kernels *kernels,
                              const struct attn_embedding_rows *rows, float *row, float *x)
{
    const struct attn_tensor *table = &model->weights.positions;
    const size_t first = model->config.first_position;
    /* The width of the stream, if the embedding was mapped first. */
    const size_t d = table->data ? table->shape[table->rank - 1] : 0;
    size_t next = first + rows->row0;

    if (rows->grid.n_row > 0 && table->data)
        rows->grid.add_places(model, kernels, &rows->grid, row, x);
    else if (!table->data && model->config.stack.makes_positions)
        add_sines(model, rows, x);
    for (size_t i = 0; rows->grid.n_row == 0 && table->data && i < rows->n; i++) {
        const bool is_pad = is_padding(model, rows, i);

        attn_model_add_row(kernels, table, is_pad ? first - 1 : next, d, row, x + i * d);
        next += !is_pad || !model->config.is_encoder;
    }
}

void attn_model_fill_front(const struct attn_model *model, const struct attn_kernels *kernels,
                           size_t n_front, float *x)
{
    const struct attn_weights *weights = &model->weights;
    const size_t d = model->config.d_embed;

    if (n_front > 0)
        kernels->convert(weights->cls.data, weights->cls.dtype, d, x);
    if (n_front > 1)
        kernels->convert(weights->registers.data, weights->registers.dtype, (n_front - 1) * d,
                         x + d);
}
