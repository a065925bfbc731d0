/* gradient.c - see gradient.h: what is asked for, what has no gradients, and the trace that stands
 * between a session and who asked. */
#include "derived/gradient.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "derived/relevance.h"
#include "gradient/backward.h"
#include "trace/trace_internal.h"

struct attn_gradient {
    struct attn_gradient_scope of;
    const struct attn_trace *asked_by;
    struct attn_pool *pool;
    struct attn_selection *watched; /* owns; of the feed */
    struct attn_selection *wanted;  /* owns; of the backward pass */
    struct attn_trace feed_trace, trace;
    float *stream;                    /* [n_layer + 1, T, D] owns */
    struct attn_relevance *relevance; /* owns; or NULL */
};

/* --- what is asked for ------------------------------------------------------------------------ */

attn_site_set attn_gradient_sites(void)
{
    attn_site_set sites = 0;

    for (int i = 0; i < ATTN_N_SITE; i++)
        if (attn_site_is_of_metric((enum attn_site)i))
            sites |= ATTN_SITE_BIT(i);
    return sites;
}

bool attn_gradient_is_wanted(const struct attn_selection *selection)
{
    return (attn_selection_sites(selection) & attn_gradient_sites()) != 0;
}

enum attn_status attn_gradient_check(const struct attn_model *model,
                                     const struct attn_attention *layers, attn_site_set sites,
                                     struct attn_error *err)
{
    if (sites & ATTN_SITE_BIT(ATTN_SITE_VALUE_ZEROING))
        return attn_error_set(err, ATTN_INVALID,
                              "'value_zeroing' computes other layers than the run's, and there are "
                              "no gradients beside it");
    return attn_backward_check(model, layers, err);
}

attn_site_set attn_gradient_sites_of(attn_site_set sites)
{
    return (attn_gradient_sites() & ~attn_sites_gradients_of(~(attn_site_set)0)) |
           attn_sites_gradients_of(sites);
}

/* --- traces ----------------------------------------------------------------------------------- */

/* An attn_trace_fn, of the feed: keeps the stream into every layer and after the last. */
static enum attn_status on_feed(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    struct attn_gradient *gradient = user;

    attn_trace_keep_stream(event, gradient->pool, attn_selection_dims(gradient->watched),
                           gradient->stream);
    return attn_trace_hand_on(gradient->asked_by, event, err);
}

/* An attn_trace_fn, of the backward pass. */
static enum attn_status on_gradient(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err)
{
    struct attn_gradient *gradient = user;

    if (gradient->relevance && event->site == ATTN_SITE_PATTERN_X_GRAD)
        attn_relevance_add(gradient->relevance, event);
    return attn_trace_hand_on(gradient->asked_by, event, err);
}

/* --- creating --------------------------------------------------------------------------------- */

/* Of the backward pass: what was asked for; and for relevance all patterns times their gradients,
 * up to its last layer. */
static enum attn_status choose_wanted(struct attn_gradient *gradient, struct attn_error *err)
{
    const struct attn_selection *asked = gradient->asked_by->selection;
    const attn_site_set relevance = ATTN_SITE_BIT(ATTN_SITE_RELEVANCE);
    attn_site_set sites = attn_selection_sites(asked) & attn_gradient_sites();

    if ((sites & relevance) == 0) {
        ATTN_TRY(attn_selection_copy(asked, &gradient->wanted, err));
        return attn_selection_set_sites(gradient->wanted, sites, err);
    }
    sites = (sites & ~relevance) | ATTN_SITE_BIT(ATTN_SITE_PATTERN_X_GRAD);
    ATTN_TRY(attn_relevance_create(asked, gradient->pool, &gradient->relevance, err));
    ATTN_TRY(attn_selection_create(attn_selection_dims(asked), &gradient->wanted, err));
    return attn_selection_set_sites(gradient->wanted, sites, err);
}

static enum attn_status build(struct attn_gradient *gradient, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(gradient->asked_by->selection);
    const size_t n_float = dims->n_position * dims->d_model;

    ATTN_TRY(attn_selection_see_stream(gradient->asked_by->selection, attn_gradient_sites(), "all",
                                       &gradient->watched, err));
    ATTN_TRY(choose_wanted(gradient, err));
    gradient->feed_trace = (struct attn_trace){gradient->watched, on_feed, gradient};
    gradient->trace = (struct attn_trace){gradient->wanted, on_gradient, gradient};
    gradient->stream =
        attn_alloc_uninitialized(dims->n_layer + 1, n_float * sizeof *gradient->stream, err);
    return gradient->stream ? ATTN_OK : ATTN_NO_MEMORY;
}

enum attn_status attn_gradient_create(const struct attn_gradient_scope *of,
                                      const struct attn_trace *trace, struct attn_pool *pool,
                                      struct attn_gradient **gradient, struct attn_error *err)
{
    struct attn_gradient *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->of = *of;
    made->asked_by = trace;
    made->pool = pool;
    ATTN_RETURN_MADE(build(made, err), gradient, made, attn_gradient_free);
}

const struct attn_trace *attn_gradient_trace(const struct attn_gradient *gradient)
{
    return &gradient->feed_trace;
}

void attn_gradient_free(struct attn_gradient *gradient)
{
    if (!gradient)
        return;
    attn_relevance_free(gradient->relevance);
    attn_selection_free(gradient->watched);
    attn_selection_free(gradient->wanted);
    attn_free(gradient->stream);
    attn_free(gradient);
}

/* --- the backward pass ------------------------------------------------------------------------ */

enum attn_status attn_gradient_run(struct attn_gradient *gradient, struct attn_error *err)
{
    const struct attn_session_options *session = &gradient->of.session;
    const struct attn_backward_goal goal = attn_answer_goal(gradient->of.goal);
    const struct attn_backward_options options = {.n = session->n_max,
                                                  .n_goal = goal.n,
                                                  .trace = &gradient->trace,
                                                  .attention = session->attention,
                                                  .pool = gradient->pool,
                                                  .cancel = session->cancel,
                                                  .reads_once = gradient->of.reads_once,
                                                  .gemm = session->gemm,
                                                  .isa = session->isa};
    struct attn_backward *backward;
    enum attn_status status;

    ATTN_TRY(attn_backward_create(gradient->of.model, &options, &backward, err));
    status = attn_backward_run(backward, gradient->stream, &goal, err);
    attn_backward_free(backward);
    if (status == ATTN_OK && gradient->relevance)
        status = attn_relevance_emit(gradient->relevance, gradient->asked_by, err);
    return attn_error_at(status, ATTN_STAGE_MODEL, err);
}
