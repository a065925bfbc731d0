/*
 * decoder.c - the parts of a model before and after the blocks.
 *
 *     resid_pre = embed[id] + W_type[type] + W_pos[p], then normalized and mapped to d_model
 *     resid_pre = [cls + W_pos[0]; registers; patches W + b + W_pos[1 + p]] for a picture
 *     logits = ln_final(resid) W_U + b_U; there may be a map to d_embed before W_U
 *     mlm_head = norm(act(ln_final(resid) W + b)), the input of W_U if the model has such a head
 *     pooled = the input of W_U of a classifier, one row for all positions: [CLS], for DINOv2 next
 *              to the mean of the patches; the mean of a text, or its last row; perhaps mapped
 *     text_embed, image_embed = ln_final(resid)[row] W, for one row
 *     sentence_embed = the modules of a sentence model (model/sentence.c), from all rows
 *
 * Parts that the config lacks are skipped.
 *
 * Watched logits are computed a few rows at a time, because a row is as wide as the vocabulary. The
 * logits of the last position are computed when attn_session_logits is called. In both cases a
 * logit is the same chain of products, then the bias, the factor and the soft cap.
 */
#include "forward/step_internal.h"

#include "attention/keys.h"
#include "base/pool_internal.h"
#include "model/config_internal.h"
#include "model/embedding.h"
#include "model/model_internal.h"

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
    for (size_t i = 0; i < n; i++) { /* set the place of each sequence among the rows of the feed */
        struct attn_feed_part *part = &f->parts[i];

        part->first = part->left = feed->n_row;
        part->n_dropped = part->n_cut = part->n_edited = 0;
        feed->n_row += part->n_row;
        feed->has_edits = feed->has_edits || part->n_edit > 0;
        feed->has_functions =
            feed->has_functions || attn_edits_have_function(part->edits, part->n_edit);
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
        for (size_t sequence = 0; sequence < n; sequence++) { /* compute the angles of all rows */
            const struct attn_feed_part *part = &f->parts[sequence];
            const size_t at = part->first * (f->rotaries[i].rope->d_rotary / 2);
            struct attn_rotary rows = f->rotaries[i];

            f->n_turned = part->row0 + part->n_row;
            f->n_turned = f->n_turned > f->n_text ? f->n_turned : f->n_text;
            rows.cosines += at;
            rows.sines += at;
            rows.query_factors += rows.query_factors ? part->first : 0;
            attn_rotary_fill(&rows, f->engine.kernels, part->row0, part->n_row, f->n_turned,
                             feed->pool);
        }
}

/* --- Output ----------------------------------------------------------------------------------- */

/* Rows of logits to finish on the pool. */
struct finish_work {
    const struct attn_forward *f;
    float *logits;
};

/* Applies the factor and the soft cap to a row of logits. */
static void finish_row(void *context, size_t row, int worker)
{
    const struct finish_work *work = context;
    const size_t n_vocab = work->f->dims.n_vocab;
    const struct attn_config *config = &work->f->model->config;
    float *logits = work->logits + row * n_vocab;

    (void)worker;
    if (config->logits_scale > 0)
        work->f->engine.kernels->scale(logits, (float)config->logits_scale, n_vocab, logits);
    if (config->logits_cap > 0)
        work->f->engine.kernels->soft_cap(logits, n_vocab, (float)config->logits_cap);
}

void attn_decoder_unembed(struct attn_forward *f, const float *x, size_t n_row, float *logits)
{
    const struct attn_linear_args map =
        attn_map_of(f, &f->model->weights.unembed, x, n_row, logits);

    if (f->n_logit_row > 0 && f->n_logit_row < f->feed.n_row)
        attn_linear_run(&map, 1, f->feed.pool); /* read several times: not copied */
    else
        attn_weight_buffer_run_linear(&f->weight_buffer, &map, 1, f->feed.pool);
    if (f->model->config.logits_scale > 0 || f->model->config.logits_cap > 0)
        attn_pool_run(f->feed.pool, n_row, finish_row, &(struct finish_work){f, logits});
}

/* Some rows of logits of one sequence. A classifier has one row, number 0. */
struct logit_span {
    size_t sequence, position, n;
};

/* Returns the span of rows among the N from ROW on that belong to one sequence, that of ROW. Rows
 * are counted without dropped ones. */
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
    const struct attn_edit_target target = {.at.site = ATTN_SITE_LOGITS,
                                            .at.layer = ATTN_NO_LAYER,
                                            .n_uncounted = f->parts[span->sequence].n_uncounted,
                                            .at.head = ATTN_ALL_HEADS,
                                            .row0 = span->position,
                                            .n_row = span->n,
                                            .n_col = n_vocab,
                                            .ld = n_vocab,
                                            .data = logits};

    attn_visit_edit(f, span->sequence, 1, &target);
}

void attn_decoder_unembed_edit(struct attn_forward *f, size_t first, size_t n_row, float *logits)
{
    for (size_t row = 0; row < n_row && f->feed.has_edits;) {
        const size_t sequence = attn_forward_find_sequence(f, first + row, false);
        const struct attn_feed_part *part = &f->parts[sequence];
        struct logit_span span = {sequence, first + row, n_row - row};

        if (f->dims.is_pooled) {
            span = (struct logit_span){first + row, 0, 1};
        } else if (f->feed.is_pack) { /* otherwise the row may be from an earlier feed */
            span.position -= part->first;
            if (span.n > part->n_row - span.position)
                span.n = part->n_row - span.position;
        }
        edit_span(f, &span, logits + row * f->dims.n_vocab);
        row += span.n;
    }
}

/* Computes the logits of watched rows of X [n_row, rows of W_U], a few at a time, applies edits and
 * emits them. */
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
                                                   .at.site = ATTN_SITE_LOGITS,
                                                   .at.layer = ATTN_NO_LAYER,
                                                   .at.head = ATTN_ALL_HEADS,
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

/* Y [n] = X / its length; zeros if the length is 0. */
static void divide_by_length(const float *x, size_t n, float *y)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    for (size_t i = 0; i < n; i++)
        y[i] = sum > 0 ? (float)((double)x[i] / sqrt(sum)) : 0;
}

/* The rows [n, d] of one text, of which MASK, if any, leaves some out. */
struct pooled_rows {
    const float *x;
    const int32_t *mask;
    size_t n, d;
};

/* Y [d] = the sum POOL of the rows. */
static void find_sum(const struct pooled_rows *rows, enum attn_pooled pool, float *y)
{
    const double total = attn_pooled_total(pool, rows->mask, rows->n);

    for (size_t k = 0; k < rows->d; k++) {
        double sum = 0;

        for (size_t row = 0; row < rows->n; row++)
            if (attn_key_mask_pools(rows->mask, row))
                sum += attn_pooled_weight(pool, row) * (double)rows->x[row * rows->d + k];
        y[k] = (float)(sum / total);
    }
}

/* Pools ROWS into Y: the parts in POOLS, concatenated. */
static void pool_rows(const struct pooled_rows *rows, unsigned pools, float *y)
{
    const size_t d = rows->d, last = attn_key_mask_last(rows->mask, rows->n);
    const float *x = rows->x;

    for (; pools > 0; pools >>= 4) {
        const enum attn_pooled pool = pools & 15;

        memcpy(y, x + attn_pooled_row(pool, rows->mask, rows->n) * d, d * sizeof *y);
        for (size_t i = 0; i < last * d && pool == ATTN_POOLED_MAX; i++)
            if (attn_key_mask_pools(rows->mask, i / d) && x[i] > y[i % d])
                y[i % d] = x[i];
        if (attn_pooled_is_sum(pool))
            find_sum(rows, pool, y);
        y += d;
    }
}

/* Computes sentence_embed of each sequence from its pooled rows. The inputs of all modules are kept
 * in f->gathered, one after the other. */
static void run_modules(struct attn_forward *f)
{
    const struct attn_sentence *sentence = &f->model->sentence;
    float *x = f->gathered;
    size_t width = f->dims.d_model * attn_sentence_n_pool(sentence);

    for (size_t i = 0; i < sentence->n_step; i++) {
        const struct attn_sentence_step *step = &sentence->steps[i];
        float *y = x + f->feed.n_part * sentence->most;

        if (step->norm.w.data)
            attn_norm_read(f, &step->norm);
        for (size_t k = 0; k < f->feed.n_part && !step->map.weight.data; k++)
            if (step->norm.w.data)
                attn_norm_row(f, x + k * width, width, y + k * width);
            else
                divide_by_length(x + k * width, width, y + k * width);
        if (step->map.weight.data) {
            attn_map_step(f, &step->map, step->has_activation ? &step->activation : NULL, x,
                          f->feed.n_part, y);
            width = step->map.weight.n_col;
        }
        x = y;
    }
    memcpy(f->projected, x, f->feed.n_part * width * sizeof *x);
}

/* Returns the row of X [n_left, D] that is pooled for PART. */
static const float *find_pooled(const struct attn_forward *f, const struct attn_feed_part *part,
                                const float *x)
{
    const size_t row = attn_config_pooled_row(&f->model->config, part->ids, part->n_row);

    return x + (part->left + row - part->n_dropped) * f->dims.d_model;
}

/* Computes text_embed, image_embed or sentence_embed of each sequence, from its rows of X [n_row,
 * D]. */
static void run_projection(struct attn_forward *f, const float *x)
{
    const struct attn_config *config = &f->model->config;
    const struct attn_sentence *sentence = &f->model->sentence;
    const size_t n = f->feed.n_part, d = f->dims.d_model;

    for (size_t i = 0; i < n; i++) {
        const struct attn_feed_part *part = &f->parts[i];

        if (config->is_sentence)
            pool_rows(&(struct pooled_rows){x + part->left * d, part->key_mask, part->n_row, d},
                      sentence->pools, f->gathered + i * d * attn_sentence_n_pool(sentence));
        else if (config->pool_head)
            config->pool_head->run(f, i, x + part->left * d, part->n_row, f->projected + i * d);
        else
            memcpy(f->gathered + i * d, find_pooled(f, part, x), d * sizeof *x);
    }
    if (config->is_sentence)
        run_modules(f);
    else if (!config->pool_head)
        attn_map_step(f, &f->model->weights.projection, NULL, f->gathered, n, f->projected);
    if (config->is_sentence)
        attn_forward_check_finite(f, f->projected, n * f->dims.d_projected);
    attn_visit(f,
               config->is_sentence              ? ATTN_SITE_SENTENCE_EMBED
               : config->image.patch_height > 0 ? ATTN_SITE_IMAGE_EMBED
                                                : ATTN_SITE_TEXT_EMBED,
               f->projected);
}

void attn_decoder_pool(struct attn_forward *f, const float *x)
{
    const struct attn_config *config = &f->model->config;
    const size_t d = f->dims.d_model, n_front = f->dims.n_front;

    for (size_t i = 0; i < f->feed.n_part; i++) {
        const struct attn_feed_part *part = &f->parts[i];
        const float *rows = x + part->left * d;
        float *y = f->final + i * f->model->weights.unembed.weight.n_row;

        if (config->pooling == ATTN_POOLING_PROJECTED)
            divide_by_length(f->projected + i * f->dims.d_projected, f->dims.d_projected, y);
        else if (attn_config_has_mean(config))
            find_sum(&(struct pooled_rows){rows, part->key_mask, part->n_row, d}, ATTN_POOLED_MEAN,
                     y);
        else
            memcpy(y, find_pooled(f, part, x),
                   (config->pooling == ATTN_POOLING_FIRST_TWO ? 2 : 1) * d * sizeof *y);
        if (config->pooling == ATTN_POOLING_FIRST_AND_MEAN)
            find_sum(&(struct pooled_rows){rows + n_front * d, NULL, part->n_row - n_front, d},
                     ATTN_POOLED_MEAN, y + d);
    }
}

/* Computes the input of a classifier's matrix, from the rows X [n_row, D], into f->final. */
static void run_pooled(struct attn_forward *f, const float *x)
{
    const struct attn_weights *weights = &f->model->weights;
    const size_t n = f->feed.n_part, d = weights->unembed.weight.n_row;

    attn_decoder_pool(f, x);
    if (f->dims.pools_heads)
        return;
    if (weights->head.weight.data) {
        attn_map_step(f, &weights->head, &f->head_activation, f->final, n, f->out);
        if (attn_forward_is_over(f))
            return;
        memcpy(f->final, f->out, n * d * sizeof *f->final);
    }
    if (weights->ln_head.w.data) {
        attn_norm_read(f, &weights->ln_head);
        for (size_t i = 0; i < n; i++)
            attn_norm_row(f, f->out + i * d, d, f->final + i * d);
    }
    if (f->model->config.pooling != ATTN_POOLING_PROJECTED)
        attn_visit(f, ATTN_SITE_POOLED, f->final);
}

/* Computes the input of the output layer for the rows of the feed, which is kept for later, and
 * emits watched logits. */
static void run_output(struct attn_forward *f)
{
    const bool has_norm = f->model->config.has_final_norm;
    const bool is_vocabulary = f->model->config.task == ATTN_TASK_VOCABULARY;
    const struct attn_weights *weights = &f->model->weights;
    const float *x = has_norm ? f->normed : f->resid;
    const size_t d = weights->unembed.weight.n_row;

    if (attn_step_finish(f))
        return;
    if (f->model->config.stream && f->feed.first_layer == ATTN_NO_LAYER)
        f->model->config.stream->end(f);
    if (has_norm) {
        attn_norm_step(f, &weights->ln_final, f->resid, f->normed);
        attn_visit(f, ATTN_SITE_LN_FINAL, f->normed);
    }
    if (f->model->config.has_output_map) {
        attn_map_step(f, &weights->head, NULL, x, f->feed.n_left, f->out);
        x = f->out;
    } else if (weights->head.weight.data && (!f->dims.is_pooled || f->dims.pools_heads)) {
        attn_map_step(f, &weights->head, &f->head_activation, x, f->feed.n_left, f->out);
        if (weights->ln_head.w.data)
            attn_norm_step(f, &weights->ln_head, f->out, f->out);
        attn_visit(f, is_vocabulary ? ATTN_SITE_MLM_HEAD : ATTN_SITE_POOLED, f->out);
        x = f->out;
    }
    if (f->is_projected && !attn_forward_is_over(f))
        run_projection(f, x);
    if (attn_forward_pools(f) && !attn_forward_is_over(f)) {
        run_pooled(f, x);
        x = f->final;
    }
    for (size_t i = 0; i < f->feed.n_part && f->has_logits && !f->dims.is_pooled; i++) {
        const struct attn_feed_part *part = &f->parts[i];
        const struct attn_site_rows left = attn_feed_part_left(part);
        const size_t row = f->feed.is_pack ? part->first + left.row0 : left.row0;

        memcpy(f->final + row * d, x + left.first * d, left.n_row * d * sizeof *x);
    }
    if (attn_forward_watches(f, ATTN_SITE_LOGITS) && !attn_forward_is_over(f))
        emit_logits(f, x);
}

/* --- The whole pass --------------------------------------------------------------------------- */

/* Computes the rows of a picture: resid = patches W + b, then [CLS] and registers. Does nothing if
 * all rows were given. */
static void embed_patches(struct attn_forward *f, const struct attn_feed_part *part)
{
    if (part->has_embeddings)
        return;
    attn_map_step(f, &f->model->weights.patches, NULL, f->patches, f->feed.n_left, f->resid);
    attn_model_fill_front(f->model, f->engine.kernels, part->grid.n_front, f->resid);
}

/* Maps resid from d_embed to d_model: resid = resid W + b. */
static void map_embedding(struct attn_forward *f)
{
    const struct attn_linear *map = &f->model->weights.embed_map;

    if (!map->weight.data || attn_forward_is_over(f))
        return;
    memcpy(f->normed, f->resid, f->feed.n_row * map->weight.n_row * sizeof *f->normed);
    attn_map_step(f, map, NULL, f->normed, f->feed.n_left, f->resid);
}

/* Computes the stream into layer 0 from the embeddings. */
static void run_embedding(struct attn_forward *f)
{
    const struct attn_weights *weights = &f->model->weights;
    const struct attn_kernels *kernels = f->engine.kernels;
    const bool is_mapped_first = attn_model_maps_first(f->model);
    const size_t d = is_mapped_first ? f->dims.d_model : f->model->config.d_embed;

    if (f->parts[0].grid.n_row > 0)
        embed_patches(f, &f->parts[0]);
    if (is_mapped_first)
        map_embedding(f);
    attn_visit(f, ATTN_SITE_EMBED, f->resid);
    for (size_t i = 0; i < f->feed.n_part && !attn_forward_is_over(f); i++) {
        const struct attn_feed_part *part = &f->parts[i];
        const struct attn_embedding_rows rows = {part->row0, part->n_row, part->ids, part->types,
                                                 part->grid};
        float *x = f->resid + part->first * d;

        attn_model_add_types(f->model, kernels, &rows, f->vectors, x);
        attn_model_add_positions(f->model, kernels, &rows, f->vectors, x);
    }
    attn_forward_check_finite(f, f->resid, f->feed.n_row * d);
    if (weights->ln_embed.w.data && !f->model->config.embed_norm_is_late)
        attn_norm_step(f, &weights->ln_embed, f->resid, f->resid);
    if (!is_mapped_first)
        map_embedding(f);
    if (weights->ln_embed.w.data && f->model->config.embed_norm_is_late)
        attn_norm_step(f, &weights->ln_embed, f->resid, f->resid);
    if (f->model->config.stream && !attn_forward_is_over(f))
        f->model->config.stream->begin(f);
}

/* Reports the layers up to LAYER of the rows so far. */
static void report(const struct attn_forward *f, int layer)
{
    const struct attn_feed_progress *progress = &f->progress;
    const size_t n_layer = f->dims.n_layer, n_row = f->feed.n_row;
    const size_t n = f->parts[0].row0 + n_row;
    const size_t total = n_layer * progress->n_row;

    if (progress->on_part && n <= progress->n_row)
        progress->on_part(progress->user,
                          progress->n_before * total + (n - n_row) * n_layer +
                              n_row * ((size_t)layer + 1),
                          (progress->n > 0 ? progress->n : 1) * total);
}

enum attn_status attn_decoder_run(struct attn_forward *f)
{
    const int n_layer = (int)f->dims.n_layer, first = f->feed.first_layer;

    if (first == ATTN_NO_LAYER) {
        run_embedding(f);
        attn_layer_inputs_make(f);
    } else {
        attn_resume_step(f);
    }
    for (int layer = first == ATTN_NO_LAYER ? 0 : first;
         layer < n_layer && !attn_forward_is_stopped(f); layer++) {
        attn_block_run(f, layer);
        report(f, layer);
    }
    if (!attn_forward_is_stopped(f))
        run_output(f);
    return f->feed.status;
}
