/* derivative.c - see derivative.h. */
#include "questions/derivative.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "forward/session_internal.h"
#include "input/encoder.h"
#include "kernels/kernels.h"
#include "model/model_internal.h"
#include "run/host_internal.h"
#include "trace/trace_internal.h"

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
    struct attn_pool *pool; /* borrowed */
    float *stream;          /* [n_layer + 1, T, D] owns. Pointers without "borrowed" are owned */
    struct attn_embedding_rows text; /* embedding rows of the run's text; borrows from the run */
    float *embeddings; /* [T, De] embeddings of the last feed; NULL if they are not needed */
    struct attn_kept_layers *kept; /* or NULL */
    struct attn_selection *seen;   /* all sites that are watched during a feed */
    struct attn_derivative_events watched;
    struct attn_selection *wanted, *encoder_wanted; /* gradients; or NULL */
    struct attn_trace gradients, encoder_gradients;
    struct attn_trace trace;           /* trace of a feed */
    struct attn_reply reply;           /* reply of the last feed of one text */
    bool is_together;                  /* two texts are being fed at once */
    bool is_other;                     /* the text being fed needs no gradients */
    struct attn_pass pass;             /* pass of a feed */
    struct attn_session *session;      /* freed by attn_derivative_feed_both, then NULL */
    struct attn_backward *backward;    /* with is_for_both, NULL before attn_derivative_feed_both */
    float *logits;                     /* [2, V] */
    struct attn_backward_options back; /* options of the backward pass */
    float *source; /* [S, d_source] source rows of the last feed; NULL without a source */
    struct attn_backward *encoder; /* or NULL */
    struct attn_sequence read;     /* input of the encoder; borrows */
    struct attn_embedding_rows read_rows;
    float *gradient; /* [T + S, De] if X includes the source */
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
    const struct attn_trace *kept = made->kept ? attn_kept_layers_trace(made->kept) : NULL;
    const bool is_other = made->is_together ? event->sequence == 0 : made->is_other;
    struct attn_trace_event seen = *event;

    seen.sequence = is_other ? 0 : 1;
    if (!is_other) {
        attn_trace_keep_stream(event, made->pool, attn_selection_dims(made->seen), made->stream);
        if (kept)
            ATTN_TRY(attn_trace_hand_on(kept, event, err));
    }
    return made->watched.on_event && attn_sites_have(made->watched.sites, event->at.site)
               ? made->watched.on_event(made->watched.user, &seen, err)
               : ATTN_OK;
}

/* Selects the sites that a feed emits: the stream, the tensors that the backward pass reads (if
 * they are kept), and the caller's sites. */
static enum attn_status listen(struct attn_derivative *made,
                               const struct attn_derivative_options *options,
                               struct attn_error *err)
{
    const struct attn_run *run = made->run;
    const struct attn_config *config = attn_model_config(run->model);
    const size_t n = run->source.n > run->text.n ? run->source.n : run->text.n;
    struct attn_dims dims = attn_config_dims(config, run->text.n);
    struct attn_site_set sites = ATTN_SITES(ATTN_SITE_RESID_PRE, ATTN_SITE_RESID_POST);

    if (options->kept_bytes > 0 && attn_kept_layers_size(config, n) <= options->kept_bytes) {
        ATTN_TRY(attn_kept_layers_create(config, n, made->pool, &made->kept, err));
        attn_sites_extend(&sites,
                          attn_selection_sites(attn_kept_layers_trace(made->kept)->selection));
    }
    made->watched = options->watched;
    attn_sites_extend(&sites, made->watched.sites);
    dims.lacking = NULL; /* selects scores with and without rotation, whichever the model has */
    dims.n_source = run->source.n;
    ATTN_TRY(attn_selection_create(&dims, &made->seen, err));
    made->trace = (struct attn_trace){.selection = made->seen, .on_event = on_event, .user = made};
    return attn_selection_set_sites(made->seen, sites, err);
}

/* Creates the backward pass through the source, that is, through the encoder if there is one. */
static enum attn_status build_source(struct attn_derivative *made,
                                     const struct attn_derivative_options *asked,
                                     struct attn_error *err)
{
    const struct attn_run *run = made->run;
    const struct attn_model *encoder = run->model->encoder;
    const struct attn_config *config = attn_model_config(run->model);
    const size_t n = run->source.n;
    struct attn_backward_options back = made->back;

    ATTN_TRY(ATTN_ALLOC(made->source, n * config->d_source, err));
    if (!asked->encoder_gradients.on_event)
        ATTN_TRY(ATTN_ALLOC(made->gradient, (run->text.n + n) * config->d_embed, err));
    made->back.source = made->source;
    made->back.n_source = n;
    made->back.source_mask = run->source.key_mask;
    made->back.needs_source = true;
    if (!encoder)
        return ATTN_OK;
    made->read = attn_encoder_input(&run->source);
    made->read_rows = attn_sequence_rows(&made->read, encoder);
    back.n = n;
    back.n_goal = 0;
    back.attention = encoder->config.attention;
    back.text = &made->read_rows;
    back.key_mask = run->source.key_mask;
    back.swaps = NULL;
    if (asked->encoder_gradients.on_event) {
        ATTN_TRY(select_sites(attn_config_dims(&encoder->config, n), asked->encoder_gradients.sites,
                              &made->encoder_wanted, err));
        made->encoder_gradients = (struct attn_trace){.selection = made->encoder_wanted,
                                                      .on_event = asked->encoder_gradients.on_event,
                                                      .user = asked->encoder_gradients.user};
        back.trace = &made->encoder_gradients;
    }
    back.skips_zeros = back.reads_once = false;
    back.edits = attn_edits_of_encoder(&run->edits);
    back.n_edit = run->edits.n_encoder;
    return attn_backward_create(encoder, &back, &made->encoder, err);
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

/* Allocates the logits, the residual streams, and embeddings if a norm or a map follows them. */
static enum attn_status allocate(struct attn_derivative *made, struct attn_error *err)
{
    const struct attn_run *run = made->run;
    const struct attn_config *config = attn_model_config(run->model);
    const bool has_embeddings = attn_backward_reads_embeddings(run->model);

    made->logits = attn_alloc(ATTN_ANSWERS_MOST,
                              attn_answer_n_logit(made->answer) * sizeof *made->logits, err);
    made->stream = attn_alloc_uninitialized(
        config->n_layer + 1, run->text.n * config->d_model * sizeof *made->stream, err);
    if (has_embeddings)
        made->embeddings =
            attn_alloc_uninitialized(run->text.n, config->d_embed * sizeof(float), err);
    return made->logits && made->stream && (made->embeddings || !has_embeddings) ? ATTN_OK
                                                                                 : ATTN_NO_MEMORY;
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
    ATTN_TRY(check(run, asked, err));
    ATTN_TRY(attn_derivative_select(run, asked->gradients.sites, &made->wanted, err));
    made->gradients = (struct attn_trace){.selection = made->wanted,
                                          .on_event = asked->gradients.on_event,
                                          .user = asked->gradients.user};
    made->text = attn_sequence_rows(&run->text, run->model);
    made->back = (struct attn_backward_options){.n = run->text.n,
                                                .rule = asked->rule,
                                                .n_goal = goal.n,
                                                .trace = &made->gradients,
                                                .attention = run->attention.layers,
                                                .cancel = session->cancel,
                                                .text = &made->text,
                                                .key_mask = session->key_mask,
                                                .swaps = asked->swaps,
                                                .skips_zeros = asked->skips_zeros,
                                                .n_run = asked->n_run,
                                                .reads_once = asked->is_for_both,
                                                .gemm = session->gemm,
                                                .isa = session->isa,
                                                .edits = run->edits.items,
                                                .n_edit = run->edits.n};
    made->other = asked->other;
    made->pool = made->back.pool = attn_host_pool(run->host, 1e9);
    if (asked->has_source && run->source.n > 0)
        ATTN_TRY(build_source(made, asked, err));
    made->is_together = asked->is_for_both && run->text.ids && !run->text.rows && !made->source &&
                        config->pooling == ATTN_POOLING_NONE && 2 * run->text.n <= MOST_TOGETHER;
    ATTN_TRY(allocate(made, err));
    made->back.embeddings = made->embeddings;
    ATTN_TRY(listen(made, asked, err));
    made->back.kept = made->kept;
    session->cache = ATTN_CACHE_ONE_LAYER;
    session->has_logits = true;
    session->reads_once = asked->is_for_both;
    session->pool = made->pool;
    session->trace = &made->trace;
    if (made->is_together) {
        session->n_sequence = 2;
        session->n_max = 2 * run->text.n;
    }
    ATTN_TRY(attn_pass_start(&made->pass, &made->session, err));
    if (asked->skips_zeros)
        attn_session_watch_rows(made->session, rows.first, rows.end);
    if (asked->is_for_both) /* created later, in the memory that the session frees */
        return ATTN_OK;
    return attn_backward_create(run->model, &made->back, &made->backward, err);
}

enum attn_status attn_derivative_create(const struct attn_run *run,
                                        const struct attn_answer *answer,
                                        const struct attn_derivative_options *options,
                                        struct attn_derivative **derivative, struct attn_error *err)
{
    struct attn_derivative *made;

    ATTN_TRY(attn_run_refuse_picture(run, "gradients", err));
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
    const struct attn_backward_options *back = &derivative->back;
    const size_t n = back->n_source * attn_model_config(derivative->run->model)->d_source;

    if (derivative->encoder)
        ATTN_TRY(attn_error_at(attn_backward_feed(derivative->encoder, x, derivative->source, err),
                               ATTN_STAGE_MODEL, err));
    else
        memcpy(derivative->source, x, n * sizeof *x);
    return attn_error_at(
        attn_session_set_source(derivative->session, derivative->source, back->n_source, err),
        ATTN_STAGE_MODEL, err);
}

static enum attn_status feed(struct attn_derivative *derivative, const struct attn_answer *answer,
                             const float *x, struct attn_reply *reply, struct attn_error *err)
{
    struct attn_pass *pass = &derivative->pass;

    pass->embeddings = x;
    pass->rows = attn_sequence_rows(answer->of.text, answer->of.model);
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

    if (derivative->embeddings)
        memcpy(derivative->embeddings, x, derivative->text.n * config->d_embed * sizeof *x);
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

/* Gives the session the edits of RUN, unless RUN is NULL or there are none. */
static enum attn_status use_edits_of(struct attn_derivative *derivative, const struct attn_run *run,
                                     struct attn_error *err)
{
    if (!run || (run->edits.n == 0 && derivative->run->edits.n == 0))
        return ATTN_OK;
    return attn_session_replace_edits(derivative->session, run->edits.items, run->edits.n, err);
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
    const struct attn_model *model = derivative->run->model;

    keep_embeddings(derivative, x);
    ATTN_TRY(feed_both(derivative, other, x_other, x, replies, err));
    if (derivative->backward)
        return ATTN_OK;
    attn_session_free(derivative->session); /* the backward pass reuses this memory */
    derivative->session = NULL;
    return attn_error_at(attn_backward_create(model, &derivative->back, &derivative->backward, err),
                         ATTN_STAGE_MODEL, err);
}

enum attn_status attn_derivative_backward(struct attn_derivative *derivative,
                                          struct attn_error *err)
{
    const struct attn_backward_goal goal = attn_answer_goal(derivative->answer);
    const size_t d = attn_model_config(derivative->run->model)->d_embed;
    const size_t n = derivative->back.n * d, n_source = derivative->back.n_source * d;
    struct attn_backward_goal given = {.n = derivative->back.n_source};
    const float *found;

    ATTN_TRY(attn_error_at(attn_backward_run(derivative->backward, derivative->stream, &goal, err),
                           ATTN_STAGE_MODEL, err));
    if (!derivative->source)
        return ATTN_OK;
    found = given.given = attn_backward_source(derivative->backward);
    if (derivative->encoder) {
        ATTN_TRY(attn_error_at(attn_backward_run(derivative->encoder, NULL, &given, err),
                               ATTN_STAGE_MODEL, err));
        found = derivative->gradient ? attn_backward_embedding(derivative->encoder) : NULL;
    }
    if (!derivative->gradient)
        return ATTN_OK;
    memcpy(derivative->gradient, attn_backward_embedding(derivative->backward), n * sizeof *found);
    memcpy(derivative->gradient + n, found, n_source * sizeof *found);
    return ATTN_OK;
}

enum attn_status attn_derivative_backward_of(struct attn_derivative *derivative, size_t first,
                                             size_t n, const float *resid, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(derivative->run->model);
    const size_t d = config->d_model, row = config->n_layer * derivative->run->text.n + first;

    memcpy(derivative->stream + row * d, resid, n * d * sizeof *resid);
    return attn_derivative_backward(derivative, err);
}

const struct attn_reply *attn_derivative_reply(const struct attn_derivative *derivative)
{
    return &derivative->reply;
}

const float *attn_derivative_embedding(const struct attn_derivative *derivative)
{
    return derivative->gradient ? derivative->gradient
                                : attn_backward_embedding(derivative->backward);
}

/* Finds root I of the Legendre polynomial of degree N by Newton's method. */
double attn_derivative_point(size_t i, size_t n, double *weight)
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

void attn_derivative_free(struct attn_derivative *derivative)
{
    if (!derivative)
        return;
    attn_backward_free(derivative->backward);
    attn_backward_free(derivative->encoder);
    attn_free(derivative->source);
    attn_free(derivative->gradient);
    attn_session_free(derivative->session);
    attn_kept_layers_free(derivative->kept);
    attn_selection_free(derivative->seen);
    attn_selection_free(derivative->wanted);
    attn_selection_free(derivative->encoder_wanted);
    attn_free(derivative->stream);
    attn_free(derivative->embeddings);
    attn_free(derivative->logits);
    attn_free(derivative);
}
