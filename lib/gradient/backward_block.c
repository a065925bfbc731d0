/*
 * backward_block.c - the backward pass of one block of the decoder: the lines of block.c from the
 * last to the first, each transposed. d NAME is the gradient of NAME.
 *
 *     d mlp_out    = d resid_mid = d resid_post
 *     d mlp_post   = post_norm2^T(d mlp_out) W_out^T
 *     d mlp_pre, d mlp_pre_linear   through the activation and the product
 *     d resid_mid += norm2^T(d mlp_pre W_gate^T + d mlp_pre_linear W_in^T)
 *     d attn_out   = d resid_pre = d resid_mid
 *     d z          = post_norm1^T(d attn_out) W_O^T
 *     d rot_q, d rot_k, d v         through the heads (gradient/attention_backward.h)
 *     d q, d k     = norm^T(rotate^T(d rot_q)), ...
 *     d resid_pre += norm1^T(d q W_Q^T + d k W_K^T + d v W_V^T)
 *
 * b->d is the gradient of the residual stream at the line that runs. A tensor that two lines read
 * has the sum of both gradients, in the order written here. Where a config leaves a part out, its
 * line passes the gradient through. Lines work on the rows from b->first on.
 */
#include "gradient/backward_internal.h"

/* From d mlp_out in b->d to the gradient of the MLP's input in b->d_normed. */
static void back_mlp(struct attn_backward *b, const struct attn_block_weights *w)
{
    const float *d_out;

    if (w->ln2_post.w.data)
        attn_recompute_mlp_post(b, b->d_mlp);
    d_out = attn_post_norm_back(b, &w->ln2_post, &w->mlp_out, b->d_mlp, b->d);
    attn_linear_back(b, ATTN_SITE_MLP_POST_GRAD, &w->mlp_out, d_out, b->d_mlp);
    attn_activation_back(b);
    if (b->model->config.has_gated_mlp) {
        attn_linear_back(b, ATTN_N_SITE, &w->mlp_gate, b->d_mlp, b->d_normed);
        attn_linear_more_back(b, &w->mlp_in, b->d_mlp_linear, b->d_normed);
    } else {
        attn_linear_back(b, ATTN_N_SITE, &w->mlp_in, b->d_mlp, b->d_normed);
    }
}

/* From d attn_out in b->d to the gradient of the input of q, k and v in b->d_normed. */
static void back_heads(struct attn_backward *b, const struct attn_block_weights *w)
{
    const float *d_out = attn_post_norm_back(b, &w->ln1_post, &w->out, b->at.z, b->d);

    attn_linear_back(b, ATTN_SITE_Z_GRAD, &w->out, d_out, b->d_z);
    attn_end_back(b, ATTN_SITE_Z_GRAD);
    attn_attention_back(b);
    attn_rotary_back(b, ATTN_SITE_Q_GRAD, &w->q_norm, b->at.q_raw, b->d_q);
    attn_rotary_back(b, ATTN_SITE_K_GRAD, &w->k_norm, b->at.k_raw, b->d_k);
    attn_end_back(b, ATTN_SITE_Q_GRAD);
    attn_linear_back(b, ATTN_N_SITE, &w->q, b->d_q, b->d_normed);
    attn_widen_back(b);
    attn_linear_more_back(b, &w->k, b->d_k, b->d_normed);
    attn_linear_more_back(b, &w->v, b->d_v, b->d_normed);
}

/* resid_post = (attn_out + mlp_out) + resid_pre: both read the block's input. */
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

/* The MLP reads the stream with attention added. */
static void back_sequential(struct attn_backward *b, const struct attn_block_weights *w)
{
    const bool has_mlp = b->model->config.d_mlp > 0;

    if (has_mlp) {
        attn_residual_back(b, ATTN_SITE_RESID_POST_GRAD, ATTN_SITE_MLP_OUT_GRAD, b->d);
        back_mlp(b, w);
        attn_norm_back(b, &w->ln2, b->at.resid, b->d_normed, b->d_normed);
        attn_add_back(b, b->d_normed, b->d);
    }
    attn_residual_back(b, has_mlp ? ATTN_SITE_RESID_MID_GRAD : ATTN_SITE_RESID_POST_GRAD,
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
    attn_recompute_layer(b);
    if (b->model->config.has_parallel_residual)
        back_parallel(b, w);
    else
        back_sequential(b, w);
    attn_check_back(b, b->d, b->n * b->model->config.d_model);
    attn_report_back(b, ATTN_SITE_RESID_PRE_GRAD, b->d);
    b->layer = ATTN_NO_LAYER;
}
