#include "trials/readout.h"

#include "model/config_internal.h"
#include "model/elements.h"
#include "model/model_internal.h"

#include <math.h>
#include <string.h>

static bool has_mean(const struct attn_config *config, const struct attn_norm_weights *norm)
{
    return attn_config_norms_mean(config) != norm->is_other;
}

double attn_readout_scale_of(const struct attn_config *config, double squares, size_t n)
{
    return sqrt(squares / (double)n + (double)config->norm_eps);
}

double attn_readout_scale(const struct attn_config *config, const struct attn_norm_weights *norm,
                          const double *x, size_t n)
{
    double mean = 0, squares = 0;

    for (size_t i = 0; has_mean(config, norm) && i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    return norm->eps > 0 ? sqrt(squares / (double)n + (double)norm->eps)
                         : attn_readout_scale_of(config, squares, n);
}

void attn_readout_factors(const struct attn_config *config, const struct attn_norm_weights *norm,
                          size_t first, size_t n, double *factors)
{
    attn_vector_elements(&norm->w, first, n, factors);
    for (size_t i = 0; attn_norm_adds_one(config->norm) && i < n; i++)
        factors[i] += 1;
}

void attn_readout_before_norm(const struct attn_config *config,
                              const struct attn_norm_weights *norm, double scale, size_t n,
                              double *factors, double *map)
{
    const size_t d = config->d_model;

    attn_readout_factors(config, norm, 0, d, factors);
    for (size_t i = 0; i < d * n; i++)
        map[i] = map[i] * factors[i / n] / scale;
    for (size_t e = 0; has_mean(config, norm) && e < n; e++) {
        double mean = 0;

        for (size_t i = 0; i < d; i++)
            mean += map[i * n + e] / (double)d;
        for (size_t i = 0; i < d; i++)
            map[i * n + e] -= mean;
    }
}

void attn_readout_mean(const struct attn_matrix *unembed, float *panel, double *sums, double *mean)
{
    enum { WIDTH = ATTN_READOUT_PANEL };
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    const size_t d = unembed->n_row, n = unembed->n_col;

    memset(sums, 0, d * WIDTH * sizeof *sums);
    for (size_t first = 0; first < n; first += WIDTH) {
        kernels->pack_panel(unembed, first, n - first < WIDTH ? n - first : WIDTH, WIDTH, panel);
        for (size_t i = 0; i < d * WIDTH; i++)
            sums[i] += (double)panel[i];
    }
    memset(mean, 0, d * sizeof *mean);
    for (size_t i = 0; i < d * WIDTH; i++)
        mean[i / WIDTH] += sums[i] / (double)n;
}

/* Returns Ev of the layer of OUT. */
static size_t value_width(const struct attn_config *config, const struct attn_matrix *out)
{
    return out->data ? out->n_row / config->n_head : config->d_value;
}

void attn_readout_add_head(const struct attn_config *config, const struct attn_matrix *out,
                           size_t head, const float *z, double *y)
{
    const size_t width = value_width(config, out);

    if (out->data)
        attn_matrix_add_rows(out, head * width, width, z, y);
    for (size_t k = 0; !out->data && k < width; k++) /* heads occupy separate parts of the stream */
        y[head * width + k] += (double)z[k];
}

void attn_readout_along(const struct attn_config *config, const struct attn_matrix *out,
                        size_t head, const double *u, double *along)
{
    const size_t width = value_width(config, out);

    if (out->data)
        attn_matrix_along(out, head * width, width, u, along);
    else
        memcpy(along, u + head * width, width * sizeof *along);
}

void attn_readout_head(const struct attn_model *model, const struct attn_location *at,
                       const float *z, double *scratch, float *out)
{
    const struct attn_config *config = attn_model_config(model);
    const struct attn_block_weights *weights = attn_block_at(&model->weights, at);
    const size_t d = config->d_model;
    double *y = scratch, *factors = scratch + d;

    memset(y, 0, d * sizeof *y);
    attn_readout_add_head(config, &weights->out.weight, (size_t)at->head, z, y);
    attn_vector_elements(&weights->attn_scale.w, 0, d, factors);
    for (size_t k = 0; k < d; k++)
        out[k] = (float)(weights->attn_scale.w.data ? y[k] * factors[k] : y[k]);
}
