/*
 * pool_head.c - see pool_head.h (modeling_siglip.py). One query, the probe, attends to all rows of
 * a picture, and an MLP follows:
 *
 *     qk = (W_q probe) . (W_k x);  pattern = softmax(qk / sqrt(E));  z = pattern (W_v x)
 *     a = W_o z + b;  image_embed = a + mlp(norm(a))
 *
 * Trap: the norm is of a, and what the MLP is added to is a, not the probe.
 */
#include "towers/pool_head.h"

#include "base/elementary.h"
#include "forward/step_internal.h"
#include "trace/trace_internal.h"

#include <math.h>

struct attn_pool_rows attn_pool_head_rows(const struct attn_forward *f, size_t n)
{
    const size_t d = f->dims.d_model, n_cell = f->dims.n_head * n;
    struct attn_pool_rows rows = {.qkv = f->pool_rows};

    rows.q = rows.qkv + n * 3 * d;
    rows.qk = rows.q + 3 * d;
    rows.scores = rows.qk + n_cell;
    rows.pattern = rows.scores + n_cell;
    rows.z = rows.pattern + n_cell;
    rows.out = rows.z + d;
    rows.normed = rows.out + d;
    rows.hidden = rows.normed + d;
    return rows;
}

size_t attn_pool_head_size(const struct attn_forward *f, size_t n)
{
    return (n + 2) * 3 * f->dims.d_model + 3 * f->dims.n_head * n + f->model->config.d_mlp;
}

/* Edits and emits the rows of one head, in TARGET. */
static void visit(struct attn_forward *f, size_t sequence, const struct attn_edit_target *target)
{
    const struct attn_feed_part *part = &f->parts[sequence];
    const struct attn_location at = {.site = target->at.site, .layer = target->at.layer};
    const struct attn_trace_event event = {.sequence = sequence,
                                           .at = target->at,
                                           .n_row = target->n_row,
                                           .n_col = target->n_col,
                                           .ld = target->ld,
                                           .data = target->data};

    if (attn_edits_touch(part->edits, part->n_edit, &at))
        attn_visit_edit(f, sequence, target);
    if (attn_forward_watches(f, at.site) &&
        attn_selection_has_tensor_head(f->trace->selection, &event.at))
        attn_visit_emit(f, &event);
}

/* A tensor of the head: for each head N rows of WIDTH numbers, which are LD floats apart. */
struct tensor {
    enum attn_site site;
    float *x;
    size_t n, width, ld;
};

static void visit_heads(struct attn_forward *f, size_t sequence, struct tensor tensor)
{
    for (size_t head = 0; head < f->dims.n_head && !attn_forward_is_over(f); head++)
        visit(f, sequence,
              &(struct attn_edit_target){
                  .at = {.site = tensor.site, .layer = ATTN_NO_LAYER, .head = (int)head},
                  .n_uncounted = f->parts[sequence].n_uncounted,
                  .n_row = tensor.n,
                  .n_col = tensor.width,
                  .ld = tensor.ld,
                  .data = tensor.x + head * tensor.width});
}

/* Computes the softmax Y [n] of X. */
static void softmax(const float *x, size_t n, float *y)
{
    double most = (double)x[0], total = 0;

    for (size_t i = 1; i < n; i++)
        most = fmax(most, (double)x[i]);
    for (size_t i = 0; i < n; i++)
        total += attn_exp((double)x[i] - most);
    for (size_t i = 0; i < n; i++)
        y[i] = (float)(attn_exp((double)x[i] - most) / total);
}

/* Computes qk, scores and the pattern of all heads from rows->q and rows->qkv of N rows. */
static void score(struct attn_forward *f, size_t sequence, const struct attn_pool_rows *rows,
                  size_t n)
{
    const size_t d = f->dims.d_model, d_head = f->dims.d_head, n_head = f->dims.n_head;
    const double scale = 1 / sqrt((double)d_head);

    for (size_t i = 0; i < n_head * n; i++) {
        const float *q = rows->q + i / n * d_head;
        const float *k = rows->qkv + i % n * 3 * d + d + i / n * d_head;
        double sum = 0;

        for (size_t e = 0; e < d_head; e++)
            sum += (double)q[e] * (double)k[e];
        rows->qk[i] = (float)sum;
    }
    visit_heads(f, sequence, (struct tensor){ATTN_SITE_POOL_QK, rows->qk, 1, n, n_head * n});
    for (size_t i = 0; i < n_head * n; i++)
        rows->scores[i] = (float)((double)rows->qk[i] * scale);
    visit_heads(f, sequence,
                (struct tensor){ATTN_SITE_POOL_ATTN_SCORES, rows->scores, 1, n, n_head * n});
    for (size_t head = 0; head < n_head; head++)
        softmax(rows->scores + head * n, n, rows->pattern + head * n);
    visit_heads(f, sequence,
                (struct tensor){ATTN_SITE_POOL_PATTERN, rows->pattern, 1, n, n_head * n});
}

/* Computes rows->z from the pattern and the values of N rows. */
static void read_values(struct attn_forward *f, size_t sequence, const struct attn_pool_rows *rows,
                        size_t n)
{
    const size_t d = f->dims.d_model, d_head = f->dims.d_head;

    for (size_t e = 0; e < d; e++) {
        const float *pattern = rows->pattern + e / d_head * n;
        double sum = 0;

        for (size_t i = 0; i < n; i++)
            sum += (double)pattern[i] * (double)rows->qkv[i * 3 * d + 2 * d + e];
        rows->z[e] = (float)sum;
    }
    visit_heads(f, sequence, (struct tensor){ATTN_SITE_POOL_Z, rows->z, 1, d_head, d});
}

void attn_pool_head_run(struct attn_forward *f, size_t sequence, const float *x, size_t n, float *y)
{
    const struct attn_pool_head *head = &f->model->weights.pool;
    const enum attn_activation activation = attn_activation_find(f->model->config.act_fn);
    const struct attn_pool_rows rows = attn_pool_head_rows(f, n);
    const size_t d = f->dims.d_model, d_head = f->dims.d_head;

    f->engine.kernels->convert(head->probe.data, head->probe.dtype, d, rows.z);
    attn_map_step(f, &head->qkv, NULL, rows.z, 1, rows.q);
    attn_map_step(f, &head->qkv, NULL, x, n, rows.qkv);
    visit_heads(f, sequence, (struct tensor){ATTN_SITE_POOL_Q, rows.q, 1, d_head, 3 * d});
    visit_heads(f, sequence, (struct tensor){ATTN_SITE_POOL_K, rows.qkv + d, n, d_head, 3 * d});
    visit_heads(f, sequence, (struct tensor){ATTN_SITE_POOL_V, rows.qkv + 2 * d, n, d_head, 3 * d});
    score(f, sequence, &rows, n);
    read_values(f, sequence, &rows, n);
    attn_map_step(f, &head->out, NULL, rows.z, 1, rows.out);
    attn_norm_read(f, &head->norm);
    attn_norm_row(f, rows.out, d, rows.normed);
    attn_map_step(f, &head->mlp_in, &activation, rows.normed, 1, rows.hidden);
    attn_map_step(f, &head->mlp_out, NULL, rows.hidden, 1, y);
    for (size_t i = 0; i < d; i++)
        y[i] = rows.out[i] + y[i];
}
