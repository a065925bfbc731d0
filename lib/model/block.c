/*
 * block.c - one block of the decoder, in the order of its equations.
 *
 *     q, k, v   = norm1(resid_pre) W_Q + b_Q, ...
 *     z[h]      = softmax(q[h] k[g]^T * scale) v[g]
 *     attn_out  = concat(z) W_O + b_O
 *     resid_mid = resid_pre + attn_out
 *     mlp_out   = act(norm2(resid_mid) W_in + b_in) W_out + b_out
 *     resid_post = resid_mid + mlp_out
 *
 * A config leaves parts out; each is one line here. Order of every sum: product, then bias, then
 * residual.
 */
#include "model/session_state.h"

#include <stdatomic.h>
#include <string.h>

enum { ROWS_PER_TASK = 16 };

/* Work on rows, shared over the pool in pieces of ROWS_PER_TASK. */
struct row_work {
    const struct attn_session *session;
    const float *x;
    float *y;
    size_t n_row, n_col;
};

static struct row_work rows_of(const struct attn_session *session, const float *x, float *y,
                               size_t n_col)
{
    return (struct row_work){
        .session = session, .x = x, .y = y, .n_row = session->step.n_row, .n_col = n_col};
}

static void run_rows(struct row_work *work, attn_task_fn task)
{
    attn_pool_run(work->session->step.pool, (work->n_row + ROWS_PER_TASK - 1) / ROWS_PER_TASK, task,
                  work);
}

/* Rows of one task: first row and number of rows. */
static size_t task_rows(const struct row_work *work, size_t task, size_t *first)
{
    const size_t rest = work->n_row - task * ROWS_PER_TASK;

    *first = task * ROWS_PER_TASK;
    return rest < ROWS_PER_TASK ? rest : ROWS_PER_TASK;
}

static void normalize_rows(void *context, size_t task, int worker)
{
    const struct row_work *work = context;
    const struct attn_session *session = work->session;
    const size_t d = work->n_col;
    const float *b = session->vectors + d;
    size_t first, n = task_rows(work, task, &first);

    (void)worker;
    for (size_t i = first; i < first + n; i++)
        session->engine.kernels->layer_norm(work->x + i * d, session->vectors, b, d,
                                            session->config->norm_eps, work->y + i * d);
}

void attn_normalize(struct attn_session *session, const struct attn_norm_weights *weights,
                    const float *x, float *y)
{
    const size_t d = session->config->d_model;
    struct row_work work = rows_of(session, x, y, d);

    if (session->config->norm == ATTN_NORM_NONE) {
        memcpy(y, x, session->step.n_row * d * sizeof(float));
        return;
    }
    session->engine.kernels->convert(weights->w.data, weights->w.dtype, d, session->vectors);
    session->engine.kernels->convert(weights->b.data, weights->b.dtype, d, session->vectors + d);
    run_rows(&work, normalize_rows);
}

static void activate_rows(void *context, size_t task, int worker)
{
    const struct row_work *work = context;
    size_t first, n = task_rows(work, task, &first);

    (void)worker;
    work->session->engine.kernels->activate(work->session->activation,
                                            work->y + first * work->n_col, n * work->n_col);
}

static void activate(struct attn_session *session)
{
    struct row_work work = rows_of(session, session->mlp, session->mlp, session->config->d_mlp);

    run_rows(&work, activate_rows);
}

static void add_rows(void *context, size_t task, int worker)
{
    const struct row_work *work = context;
    size_t first, n = task_rows(work, task, &first), at = first * work->n_col;

    (void)worker;
    work->session->engine.kernels->add(work->y + at, work->x + at, n * work->n_col, work->y + at);
}

/* resid = resid + x, or x where there is no residual stream. */
static void join(struct attn_session *session, int layer, const float *x)
{
    struct row_work work = rows_of(session, x, session->resid, session->config->d_model);

    if (session->config->has_residual)
        run_rows(&work, add_rows);
    else
        memcpy(work.y, x, work.n_row * work.n_col * sizeof(float));
    attn_session_check_finite(session, layer, work.y, work.n_row * work.n_col);
}

/* y = x W + b for all columns; y and x hold the rows of the step. */
static struct attn_linear_args product_of(const struct attn_session *session,
                                          const struct attn_linear *linear, const float *x,
                                          float *y)
{
    return (struct attn_linear_args){.linear = linear,
                                     .engine = &session->engine,
                                     .scratch = session->heads.scratch,
                                     .x = x,
                                     .ldx = linear->weight.n_row,
                                     .n_row = session->step.n_row,
                                     .compute = session->compute,
                                     .rounded = session->rounded,
                                     .y = y,
                                     .ldy = linear->weight.n_col,
                                     .last_col = linear->weight.n_col,
                                     .activation = session->activation};
}

/* Products that wait to be made together, of one layer. */
struct products {
    struct attn_linear_args list[ATTN_LINEAR_MOST];
    size_t n;
    atomic_bool is_violated; /* some product is not finite */
};

/*
 * Looked at for values that are not finite. The residual stream alone does not show every bad
 * weight: a softmax leaves keys with a score of -inf out, and relu makes -inf 0.
 */
static void multiply_checked(struct attn_session *session, int layer, struct products *products)
{
    for (size_t i = 0; i < products->n; i++)
        products->list[i].is_violated = &products->is_violated;
    if (products->n > 0)
        attn_session_multiply(session, products->list, products->n);
    products->n = 0;
    if (atomic_load_explicit(&products->is_violated, memory_order_relaxed))
        attn_session_blame(session, layer);
}

/* One projection of a layer: q, or k or v, for all heads that are needed. */
struct projection {
    const struct attn_linear *linear;
    const float *x; /* [n_row, ...] */
    size_t n_row;
    float *y;
    size_t n_head, width;
    bool (*needs)(const struct attn_session *session, int layer, int head);
};

/* Heads are projected run by run; without weights a head is the input itself. */
static void project(struct attn_session *session, int layer, const struct projection *p,
                    struct products *products)
{
    const size_t n_col = p->n_head * p->width;
    struct attn_linear_args product;
    int head = 0;

    if (!session->config->has_projections) {
        memcpy(p->y, p->x, p->n_row * n_col * sizeof(float));
        attn_session_check_finite(session, layer, p->y, p->n_row * n_col);
        return;
    }
    product = product_of(session, p->linear, p->x, p->y);
    product.n_row = p->n_row;
    while (head < (int)p->n_head) {
        product.first_col = (size_t)head * p->width;
        while (head < (int)p->n_head && p->needs(session, layer, head))
            head++;
        product.last_col = (size_t)head * p->width;
        if (product.last_col == product.first_col) {
            head++;
            continue;
        }
        product.y = p->y + product.first_col;
        if (products->n == ATTN_LINEAR_MOST || (products->n > 0 && products->list[0].x != p->x))
            multiply_checked(session, layer, products);
        products->list[products->n++] = product;
    }
}

/* Projections of keys and values. A source is projected once, with the first positions. */
static void project_keys(struct attn_session *session, int layer, bool has_values,
                         struct products *products)
{
    const struct attn_config *config = session->config;
    const struct attn_block_weights *w = &session->model->weights.blocks[layer];
    const bool is_cross = attn_session_is_cross(session, layer);
    struct projection p = {.linear = &w->k,
                           .x = is_cross ? session->source : session->normed,
                           .n_row = is_cross ? session->n_source : session->step.n_row,
                           .y = session->k,
                           .n_head = config->n_kv_head,
                           .width = config->d_head,
                           .needs = attn_session_needs_kv_head};

    project(session, layer, &p, products);
    if (!has_values)
        return;
    p.linear = &w->v;
    p.y = session->v;
    p.width = config->d_value;
    project(session, layer, &p, products);
}

/* q, k, v and z of a layer; k and v into the cache. */
static void run_heads(struct attn_session *session, int layer)
{
    const struct attn_block_weights *w = &session->model->weights.blocks[layer];
    const bool is_cross = attn_session_is_cross(session, layer);
    const bool has_keys = !is_cross || session->step.row0 == 0;
    const bool has_values = has_keys && (attn_session_needs(session, layer, ATTN_SITE_Z) ||
                                         attn_session_watches(session, ATTN_SITE_V, layer));
    const struct projection q = {.linear = &w->q,
                                 .x = session->normed,
                                 .n_row = session->step.n_row,
                                 .y = session->q,
                                 .n_head = session->config->n_head,
                                 .width = session->config->d_head,
                                 .needs = attn_session_needs_head};
    struct products products = {.n = 0};

    attn_normalize(session, &w->ln1, session->resid, session->normed);
    project(session, layer, &q, &products);
    if (has_keys)
        project_keys(session, layer, has_values, &products);
    multiply_checked(session, layer, &products);
    attn_session_visit(session, ATTN_SITE_Q, layer, session->q);
    if (has_keys)
        attn_session_visit(session, ATTN_SITE_K, layer, session->k);
    if (has_values)
        attn_session_visit(session, ATTN_SITE_V, layer, session->v);
    if (has_keys)
        attn_session_remember(session, layer, is_cross ? session->n_source : session->step.n_row,
                              has_values);
    if (!attn_session_needs(session, layer, ATTN_SITE_QK))
        return;
    attn_session_attend(session, layer);
    if (attn_session_needs(session, layer, ATTN_SITE_Z))
        attn_session_visit(session, ATTN_SITE_Z, layer, session->z);
}

/* What a part of the block adds to the residual stream, SITE: out = x W + b; resid = resid + out. At
 * once, unless an edit may come between. */
static void add_product(struct attn_session *session, int layer, enum attn_site site,
                        struct attn_linear_args product)
{
    const bool at_once = session->config->has_residual && session->options.n_edit == 0;
    struct products products = {.n = 1};

    product.sum = at_once ? session->resid : NULL;
    products.list[0] = product;
    multiply_checked(session, layer, &products);
    attn_session_visit(session, site, layer, session->out);
    if (!at_once)
        join(session, layer, session->out);
}

/* mlp = act(x W + b), at once unless somebody looks at what lies between. */
static void activate_product(struct attn_session *session, int layer,
                             struct attn_linear_args product)
{
    const bool at_once =
        !attn_session_watches(session, ATTN_SITE_MLP_PRE, layer) && session->options.n_edit == 0;
    struct products products = {.n = 1};

    product.has_activation = at_once;
    products.list[0] = product;
    multiply_checked(session, layer, &products);
    if (!at_once) {
        attn_session_visit(session, ATTN_SITE_MLP_PRE, layer, session->mlp);
        activate(session);
    }
    attn_session_visit(session, ATTN_SITE_MLP_POST, layer, session->mlp);
}

static void run_mlp(struct attn_session *session, int layer)
{
    const struct attn_block_weights *w = &session->model->weights.blocks[layer];
    struct attn_linear_args in = product_of(session, &w->mlp_in, session->normed, session->mlp);
    struct attn_linear_args out = product_of(session, &w->mlp_out, session->mlp, session->out);

    in.next = &w->mlp_out;
    out.next = layer + 1 < (int)session->config->n_layer ? &w[1].q : NULL;
    attn_normalize(session, &w->ln2, session->resid, session->normed);
    activate_product(session, layer, in);
    add_product(session, layer, ATTN_SITE_MLP_OUT, out);
}

void attn_block_run(struct attn_session *session, int layer)
{
    const struct attn_config *config = session->config;
    const struct attn_block_weights *w = &session->model->weights.blocks[layer];
    float *resid = session->resid;

    attn_session_visit(session, ATTN_SITE_RESID_PRE, layer, resid);
    if (!attn_session_needs(session, layer, ATTN_SITE_Q))
        return;
    run_heads(session, layer);
    if (!attn_session_needs(session, layer, ATTN_SITE_ATTN_OUT))
        return;
    if (config->has_out_proj) {
        struct attn_linear_args out = product_of(session, &w->out, session->z, session->out);

        out.next = config->d_mlp > 0 ? &w->mlp_in : NULL;
        add_product(session, layer, ATTN_SITE_ATTN_OUT, out);
    } else {
        attn_session_visit(session, ATTN_SITE_ATTN_OUT, layer, session->z);
        join(session, layer, session->z);
    }
    if (config->d_mlp > 0) {
        attn_session_visit(session, ATTN_SITE_RESID_MID, layer, resid);
        if (!attn_session_needs(session, layer, ATTN_SITE_MLP_PRE))
            return;
        run_mlp(session, layer);
    }
    attn_session_visit(session, ATTN_SITE_RESID_POST, layer, resid);
}
