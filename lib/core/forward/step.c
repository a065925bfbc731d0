/*
 * step.c - norms, linear maps, activations and sums, on the pool. Decides which linear maps run
 * together, and fuses elementwise steps into them.
 *
 * The order of every sum: product, then bias, then residual, each rounded.
 */
#include "forward/step_internal.h"

#include "base/elementary.h"
#include "base/pool_internal.h"
#include "forward/forward_internal.h"
#include "trace/blocks_internal.h"
#include "trace/location_extra.h"
#include "trace/trace_extra.h"

#include <math.h>
#include <string.h>

enum { ROWS_PER_TASK = 16 };

/* --- Waiting linear maps ---------------------------------------------------------------------- */

/* Runs the maps that wait. Every product is checked for NaN and infinity, because the residual
 * stream does not reveal every bad weight: a softmax ignores keys with a score of -inf, and relu
 * turns -inf into 0. */
static void run_maps(struct attn_forward *f)
{
    struct attn_pending *pending = &f->pending;

    if (pending->n_map == 0 || attn_forward_is_over(f)) {
        pending->n_map = 0;
        return;
    }
    atomic_store_explicit(&pending->is_violated, false, memory_order_relaxed);
    attn_weight_buffer_run_linear(&f->weight_buffer, pending->maps, pending->n_map, f->feed.pool);
    pending->n_map = 0;
    if (atomic_load_explicit(&pending->is_violated, memory_order_relaxed))
        attn_forward_report_non_finite(f);
}

/* Visits SITE. DATA is already known to be finite. */
static void visit_finite(struct attn_forward *f, enum attn_site site, float *data)
{
    f->feed.is_finite = true;
    attn_visit(f, site, data);
    f->feed.is_finite = false;
}

/* Clips the N numbers of X to the limits for q, k and v. */
static void clip(const struct attn_forward *f, float *x, size_t n)
{
    const float limit = (float)f->model->config.qkv_clip;

    for (size_t i = 0; i < n; i++)
        x[i] = fminf(fmaxf(x[i], -limit), limit);
}

/* Clips q, k or v after a map computed it. If all heads of q and k are normalized together,
 * turn_row clips them later. */
static void clip_product(struct attn_forward *f, const struct attn_pending_visit *visit)
{
    const struct attn_site_part part = attn_forward_part(f, visit->site);
    const bool is_normed = f->model->config.qk_norm == ATTN_QK_NORM_ALL_HEADS;

    if (f->model->config.qkv_clip > 0 &&
        (visit->site == ATTN_SITE_V ||
         (!is_normed && (visit->site == ATTN_SITE_Q || visit->site == ATTN_SITE_K))))
        clip(f, visit->data, part.n_row * part.n_head * part.width);
}

/* Multiplies k, or mlp_pre, by its factor after a map computed it. */
static void multiply_product(struct attn_forward *f, const struct attn_pending_visit *visit)
{
    const struct attn_site_part part = attn_forward_part(f, visit->site);
    const struct attn_factor_config *factors = &f->model->config.factors;
    const double factor = visit->site == ATTN_SITE_K         ? factors->key
                          : visit->site == ATTN_SITE_MLP_PRE ? factors->mlp_pre
                                                             : 0;

    if (factor > 0 && !attn_forward_is_over(f))
        f->engine.kernels->scale(visit->data, (float)factor, part.n_row * part.n_head * part.width,
                                 visit->data);
}

/* Normalizes each head of v after a map computed it, without weights. */
static void normalize_values(struct attn_forward *f, const struct attn_pending_visit *visit)
{
    const struct attn_site_part part = attn_forward_part(f, visit->site);

    if (visit->site != ATTN_SITE_V || !f->model->config.has_value_norm || attn_forward_is_over(f))
        return;
    for (size_t i = 0; i < part.width; i++)
        f->vectors[i] = 1;
    for (size_t i = 0; i < part.n_row * part.n_head; i++) {
        float *v = visit->data + i * part.width;

        f->engine.kernels->rms_norm(v, f->vectors, part.width, f->model->config.norm_eps, v);
    }
}

bool attn_step_finish(struct attn_forward *f)
{
    run_maps(f);
    for (size_t i = 0; i < f->pending.n_visit; i++) {
        const struct attn_pending_visit *visit = &f->pending.visits[i];
        /* The product was checked, its activation was not. */
        const bool is_product = visit->site != ATTN_SITE_MLP_POST;

        clip_product(f, visit);
        multiply_product(f, visit);
        normalize_values(f, visit);
        (is_product ? visit_finite : attn_visit)(f, visit->site, visit->data);
    }
    f->pending.n_visit = 0;
    return attn_forward_is_over(f);
}

/* Returns the waiting map that computes all columns of Y, or NULL. */
static struct attn_linear_args *find_map(struct attn_forward *f, const float *y)
{
    for (size_t i = 0; i < f->pending.n_map; i++) {
        struct attn_linear_args *map = &f->pending.maps[i];

        if (map->y == y && map->last_col == map->linear->weight.n_col)
            return map;
    }
    return NULL;
}

static struct attn_pending_visit *find_visit(struct attn_forward *f, const float *data)
{
    for (size_t i = 0; i < f->pending.n_visit; i++)
        if (f->pending.visits[i].data == data)
            return &f->pending.visits[i];
    return NULL;
}

/* --- Linear maps ------------------------------------------------------------------------------ */

/* Finds the next run of needed heads, *first to *last-1, from *last on. False at the end. */
static bool find_heads(const struct attn_forward *f, enum attn_site site, int n_head, int *first,
                       int *last)
{
    *first = *last;
    while (*first < n_head && !attn_forward_needs_head(f, site, *first))
        (*first)++;
    *last = *first;
    while (*last < n_head && attn_forward_needs_head(f, site, *last))
        (*last)++;
    return *first < *last;
}

struct attn_linear_args attn_map_of(const struct attn_forward *f, const struct attn_linear *linear,
                                    const float *x, size_t n_row, float *y)
{
    return (struct attn_linear_args){.linear = linear,
                                     .engine = &f->engine,
                                     .scratch = f->heads.scratch,
                                     .x = x,
                                     .ldx = linear->weight.n_row,
                                     .n_row = n_row,
                                     .compute = f->compute,
                                     .rounded = f->rounded,
                                     .y = y,
                                     .ldy = linear->weight.n_col,
                                     .last_col = linear->weight.n_col,
                                     .activation = f->activation};
}

void attn_linear_step(struct attn_forward *f, enum attn_site site, const struct attn_linear *linear,
                      const float *x, float *y)
{
    const struct attn_site_part part = attn_forward_part(f, site);
    struct attn_linear_args map = attn_map_of(f, linear, x, part.n_row, y);

    map.ldy = part.n_head * part.width;
    map.is_violated = &f->pending.is_violated;
    if (f->pending.n_visit == ATTN_LINEAR_MOST ||
        (f->pending.n_map > 0 && f->pending.maps[0].x != x))
        attn_step_finish(f);
    if (attn_forward_is_over(f) || part.n_row == 0)
        return;
    for (int head = 0, end = 0; find_heads(f, site, (int)part.n_head, &head, &end);) {
        const size_t n = part.n_row * part.n_head * part.width;

        if (!linear->weight.data) {
            memcpy(y, x, n * sizeof(float));
            attn_forward_check_finite(f, y, n);
            continue;
        }
        map.first_col = (size_t)head * part.width;
        map.last_col = (size_t)end * part.width;
        map.y = y + map.first_col;
        if (f->pending.n_map == ATTN_LINEAR_MOST)
            run_maps(f);
        f->pending.maps[f->pending.n_map++] = map;
    }
    f->pending.visits[f->pending.n_visit++] = (struct attn_pending_visit){site, y};
}

void attn_keys_as_values_step(struct attn_forward *f, const float *k, float *v)
{
    const struct attn_site_part part = attn_forward_part(f, ATTN_SITE_V);

    if (attn_step_finish(f))
        return;
    memcpy(v, k, part.n_row * part.n_head * part.width * sizeof *v);
    f->pending.visits[f->pending.n_visit++] = (struct attn_pending_visit){ATTN_SITE_V, v};
}

/* --- Work on rows ----------------------------------------------------------------------------- */

/* An operation on rows x, y [n_row, n_col]. */
enum row_operation {
    NORMALIZE_ROWS, /* y = normalize(x), with the norm in f->vectors */
    GATE_ROWS,      /* y = act(y) * x */
    SOLU_ROWS,      /* y = y softmax(y) */
    ACTIVATE_ROWS,  /* y = act(y) */
    ADD_ROWS,       /* y = y + x */
    SCALE_ROWS,     /* y = y * x, with the factors in f->vectors */
    MULTIPLY_ROWS,  /* y = y * the factor */
    TURN_ROWS       /* normalizes the heads of y and rotates them by their positions */
};

/* Rows to process on the pool, in pieces of ROWS_PER_TASK. */
struct row_work {
    const struct attn_forward *f;
    enum row_operation operation;
    const float *x;
    float *y;
    size_t n_row, n_col;
    double factor;

    /* For rotated queries and keys: all heads of a site, side by side, and their angles. */
    struct attn_site_part part;
    enum attn_site site;
    const struct attn_rotary *rotary;
};

/* Reads the weight and the bias of a norm into f->vectors. Without a bias, the bias is 0. */
void attn_norm_read(struct attn_forward *f, const struct attn_norm_weights *weights)
{
    const struct attn_kernels *kernels = f->engine.kernels;
    const size_t n = weights->w.n;

    f->norm_has_mean = attn_config_norms_mean(&f->model->config) != weights->is_other;
    f->norm_eps = weights->eps > 0 ? weights->eps : f->model->config.norm_eps;
    kernels->convert(weights->w.data, weights->w.dtype, n, f->vectors);
    for (size_t i = 0; i < n && attn_norm_adds_one(f->model->config.norm); i++)
        f->vectors[i] += 1;
    if (weights->b.data)
        kernels->convert(weights->b.data, weights->b.dtype, n, f->vectors + n);
    else
        memset(f->vectors + n, 0, n * sizeof *f->vectors);
}

static void normalize(const struct attn_forward *f, const float *x, const float *w, const float *b,
                      size_t n, float *y)
{
    if (f->norm_has_mean)
        f->engine.kernels->layer_norm(x, w, b, n, f->norm_eps, y);
    else
        f->engine.kernels->rms_norm(x, w, n, f->norm_eps, y);
}

void attn_norm_row(const struct attn_forward *f, const float *x, size_t n, float *y)
{
    normalize(f, x, f->vectors, f->vectors + n, n, y);
}

const float *attn_norm_weights_of(const struct attn_forward *f, size_t head, size_t width)
{
    return f->vectors + (f->model->config.qk_norm == ATTN_QK_NORM_EACH_HEAD ? head * width : 0);
}

/* Normalizes the heads of one position, together or separately, and rotates them. */
static void turn_row(const struct row_work *work, size_t row)
{
    const struct attn_forward *f = work->f;
    const enum attn_qk_norm norm = f->model->config.qk_norm;
    const bool is_late = f->model->config.qk_norm_is_late; /* then it is PER_HEAD */
    const size_t width = work->part.width;
    float *x = work->y + row * work->n_col;
    size_t angle = row; /* index of the position among all rows of the feed */

    if (attn_site_layout(work->site) != ATTN_LAYOUT_KEY) {
        const struct attn_feed_part *part = &f->parts[attn_forward_find_sequence(f, row, true)];

        angle = part->first + part->n_dropped + (row - part->left);
    }
    if (norm == ATTN_QK_NORM_ALL_HEADS)
        attn_norm_row(f, x, work->n_col, x);
    if (norm == ATTN_QK_NORM_ALL_HEADS && f->model->config.qkv_clip > 0)
        clip(f, x, work->n_col);
    for (int head = 0; head < (int)work->part.n_head; head++, x += width) {
        if (!attn_forward_needs_head(f, work->site, head))
            continue;
        if (norm == ATTN_QK_NORM_PER_HEAD && !is_late)
            attn_norm_row(f, x, width, x);
        if (norm == ATTN_QK_NORM_EACH_HEAD)
            normalize(f, x, attn_norm_weights_of(f, (size_t)head, width), NULL, width, x);
        attn_rotary_turn(work->rotary, f->engine.kernels, angle, false, x);
        if (is_late)
            attn_norm_row(f, x, width, x);
        if (attn_site_layout(work->site) != ATTN_LAYOUT_KEY)
            attn_rotary_scale_query(work->rotary, f->engine.kernels, angle, width, x);
    }
}

void attn_solu_row(const struct attn_forward *f, const float *x, size_t n, float *y, float *shares)
{
    memcpy(shares, x, n * sizeof *x);
    f->engine.kernels->softmax(shares, n, n, 1);
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] * shares[i];
}

static void run_row_task(void *context, size_t task, int worker)
{
    const struct row_work *work = context;
    const struct attn_forward *f = work->f;
    const struct attn_kernels *kernels = f->engine.kernels;
    const size_t first = task * ROWS_PER_TASK, rest = work->n_row - first, d = work->n_col;
    const size_t n = rest < ROWS_PER_TASK ? rest : ROWS_PER_TASK;
    float *y = work->y + first * d;

    switch (work->operation) {
    case NORMALIZE_ROWS:
        for (size_t i = 0; i < n; i++)
            attn_norm_row(f, work->x + (first + i) * d, d, y + i * d);
        break;
    case GATE_ROWS:
        kernels->gate(f->activation, y, work->x + first * d, n * d);
        break;
    case SOLU_ROWS:
        for (size_t i = 0; i < n; i++)
            attn_solu_row(f, y + i * d, d, y + i * d, f->heads.scratch[worker]);
        break;
    case ACTIVATE_ROWS:
        if (f->model->config.xielu)
            attn_xielu_run(&f->model->config.xielu[f->feed.layer], y, n * d);
        else
            kernels->activate(f->activation, y, n * d);
        break;
    case ADD_ROWS:
        kernels->add(y, work->x + first * d, n * d, y);
        break;
    case SCALE_ROWS:
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < d; k++)
                y[i * d + k] *= f->vectors[k];
        break;
    case MULTIPLY_ROWS:
        kernels->scale(y, (float)work->factor, n * d, y);
        break;
    case TURN_ROWS:
        for (size_t i = 0; i < n; i++)
            turn_row(work, first + i);
        break;
    }
}

static void share_rows(struct attn_forward *f, struct row_work *work)
{
    attn_pool_run(f->feed.pool, (work->n_row + ROWS_PER_TASK - 1) / ROWS_PER_TASK, run_row_task,
                  work);
}

/* Applies OPERATION to the rows of the feed that are not dropped. */
static void run_rows(struct attn_forward *f, enum row_operation operation, const float *x, float *y,
                     size_t n_col)
{
    struct row_work work = {
        .f = f, .operation = operation, .x = x, .y = y, .n_row = f->feed.n_left, .n_col = n_col};

    share_rows(f, &work);
}

void attn_scale_step(struct attn_forward *f, double factor, float *x)
{
    struct row_work work = {.f = f,
                            .operation = MULTIPLY_ROWS,
                            .y = x,
                            .n_row = f->feed.n_left,
                            .n_col = f->model->config.d_model,
                            .factor = factor};

    attn_step_finish(f);
    if (factor > 0 && !attn_forward_is_over(f))
        share_rows(f, &work);
}

const struct attn_rotary *attn_rotary_of_layer(const struct attn_forward *f, int layer)
{
    const struct attn_rotary *rotary = f->rotaries;

    while (!attn_rope_is_same(rotary->rope, &f->model->config.rope[layer]))
        rotary++;
    return rotary;
}

void attn_rotary_step(struct attn_forward *f, enum attn_site site,
                      const struct attn_norm_weights *weights, float *x)
{
    struct row_work work = {
        .f = f, .operation = TURN_ROWS, .y = x, .part = attn_forward_part(f, site), .site = site};

    if (f->model->config.positions != ATTN_POSITIONS_ROTARY)
        return;
    if (attn_step_finish(f))
        return;
    if (weights->w.data)
        attn_norm_read(f, weights);
    work.n_row = attn_site_layout(site) == ATTN_LAYOUT_KEY ? f->feed.n_row : f->feed.n_left;
    work.n_col = work.part.n_head * work.part.width;
    work.rotary = attn_rotary_of_layer(f, f->feed.layer);
    share_rows(f, &work);
    attn_visit(f, site, x);
}

/* --- Dropping rows that are not needed -------------------------------------------------------- */

/* Whether A and B edit the same rows of the same tensor. The columns of a knockout are several
 * consecutive edits. */
static bool is_of_same_rows(const struct attn_edit *a, const struct attn_edit *b)
{
    return a->at.site == b->at.site && attn_location_compare(&a->at, &b->at) == 0 &&
           a->row0 == b->row0 && a->row1 == b->row1;
}

/* Counts the rows that edits of the current or a later layer name among the N_ROW dropped positions
 * from ROW0 on of PART. They count as changed although they are not computed, so that the count
 * does not depend on what is watched. */
static size_t count_edited(const struct attn_forward *f, const struct attn_feed_part *part,
                           size_t row0, size_t n_row)
{
    size_t n = 0;

    for (size_t i = part->n_uncounted; i < part->n_edit; i++) {
        const struct attn_edit *edit = &part->edits[i];
        const enum attn_site_layout layout = attn_site_layout(edit->at.site);
        const bool has_heads = layout == ATTN_LAYOUT_QUERY || layout == ATTN_LAYOUT_MATRIX;
        const size_t first = edit->row0 > row0 ? edit->row0 : row0;
        const size_t end = edit->row1 < row0 + n_row ? edit->row1 : row0 + n_row;
        const bool is_here = attn_site_is_in_layer(edit->at.site)
                                 ? attn_location_block(&edit->at) == f->feed.layer ||
                                       edit->at.layer == ATTN_ALL_LAYERS
                                 : edit->at.site == ATTN_SITE_LN_FINAL;

        if (is_here && edit->at.site != ATTN_SITE_RESID_PRE && layout != ATTN_LAYOUT_KEY &&
            attn_forward_needs(f, edit->at.site) && end > first &&
            (i == 0 || !is_of_same_rows(edit, edit - 1)))
            n +=
                (end - first) * (has_heads && edit->at.head == ATTN_ALL_HEADS ? f->dims.n_head : 1);
    }
    return n;
}

/* Moves the rows of X [n_row, N_COL] that are not dropped to its beginning. */
static void gather_rows(const struct attn_forward *f, float *x, size_t n_col)
{
    for (const struct attn_feed_part *part = f->parts; part < f->parts + f->feed.n_part; part++)
        memmove(x + part->left * n_col, x + (part->first + part->n_dropped) * n_col,
                attn_feed_part_left(part).n_row * n_col * sizeof *x);
}

/* Whether some rows of the current layer can be left out without changing the others. A row of an
 * encoder sees all keys, whatever rows are computed; but dropout draws its numbers row by row. */
static bool can_drop(const struct attn_forward *f)
{
    const struct attn_attention *attention = &f->attention[f->feed.layer];

    if (attn_config_mixes_beside(&f->model->config))
        return false; /* the state needs all rows */
    if (f->model->config.is_encoder)
        return attention->dropout == 0 && !attention->dropout_mask.cells;
    return attn_forward_takes_steps(f, (size_t)f->feed.layer);
}

/* Sets which rows of PART are dropped: those before the first needed row, at most up to the last
 * row; for encoders also those after the last needed row. */
static void find_dropped(const struct attn_forward *f, struct attn_feed_part *part)
{
    const size_t end = part->row0 + part->n_row;

    part->n_dropped = part->n_cut = 0;
    while (part->n_dropped + 1 < part->n_row &&
           !attn_forward_needs_rows(f, part, part->row0 + part->n_dropped, 1))
        part->n_dropped++;
    while (f->model->config.is_encoder && part->n_dropped + part->n_cut + 1 < part->n_row &&
           !attn_forward_needs_rows(f, part, end - part->n_cut - 1, 1))
        part->n_cut++;
}

const float *attn_drop_step(struct attn_forward *f, float *x, size_t n_col, float *all)
{
    size_t n_left = 0;

    attn_step_finish(f);
    if (attn_forward_is_over(f) || !can_drop(f))
        return x;
    for (size_t i = 0; i < f->feed.n_part; i++) { /* count the remaining rows of each sequence */
        struct attn_feed_part *part = &f->parts[i];

        find_dropped(f, part);
        part->left = n_left;
        n_left += attn_feed_part_left(part).n_row;
        if (part->n_dropped + part->n_cut > 0)
            attn_visit_count(
                f, i,
                count_edited(f, part, part->row0, part->n_dropped) +
                    count_edited(f, part, part->row0 + part->n_row - part->n_cut, part->n_cut));
    }
    f->feed.n_left = n_left;
    if (n_left == f->feed.n_row)
        return x;
    if (all)
        memcpy(all, x, f->feed.n_row * n_col * sizeof *all);
    gather_rows(f, x, n_col);
    gather_rows(f, f->resid, f->dims.d_model);
    return all;
}

/* --- The other equations ---------------------------------------------------------------------- */

void attn_norm_step(struct attn_forward *f, const struct attn_norm_weights *weights, const float *x,
                    float *y)
{
    if (attn_step_finish(f))
        return;
    if (!weights->w.data) {
        memcpy(y, x, f->feed.n_left * f->model->config.d_model * sizeof(float));
        return;
    }
    attn_norm_read(f, weights);
    run_rows(f, NORMALIZE_ROWS, x, y, weights->w.n);
}

void attn_sum_norm_step(struct attn_forward *f, enum attn_site site,
                        const struct attn_norm_weights *weights, float *x)
{
    if (!weights->w.data)
        return;
    attn_norm_step(f, weights, x, x);
    attn_visit(f, site, x);
}

void attn_map_step(struct attn_forward *f, const struct attn_linear *linear,
                   const enum attn_activation *activation, const float *x, size_t n_row, float *y)
{
    struct attn_linear_args map = attn_map_of(f, linear, x, n_row, y);

    if (activation)
        map.has_activation = true, map.activation = *activation;
    if (attn_step_finish(f))
        return;
    attn_weight_buffer_run_linear(&f->weight_buffer, &map, 1, f->feed.pool);
    attn_forward_check_finite(f, y, map.n_row * map.ldy);
}

/* Applies OPERATION, with WEIGHTS unless these are NULL, to X, which the preceding map computed for
 * SITE. Visits the site if this IS_LAST operation of it. */
static void change_output(struct attn_forward *f, enum attn_site site, enum row_operation operation,
                          const struct attn_norm_weights *weights, bool is_last, float *x)
{
    struct attn_pending_visit *early = find_visit(f, x);

    /* Cancel the visit of the map, which is the last one: it would come before OPERATION. */
    if (early)
        f->pending.n_visit--;
    if (attn_step_finish(f))
        return;
    if (weights)
        attn_norm_read(f, weights);
    run_rows(f, operation, x, x, f->model->config.d_model);
    if (is_last)
        attn_visit(f, site, x);
}

void attn_output_step(struct attn_forward *f, enum attn_site site,
                      const struct attn_norm_weights *norm, const struct attn_norm_weights *scale,
                      float *x)
{
    const struct attn_factor_config *factors = &f->model->config.factors;
    const double own = site == ATTN_SITE_ATTN_OUT    ? factors->attn_out
                       : site == ATTN_SITE_MIXER_OUT ? factors->mixer_out
                                                     : factors->mlp_out;
    const double factor = own > 0 ? own : f->model->config.residual_scale;
    const bool has_factor = factor > 0;

    if (norm->w.data)
        change_output(f, site, NORMALIZE_ROWS, norm, !scale->w.data && !has_factor, x);
    if (scale->w.data)
        change_output(f, site, SCALE_ROWS, scale, !has_factor, x);
    if (!has_factor)
        return;
    if (find_visit(f, x)) /* it would come before the factor */
        f->pending.n_visit--;
    attn_scale_step(f, factor, x);
    attn_visit(f, site, x);
}

void attn_gate_step(struct attn_forward *f, enum attn_site site, float *x, const float *y)
{
    if (attn_step_finish(f))
        return;
    if (f->model->config.has_solu)
        run_rows(f, SOLU_ROWS, x, x, f->model->config.d_mlp);
    run_rows(f, GATE_ROWS, y, x, f->dims.d_mlp);
    attn_visit(f, site, x);
}

void attn_solu_step(struct attn_forward *f, const struct attn_norm_weights *norm,
                    enum attn_site site, float *x)
{
    if (attn_step_finish(f))
        return;
    run_rows(f, SOLU_ROWS, x, x, f->model->config.d_mlp);
    if (norm->w.data) {
        attn_norm_read(f, norm);
        run_rows(f, NORMALIZE_ROWS, x, x, f->model->config.d_mlp);
    }
    attn_visit(f, site, x);
}

void attn_activation_step(struct attn_forward *f, enum attn_site site, float *x)
{
    struct attn_linear_args *map = find_map(f, x);
    struct attn_pending_visit *before = find_visit(f, x);

    if (map && before && !f->feed.has_edits && !attn_forward_watches(f, before->site) &&
        !f->model->config.xielu) {
        map->has_activation = true;
        before->site = site;
        return;
    }
    if (attn_step_finish(f))
        return;
    run_rows(f, ACTIVATE_ROWS, x, x, f->dims.d_mlp);
    attn_visit(f, site, x);
}

/* Makes the map that computes X also compute sum = sum + x. Returns false if no map waits for X, or
 * if edits could change X before the sum. */
static bool add_by_map(struct attn_forward *f, float *sum, const float *x)
{
    struct attn_linear_args *map = f->feed.has_edits ? NULL : find_map(f, x);

    if (map)
        map->sum = sum;
    return map;
}

void attn_sum_step(struct attn_forward *f, float *sum, const float *x)
{
    const bool is_added = add_by_map(f, sum, x);

    attn_step_finish(f);
    if (!is_added && !attn_forward_is_over(f))
        run_rows(f, ADD_ROWS, x, sum, f->model->config.d_model);
}

/* Adds the rows that f->added has for this layer to the stream X. */
static void add_given_rows(struct attn_forward *f, float *x)
{
    const size_t d = f->model->config.d_model, layer = (size_t)f->feed.layer;

    for (size_t i = 0; i < f->feed.n_part; i++) {
        const struct attn_site_rows left = attn_feed_part_left(&f->parts[i]);

        for (size_t row = 0; row < left.n_row && left.row0 + row < f->added.n; row++) {
            float *to = x + (left.first + row) * d;

            f->engine.kernels->add(to, f->added.rows + (layer * f->added.n + left.row0 + row) * d,
                                   d, to);
        }
    }
    attn_forward_check_finite(f, x, f->feed.n_left * d);
}

void attn_residual_step(struct attn_forward *f, enum attn_site site, float *resid, const float *x)
{
    const size_t d = f->model->config.d_model;
    const bool has_residual = f->model->config.has_residual;
    const bool is_added = has_residual && add_by_map(f, resid, x);

    if (attn_step_finish(f))
        return;
    if (!is_added) {
        if (has_residual)
            run_rows(f, ADD_ROWS, x, resid, d);
        else
            memcpy(resid, x, f->feed.n_left * d * sizeof(float));
        attn_forward_check_finite(f, resid, f->feed.n_left * d);
    }
    if (site == ATTN_SITE_RESID_POST && (size_t)f->feed.layer < f->added.n_layer)
        add_given_rows(f, resid);
    visit_finite(f, site, resid);
}

/* --- xIELU ------------------------------------------------------------------------------------ */

static double value_at(const struct attn_xielu *of, double x)
{
    if (x > 0)
        return (of->a * x + of->beta) * x;
    return (attn_exp(fmin(x, of->eps)) - 1 - x) * of->c + of->beta * x;
}

static double slope_at(const struct attn_xielu *of, double x)
{
    if (x > 0)
        return 2 * of->a * x + of->beta;
    return ((x < of->eps ? attn_exp(x) : 0) - 1) * of->c + of->beta;
}

void attn_xielu_run(const struct attn_xielu *of, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)value_at(of, (double)x[i]);
}

void attn_xielu_back(const struct attn_xielu *of, const float *x, bool is_constant, size_t n,
                     float *dy)
{
    for (size_t i = 0; i < n; i++) {
        const double at = (double)x[i];
        const bool has_ratio = is_constant && at != 0;

        dy[i] *= (float)(has_ratio ? value_at(of, at) / at : slope_at(of, at));
    }
}
