/* gradient.c - see gradient.h: what is wanted, what has no gradients, and the trace that stands
 * between a session and the trace that wants gradients. */
#include "gradient/gradient.h"

#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "gradient/tape.h"
#include "model/model_internal.h"
#include "run/run_internal.h"
#include "trace/trace_internal.h"

#include <string.h>

/* --- Relevance -------------------------------------------------------------------------------- */

/*
 * Gradients come from the last layer to the first, and the product is computed in the same order:
 * row q begins as the unit vector e_q and is multiplied by I + A from the right, layer by layer. So
 * only the wanted rows are in memory, in double precision, and the matrix A of one layer. Each sum
 * goes over ascending positions.
 */

struct attn_relevance {
    const struct attn_selection *asked; /* the tensors that are wanted; borrowed */
    enum attn_site site;
    struct attn_pool *pool;
    size_t n, n_head, n_layer, n_query;
    struct attn_store *store; /* owns; has the arrays */
    size_t *queries;          /* [n_query] */
    double *mean;             /* [n, n] A of the current layer; while heads still come, their sum */
    size_t n_left;            /* number of rows of heads that have not come yet */
    double **rows;            /* [n_layer] each [n_query, n], or NULL if the layer is not wanted */
    size_t layer;             /* the current layer */
    double *norms;            /* [n] sums of the rows of I + A; NULL: rows are not divided */
    double *before;           /* [n_thread, n] a copy of the row that a thread multiplies */
    float *out;               /* [n] the row that is emitted */
};

static enum attn_status build_relevance(struct attn_relevance *relevance, struct attn_error *err)
{
    struct attn_relevance *r = relevance;
    struct attn_location at = {.site = r->site, .layer = ATTN_NO_LAYER};
    size_t n_query = 0;

    ATTN_TRY(ATTN_STORE_ALLOC(&r->store, r->queries, r->n_query, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&r->store, r->mean, attn_size_mul(r->n, r->n), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&r->store, r->rows, r->n_layer, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&r->store, r->out, r->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&r->store, r->before,
                              attn_size_mul((size_t)attn_pool_n_thread(r->pool), r->n), err));
    if (r->site == ATTN_SITE_RELEVANCE_NORM)
        ATTN_TRY(ATTN_STORE_ALLOC(&r->store, r->norms, r->n, err));
    for (size_t query = 0; query < r->n; query++)
        if (attn_selection_has_query(r->asked, ATTN_STACK_ONLY, query))
            r->queries[n_query++] = query;
    while (attn_dims_next_layer(attn_selection_dims(r->asked), &at)) {
        double **rows = &r->rows[attn_location_index(&at)];

        if (!attn_selection_wants(r->asked, &at))
            continue;
        ATTN_TRY(ATTN_STORE_ALLOC(&r->store, *rows, attn_size_mul(r->n_query, r->n), err));
        for (size_t i = 0; i < n_query; i++)
            (*rows)[i * r->n + r->queries[i]] = 1;
    }
    return ATTN_OK;
}

enum attn_status attn_relevance_create(const struct attn_selection *asked, enum attn_site site,
                                       struct attn_pool *pool, struct attn_relevance **relevance,
                                       struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(asked);
    struct attn_relevance *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->asked = asked;
    made->site = site;
    made->pool = pool;
    made->n = dims->n_position;
    made->n_head = dims->n_head;
    made->n_layer = dims->n_layer;
    made->n_query = attn_selection_n_query(asked);
    made->n_left = dims->n_position * dims->n_head;
    ATTN_RETURN_MADE(build_relevance(made, err), relevance, made, attn_relevance_free);
}

/* A task: multiplies the row of one query, for each wanted layer from the current one on, by I + A
 * of the current layer. */
static void multiply_row(void *context, size_t task, int worker)
{
    const struct attn_relevance *r = context;
    const size_t n = r->n;
    double *before = r->before + (size_t)worker * n;

    for (size_t layer = r->layer; layer < r->n_layer; layer++) {
        double *row = r->rows[layer] ? r->rows[layer] + task * n : NULL;

        if (!row)
            continue;
        for (size_t q = 0; q < n; q++)
            row[q] = before[q] = r->norms ? row[q] / r->norms[q] : row[q];
        for (size_t q = 0; q < n; q++) {
            const double *mean = r->mean + q * n;

            for (size_t k = 0; before[q] != 0 && k < n; k++)
                row[k] += before[q] * mean[k];
        }
    }
}

void attn_relevance_add(struct attn_relevance *relevance, const struct attn_trace_event *event)
{
    struct attn_relevance *r = relevance;

    for (size_t i = 0; i < event->n_row; i++) {
        double *mean = r->mean + (event->row0 + i) * r->n;
        const float *x = event->data + i * event->ld;

        for (size_t k = 0; k < event->n_col; k++)
            mean[k] += x[k] > 0 ? (double)x[k] : 0;
    }
    r->n_left -= event->n_row;
    if (r->n_left > 0)
        return;
    for (size_t i = 0; i < r->n * r->n; i++)
        r->mean[i] /= (double)r->n_head;
    for (size_t q = 0; r->norms && q < r->n; q++) {
        r->norms[q] = 1;
        for (size_t k = 0; k < r->n; k++)
            r->norms[q] += r->mean[q * r->n + k];
    }
    r->layer = attn_location_index(&event->at);
    attn_pool_run(r->pool, r->n_query, multiply_row, r);
    memset(r->mean, 0, r->n * r->n * sizeof *r->mean);
    r->n_left = r->n * r->n_head;
}

enum attn_status attn_relevance_emit(struct attn_relevance *relevance,
                                     const struct attn_trace *trace, struct attn_error *err)
{
    const struct attn_relevance *r = relevance;
    struct attn_location at = {.site = r->site, .layer = ATTN_NO_LAYER};

    while (attn_dims_next_layer(attn_selection_dims(trace->selection), &at)) {
        const double *rows = r->rows[attn_location_index(&at)];

        for (size_t i = 0; rows && i < r->n_query; i++) {
            const struct attn_trace_event event = {.at = at,
                                                   .row0 = r->queries[i],
                                                   .n_row = 1,
                                                   .n_col = r->n,
                                                   .ld = r->n,
                                                   .data = r->out};

            for (size_t k = 0; k < r->n; k++)
                r->out[k] = (float)rows[i * r->n + k];
            ATTN_TRY(trace->on_event(trace->user, &event, err));
        }
    }
    return ATTN_OK;
}

void attn_relevance_free(struct attn_relevance *relevance)
{
    if (!relevance)
        return;
    attn_store_release(&relevance->store);
    attn_free(relevance);
}

/* Up to this length and this number of bytes, what the layers need for their gradients is kept
 * instead of being computed again, which takes a quarter of the time. A longer text takes little
 * more memory than a run without gradients. */
enum { MOST_KEPT = 512, KEPT_BYTES = 192 << 20 };

/* The run whose gradients are computed. Everything is borrowed. */
struct scope {
    const struct attn_model *model;
    const struct attn_answer *goal;
    const struct attn_sequence *source; /* its n is 0: there is no source */
    /* The options of the session of the text, not of the encoder. */
    struct attn_session_options session;
    bool reads_once; /* the weights are not needed after this run */
    /* Of what runs before the text, whose model is NULL if nothing does. The pool and the trace are
     * those of the gradients. */
    struct attn_before_pass before;
};

struct attn_gradient {
    struct attn_making making; /* the trace gets the feed */
    struct scope of;
    const struct attn_trace *asked_by;
    struct attn_pool *pool;
    struct attn_selection *watched; /* owns; what the session passes on during the feed */
    struct attn_selection *wanted;  /* owns; what the backward pass emits */
    struct attn_trace trace;        /* of the backward pass */
    struct attn_tape tape;
    struct attn_embedding_rows rows; /* of the text */
    /* Own; of relevance and of relevance_norm; NULL: not wanted. */
    struct attn_relevance *relevances[2];
    float
        *deep; /* [n_deep, T, D] owns; the gradients of the outputs of the first layers, or NULL */
    bool reads_pictures;               /* the passes go on through the pictures of the text */
    struct attn_selection *of_encoder; /* owns; what is wanted of the encoder; NULL: no gradient */
};

static struct attn_site_set relevances(void)
{
    return ATTN_SITES(ATTN_SITE_RELEVANCE, ATTN_SITE_RELEVANCE_NORM);
}

enum attn_status attn_gradient_check(const struct attn_model *model,
                                     const struct attn_attention *layers,
                                     struct attn_site_set sites, struct attn_error *err)
{
    if (attn_sites_have(sites, ATTN_SITE_VALUE_ZEROING))
        return attn_error_set(err, ATTN_INVALID,
                              "'value_zeroing' computes other layers than the run's, and there are "
                              "no gradients beside it");
    if (attn_sites_meet(sites, relevances()) && attn_config_has_cross(&model->config))
        return attn_error_set(
            err, ATTN_INVALID,
            "relevance is passed on in one sequence, and layers of '%s' attend to another",
            attn_quote_string(model->name).text);
    return attn_backward_check(model, layers, ATTN_BACKWARD_PLAIN, err);
}

/* An attn_trace_fn for the feed. */
static enum attn_status on_feed(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    struct attn_gradient *gradient = user;

    ATTN_TRY(attn_tape_add(&gradient->tape, event, err));
    return attn_trace_hand_on(gradient->asked_by, event, err);
}

/* An attn_trace_fn for the backward pass: adds to relevance, and passes on what the trace wants. */
static enum attn_status on_gradient(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err)
{
    struct attn_gradient *gradient = user;

    for (size_t i = 0; i < 2 && event->at.site == ATTN_SITE_PATTERN_X_GRAD; i++)
        if (gradient->relevances[i])
            attn_relevance_add(gradient->relevances[i], event);
    attn_before_keep_deep(gradient->of.before.before, event, gradient->deep);
    return attn_trace_hand_on(gradient->asked_by, event, err);
}

/* The gradients that follow from those of the embeddings, through the rows of pictures. */
static struct attn_site_set picture_sites(void)
{
    return ATTN_SITES(ATTN_SITE_IMAGE_FEATURES_GRAD, ATTN_SITE_PIXEL_VALUES_GRAD,
                      ATTN_SITE_DEEPSTACK_GRAD);
}

/* Selects what the backward pass emits: the wanted gradients; and if relevance is wanted,
 * pattern_x_grad of all heads up to the last layer that is needed. */
static enum attn_status choose_wanted(struct attn_gradient *gradient, struct attn_error *err)
{
    const struct attn_selection *asked = gradient->asked_by->selection;
    static const enum attn_site kinds[] = {ATTN_SITE_RELEVANCE, ATTN_SITE_RELEVANCE_NORM};
    const bool has_encoder = attn_selection_dims(asked)->encoder;
    const struct attn_site_set of_encoder = attn_sites_common(
        attn_selection_sites_of(asked, ATTN_STACK_ENCODER), attn_sites_of_metric());
    struct attn_site_set sites =
        attn_sites_common(attn_selection_sites(asked), attn_sites_of_metric());

    if (attn_sites_meet(sites, picture_sites()) ||
        (gradient->of.before.before->own && !attn_sites_are_empty(of_encoder)))
        gradient->reads_pictures = true;
    if (gradient->reads_pictures)
        attn_sites_add(&sites, ATTN_SITE_EMBED_GRAD);
    if (gradient->reads_pictures && gradient->of.model->config.vision.n_deep > 0)
        attn_sites_add(&sites, ATTN_SITE_RESID_POST_GRAD);
    sites = attn_sites_without(sites, picture_sites());
    if (has_encoder && !gradient->of.before.before->own && !attn_sites_are_empty(of_encoder)) {
        ATTN_TRY(attn_selection_copy_stack(asked, ATTN_STACK_ENCODER, &gradient->of_encoder, err));
        ATTN_TRY(attn_selection_set_sites(gradient->of_encoder, of_encoder, err));
    }
    if (!attn_sites_meet(sites, relevances())) {
        ATTN_TRY(attn_selection_copy(asked, &gradient->wanted, err));
        return attn_selection_set_sites(gradient->wanted, sites, err);
    }
    sites = attn_sites_without(sites, relevances());
    attn_sites_add(&sites, ATTN_SITE_PATTERN_X_GRAD);
    for (size_t i = 0; i < 2; i++)
        if (attn_selection_has_site(asked, kinds[i]))
            ATTN_TRY(attn_relevance_create(asked, kinds[i], gradient->pool,
                                           &gradient->relevances[i], err));
    ATTN_TRY(attn_selection_create(attn_selection_dims(asked), &gradient->wanted, err));
    return attn_selection_set_sites(gradient->wanted, sites, err);
}

/* Selects what the session passes on during the feed: the wanted sites, the residual stream, and
 * the layers, if they are kept. Then all heads come, and each trace gets what it wants. */
static enum attn_status choose_watched(struct attn_gradient *gradient, struct attn_error *err)
{
    const struct attn_selection *asked = gradient->asked_by->selection;
    struct attn_dims dims = *attn_selection_dims(asked);
    const struct attn_location end = attn_dims_end(&dims);
    struct attn_site_set sites;

    ATTN_TRY(
        attn_selection_see_stream(asked, attn_sites_of_metric(), &end, &gradient->watched, err));
    if (!gradient->tape.kept)
        return ATTN_OK;
    sites =
        attn_sites_join(attn_selection_sites(gradient->watched), attn_tape_sites(&gradient->tape));
    attn_selection_free(gradient->watched);
    gradient->watched = NULL;
    dims.lacking = NULL; /* so that q and k are kept both rotated and not, if both exist */
    ATTN_TRY(attn_selection_create(&dims, &gradient->watched, err));
    return attn_selection_set_sites(gradient->watched, sites, err);
}

static enum attn_status create_tape(struct attn_gradient *gradient, struct attn_error *err)
{
    const struct attn_sequence *source = gradient->of.source;
    struct attn_backward_options options = attn_tape_options(&gradient->of.session);
    const size_t n = options.n > source->n ? options.n : source->n;

    gradient->rows = attn_sequence_rows(gradient->of.goal->of.text);
    options.n_goal = attn_answer_goal(gradient->of.goal).n;
    options.trace = &gradient->trace;
    options.pool = gradient->pool;
    options.text = &gradient->rows;
    options.source = source->n > 0 ? source->rows : NULL;
    options.n_source = source->n;
    options.reads_once = gradient->of.reads_once;
    return attn_tape_prepare(&gradient->tape, gradient->of.model, &options,
                             n > MOST_KEPT ? 0 : KEPT_BYTES, err);
}

static enum attn_status build(struct attn_gradient *gradient, struct attn_error *err)
{
    ATTN_TRY(choose_wanted(gradient, err));
    gradient->trace = (struct attn_trace){
        .selection = gradient->wanted, .on_event = on_gradient, .user = gradient};
    ATTN_TRY(create_tape(gradient, err));
    ATTN_TRY(choose_watched(gradient, err));
    gradient->making.trace =
        (struct attn_trace){.selection = gradient->watched, .on_event = on_feed, .user = gradient};
    return ATTN_OK;
}

static void free_gradient(struct attn_making *making)
{
    struct attn_gradient *gradient = (struct attn_gradient *)(void *)making;

    attn_relevance_free(gradient->relevances[0]);
    attn_relevance_free(gradient->relevances[1]);
    attn_selection_free(gradient->watched);
    attn_selection_free(gradient->wanted);
    attn_selection_free(gradient->of_encoder);
    attn_tape_release(&gradient->tape);
    attn_free(gradient->deep);
    attn_free(gradient);
}

static enum attn_status run(struct attn_gradient *gradient, struct attn_error *err)
{
    const struct attn_backward_goal goal = attn_answer_goal(gradient->of.goal);
    struct attn_tape *tape = &gradient->tape;

    if (tape->embeddings)
        ATTN_TRY(attn_sequence_embed(gradient->of.goal->of.text, gradient->of.model,
                                     tape->embeddings, err));
    ATTN_TRY(attn_tape_open(tape, err));
    return attn_tape_run(tape, &goal, err);
}

/* Runs the backward passes of the decoder and of its encoder. */
static enum attn_status run_both(struct attn_gradient *gradient, struct attn_error *err)
{
    const struct attn_model *encoder = gradient->of.model->encoder;
    const struct attn_sequence input = attn_encoder_input(gradient->of.source);
    const struct attn_embedding_rows rows = attn_sequence_rows(&input);
    const struct attn_trace trace = {.selection = gradient->of_encoder,
                                     .on_event = gradient->asked_by->on_event,
                                     .user = gradient->asked_by->user};
    const struct attn_backward_options options = {.trace = &trace,
                                                  .text = &rows,
                                                  .edits = gradient->of.before.edits,
                                                  .n_edit = gradient->of.before.n_edit};
    enum attn_status status;
    float *x;

    ATTN_TRY(ATTN_ALLOC(x, input.n * encoder->config.d_embed, err));
    status = attn_sequence_embed(&input, encoder, x, err);
    ATTN_THEN(status, attn_tape_add_encoder(&gradient->tape, encoder, options, err));
    ATTN_THEN(status, attn_backward_feed(gradient->tape.encoder, x, NULL, err));
    ATTN_THEN(status, run(gradient, err));
    attn_free(x);
    return status;
}

/* Emits DATA [rows of its own, columns], the gradient SITE of LAYER. */
static enum attn_status emit_rows(const struct attn_gradient *gradient, enum attn_site site,
                                  int layer, const float *data, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(gradient->asked_by->selection);
    const size_t n_col = attn_site_width(site, dims);
    const struct attn_trace_event event = {.at.site = site,
                                           .at.layer = layer,
                                           .at.head = ATTN_ALL_HEADS,
                                           .n_row = attn_site_n_own_row(site, dims),
                                           .n_col = n_col,
                                           .ld = n_col,
                                           .data = data};

    return attn_trace_hand_on(gradient->asked_by, &event, err);
}

/* Emits PIXELS, the gradients of the pixels of all images. */
static enum attn_status emit_pixels(const struct attn_gradient *gradient, const float *pixels,
                                    struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(gradient->asked_by->selection);
    const size_t n_col = attn_site_width(ATTN_SITE_PIXEL_VALUES_GRAD, dims);
    struct attn_trace_event event = {.at.site = ATTN_SITE_PIXEL_VALUES_GRAD,
                                     .at.layer = ATTN_NO_LAYER,
                                     .at.head = ATTN_ALL_HEADS,
                                     .n_col = n_col,
                                     .ld = n_col,
                                     .data = pixels};

    for (size_t i = 0, size[2]; i < attn_dims_n_image(dims); i++) {
        attn_site_image_size(event.at.site, attn_dims_image(dims, i), size);
        event.n_row = size[0] * size[1] / n_col;
        ATTN_TRY(attn_trace_hand_on(gradient->asked_by, &event, err));
        event.row0 += event.n_row;
        event.data += size[0] * size[1];
    }
    return ATTN_OK;
}

/* Runs the backward passes of the decoder, and of the tower for each picture. */
static enum attn_status run_pictures(struct attn_gradient *gradient, struct attn_error *err)
{
    const struct attn_selection *asked = gradient->asked_by->selection;
    const struct attn_dims *dims = attn_selection_dims(asked);
    const bool has_pixels = attn_selection_has_site(asked, ATTN_SITE_PIXEL_VALUES_GRAD);
    const size_t d = gradient->of.model->config.d_embed, n = gradient->tape.options.n;
    const size_t n_deep = gradient->of.model->config.vision.n_deep;
    const size_t n_cell = attn_site_n_own_row(ATTN_SITE_IMAGE_FEATURES, dims);
    const size_t n_pixel = attn_site_n_own_row(ATTN_SITE_PIXEL_VALUES, dims) *
                           attn_site_width(ATTN_SITE_PIXEL_VALUES, dims);
    struct attn_before_pass pass = gradient->of.before;
    float *cells = attn_alloc((1 + n_deep) * n_cell, d * sizeof *cells, err), *pixels = NULL;
    enum attn_status status = cells ? ATTN_OK : ATTN_NO_MEMORY;

    pass.options.pool = gradient->pool;
    pass.options.trace = gradient->asked_by;
    if (status == ATTN_OK && n_deep > 0)
        status = ATTN_ALLOC(gradient->deep, n_deep * n * d, err);
    ATTN_THEN(status, run(gradient, err));
    if (status == ATTN_OK && has_pixels)
        status = ATTN_ALLOC(pixels, n_pixel, err);
    for (size_t k = n_deep; k-- > 0 && status == ATTN_OK;) {
        float *of_layer = cells + (1 + k) * n_cell * d;

        attn_before_gather(pass.before, gradient->deep + k * n * d, of_layer);
        status = emit_rows(gradient, ATTN_SITE_DEEPSTACK_GRAD, (int)k, of_layer, err);
    }
    if (status == ATTN_OK) {
        attn_before_gather(pass.before, attn_backward_embedding(gradient->tape.backward), cells);
        status = emit_rows(gradient, ATTN_SITE_IMAGE_FEATURES_GRAD, ATTN_NO_LAYER, cells, err);
    }
    ATTN_THEN(status, pass.before->reader->reader->back(&pass, cells, pixels, err));
    if (status == ATTN_OK && has_pixels)
        status = emit_pixels(gradient, pixels, err);
    attn_free(cells);
    attn_free(pixels);
    return status;
}

/* Runs the backward pass. */
static enum attn_status finish(struct attn_making *making, struct attn_error *err)
{
    struct attn_gradient *gradient = (struct attn_gradient *)(void *)making;
    enum attn_status status = gradient->reads_pictures ? run_pictures(gradient, err)
                              : gradient->of_encoder   ? run_both(gradient, err)
                                                       : run(gradient, err);

    for (size_t i = 0; i < 2 && status == ATTN_OK; i++)
        if (gradient->relevances[i])
            status = attn_relevance_emit(gradient->relevances[i], gradient->asked_by, err);
    return attn_error_at(status, ATTN_STAGE_MODEL, err);
}

/* Begins for the text; the backward pass goes on through what runs before it. */
static enum attn_status begin(const struct attn_run *run, enum attn_model_stack stack,
                              const struct attn_trace *trace, struct attn_pool *pool,
                              struct attn_making **making, struct attn_error *err)
{
    struct attn_gradient *made;
    enum attn_status status;

    if (stack == ATTN_STACK_ENCODER ||
        !attn_sites_meet(attn_selection_sites(trace->selection), attn_sites_of_metric()))
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->making.finish = finish;
    made->making.free = free_gradient;
    made->of = (struct scope){.model = run->model,
                              .goal = &run->asked.goal,
                              .source = &run->source,
                              .session = attn_run_session_options(run),
                              .reads_once = !run->host->options.reuse,
                              .before = attn_run_before(run)};
    made->of.session.edits = run->edits.items;
    made->of.session.n_edit = run->edits.n;
    made->asked_by = trace;
    made->pool = pool;
    status = build(made, err);
    *making = &made->making;
    return status;
}

const struct attn_maker attn_gradient_maker = {.sites = attn_sites_of_metric,
                                               .check = attn_gradient_check,
                                               .check_edits = attn_backward_check_edits,
                                               .begin = begin};
