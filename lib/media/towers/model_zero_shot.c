/*
 * model_zero_shot.c - turns a tower or a sentence model into a classifier, whose labels are texts
 * or pictures.
 *
 *     logits[i] = exp(logit_scale) * cos(image_embed, text_embed of label i)
 *         + logit_bias, in SigLIP
 *     logits[i] = cos(sentence_embed, sentence_embed of label i)
 *
 * The output layer divides the input's vector by its length. The lengths of the labels' vectors and
 * the scale are part of the rows of the output matrix.
 */
#include "model/model_internal.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "kernels/kernels.h"
#include "towers/model_zero_shot.h"

#include <math.h>
#include <string.h>

/* Computes ROW [d] = SCALE * EMBED / its length. If EMBED is all 0, ROW is not changed. */
static void fill_row(const float *embed, size_t d, double scale, float *row)
{
    double sum = 0;

    for (size_t i = 0; i < d; i++)
        sum += (double)embed[i] * (double)embed[i];
    for (size_t i = 0; i < d && sum > 0; i++)
        row[i] = (float)((double)embed[i] / sqrt(sum) * scale);
}

enum attn_status attn_model_zero_shot(const struct attn_model *model,
                                      const struct attn_zero_shot_labels *labels,
                                      struct attn_model **labelled, struct attn_error *err)
{
    const size_t d = model->config.d_projected;
    struct attn_model *made;
    struct attn_config *config;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    *made = *model;
    made->label_rows = attn_alloc(labels->n, (d + 1) * sizeof *made->label_rows, err);
    made->label_names = attn_alloc(labels->n, sizeof *made->label_names, err);
    if (!made->label_rows || !made->label_names) {
        attn_free(made->label_rows);
        attn_free((void *)made->label_names);
        attn_free(made);
        return ATTN_NO_MEMORY;
    }
    memcpy(made->label_names, labels->names, labels->n * sizeof *made->label_names);
    for (size_t i = 0; i < labels->n; i++)
        fill_row(labels->embeds + i * d, d, labels->scale, made->label_rows + i * d);
    for (size_t i = 0; i < labels->n; i++)
        made->label_rows[labels->n * d + i] = labels->bias;
    config = &made->config;
    config->n_vocab = labels->n;
    config->labels = made->label_names;
    config->output = ATTN_OUTPUT_OWN;
    config->task = ATTN_TASK_SEQUENCE;
    config->pooling = ATTN_POOLING_PROJECTED;
    if (config->image.patch_height > 0)
        config->image.pooling = ATTN_POOLING_PROJECTED;
    if (config->is_sentence)
        config->label_kind = ATTN_LABELS_VALUE;
    made->weights.unembed.weight = (struct attn_matrix){.data = made->label_rows,
                                                        .dtype = ATTN_DTYPE_F32,
                                                        .n_row = d,
                                                        .n_col = labels->n,
                                                        .row_stride = 1,
                                                        .col_stride = d,
                                                        .group = labels->n};
    if (labels->has_bias) {
        config->label_kind = ATTN_LABELS_MULTI;
        config->has_output_bias = true;
        made->weights.unembed.bias = (struct attn_vector){.data = made->label_rows + labels->n * d,
                                                          .dtype = ATTN_DTYPE_F32,
                                                          .n = labels->n,
                                                          .group = labels->n};
    }
    *labelled = made;
    return ATTN_OK;
}

bool attn_model_logit_bias(const struct attn_model *model, float *bias)
{
    const struct attn_vector *vector = &model->weights.logit_bias;

    *bias = 0;
    if (vector->data)
        attn_kernels_find(ATTN_ISA_BEST)->convert(vector->data, vector->dtype, 1, bias);
    return vector->data != NULL;
}

double attn_model_logit_scale(const struct attn_model *model)
{
    const struct attn_tensor *tensor = &model->weights.logit_scale;
    float scale = 0;

    attn_kernels_find(ATTN_ISA_BEST)->convert(tensor->data, tensor->dtype, 1, &scale);
    return attn_exp((double)scale);
}
