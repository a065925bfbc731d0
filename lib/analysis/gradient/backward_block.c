/*
 * backward_block.c - the backward pass of one block: the lines of block.c from the last to the
 * first, each transposed. d NAME is the gradient of NAME.
 *
 *     d mlp_out = d resid_mid = d resid_post
 *     d mlp_post = post_norm2^T(d mlp_out) W_out^T
 *     d mlp_pre, d mlp_pre_linear through the activation and the product
 *     d resid_mid += norm2^T(d mlp_pre W_gate^T + d mlp_pre_linear W_in^T)
 *     d attn_out = d resid_pre = d resid_mid
 *     d z = post_norm1^T(d attn_out) W_O^T
 *     d rot_q, d rot_k, d v through the heads (gradient/attention_backward.h)
 *     d q, d k = norm^T(rotate^T(d rot_q)), ...
 *     d resid_pre += norm1^T(d q W_Q^T + d k W_K^T + d v W_V^T)
 *
 * In a layer that attends to a source, keys and values contribute to the source's gradient instead:
 *
 *     d resid_pre += norm1^T(d q W_Q^T);  d source = (d source + d k W_K^T) + d v W_V^T
 *
 * If norms follow the sums, there are two more lines, and norm1 and norm2 are missing:
 *
 *     d resid_post = end_norm^T(d normalized_resid_post), first
 *     d resid_mid = mid_norm^T(d normalized_resid_mid), after the MLP
 *
 * b->d is the gradient of the residual stream at the current line. A tensor that two lines read
 * gets the sum of both gradients, in the order written here. If the config lacks a part, its line
 * passes the gradient through. Lines work on the rows b->first to b->end-1.
 */
#include "gradient/backward_internal.h"

#include "model/config_internal.h"

#include <string.h>

/* The backward pass of y = x W + b: adds dy W^T to dx, and visits no site. */
static void add_linear_back(struct attn_backward *b, const struct attn_linear *linear,
                            const float *dy, float *dx)
{
    attn_linear_back(b, ATTN_N_SITE, linear, dy, b->product);
    attn_add_back(b, b->product, dx);
}

/* Computes the gradient of the MLP's input, in b->d_normed, from d mlp_out in b->d. */
static void back_mlp(struct attn_backward *b, const struct attn_block_weights *w)
{
    const float *d_out = attn_scale_back(b, &w->mlp_scale, attn_branch_back(b, ATTN_SITE_MLP_OUT));

    if (w->experts) {
        attn_experts_back(b, w, d_out);
        return;
    }
    if (w->ln2_post.w.data)
        attn_recompute_mlp_post(b, b->d_mlp);
    d_out = attn_post_norm_back(b, &w->ln2_post, &w->mlp_out, b->d_mlp, d_out);
    attn_linear_back(b, ATTN_SITE_MLP_POST_GRAD, &w->mlp_out, d_out, b->d_mlp);
    attn_activation_back(b, &w->mlp_norm);
    if (b->model->config.has_gated_mlp) {
        attn_linear_back(b, ATTN_N_SITE, &w->mlp_gate, b->d_mlp, b->d_normed);
        add_linear_back(b, &w->mlp_in, b->d_mlp_linear, b->d_normed);
    } else {
        attn_linear_back(b, ATTN_N_SITE, &w->mlp_in, b->d_mlp, b->d_normed);
    }
}

/* Computes the backward pass of clipping q, k and v. */
static void back_clip(struct attn_backward *b)
{
    const struct attn_dims *dims = &b->f->dims;
    const bool is_raw = b->at.q_raw; /* otherwise q and k are used for scores unchanged */
    /* Norms over all heads are handled later, by attn_rotary_back. */
    const bool is_later = b->model->config.qk_norm == ATTN_QK_NORM_ALL_HEADS;

    if (!is_later) {
        attn_clip_back(b, is_raw ? b->at.q_raw : b->at.q, b->first, dims->n_head * dims->d_head,
                       b->d_q);
        attn_clip_back(b, is_raw ? b->at.k_raw : b->at.k, 0, dims->n_kv_head * dims->d_head,
                       b->d_k);
    }
    attn_clip_back(b, b->at.v, 0, dims->n_kv_head * dims->d_value, b->d_v);
}

/* Computes the gradient of the input of q, k and v, in b->d_normed, from d attn_out in b->d. */
static void back_heads(struct attn_backward *b, const struct attn_block_weights *w)
{
    const float *d_out =
        attn_scale_back(b, &w->attn_scale, attn_branch_back(b, ATTN_SITE_ATTN_OUT));

    d_out = attn_post_norm_back(b, &w->ln1_post, &w->out, b->at.z, d_out);
    attn_linear_back(b, ATTN_SITE_Z_GRAD, &w->out, d_out, b->d_z);
    attn_end_back(b, ATTN_SITE_Z_GRAD);
    attn_attention_back(b);
    attn_rotary_back(b, ATTN_SITE_Q_GRAD, &w->q_norm, b->at.q_raw, b->d_q);
    attn_rotary_back(b, ATTN_SITE_K_GRAD, &w->k_norm, b->at.k_raw, b->d_k);
    attn_end_back(b, ATTN_SITE_Q_GRAD);
    back_clip(b);
    attn_linear_back(b, ATTN_N_SITE, &w->q, b->d_q, b->d_normed);
    attn_widen_back(b);
    if (attn_backward_is_cross(b)) {
        attn_source_back(b, &w->k, b->d_k);
        attn_source_back(b, &w->v, b->d_v);
    } else {
        add_linear_back(b, &w->k, b->d_k, b->d_normed);
        add_linear_back(b, &w->v, b->d_v, b->d_normed);
    }
}

/* The backward pass of resid_post = (attn_out + mlp_out) + resid_pre, in which attention and MLP
 * both read the block's input. */
static void back_parallel(struct attn_backward *b, const struct attn_block_weights *w)
{
    const bool has_single_norm = b->model->config.has_single_norm;

    attn_residual_back(b, ATTN_SITE_RESID_POST_GRAD, ATTN_SITE_MLP_OUT_GRAD, b->d);
    attn_report_back(b, ATTN_SITE_ATTN_OUT_GRAD, b->d);
    back_mlp(b, w);
    attn_norm_back(b, has_single_norm ? &w->ln1 : &w->ln2, b->resid_pre, b->d_normed, b->d_branch);
    back_heads(b, w);
    attn_norm_back(b, &w->ln1, b->resid_pre, b->d_normed, b->d_normed);
    attn_add_back(b, b->d_normed, b->d);
    attn_add_back(b, b->d_branch, b->d);
}

/* The backward pass of a norm after a sum: the stream X, at the site SUM, became normalize(x) w +
 * b, at the site Y. D, the gradient of Y, becomes the gradient of the sum. Does nothing if the
 * model has no such norm. */
static void sum_norm_back(struct attn_backward *b, enum attn_site y,
                          const struct attn_norm_weights *weights, const float *x, float *d)
{
    if (!weights->w.data)
        return;
    attn_report_back(b, y, d);
    attn_edit_back(b, y, d);
    attn_norm_back(b, weights, x, d, d);
    attn_check_back(b, d, b->n * b->model->config.d_model);
}

/* The backward pass of a block whose MLP reads the sum of the stream and attention. */
static void back_sequential(struct attn_backward *b, const struct attn_block_weights *w)
{
    /* In pairs of layers, only the second has the MLP. */
    const bool has_mid = b->model->config.d_mlp > 0;

    if (attn_config_has_mlp(&b->model->config, (size_t)b->layer)) {
        sum_norm_back(b, ATTN_SITE_NORMALIZED_RESID_POST_GRAD, &w->end_norm,
                      b->stream + (size_t)(b->layer + 1) * b->n * b->model->config.d_model, b->d);
        attn_residual_back(b, ATTN_SITE_RESID_POST_GRAD, ATTN_SITE_MLP_OUT_GRAD, b->d);
        back_mlp(b, w);
        attn_norm_back(b, &w->ln2, b->at.resid, b->d_normed, b->d_normed);
        attn_add_back(b, b->d_normed, b->d);
    }
    if (has_mid)
        sum_norm_back(b, ATTN_SITE_NORMALIZED_RESID_MID_GRAD, &w->mid_norm, b->at.resid, b->d);
    attn_residual_back(b, has_mid ? ATTN_SITE_RESID_MID_GRAD : ATTN_SITE_RESID_POST_GRAD,
                       ATTN_SITE_ATTN_OUT_GRAD, b->d);
    back_heads(b, w);
    attn_norm_back(b, &w->ln1, b->resid_pre, b->d_normed, b->d_normed);
    attn_add_back(b, b->d_normed, b->d);
}

void attn_block_back(struct attn_backward *b, int layer)
{
    const struct attn_block_weights *w = &b->model->weights.blocks[layer];

    b->layer = layer;
    b->resid_pre = b->stream + (size_t)layer * b->n * b->model->config.d_model;
    if (layer > 0 && w[-1].end_norm.w.data && !b->kept) {
        attn_recompute_norm(b, &w[-1].end_norm, b->resid_pre, b->resid, 0, b->n);
        attn_edit_again(b, ATTN_SITE_NORMALIZED_RESID_POST, layer - 1, b->resid);
        attn_edit_again(b, ATTN_SITE_RESID_PRE, layer, b->resid);
        b->resid_pre = b->resid;
    }
    attn_recompute_layer(b);
    if (b->model->config.has_parallel_residual)
        back_parallel(b, w);
    else
        back_sequential(b, w);
    attn_check_back(b, b->d, b->n * b->model->config.d_model);
    attn_report_back(b, ATTN_SITE_RESID_PRE_GRAD, b->d);
    attn_edit_back(b, ATTN_SITE_RESID_PRE_GRAD, b->d);
    b->layer = ATTN_NO_LAYER;
}

void attn_embedding_back(struct attn_backward *b)
{
    const struct attn_weights *weights = &b->model->weights;
    const struct attn_kernels *kernels = b->f->engine.kernels;
    const size_t d_embed = b->model->config.d_embed, n_byte = b->n * d_embed * sizeof(float);
    const bool is_mapped_first = attn_model_maps_first(b->model);
    float *x = b->unnormed; /* the input of the norm */

    if (attn_backward_is_over(b))
        return;
    if (weights->embed_map.weight.data && !is_mapped_first) {
        attn_linear_back(b, ATTN_N_SITE, &weights->embed_map, b->d, b->product);
        memcpy(b->d, b->product, n_byte);
    }
    if (weights->ln_embed.w.data) {
        memcpy(x, b->embeddings, n_byte);
        attn_model_add_types(b->model, kernels, b->text, b->f->vectors, x);
        attn_model_add_positions(b->model, kernels, b->text, b->f->vectors, x);
        attn_norm_back(b, &weights->ln_embed, x, b->d, b->d);
        attn_check_back(b, b->d, b->n * d_embed);
    }
    attn_report_back(b, ATTN_SITE_EMBED_GRAD, b->d);
    attn_edit_back(b, ATTN_SITE_EMBED_GRAD, b->d);
    if (is_mapped_first)
        attn_linear_back(b, ATTN_N_SITE, &weights->embed_map, b->d, b->product);
}
