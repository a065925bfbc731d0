/*
 * step_experts.c - a mixture of experts instead of the MLP.
 *
 *     router_logits = x W_r + b_r
 *     expert_weights = softmax(router_logits) of the n_expert_used largest, else 0
 *     mlp_out = the sum of weight_e * expert_e(x) in the order of the experts' numbers; each
 *               product and sum is rounded; then shared_out = sigmoid(x w) * shared(x) is added,
 *               or shared(x) if the model has no w
 *
 * If experts have a latent width, x is mapped to it before them, and their sum back after them.
 * With ATTN_EXPERTS_SIGMOID the weights are sigmoids, and a correction counts for the choice alone.
 *
 * With has_expert_norms, as in Gemma 4, the shared expert alone reads x:
 *
 *     router_logits = rms(resid_mid) w_r D^-0.5 W_r;  expert_weights are multiplied by w_e
 *     mlp_out = norm2(the sum of weight_e * expert_e(norm(resid_mid))) + norm1(shared(x))
 *
 * The rows of an expert are gathered into one product. Rows of a product do not depend on each
 * other, so other rows and threads change no bit. Experts that no row chose are not read.
 */
#include "forward/step_internal.h"

#include "model/config_internal.h"

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

/* Returns the index of the largest of the N numbers LEFT, of equal ones the first, and takes it out
 * of them. */
static size_t take_best(float *left, size_t n)
{
    size_t best = 0;

    for (size_t e = 1; e < n; e++)
        best = left[e] > left[best] ? e : best;
    left[best] = -INFINITY;
    return best;
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
        const size_t best = take_best(left, n);

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

/* Leaves only those groups of the N numbers LEFT whose two largest have the largest sums; others
 * become minus infinity. SUMS is scratch [n_group]. */
static void keep_groups(const struct attn_router_config *router, size_t n, float *left, float *sums)
{
    const size_t size = n / router->n_group;

    for (size_t group = 0; group < router->n_group; group++) {
        float first = -INFINITY, second = -INFINITY;

        for (size_t e = group * size; e < (group + 1) * size; e++) {
            second = left[e] > first ? first : fmaxf(second, left[e]);
            first = fmaxf(first, left[e]);
        }
        sums[group] = first + second;
    }
    for (size_t i = router->n_group_used; i < router->n_group; i++) {
        size_t worst = 0;

        for (size_t group = 1; group < router->n_group; group++)
            worst = sums[group] <= sums[worst] ? group : worst;
        sums[worst] = INFINITY;
        for (size_t e = worst * size; e < (worst + 1) * size; e++)
            left[e] = -INFINITY;
    }
}

/* Chooses the experts of a row by their sigmoids plus the correction, in the best groups. */
static void choose_by_sigmoid(const struct attn_forward *f, const struct attn_vector *correction,
                              size_t row)
{
    const struct attn_config *config = &f->model->config;
    const struct attn_kernels *kernels = f->engine.kernels;
    const size_t n = config->n_expert, n_used = config->n_expert_used;
    float *weights = f->expert_weights + row * n, *chosen = f->expert_indices + row * n_used;
    float *left = f->expert_g, *shares = f->expert_u, sum = 0; /* [n], [n_used] */

    kernels->scale(f->router + row * n, -1, n, weights);
    kernels->exp(weights, n, weights);
    for (size_t e = 0; e < n; e++)
        weights[e] = 1 / (1 + weights[e]);
    kernels->convert(correction->data, correction->dtype, n, left);
    kernels->add(left, weights, n, left);
    keep_groups(&config->router, n, left, f->expert_u);
    for (size_t i = 0; i < n_used; i++) {
        const size_t best = take_best(left, n);

        chosen[i] = (float)best;
        shares[i] = weights[best];
        sum += shares[i];
    }
    memset(weights, 0, n * sizeof *weights);
    for (size_t i = 0; i < n_used; i++)
        weights[(size_t)chosen[i]] =
            (config->router.is_normalized ? shares[i] / (sum + 1e-20F) : shares[i]) *
            (float)config->router.factor;
}

void attn_router_run(const struct attn_forward *f, const struct attn_block_weights *w,
                     const float *x, size_t n_row, struct attn_pool *pool)
{
    struct attn_linear_args map = attn_map_of(f, &w->router, x, n_row, f->router);

    map.compute = ATTN_COMPUTE_F32;
    attn_linear_run(&map, 1, pool);
}

/* Multiplies the weights of experts by their factors, if the layer has such. */
static void scale_experts(const struct attn_forward *f, const struct attn_vector *scale,
                          size_t n_row)
{
    const size_t n = f->dims.n_expert;

    if (!scale->data)
        return;
    f->engine.kernels->convert(scale->data, scale->dtype, n, f->expert_g);
    for (size_t i = 0; i < n_row * n; i++)
        f->expert_weights[i] *= f->expert_g[i % n];
}

void attn_router_choose(const struct attn_forward *f, const struct attn_block_weights *w,
                        size_t n_row)
{
    const enum attn_expert_weights how = f->model->config.expert_weights;

    for (size_t row = 0; row < n_row; row++)
        if (how == ATTN_EXPERTS_SIGMOID)
            choose_by_sigmoid(f, &w->router_correction, row);
        else
            (how == ATTN_EXPERTS_SOFTMAX_NEAR ? choose_near : choose_experts)(f, row);
    scale_experts(f, &w->expert_scale, n_row);
}

size_t attn_expert_gather(const struct attn_forward *f, size_t expert, const float *x, size_t n_row)
{
    const size_t d = attn_config_d_routed(&f->model->config);
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
    const size_t n = n_row * expert->in.weight.n_col;
    const bool has_gate = expert->gate.weight.data;
    struct attn_linear_args maps[2] = {
        attn_map_of(f, &expert->in, x, n_row, has_gate ? f->expert_u : f->expert_g)};

    if (has_gate)
        maps[1] = attn_map_of(f, &expert->gate, x, n_row, f->expert_g);
    attn_weight_buffer_run_linear(&f->weight_buffer, maps, has_gate ? 2 : 1, pool);
    limit_rows(f, has_gate ? n : 0, f->expert_g, f->expert_u);
    if (post != f->expert_g)
        memcpy(post, f->expert_g, n * sizeof *post);
    if (has_gate)
        f->engine.kernels->gate(f->activation, post, f->expert_u, n);
    else
        f->engine.kernels->activate(f->activation, post, n);
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

/* Computes x = normalize(x) * w [n_row, D], if the layer has such a norm. */
static void normalize(struct attn_forward *f, const struct attn_norm_weights *norm, float *x)
{
    if (norm->w.data)
        attn_norm_step(f, norm, x, x);
}

static void run_shared(struct attn_forward *f, const struct attn_block_weights *w, float *out)
{
    const size_t n = f->feed.n_left, d = f->dims.d_model;

    attn_expert_run(f, &w->shared, f->normed, n, f->expert_g, f->feed.pool);
    if (w->shared_router.weight.data)
        attn_shared_gate(f, w, f->normed, n, f->expert_u);
    for (size_t i = 0; i < n && w->shared_router.weight.data; i++)
        f->engine.kernels->scale(f->expert_y + i * d, f->expert_u[i], d, f->expert_y + i * d);
    normalize(f, &w->shared_post, f->expert_y);
    attn_visit(f, ATTN_SITE_SHARED_OUT, f->expert_y);
    f->engine.kernels->add(out, f->expert_y, n * d, out);
}

/* Returns the input of the router, and makes *ROUTED that of the experts. */
static const float *find_inputs(struct attn_forward *f, const struct attn_block_weights *w,
                                const float **routed)
{
    *routed = f->normed;
    if (!f->model->config.has_expert_norms)
        return f->normed;
    attn_norm_step(f, &w->experts_norm, f->resid, f->latent);
    attn_norm_step(f, &w->router_norm, f->resid, f->expert_x);
    attn_scale_step(f, 1 / sqrt((double)f->dims.d_model), f->expert_x);
    *routed = f->latent;
    return f->expert_x;
}

/* Computes the weighted SUM [n_row, d_routed] of what the chosen experts make of X. */
static void run_routed(struct attn_forward *f, const struct attn_block_weights *w, const float *x,
                       float *sum)
{
    const size_t n = f->feed.n_left, n_expert = f->dims.n_expert;
    const size_t d = attn_config_d_routed(&f->model->config);

    memset(sum, 0, n * d * sizeof *sum);
    for (size_t e = 0; e < n_expert && !attn_forward_is_stopped(f); e++) {
        const size_t n_row = attn_expert_gather(f, e, x, n);

        if (n_row > 0) {
            attn_weights_make_expert(w, e, f->feed.pool);
            attn_expert_run(f, &w->experts[e], f->expert_x, n_row, f->expert_g, f->feed.pool);
        }
        for (size_t i = 0; i < n_row; i++) {
            const size_t row = f->expert_rows[i];
            const float weight = f->expert_weights[row * n_expert + e];

            f->engine.kernels->scale(f->expert_y + i * d, weight, d, f->expert_y + i * d);
            f->engine.kernels->add(sum + row * d, f->expert_y + i * d, d, sum + row * d);
        }
    }
}

void attn_experts_step(struct attn_forward *f, const struct attn_block_weights *w, float *out)
{
    const size_t n = f->feed.n_left, n_expert = f->dims.n_expert;
    const float *asked, *routed;

    attn_step_finish(f);
    asked = find_inputs(f, w, &routed);
    if (attn_forward_is_over(f))
        return;
    attn_router_run(f, w, asked, n, f->feed.pool);
    attn_forward_check_finite(f, f->router, n * n_expert);
    attn_visit(f, ATTN_SITE_ROUTER_LOGITS, f->router);
    if (attn_forward_is_over(f))
        return;
    attn_router_choose(f, w, n);
    attn_visit(f, ATTN_SITE_EXPERT_WEIGHTS, f->expert_weights);
    attn_visit(f, ATTN_SITE_EXPERT_INDICES, f->expert_indices);
    if (w->latent_in.weight.data) {
        float *sum = f->latent + n * f->model->config.d_latent;

        attn_map_step(f, &w->latent_in, NULL, f->normed, n, f->latent);
        run_routed(f, w, f->latent, sum);
        attn_map_step(f, &w->latent_out, NULL, sum, n, out);
    } else {
        run_routed(f, w, routed, out);
        normalize(f, &w->experts_post, out);
    }
    if (w->shared.in.weight.data && !attn_forward_is_over(f))
        run_shared(f, w, out);
    attn_forward_check_finite(f, out, n * f->dims.d_model);
    if (!attn_forward_is_over(f))
        f->pending.visits[f->pending.n_visit++] =
            (struct attn_pending_visit){ATTN_SITE_MLP_OUT, out};
}
