/* forward.c - decides which tensors a feed still needs and when it ends, and visits its tensors. */
#include "forward/forward_internal.h"

#include "base/os/thread.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "model/config_internal.h"
#include "trace/blocks_internal.h"
#include "trace/trace_internal.h"

#include <stdio.h>

enum { FINITE_PIECE = 1 << 14 }; /* numbers that one task checks */

/* --- Needed tensors --------------------------------------------------------------------------- */

bool attn_forward_is_cross(const struct attn_forward *f)
{
    return f->feed.layer != ATTN_NO_LAYER && f->model->config.is_cross[f->feed.layer];
}

/* Whether the rows of SITE belong to the source. */
static bool is_of_source(const struct attn_forward *f, enum attn_site site)
{
    return attn_site_layout(site) == ATTN_LAYOUT_KEY && attn_forward_is_cross(f);
}

void attn_forward_enter(struct attn_forward *f, int layer)
{
    const struct attn_config *config = &f->model->config;
    struct attn_layer_dims own = {config->n_kv_head, config->d_head, config->d_mlp, 0, 0, {NULL}};

    f->feed.layer = layer;
    if (!config->layer_dims)
        return;
    if (layer != ATTN_NO_LAYER)
        own = config->layer_dims[layer];
    f->dims.n_kv_head = own.n_kv_head;
    f->dims.d_head = f->dims.d_value = f->shape.d_head = f->shape.d_value = own.d_head;
    f->dims.d_mlp = own.d_mlp;
    f->shape.ldq = config->n_head * own.d_head;
    f->n_engine_row = 0; /* the kernels of attention are found anew */
}

struct attn_head_shape attn_forward_shape(const struct attn_forward *f, size_t layer)
{
    const struct attn_layer_dims own = attn_config_layer_dims(&f->model->config, layer);
    struct attn_head_shape shape = f->shape;

    if (f->model->config.layer_dims)
        shape.d_head = shape.d_value = own.d_head;
    return shape;
}

size_t attn_forward_cache_layer(const struct attn_forward *f, size_t layer)
{
    const struct attn_config *config = &f->model->config;
    const struct attn_layer_dims own = attn_config_layer_dims(config, layer);
    size_t first = 0;

    if (f->has_all_caches)
        return own.kv_layer;
    for (; first < layer; first++) {
        const struct attn_layer_dims other = attn_config_layer_dims(config, first);

        if (attn_config_has_attention(config, first) && other.d_head == own.d_head &&
            other.n_kv_head == own.n_kv_head)
            break;
    }
    return first;
}

struct attn_site_part attn_forward_part(const struct attn_forward *f, enum attn_site site)
{
    const enum attn_site_layout layout = attn_site_layout(site);
    struct attn_site_part part = {
        .n_row = f->feed.n_left, .n_head = 1, .width = attn_site_width(site, &f->dims)};

    if (layout == ATTN_LAYOUT_QUERY || layout == ATTN_LAYOUT_HEADS)
        part.n_head = f->dims.n_head;
    if (layout == ATTN_LAYOUT_KEY) {
        part.n_head = f->dims.n_kv_head;
        part.n_row = f->feed.n_row;
    }
    if (is_of_source(f, site))
        part.n_row = f->parts[0].row0 == 0 ? f->n_source : 0;
    if (attn_site_is_pooled(site, &f->dims))
        part.n_row = f->feed.n_part;
    return part;
}

struct attn_site_rows attn_feed_part_left(const struct attn_feed_part *part)
{
    return (struct attn_site_rows){part->left, part->row0 + part->n_dropped,
                                   part->n_row - part->n_dropped - part->n_cut};
}

bool attn_feed_part_has_logits(const struct attn_feed_part *part, size_t row0, size_t n_row)
{
    return part->n_logit == 0 ||
           (row0 < part->logit0 + part->n_logit && part->logit0 < row0 + n_row);
}

struct attn_site_rows attn_forward_rows(const struct attn_forward *f, enum attn_site site,
                                        size_t sequence)
{
    const struct attn_feed_part *part = &f->parts[sequence];

    if (is_of_source(f, site)) /* a source implies a single sequence */
        return (struct attn_site_rows){.n_row = part->row0 == 0 ? f->n_source : 0};
    if (attn_site_layout(site) == ATTN_LAYOUT_KEY)
        return (struct attn_site_rows){part->first, part->row0, part->n_row};
    if (attn_site_is_pooled(site, &f->dims))
        return (struct attn_site_rows){sequence, 0, 1};
    if (site == ATTN_SITE_EMBED) /* no rows are dropped at this site */
        return (struct attn_site_rows){part->first + f->dims.n_front, part->row0 + f->dims.n_front,
                                       part->n_row - f->dims.n_front};
    return attn_feed_part_left(part);
}

size_t attn_forward_find_sequence(const struct attn_forward *f, size_t row, bool is_left)
{
    size_t sequence = 0;

    for (; sequence + 1 < f->feed.n_part; sequence++) {
        const struct attn_feed_part *next = &f->parts[sequence + 1];

        if (row < (is_left ? next->left : next->first))
            break;
    }
    return sequence;
}

struct attn_step_place attn_forward_place(const struct attn_forward *f, enum attn_site site,
                                          int layer)
{
    if (attn_site_is_in_layer(site))
        return (struct attn_step_place){layer, site};
    return (struct attn_step_place){site == ATTN_SITE_EMBED ? -1 : (int)f->dims.n_layer, site};
}

int attn_place_compare(struct attn_step_place a, struct attn_step_place b)
{
    return a.layer != b.layer ? a.layer - b.layer
                              : attn_site_index(a.site) - attn_site_index(b.site);
}

bool attn_forward_needs(const struct attn_forward *f, enum attn_site site)
{
    return attn_place_compare(attn_forward_place(f, site, f->feed.layer), f->end) <= 0;
}

bool attn_forward_needs_head(const struct attn_forward *f, enum attn_site site, int head)
{
    const struct attn_location at = attn_location_of_block(&f->dims, site, f->feed.layer, head);

    if (f->model->config.qk_norm == ATTN_QK_NORM_ALL_HEADS &&
        (site == ATTN_SITE_Q ||
         site == ATTN_SITE_K)) /* heads are normalized together, so each needs all others */
        return true;
    if (f->feed.layer != f->end.layer || attn_site_is_before(ATTN_SITE_Z, f->end.site) ||
        f->feed.has_functions || /* which may get z of all heads */
        attn_site_layout(site) == ATTN_LAYOUT_VECTOR)
        return true;
    if (site == ATTN_SITE_V && f->end.site != ATTN_SITE_Z && !attn_forward_watches(f, site))
        return false;
    return attn_selection_has_tensor_head(f->trace->selection, &at);
}

bool attn_forward_watches(const struct attn_forward *f, enum attn_site site)
{
    return f->trace && attn_selection_wants_block(f->trace->selection, site, f->feed.layer);
}

struct attn_site_set attn_forward_watched_matrices(const struct attn_forward *f, int layer)
{
    return attn_heads_watched_sites(
        f->trace ? f->trace->selection : NULL,
        attn_location_of_block(&f->dims, ATTN_SITE_PATTERN, layer, ATTN_ALL_HEADS));
}

bool attn_forward_watches_row(const struct attn_forward *f, size_t position)
{
    return f->trace && position >= f->first_watched && position < f->end_watched &&
           position < attn_selection_dims(f->trace->selection)->n_position &&
           attn_selection_has_query(f->trace->selection, ATTN_STACK_ONLY, position);
}

bool attn_forward_needs_rows(const struct attn_forward *f, const struct attn_feed_part *part,
                             size_t row0, size_t n_row)
{
    const size_t last = part->row0 + part->n_row - 1;
    const int n_layer = (int)f->dims.n_layer;
    const int last_layer = f->end.layer < n_layer ? f->end.layer : n_layer - 1;
    const bool is_pooled = f->is_projected || f->dims.is_pooled;
    const struct attn_config *config = &f->model->config;

    /* A function gets whole tensors, whatever is read of them later. */
    if (f->feed.layer != last_layer || f->feed.has_functions)
        return true;
    if (f->is_projected || attn_forward_pools(f)) {
        size_t first, n = attn_config_pooled_rows(config, part->ids, part->n_row, &first);

        first += part->row0;
        if (row0 < first + n && first < row0 + n_row)
            return true;
    }
    /* After a rewind any position may be the last one, unless the session can only be reset. */
    if (f->has_logits && !is_pooled &&
        (config->is_encoder ? attn_feed_part_has_logits(part, row0, n_row)
                            : f->is_rewindable || row0 + n_row > last))
        return true;
    for (size_t row = row0; row < row0 + n_row; row++)
        if (attn_forward_watches_row(f, row))
            return true;
    return false;
}

bool attn_forward_pools(const struct attn_forward *f)
{
    return f->dims.is_pooled && (f->has_logits || attn_forward_watches(f, ATTN_SITE_LOGITS) ||
                                 attn_forward_watches(f, ATTN_SITE_POOLED));
}

bool attn_forward_takes_steps(const struct attn_forward *f, size_t layer)
{
    const struct attn_attention *attention = &f->attention[layer];

    return (f->model->config.is_cross[layer] || attention->mask == ATTN_MASK_CAUSAL) &&
           attention->dropout == 0 && !attention->dropout_mask.cells;
}

/* --- End of a feed ---------------------------------------------------------------------------- */

bool attn_forward_is_over(const struct attn_forward *f)
{
    return f->feed.status != ATTN_OK || f->feed.is_done;
}

bool attn_forward_is_stopped(struct attn_forward *f)
{
    if (f->feed.status == ATTN_OK && attn_is_canceled(f->cancel))
        f->feed.status = attn_error_set(f->feed.err, ATTN_CANCELED, "canceled");
    return attn_forward_is_over(f);
}

/* Reports why a value of the current layer is NaN or infinite although all weights are finite. */
static enum attn_status refuse_values(const struct attn_forward *f, struct attn_error *err)
{
    const struct attn_quote name = attn_quote_string(f->model->name);
    const bool has_both = f->embeddings_name && f->source_name;
    char where[40] = "outside of the layers";

    if (f->feed.layer != ATTN_NO_LAYER)
        snprintf(where, sizeof where, "in layer %d", f->feed.layer);
    if (f->feed.has_edits)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "the edits of this run are too large: what is computed from them %s is "
                           "not finite in float32",
                           where);
    /* If the caller gave arrays, their numbers are too large; the model is not at fault. */
    if (f->embeddings_name || (f->source_name && f->n_source > 0))
        return attn_error_set(
            err, ATTN_INVALID,
            "the numbers of '%s'%s%s%s are too large: what is computed from them %s is not finite "
            "in float32",
            attn_quote_string(f->embeddings_name ? f->embeddings_name : f->source_name).text,
            has_both ? " or '" : "", has_both ? attn_quote_string(f->source_name).text : "",
            has_both ? "'" : "", where);
    if (f->feed.layer == ATTN_NO_LAYER)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' computes values that are not finite outside of its layers, "
                              "expected float32 numbers",
                              name.text);
    return attn_error_set(err, ATTN_FORMAT,
                          "layer %d of '%s' computes values that are not finite, expected float32 "
                          "numbers",
                          f->feed.layer, name.text);
}

void attn_forward_report_non_finite(struct attn_forward *f)
{
    const struct attn_model *model = f->model;
    const int layer = f->feed.layer;
    struct attn_feed *feed = &f->feed;

    if (feed->status != ATTN_OK)
        return;
    feed->status = attn_weights_find_non_finite(
        model->naming, model->st,
        layer == ATTN_NO_LAYER ? layer
                               : (int)attn_config_weights_layer(&model->config, (size_t)layer),
        feed->err);
    if (feed->status == ATTN_OK && layer != ATTN_NO_LAYER)
        feed->status =
            attn_weights_find_non_finite(model->naming, model->st, ATTN_NO_LAYER, feed->err);
    if (feed->status == ATTN_OK)
        feed->status = refuse_values(f, feed->err);
}

/* Values that must be finite, checked in pieces by tasks. */
struct finite_work {
    const struct attn_kernels *kernels;
    const float *x; /* [n] */
    size_t n;
    atomic_bool is_violated;
};

static void find_non_finite(void *context, size_t task, int worker)
{
    struct finite_work *work = context;
    const size_t first = task * FINITE_PIECE, rest = work->n - first;

    (void)worker;
    if (!work->kernels->is_finite(work->x + first, rest < FINITE_PIECE ? rest : FINITE_PIECE))
        atomic_store_explicit(&work->is_violated, true, memory_order_relaxed);
}

bool attn_pool_is_finite(struct attn_pool *pool, const struct attn_kernels *kernels, const float *x,
                         size_t n)
{
    struct finite_work work = {.kernels = kernels, .x = x, .n = n};

    attn_pool_run(pool, (n + FINITE_PIECE - 1) / FINITE_PIECE, find_non_finite, &work);
    return !atomic_load_explicit(&work.is_violated, memory_order_relaxed);
}

void attn_forward_check_finite(struct attn_forward *f, const float *x, size_t n)
{
    if (f->feed.status == ATTN_OK && !attn_pool_is_finite(f->feed.pool, f->engine.kernels, x, n))
        attn_forward_report_non_finite(f);
}

/* --- Visits ----------------------------------------------------------------------------------- */

/* Checks that an event has no NaN and no infinity, except in scores of masked keys. */
static void check_event(struct attn_forward *f, const struct attn_trace_event *event)
{
    const bool is_scores = event->at.site == ATTN_SITE_ATTN_SCORES;

    if (f->feed.is_finite && !f->feed.has_edits)
        return;
    if (is_scores &&
        (attn_forward_is_cross(f) ? f->source_mask : f->parts[event->sequence].key_mask))
        return; /* masked keys have the score -inf */
    if (f->feed.has_edits && (is_scores || event->at.site == ATTN_SITE_QK))
        return; /* an edit may mask keys there */
    for (size_t i = 0; i < event->n_row; i++) {
        const size_t position = event->row0 + i;
        const bool is_masked = is_scores && event->is_causal && position < event->n_col;
        /* One infinite or NaN score makes the whole row of the softmax NaN, so checking one value
         * is enough. */
        const bool is_first_enough = event->at.site == ATTN_SITE_PATTERN && !f->feed.has_edits;
        size_t n = event->keys ? event->n_kept[i] : is_masked ? position + 1 : event->n_col;

        n = is_first_enough && n > 0 ? 1 : n;
        if (!f->engine.kernels->is_finite(event->data + i * event->ld, n)) {
            attn_forward_report_non_finite(f);
            return;
        }
    }
}

void attn_visit_count(struct attn_forward *f, size_t sequence, size_t n_edited)
{
    f->parts[sequence].n_edited += n_edited;
    f->n_edited += n_edited;
}

struct attn_edit_calls attn_visit_calls(struct attn_forward *f, size_t sequence)
{
    return (struct attn_edit_calls){.dims = &f->dims,
                                    .sequence = sequence,
                                    .status = &f->feed.status,
                                    .err = f->feed.err,
                                    .site = ATTN_N_SITE};
}

/* Edits of all heads at once come in their order; those between them are applied head by head. */
void attn_visit_edit(struct attn_forward *f, size_t sequence, size_t n_head,
                     const struct attn_edit_target *target)
{
    const struct attn_feed_part *part = &f->parts[sequence];
    const struct attn_edit_calls calls = attn_visit_calls(f, sequence);
    size_t end;

    for (size_t i = 0; i < part->n_edit; i = end) {
        const bool is_whole = part->edits[i].at.head == ATTN_HEADS_TOGETHER;

        end = i + 1;
        while (!is_whole && end < part->n_edit && part->edits[end].at.head != ATTN_HEADS_TOGETHER)
            end++;
        for (size_t head = 0; head < (is_whole ? 1 : n_head); head++) {
            struct attn_edit_target one = *target;

            one.at.head = is_whole ? ATTN_HEADS_TOGETHER : target->at.head + (int)head;
            one.n_col *= is_whole ? n_head : 1;
            one.data += head * target->n_col;
            one.n_uncounted -= i < one.n_uncounted ? i : one.n_uncounted;
            if (is_whole || attn_forward_needs_head(f, target->at.site, (int)head))
                attn_visit_count(f, sequence,
                                 attn_edits_apply(part->edits + i, end - i,
                                                  part->has_effect ? part->has_effect + i : NULL,
                                                  &calls, &one));
        }
    }
}

void attn_visit_emit(struct attn_forward *f, const struct attn_trace_event *event)
{
    struct attn_feed *feed = &f->feed;
    struct attn_trace_event part;
    size_t row = 0;

    while (!f->is_trace_over && feed->status == ATTN_OK &&
           attn_trace_next_part(f->trace->selection, event, &row, &part)) {
        check_event(f, &part);
        part.at = attn_location_in(&f->dims, &event->at, event->at.site);
        if (feed->status == ATTN_OK)
            feed->status = attn_call_status(f->trace->on_event(f->trace->user, &part, feed->err),
                                            "on_event", feed->err);
    }
}

/* Whether the trace watches HEAD of SITE. It watches SITE. */
static bool watches_head(const struct attn_forward *f, enum attn_site site, int head)
{
    const struct attn_location at = attn_location_of_block(&f->dims, site, f->feed.layer, head);

    return attn_site_layout(site) == ATTN_LAYOUT_VECTOR ||
           attn_selection_has_tensor_head(f->trace->selection, &at);
}

/* Visits the heads of one sequence, whose rows are among DATA. */
static void visit_heads(struct attn_forward *f, size_t sequence, enum attn_site site, float *data)
{
    const bool has_heads = attn_site_layout(site) != ATTN_LAYOUT_VECTOR;
    const bool is_watched = attn_forward_watches(f, site);
    const struct attn_site_part part = attn_forward_part(f, site);
    const struct attn_site_rows rows = attn_forward_rows(f, site, sequence);
    const size_t ld = part.n_head * part.width;
    const bool is_edited =
        !attn_site_is_lacking(&f->dims, site, f->feed.layer) &&
        attn_edits_touch(f->parts[sequence].edits, f->parts[sequence].n_edit,
                         &(struct attn_location){.site = site, .layer = f->feed.layer});

    if (rows.n_row == 0 || (!is_edited && !is_watched))
        return;
    if (is_edited)
        attn_visit_edit(f, sequence, part.n_head,
                        &(struct attn_edit_target){.at.site = site,
                                                   .at.layer = f->feed.layer,
                                                   .n_uncounted = f->parts[sequence].n_uncounted,
                                                   .at.head = has_heads ? 0 : ATTN_ALL_HEADS,
                                                   .row0 = rows.row0,
                                                   .n_row = rows.n_row,
                                                   .n_col = part.width,
                                                   .ld = ld,
                                                   .data = data + rows.first * ld});
    for (int head = 0; is_watched && head < (int)part.n_head && f->feed.status == ATTN_OK; head++) {
        const struct attn_trace_event event = {.sequence = sequence,
                                               .at.site = site,
                                               .at.layer = f->feed.layer,
                                               .at.head = has_heads ? head : ATTN_ALL_HEADS,
                                               .row0 = rows.row0,
                                               .n_row = rows.n_row,
                                               .n_col = part.width,
                                               .ld = ld,
                                               .data = data + rows.first * ld +
                                                       (size_t)head * part.width};

        if (attn_forward_needs_head(f, site, head) && watches_head(f, site, head))
            attn_visit_emit(f, &event);
    }
}

void attn_visit(struct attn_forward *f, enum attn_site site, float *data)
{
    const bool is_watched = attn_forward_watches(f, site);

    if (attn_forward_is_over(f))
        return;
    if ((is_watched || f->feed.has_edits) && attn_forward_needs(f, site))
        for (size_t sequence = 0; sequence < f->feed.n_part; sequence++)
            visit_heads(f, sequence, site, data);
    f->feed.is_done = attn_place_compare(attn_forward_place(f, site, f->feed.layer), f->end) >= 0;
}
