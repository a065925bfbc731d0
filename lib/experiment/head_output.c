/* head_output.c - see head_output.h. */
#include "experiment/head_output.h"

#include "model/elements.h"
#include "model/model_internal.h"

#include <string.h>

size_t attn_head_output_scratch(const struct attn_config *config)
{
    return config->d_value + 2 * config->d_model;
}

void attn_head_output(const struct attn_model *model, int block, int head, const float *z,
                      double *scratch, float *out)
{
    const struct attn_config *config = attn_model_config(model);
    const struct attn_matrix *matrix = &model->weights.blocks[block].out.weight;
    const struct attn_vector *scale = &model->weights.blocks[block].attn_scale.w;
    const size_t width = config->d_value, d = config->d_model;
    double *x = scratch, *y = scratch + width, *factors = y + d;

    for (size_t k = 0; k < width; k++)
        x[k] = (double)z[k];
    memset(y, 0, d * sizeof *y);
    if (matrix->data)
        attn_matrix_add_rows(matrix, (size_t)head * width, width, x, y);
    else /* heads occupy separate parts of the stream */
        memcpy(y + (size_t)head * width, x, width * sizeof *x);
    if (scale->data) {
        attn_vector_elements(scale, d, factors);
        for (size_t k = 0; k < d; k++)
            y[k] *= factors[k];
    }
    for (size_t k = 0; k < d; k++)
        out[k] = (float)y[k];
}
