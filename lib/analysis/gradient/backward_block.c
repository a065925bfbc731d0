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

#include "forward/step_internal.h"
#include "model/config_internal.h"

#include <string.h>

/* --- Experts ---------------------------------------------------------------------------------- */

/*
 * The backward pass of a mixture of experts: the lines of step_experts.c from the last to the
 * first. The choice of experts is treated as constant.
 *
 *     y = the sum of w_e * f_e(x),  w = softmax of the router's logits r, over all or the chosen
 *     d w_e = d y . f_e(x)
 *     d x = the sum of f_e^T(w_e * d y) in the order of the experts; then d r W_r^T
 *     d r = w * (d w - the sum of w * d w), with d w = 0 for experts that were not chosen
 *
 * Weights that are divided by their sum are a softmax over the chosen experts. With
 * ATTN_EXPERTS_SOFTMAX_NEAR each chosen expert has a softmax of its own.
 */

/* An expert and its weights for the rows in f->expert_rows, whose inputs are in f->expert_x. The
 * weight of row I is weights[I * ld], its gradient d_weights[I * ld]. */
struct share {
    const struct attn_expert *expert;
    const float *weights;
    float *d_weights;
    size_t ld;
};

/* The backward pass of the limits of a gate: gradients are 0 where an input is at its limit. */
static void back_limits(const struct attn_backward *b, size_t n, float *dg, float *du)
{
    const float limit = (float)b->model->config.expert_limit;
    const float alpha = (float)b->model->config.expert_alpha;

    for (size_t i = 0; i < n && limit > 0; i++) {
        const float u = b->f->expert_u[i];

        dg[i] = b->f->expert_g[i] < alpha * limit ? alpha * dg[i] : 0;
        du[i] = u < (limit + 1) / alpha && u > (1 - limit) / alpha ? du[i] / alpha : 0;
    }
}

/* Adds the gradient of the input of N rows to SUM, and computes the gradient of the weights. */
static void back_share(struct attn_backward *b, const struct share *share, size_t n,
                       const float *d_out, float *sum)
{
    const struct attn_forward *f = b->f;
    const struct attn_kernels *kernels = f->engine.kernels;
    const struct attn_expert *expert = share->expert;
    const size_t d = f->dims.d_model, n_post = n * expert->gate.weight.n_col;
    const struct attn_activation_back gate = {
        .x = f->expert_g, .u = f->expert_u, .dy = b->d_mlp, .du = b->d_mlp_linear};
    float *rows = f->expert_x;

    if (n == 0 || attn_backward_is_over(b))
        return;
    attn_expert_run(b->f, expert, rows, n, b->d_mlp, b->pool);
    for (size_t i = 0; i < n; i++) {
        const size_t row = f->expert_rows[i];
        const float *d_row = d_out + row * d;

        kernels->dots(d_row, f->expert_y + i * d, d, 1, d, &share->d_weights[row * share->ld]);
        kernels->scale(d_row, share->weights[row * share->ld], d, rows + i * d);
    }
    attn_run_map(b, &expert->out, rows, n, b->d_mlp, true);
    kernels->activate_back(f->activation, &gate, n_post);
    back_limits(b, n_post, b->d_mlp, b->d_mlp_linear);
    attn_run_map(b, &expert->gate, b->d_mlp, n, rows, true);
    attn_run_map(b, &expert->in, b->d_mlp_linear, n, f->expert_y, true);
    for (size_t i = 0; i < n; i++) {
        float *of = sum + f->expert_rows[i] * d;

        kernels->add(rows + i * d, f->expert_y + i * d, d, rows + i * d);
        kernels->add(of, rows + i * d, d, of);
    }
}

/* Adds the gradient of a map's input to SUM, computed from DY, the gradient of its result, for N
 * rows. */
static void back_map(struct attn_backward *b, const struct attn_linear *linear, const float *dy,
                     size_t n, float *sum)
{
    attn_run_map(b, linear, dy, n, b->product, true);
    b->f->engine.kernels->add(sum, b->product, n * b->f->dims.d_model, sum);
}

/* As back_choice, for row I of two softmaxes, each over the logits near the best one. */
static void back_near(struct attn_backward *b, size_t i)
{
    const struct attn_forward *f = b->f;
    const struct attn_kernels *kernels = f->engine.kernels;
    const size_t n = f->dims.n_expert;
    float *d = b->d_router + i * n, *shares = f->expert_g, *own = f->expert_u;
    size_t taken = n;

    memcpy(f->expert_weights + i * n, d, n * sizeof *d); /* those of the weights */
    memset(d, 0, n * sizeof *d);
    for (size_t k = 0; k < f->dims.n_expert_used; k++) {
        taken = attn_router_share(f, f->router + i * n, taken, shares);
        memset(own, 0, n * sizeof *own);
        own[taken] = f->expert_weights[i * n + taken];
        kernels->softmax_back(shares, shares[taken] * own[taken], own, n);
        kernels->add(d, own, n, d);
    }
}

/* Computes the gradients of the router's logits, in b->d_router, from those of N rows' weights. */
static void back_choice(struct attn_backward *b, size_t n)
{
    const struct attn_forward *f = b->f;
    const struct attn_kernels *kernels = f->engine.kernels;
    const size_t n_expert = f->dims.n_expert;
    const bool is_of_all = b->model->config.expert_weights == ATTN_EXPERTS_SOFTMAX_ALL;

    for (size_t i = 0; i < n && b->model->config.expert_weights == ATTN_EXPERTS_SOFTMAX_NEAR; i++)
        back_near(b, i);
    if (b->model->config.expert_weights == ATTN_EXPERTS_SOFTMAX_NEAR)
        return;
    for (size_t i = 0; i < n; i++) {
        float *w = (is_of_all ? f->router : f->expert_weights) + i * n_expert, sum;
        float *d = b->d_router + i * n_expert;

        if (is_of_all)
            kernels->softmax(w, n_expert, n_expert, 1);
        kernels->dots(w, d, n_expert, 1, n_expert, &sum);
        kernels->softmax_back(w, sum, d, n_expert);
    }
}

/* Adds to SUM the gradients of the shared expert's input and of its gate's input. */
static void back_shared(struct attn_backward *b, const struct attn_block_weights *w, size_t n,
                        const float *d_out, float *sum)
{
    const struct attn_forward *f = b->f;
    const float *x = f->normed + b->first * f->dims.d_model;
    float *gates = f->expert_weights, *d_gates = b->d_router;
    const struct share share = {&w->shared, gates, d_gates, 1};
    const bool has_gate = w->shared_router.weight.data;

    for (size_t i = 0; i < n && !has_gate; i++)
        gates[i] = 1;
    if (has_gate)
        attn_shared_gate(f, w, x, n, gates);
    memcpy(f->expert_x, x, n * f->dims.d_model * sizeof *x);
    for (size_t i = 0; i < n; i++)
        f->expert_rows[i] = i;
    back_share(b, &share, n, d_out, sum);
    if (!has_gate)
        return;
    for (size_t i = 0; i < n; i++)
        d_gates[i] *= gates[i] * (1 - gates[i]);
    back_map(b, &w->shared_router, d_gates, n, sum);
}

/* The backward pass of a layer with experts: computes the gradient of their input, in d_normed,
 * from D_OUT. */
static void experts_back(struct attn_backward *b, const struct attn_block_weights *w,
                         const float *d_out)
{
    struct attn_forward *f = b->f;
    const size_t d = f->dims.d_model, n_expert = f->dims.n_expert;
    const size_t begin = b->first * d, n = b->end - b->first;
    float *x = f->normed + begin, *sum = f->out + begin;

    attn_recompute_norm(b, &w->ln2, b->at.resid, f->normed, b->first, b->end);
    if (attn_backward_is_over(b))
        return;
    attn_router_run(f, w, x, n, b->pool);
    attn_router_choose(f, w, n);
    memset(sum, 0, n * d * sizeof *sum);
    memset(b->d_router, 0, n * n_expert * sizeof *b->d_router);
    for (size_t e = 0; e < n_expert; e++) {
        const struct share share = {&w->experts[e], f->expert_weights + e, b->d_router + e,
                                    n_expert};
        const size_t n_row = attn_expert_gather(f, e, x, n);

        if (n_row > 0)
            attn_weights_make_expert(w, e, b->pool);
        back_share(b, &share, n_row, d_out + begin, sum);
    }
    back_choice(b, n);
    back_map(b, &w->router, b->d_router, n, sum);
    if (w->shared.in.weight.data)
        back_shared(b, w, n, d_out + begin, sum);
    memcpy(b->d_normed + begin, sum, n * d * sizeof *sum);
}

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
        experts_back(b, w, d_out);
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
