/*
 * step_experts.c - a mixture of experts instead of the MLP.
 *
 *     router_logits = x W_r + b_r
 *     expert_weights = softmax(router_logits) of the n_expert_used largest, else 0
 *     mlp_out = the sum of weight_e * expert_e(x) in the order of the experts' numbers; each
 *               product and sum is rounded; then shared_out = sigmoid(x w) * shared(x) is added,
 *               or shared(x) if the model has no w
 *
 * The rows of an expert are gathered into one product. Rows of a product do not depend on each
 * other, so other rows and threads change no bit. Experts that no row chose are not read.
 */
#include "forward/step_internal.h"

#include <math.h>
#include <string.h>

size_t attn_router_share(const struct attn_forward *f, const float *logits, size_t taken,
                         float *shares)
{
    const size_t n = f->model->config.n_expert;
    const float margin = (float)(2 * f->model->config.router_jitter);
    size_t best = taken == 0;

    for (size_t e = 0; e < n; e++)
        best = e != taken && logits[e] > logits[best] ? e : best;
    for (size_t e = 0; e < n; e++) {
        const float below = logits[best] - logits[e], size = fmaxf(fabsf(logits[e]), logits[best]);

        shares[e] = e == taken || below / size > margin ? -INFINITY : logits[e];
    }
    f->engine.kernels->softmax(shares, n, n, 1);
    return best;
}

/* Chooses two experts of a row, each by its share among the logits near it. */
static void choose_near(const struct attn_forward *f, size_t row)
{
    const size_t n = f->model->config.n_expert;
    const float *logits = f->router + row * n;
    float *weights = f->expert_weights + row * n;
    size_t taken = n;

    memset(weights, 0, n * sizeof *weights);
    for (size_t i = 0; i < f->model->config.n_expert_used; i++) {
        taken = attn_router_share(f, logits, taken, f->expert_g);
        weights[taken] = f->expert_g[taken];
        f->expert_indices[row * f->model->config.n_expert_used + i] = (float)taken;
    }
}

/* Chooses the experts of a row and computes their weights. Of equal logits, the lower number is
 * chosen. */
static void choose_experts(const struct attn_forward *f, size_t row)
{
    const struct attn_config *config = &f->model->config;
    const size_t n = config->n_expert, n_used = config->n_expert_used;
    const bool is_of_chosen = config->expert_weights == ATTN_EXPERTS_SOFTMAX_CHOSEN;
    const float *logits = f->router + row * n;
    float *weights = f->expert_weights + row * n, *chosen = f->expert_indices + row * n_used;
    float *left = f->expert_g, *shares = f->expert_u, sum = 0; /* [n], [n_used] */

    memcpy(left, logits, n * sizeof *left);
    memcpy(weights, logits, n * sizeof *weights);
    f->engine.kernels->softmax(weights, n, n, 1);
    for (size_t i = 0; i < n_used; i++) {
        size_t best = 0;

        for (size_t e = 1; e < n; e++)
            best = left[e] > left[best] ? e : best;
        left[best] = -INFINITY;
        chosen[i] = (float)best;
        shares[i] = is_of_chosen ? logits[best] : weights[best];
        sum += shares[i];
    }
    if (is_of_chosen)
        f->engine.kernels->softmax(shares, n_used, n_used, 1);
    memset(weights, 0, n * sizeof *weights);
    for (size_t i = 0; i < n_used; i++)
        weights[(size_t)chosen[i]] = config->expert_weights == ATTN_EXPERTS_SOFTMAX_ALL_NORMALIZED
                                         ? shares[i] / sum
                                         : shares[i];
}

void attn_router_run(const struct attn_forward *f, const struct attn_block_weights *w,
                     const float *x, size_t n_row, struct attn_pool *pool)
{
    struct attn_linear_args map = attn_map_of(f, &w->router, x, n_row, f->router);

    map.compute = ATTN_COMPUTE_F32;
    attn_linear_run(&map, 1, pool);
}

void attn_router_choose(const struct attn_forward *f, size_t n_row)
{
    const bool is_near = f->model->config.expert_weights == ATTN_EXPERTS_SOFTMAX_NEAR;

    for (size_t row = 0; row < n_row; row++)
        (is_near ? choose_near : choose_experts)(f, row);
}

size_t attn_expert_gather(const struct attn_forward *f, size_t expert, const float *x, size_t n_row)
{
    const size_t d = f->dims.d_model;
    size_t n = 0;

    for (size_t row = 0; row < n_row; row++)
        if (f->expert_weights[row * f->dims.n_expert + expert] != 0) {
            f->expert_rows[n] = row;
            memcpy(f->expert_x + n++ * d, x + row * d, d * sizeof *x);
        }
    return n;
}

/* Prepares the inputs of the gate of an expert with limits. */
static void limit_rows(const struct attn_forward *f, size_t n, float *g, float *u)
{
    const float limit = (float)f->model->config.expert_limit;
    const float alpha = (float)f->model->config.expert_alpha;

    for (size_t i = 0; i < n && limit > 0; i++) { /* silu(alpha g) / alpha = g sigmoid(alpha g) */
        g[i] = alpha * fminf(g[i], limit);
        u[i] = (fminf(fmaxf(u[i], -limit), limit) + 1) / alpha;
    }
}

void attn_expert_run(struct attn_forward *f, const struct attn_expert *expert, const float *x,
                     size_t n_row, float *post, struct attn_pool *pool)
{
    const size_t n = n_row * expert->gate.weight.n_col;
    struct attn_linear_args maps[2] = {attn_map_of(f, &expert->gate, x, n_row, f->expert_g),
                                       attn_map_of(f, &expert->in, x, n_row, f->expert_u)};

    attn_weight_buffer_run_linear(&f->weight_buffer, maps, 2, pool);
    limit_rows(f, n, f->expert_g, f->expert_u);
    if (post != f->expert_g)
        memcpy(post, f->expert_g, n * sizeof *post);
    f->engine.kernels->gate(f->activation, post, f->expert_u, n);
    maps[0] = attn_map_of(f, &expert->out, post, n_row, f->expert_y);
    attn_weight_buffer_run_linear(&f->weight_buffer, maps, 1, pool);
}

void attn_shared_gate(const struct attn_forward *f, const struct attn_block_weights *w,
                      const float *x, size_t n_row, float *gates)
{
    const struct attn_linear_args map = attn_map_of(f, &w->shared_router, x, n_row, gates);

    attn_linear_run(&map, 1, NULL);
    for (size_t i = 0; i < n_row; i++)
        gates[i] = -gates[i];
    f->engine.kernels->exp(gates, n_row, gates);
    for (size_t i = 0; i < n_row; i++)
        gates[i] = 1 / (1 + gates[i]);
}

static void run_shared(struct attn_forward *f, const struct attn_block_weights *w, float *out)
{
    const size_t n = f->feed.n_left, d = f->dims.d_model;

    attn_expert_run(f, &w->shared, f->normed, n, f->expert_g, f->feed.pool);
    if (w->shared_router.weight.data)
        attn_shared_gate(f, w, f->normed, n, f->expert_u);
    for (size_t i = 0; i < n && w->shared_router.weight.data; i++)
        f->engine.kernels->scale(f->expert_y + i * d, f->expert_u[i], d, f->expert_y + i * d);
    attn_visit(f, ATTN_SITE_SHARED_OUT, f->expert_y);
    f->engine.kernels->add(out, f->expert_y, n * d, out);
}

void attn_experts_step(struct attn_forward *f, const struct attn_block_weights *w, float *out)
{
    const size_t n = f->feed.n_left, d = f->dims.d_model, n_expert = f->dims.n_expert;

    attn_step_finish(f);
    if (attn_forward_is_over(f))
        return;
    attn_router_run(f, w, f->normed, n, f->feed.pool);
    attn_forward_check_finite(f, f->router, n * n_expert);
    attn_visit(f, ATTN_SITE_ROUTER_LOGITS, f->router);
    if (attn_forward_is_over(f))
        return;
    attn_router_choose(f, n);
    attn_visit(f, ATTN_SITE_EXPERT_WEIGHTS, f->expert_weights);
    attn_visit(f, ATTN_SITE_EXPERT_INDICES, f->expert_indices);
    memset(out, 0, n * d * sizeof *out);
    for (size_t e = 0; e < n_expert && !attn_forward_is_stopped(f); e++) {
        const size_t n_row = attn_expert_gather(f, e, f->normed, n);

        if (n_row > 0) {
            attn_weights_make_expert(w, e, f->feed.pool);
            attn_expert_run(f, &w->experts[e], f->expert_x, n_row, f->expert_g, f->feed.pool);
        }
        for (size_t i = 0; i < n_row; i++) {
            const size_t row = f->expert_rows[i];
            const float weight = f->expert_weights[row * n_expert + e];

            f->engine.kernels->scale(f->expert_y + i * d, weight, d, f->expert_y + i * d);
            f->engine.kernels->add(out + row * d, f->expert_y + i * d, d, out + row * d);
        }
    }
    if (w->shared.in.weight.data && !attn_forward_is_over(f))
        run_shared(f, w, out);
    attn_forward_check_finite(f, out, n * d);
    if (!attn_forward_is_over(f))
        f->pending.visits[f->pending.n_visit++] =
            (struct attn_pending_visit){ATTN_SITE_MLP_OUT, out};
}
