/*
 * block.c - one block of the decoder: its equations in their order, one a line.
 *
 *     q, k, v    = norm1(resid_pre) W_Q + b_Q, ...
 *     z[h]       = softmax(q[h] k[g]^T * scale) v[g]
 *     attn_out   = concat(z) W_O + b_O
 *     resid_mid  = resid_pre + attn_out
 *     mlp_out    = act(norm2(resid_mid) W_in + b_in) W_out + b_out
 *     resid_post = resid_mid + mlp_out
 *
 * A line computes a tensor and visits its site (step.h). Where a config leaves a part out, its line
 * copies: a norm without weights, a linear map without weights, a sum without a residual stream.
 */
#include "model/block.h"

#include "model/attention_step.h"

void attn_block_run(struct attn_forward *f, int layer)
{
    const struct attn_config *config = &f->model->config;
    const struct attn_block_weights *w = &f->model->weights.blocks[layer];
    const float *kv_input = config->is_cross[layer] ? f->source : f->normed;
    const bool has_mlp = config->d_mlp > 0;

    f->feed.layer = layer;
    attn_visit(f, ATTN_SITE_RESID_PRE, f->resid);
    attn_norm_step(f, &w->ln1, f->resid, f->normed);
    attn_linear_step(f, ATTN_SITE_Q, &w->q, f->normed, f->q);
    attn_linear_step(f, ATTN_SITE_K, &w->k, kv_input, f->k);
    attn_linear_step(f, ATTN_SITE_V, &w->v, kv_input, f->v);
    attn_attention_step(f, f->q, f->k, f->v, f->z);
    attn_linear_step(f, ATTN_SITE_ATTN_OUT, &w->out, f->z, f->out);
    attn_residual_step(f, has_mlp ? ATTN_SITE_RESID_MID : ATTN_SITE_RESID_POST, f->resid, f->out);
    if (has_mlp) {
        attn_norm_step(f, &w->ln2, f->resid, f->normed);
        attn_linear_step(f, ATTN_SITE_MLP_PRE, &w->mlp_in, f->normed, f->mlp);
        attn_activation_step(f, ATTN_SITE_MLP_POST, f->mlp);
        attn_linear_step(f, ATTN_SITE_MLP_OUT, &w->mlp_out, f->mlp, f->out);
        attn_residual_step(f, ATTN_SITE_RESID_POST, f->resid, f->out);
    }
    f->feed.layer = ATTN_NO_LAYER;
}
