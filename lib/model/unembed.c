/*
 * unembed.c - see unembed.h.
 *
 * Watched logits are computed a few rows at a time, since a row is as wide as the vocabulary. The
 * logits of the last position are computed when attn_session_logits is called. Either way a logit
 * is the same chain of products, then the bias, then the soft cap.
 */
#include "model/unembed.h"

#include "base/pool_internal.h"
#include "model/step.h"

#include <string.h>

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

void attn_unembed_rows(struct attn_forward *f, const float *x, size_t n_row, float *logits)
{
    const size_t n_vocab = f->dims.n_vocab;
    const struct attn_linear_args map = {
        .linear = &f->model->weights.unembed,
        .engine = &f->engine,
        .scratch = f->heads.scratch,
        .x = x,
        .ldx = f->dims.d_model,
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
        attn_stage_run_linear(&f->stage, &map, 1, f->feed.pool);
    if (f->model->config.logits_cap > 0)
        attn_pool_run(f->feed.pool, n_row, cap_row, &(struct cap_work){f, logits});
}

/* Rows of logits of one sequence. */
struct span {
    size_t sequence, position, n;
};

/* Those of the N rows from ROW on, counted over all that was fed, that belong to the sequence of
 * the first. */
static struct span find_span(const struct attn_forward *f, size_t row, size_t n)
{
    const size_t sequence = attn_forward_find_sequence(f, row);
    const struct attn_feed_part *part = &f->parts[sequence];
    struct span span = {sequence, row, n};

    if (!f->feed.is_pack) /* ROW may have been fed before */
        return span;
    span.position = row - part->first;
    if (span.n > part->n_row - span.position)
        span.n = part->n_row - span.position;
    return span;
}

/* The same of rows that are counted over those that are left. */
static struct span find_span_left(const struct attn_forward *f, size_t row, size_t n)
{
    const size_t sequence = attn_forward_find_left(f, row);
    const struct attn_site_rows left = attn_feed_part_left(&f->parts[sequence]);
    const size_t at = row - left.first, rest = left.n_row - at;

    return (struct span){sequence, left.row0 + at, n < rest ? n : rest};
}

static void edit_span(struct attn_forward *f, const struct span *span, float *logits)
{
    const size_t n_vocab = f->dims.n_vocab;
    const struct attn_edit_target target = {.site = ATTN_SITE_LOGITS,
                                            .layer = ATTN_NO_LAYER,
                                            .head = ATTN_ALL_HEADS,
                                            .row0 = span->position,
                                            .n_row = span->n,
                                            .n_col = n_vocab,
                                            .ld = n_vocab,
                                            .data = logits};

    attn_visit_edit(f, span->sequence, &target);
}

void attn_unembed_edit(struct attn_forward *f, size_t first, size_t n_row, float *logits)
{
    for (size_t row = 0; row < n_row && f->feed.has_edits;) {
        const struct span span = find_span(f, first + row, n_row - row);

        edit_span(f, &span, logits + row * f->dims.n_vocab);
        row += span.n;
    }
}

/* Edits f->logits [n_row, V] of the rows FIRST and on of those that are left, and tells of them. */
static void tell_rows(struct attn_forward *f, size_t first, size_t n_row)
{
    const size_t n_vocab = f->dims.n_vocab;

    for (size_t row = 0; row < n_row;) {
        const struct span span = find_span_left(f, first + row, n_row - row);
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
        attn_visit_tell(f, &event);
        row += span.n;
    }
}

/* The logits of the rows of X [n_row, D] that are watched, as many at a time as there is room
 * for. */
static void tell_logits(struct attn_forward *f, const float *x)
{
    const size_t n_row = f->feed.n_left;
    size_t row = 0;

    while (row < n_row && !attn_forward_is_stopped(f)) {
        size_t n = 0;

        while (row + n < n_row && n < f->n_logit_row &&
               attn_forward_watches_row(f, find_span_left(f, row + n, 1).position))
            n++;
        if (n > 0) {
            attn_unembed_rows(f, x + row * f->dims.d_model, n, f->logits);
            tell_rows(f, row, n);
        }
        row += n > 0 ? n : 1;
    }
}

/* Keeps rows of X, which the output layer reads, where all that was fed has them. */
static void keep_rows(struct attn_forward *f, const float *x)
{
    const size_t d = f->dims.d_model;

    for (const struct attn_feed_part *part = f->parts; part < f->parts + f->feed.n_part; part++) {
        const struct attn_site_rows left = attn_feed_part_left(part);
        const size_t row = f->feed.is_pack ? part->first + left.row0 : left.row0;

        memcpy(f->final + row * d, x + left.first * d, left.n_row * d * sizeof *x);
    }
}

void attn_unembed_run(struct attn_forward *f)
{
    const bool has_norm = f->model->config.has_final_norm;
    const float *x = has_norm ? f->normed : f->resid;

    if (attn_forward_is_over(f))
        return;
    if (has_norm) {
        attn_norm_step(f, &f->model->weights.ln_final, f->resid, f->normed);
        attn_visit(f, ATTN_SITE_LN_FINAL, f->normed);
    }
    if (f->has_logits)
        keep_rows(f, x);
    if (attn_forward_watches(f, ATTN_SITE_LOGITS))
        tell_logits(f, x);
}
