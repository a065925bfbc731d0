/* part_sums.c - see part_sums.h. The feed of the source stores its tensor, or edits give its
 * values; the feed of the base subtracts the tensor of the base, and each backward pass multiplies
 * the gradients by these differences, in double precision, row by row in the order of the events.
 */
#include "trials/part_sums.h"

#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "run/host_internal.h"
#include "run/run_internal.h"
#include "trace/capture.h"
#include "trace/trace_internal.h"
#include "trials/derivative.h"
#include "trials/readout.h"
#include "trials/trial.h"

#include <string.h>

enum { MOST_STORES = 5, ROWS_PER_TASK = 256 };

/* A tensor of all layers; the rows of all heads are side by side. */
struct store {
    enum attn_site site;
    /* filled from the source, from the base; both: their difference */
    bool is_of_source, is_of_base;
    size_t width;
    float *rows; /* [n_layer, n, width] */
};

/* State of the computation; its memory is freed at the end. */
/* The heads whose softmax is computed again with other queries or keys. */
struct swaps {
    struct attn_heads_swap *items; /* [n_layer] */
    size_t n_variant;
    double *sums; /* [n_layer, n_variant, n_head, n] */
    /* [2, n_layer, n_variant, n] factors of the changed head, and of the others; NULL: all
     * are 1 */
    float *factors;
};

/* Embeddings [n, De] of the current point, of the base, of the other run; after those of a text the
 * ones of its source. */
struct points {
    float *x, *from, *to;
    size_t n;
};

struct summing {
    struct attn_part_sums_options options;
    const struct attn_config *config;
    struct attn_dims dims;
    size_t n, n_layer, n_head, n_unit, n_row, n_encoder_unit;
    bool is_swapped;              /* recompute the softmax with the queries or keys of the source */
    struct attn_pool *pool;       /* borrowed */
    struct attn_reply replies[2]; /* replies of the source and of the base */
    double *sums;                 /* [n_layer, n_unit, n_row] owns, until it becomes the result */
    double weight;                /* weight of the current backward pass */

    struct attn_store *store; /* owns; has all arrays but the results */
    struct store stores[MOST_STORES];
    size_t n_store;
    bool is_stored; /* the current feed is one of both texts, not a point of ig */
    struct attn_derivative *derivative; /* owns */

    struct swaps swaps;
    struct points points;
    size_t n_feed;

    /* the site in the encoder of the base [0] and of the other run [1], own; or NULL */
    struct attn_capture *encoder[2];
    double *encoder_sums; /* [n_layer, n_encoder_unit]; owns, until it becomes the result */
};

/* --- Stores ----------------------------------------------------------------------------------- */

static bool is_of_keys(const struct summing *s)
{
    return attn_site_layout(s->options.site) == ATTN_LAYOUT_KEY;
}

static void add_store(struct summing *s, enum attn_site site, bool is_of_source, bool is_of_base)
{
    s->stores[s->n_store++] =
        (struct store){.site = site,
                       .is_of_source = is_of_source,
                       .is_of_base = is_of_base,
                       .width = attn_site_n_head(site, &s->dims) * attn_site_width(site, &s->dims)};
}

static float *layer_rows(const struct summing *s, const struct store *store, size_t layer)
{
    return store->rows + layer * s->n * store->width;
}

static const float *find_rows(const struct summing *s, enum attn_site site, bool is_of_source,
                              size_t layer)
{
    for (size_t i = 0; i < s->n_store; i++)
        if (s->stores[i].site == site && s->stores[i].is_of_source == is_of_source)
            return layer_rows(s, &s->stores[i], layer);
    return NULL;
}

/* Work on the rows of an event and the stored rows; each task of the pool processes ROWS_PER_TASK
 * rows. */
struct row_work {
    const struct summing *s;
    const struct attn_trace_event *event;
    const struct store *store;
    void (*run)(const struct row_work *work, size_t i, float *stored);
};

static void run_rows(void *context, size_t task, int worker)
{
    const struct row_work *work = context;
    const struct attn_trace_event *event = work->event;
    const size_t width = work->store->width, head = event->at.head > 0 ? (size_t)event->at.head : 0;
    float *rows = layer_rows(work->s, work->store, attn_location_index(&event->at));

    (void)worker;
    for (size_t i = task * ROWS_PER_TASK; i < (task + 1) * ROWS_PER_TASK && i < event->n_row; i++)
        work->run(work, i, rows + (event->row0 + i) * width + head * event->n_col);
}

static void share_rows(struct row_work *work)
{
    attn_pool_run(work->s->pool, (work->event->n_row + ROWS_PER_TASK - 1) / ROWS_PER_TASK, run_rows,
                  work);
}

static void subtract_row(const struct row_work *work, size_t i, float *stored)
{
    const float *x = work->event->data + i * work->event->ld;

    for (size_t j = 0; j < work->event->n_col; j++)
        stored[j] -= x[j];
}

/* Copies the rows of EVENT to STORE, or subtracts them from the stored rows. */
static void keep_rows(const struct summing *s, struct store *store,
                      const struct attn_trace_event *event, bool is_subtracted)
{
    struct row_work work = {s, event, store, subtract_row};

    if (is_subtracted)
        share_rows(&work);
    else
        attn_trace_keep_rows(event, s->pool, store->width,
                             layer_rows(s, store, attn_location_index(&event->at)));
}

/* Receives the events of feeds (attn_trace_fn). */
static enum attn_status on_feed(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    struct summing *s = user;

    (void)err;
    for (size_t i = 0; s->is_stored && i < s->n_store; i++) {
        struct store *store = &s->stores[i];
        const bool is_source = event->sequence == 0; /* the source is fed before the base */

        if (store->site == event->at.site && (is_source ? store->is_of_source : store->is_of_base))
            keep_rows(s, store, event, !is_source && store->is_of_source);
    }
    return ATTN_OK;
}

/* --- Sums ------------------------------------------------------------------------------------- */

static double *sums_of(const struct summing *s, size_t layer, size_t unit)
{
    return s->sums + (layer * s->n_unit + unit) * s->n_row;
}

static bool has_row(const struct summing *s, size_t row)
{
    return !s->options.rows || s->options.rows[row] != 0;
}

/* Adds the dot product of a stored row with its gradient to the sum of its part. */
static void add_row(const struct row_work *work, size_t i, float *stored)
{
    const struct summing *s = work->s;
    const struct attn_trace_event *event = work->event;
    const size_t row = event->row0 + i, head = event->at.head > 0 ? (size_t)event->at.head : 0;
    const float *g = event->data + i * event->ld;
    double sum = 0;

    if (!has_row(s, row))
        return;
    for (size_t j = 0; j < event->n_col; j++)
        sum += (double)stored[j] * (double)g[j];
    sums_of(s, attn_location_index(&event->at), head)[row] += s->weight * sum;
}

/* Adds the products of all rows, summed per column. */
static void add_columns(const struct summing *s, const struct attn_trace_event *event)
{
    const struct store *store = &s->stores[0];
    const float *rows = layer_rows(s, store, attn_location_index(&event->at));
    double *sums = sums_of(s, attn_location_index(&event->at), 0);

    for (size_t i = 0; i < event->n_row; i++) {
        const size_t row = event->row0 + i;
        const float *g = event->data + i * event->ld;
        const float *x = rows + row * store->width;

        for (size_t j = 0; has_row(s, row) && j < event->n_col; j++)
            sums[j] += s->weight * ((double)x[j] * (double)g[j]);
    }
}

/* Receives the events of backward passes and adds the gradients of the site (attn_trace_fn). */
static enum attn_status on_gradient(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err)
{
    struct summing *s = user;
    struct row_work work = {s, event, &s->stores[0], add_row};

    (void)err;
    if (s->options.site == ATTN_SITE_MLP_POST)
        add_columns(s, event);
    else if (!s->is_swapped)
        share_rows(&work);
    return ATTN_OK;
}

/* Returns the tensor AT of the encoder in CAPTURE, or its head. */
static const float *captured(const struct attn_capture *capture, const struct attn_location *at)
{
    return attn_site_has_heads(at->site) ? attn_capture_head(capture, at)
                                         : attn_capture_tensor(capture, at);
}

/* Sets *ROWS to the values, LD floats apart, of the tensor AT of the encoder in the other run, or
 * those of its edit; NULL: zeros. */
static void find_encoder_rows(const struct summing *s, const struct attn_location *at, size_t width,
                              const float **rows, size_t *ld)
{
    *rows = s->encoder[1] ? captured(s->encoder[1], at) : NULL;
    *ld = width;
    for (size_t i = 0; i < s->options.n_edit; i++) {
        const struct attn_edit *edit = &s->options.edits[i];

        if (edit->at.stack != ATTN_STACK_ENCODER || edit->at.layer != at->layer ||
            edit->at.head != at->head)
            continue;
        *rows = edit->data;
        *ld = edit->ld;
    }
}

/* Receives the gradients of the site in the encoder, and adds their products with the differences
 * of both runs (attn_trace_fn). */
static enum attn_status on_encoder_gradient(void *user, const struct attn_trace_event *event,
                                            struct attn_error *err)
{
    const struct summing *s = user;
    struct attn_location at = event->at;
    const float *base, *other;
    size_t ld;

    (void)err;
    if (!s->options.has_encoder)
        return ATTN_OK;
    at.site = s->options.site;
    double *sum = s->encoder_sums + attn_location_index(&at) * s->n_encoder_unit +
                  (size_t)(at.head > 0 ? at.head : 0);

    base = captured(s->encoder[0], &at);
    find_encoder_rows(s, &at, event->n_col, &other, &ld);
    for (size_t i = 0; i < event->n_row; i++)
        for (size_t j = 0; j < event->n_col; j++) {
            const size_t row = event->row0 + i;
            const double to = other ? (double)other[row * ld + j] : 0;

            *sum += s->weight * ((to - (double)base[row * event->n_col + j]) *
                                 (double)event->data[i * event->ld + j]);
        }
    return ATTN_OK;
}

/* Adds the sums that a backward pass computed with the queries or keys of the source. If heads are
 * independent, a part's sum is that of its own head, or of the heads of its group; otherwise it
 * includes all heads, as all changed with it. */
static void take_swapped(struct summing *s)
{
    const size_t n_group = is_of_keys(s) ? s->n_head / s->n_unit : 1;

    for (size_t layer = 0; layer < s->n_layer; layer++)
        for (size_t unit = 0; unit < s->n_unit; unit++) {
            const bool is_alone = s->swaps.n_variant == 1;
            const size_t variant = is_alone ? 0 : unit;
            const size_t first = is_alone ? unit * n_group : 0;
            const size_t n_head = is_alone ? n_group : s->n_head;
            const double *found =
                s->swaps.sums + ((layer * s->swaps.n_variant + variant) * s->n_head + first) * s->n;
            double *sums = sums_of(s, layer, unit);

            for (size_t h = 0; h < n_head; h++)
                for (size_t row = 0; row < s->n; row++)
                    if ((is_of_keys(s) && !s->options.is_each) || has_row(s, row))
                        sums[row] += s->weight * found[h * s->n + row];
        }
}

/* --- Other queries and keys ------------------------------------------------------------------- */

/* Returns 1 / sqrt(mean square + eps). SQUARES are the sums of squares of N heads; head CHANGED
 * uses the one in OTHER instead. */
static double scale_of(const struct summing *s, const double *squares, size_t n, size_t changed,
                       const double *other)
{
    double sum = 0;

    for (size_t h = 0; h < n; h++)
        sum += h == changed ? other[h] : squares[h];
    return 1 / attn_readout_scale_of(s->config, sum, n * s->dims.d_head);
}

/* Computes SQUARES [n_unit], the sum of squares of each head of ROW. */
static void add_squares(const struct summing *s, const float *row, double *squares)
{
    for (size_t h = 0; h < s->n_unit; h++) {
        squares[h] = 0;
        for (size_t e = 0; e < s->dims.d_head; e++) {
            const double x = (double)row[h * s->dims.d_head + e];

            squares[h] += x * x;
        }
    }
}

/* For models with one norm over all heads of q, or of k: computes by which factors the norm scales
 * a head that is taken from the source, and the other heads beside it. */
static enum attn_status find_factors(struct summing *s, struct attn_error *err)
{
    const size_t n_factor = s->n_layer * s->swaps.n_variant * s->n,
                 width = s->n_unit * s->dims.d_head;
    /* first row that is computed in the last layer */
    const size_t first = attn_answer_goal(s->options.answer).first;
    double *squares, *others;

    ATTN_TRY(ATTN_STORE_ALLOC(&s->store, squares, 2 * s->n_unit, err));
    others = squares + s->n_unit;
    for (size_t at = 0; at < s->n_layer * s->n; at++) {
        const size_t layer = at / s->n, row = at % s->n;

        if (!is_of_keys(s) && layer + 1 == s->n_layer && row < first)
            continue; /* earlier rows are not stored, because their gradients are 0 */
        add_squares(s, find_rows(s, s->options.site, false, layer) + row * width, squares);
        add_squares(s, find_rows(s, s->options.site, true, layer) + row * width, others);
        for (size_t h = 0; h < s->swaps.n_variant; h++) {
            const double now = scale_of(s, squares, s->n_unit, h, others);
            float *own = s->swaps.factors + (layer * s->swaps.n_variant + h) * s->n + row;

            own[0] = (float)(now / scale_of(s, others, s->n_unit, SIZE_MAX, NULL));
            own[n_factor] = (float)(now / scale_of(s, squares, s->n_unit, SIZE_MAX, NULL));
        }
    }
    return ATTN_OK;
}

static void fill_swaps(struct summing *s)
{
    const enum attn_site q = attn_site_of_scores(&s->dims, ATTN_LAYOUT_QUERY);
    const enum attn_site k = attn_site_of_scores(&s->dims, ATTN_LAYOUT_KEY);
    const bool is_key = is_of_keys(s);
    const size_t n_each = s->swaps.n_variant * s->n;

    for (size_t layer = 0; layer < s->n_layer; layer++) {
        float *own = s->swaps.factors ? s->swaps.factors + layer * n_each : NULL;

        s->swaps.items[layer] = (struct attn_heads_swap){
            .q = is_key ? NULL : find_rows(s, q, true, layer),
            .k = s->options.site == ATTN_SITE_Q ? NULL : find_rows(s, k, true, layer),
            .is_each = s->options.is_each,
            .keys = is_key && !s->options.is_each ? s->options.rows : NULL,
            .n_variant = s->swaps.n_variant,
            .own = own,
            .scale = own ? own + s->n_layer * n_each : NULL,
            .sums = s->swaps.sums + layer * n_each * s->n_head};
        if (s->options.n_point > 0) {
            s->swaps.items[layer].base_q = find_rows(s, q, false, layer);
            s->swaps.items[layer].base_k = find_rows(s, k, false, layer);
        }
    }
}

static enum attn_status plan_swaps(struct summing *s, struct attn_error *err)
{
    const enum attn_site q = attn_site_of_scores(&s->dims, ATTN_LAYOUT_QUERY);
    const enum attn_site k = attn_site_of_scores(&s->dims, ATTN_LAYOUT_KEY);
    const bool is_ig = s->options.n_point > 0;
    const bool is_joined =
        s->config->qk_norm == ATTN_QK_NORM_ALL_HEADS && s->options.site != ATTN_SITE_PATTERN;

    s->swaps.n_variant = is_joined ? s->n_unit : 1;
    if (s->options.site != ATTN_SITE_Q)
        add_store(s, k, true, false);
    if (!is_of_keys(s))
        add_store(s, q, true, false);
    if (is_ig) {
        add_store(s, q, false, true);
        add_store(s, k, false, true);
    }
    if (is_joined) {
        add_store(s, s->options.site, true, false);
        add_store(s, s->options.site, false, true);
        ATTN_TRY(ATTN_STORE_ALLOC(&s->store, s->swaps.factors,
                                  attn_size_mul(2 * s->n_layer, s->swaps.n_variant * s->n), err));
    }
    ATTN_TRY(ATTN_STORE_ALLOC(&s->store, s->swaps.items, s->n_layer, err));
    return ATTN_STORE_ALLOC(&s->store, s->swaps.sums,
                            attn_size_mul(s->n_layer, s->swaps.n_variant * s->n_head * s->n), err);
}

/* --- Feeds ------------------------------------------------------------------------------------ */

static void note_feed(struct summing *s)
{
    s->n_feed++;
    if (s->options.on_progress)
        s->options.on_progress(s->options.user, s->n_feed,
                               (s->options.source ? 2 : 1) + s->options.n_point);
}

/* Runs one backward pass from the last feed, and adds its gradients with WEIGHT. */
static enum attn_status run_backward(struct summing *s, double weight, struct attn_error *err)
{
    s->weight = weight;
    if (s->is_swapped)
        memset(s->swaps.sums, 0,
               s->n_layer * s->swaps.n_variant * s->n_head * s->n * sizeof *s->swaps.sums);
    ATTN_TRY(attn_derivative_backward(s->derivative, err));
    if (s->is_swapped)
        take_swapped(s);
    return ATTN_OK;
}

/* Adds the mean of the gradients at points between the embeddings of base and source. */
static enum attn_status integrate(struct summing *s, struct attn_error *err)
{
    for (size_t i = 0; i < s->options.n_point; i++) {
        const double weight =
            attn_derivative_place(i, s->options.n_point, s->points.from, s->points.to,
                                  s->points.n * s->config->d_embed, s->points.x);
        double value;

        ATTN_TRY(attn_derivative_feed(s->derivative, s->points.x, &value, err));
        ATTN_TRY(run_backward(s, weight, err));
        note_feed(s);
    }
    return ATTN_OK;
}

/* Feeds the base, after the source if there is one, and stores their tensors. */
static enum attn_status feed_texts(struct summing *s, struct attn_error *err)
{
    struct attn_answer source = *s->options.answer;
    double value;

    if (!s->options.source) {
        ATTN_TRY(attn_derivative_feed(s->derivative, s->points.from, &value, err));
        s->replies[1] = *attn_derivative_reply(s->derivative);
        return ATTN_OK;
    }
    source.of = attn_run_answer_scope(s->options.source);
    ATTN_TRY(attn_derivative_feed_both(s->derivative, &source, s->points.to, s->points.from,
                                       s->replies, err));
    note_feed(s);
    return ATTN_OK;
}

static enum attn_status feed_all(struct summing *s, struct attn_error *err)
{
    s->is_stored = true;
    ATTN_TRY(feed_texts(s, err));
    s->is_stored = false;
    note_feed(s);
    if (s->swaps.factors)
        ATTN_TRY(find_factors(s, err));
    return s->options.n_point > 0 ? integrate(s, err) : run_backward(s, 1, err);
}

/* --- Life ------------------------------------------------------------------------------------- */

static enum attn_status allocate(struct summing *s, struct attn_error *err)
{
    const size_t n = attn_size_mul(s->points.n, s->config->d_embed);

    for (size_t i = 0; i < s->n_store; i++) {
        struct store *store = &s->stores[i];

        ATTN_TRY(ATTN_STORE_ALLOC(&s->store, store->rows,
                                  attn_size_mul(s->n_layer, attn_size_mul(s->n, store->width)),
                                  err));
    }
    ATTN_TRY(ATTN_ALLOC(s->sums, attn_size_mul(s->n_layer * s->n_unit, s->n_row), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&s->store, s->points.from, n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&s->store, s->points.to, n, err));
    return s->options.n_point > 0 ? ATTN_STORE_ALLOC(&s->store, s->points.x, n, err) : ATTN_OK;
}

/* Fills the store of the site with the values of the edits; tensors without values are zeros. */
static void fill_from_edits(const struct summing *s)
{
    const struct store *store = &s->stores[0];
    const size_t width = attn_site_width(s->options.site, &s->dims);

    for (size_t i = 0; i < s->options.n_edit; i++) {
        const struct attn_edit *edit = &s->options.edits[i];
        const size_t head = edit->at.head > 0 ? (size_t)edit->at.head : 0;

        for (size_t row = 0; row < s->n && edit->data && edit->at.stack != ATTN_STACK_ENCODER;
             row++)
            memcpy(layer_rows(s, store, attn_location_index(&edit->at)) + row * store->width +
                       head * width,
                   edit->data + row * edit->ld, width * sizeof *edit->data);
    }
}

/* Writes the embeddings of the text of RUN, and those of its source, to X [n_x, De]. */
static enum attn_status embed(const struct summing *s, const struct attn_run *run, float *x,
                              struct attn_error *err)
{
    const struct attn_model *encoder = run->model->encoder;
    const struct attn_sequence read = attn_encoder_input(&run->source);

    ATTN_TRY(attn_derivative_embed(run, x, err));
    return run->source.n == 0
               ? ATTN_OK
               : attn_error_at(attn_sequence_embed(encoder ? &read : &run->source,
                                                   encoder ? encoder : run->model,
                                                   x + s->n * s->config->d_embed, err),
                               ATTN_STAGE_MODEL, err);
}

/* Keeps the site of the encoder in both runs. */
static enum attn_status watch_encoder(struct summing *s, struct attn_error *err)
{
    const struct attn_run *run = s->options.base;
    const struct attn_model *encoder = run->model->encoder;
    struct attn_watch watch = {.of = ATTN_WATCH_ENCODER, .sites = ATTN_SITES(s->options.site)};

    if (!s->options.has_encoder)
        return ATTN_OK;
    s->n_encoder_unit = attn_site_has_heads(s->options.site) ? encoder->config.n_head : 1;
    watch.capture = &s->encoder[0];
    ATTN_TRY(attn_watch(run, &watch, err));
    watch.capture = &s->encoder[1];
    if (s->options.source)
        ATTN_TRY(attn_watch(s->options.source, &watch, err));
    return ATTN_ALLOC(s->encoder_sums, encoder->config.n_layer * s->n_encoder_unit, err);
}

static enum attn_status build(struct summing *s, struct attn_error *err)
{
    const struct attn_run *run = s->options.base;
    struct attn_derivative_options options = {
        .rule = s->options.rule,
        .gradients = {.on_event = on_gradient, .user = s},
        .watched = {.on_event = on_feed, .user = s},
        .is_for_both = s->options.source && s->options.n_point == 0,
        .n_run = s->options.n_point > 0 ? s->options.n_point : 1,
        .skips_zeros = true,
        .kept_bytes = s->options.kept_bytes};

    ATTN_TRY(attn_derivative_check_ids(run, err));
    if (s->options.source)
        ATTN_TRY(attn_derivative_check_ids(s->options.source, err));
    if (s->is_swapped)
        ATTN_TRY(plan_swaps(s, err));
    else
        add_store(s, s->options.site, true, true);
    ATTN_TRY(allocate(s, err));
    if (s->is_swapped)
        fill_swaps(s);
    ATTN_TRY(embed(s, run, s->points.from, err));
    if (s->options.source)
        ATTN_TRY(embed(s, s->options.source, s->points.to, err));
    else
        fill_from_edits(s);
    ATTN_TRY(watch_encoder(s, err));
    options.has_source = run->source.n > 0;
    if (options.has_source)
        options.encoder_gradients = (struct attn_derivative_events){
            s->options.has_encoder ? attn_sites_gradients_of(ATTN_SITES(s->options.site))
                                   : ATTN_SITES(ATTN_SITE_RESID_POST_GRAD),
            on_encoder_gradient, s};
    for (size_t i = 0; i < s->n_store; i++)
        attn_sites_add(&options.watched.sites, s->stores[i].site);
    /* with the source's queries or keys no gradient is used, but one must be wanted */
    options.gradients.sites = s->is_swapped ? ATTN_SITES(ATTN_SITE_RESID_POST_GRAD)
                                            : attn_sites_gradients_of(ATTN_SITES(s->options.site));
    options.other = s->options.source;
    options.swaps = s->swaps.items;
    return attn_derivative_create(run, s->options.answer, &options, &s->derivative, err);
}

static void release(struct summing *s)
{
    attn_derivative_free(s->derivative);
    for (size_t i = 0; i < 2; i++)
        attn_capture_free(s->encoder[i]);
    attn_free(s->encoder_sums);
    attn_free(s->sums);
    attn_store_release(&s->store);
}

enum attn_status attn_part_sums_find(const struct attn_part_sums_options *options,
                                     struct attn_part_sums *sums, struct attn_error *err)
{
    const struct attn_run *run = options->base;
    const bool is_of_neurons = options->site == ATTN_SITE_MLP_POST;
    struct summing s = {.options = *options, .config = attn_model_config(run->model)};
    enum attn_status status;

    s.pool = attn_host_pool(run->host, 1e9);
    s.n = run->text.n;
    s.points.n = s.n + run->source.n;
    s.dims = attn_config_dims(s.config, s.n);
    s.dims.n_source = run->source.n;
    s.dims.lacking = NULL; /* selects scores with and without rotation, whichever the model has */
    s.n_layer = s.dims.n_layer;
    s.n_head = s.dims.n_head;
    s.is_swapped = options->site == ATTN_SITE_Q || options->site == ATTN_SITE_K ||
                   options->site == ATTN_SITE_PATTERN;
    s.n_unit = is_of_neurons ? s.dims.d_mlp : attn_site_n_head(options->site, &s.dims);
    s.n_row = is_of_neurons ? 1 : s.n;
    status = build(&s, err);
    ATTN_THEN(status, feed_all(&s, err));
    if (status == ATTN_OK) {
        *sums = (struct attn_part_sums){.source = s.replies[0],
                                        .base = s.replies[1],
                                        .n_unit = s.n_unit,
                                        .n_encoder_unit = s.n_encoder_unit,
                                        .n_row = s.n_row,
                                        .n_feed = s.n_feed,
                                        .values = s.sums,
                                        .encoder = s.encoder_sums};
        s.sums = s.encoder_sums = NULL;
    }
    release(&s);
    return attn_error_at(status, ATTN_STAGE_MODEL, err);
}
