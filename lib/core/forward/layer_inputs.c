/*
 * layer_inputs.c - the end of a layer of Gemma 4, after the sum with the MLP:
 *
 *     per_layer_out = norm((act(resid W_gate) * per_layer_input) W_out)
 *     resid_post = (resid + per_layer_out) * scalar
 *
 * The inputs of all layers are made of the embedding x of each token before the first one:
 *
 *     per_layer_input = (norm((x W_map / sqrt(D))[layer]) + table[id][layer] * sqrt(P)) / sqrt(2)
 */
#include "forward/step_internal.h"

#include "base/pool_internal.h"

#include <math.h>
#include <string.h>

enum { ROWS_PER_TASK = 16 };

struct layer_rows {
    struct attn_forward *f;
    const struct attn_block_weights *w;
    size_t n;
};

/* Reads the inputs that the layers have for token ID into X [n_layer * P], without their factor. */
static void read_inputs(const struct attn_model *model, const struct attn_kernels *kernels,
                        int32_t id, float *x)
{
    const struct attn_tensor *table = &model->weights.layer_inputs;
    const size_t d = model->config.n_layer * model->config.d_layer_input;

    kernels->convert((const char *)table->data + (size_t)id * attn_dtype_n_byte(table->dtype, d),
                     table->dtype, d, x);
}

/* Makes the inputs of all layers for some rows, from the products with W_map. */
static void make_rows(void *context, size_t task, int worker)
{
    const struct layer_rows *rows = context;
    const struct attn_forward *f = rows->f;
    const struct attn_kernels *kernels = f->engine.kernels;
    const size_t width = f->model->config.d_layer_input, d = f->dims.n_layer * width;
    const float scale = (float)(1 / sqrt((double)f->dims.d_model)), of_table = sqrtf((float)width);
    float *table = f->layer_table + (size_t)worker * d;

    for (size_t i = task * ROWS_PER_TASK; i < rows->n && i < (task + 1) * ROWS_PER_TASK; i++) {
        const struct attn_feed_part *part = &f->parts[attn_forward_find_sequence(f, i, false)];
        float *x = f->layer_inputs + i * d;

        read_inputs(f->model, kernels, part->ids[i - part->first], table);
        kernels->scale(table, of_table, d, table);
        kernels->scale(x, scale, d, x);
        for (size_t layer = 0; layer < f->dims.n_layer; layer++)
            attn_norm_row(f, x + layer * width, width, x + layer * width);
        kernels->add(x, table, d, x);
        kernels->scale(x, sqrtf(0.5F), d, x);
    }
}

void attn_layer_inputs_make(struct attn_forward *f)
{
    const struct attn_weights *weights = &f->model->weights;
    struct layer_rows rows = {.f = f, .n = f->feed.n_row};

    if (!f->layer_inputs || attn_forward_is_over(f))
        return;
    attn_map_step(f, &weights->layer_map, NULL, f->resid, rows.n, f->layer_inputs);
    if (attn_forward_is_over(f))
        return;
    attn_norm_read(f, &weights->ln_layer_input);
    attn_pool_run(f->feed.pool, (rows.n + ROWS_PER_TASK - 1) / ROWS_PER_TASK, make_rows, &rows);
    attn_forward_check_finite(f, f->layer_inputs,
                              rows.n * f->dims.n_layer * f->model->config.d_layer_input);
}

/* Copies the input of the current layer for the rows that are not dropped. */
static void gather(const struct attn_forward *f)
{
    const size_t width = f->model->config.d_layer_input, d = f->dims.n_layer * width;

    for (size_t i = 0; i < f->feed.n_part; i++) {
        const struct attn_feed_part *part = &f->parts[i];
        const struct attn_site_rows left = attn_feed_part_left(part);
        const float *from =
            f->layer_inputs + (part->first + part->n_dropped) * d + (size_t)f->feed.layer * width;

        for (size_t row = 0; row < left.n_row; row++)
            memcpy(f->layer_rows + (left.first + row) * width, from + row * d,
                   width * sizeof *from);
    }
}

/* Adds what the input of the layer makes to the stream. */
static void add_input(struct attn_forward *f, const struct attn_block_weights *w)
{
    const size_t n = f->feed.n_left, width = f->model->config.d_layer_input;

    gather(f);
    attn_visit(f, ATTN_SITE_LAYER_INPUT, f->layer_rows);
    attn_map_step(f, &w->layer_gate, NULL, f->resid, n, f->mlp);
    if (attn_forward_is_over(f))
        return;
    f->engine.kernels->gate(f->activation, f->mlp, f->layer_rows, n * width);
    attn_map_step(f, &w->layer_out, NULL, f->mlp, n, f->out);
    attn_norm_step(f, &w->layer_norm, f->out, f->out);
    attn_visit(f, ATTN_SITE_LAYER_OUT, f->out);
    attn_sum_step(f, f->resid, f->out);
}

void attn_layer_end_step(struct attn_forward *f, const struct attn_block_weights *w)
{
    const size_t n = f->feed.n_left * f->dims.d_model;
    float scalar = 1;

    attn_step_finish(f);
    if (f->layer_inputs && !attn_forward_is_over(f))
        add_input(f, w);
    if (attn_forward_is_over(f))
        return;
    if (w->scalar.data)
        f->engine.kernels->convert(w->scalar.data, w->scalar.dtype, 1, &scalar);
    f->engine.kernels->scale(f->resid, scalar, n, f->resid);
    attn_forward_check_finite(f, f->resid, n);
    attn_visit(f, ATTN_SITE_RESID_POST, f->resid);
}
