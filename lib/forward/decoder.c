/*
 * decoder.c - the layers before and after the blocks.
 *
 *     resid_pre = embed[id] + W_type[type] + W_pos[p], then normalized and mapped to d_model
 *     resid_pre = [cls + W_pos[0]; registers; patches W + b + W_pos[1 + p]] of a picture
 *     logits    = ln_final(resid) W_U + b_U
 *     mlm_head  = norm(act(ln_final(resid) W + b)), which W_U reads if there is such a head; in an
 *                 image classifier it reads [CLS], or that beside the mean of the patches
 *     text_embed, image_embed = ln_final(resid)[row] W, of one row
 *
 * Parts that a config leaves out are skipped.
 *
 * Watched logits are computed a few rows at a time, since a row is as wide as the vocabulary; the
 * logits of the last position when attn_session_logits is called. Either way a logit is the same
 * chain of products, then the bias, then the soft cap.
 */
#include "forward/step_internal.h"

#include "base/dtype_internal.h"
#include "base/pool_internal.h"
#include "model/image_patches.h"

#include <math.h>
#include <string.h>

void attn_decoder_begin(struct attn_forward *f, size_t n, struct attn_error *err)
{
    struct attn_feed *feed = &f->feed;
    double work;

    *feed = (struct attn_feed){.n_part = n,
                               .first_layer = ATTN_NO_LAYER,
                               .layer = ATTN_NO_LAYER,
                               .status = ATTN_OK,
                               .err = err};
    f->pending.n_map = f->pending.n_visit = 0;
    for (size_t i = 0; i < n; i++) { /* its rows per sequence, and their place */
        struct attn_feed_part *part = &f->parts[i];

        part->first = part->left = feed->n_row;
        part->n_dropped = part->n_cut = part->n_edited = 0;
        feed->n_row += part->n_row;
        feed->has_edits = feed->has_edits || part->n_edit > 0;
        if (f->dropouts)
            attn_random_seed(&f->dropouts[i], f->attention[0].dropout_seed);
    }
    feed->n_left = feed->n_row;
    work = attn_plan_work(f, feed->n_row);
    if (work >= ATTN_SHARED_WORK)
        feed->pool = f->pool;
    attn_gemm_engine_go_on(&f->engine, attn_model_add_work(f->model, work));
    attn_engines_plan(&f->engines, &f->engine, &f->shape, f->attention, f->dims.n_layer,
                      f->parts[0].n_row);
    f->n_engine_row = f->parts[0].n_row;
    for (size_t i = 0; i < f->n_rotary; i++)
        for (size_t sequence = 0; sequence < n; sequence++) { /* the angles of all rows */
            const struct attn_feed_part *part = &f->parts[sequence];
            const size_t at = part->first * (f->rotaries[i].rope->d_rotary / 2);
            struct attn_rotary rows = f->rotaries[i];

            rows.cosines += at;
            rows.sines += at;
            attn_rotary_fill(&rows, f->engine.kernels, part->row0, part->n_row, feed->pool);
        }
}

/* --- the output ------------------------------------------------------------------------------- */

/* Rows of logits, on the pool. */
struct cap_work {
    const struct attn_forward *f;
    float *logits;
};

static void cap_row(void *context, size_t row, int worker)
{
    const struct cap_work *work = context;
    const size_t n_vocab = work->f->dims.n_vocab;

    (void)worker;
    work->f->engine.kernels->soft_cap(work->logits + row * n_vocab, n_vocab,
                                      (float)work->f->model->config.logits_cap);
}

void attn_decoder_unembed(struct attn_forward *f, const float *x, size_t n_row, float *logits)
{
    const size_t n_vocab = f->dims.n_vocab;
    const struct attn_linear_args map = {
        .linear = &f->model->weights.unembed,
        .engine = &f->engine,
        .scratch = f->heads.scratch,
        .x = x,
        .ldx = f->model->weights.unembed.weight.n_row,
        .n_row = n_row,
        .compute = f->compute,
        .rounded = f->rounded,
        .y = logits,
        .ldy = n_vocab,
        .last_col = n_vocab,
    };

    if (f->n_logit_row > 0 && f->n_logit_row < f->feed.n_row)
        attn_linear_run(&map, 1, f->feed.pool); /* the matrix is read several times */
    else
        attn_weight_buffer_run_linear(&f->weight_buffer, &map, 1, f->feed.pool);
    if (f->model->config.logits_cap > 0)
        attn_pool_run(f->feed.pool, n_row, cap_row, &(struct cap_work){f, logits});
}

/* Rows of logits of one sequence; a classifier has one row, number 0. */
struct logit_span {
    size_t sequence, position, n;
};

/* The rows among N from ROW on, of those that are left, in the sequence of the first. */
static struct logit_span find_span(const struct attn_forward *f, size_t row, size_t n)
{
    const size_t sequence = attn_forward_find_sequence(f, row, true);
    const struct attn_site_rows left = attn_feed_part_left(&f->parts[sequence]);
    const size_t at = row - left.first, rest = left.n_row - at;

    if (f->dims.is_pooled)
        return (struct logit_span){row, 0, 1};
    return (struct logit_span){sequence, left.row0 + at, n < rest ? n : rest};
}

static void edit_span(struct attn_forward *f, const struct logit_span *span, float *logits)
{
    const size_t n_vocab = f->dims.n_vocab;
    const struct attn_edit_target target = {.site = ATTN_SITE_LOGITS,
                                            .layer = ATTN_NO_LAYER,
                                            .n_uncounted = f->parts[span->sequence].n_uncounted,
                                            .head = ATTN_ALL_HEADS,
                                            .row0 = span->position,
                                            .n_row = span->n,
                                            .n_col = n_vocab,
                                            .ld = n_vocab,
                                            .data = logits};

    attn_visit_edit(f, span->sequence, &target);
}

void attn_decoder_unembed_edit(struct attn_forward *f, size_t first, size_t n_row, float *logits)
{
    for (size_t row = 0; row < n_row && f->feed.has_edits;) {
        const size_t sequence = attn_forward_find_sequence(f, first + row, false);
        const struct attn_feed_part *part = &f->parts[sequence];
        struct logit_span span = {sequence, first + row, n_row - row};

        if (f->dims.is_pooled) {
            span = (struct logit_span){first + row, 0, 1};
        } else if (f->feed.is_pack) { /* else the row may have been fed before */
            span.position -= part->first;
            if (span.n > part->n_row - span.position)
                span.n = part->n_row - span.position;
        }
        edit_span(f, &span, logits + row * f->dims.n_vocab);
        row += span.n;
    }
}

/* The logits of rows of X [n_row, rows of W_U] that are watched, edited, a few at a time. */
static void emit_logits(struct attn_forward *f, const float *x)
{
    const bool is_pooled = f->dims.is_pooled;
    const size_t n_row = is_pooled ? f->feed.n_part : f->feed.n_left, n_vocab = f->dims.n_vocab;
    size_t first = 0;

    while (first < n_row && !attn_forward_is_stopped(f)) {
        size_t n = 0;

        while (first + n < n_row && n < f->n_logit_row &&
               (is_pooled || attn_forward_watches_row(f, find_span(f, first + n, 1).position)))
            n++;
        if (n > 0)
            attn_decoder_unembed(f, x + first * f->model->weights.unembed.weight.n_row, n,
                                 f->logits);
        for (size_t row = 0; row < n;) {
            const struct logit_span span = find_span(f, first + row, n - row);
            const struct attn_trace_event event = {.sequence = span.sequence,
                                                   .site = ATTN_SITE_LOGITS,
                                                   .layer = ATTN_NO_LAYER,
                                                   .head = ATTN_ALL_HEADS,
                                                   .row0 = span.position,
                                                   .n_row = span.n,
                                                   .n_col = n_vocab,
                                                   .ld = n_vocab,
                                                   .data = f->logits + row * n_vocab};

            edit_span(f, &span, f->logits + row * n_vocab);
            attn_visit_emit(f, &event);
            row += span.n;
        }
        first += n > 0 ? n : 1;
    }
}

/* The row of PART, a whole sequence, from which text_embed or image_embed is made: [CLS] for
 * pictures; the end token of a text or, as in transformers, its first token if it has no end token;
 * the last row of embeddings. */
static size_t find_projected(const struct attn_config *config, const struct attn_feed_part *part)
{
    size_t row = 0;

    if (config->image.patch_height > 0)
        return 0;
    if (!part->ids)
        return part->n_row - 1;
    for (size_t i = 0; i < part->n_row; i++) {
        if (config->projected_id != ATTN_LARGEST_ID && part->ids[i] == config->projected_id)
            return i;
        if (config->projected_id == ATTN_LARGEST_ID && part->ids[i] > part->ids[row])
            row = i;
    }
    return row;
}

/* text_embed or image_embed of each sequence, from its rows of X [n_row, D]. */
static void run_projection(struct attn_forward *f, const float *x)
{
    const struct attn_config *config = &f->model->config;
    const size_t n = f->feed.n_part, d = f->dims.d_model;
    float *projected = f->projected + n * d;
    const struct attn_linear_args map = {.linear = &f->model->weights.projection,
                                         .engine = &f->engine,
                                         .scratch = f->heads.scratch,
                                         .x = f->projected,
                                         .ldx = d,
                                         .n_row = n,
                                         .compute = f->compute,
                                         .rounded = f->rounded,
                                         .y = projected,
                                         .ldy = f->dims.d_projected,
                                         .last_col = f->dims.d_projected};

    for (size_t i = 0; i < n; i++) {
        const struct attn_feed_part *part = &f->parts[i];
        const size_t row = part->left + find_projected(config, part);

        memcpy(f->projected + i * d, x + row * d, d * sizeof *x);
    }
    attn_weight_buffer_run_linear(&f->weight_buffer, &map, 1, f->feed.pool);
    attn_forward_check_finite(f, projected, n * f->dims.d_projected);
    attn_visit(f, config->image.patch_height > 0 ? ATTN_SITE_IMAGE_EMBED : ATTN_SITE_TEXT_EMBED,
               projected);
}

/* Y [n] = X / its length; a vector of zeros stays as it is. */
static void divide_by_length(const float *x, size_t n, float *y)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    for (size_t i = 0; i < n; i++)
        y[i] = sum > 0 ? (float)((double)x[i] / sqrt(sum)) : 0;
}

/* The input of a classifier, from the rows X [n_row, D] of each sequence: one row each. */
static void pool_rows(struct attn_forward *f, const float *x)
{
    const struct attn_image_config *image = &f->model->config.image;
    const size_t d = f->dims.d_model, n_front = 1 + image->n_register;

    for (size_t i = 0; i < f->feed.n_part; i++) {
        const struct attn_feed_part *part = &f->parts[i];
        const float *rows = x + part->left * d;
        float *y = f->final + i * f->model->weights.unembed.weight.n_row;

        if (image->pooling == ATTN_POOLING_PROJECTED) {
            divide_by_length(f->projected + f->feed.n_part * d + i * f->dims.d_projected,
                             f->dims.d_projected, y);
            continue;
        }
        memcpy(y, rows, d * sizeof *y);
        for (size_t k = 0; k < d && image->pooling == ATTN_POOLING_FIRST_AND_MEAN; k++) {
            double sum = 0;

            for (size_t row = n_front; row < part->n_row; row++)
                sum += (double)rows[row * d + k];
            y[d + k] = (float)(sum / (double)(part->n_row - n_front));
        }
    }
}

/* The input of the output layer for the rows of the feed, kept for later, and watched logits. */
static void run_output(struct attn_forward *f)
{
    const bool has_norm = f->model->config.has_final_norm;
    const struct attn_weights *weights = &f->model->weights;
    const float *x = has_norm ? f->normed : f->resid;
    const size_t d = weights->unembed.weight.n_row;

    if (attn_forward_is_over(f))
        return;
    if (has_norm) {
        attn_norm_step(f, &weights->ln_final, f->resid, f->normed);
        attn_visit(f, ATTN_SITE_LN_FINAL, f->normed);
    }
    if (weights->head.weight.data) {
        attn_map_step(f, &weights->head, &f->head_activation, x, f->out);
        attn_norm_step(f, &weights->ln_head, f->out, f->out);
        attn_visit(f, ATTN_SITE_MLM_HEAD, f->out);
        x = f->out;
    }
    if (f->is_projected && !attn_forward_is_over(f))
        run_projection(f, x);
    if (f->dims.is_pooled && (f->has_logits || attn_forward_watches(f, ATTN_SITE_LOGITS)) &&
        !attn_forward_is_over(f)) {
        pool_rows(f, x);
        x = f->final;
    }
    for (size_t i = 0; i < f->feed.n_part && f->has_logits && !f->dims.is_pooled; i++) {
        const struct attn_feed_part *part = &f->parts[i];
        const struct attn_site_rows left = attn_feed_part_left(part);
        const size_t row = f->feed.is_pack ? part->first + left.row0 : left.row0;

        memcpy(f->final + row * d, x + left.first * d, left.n_row * d * sizeof *x);
    }
    if (attn_forward_watches(f, ATTN_SITE_LOGITS))
        emit_logits(f, x);
}

/* --- all of it -------------------------------------------------------------------------------- */

/* resid[i] = resid[i] + TABLE[row], [n, De] */
static void add_row(struct attn_forward *f, const struct attn_tensor *table, size_t row, size_t i)
{
    const size_t d = f->model->config.d_embed;
    float *x = f->resid + i * d;

    f->engine.kernels->convert((const char *)table->data + row * attn_dtype_n_byte(table->dtype, d),
                               table->dtype, d, f->vectors);
    f->engine.kernels->add(x, f->vectors, d, x);
}

/* resid[i] = embed[i] + W_type[types[i]] + W_pos[p], for one sequence; p is row0 + i, unless tokens
 * that pad are not counted. */
static void add_rows(struct attn_forward *f, const struct attn_feed_part *part)
{
    const struct attn_weights *weights = &f->model->weights;
    const size_t first = f->model->config.first_position;
    size_t next = first + part->row0;

    for (size_t i = 0; i < part->n_row; i++) {
        const bool is_pad = first > 0 && part->ids && (size_t)part->ids[i] == first - 1;

        if (weights->types.data)
            add_row(f, &weights->types, part->types ? (size_t)part->types[i] : 0, part->first + i);
        if (weights->positions.data)
            add_row(f, &weights->positions, is_pad ? first - 1 : next, part->first + i);
        next += !is_pad;
    }
}

/* The rows of a picture: resid = patches W + b, but for [CLS] and registers. */
static void embed_patches(struct attn_forward *f, const struct attn_feed_part *part)
{
    const struct attn_weights *weights = &f->model->weights;
    const struct attn_kernels *kernels = f->engine.kernels;
    const size_t d = f->model->config.d_embed;

    attn_map_step(f, &weights->patches, NULL, f->patches, f->resid);
    kernels->convert(weights->cls.data, weights->cls.dtype, d, f->resid);
    if (part->grid.n_front > 1)
        kernels->convert(weights->registers.data, weights->registers.dtype,
                         (part->grid.n_front - 1) * d, f->resid + d);
}

/* resid[i] += W_pos[p] of [CLS] and of the patches, resampled where the grid is another. */
static void add_places(struct attn_forward *f, const struct attn_feed_part *part)
{
    const struct attn_image_grid *grid = &part->grid;
    const struct attn_image_config *image = &f->model->config.image;
    const size_t d = f->model->config.d_embed;
    const struct attn_resampling resampling = {.resample = image->resample,
                                               .table = &f->model->weights.positions,
                                               .n = attn_image_side(image),
                                               .d = d,
                                               .grid = grid,
                                               .kernels = f->engine.kernels,
                                               .row = f->vectors};

    add_row(f, &f->model->weights.positions, 0, 0);
    for (size_t i = 0; i < grid->n_row * grid->n_col; i++) {
        float *x = f->resid + (grid->n_front + i) * d;

        if (part->has_usual_grid) {
            add_row(f, &f->model->weights.positions, 1 + i, grid->n_front + i);
            continue;
        }
        attn_image_resample(&resampling, i / grid->n_col, i % grid->n_col, f->vectors + d);
        f->engine.kernels->add(x, f->vectors + d, d, x);
    }
}

/* From the embedding to the stream into layer 0. */
static void run_embedding(struct attn_forward *f)
{
    const struct attn_weights *weights = &f->model->weights;
    const size_t d = f->model->config.d_embed;
    const bool is_image = f->parts[0].grid.n_row > 0;

    if (is_image)
        embed_patches(f, &f->parts[0]);
    attn_visit(f, ATTN_SITE_EMBED, f->resid);
    if (is_image && !attn_forward_is_over(f))
        add_places(f, &f->parts[0]);
    for (size_t i = 0;
         i < f->feed.n_part && !is_image && (weights->types.data || weights->positions.data); i++)
        add_rows(f, &f->parts[i]);
    attn_forward_check_finite(f, f->resid, f->feed.n_row * d);
    if (weights->ln_embed.w.data)
        attn_norm_step(f, &weights->ln_embed, f->resid, f->resid);
    if (weights->embed_map.weight.data && !attn_forward_is_over(f)) {
        memcpy(f->normed, f->resid, f->feed.n_row * d * sizeof *f->normed);
        attn_map_step(f, &weights->embed_map, NULL, f->normed, f->resid);
    }
}

enum attn_status attn_decoder_run(struct attn_forward *f)
{
    const int n_layer = (int)f->dims.n_layer, first = f->feed.first_layer;

    if (first == ATTN_NO_LAYER)
        run_embedding(f);
    for (int layer = first == ATTN_NO_LAYER ? 0 : first;
         layer < n_layer && !attn_forward_is_stopped(f); layer++)
        attn_block_run(f, layer);
    if (!attn_forward_is_stopped(f))
        run_output(f);
    return f->feed.status;
}
