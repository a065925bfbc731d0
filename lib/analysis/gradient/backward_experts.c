/*
 * backward_experts.c - the backward pass of a mixture of experts: the lines of step_experts.c from
 * the last to the first. The choice of experts is treated as constant.
 *
 *     y = the sum of w_e * f_e(x),  w = softmax of the router's logits r, over all or the chosen
 *     d w_e = d y . f_e(x)
 *     d x = the sum of f_e^T(w_e * d y) in the order of the experts; then d r W_r^T
 *     d r = w * (d w - the sum of w * d w), with d w = 0 for experts that were not chosen
 *
 * Weights that are divided by their sum are a softmax over the chosen experts. With
 * ATTN_EXPERTS_SOFTMAX_NEAR each chosen expert has a softmax of its own.
 */
#include "gradient/backward_internal.h"

#include "forward/step_internal.h"

#include <string.h>

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

void attn_experts_back(struct attn_backward *b, const struct attn_block_weights *w,
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
