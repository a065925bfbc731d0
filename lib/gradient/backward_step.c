/*
 * backward_step.c - the lines of backward_block.c, each from the gradient of its result to the
 * gradient of its input, on the pool; and the trace of gradients.
 *
 * A sum of gradients is rounded after each product, in the order of the lines.
 */
#include "gradient/backward_internal.h"

#include "base/escape.h"
#include "base/pool_internal.h"
#include "base/thread.h"
#include "forward/step_internal.h"
#include "trace/trace_internal.h"

#include <string.h>

enum { ROWS_PER_TASK = 16 };

/* --- the trace -------------------------------------------------------------------------------- */

bool attn_backward_is_over(struct attn_backward *b)
{
    if (b->status == ATTN_OK && attn_is_canceled(b->f->cancel))
        b->status = attn_error_set(b->err, ATTN_CANCELED, "canceled");
    return b->status != ATTN_OK || b->is_done;
}

static enum attn_status refuse_values(const struct attn_backward *b)
{
    const struct attn_quote name = attn_quote_string(b->model->name);

    if (b->layer == ATTN_NO_LAYER)
        return attn_error_set(b->err, ATTN_FORMAT,
                              "gradients of '%s' outside of its layers are too large for float32",
                              name.text);
    return attn_error_set(b->err, ATTN_FORMAT,
                          "gradients in layer %d of '%s' are too large for float32", b->layer,
                          name.text);
}

void attn_check_back(struct attn_backward *b, const float *x, size_t n)
{
    if (b->status == ATTN_OK && !attn_pool_is_finite(b->pool, b->f->engine.kernels, x, n))
        b->status = refuse_values(b);
}

void attn_emit_back(struct attn_backward *b, const struct attn_trace_event *event)
{
    if (!attn_backward_is_over(b))
        b->status = attn_trace_hand_on(b->asked_by, event, b->err);
}

static bool wants(const struct attn_backward *b, enum attn_site site)
{
    return site != ATTN_N_SITE && attn_selection_wants(b->asked_by->selection, site, b->layer);
}

void attn_end_back(struct attn_backward *b, enum attn_site last)
{
    const struct attn_selection *selection = b->asked_by->selection;
    bool is_wanted = b->layer > b->last_layer ||
                     attn_selection_wants(selection, ATTN_SITE_EMBED_GRAD, ATTN_NO_LAYER);

    if (last == ATTN_SITE_Z_GRAD)
        is_wanted = is_wanted || b->swaps || attn_heads_back_watched(selection, b->layer) != 0;
    for (int site = ATTN_SITE_RESID_PRE_GRAD; site < (int)last; site++) /* as in the forward pass */
        is_wanted = is_wanted || wants(b, (enum attn_site)site);
    b->is_done = b->is_done || !is_wanted;
}

/* The first row that SITE has. */
static size_t first_row(const struct attn_backward *b, enum attn_site site)
{
    return attn_site_layout(site) == ATTN_LAYOUT_KEY ? 0 : b->first;
}

void attn_report_back(struct attn_backward *b, enum attn_site site, const float *data)
{
    const struct attn_dims *dims = &b->f->dims;
    const size_t n_head = attn_site_n_head(site, dims);
    size_t width, first;

    if (!wants(b, site))
        return;
    width = attn_site_width(site, dims);
    first = first_row(b, site);
    for (int head = 0; head < (int)n_head; head++) {
        const struct attn_trace_event event = {
            .site = site,
            .layer = b->layer,
            .head = attn_site_has_heads(site) ? head : ATTN_ALL_HEADS,
            .row0 = first,
            .n_row = b->n - first,
            .n_col = width,
            .ld = n_head * width,
            .data = data + (first * n_head + (size_t)head) * width};

        attn_emit_back(b, &event);
    }
}

void attn_visit_back(struct attn_backward *b, enum attn_site site, const float *data)
{
    const struct attn_dims *dims = &b->f->dims;
    size_t first, width;

    if (!wants(b, site))
        return;
    first = first_row(b, site);
    width = attn_site_n_head(site, dims) * attn_site_width(site, dims);
    attn_check_back(b, data + first * width, (b->n - first) * width);
    attn_report_back(b, site, data);
}

/* --- work on rows ----------------------------------------------------------------------------- */

enum row_operation {
    BACK_NORM,       /* dx from dy, by the norm that was read */
    BACK_ACTIVATION, /* the activation of the MLP, with its gate */
    BACK_ROTARY,     /* heads of dx: the rotation, and their norms */
    ADD_ROWS,        /* dx = dx + dy */
};

/* Rows shared over the pool in pieces of ROWS_PER_TASK. */
struct row_work {
    struct attn_backward *b;
    enum row_operation operation;
    const float *x, *dy;
    float *dx;
    size_t first; /* row that is worked on */
    size_t n_col;
    size_t width;                     /* width of a head that is turned */
    const struct attn_rotary *rotary; /* and the angles of all positions */
};

static void back_norm(const struct row_work *work, const float *x, size_t n, const float *dy,
                      float *dx)
{
    const struct attn_forward *f = work->b->f;
    const struct attn_config *config = &work->b->model->config;
    const struct attn_norm_back norm = {.x = x,
                                        .w = f->vectors,
                                        .n = n,
                                        .eps = config->norm_eps,
                                        .is_constant = work->b->rule != ATTN_BACKWARD_PLAIN};

    if (attn_norm_has_mean(config))
        f->engine.kernels->layer_norm_back(&norm, dy, dx);
    else
        f->engine.kernels->rms_norm_back(&norm, dy, dx);
}

/* One position: the rotation of each head transposed, then the norm of each, or of all at once. */
static void back_rotary(const struct row_work *work, size_t row)
{
    const enum attn_qk_norm norm = work->b->model->config.qk_norm;
    const size_t n_pair = work->rotary->rope->d_rotary / 2, width = work->width;
    float *d = work->dx + row * work->n_col;
    const float *x = work->x + row * work->n_col;

    for (size_t at = 0; at < work->n_col; at += width) {
        work->b->f->engine.kernels->rotate_back(d + at, work->rotary->cosines + row * n_pair,
                                                work->rotary->sines + row * n_pair, n_pair);
        if (norm == ATTN_QK_NORM_PER_HEAD)
            back_norm(work, x + at, width, d + at, d + at);
    }
    if (norm == ATTN_QK_NORM_ALL_HEADS)
        back_norm(work, x, work->n_col, d, d);
}

static void back_activation(const struct row_work *work, size_t first, size_t n)
{
    struct attn_backward *b = work->b;
    const bool is_gated = b->model->config.has_gated_mlp;
    const struct attn_activation_back rows = {.x = b->at.mlp + first,
                                              .u = is_gated ? b->at.mlp_linear + first : NULL,
                                              .dy = b->d_mlp + first,
                                              .du = is_gated ? b->d_mlp_linear + first : NULL,
                                              .is_constant = b->rule != ATTN_BACKWARD_PLAIN};

    b->f->engine.kernels->activate_back(b->f->activation, &rows, n);
}

static void run_row_task(void *context, size_t task, int worker)
{
    const struct row_work *work = context;
    const size_t first = work->first + task * ROWS_PER_TASK, rest = work->b->n - first;
    const size_t d = work->n_col, n = rest < ROWS_PER_TASK ? rest : ROWS_PER_TASK;

    (void)worker;
    switch (work->operation) {
    case BACK_NORM:
        for (size_t i = first; i < first + n; i++)
            back_norm(work, work->x + i * d, d, work->dy + i * d, work->dx + i * d);
        break;
    case BACK_ACTIVATION:
        back_activation(work, first * d, n * d);
        break;
    case BACK_ROTARY:
        for (size_t i = first; i < first + n; i++)
            back_rotary(work, i);
        break;
    case ADD_ROWS:
        work->b->f->engine.kernels->add(work->dx + first * d, work->dy + first * d, n * d,
                                        work->dx + first * d);
        break;
    }
}

static void run_rows(struct row_work *work)
{
    const size_t n = work->b->n - work->first;

    attn_pool_run(work->b->pool, (n + ROWS_PER_TASK - 1) / ROWS_PER_TASK, run_row_task, work);
}

/* Y = X, [n, n_col], from the first row on. */
static void copy_rows(const struct attn_backward *b, const float *x, size_t n_col, float *y)
{
    memcpy(y + b->first * n_col, x + b->first * n_col, (b->n - b->first) * n_col * sizeof *y);
}

/* --- layers computed again -------------------------------------------------------------------- */

void attn_recompute_layer(struct attn_backward *b)
{
    const struct attn_forward *f = b->f;

    if (attn_backward_is_over(b))
        return;
    if (b->kept) {
        b->at = attn_kept_layers_of(b->kept, b->layer);
        return;
    }
    attn_session_reset(b->session);
    b->f->end = (struct attn_step_place){b->layer, b->last_computed};
    b->status = attn_session_feed_layer(b->session, b->layer, b->resid_pre, b->n, b->err);
    b->at = (struct attn_layer_values){.q = f->q,
                                       .k = f->k,
                                       .v = f->v,
                                       .q_raw = b->q,
                                       .k_raw = b->k,
                                       .z = f->z,
                                       .resid = f->resid,
                                       .mlp = f->mlp,
                                       .mlp_linear = f->mlp_linear};
}

/* --- norms, sums ------------------------------------------------------------------------------ */

void attn_norm_back(struct attn_backward *b, const struct attn_norm_weights *weights,
                    const float *x, const float *dy, float *dx)
{
    const size_t d = b->model->config.d_model;
    struct row_work work = {
        .b = b, .operation = BACK_NORM, .x = x, .dy = dy, .dx = dx, .first = b->first, .n_col = d};

    if (attn_backward_is_over(b))
        return;
    if (weights->w.data) {
        attn_norm_read(b->f, weights);
        run_rows(&work);
    } else if (dx != dy) {
        copy_rows(b, dy, d, dx);
    }
}

void attn_add_back(struct attn_backward *b, const float *more, float *d)
{
    struct row_work work = {.b = b,
                            .operation = ADD_ROWS,
                            .dy = more,
                            .dx = d,
                            .first = b->first,
                            .n_col = b->model->config.d_model};

    if (!attn_backward_is_over(b))
        run_rows(&work);
}

void attn_residual_back(struct attn_backward *b, enum attn_site sum, enum attn_site x,
                        const float *d)
{
    if (sum == ATTN_SITE_RESID_MID_GRAD) /* resid_post is the resid_pre after it */
        attn_check_back(b, d, b->n * b->model->config.d_model);
    attn_report_back(b, sum, d);
    attn_report_back(b, x, d);
}

/* --- linear maps ------------------------------------------------------------------------------ */

static void run_map(struct attn_backward *b, const struct attn_linear_args *given)
{
    struct attn_linear_args map = *given;

    map.engine = &b->f->engine;
    map.scratch = b->f->heads.scratch;
    map.x += b->first * map.ldx;
    map.y += b->first * map.ldy;
    map.n_row = b->n - b->first;
    attn_weight_buffer_run_linear(&b->f->weight_buffer, &map, 1, b->pool);
}

void attn_linear_back(struct attn_backward *b, enum attn_site site,
                      const struct attn_linear *linear, const float *dy, float *dx)
{
    const struct attn_linear_args map = {.linear = linear,
                                         .x = dy,
                                         .ldx = linear->weight.n_col,
                                         .y = dx,
                                         .ldy = linear->weight.n_row,
                                         .last_col = linear->weight.n_row,
                                         .is_transposed = true};

    if (attn_backward_is_over(b))
        return;
    if (linear->weight.data)
        run_map(b, &map);
    else
        copy_rows(b, dy, b->model->config.d_model, dx);
    attn_visit_back(b, site, dx);
}

void attn_linear_more_back(struct attn_backward *b, const struct attn_linear *linear,
                           const float *dy, float *dx)
{
    attn_linear_back(b, ATTN_N_SITE, linear, dy, b->product);
    attn_add_back(b, b->product, dx);
}

const float *attn_post_norm_back(struct attn_backward *b, const struct attn_norm_weights *weights,
                                 const struct attn_linear *linear, const float *x, const float *d)
{
    const struct attn_linear_args map = {.linear = linear,
                                         .x = x,
                                         .ldx = linear->weight.n_row,
                                         .y = b->unnormed,
                                         .ldy = linear->weight.n_col,
                                         .last_col = linear->weight.n_col};

    if (!weights->w.data || attn_backward_is_over(b))
        return d;
    run_map(b, &map); /* again: the layer was computed only up to here, or the norm overwrote it */
    attn_norm_back(b, weights, b->unnormed, d, b->d_normed);
    return b->d_normed;
}

/* --- the MLP ---------------------------------------------------------------------------------- */

void attn_recompute_mlp_post(struct attn_backward *b, float *out)
{
    const struct attn_forward *f = b->f;
    const struct attn_kernels *kernels = f->engine.kernels;
    const size_t d = b->model->config.d_mlp, begin = b->first * d, n = b->n * d - begin;

    if (attn_backward_is_over(b))
        return;
    copy_rows(b, b->at.mlp, d, out);
    if (b->model->config.has_gated_mlp)
        kernels->gate(f->activation, out + begin, b->at.mlp_linear + begin, n);
    else
        kernels->activate(f->activation, out + begin, n);
}

void attn_activation_back(struct attn_backward *b)
{
    struct row_work work = {
        .b = b, .operation = BACK_ACTIVATION, .first = b->first, .n_col = b->model->config.d_mlp};

    if (attn_backward_is_over(b))
        return;
    run_rows(&work);
    attn_visit_back(b, ATTN_SITE_MLP_PRE_GRAD, b->d_mlp);
    attn_visit_back(b, ATTN_SITE_MLP_PRE_LINEAR_GRAD, b->d_mlp_linear);
}

/* --- the heads -------------------------------------------------------------------------------- */

static bool is_stopped(void *context)
{
    return attn_backward_is_over(context);
}

/* Rows of a head's matrix. One that is not finite has made its row of d_q so: those are fewer. */
static void emit(void *context, const struct attn_trace_event *event)
{
    struct attn_backward *b = context;
    const size_t width = b->f->dims.d_head, ld = b->f->dims.n_head * width;

    for (size_t i = event->row0; i < event->row0 + event->n_row; i++)
        attn_check_back(b, b->d_q + i * ld + (size_t)event->head * width, width);
    attn_emit_back(b, event);
}

void attn_attention_back(struct attn_backward *b)
{
    const struct attn_forward *f = b->f;
    const struct attn_selection *selection = b->asked_by->selection;
    const bool is_turned = b->model->config.positions == ATTN_POSITIONS_ROTARY;
    struct attn_heads_back heads = {.attention = &f->attention[b->layer],
                                    .shape = &f->shape,
                                    .engine = &f->engine,
                                    .memory = &b->heads,
                                    .rule = b->rule,
                                    .pool = b->pool,
                                    .layer = b->layer,
                                    .n = b->n,
                                    .first = b->first,
                                    .n_head = f->dims.n_head,
                                    .n_kv_head = f->dims.n_kv_head,
                                    .q = b->at.q,
                                    .k = b->at.k,
                                    .v = b->at.v,
                                    .z = b->at.z,
                                    .dz = b->d_z,
                                    .dq = b->d_q,
                                    .dk = b->d_k,
                                    .dv = b->d_v,
                                    .watched = attn_heads_back_watched(selection, b->layer),
                                    .swap = b->swaps ? &b->swaps[b->layer] : NULL,
                                    .selection = selection,
                                    .is_stopped = is_stopped,
                                    .emit = emit,
                                    .context = b};

    if (attn_backward_is_over(b))
        return;
    attn_heads_back_run(&heads);
    attn_visit_back(b, ATTN_SITE_V_GRAD, b->d_v);
    attn_visit_back(b, is_turned ? ATTN_SITE_ROT_Q_GRAD : ATTN_SITE_Q_GRAD, b->d_q);
    attn_visit_back(b, is_turned ? ATTN_SITE_ROT_K_GRAD : ATTN_SITE_K_GRAD, b->d_k);
}

void attn_widen_back(struct attn_backward *b)
{
    const size_t n = b->first * b->model->config.d_model;

    memset(b->d_normed, 0, n * sizeof *b->d_normed);
    if (b->model->config.has_parallel_residual)
        memset(b->d_branch, 0, n * sizeof *b->d_branch);
    b->first = 0;
}

void attn_rotary_back(struct attn_backward *b, enum attn_site site,
                      const struct attn_norm_weights *weights, const float *x, float *d)
{
    const struct attn_dims *dims = &b->f->dims;
    const bool is_key = attn_site_layout(site) == ATTN_LAYOUT_KEY;
    struct row_work work = {.b = b,
                            .operation = BACK_ROTARY,
                            .x = x,
                            .dx = d,
                            .first = is_key ? 0 : b->first,
                            .n_col = (is_key ? dims->n_kv_head : dims->n_head) * dims->d_head,
                            .width = dims->d_head};

    if (b->model->config.positions != ATTN_POSITIONS_ROTARY || attn_backward_is_over(b))
        return;
    if (weights->w.data)
        attn_norm_read(b->f, weights);
    work.rotary = attn_rotary_of_layer(b->f, b->layer);
    run_rows(&work);
    attn_visit_back(b, site, d);
}
