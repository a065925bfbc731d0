/*
 * pool_head.c - SigLIP's head, which makes one vector of all rows of a picture
 * (modeling_siglip.py). One query, the probe, attends to all rows of a picture, and an MLP follows:
 *
 *     qk = (W_q probe) . (W_k x);  pattern = softmax(qk / sqrt(E));  z = pattern (W_v x)
 *     a = W_o z + b;  image_embed = a + mlp(norm(a))
 *
 * Trap: the norm is of a, and what the MLP is added to is a, not the probe.
 */
#include "base/elementary.h"
#include "forward/step_internal.h"
#include "gradient/backward_internal.h"
#include "towers/image_patches.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

/* What the head computes for a picture of N rows. */
struct pool_rows {
    float *qkv;     /* [n, 3 D]: all of q, k and v of the rows. q is not used */
    float *q;       /* [3 D]: q, k and v of the probe. k and v are not used */
    float *qk;      /* [H, n] */
    float *scores;  /* [H, n] */
    float *pattern; /* [H, n] */
    float *z;       /* [D] */
    float *out;     /* [D], which the MLP adds to */
    float *normed;  /* [D], the input of the MLP */
    float *hidden;  /* [F] */
};

/* Returns the tensors that the head of F computed last, for a picture of N rows. */
static struct pool_rows rows_of(const struct attn_forward *f, size_t n)
{
    const size_t d = f->dims.d_model, n_cell = f->dims.n_head * n;
    struct pool_rows rows = {.qkv = f->pool_rows};

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

/* Returns the number of floats that these take. */
static size_t size_of(const struct attn_forward *f, size_t n)
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
        attn_visit_edit(f, sequence, 1, target);
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
static void score(struct attn_forward *f, size_t sequence, const struct pool_rows *rows, size_t n)
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
static void read_values(struct attn_forward *f, size_t sequence, const struct pool_rows *rows,
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

/* Computes image_embed Y [D] from the rows X [n, D] of SEQUENCE, and visits the sites of the head.
 */
static void run_head(struct attn_forward *f, size_t sequence, const float *x, size_t n, float *y)
{
    const struct attn_pool_head *head = &f->model->weights.pool;
    const enum attn_activation activation = attn_activation_find(f->model->config.act_fn);
    const struct pool_rows rows = rows_of(f, n);
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

/* --- The backward pass ------------------------------------------------------------------------ */

/*
 *     da = d + norm^T(W_1^T act'(u) W_2^T d),  u = W_1 norm(a) + b;  dz = W_o^T da
 *     dv_j = p_j dz;  ds_j = p_j (v_j . dz - z . dz);  dk_j = ds_j q / sqrt(E)
 *
 * The probe and its query are constant.
 */

static size_t back_size(const struct attn_config *config, size_t n)
{
    return (3 * n + 2) * config->d_model + 2 * config->d_mlp;
}

/* Computes dk and dv in D_QKV [n, 3 D], whose part of q is 0, from DZ [D]. */
static void back_heads(const struct attn_backward *b, const struct pool_rows *rows, const float *dz,
                       float *d_qkv)
{
    const size_t d = b->f->dims.d_model, d_head = b->f->dims.d_head;
    const bool is_uniform = b->rule == ATTN_BACKWARD_ATTNLRP;
    const double of_k = (is_uniform ? 0.25 : 1) / sqrt((double)d_head), of_v = is_uniform ? 0.5 : 1;

    for (size_t i = 0; i < b->n; i++)
        for (size_t at = 0; at < d; at += d_head) {
            const double p = (double)rows->pattern[at / d_head * b->n + i];
            const float *v = rows->qkv + i * 3 * d + 2 * d + at;
            float *row = d_qkv + i * 3 * d + at;
            double ds = 0;

            for (size_t e = 0; e < d_head; e++)
                ds += ((double)v[e] - (double)rows->z[at + e]) * (double)dz[at + e];
            for (size_t e = 0; e < d_head; e++) {
                row[e] = 0;
                row[d + e] = (float)(of_k * p * ds * (double)rows->q[at + e]);
                row[2 * d + e] = (float)(of_v * p * (double)dz[at + e]);
            }
        }
}

static void head_back(struct attn_backward *b, const float *d, float *dx)
{
    const struct attn_pool_head *head = &b->model->weights.pool;
    const struct pool_rows rows = rows_of(b->f, b->n);
    const enum attn_activation activation = attn_activation_find(b->model->config.act_fn);
    const size_t width = b->f->dims.d_model, d_mlp = b->model->config.d_mlp;
    float *d_qkv = b->pool_head, *da = d_qkv + 3 * b->n * width, *dz = da + width,
          *before = dz + width, *dy = before + d_mlp;
    const struct attn_activation_back back = {
        .x = before, .dy = dy, .is_constant = b->rule != ATTN_BACKWARD_PLAIN};

    attn_run_map(b, &head->mlp_in, rows.normed, 1, before, false);
    attn_run_map(b, &head->mlp_out, d, 1, dy, true);
    b->f->engine.kernels->activate_back(activation, &back, d_mlp);
    attn_run_map(b, &head->mlp_in, dy, 1, dz, true);
    attn_norm_read(b->f, &head->norm);
    attn_norm_row_back(b, b->f->vectors, rows.out, width, dz, da);
    for (size_t i = 0; i < width; i++)
        da[i] += d[i];
    attn_run_map(b, &head->out, da, 1, dz, true);
    back_heads(b, &rows, dz, d_qkv);
    attn_run_map(b, &head->qkv, d_qkv, b->n, dx, true);
}

const struct attn_pool_steps attn_siglip_pool = {
    .size = size_of, .run = run_head, .back_size = back_size, .back = head_back};
