#include "trials/derivative.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "forward/session_internal.h"
#include "model/model_internal.h"
#include "run/host_internal.h"
#include "run/run_internal.h"

#include <math.h>
#include <string.h>

/* Two texts with up to this many rows are fed together, so that weights are packed once for both.
 * With more rows the extra memory costs as much time as packing once saves. */
enum { MOST_TOGETHER = 512 };

static const double pi = 3.14159265358979323846;

struct attn_derivative {
    const struct attn_run *run;   /* borrowed */
    const struct attn_run *other; /* borrowed; the run of the other text; or NULL */
    const struct attn_answer *answer;
    struct attn_tape tape;           /* pointers without "borrowed" are owned */
    struct attn_embedding_rows text; /* embedding rows of the run's text; borrows from the run */
    struct attn_selection *seen;     /* all sites that are watched during a feed */
    struct attn_derivative_events watched;
    struct attn_selection *wanted, *encoder_wanted; /* gradients; or NULL */
    struct attn_trace gradients, encoder_gradients;
    struct attn_trace trace;      /* trace of a feed */
    struct attn_reply reply;      /* reply of the last feed of one text */
    bool is_together;             /* two texts are being fed at once */
    bool is_other;                /* the text being fed needs no gradients */
    bool is_for_both;             /* the tape is opened after the only feed */
    struct attn_pass pass;        /* pass of a feed */
    struct attn_session *session; /* freed by attn_derivative_feed_both, then NULL */
    float *logits;                /* [2, V] */
    float *source;                /* [S, d_source] of the last feed, if the source gets gradients */
    struct attn_sequence read;    /* input of the encoder; borrows */
    struct attn_embedding_rows read_rows;
    const float *added; /* of the options */
    float *gradient;    /* [T + S, De] if X includes the source */
};

static enum attn_status select_sites(struct attn_dims dims, struct attn_site_set sites,
                                     struct attn_selection **selection, struct attn_error *err)
{
    struct attn_selection *made;

    attn_sites_extend(&dims.sites, sites);
    dims.encoder = NULL;
    ATTN_TRY(attn_selection_create(&dims, &made, err));
    ATTN_RETURN_MADE(attn_selection_set_sites(made, sites, err), selection, made,
                     attn_selection_free);
}

enum attn_status attn_derivative_select(const struct attn_run *run, struct attn_site_set sites,
                                        struct attn_selection **selection, struct attn_error *err)
{
    return select_sites(*attn_selection_dims(run->selection), sites, selection, err);
}

enum attn_status attn_derivative_check_ids(const struct attn_run *run, struct attn_error *err)
{
    const struct attn_sequence *text = &run->text;

    return text->rows || text->pixels
               ? ATTN_OK
               : attn_error_at(attn_model_check_ids(run->model, text->ids, text->n, 0, err),
                               ATTN_STAGE_INPUT, err);
}

enum attn_status attn_derivative_embed(const struct attn_run *run, float *x, struct attn_error *err)
{
    return attn_error_at(attn_sequence_embed(&run->text, run->model, x, err), ATTN_STAGE_MODEL,
                         err);
}

/* Receives the events of a feed (attn_trace_fn). */
static enum attn_status on_event(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    const struct attn_derivative *made = user;
    const bool is_other = made->is_together ? event->sequence == 0 : made->is_other;
    struct attn_trace_event seen = *event;

    seen.sequence = is_other ? 0 : 1;
    if (!is_other)
        ATTN_TRY(attn_tape_add(&made->tape, event, err));
    return made->watched.on_event && attn_sites_have(made->watched.sites, event->at.site)
               ? made->watched.on_event(made->watched.user, &seen, err)
               : ATTN_OK;
}

/* Selects the sites that a feed emits: those of the tape and the caller's. */
static enum attn_status listen(struct attn_derivative *made,
                               const struct attn_derivative_options *options,
                               struct attn_error *err)
{
    const struct attn_run *run = made->run;
    struct attn_dims dims = attn_config_dims(attn_model_config(run->model), run->text.n);

    made->watched = options->watched;
    dims.lacking = NULL; /* selects scores with and without rotation, whichever the model has */
    dims.n_source = run->source.n;
    ATTN_TRY(attn_selection_create(&dims, &made->seen, err));
    made->trace = (struct attn_trace){.selection = made->seen, .on_event = on_event, .user = made};
    return attn_selection_set_sites(
        made->seen, attn_sites_join(attn_tape_sites(&made->tape), made->watched.sites), err);
}

/* Makes the passes of the tape go on through the encoder. */
static enum attn_status add_encoder(struct attn_derivative *made,
                                    const struct attn_derivative_options *asked,
                                    struct attn_error *err)
{
    const struct attn_run *run = made->run;
    const struct attn_model *encoder = run->model->encoder;
    const struct attn_derivative_events *wanted = &asked->encoder_gradients;
    const struct attn_backward_options options = {
        .trace = wanted->on_event ? &made->encoder_gradients : &made->gradients,
        .text = &made->read_rows,
        .edits = run->before.edits,
        .n_edit = run->before.n_edit};

    made->read = attn_encoder_input(&run->source);
    made->read_rows = attn_sequence_rows(&made->read);
    if (wanted->on_event) {
        ATTN_TRY(select_sites(attn_config_dims(&encoder->config, run->source.n), wanted->sites,
                              &made->encoder_wanted, err));
        made->encoder_gradients = (struct attn_trace){
            .selection = made->encoder_wanted, .on_event = wanted->on_event, .user = wanted->user};
    }
    return attn_tape_add_encoder(&made->tape, encoder, options, err);
}

static enum attn_status check(const struct attn_run *run,
                              const struct attn_derivative_options *asked, struct attn_error *err)
{
    if (run->source.n > 0 && !asked->has_source)
        return attn_refuse(
            err, ATTN_STAGE_OPTIONS,
            "attributions to cells are not computed where layers attend to a source");
    ATTN_TRY(attn_error_at(attn_backward_check(run->model, run->attention.layers, asked->rule, err),
                           ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_run_check_gradients_of_edits(run, err));
    return attn_derivative_check_ids(run, err);
}

static enum attn_status allocate(struct attn_derivative *made,
                                 const struct attn_derivative_options *asked,
                                 struct attn_error *err)
{
    const struct attn_run *run = made->run;
    const struct attn_config *config = attn_model_config(run->model);

    if (asked->has_source && run->source.n > 0)
        ATTN_TRY(ATTN_ALLOC(made->source, run->source.n * config->d_source, err));
    if (made->source && !asked->encoder_gradients.on_event)
        ATTN_TRY(ATTN_ALLOC(made->gradient, (run->text.n + run->source.n) * config->d_embed, err));
    return ATTN_NEW(made->logits,
                    attn_alloc(ATTN_ANSWERS_MOST,
                               attn_answer_n_logit(made->answer) * sizeof *made->logits, err));
}

/* Creates the tape, whose gradients are those of GOAL. */
static enum attn_status create_tape(struct attn_derivative *made,
                                    const struct attn_derivative_options *asked,
                                    const struct attn_backward_goal *goal, struct attn_error *err)
{
    const struct attn_run *run = made->run;
    struct attn_backward_options options = attn_tape_options(&made->pass.options);

    options.rule = asked->rule;
    options.n_goal = goal->n;
    options.trace = &made->gradients;
    options.text = &made->text;
    options.swaps = asked->swaps;
    options.skips_zeros = asked->skips_zeros;
    options.source = made->source;
    options.n_source = made->source ? run->source.n : 0;
    options.needs_source = made->source;
    options.n_run = asked->n_run;
    options.reads_once = asked->is_for_both;
    made->text = attn_sequence_rows(&run->text);
    ATTN_TRY(attn_derivative_select(run, asked->gradients.sites, &made->wanted, err));
    made->gradients = (struct attn_trace){.selection = made->wanted,
                                          .on_event = asked->gradients.on_event,
                                          .user = asked->gradients.user};
    ATTN_TRY(attn_tape_prepare(&made->tape, run->model, &options, asked->kept_bytes, err));
    return made->source && run->model->encoder ? add_encoder(made, asked, err) : ATTN_OK;
}

static enum attn_status build(struct attn_derivative *made,
                              const struct attn_derivative_options *asked, struct attn_error *err)
{
    const struct attn_run *run = made->run;
    const struct attn_config *config = attn_model_config(run->model);
    const struct attn_backward_goal goal = attn_answer_goal(made->answer);
    const struct attn_backward_rows rows =
        attn_backward_rows(run->model, run->text.ids, run->text.n, &goal);
    struct attn_session_options *session = &made->pass.options;

    made->pass = attn_run_pass(run);
    made->pass.source = NULL; /* each feed sets it */
    made->pass.progress.on_part = asked->n_run > 0 ? NULL : made->pass.progress.on_part;
    ATTN_TRY(check(run, asked, err));
    made->other = asked->other;
    made->added = asked->added;
    made->is_for_both = asked->is_for_both;
    session->pool = attn_host_pool(run->host, 1e9);
    ATTN_TRY(allocate(made, asked, err));
    ATTN_TRY(create_tape(made, asked, &goal, err));
    made->is_together = asked->is_for_both && run->text.ids && !run->text.rows && !made->source &&
                        config->pooling == ATTN_POOLING_NONE && 2 * run->text.n <= MOST_TOGETHER;
    ATTN_TRY(listen(made, asked, err));
    session->cache = ATTN_CACHE_ONE_LAYER;
    session->has_logits = true;
    session->reads_once = asked->is_for_both;
    session->trace = &made->trace;
    if (made->is_together) {
        session->n_sequence = 2;
        session->n_max = 2 * run->text.n;
    }
    ATTN_TRY(attn_pass_start(&made->pass, &made->session, err));
    if (asked->skips_zeros)
        attn_session_watch_rows(made->session, rows.first, rows.end);
    if (asked->is_for_both) /* opened later, in the memory that the session frees */
        return ATTN_OK;
    return attn_tape_open(&made->tape, err);
}

enum attn_status attn_derivative_create(const struct attn_run *run,
                                        const struct attn_answer *answer,
                                        const struct attn_derivative_options *options,
                                        struct attn_derivative **derivative, struct attn_error *err)
{
    struct attn_derivative *made;

    ATTN_TRY(attn_error_at(ATTN_ALLOC(made, 1, err), ATTN_STAGE_MODEL, err));
    made->run = run;
    made->answer = answer;
    ATTN_RETURN_MADE(attn_error_at(build(made, options, err), ATTN_STAGE_MODEL, err), derivative,
                     made, attn_derivative_free);
}

static enum attn_status read_reply(struct attn_derivative *derivative,
                                   const struct attn_answer *answer, struct attn_reply *reply,
                                   struct attn_error *err)
{
    const struct attn_reading reading = {.logits = derivative->logits, .replies = reply};

    return attn_answer_read(answer, derivative->session, &reading, err);
}

/* Sets the source. X are its embeddings. */
static enum attn_status feed_source(struct attn_derivative *derivative, const float *x,
                                    struct attn_error *err)
{
    const struct attn_model *model = derivative->run->model;
    const size_t n = derivative->run->source.n;

    if (model->encoder)
        ATTN_TRY(
            attn_error_at(attn_backward_feed(derivative->tape.encoder, x, derivative->source, err),
                          ATTN_STAGE_MODEL, err));
    else
        memcpy(derivative->source, x, n * attn_model_config(model)->d_source * sizeof *x);
    return attn_error_at(attn_session_set_source(derivative->session, derivative->source, n, err),
                         ATTN_STAGE_MODEL, err);
}

static enum attn_status feed(struct attn_derivative *derivative, const struct attn_answer *answer,
                             const float *x, struct attn_reply *reply, struct attn_error *err)
{
    struct attn_pass *pass = &derivative->pass;

    pass->embeddings = x;
    pass->rows = attn_sequence_rows(answer->of.text);
    pass->added = attn_sequence_added(answer->of.text, answer->of.model);
    pass->added.rows = derivative->added ? derivative->added : pass->added.rows;
    attn_session_reset(derivative->session);
    if (derivative->source)
        ATTN_TRY(feed_source(derivative,
                             x + pass->rows.n * attn_model_config(answer->of.model)->d_embed, err));
    ATTN_TRY(attn_pass_feed(pass, derivative->session, err));
    return read_reply(derivative, answer, reply, err);
}

static void keep_embeddings(struct attn_derivative *derivative, const float *x)
{
    const struct attn_config *config = attn_model_config(derivative->run->model);

    if (derivative->tape.embeddings)
        memcpy(derivative->tape.embeddings, x, derivative->text.n * config->d_embed * sizeof *x);
}

enum attn_status attn_derivative_feed(struct attn_derivative *derivative, const float *x,
                                      double *value, struct attn_error *err)
{
    derivative->is_other = false;
    keep_embeddings(derivative, x);
    ATTN_TRY(feed(derivative, derivative->answer, x, &derivative->reply, err));
    *value = derivative->reply.value;
    return ATTN_OK;
}

enum attn_status attn_derivative_value(struct attn_derivative *derivative, double *value,
                                       struct attn_error *err)
{
    ATTN_TRY(read_reply(derivative, derivative->answer, &derivative->reply, err));
    *value = derivative->reply.value;
    return ATTN_OK;
}

static enum attn_status feed_together(struct attn_derivative *derivative,
                                      const struct attn_answer *answers, struct attn_reply *replies,
                                      struct attn_error *err)
{
    static const struct attn_edit none;
    struct attn_session_sequence texts[ATTN_ANSWERS_MOST] = {{0}};
    const struct attn_reading reading = {.logits = derivative->logits, .replies = replies};

    for (size_t i = 0; i < ATTN_ANSWERS_MOST; i++) {
        texts[i].ids = answers[i].of.text->ids;
        texts[i].n = answers[i].of.text->n;
        texts[i].types = answers[i].of.text->types;
    }
    if (derivative->other) { /* the second has the edits of the session */
        const struct attn_edit_list *edits = &derivative->other->edits;

        texts[0].edits = edits->n > 0 ? edits->items : &none;
        texts[0].n_edit = edits->n;
    }
    attn_session_reset(derivative->session);
    ATTN_TRY(
        attn_error_at(attn_session_feed_many(derivative->session, texts, ATTN_ANSWERS_MOST, err),
                      ATTN_STAGE_MODEL, err));
    return attn_answer_read_each(answers, ATTN_ANSWERS_MOST, derivative->session, &reading, err);
}

/* Replaces the edits of SESSION, which were checked for a session like this one, before the next
 * feed. */
static enum attn_status replace_edits(struct attn_session *session, const struct attn_edit *edits,
                                      size_t n_edit, struct attn_error *err)
{
    size_t capacity = session->n_edit;

    ATTN_TRY(ATTN_GROW(session->edits, capacity, n_edit, err));
    ATTN_TRY(ATTN_GROW(session->has_effect, session->effect_capacity, n_edit, err));
    session->n_edit = n_edit;
    for (size_t i = 0; i < n_edit; i++) {
        session->edits[i] = edits[i];
        atomic_store_explicit(&session->has_effect[i], false, memory_order_relaxed);
    }
    return ATTN_OK;
}

/* Gives the session the edits of RUN, unless RUN is NULL or there are none. */
static enum attn_status use_edits_of(struct attn_derivative *derivative, const struct attn_run *run,
                                     struct attn_error *err)
{
    if (!run || (run->edits.n == 0 && derivative->run->edits.n == 0))
        return ATTN_OK;
    return replace_edits(derivative->session, run->edits.items, run->edits.n, err);
}

static enum attn_status feed_both(struct attn_derivative *derivative,
                                  const struct attn_answer *other, const float *x_other,
                                  const float *x, struct attn_reply *replies,
                                  struct attn_error *err)
{
    const struct attn_answer answers[ATTN_ANSWERS_MOST] = {*other, *derivative->answer};

    if (derivative->is_together && !other->of.text->rows)
        return feed_together(derivative, answers, replies, err);
    derivative->is_together = false;
    derivative->is_other = true;
    ATTN_TRY(use_edits_of(derivative, derivative->other, err));
    ATTN_TRY(feed(derivative, other, x_other, &replies[0], err));
    derivative->is_other = false;
    ATTN_TRY(use_edits_of(derivative, derivative->run, err));
    return feed(derivative, derivative->answer, x, &replies[1], err);
}

enum attn_status attn_derivative_feed_both(struct attn_derivative *derivative,
                                           const struct attn_answer *other, const float *x_other,
                                           const float *x, struct attn_reply *replies,
                                           struct attn_error *err)
{
    keep_embeddings(derivative, x);
    ATTN_TRY(feed_both(derivative, other, x_other, x, replies, err));
    if (!derivative->is_for_both)
        return ATTN_OK;
    attn_session_free(derivative->session); /* the backward pass reuses this memory */
    derivative->session = NULL;
    return attn_error_at(attn_tape_open(&derivative->tape, err), ATTN_STAGE_MODEL, err);
}

enum attn_status attn_derivative_backward(struct attn_derivative *derivative,
                                          struct attn_error *err)
{
    const struct attn_backward_goal goal = attn_answer_goal(derivative->answer);
    const struct attn_tape *tape = &derivative->tape;
    const size_t d = attn_model_config(derivative->run->model)->d_embed;
    const size_t n = derivative->text.n * d;

    ATTN_TRY(attn_error_at(attn_tape_run(&derivative->tape, &goal, err), ATTN_STAGE_MODEL, err));
    if (!derivative->gradient)
        return ATTN_OK;
    memcpy(derivative->gradient, attn_backward_embedding(tape->backward), n * sizeof(float));
    memcpy(derivative->gradient + n,
           tape->encoder ? attn_backward_embedding(tape->encoder)
                         : attn_backward_source(tape->backward),
           derivative->run->source.n * d * sizeof(float));
    return ATTN_OK;
}

enum attn_status attn_derivative_backward_of(struct attn_derivative *derivative, size_t first,
                                             size_t n, const float *resid, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(derivative->run->model);
    const size_t d = config->d_model, row = config->n_layer * derivative->run->text.n + first;

    memcpy(derivative->tape.stream + row * d, resid, n * d * sizeof *resid);
    return attn_derivative_backward(derivative, err);
}

const struct attn_reply *attn_derivative_reply(const struct attn_derivative *derivative)
{
    return &derivative->reply;
}

const float *attn_derivative_embedding(const struct attn_derivative *derivative)
{
    return derivative->gradient ? derivative->gradient
                                : attn_backward_embedding(derivative->tape.backward);
}

/* Finds root I of the Legendre polynomial of degree N by Newton's method. */
static double find_point(size_t i, size_t n, double *weight)
{
    double x = attn_cos(pi * ((double)i + 0.75) / ((double)n + 0.5)), slope = 1;

    for (int step = 0; step < 100; step++) {
        double p = 1, before = 0, change;

        for (size_t k = 0; k < n; k++) { /* computes p_k+1 from p_k and p_k-1 */
            const double next =
                ((2 * (double)k + 1) * x * p - (double)k * before) / ((double)k + 1);

            before = p;
            p = next;
        }
        slope = (double)n * (x * p - before) / (x * x - 1);
        change = p / slope;
        x -= change;
        if (fabs(change) < 1e-15)
            break;
    }
    *weight = 1 / ((1 - x * x) * slope * slope);
    return (1 - x) / 2;
}

void attn_derivative_mix(double at, const float *from, const float *to, size_t n, float *x)
{
    for (size_t j = 0; j < n; j++)
        x[j] = (float)((double)from[j] + at * ((double)to[j] - (double)from[j]));
}

double attn_derivative_place(size_t i, size_t n_point, const float *from, const float *to, size_t n,
                             float *x)
{
    double weight;
    const double at = find_point(i, n_point, &weight);

    attn_derivative_mix(at, from, to, n, x);
    return weight;
}

void attn_derivative_free(struct attn_derivative *derivative)
{
    if (!derivative)
        return;
    attn_tape_release(&derivative->tape);
    attn_free(derivative->source);
    attn_free(derivative->gradient);
    attn_session_free(derivative->session);
    attn_selection_free(derivative->seen);
    attn_selection_free(derivative->wanted);
    attn_selection_free(derivative->encoder_wanted);
    attn_free(derivative->logits);
    attn_free(derivative);
}
