/*
 * backward_pool.c - the backward pass of SigLIP's head: the equations of towers/pool_head.c.
 *
 *     da = d + norm^T(W_1^T act'(u) W_2^T d),  u = W_1 norm(a) + b;  dz = W_o^T da
 *     dv_j = p_j dz;  ds_j = p_j (v_j . dz - z . dz);  dk_j = ds_j q / sqrt(E)
 *
 * The probe and its query are constant.
 */
#include "forward/step_internal.h"
#include "gradient/backward_internal.h"
#include "towers/image_patches.h"
#include "towers/pool_head.h"

#include <math.h>
#include <string.h>

static size_t back_size(const struct attn_config *config, size_t n)
{
    return (3 * n + 2) * config->d_model + 2 * config->d_mlp;
}

/* Computes dk and dv in D_QKV [n, 3 D], whose part of q is 0, from DZ [D]. */
static void back_heads(const struct attn_backward *b, const struct attn_pool_rows *rows,
                       const float *dz, float *d_qkv)
{
    const size_t d = b->f->dims.d_model, d_head = b->f->dims.d_head;
    const bool is_uniform = b->rule == ATTN_BACKWARD_ATTNLRP;
    const double of_k = (is_uniform ? 0.25 : 1) / sqrt((double)d_head), of_v = is_uniform ? 0.5 : 1;

    for (size_t i = 0; i < b->n; i++)
        for (size_t at = 0; at < d; at += d_head) {
            const double p = (double)rows->pattern[at / d_head * b->n + i];
            const float *v = rows->qkv + i * 3 * d + 2 * d + at;
            float *row = d_qkv + i * 3 * d + at;
            double ds = 0;

            for (size_t e = 0; e < d_head; e++)
                ds += ((double)v[e] - (double)rows->z[at + e]) * (double)dz[at + e];
            for (size_t e = 0; e < d_head; e++) {
                row[e] = 0;
                row[d + e] = (float)(of_k * p * ds * (double)rows->q[at + e]);
                row[2 * d + e] = (float)(of_v * p * (double)dz[at + e]);
            }
        }
}

static void head_back(struct attn_backward *b, const float *d, float *dx)
{
    const struct attn_pool_head *head = &b->model->weights.pool;
    const struct attn_pool_rows rows = attn_pool_head_rows(b->f, b->n);
    const enum attn_activation activation = attn_activation_find(b->model->config.act_fn);
    const size_t width = b->f->dims.d_model, d_mlp = b->model->config.d_mlp;
    float *d_qkv = b->pool_head, *da = d_qkv + 3 * b->n * width, *dz = da + width,
          *before = dz + width, *dy = before + d_mlp;
    const struct attn_activation_back back = {
        .x = before, .dy = dy, .is_constant = b->rule != ATTN_BACKWARD_PLAIN};

    attn_run_map(b, &head->mlp_in, rows.normed, 1, before, false);
    attn_run_map(b, &head->mlp_out, d, 1, dy, true);
    b->f->engine.kernels->activate_back(activation, &back, d_mlp);
    attn_run_map(b, &head->mlp_in, dy, 1, dz, true);
    attn_norm_read(b->f, &head->norm);
    attn_norm_row_back(b, b->f->vectors, rows.out, width, dz, da);
    for (size_t i = 0; i < width; i++)
        da[i] += d[i];
    attn_run_map(b, &head->out, da, 1, dz, true);
    back_heads(b, &rows, dz, d_qkv);
    attn_run_map(b, &head->qkv, d_qkv, b->n, dx, true);
}

const struct attn_pool_steps attn_siglip_pool = {.size = attn_pool_head_size,
                                                 .run = attn_pool_head_run,
                                                 .back_size = back_size,
                                                 .back = head_back};
