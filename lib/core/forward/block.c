/*
 * block.c - one block of a model, written as its equations, one per line.
 *
 *     q, k, v = clip(norm1(resid_pre) W_Q + b_Q), ...
 *     rot_q, rot_k = rotate(norm(q)), rotate(norm(k))
 *     z[h] = softmax(cap(rot_q[h] rot_k[g]^T * scale + bias)) v[g]
 *     attn_out = scale1 * post_norm1((concat(z) * sigmoid(gate)) W_O + b_O)
 *     resid_mid = resid_pre + attn_out
 *     mlp_post = act(norm2(resid_mid) W_gate + b_gate) * (norm2(resid_mid) W_in + b_in)
 *     mlp_out = scale2 * post_norm2(mlp_post W_out + b_out)
 *     resid_post = resid_mid + mlp_out
 *
 * If norms follow the sums, the stream itself is normalized:
 *
 *     normalized_resid_mid = mid_norm(resid_mid), which the MLP reads and is added to
 *     normalized_resid_post = end_norm(resid_post), which the next block reads
 *     conv_out = norm(normalized_resid_post + act(convolution(resid_pre))) instead, in layer 0
 *
 * Gemma 4 adds an input of each layer before resid_post (layer_inputs.c), normalizes v, or takes k
 * for it, and its last layers attend to k and v of earlier ones.
 *
 * A layer without attention has mixer_z and mixer_out in place of z and attn_out (mixer.c).
 *
 * config.stream changes resid_pre, v, and the stream before the first and after the last block.
 *
 * A line computes a tensor and visits its site (step_internal.h). If the config lacks a part, its
 * line does nothing or copies: this applies to norms and linear maps without weights, and to sums
 * without a residual stream. An MLP without a gate is act(norm2(resid_mid) W_in + b_in) W_out +
 * b_out. For a layer with experts see step_experts.c.
 */
#include "forward/step_internal.h"

#include "model/config_internal.h"

#include <string.h>

/* Computes the MLP of the rows in f->normed, into OUT. */
static void run_mlp(struct attn_forward *f, const struct attn_block_weights *w, float *out)
{
    if (w->experts) {
        attn_experts_step(f, w, out);
    } else if (f->model->config.has_gated_mlp) {
        attn_linear_step(f, ATTN_SITE_MLP_PRE, &w->mlp_gate, f->normed, f->mlp);
        attn_linear_step(f, ATTN_SITE_MLP_PRE_LINEAR, &w->mlp_in, f->normed, f->mlp_linear);
        attn_gate_step(f, ATTN_SITE_MLP_POST, f->mlp, f->mlp_linear);
    } else {
        attn_linear_step(f, ATTN_SITE_MLP_PRE, &w->mlp_in, f->normed, f->mlp);
        if (f->model->config.has_solu)
            attn_solu_step(f, &w->mlp_norm, ATTN_SITE_MLP_POST, f->mlp);
        else
            attn_activation_step(f, ATTN_SITE_MLP_POST, f->mlp);
    }
    if (!w->experts)
        attn_linear_step(f, ATTN_SITE_MLP_OUT, &w->mlp_out, f->mlp, out);
    attn_output_step(f, ATTN_SITE_MLP_OUT, &w->ln2_post, &w->mlp_scale, out);
}

/* Computes resid_post = (attn_out + mlp_out) + resid_pre: attention and MLP both read the block's
 * input. */
static void run_parallel(struct attn_forward *f, const struct attn_block_weights *w)
{
    float *mlp_out = f->normed; /* reuses the MLP's input, which is not needed by then */

    if (!f->model->config.has_single_norm)
        attn_norm_step(f, &w->ln2, f->resid, f->normed);
    run_mlp(f, w, mlp_out);
    attn_sum_step(f, f->out, mlp_out);
    attn_residual_step(f, ATTN_SITE_RESID_POST, f->resid, f->out);
}

/* Computes the MLP from the sum of the stream and attention. */
static void run_sequential(struct attn_forward *f, const struct attn_block_weights *w)
{
    const bool has_mlp = f->model->config.d_mlp > 0;

    attn_residual_step(f, has_mlp ? ATTN_SITE_RESID_MID : ATTN_SITE_RESID_POST, f->resid, f->out);
    if (has_mlp)
        attn_sum_norm_step(f, ATTN_SITE_NORMALIZED_RESID_MID, &w->mid_norm, f->resid);
    if (attn_config_has_mlp(&f->model->config, (size_t)f->feed.layer)) {
        attn_norm_step(f, &w->ln2, f->resid, f->normed);
        run_mlp(f, w, f->out);
        if (attn_config_ends_late(&f->model->config)) {
            attn_sum_step(f, f->resid, f->out);
            attn_layer_end_step(f, w);
            return;
        }
        attn_residual_step(f, ATTN_SITE_RESID_POST, f->resid, f->out);
        attn_sum_norm_step(f, ATTN_SITE_NORMALIZED_RESID_POST, &w->end_norm, f->resid);
        attn_convolution_step(f);
    }
}

/* Computes v of X [n_row, D] with what config.stream adds to it. */
static void step_values(struct attn_forward *f, const struct attn_block_weights *w, const float *x,
                        float *v)
{
    if (attn_step_finish(f))
        return;
    f->pending.maps[f->pending.n_map++] = attn_map_of(f, &w->v, x, f->feed.n_row, v);
    if (attn_step_finish(f))
        return;
    f->model->config.stream->values(f, w, x, v);
    attn_forward_check_finite(f, v, f->feed.n_row * w->v.weight.n_col);
    f->pending.visits[f->pending.n_visit++] = (struct attn_pending_visit){ATTN_SITE_V, v};
}

/* Computes the sites of attention up to z, from the normalized block's input. */
static void run_heads(struct attn_forward *f, const struct attn_block_weights *w)
{
    const struct attn_config *config = &f->model->config;
    const size_t layer = (size_t)f->feed.layer;
    const bool shares_keys = attn_config_shares_keys(config, layer);
    const size_t kv_layer = attn_config_layer_dims(config, layer).kv_layer;
    const bool is_kept = f->shared && f->shared[kv_layer].k;
    float *k = is_kept ? f->shared[kv_layer].k : f->k, *v = is_kept ? f->shared[kv_layer].v : f->v;
    const float *kv_input;

    kv_input = attn_drop_step(f, f->normed, f->dims.d_model, f->out);
    kv_input = attn_forward_is_cross(f) ? f->source : kv_input;
    attn_linear_step(f, ATTN_SITE_Q, &w->q, f->normed, f->q);
    if (!shares_keys)
        attn_linear_step(f, ATTN_SITE_K, &w->k, kv_input, k);
    if (!shares_keys && attn_config_has_keys_as_values(config, layer))
        attn_keys_as_values_step(f, k, v);
    else if (!shares_keys && w->value_table.data)
        step_values(f, w, kv_input, v);
    else if (!shares_keys)
        attn_linear_step(f, ATTN_SITE_V, &w->v, kv_input, v);
    if (config->has_attn_gate)
        attn_linear_step(f, ATTN_SITE_GATE, &w->attn_gate, f->normed, f->gate);
    attn_rotary_step(f, ATTN_SITE_ROT_Q, &w->q_norm, f->q);
    if (!shares_keys)
        attn_rotary_step(f, ATTN_SITE_ROT_K, &w->k_norm, k);
    attn_attention_step(f, f->q, k, v, f->z);
    if (config->has_attn_gate)
        attn_gate_heads_step(f, f->z);
}

/* Starts at z, which was given. Only a parallel MLP needs the block's input. */
static void begin_at_z(struct attn_forward *f, const struct attn_block_weights *w)
{
    attn_convolution_keep(f);
    attn_drop_step(f, f->z, f->dims.n_head * f->dims.d_value, NULL);
    if (f->model->config.has_single_norm)
        attn_norm_step(f, &w->ln1, f->resid, f->normed);
    attn_visit(f, ATTN_SITE_Z, f->z);
}

/* Computes the sum of attention and of the mixer beside it into f->out. */
static void run_beside(struct attn_forward *f, const struct attn_block_weights *w)
{
    const struct attn_factor_config *factors = &f->model->config.factors;
    const size_t n_byte = f->feed.n_left * f->dims.d_model * sizeof(float);

    memcpy(f->beside, f->normed, n_byte);
    attn_scale_step(f, factors->attn_in, f->normed);
    run_heads(f, w);
    attn_linear_step(f, ATTN_SITE_ATTN_OUT, &w->out, f->z, f->out);
    attn_output_step(f, ATTN_SITE_ATTN_OUT, &w->ln1_post, &w->attn_scale, f->out);
    if (attn_step_finish(f))
        return;
    memcpy(f->normed, f->beside, n_byte);
    attn_scale_step(f, factors->mixer_in, f->normed);
    attn_mixer_step(f, w);
    attn_linear_step(f, ATTN_SITE_MIXER_OUT, &w->mixer_out, f->mixer.out, f->beside);
    attn_output_step(f, ATTN_SITE_MIXER_OUT, &w->ln1_post, &w->attn_scale, f->beside);
    attn_sum_step(f, f->out, f->beside);
}

void attn_block_run(struct attn_forward *f, int layer)
{
    const struct attn_config *config = &f->model->config;
    const struct attn_block_weights *w = &f->model->weights.blocks[layer];
    const bool is_mixer = attn_config_is_mixer(config, (size_t)layer);
    const bool is_mlp = config->is_mlp && config->is_mlp[layer];
    const bool is_beside = attn_config_mixes_beside(config);
    const enum attn_site out = is_mixer ? ATTN_SITE_MIXER_OUT : ATTN_SITE_ATTN_OUT;

    attn_forward_enter(f, layer);
    if (f->feed.has_z && layer == f->feed.first_layer) {
        begin_at_z(f, w);
    } else {
        if (config->stream)
            config->stream->enter(f, layer);
        attn_visit(f, ATTN_SITE_RESID_PRE, f->resid);
        attn_convolution_keep(f);
        attn_norm_step(f, &w->ln1, f->resid, f->normed);
        if (!is_mlp && !is_beside)
            (is_mixer ? attn_mixer_step : run_heads)(f, w);
    }
    if (is_mlp) {
        run_mlp(f, w, f->out);
    } else if (is_beside) {
        run_beside(f, w);
    } else {
        attn_linear_step(f, out, &w->out, is_mixer ? f->mixer.out : f->z, f->out);
        attn_output_step(f, out, &w->ln1_post, &w->attn_scale, f->out);
    }
    if (config->is_mlp) /* a block of one part */
        attn_residual_step(f, ATTN_SITE_RESID_POST, f->resid, f->out);
    else if (config->has_parallel_residual)
        run_parallel(f, w);
    else
        run_sequential(f, w);
    if (config->stream && !attn_forward_is_over(f))
        config->stream->leave(f, layer);
    attn_forward_enter(f, ATTN_NO_LAYER);
}
