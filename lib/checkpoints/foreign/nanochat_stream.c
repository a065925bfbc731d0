/*
 * nanochat_stream.c - what nanochat of 2026 does to the stream beside the equations of its blocks:
 *
 *     x_t += smear_lambda * sigmoid(smear_gate . x_t[0:24]) * x_(t-1) for t > 0, before layer 0
 *     x0 = x;  resid_pre = resid_lambdas[i] * x + x0_lambdas[i] * x0 in layer i
 *     v += value_factor * sigmoid(ve_gate . y[0:C]) * value_embeds.i[id], y the normalized
 * resid_pre x -= backout_lambda * (resid_post of layer n_layer / 2), before the last norm
 *
 * Sums of gates are in double precision, in the order of the components.
 */
#include "foreign/nanochat_stream.h"

#include "base/elementary.h"
#include "forward/step_internal.h"
#include "model/model_internal.h"

#include <string.h>

enum { KEPT = 2 }; /* x0, and the output of the middle layer */

static size_t find_size(const struct attn_config *config, size_t n)
{
    return attn_size_mul(KEPT * n + 2, config->d_model) +
           attn_size_mul(config->n_kv_head, config->d_head) + ATTN_N_SMEAR;
}

/* Rows that are kept: x0 and the middle [n_feed_row, D], a row, the one before it, and a row of
 * value embeddings. */
static float *x0_of(const struct attn_forward *f)
{
    return f->stream;
}

static float *middle_of(const struct attn_forward *f)
{
    return f->stream + f->n_feed_row * f->dims.d_model;
}

static float *scratch_of(const struct attn_forward *f, size_t i)
{
    return f->stream + (KEPT * f->n_feed_row + i) * f->dims.d_model;
}

/* Returns number I of VECTOR; 1 or 0 as OTHERWISE if the model lacks it. */
static double number_of(const struct attn_forward *f, const struct attn_vector *vector, size_t i,
                        double otherwise)
{
    float value;

    if (!vector->data || i >= vector->n)
        return otherwise;
    f->engine.kernels->convert((const char *)vector->data + i * attn_dtype_n_byte(vector->dtype, 1),
                               vector->dtype, 1, &value);
    return (double)value;
}

/* Copies row ROW of TABLE [.., N] to X. */
static void read_row(const struct attn_forward *f, const struct attn_tensor *table, size_t row,
                     size_t n, float *x)
{
    f->engine.kernels->convert((const char *)table->data + row * attn_dtype_n_byte(table->dtype, n),
                               table->dtype, n, x);
}

/* Returns sigmoid(GATE . X) [n]. */
static double gate_of(const float *gate, const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)gate[i] * (double)x[i];
    return 1 / (1 + attn_exp(-sum));
}

/* Writes the normalized embedding of token ID to X. */
static void embed(struct attn_forward *f, int32_t id, float *x)
{
    read_row(f, &f->model->weights.embed, (size_t)id, f->dims.d_model, x);
    attn_norm_read(f, &f->model->weights.ln_embed);
    attn_norm_row(f, x, f->dims.d_model, x);
}

/* Adds to each row of PART the row before it; the first row of a later feed follows an earlier id.
 */
static void smear(struct attn_forward *f, const struct attn_feed_part *part)
{
    const struct attn_weights *weights = &f->model->weights;
    const size_t d = f->dims.d_model;
    const double scale = number_of(f, &weights->previous_scale, 0, 0);
    float *gate = scratch_of(f, 2), *now = scratch_of(f, 0), *before = scratch_of(f, 1);

    read_row(f, &weights->previous_gate, 0, ATTN_N_SMEAR, gate);
    if (part->row0 > 0)
        embed(f, f->ids[part->row0 - 1], before);
    for (size_t row = 0; row < part->n_row; row++) {
        float *x = f->resid + (part->first + row) * d;
        const double factor = scale * gate_of(gate, x, ATTN_N_SMEAR);

        memcpy(now, x, d * sizeof *now);
        for (size_t i = 0; i < d && part->row0 + row > 0; i++)
            x[i] = (float)((double)x[i] + factor * (double)before[i]);
        memcpy(before, now, d * sizeof *now);
    }
}

static void begin(struct attn_forward *f)
{
    for (size_t i = 0; i < f->feed.n_part && f->model->weights.previous_gate.data; i++)
        smear(f, &f->parts[i]);
    memcpy(x0_of(f), f->resid, f->feed.n_row * f->dims.d_model * sizeof(float));
}

static void enter(struct attn_forward *f, int layer)
{
    const struct attn_weights *weights = &f->model->weights;
    const double scale = number_of(f, &weights->stream_scales, (size_t)layer, 1);
    const double of_embedding = number_of(f, &weights->embed_scales, (size_t)layer, 0);
    const float *x0 = x0_of(f);

    for (size_t i = 0; i < f->feed.n_row * f->dims.d_model; i++)
        f->resid[i] = (float)(scale * (double)f->resid[i] + of_embedding * (double)x0[i]);
}

static void add_values(struct attn_forward *f, const struct attn_block_weights *w, const float *x,
                       float *v)
{
    const struct attn_config *config = &f->model->config;
    const size_t n_head = config->n_kv_head, n = config->d_head, n_gate = config->n_value_gate;
    float *gate = scratch_of(f, 0), *row = scratch_of(f, 2);

    for (size_t i = 0; i < f->feed.n_row; i++) {
        const struct attn_feed_part *part = &f->parts[attn_forward_find_sequence(f, i, false)];

        read_row(f, &w->value_table, (size_t)part->ids[i - part->first], n_head * n, row);
        for (size_t head = 0; head < n_head; head++) {
            float *y = v + (i * n_head + head) * n;
            double factor;

            read_row(f, &w->value_gate, head, n_gate, gate);
            factor = config->value_factor * gate_of(gate, x + i * f->dims.d_model, n_gate);
            for (size_t j = 0; j < n; j++)
                y[j] = (float)((double)y[j] + factor * (double)row[head * n + j]);
        }
    }
}

static double find_backout(const struct attn_model *model, int *layer)
{
    const struct attn_vector *scale = &model->weights.backout_scale;
    float value = 0;

    *layer = (int)(model->config.n_layer / 2);
    if (scale->data)
        attn_kernels_find(ATTN_ISA_BEST)->convert(scale->data, scale->dtype, 1, &value);
    return (double)value;
}

/* Keeps the rows of the middle layer, by their place among all rows of the feed. */
static void leave(struct attn_forward *f, int layer)
{
    const size_t d = f->dims.d_model;
    int middle;

    if (find_backout(f->model, &middle) == 0 || layer != middle)
        return;
    for (size_t i = 0; i < f->feed.n_part; i++) {
        const struct attn_site_rows left = attn_feed_part_left(&f->parts[i]);

        memcpy(middle_of(f) + (f->parts[i].first + f->parts[i].n_dropped) * d,
               f->resid + left.first * d, left.n_row * d * sizeof(float));
    }
}

static void end(struct attn_forward *f)
{
    const size_t d = f->dims.d_model;
    int middle;
    const double scale = find_backout(f->model, &middle);

    for (size_t i = 0; i < f->feed.n_part && scale != 0; i++) {
        const struct attn_site_rows left = attn_feed_part_left(&f->parts[i]);
        const float *kept = middle_of(f) + (f->parts[i].first + f->parts[i].n_dropped) * d;
        float *x = f->resid + left.first * d;

        for (size_t k = 0; k < left.n_row * d; k++)
            x[k] = (float)((double)x[k] - scale * (double)kept[k]);
    }
}

const struct attn_stream_steps attn_nanochat_stream = {.size = find_size,
                                                       .begin = begin,
                                                       .enter = enter,
                                                       .values = add_values,
                                                       .leave = leave,
                                                       .end = end,
                                                       .backout = find_backout};
