/*
 * backward_output.c - the backward pass of the output: from the derivative of the number with
 * respect to the logits, through the soft cap, the output layer, its input (a head with an
 * activation, or one vector for all positions) and the final norm, to the residual stream.
 *
 *     d head = d logits W_U^T;  d final = (act'(u) norm^T(d head)) W^T,  u = final W + b
 *     pooling [CLS]: its row gets the whole gradient; a mean: each of its n rows gets 1 / n
 *     cosines z = e / |e|: d e = (d z - z (z . d z)) / |e|;  d final = d e W^T, for one row
 *
 * Logits are recomputed if they are needed, a few rows at a time, because a row is as wide as the
 * vocabulary. If each row of their gradient has few numbers that are not 0, as for a difference of
 * two logits, only these columns of the output matrix are read: the other terms of the chain are 0.
 */

#include "attention/keys.h"
#include "forward/step_internal.h"
#include "gradient/backward_internal.h"
#include "model/config_internal.h"
#include "trace/blocks_internal.h"

#include <math.h>
#include <string.h>

enum { FEW = 2 }; /* maximum number of nonzero gradients in a row */

/* The N rows that are being processed. */
struct output_rows {
    size_t first, n;
    /* [n, rows of W_U] the input of the output layer; NULL: logits are not needed. */
    const float *x;
};

/* Computes b->logits, and b->raw, which are the logits before the cap. */
static void find_logits(struct attn_backward *b, const struct output_rows *rows)
{
    const size_t n_vocab = b->f->dims.n_vocab;
    const float cap = (float)b->model->config.logits_cap;

    attn_run_map(b, &b->model->weights.unembed, rows->x, rows->n, b->logits, false);
    if (b->model->config.logits_scale > 0)
        b->f->engine.kernels->scale(b->logits, (float)b->model->config.logits_scale,
                                    rows->n * n_vocab, b->logits);
    if (cap == 0)
        return;
    memcpy(b->raw, b->logits, rows->n * n_vocab * sizeof *b->raw);
    b->f->engine.kernels->soft_cap(b->logits, rows->n * n_vocab, cap);
}

static bool wants_logits(const struct attn_backward *b)
{
    return attn_selection_wants_block(b->asked_by->selection, ATTN_SITE_LOGITS_GRAD, ATTN_NO_LAYER);
}

static void emit_rows(struct attn_backward *b, size_t first, size_t n)
{
    const size_t n_vocab = b->f->dims.n_vocab;
    const struct attn_trace_event event = {.at.site = ATTN_SITE_LOGITS_GRAD,
                                           .at.layer = ATTN_NO_LAYER,
                                           .at.head = ATTN_ALL_HEADS,
                                           .row0 = first,
                                           .n_row = n,
                                           .n_col = n_vocab,
                                           .ld = n_vocab,
                                           .data = b->d_logits};

    if (n > 0 && wants_logits(b))
        attn_emit_back(b, &event);
}

/* Emits gradients of 0 for rows FIRST to END-1, whose logits the goal does not depend on. */
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

/* Whether each row of d_logits has at most FEW numbers that are not 0. */
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

/* Adds D_LOGIT times the column of token ID in the output matrix to d [D]. COLUMN is scratch. */
static void add_column(const struct attn_backward *b, size_t id, float d_logit, float *column,
                       float *d)
{
    const struct attn_matrix *w = &b->model->weights.unembed.weight;

    b->f->engine.kernels->pack_panel(w, id, 1, 1, column);
    for (size_t e = 0; e < w->n_row; e++)
        d[e] = fmaf(d_logit, column[e], d[e]);
}

/* Computes the gradient of the output layer's input, D [n, rows of W_U], from d_logits of the
 * current rows. */
static void unembed_back(struct attn_backward *b, const struct output_rows *rows, float *d)
{
    const size_t n_vocab = b->f->dims.n_vocab, width = b->model->weights.unembed.weight.n_row;

    if (!are_few(b, rows->n)) {
        attn_run_map(b, &b->model->weights.unembed, b->d_logits, rows->n, d, true);
        return;
    }
    memset(d, 0, rows->n * width * sizeof *d);
    for (size_t i = 0; i < rows->n; i++)
        for (size_t id = 0; id < n_vocab; id++)
            if (b->d_logits[i * n_vocab + id] != 0)
                add_column(b, id, b->d_logits[i * n_vocab + id], b->column, d + i * width);
}

/* For the current rows, writes the gradient of the output layer's input to D [n, rows of W_U]. */
static void back_rows(struct attn_backward *b, const struct attn_backward_goal *goal,
                      const struct output_rows *rows, float *d)
{
    const size_t n_vocab = b->f->dims.n_vocab, n = rows->n * n_vocab;
    const struct attn_cap_back cap = {(float)b->model->config.logits_cap,
                                      b->rule != ATTN_BACKWARD_PLAIN};

    if (rows->x)
        find_logits(b, rows);
    memset(b->d_logits, 0, n * sizeof *b->d_logits);
    for (size_t i = 0; i < (goal->is_joint ? 1 : rows->n); i++)
        goal->differentiate(goal->context, rows->first + i,
                            rows->x ? b->logits + i * n_vocab : NULL, b->d_logits + i * n_vocab);
    emit_rows(b, rows->first, rows->n);
    if (cap.cap > 0)
        b->f->engine.kernels->soft_cap_back(&cap, b->raw, b->d_logits, n);
    if (b->model->config.logits_scale > 0)
        b->f->engine.kernels->scale(b->d_logits, (float)b->model->config.logits_scale, n,
                                    b->d_logits);
    unembed_back(b, rows, d);
}

/* Runs the forward pass after the last layer, from the stream X [n, D] of N rows from FIRST on.
 * Then f->normed has the final norm of X, and f->final the output layer's input. */
static void run_output(struct attn_backward *b, const float *x, size_t first, size_t n)
{
    const int32_t *ids = b->text && b->text->ids ? b->text->ids + first : NULL;
    const struct attn_location end = attn_dims_end(&b->f->dims);

    attn_session_reset(b->session);
    b->f->end = attn_forward_place(b->f, ATTN_SITE_LOGITS, ATTN_NO_LAYER);
    b->status = attn_session_feed_layer(b->session, &end, x, ids, n, b->err);
}

/* The backward pass of the head: computes DX, the gradient of its input X [n, D], from D [n, rows
 * of W_U], the gradient of its output. */
static void back_head(struct attn_backward *b, const float *x, size_t n, const float *d, float *dx)
{
    const struct attn_weights *weights = &b->model->weights;
    const struct attn_kernels *kernels = b->f->engine.kernels;
    const size_t width = weights->head.weight.n_col, n_float = n * width;
    float *before = b->head, *after = before + n_float, *dy = after + n_float;
    const struct attn_activation_back rows = {
        .x = before, .dy = dy, .is_constant = b->rule != ATTN_BACKWARD_PLAIN};

    attn_run_map(b, &weights->head, x, n, before, false);
    memcpy(after, before, n_float * sizeof *after);
    memcpy(dy, d, n_float * sizeof *dy);
    kernels->activate(b->f->head_activation, after, n_float);
    if (weights->ln_head.w.data)
        attn_norm_read(b->f, &weights->ln_head);
    for (size_t i = 0; i < n && weights->ln_head.w.data; i++)
        attn_norm_row_back(b, b->f->vectors, after + i * width, width, d + i * width,
                           dy + i * width);
    kernels->activate_back(b->f->head_activation, &rows, n_float);
    attn_run_map(b, &weights->head, dy, n, dx, true);
}

/* The backward pass of u = e / |e|: D [n], the gradient of u, becomes that of e. */
static void back_length(const struct attn_backward *b, const float *e, size_t n, float *d)
{
    double square = 0, along = 0;

    for (size_t i = 0; i < n; i++) {
        square += (double)e[i] * (double)e[i];
        along += (double)e[i] * (double)d[i];
    }
    if (b->rule != ATTN_BACKWARD_PLAIN)
        along = 0; /* the length counts as constant */
    for (size_t i = 0; i < n; i++)
        d[i] = square > 0 ? (float)(((double)d[i] - (double)e[i] * (along / square)) / sqrt(square))
                          : 0;
}

/* The backward pass of the projection: computes d_normed [n, D] from D [M]; ROW is what it reads,
 * unless all rows are pooled. */
static void back_projection(struct attn_backward *b, float *d, size_t row)
{
    const struct attn_config *config = &b->model->config;
    const bool is_image = config->image.patch_height > 0;

    attn_visit_back(b, is_image ? ATTN_SITE_IMAGE_EMBED_GRAD : ATTN_SITE_TEXT_EMBED_GRAD, d);
    if (config->pool_head)
        config->pool_head->back(b, d, b->d_normed);
    else
        attn_run_map(b, &b->model->weights.projection, d, 1, b->d_normed + row * config->d_model,
                     true);
}

/* The backward pass of pooling: D is the gradient of the concatenated pooled parts of ROWS [n, D];
 * adds to d_normed [n, D]. */
static void back_parts(struct attn_backward *b, const float *rows, const float *d)
{
    const size_t width = b->f->dims.d_model, n = b->n;
    const int32_t *mask = b->f->key_mask;

    for (unsigned left = b->model->sentence.pools; left > 0; left >>= 4) {
        const enum attn_pooled pool = left & 15;
        const double total = attn_pooled_total(pool, mask, n);

        for (size_t k = 0; k < width; k++) {
            size_t row = attn_pooled_row(pool, mask, n);

            for (size_t i = row; i-- > 0 && pool == ATTN_POOLED_MAX;)
                if (attn_key_mask_pools(mask, i) && rows[i * width + k] >= rows[row * width + k])
                    row = i;
            for (size_t i = 0; i < n && attn_pooled_is_sum(pool); i++)
                if (attn_key_mask_pools(mask, i))
                    b->d_normed[i * width + k] +=
                        (float)(attn_pooled_weight(pool, i) * (double)d[k] / total);
            if (!attn_pooled_is_sum(pool))
                b->d_normed[row * width + k] += d[k];
        }
        d += width;
    }
}

/* The backward pass of a sentence vector: D [M] is its gradient, ROWS [n, D] are the rows after the
 * last layer; writes d_normed. */
static void back_sentence(struct attn_backward *b, const float *rows, float *d)
{
    const struct attn_sentence *sentence = &b->model->sentence;
    float *before = b->modules, *dx = before + sentence->most, *dy = dx + sentence->most;
    const struct attn_activation_back back = {
        .x = before, .dy = dy, .is_constant = b->rule != ATTN_BACKWARD_PLAIN};
    size_t width = b->f->dims.d_projected;

    attn_visit_back(b, ATTN_SITE_SENTENCE_EMBED_GRAD, d);
    memcpy(dy, d, width * sizeof *dy);
    for (size_t i = sentence->n_step; i-- > 0;) {
        const struct attn_sentence_step *step = &sentence->steps[i];
        const float *x = b->f->gathered + i * sentence->most;

        if (step->norm.w.data) {
            attn_norm_read(b->f, &step->norm);
            attn_norm_row_back(b, b->f->vectors, x, width, dy, dx);
            memcpy(dy, dx, width * sizeof *dy);
            continue;
        }
        if (!step->map.weight.data) {
            back_length(b, x, width, dy);
            continue;
        }
        if (step->has_activation) {
            attn_run_map(b, &step->map, x, 1, before, false);
            b->f->engine.kernels->activate_back(step->activation, &back, width);
        }
        attn_run_map(b, &step->map, dy, 1, dx, true);
        width = step->map.weight.n_row;
        memcpy(dy, dx, width * sizeof *dy);
    }
    back_parts(b, rows, dy);
}

/* The backward pass of pooling: computes d_normed [n, D] from D, the gradient of the pooled row. */
static void back_pooling(struct attn_backward *b, const float *rows, float *d)
{
    const struct attn_config *config = &b->model->config;
    const size_t width = config->d_model, n_front = b->f->dims.n_front, n = b->n;
    const bool is_mean = config->pooling == ATTN_POOLING_MEAN;
    const bool has_mean = is_mean || config->pooling == ATTN_POOLING_FIRST_AND_MEAN;
    const size_t row = attn_config_pooled_row(config, b->text ? b->text->ids : NULL, n);
    const float *mean = is_mean ? d : d + width;
    const int32_t *mask = b->f->key_mask;
    const double n_seen = (double)(attn_key_mask_count(mask, n) - (is_mean ? 0 : n_front));

    if (config->pooling == ATTN_POOLING_PROJECTED)
        back_length(b, b->f->projected, b->f->dims.d_projected, d);
    if (config->is_sentence && config->pooling == ATTN_POOLING_PROJECTED)
        back_sentence(b, rows, d);
    else if (config->pooling == ATTN_POOLING_PROJECTED)
        back_projection(b, d, row);
    else if (!is_mean)
        memcpy(b->d_normed + row * width, d,
               (config->pooling == ATTN_POOLING_FIRST_TWO ? 2 : 1) * width * sizeof *d);
    for (size_t i = is_mean ? 0 : n_front; has_mean && i < n; i++)
        for (size_t k = 0; k < width && attn_key_mask_keeps(mask, i); k++)
            b->d_normed[i * width + k] = (float)((double)mean[k] / n_seen);
}

/* The backward pass of the mean of ROWS [n, D] after the head: D is the gradient of the mean. */
static void back_mean_of_heads(struct attn_backward *b, const float *rows, const float *d)
{
    const size_t width = b->model->config.d_model;
    const int32_t *mask = b->f->key_mask;
    const double n_seen = (double)attn_key_mask_count(mask, b->n);

    for (size_t i = 0; i < b->n; i++)
        for (size_t k = 0; k < width; k++)
            b->d_head[i * width + k] =
                attn_key_mask_keeps(mask, i) ? (float)((double)d[k] / n_seen) : 0;
    attn_visit_back(b, ATTN_SITE_POOLED_GRAD, b->d_head);
    for (size_t i = 0; i < b->n; i++)
        back_head(b, rows + i * width, 1, b->d_head + i * width, b->d_normed + i * width);
}

/* The backward pass of a classifier with one row of logits, to the stream RESID [n, D] after the
 * last layer. */
static void back_pooled(struct attn_backward *b, const struct attn_backward_goal *goal,
                        const float *resid)
{
    const struct attn_config *config = &b->model->config;
    const size_t width = b->model->weights.unembed.weight.n_row;
    float *x = b->column + width, *d = x + width;
    const struct output_rows rows = {0, 1, x};

    resid += b->first * config->d_model;
    run_output(b, resid, b->first, b->end - b->first);
    if (attn_backward_is_over(b))
        return;
    memcpy(x, b->f->final, width * sizeof *x);
    back_rows(b, goal, &rows, d);
    if (config->pooling == ATTN_POOLING_MEAN_OF_HEADS) {
        back_mean_of_heads(b, config->has_final_norm ? b->f->normed : resid, d);
        return;
    }
    if (config->pooling != ATTN_POOLING_PROJECTED)
        attn_visit_back(b, ATTN_SITE_POOLED_GRAD, d);
    if (config->head_act_fn) {
        attn_decoder_pool(b->f, config->has_final_norm ? b->f->normed : resid);
        back_head(b, b->f->final, 1, d, x);
    }
    back_pooling(b, config->has_final_norm ? b->f->normed : resid, config->head_act_fn ? x : d);
}

/* The backward pass of logits at positions, a few rows at a time. */
static void back_positions(struct attn_backward *b, const struct attn_backward_goal *goal,
                           const float *resid)
{
    const struct attn_config *config = &b->model->config;
    const struct attn_linear *head = &b->model->weights.head;
    const bool needs_logits = goal->reads_logits || config->logits_cap > 0;
    const bool has_norm = config->has_final_norm && (needs_logits || config->head_act_fn);
    const size_t d = config->d_model, end = goal->first + goal->n;

    for (size_t first = goal->first; first < end && !attn_backward_is_over(b);) {
        struct output_rows rows = {.first = first, .n = end - first};
        const float *x = resid + first * d; /* the input of the head or of the matrix */

        rows.n = rows.n < b->n_logit_row ? rows.n : b->n_logit_row;
        if (config->head_act_fn)
            run_output(b, x, first, rows.n);
        if (has_norm)
            attn_norm_read(b->f, &b->model->weights.ln_final);
        for (size_t i = 0; i < rows.n && has_norm; i++)
            attn_norm_row(b->f, x + i * d, d, b->unnormed + i * d);
        x = has_norm ? b->unnormed : x;
        if (attn_backward_is_over(b))
            return;
        if (needs_logits && config->has_output_map)
            attn_run_map(b, head, x, rows.n, b->head, false);
        if (needs_logits)
            rows.x = config->head_act_fn ? b->f->final : config->has_output_map ? b->head : x;
        if (b->d_head) {
            float *d_head = b->d_head + first * b->model->weights.unembed.weight.n_row;

            back_rows(b, goal, &rows, d_head);
            if (config->head_act_fn)
                back_head(b, x, rows.n, d_head, b->d_normed + first * d);
            else
                attn_run_map(b, head, d_head, rows.n, b->d_normed + first * d, true);
        } else {
            back_rows(b, goal, &rows, b->d_normed + first * d);
        }
        first += rows.n;
    }
}

void attn_output_back(struct attn_backward *b, const struct attn_backward_goal *goal)
{
    const struct attn_config *config = &b->model->config;
    const struct attn_weights *weights = &b->model->weights;
    const struct attn_norm_weights *end_norm = &weights->blocks[config->n_layer - 1].end_norm;
    const size_t d = config->d_model;
    const float *resid = b->stream + config->n_layer * b->n * d;

    memset(b->d, 0, b->n * d * sizeof *b->d);
    memset(b->d_normed, 0, b->n * d * sizeof *b->d_normed);
    if (b->d_head)
        memset(b->d_head, 0, b->n * weights->unembed.weight.n_row * sizeof *b->d_head);
    if (goal->given && goal->is_of_stream)
        return; /* attn_backward_run sets b->d at its layer */
    if (end_norm->w.data) {
        attn_recompute_norm(b, end_norm, resid, b->resid, b->first, b->end);
        attn_edit_again(b, ATTN_SITE_NORMALIZED_RESID_POST, (int)config->n_layer - 1, b->resid);
        resid = b->resid;
    }
    if (goal->given) {
        memcpy(b->d_normed, goal->given, b->n * d * sizeof *b->d_normed);
    } else if (b->f->dims.is_pooled) {
        back_pooled(b, goal, resid);
    } else {
        emit_zeros(b, 0, goal->first);
        back_positions(b, goal, resid);
        emit_zeros(b, goal->first + goal->n, b->n);
        if (b->d_head)
            attn_visit_back(b,
                            config->task == ATTN_TASK_VOCABULARY ? ATTN_SITE_MLM_HEAD_GRAD
                                                                 : ATTN_SITE_POOLED_GRAD,
                            b->d_head);
    }
    if (config->has_final_norm)
        attn_visit_back(b, ATTN_SITE_LN_FINAL_GRAD, b->d_normed);
    attn_norm_back(b, &weights->ln_final, resid, b->d_normed, b->d);
}
