/*
 * backward_output.c - the backward pass of the output: from the number's derivative with respect to
 * the logits through the soft cap, the output layer and the final norm to the residual stream.
 *
 * Logits are computed again where they are read, a few rows at a time, since a row is as wide as
 * the vocabulary. Where a row of their gradient has few numbers that are not 0, as of a difference
 * of two, only the columns of these are read from the output matrix: the other terms of the chain
 * are 0.
 */
#include "gradient/backward_internal.h"

#include "forward/step_internal.h"
#include "trace/trace_extra.h"

#include <math.h>
#include <string.h>

enum { FEW = 2 }; /* logits of a row that are not 0 */

/* Rows in hand, N of them. */
struct output_rows {
    size_t first, n;
    const float *x; /* [n, D] the input of the output layer; NULL: no logits are needed */
};

/* b->logits, and b->raw before the cap. */
static void find_logits(struct attn_backward *b, const struct output_rows *rows)
{
    const size_t n_vocab = b->f->dims.n_vocab;
    const float cap = (float)b->model->config.logits_cap;
    const struct attn_linear_args map = {.linear = &b->model->weights.unembed,
                                         .engine = &b->f->engine,
                                         .scratch = b->f->heads.scratch,
                                         .x = rows->x,
                                         .ldx = b->f->dims.d_model,
                                         .n_row = rows->n,
                                         .y = b->logits,
                                         .ldy = n_vocab,
                                         .last_col = n_vocab};

    attn_weight_buffer_run_linear(&b->f->weight_buffer, &map, 1, b->pool);
    if (cap == 0)
        return;
    memcpy(b->raw, b->logits, rows->n * n_vocab * sizeof *b->raw);
    b->f->engine.kernels->soft_cap(b->logits, rows->n * n_vocab, cap);
}

static bool wants_logits(const struct attn_backward *b)
{
    return attn_selection_wants(b->asked_by->selection, ATTN_SITE_LOGITS_GRAD, ATTN_NO_LAYER);
}

static void emit_rows(struct attn_backward *b, size_t first, size_t n)
{
    const size_t n_vocab = b->f->dims.n_vocab;
    const struct attn_trace_event event = {.site = ATTN_SITE_LOGITS_GRAD,
                                           .layer = ATTN_NO_LAYER,
                                           .head = ATTN_ALL_HEADS,
                                           .row0 = first,
                                           .n_row = n,
                                           .n_col = n_vocab,
                                           .ld = n_vocab,
                                           .data = b->d_logits};

    if (n > 0 && wants_logits(b))
        attn_emit_back(b, &event);
}

/* Rows FIRST .. END-1, whose logits do not matter. */
static void emit_zeros(struct attn_backward *b, size_t first, size_t end)
{
    if (!wants_logits(b))
        return;
    memset(b->d_logits, 0, b->n_logit_row * b->f->dims.n_vocab * sizeof *b->d_logits);
    for (size_t n; first < end; first += n) {
        n = end - first < b->n_logit_row ? end - first : b->n_logit_row;
        emit_rows(b, first, n);
    }
}

/* Whether no row of d_logits has more than FEW that are not 0. */
static bool are_few(const struct attn_backward *b, size_t n_row)
{
    const size_t n_vocab = b->f->dims.n_vocab;

    for (size_t i = 0; i < n_row; i++) {
        size_t n = 0;

        for (size_t j = 0; j < n_vocab && n <= FEW; j++)
            n += b->d_logits[i * n_vocab + j] != 0;
        if (n > FEW)
            return false;
    }
    return true;
}

/* d [D] += D_LOGIT times the column of the output matrix of token ID, which COLUMN has room for. */
static void add_column(const struct attn_backward *b, size_t id, float d_logit, float *column,
                       float *d)
{
    const struct attn_matrix *w = &b->model->weights.unembed.weight;

    b->f->engine.kernels->pack_panel(w, id, 1, 1, column);
    for (size_t e = 0; e < w->n_row; e++)
        d[e] = fmaf(d_logit, column[e], d[e]);
}

/* df = dg W_U^T, for the rows in hand, into D [n, D]. */
static void unembed_back(struct attn_backward *b, const struct output_rows *rows, float *d)
{
    const size_t n_vocab = b->f->dims.n_vocab, d_model = b->f->dims.d_model;
    const struct attn_linear_args map = {.linear = &b->model->weights.unembed,
                                         .engine = &b->f->engine,
                                         .scratch = b->f->heads.scratch,
                                         .x = b->d_logits,
                                         .ldx = n_vocab,
                                         .n_row = rows->n,
                                         .y = d,
                                         .ldy = d_model,
                                         .last_col = d_model,
                                         .is_transposed = true};

    if (!are_few(b, rows->n)) {
        attn_weight_buffer_run_linear(&b->f->weight_buffer, &map, 1, b->pool);
        return;
    }
    for (size_t i = 0; i < rows->n; i++)
        for (size_t id = 0; id < n_vocab; id++)
            if (b->d_logits[i * n_vocab + id] != 0)
                add_column(b, id, b->d_logits[i * n_vocab + id], b->product, d + i * d_model);
}

/* The current rows: the gradient of the output layer's input goes into D [n, D]. */
static void back_rows(struct attn_backward *b, const struct attn_backward_goal *goal,
                      const struct output_rows *rows, float *d)
{
    const size_t n_vocab = b->f->dims.n_vocab, n = rows->n * n_vocab;
    const struct attn_cap_back cap = {(float)b->model->config.logits_cap,
                                      b->rule != ATTN_BACKWARD_PLAIN};

    if (rows->x)
        find_logits(b, rows);
    memset(b->d_logits, 0, n * sizeof *b->d_logits);
    for (size_t i = 0; i < rows->n; i++)
        goal->differentiate(goal->context, rows->first + i,
                            rows->x ? b->logits + i * n_vocab : NULL, b->d_logits + i * n_vocab);
    emit_rows(b, rows->first, rows->n);
    if (cap.cap > 0)
        b->f->engine.kernels->soft_cap_back(&cap, b->raw, b->d_logits, n);
    unembed_back(b, rows, d);
}

void attn_output_back(struct attn_backward *b, const struct attn_backward_goal *goal)
{
    const struct attn_config *config = &b->model->config;
    const struct attn_norm_weights *norm = &b->model->weights.ln_final;
    const size_t d = config->d_model, end = goal->first + goal->n;
    const bool needs_logits = goal->reads_logits || config->logits_cap > 0;
    const float *resid = b->stream + config->n_layer * b->n * d;

    memset(b->d, 0, b->n * d * sizeof *b->d);
    memset(b->d_normed, 0, b->n * d * sizeof *b->d_normed);
    if (config->has_final_norm)
        attn_norm_read(b->f, norm);
    emit_zeros(b, 0, goal->first);
    for (size_t first = goal->first; first < end && !attn_backward_is_over(b);) {
        struct output_rows rows = {.first = first, .n = end - first};

        rows.n = rows.n < b->n_logit_row ? rows.n : b->n_logit_row;
        if (needs_logits)
            rows.x = config->has_final_norm ? b->unnormed : resid + first * d;
        for (size_t i = 0; i < rows.n && needs_logits && config->has_final_norm; i++)
            attn_norm_row(b->f, resid + (first + i) * d, d, b->unnormed + i * d);
        back_rows(b, goal, &rows, b->d_normed + first * d);
        first += rows.n;
    }
    emit_zeros(b, end, b->n);
    if (config->has_final_norm)
        attn_visit_back(b, ATTN_SITE_LN_FINAL_GRAD, b->d_normed);
    attn_norm_back(b, norm, resid, b->d_normed, b->d);
}
