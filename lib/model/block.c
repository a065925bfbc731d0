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
    enum attn_activation activation;
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

static void add_rows(void *context, size_t task, int worker)
{
    const struct row_work *work = context;
    size_t first, n = task_rows(work, task, &first), at = first * work->n_col;

    (void)worker;
    work->session->engine.kernels->add(work->y + at, work->x + at, n * work->n_col, work->y + at);
}

/* resid = resid + x, or x where there is no residual stream. */
static void join(struct attn_session *session, const float *x)
{
    struct row_work work = rows_of(session, x, session->resid, session->config->d_model);

    if (session->config->has_residual)
        run_rows(&work, add_rows);
    else
        memcpy(work.y, x, work.n_row * work.n_col * sizeof(float));
}

static void activate_rows(void *context, size_t task, int worker)
{
    const struct row_work *work = context;
    size_t first, n = task_rows(work, task, &first);

    (void)worker;
    work->session->engine.kernels->activate(work->activation, work->y + first * work->n_col,
                                            n * work->n_col);
}

static void activate(struct attn_session *session)
{
    struct row_work work = rows_of(session, session->mlp, session->mlp, session->config->d_mlp);

    work.activation = attn_activation_find(session->config->act_fn);
    run_rows(&work, activate_rows);
}

/* What a linear map reads: n_row rows, as wide as the map is deep. */
struct input {
    const float *x;
    size_t n_row;
};

/* Columns first .. last-1 of y = x W + b, in their place in y. */
static void multiply(struct attn_session *session, const struct attn_linear *linear,
                     struct input in, float *y, size_t first, size_t last)
{
    const struct attn_linear_args args = {
        .engine = &session->engine,
        .pool = session->step.pool,
        .scratch = session->heads.scratch,
        .x = in.x,
        .ldx = linear->weight.n_row,
        .n_row = in.n_row,
        .y = y + first,
        .ldy = linear->weight.n_col,
        .first_col = first,
        .last_col = last,
    };

    attn_linear_run(linear, &args);
}

/* Rows of a tensor that must be finite. */
struct finite_work {
    struct row_work rows; /* reads x; n_col of each row */
    size_t ld;
    atomic_bool is_violated;
};

static void find_non_finite_rows(void *context, size_t task, int worker)
{
    struct finite_work *work = context;
    size_t first, n = task_rows(&work->rows, task, &first);

    (void)worker;
    for (size_t i = first; i < first + n; i++)
        if (!work->rows.session->engine.kernels->is_finite(work->rows.x + i * work->ld,
                                                           work->rows.n_col))
            atomic_store_explicit(&work->is_violated, true, memory_order_relaxed);
}

/*
 * The block's output does not show every bad weight: a softmax leaves keys with a score of -inf
 * out, and relu makes -inf 0. So what goes into these two is looked at as well.
 */
static void check_rows(struct attn_session *session, int layer, struct input y, size_t ld,
                       size_t n_col)
{
    struct finite_work work = {
        .rows = {.session = session, .x = y.x, .n_row = y.n_row, .n_col = n_col}, .ld = ld};

    attn_pool_run(session->step.pool, (y.n_row + ROWS_PER_TASK - 1) / ROWS_PER_TASK,
                  find_non_finite_rows, &work);
    if (atomic_load_explicit(&work.is_violated, memory_order_relaxed))
        attn_session_blame(session, layer);
}

static void multiply_all(struct attn_session *session, const struct attn_linear *linear,
                         const float *x, float *y)
{
    const struct input in = {x, session->step.n_row};

    multiply(session, linear, in, y, 0, linear->weight.n_col);
}

/* One projection of a layer: q, or k or v, for all heads that are needed. */
struct projection {
    const struct attn_linear *linear;
    struct input in;
    float *y;
    size_t n_head, width;
    bool (*needs)(const struct attn_session *session, int layer, int head);
};

/* Heads are projected run by run; without weights a head is the input itself. */
static void project(struct attn_session *session, int layer, const struct projection *p)
{
    const size_t ld = p->n_head * p->width;
    int head = 0;

    if (!session->config->has_projections) {
        memcpy(p->y, p->in.x, p->in.n_row * ld * sizeof(float));
        check_rows(session, layer, (struct input){p->y, p->in.n_row}, ld, ld);
        return;
    }
    while (head < (int)p->n_head) {
        const int first = head;
        const size_t column = (size_t)first * p->width;

        while (head < (int)p->n_head && p->needs(session, layer, head))
            head++;
        if (head == first) {
            head++;
            continue;
        }
        multiply(session, p->linear, p->in, p->y, column, (size_t)head * p->width);
        check_rows(session, layer, (struct input){p->y + column, p->in.n_row}, ld,
                   (size_t)(head - first) * p->width);
    }
}

/* k and v of a layer, into the cache. A source is projected once, with the first positions. */
static void run_keys(struct attn_session *session, int layer)
{
    const struct attn_config *config = session->config;
    const struct attn_block_weights *w = &session->model->weights.blocks[layer];
    const bool is_cross = attn_session_is_cross(session, layer);
    const bool has_values = attn_session_needs(session, layer, ATTN_SITE_Z) ||
                            attn_session_watches(session, ATTN_SITE_V, layer);
    struct projection p = {.linear = &w->k,
                           .in = {session->normed, session->step.n_row},
                           .y = session->k,
                           .n_head = config->n_kv_head,
                           .width = config->d_head,
                           .needs = attn_session_needs_kv_head};

    if (is_cross && session->step.row0 > 0)
        return;
    if (is_cross)
        p.in = (struct input){session->source, session->n_source};
    project(session, layer, &p);
    attn_session_visit(session, ATTN_SITE_K, layer, session->k);
    if (has_values) {
        p.linear = &w->v;
        p.y = session->v;
        p.width = config->d_value;
        project(session, layer, &p);
        attn_session_visit(session, ATTN_SITE_V, layer, session->v);
    }
    attn_session_remember(session, layer, p.in.n_row, has_values);
}

/* q, k, v and z of a layer. */
static void run_heads(struct attn_session *session, int layer)
{
    const struct attn_block_weights *w = &session->model->weights.blocks[layer];
    const struct projection q = {.linear = &w->q,
                                 .in = {session->normed, session->step.n_row},
                                 .y = session->q,
                                 .n_head = session->config->n_head,
                                 .width = session->config->d_head,
                                 .needs = attn_session_needs_head};

    attn_normalize(session, &w->ln1, session->resid, session->normed);
    project(session, layer, &q);
    attn_session_visit(session, ATTN_SITE_Q, layer, session->q);
    run_keys(session, layer);
    if (!attn_session_needs(session, layer, ATTN_SITE_QK))
        return;
    attn_session_attend(session, layer);
    if (attn_session_needs(session, layer, ATTN_SITE_Z))
        attn_session_visit(session, ATTN_SITE_Z, layer, session->z);
}

void attn_block_run(struct attn_session *session, int layer)
{
    const struct attn_config *config = session->config;
    const struct attn_block_weights *w = &session->model->weights.blocks[layer];
    float *resid = session->resid, *attn_out = session->z;

    attn_session_visit(session, ATTN_SITE_RESID_PRE, layer, resid);
    if (!attn_session_needs(session, layer, ATTN_SITE_Q))
        return;
    run_heads(session, layer);
    if (!attn_session_needs(session, layer, ATTN_SITE_ATTN_OUT))
        return;
    if (config->has_out_proj) {
        attn_out = session->out;
        multiply_all(session, &w->out, session->z, attn_out);
    }
    attn_session_visit(session, ATTN_SITE_ATTN_OUT, layer, attn_out);
    join(session, attn_out);
    if (config->d_mlp > 0) {
        attn_session_visit(session, ATTN_SITE_RESID_MID, layer, resid);
        if (!attn_session_needs(session, layer, ATTN_SITE_MLP_PRE))
            return;
        attn_normalize(session, &w->ln2, resid, session->normed);
        multiply_all(session, &w->mlp_in, session->normed, session->mlp);
        check_rows(session, layer, (struct input){session->mlp, session->step.n_row}, config->d_mlp,
                   config->d_mlp);
        attn_session_visit(session, ATTN_SITE_MLP_PRE, layer, session->mlp);
        activate(session);
        attn_session_visit(session, ATTN_SITE_MLP_POST, layer, session->mlp);
        multiply_all(session, &w->mlp_out, session->mlp, session->out);
        attn_session_visit(session, ATTN_SITE_MLP_OUT, layer, session->out);
        join(session, session->out);
    }
    attn_session_visit(session, ATTN_SITE_RESID_POST, layer, resid);
}
