/*
 * backward_step.c - the lines of backward_block.c, which compute the gradient of an input from that
 * of the result, on the pool; and the trace of gradients.
 *
 * A sum of gradients is rounded after each product, in the order of the lines.
 */
#include "gradient/backward_internal.h"

#include "base/pool_internal.h"
#include "forward/forward_internal.h"
#include "forward/step_internal.h"
#include "model/config_internal.h"
#include "trace/blocks_internal.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

enum { ROWS_PER_TASK = 16 };

/* --- The trace -------------------------------------------------------------------------------- */

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
    struct attn_trace_event placed = *event;

    placed.at =
        attn_location_of_block(&b->f->dims, event->at.site, event->at.layer, event->at.head);
    if (!attn_backward_is_over(b))
        b->status = attn_trace_hand_on(b->asked_by, &placed, b->err);
}

static bool wants(const struct attn_backward *b, enum attn_site site)
{
    return site != ATTN_N_SITE &&
           attn_selection_wants_block(b->asked_by->selection, site, b->layer);
}

void attn_end_back(struct attn_backward *b, enum attn_site last)
{
    const struct attn_selection *selection = b->asked_by->selection;
    bool is_wanted = b->layer > b->last_layer || b->needs_source ||
                     attn_selection_wants_block(selection, ATTN_SITE_EMBED_GRAD, ATTN_NO_LAYER);

    if (last == ATTN_SITE_Z_GRAD)
        is_wanted = is_wanted || b->swaps ||
                    !attn_sites_are_empty(attn_heads_back_watched(selection, b->layer));
    /* In the order of the forward pass. */
    for (int site = ATTN_SITE_RESID_PRE_GRAD; site < (int)last; site++)
        is_wanted = is_wanted || wants(b, (enum attn_site)site);
    b->is_done = b->is_done || !is_wanted;
}

static size_t first_row(const struct attn_backward *b, enum attn_site site)
{
    const size_t first = attn_site_first_row(site, &b->f->dims);

    return attn_site_layout(site) == ATTN_LAYOUT_KEY ? 0 : first > b->first ? first : b->first;
}

static size_t n_row(const struct attn_backward *b, enum attn_site site)
{
    return attn_site_is_pooled(site, &b->f->dims)      ? 1
           : attn_site_layout(site) == ATTN_LAYOUT_KEY ? attn_backward_n_key(b)
                                                       : b->end - first_row(b, site);
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
            .at.site = site,
            .at.layer = b->layer,
            .at.head = attn_site_has_heads(site) ? head : ATTN_ALL_HEADS,
            .row0 = first,
            .n_row = n_row(b, site),
            .n_col = width,
            .ld = n_head * width,
            .data = data + (first * n_head + (size_t)head) * width};

        attn_emit_back(b, &event);
    }
}

void attn_visit_back(struct attn_backward *b, enum attn_site site, float *data)
{
    const struct attn_dims *dims = &b->f->dims;
    size_t first, width;

    if (wants(b, site)) {
        first = first_row(b, site);
        width = attn_site_n_head(site, dims) * attn_site_width(site, dims);
        attn_check_back(b, data + first * width, n_row(b, site) * width);
        attn_report_back(b, site, data);
    }
    attn_edit_back(b, site, data);
}

/* --- Work on rows ----------------------------------------------------------------------------- */

enum row_operation {
    BACK_NORM,       /* dx from dy, with the norm in f->vectors */
    BACK_ACTIVATION, /* the activation of the MLP, with its gate */
    BACK_SOLU,       /* SoLU of the MLP, with its norm, in f->vectors, or its gate */
    BACK_ROTARY,     /* rotation and norms of the heads of dx */
    ADD_ROWS,        /* dx = dx + dy */
    SCALE_ROWS,      /* dx = dy * w, with the factors in f->vectors */
    NORMALIZE_ROWS,  /* dx = normalize(x), with the norm in f->vectors */
};

/* Rows to process on the pool, in pieces of ROWS_PER_TASK. */
struct row_work {
    struct attn_backward *b;
    enum row_operation operation;
    const float *x, *dy;
    float *dx;
    size_t first, end; /* rows to process */
    size_t n_col;
    bool has_norm;                    /* SoLU has a norm behind it */
    size_t width;                     /* width of a head that is rotated */
    bool is_query;                    /* the heads are those of q */
    const struct attn_rotary *rotary; /* the angles of all positions */
};

void attn_norm_row_back(const struct attn_backward *b, const float *w, const float *x, size_t n,
                        const float *dy, float *dx)
{
    const struct attn_forward *f = b->f;
    const struct attn_norm_back norm = {
        .x = x, .w = w, .n = n, .eps = f->norm_eps, .is_constant = b->rule != ATTN_BACKWARD_PLAIN};

    if (f->norm_has_mean)
        f->engine.kernels->layer_norm_back(&norm, dy, dx);
    else
        f->engine.kernels->rms_norm_back(&norm, dy, dx);
}

/* Sets D to 0 where a number of X [n] is at a limit. */
static void clip_back(const struct attn_backward *b, const float *x, size_t n, float *d)
{
    const float limit = (float)b->model->config.qkv_clip;

    for (size_t i = 0; i < n && limit > 0; i++)
        d[i] = fabsf(x[i]) < limit ? d[i] : 0;
}

/* Processes one position: the transposed rotation of each head, then the backward pass of the norm
 * of each head, or of all together, which come before clipping. NORMED is scratch. */
static void back_rotary(const struct row_work *work, size_t row, float *normed)
{
    const enum attn_qk_norm norm = work->b->model->config.qk_norm;
    const bool is_late = work->b->model->config.qk_norm_is_late;
    const struct attn_forward *f = work->b->f;
    const size_t width = work->width;
    float *d = work->dx + row * work->n_col;
    const float *x = work->x + row * work->n_col;

    for (size_t at = 0; at < work->n_col; at += width) {
        if (work->is_query)
            attn_rotary_scale_query(work->rotary, f->engine.kernels, row, width, d + at);
        if (is_late) {
            memcpy(normed, x + at, width * sizeof *normed);
            attn_rotary_turn(work->rotary, f->engine.kernels, row, false, normed);
            attn_norm_row_back(work->b, f->vectors, normed, width, d + at, d + at);
        }
        attn_rotary_turn(work->rotary, f->engine.kernels, row, true, d + at);
        if ((norm == ATTN_QK_NORM_PER_HEAD && !is_late) || norm == ATTN_QK_NORM_EACH_HEAD)
            attn_norm_row_back(work->b, attn_norm_weights_of(f, at / width, width), x + at, width,
                               d + at, d + at);
    }
    if (norm == ATTN_QK_NORM_ALL_HEADS) {
        attn_norm_row(f, x, work->n_col, normed);
        clip_back(work->b, normed, work->n_col, d);
        attn_norm_row_back(work->b, f->vectors, x, work->n_col, d, d);
    }
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

    if (b->model->config.xielu)
        attn_xielu_back(&b->model->config.xielu[b->layer], rows.x, rows.is_constant, n, rows.dy);
    else
        b->f->engine.kernels->activate_back(b->f->activation, &rows, n);
}

/* Processes one row of y = x p, p = softmax(x), which has a norm behind it or a gate u:
 *
 *     dx = p (dy + x dy - sum of p x dy), and for relevance, where p is constant, dx = p dy
 *
 * SCRATCH [3, n] holds p, y and x dy. */
static void back_solu(const struct row_work *work, size_t row, float *scratch)
{
    const struct attn_backward *b = work->b;
    const struct attn_kernels *kernels = b->f->engine.kernels;
    const size_t n = work->n_col, at = row * n;
    const float *x = b->at.mlp + at,
                *u = b->model->config.has_gated_mlp ? b->at.mlp_linear + at : NULL;
    float *dy = b->d_mlp + at, *p = scratch, *y = p + n, *slope = y + n, r;
    const bool is_constant = b->rule != ATTN_BACKWARD_PLAIN;

    attn_solu_row(b->f, x, n, y, p);
    if (work->has_norm)
        attn_norm_row_back(b, b->f->vectors, y, n, dy, dy);
    for (size_t i = 0; i < n && u; i++) {
        const float half = is_constant ? 0.5F : 1;

        b->d_mlp_linear[at + i] = half * (dy[i] * y[i]);
        dy[i] = half * (dy[i] * u[i]);
    }
    for (size_t i = 0; i < n; i++)
        slope[i] = x[i] * dy[i];
    kernels->dots(p, slope, n, 1, n, &r);
    kernels->softmax_back(p, r, slope, n);
    for (size_t i = 0; i < n; i++)
        dy[i] = p[i] * dy[i] + (is_constant ? 0 : slope[i]);
}

static void run_row_task(void *context, size_t task, int worker)
{
    const struct row_work *work = context;
    const size_t first = work->first + task * ROWS_PER_TASK, rest = work->end - first;
    const size_t d = work->n_col, n = rest < ROWS_PER_TASK ? rest : ROWS_PER_TASK;

    switch (work->operation) {
    case BACK_NORM:
        for (size_t i = first; i < first + n; i++)
            attn_norm_row_back(work->b, work->b->f->vectors, work->x + i * d, d, work->dy + i * d,
                               work->dx + i * d);
        break;
    case BACK_ACTIVATION:
        back_activation(work, first * d, n * d);
        break;
    case BACK_SOLU:
        for (size_t i = first; i < first + n; i++)
            back_solu(work, i, work->b->f->heads.scratch[worker]);
        break;
    case BACK_ROTARY:
        for (size_t i = first; i < first + n; i++)
            back_rotary(work, i, work->b->f->heads.scratch[worker]);
        break;
    case ADD_ROWS:
        work->b->f->engine.kernels->add(work->dx + first * d, work->dy + first * d, n * d,
                                        work->dx + first * d);
        break;
    case SCALE_ROWS:
        for (size_t i = first; i < first + n; i++)
            for (size_t k = 0; k < d; k++)
                work->dx[i * d + k] = work->dy[i * d + k] * work->b->f->vectors[k];
        break;
    case NORMALIZE_ROWS:
        for (size_t i = first; i < first + n; i++)
            attn_norm_row(work->b->f, work->x + i * d, d, work->dx + i * d);
        break;
    }
}

static void run_rows(struct row_work *work)
{
    const size_t n = work->end - work->first;

    attn_pool_run(work->b->pool, (n + ROWS_PER_TASK - 1) / ROWS_PER_TASK, run_row_task, work);
}

/* Copies X to Y, [n, n_col], for the rows that lines process. */
static void copy_rows(const struct attn_backward *b, const float *x, size_t n_col, float *y)
{
    memcpy(y + b->first * n_col, x + b->first * n_col, (b->end - b->first) * n_col * sizeof *y);
}

/* --- Recomputed layers ------------------------------------------------------------------------ */

void attn_recompute_layer(struct attn_backward *b)
{
    const struct attn_forward *f = b->f;
    const struct attn_config *config = &b->model->config;
    const bool has_mlp = !b->model->weights.blocks[b->layer].experts &&
                         (config->d_mlp == 0 || attn_config_has_mlp(config, (size_t)b->layer));
    const struct attn_location at =
        attn_location_of_block(&f->dims, ATTN_SITE_RESID_PRE, b->layer, ATTN_ALL_HEADS);

    if (attn_backward_is_over(b))
        return;
    if (b->kept) {
        b->at = attn_kept_layers_of(b->kept, b->layer);
        return;
    }
    attn_session_reset(b->session);
    b->session->n_edit = b->n_again;
    b->f->end =
        (struct attn_step_place){b->layer, has_mlp ? b->last_computed : ATTN_SITE_RESID_MID};
    b->status = attn_session_feed_layer(b->session, &at, b->resid_pre, NULL, b->n, b->err);
    b->at = (struct attn_layer_values){.q = f->q,
                                       .k = f->k,
                                       .v = f->v,
                                       .q_raw = b->q,
                                       .k_raw = b->k,
                                       .z = f->z,
                                       .resid = b->mid ? b->mid : f->resid,
                                       .mlp = f->mlp,
                                       .mlp_linear = f->mlp_linear};
}

/* --- Norms and sums --------------------------------------------------------------------------- */

void attn_norm_back(struct attn_backward *b, const struct attn_norm_weights *weights,
                    const float *x, const float *dy, float *dx)
{
    const size_t d = weights->w.data ? weights->w.n : b->model->config.d_model;
    struct row_work work = {.b = b,
                            .operation = BACK_NORM,
                            .x = x,
                            .dy = dy,
                            .dx = dx,
                            .first = b->first,
                            .end = b->end,
                            .n_col = d};

    if (attn_backward_is_over(b))
        return;
    if (weights->w.data) {
        attn_norm_read(b->f, weights);
        run_rows(&work);
    } else if (dx != dy) {
        copy_rows(b, dy, d, dx);
    }
}

void attn_recompute_norm(struct attn_backward *b, const struct attn_norm_weights *weights,
                         const float *x, float *y, size_t first, size_t end)
{
    struct row_work work = {.b = b,
                            .operation = NORMALIZE_ROWS,
                            .x = x,
                            .dx = y,
                            .first = first,
                            .end = end,
                            .n_col = weights->w.n};

    if (attn_backward_is_over(b))
        return;
    attn_norm_read(b->f, weights);
    run_rows(&work);
}

const float *attn_scale_back(struct attn_backward *b, const struct attn_norm_weights *weights,
                             const float *d)
{
    struct row_work work = {.b = b,
                            .operation = SCALE_ROWS,
                            .dy = d,
                            .dx = b->d_normed,
                            .first = b->first,
                            .end = b->end,
                            .n_col = weights->w.n};

    const size_t width = b->model->config.d_model, begin = b->first * width;
    const double scale = b->model->config.residual_scale;

    if ((!weights->w.data && scale == 0) || attn_backward_is_over(b))
        return d;
    if (!weights->w.data) {
        b->f->engine.kernels->scale(d + begin, (float)scale, b->end * width - begin,
                                    b->d_normed + begin);
        return b->d_normed;
    }
    attn_norm_read(b->f, weights);
    run_rows(&work);
    return b->d_normed;
}

void attn_add_back(struct attn_backward *b, const float *more, float *d)
{
    struct row_work work = {.b = b,
                            .operation = ADD_ROWS,
                            .dy = more,
                            .dx = d,
                            .first = b->first,
                            .end = b->end,
                            .n_col = b->model->config.d_model};

    if (!attn_backward_is_over(b))
        run_rows(&work);
}

void attn_residual_back(struct attn_backward *b, enum attn_site sum, enum attn_site x, float *d)
{
    /* Resid_post is checked as the resid_pre of the next layer. */
    if (sum == ATTN_SITE_RESID_MID_GRAD)
        attn_check_back(b, d, b->n * b->model->config.d_model);
    attn_report_back(b, sum, d);
    attn_edit_back(b, sum, d);
    attn_report_back(b, x, d);
}

/* --- Linear maps ------------------------------------------------------------------------------ */

/* Returns the transposed, packed copy of LINEAR, or NULL. */
static const struct attn_linear *find_turned(const struct attn_backward *b,
                                             const struct attn_linear *linear)
{
    const size_t n = b->turned && b->layer != ATTN_NO_LAYER ? ATTN_BLOCK_N_LINEAR : 0;

    for (size_t i = 0; i < n; i++)
        if (linear == &b->model->weights.blocks[b->layer].linears[i])
            return b->turned[b->layer].linears[i].packed ? &b->turned[b->layer].linears[i] : NULL;
    return NULL;
}

void attn_run_map(struct attn_backward *b, const struct attn_linear *linear, const float *x,
                  size_t n, float *y, bool is_transposed)
{
    const struct attn_linear *turned = is_transposed ? find_turned(b, linear) : NULL;
    struct attn_linear_args map = attn_map_of(b->f, turned ? turned : linear, x, n, y);

    map.is_transposed = is_transposed && !turned;
    if (map.is_transposed)
        map.ldx = linear->weight.n_col, map.ldy = map.last_col = linear->weight.n_row;
    attn_weight_buffer_run_linear(&b->f->weight_buffer, &map, 1, b->pool);
}

void attn_linear_back(struct attn_backward *b, enum attn_site site,
                      const struct attn_linear *linear, const float *dy, float *dx)
{
    const struct attn_matrix *w = &linear->weight;

    if (attn_backward_is_over(b))
        return;
    if (w->data)
        attn_run_map(b, linear, dy + b->first * w->n_col, b->end - b->first,
                     dx + b->first * w->n_row, true);
    else
        copy_rows(b, dy, b->model->config.d_model, dx);
    attn_visit_back(b, site, dx);
}

void attn_source_back(struct attn_backward *b, const struct attn_linear *linear, const float *dy)
{
    const size_t n = b->n_source;
    struct row_work work = {.b = b,
                            .operation = ADD_ROWS,
                            .dy = b->product,
                            .dx = b->d_source,
                            .end = n,
                            .n_col = b->model->config.d_source};

    if (!b->needs_source || attn_backward_is_over(b))
        return;
    if (linear->weight.data)
        attn_run_map(b, linear, dy, n, b->product, true);
    else
        work.dy = dy;
    run_rows(&work);
}

const float *attn_post_norm_back(struct attn_backward *b, const struct attn_norm_weights *weights,
                                 const struct attn_linear *linear, const float *x, const float *d)
{
    const struct attn_matrix *w = &linear->weight;

    if (!weights->w.data || attn_backward_is_over(b))
        return d;
    /* Recompute the norm's input: the recomputed layer ended before, or the norm overwrote it. */
    attn_run_map(b, linear, x + b->first * w->n_row, b->end - b->first,
                 b->unnormed + b->first * w->n_col, false);
    attn_norm_back(b, weights, b->unnormed, d, b->d_normed);
    return b->d_normed;
}

void attn_clip_back(struct attn_backward *b, const float *x, size_t first, size_t n_col, float *d)
{
    if (!attn_backward_is_over(b))
        clip_back(b, x + first * n_col, (b->n - first) * n_col, d + first * n_col);
}

/* --- The MLP ---------------------------------------------------------------------------------- */

void attn_recompute_mlp_post(struct attn_backward *b, float *out)
{
    const struct attn_forward *f = b->f;
    const struct attn_kernels *kernels = f->engine.kernels;
    const size_t d = b->model->config.d_mlp, begin = b->first * d, n = b->end * d - begin;

    if (attn_backward_is_over(b))
        return;
    copy_rows(b, b->at.mlp, d, out);
    if (b->model->config.has_gated_mlp)
        kernels->gate(f->activation, out + begin, b->at.mlp_linear + begin, n);
    else if (b->model->config.xielu)
        attn_xielu_run(&b->model->config.xielu[b->layer], out + begin, n);
    else
        kernels->activate(f->activation, out + begin, n);
    attn_edit_again(b, ATTN_SITE_MLP_POST, b->layer, out);
}

void attn_activation_back(struct attn_backward *b, const struct attn_norm_weights *norm)
{
    const bool has_solu = b->model->config.has_solu;
    struct row_work work = {.b = b,
                            .operation = has_solu ? BACK_SOLU : BACK_ACTIVATION,
                            .has_norm = norm->w.data,
                            .first = b->first,
                            .end = b->end,
                            .n_col = b->model->config.d_mlp};

    if (attn_backward_is_over(b))
        return;
    if (work.has_norm)
        attn_norm_read(b->f, norm);
    run_rows(&work);
    attn_visit_back(b, ATTN_SITE_MLP_PRE_GRAD, b->d_mlp);
    attn_visit_back(b, ATTN_SITE_MLP_PRE_LINEAR_GRAD, b->d_mlp_linear);
}

/* --- The heads -------------------------------------------------------------------------------- */

static bool is_stopped(void *context)
{
    return attn_backward_is_over(context);
}

/* Passes rows of a head's matrix to the trace. Checks rows of d_q instead, which are shorter, and
 * not finite if a row of the matrix is not. */
static void emit(void *context, const struct attn_trace_event *event)
{
    struct attn_backward *b = context;
    const size_t width = b->f->dims.d_head, ld = b->f->dims.n_head * width;

    for (size_t i = event->row0; i < event->row0 + event->n_row; i++)
        attn_check_back(b, b->d_q + i * ld + (size_t)event->at.head * width, width);
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
                                    .end = b->end,
                                    .n_key = attn_backward_n_key(b),
                                    .n_head = f->dims.n_head,
                                    .n_kv_head = f->dims.n_kv_head,
                                    .key_mask =
                                        attn_backward_is_cross(b) ? f->source_mask : f->key_mask,
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
                                    .edits = b->edits,
                                    .n_edit = b->n_edit,
                                    .back_edits = b->back_edits,
                                    .n_back = b->n_back,
                                    .is_stopped = is_stopped,
                                    .emit = emit,
                                    .context = b};

    if (attn_backward_is_over(b))
        return;
    if (attn_has_places(f, b->layer)) {
        attn_places_make(b->f, &(struct attn_place_rows){.layer = b->layer,
                                                         .q = b->at.q,
                                                         .k = b->at.k,
                                                         .n_query = b->n,
                                                         .n_key = b->n,
                                                         .pool = b->pool});
        heads.places = &f->place_terms;
    }
    attn_heads_back_run(&heads);
    attn_visit_back(b, ATTN_SITE_V_GRAD, b->d_v);
    attn_visit_back(b, is_turned ? ATTN_SITE_ROT_Q_GRAD : ATTN_SITE_Q_GRAD, b->d_q);
    attn_visit_back(b, is_turned ? ATTN_SITE_ROT_K_GRAD : ATTN_SITE_K_GRAD, b->d_k);
}

void attn_widen_back(struct attn_backward *b)
{
    const size_t d = b->model->config.d_model, end = b->end * d;

    /* D_normed is 0 in these rows since the output layer. */
    if (b->model->config.has_parallel_residual) {
        memset(b->d_branch, 0, b->first * d * sizeof *b->d_branch);
        memset(b->d_branch + end, 0, (b->n * d - end) * sizeof *b->d_branch);
    }
    b->first = 0;
    b->end = b->n;
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
                            .end = is_key ? b->n : b->end,
                            .n_col = (is_key ? dims->n_kv_head : dims->n_head) * dims->d_head,
                            .width = dims->d_head,
                            .is_query = !is_key};

    if (b->model->config.positions != ATTN_POSITIONS_ROTARY || attn_backward_is_over(b))
        return;
    if (weights->w.data)
        attn_norm_read(b->f, weights);
    work.rotary = attn_rotary_of_layer(b->f, b->layer);
    run_rows(&work);
    attn_visit_back(b, site, d);
}
