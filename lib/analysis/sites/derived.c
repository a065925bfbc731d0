/* derived.c - see derived.h: which kinds a run can have, the trace between a session and the trace
 * that wants derived tensors, and layers that are computed again. */
#include "sites/derived_internal.h"

#include "attention/attention_internal.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "forward/session_internal.h"
#include "input/pass.h"
#include "run/run_internal.h"
#include "trace/trace_internal.h"

#include <string.h>

/* The kinds, in the order of their sites. */
static const struct attn_derived_kind *const kinds[] = {
    &attn_derived_rollout, &attn_derived_weighted_pattern, &attn_derived_value_zeroing,
    &attn_derived_contacts};
enum { N_KIND = sizeof kinds / sizeof *kinds };

/* --- What a run can have ---------------------------------------------------------------------- */

static enum attn_status check_attention(const struct attn_model *model,
                                        const struct attn_attention *layers, enum attn_site site,
                                        struct attn_error *err)
{
    const size_t n_layer = attn_model_config(model)->n_layer;

    for (size_t layer = 0; layer < n_layer; layer++) {
        const struct attn_attention *attention = &layers[layer];

        if (attn_attention_gives(attention, ATTN_SITE_PATTERN) == ATTN_GIVES_NOT)
            return attn_error_set(err, ATTN_INVALID,
                                  "'%s' is made with patterns, and '%s' has none",
                                  attn_site_name(site), attn_attention_kind_name(attention->kind));
        if (attention->dropout > 0)
            return attn_error_set(
                err, ATTN_INVALID,
                "'%s' computes a layer again, and with dropout it would be another",
                attn_site_name(site));
    }
    return ATTN_OK;
}

static enum attn_status check_kind(const struct attn_model *model,
                                   const struct attn_attention *layers,
                                   const struct attn_derived_kind *kind, struct attn_error *err)
{
    const struct attn_config *config = model ? attn_model_config(model) : NULL;

    if (!model)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' is made of the layers of a model, and arrays have none",
                              attn_site_name(kind->site));
    ATTN_TRY(check_attention(model, layers, kind->site, err));
    if (config->stream || !attn_sites_are_empty(attn_session_left_sites(config)))
        return attn_error_set(
            err, ATTN_INVALID,
            "'%s' computes layers alone, and those of '%s' read more than the one "
            "before them writes, as keys of an earlier one",
            attn_site_name(kind->site), attn_quote_string(attn_model_name(model)).text);
    if (kind->check)
        ATTN_TRY(kind->check(model, err));
    if (!attn_sites_have(attn_config_dims(attn_model_config(model), 1).sites, ATTN_SITE_RESID_POST))
        return attn_error_set(err, ATTN_INVALID, "'%s' needs resid_post, which '%s' does not have",
                              attn_site_name(kind->site),
                              attn_quote_string(attn_model_name(model)).text);
    return ATTN_OK;
}

static struct attn_site_set sites_of(const struct attn_model *model,
                                     const struct attn_attention *layers,
                                     const struct attn_dims *dims)
{
    struct attn_site_set sites = {0};

    (void)dims;

    for (size_t i = 0; i < N_KIND; i++)
        if (check_kind(model, layers, kinds[i], NULL) == ATTN_OK)
            attn_sites_add(&sites, kinds[i]->site);
    return sites;
}

static enum attn_status check(const struct attn_model *model, const struct attn_attention *layers,
                              struct attn_site_set sites, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; status == ATTN_OK && i < N_KIND; i++)
        if (attn_sites_have(sites, kinds[i]->site))
            status = check_kind(model, layers, kinds[i], err);
    return status;
}

static struct attn_site_set all_sites(void)
{
    struct attn_site_set sites = {0};

    for (size_t i = 0; i < N_KIND; i++)
        attn_sites_add(&sites, kinds[i]->site);
    return sites;
}

/* --- Computing layers again ------------------------------------------------------------------- */

enum attn_status attn_derivation_select(const struct attn_derivation *derivation,
                                        struct attn_site_set sites, const struct attn_location *at,
                                        struct attn_selection **selection, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(derivation->asked_by->selection);
    struct attn_selection *made;
    enum attn_status status;

    ATTN_TRY(attn_selection_create(dims, &made, err));
    status = attn_selection_set_sites(made, sites, err);
    attn_selection_choose_layers(made, at, at);
    ATTN_RETURN_MADE(status, selection, made, attn_selection_free);
}

enum attn_status attn_derivation_open(const struct attn_derivation *derivation,
                                      const struct attn_again *again, struct attn_session **session,
                                      struct attn_error *err)
{
    const struct attn_derived_scope *of = &derivation->of;
    const struct attn_session_options *run = &of->session;
    struct attn_pass pass = {.model = of->model, .source = of->source, .options = *run};
    struct attn_edit *edits;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(edits, run->n_edit + again->n_edit, err));
    pass.options.cache = attn_derivation_has_steps(derivation, again->at) ? ATTN_CACHE_ALL_LAYERS
                                                                          : ATTN_CACHE_ONE_LAYER;
    pass.options.pool = derivation->pool;
    pass.options.trace = again->trace;
    pass.options.edits = edits;
    pass.options.n_edit = 0;
    /* The edits of the run come first, without those of resid_pre, whose values contain them
     * already; then the edits of AGAIN. */
    for (size_t i = 0; i < run->n_edit; i++)
        if (run->edits[i].at.site != ATTN_SITE_RESID_PRE)
            edits[pass.options.n_edit++] = run->edits[i];
    for (size_t i = 0; i < again->n_edit; i++)
        edits[pass.options.n_edit++] = again->edits[i];
    status = attn_pass_start(&pass, session, err);
    attn_free(edits);
    if (status == ATTN_OK)
        attn_session_add_rows(*session, attn_sequence_added(of->text, of->model));
    return status;
}

enum attn_status attn_derivation_feed(const struct attn_derivation *derivation,
                                      struct attn_session *session, const struct attn_location *at,
                                      size_t first, size_t n, struct attn_error *err)
{
    const size_t d_model = attn_selection_dims(derivation->watched)->d_model;
    const float *resid = derivation->resid_pre[attn_location_index(at)];

    return attn_session_feed_layer(session, at, resid + first * d_model, NULL, n, err);
}

bool attn_derivation_has_steps(const struct attn_derivation *derivation,
                               const struct attn_location *at)
{
    const struct attn_config *config = attn_model_config(derivation->of.model);
    struct attn_error why_not = {0};

    return !config->is_cross[attn_location_index(at)] && !config->mixer &&
           attn_session_check_next(derivation->of.session.attention, config, &why_not) == ATTN_OK;
}

size_t attn_derivation_n_row(const struct attn_derivation *derivation,
                             const struct attn_location *at)
{
    const struct attn_selection *selection = derivation->asked_by->selection;
    const bool has_steps = attn_derivation_has_steps(derivation, at);
    size_t n = attn_selection_dims(selection)->n_position;

    while (n > 1 && has_steps && !attn_selection_has_query(selection, ATTN_STACK_ONLY, n - 1))
        n--;
    return n;
}

/* --- The trace of the session ----------------------------------------------------------------- */

/* Whether the layer of AT has a wanted tensor of KIND, whose location *own becomes. */
static bool is_wanted(const struct attn_derivation *derivation,
                      const struct attn_derived_kind *kind, const struct attn_location *at,
                      struct attn_location *own)
{
    const struct attn_selection *asked = derivation->asked_by->selection;

    *own = attn_location_in(attn_selection_dims(asked), at, kind->site);
    return attn_site_is_in_layer(kind->site) && attn_selection_wants(asked, own);
}

/* Returns the last layer for which resid_pre of all earlier layers must be kept; its number is
 * ATTN_NO_LAYER if there is none. */
static struct attn_location last_to_need_earlier(const struct attn_derivation *derivation)
{
    const struct attn_dims *dims = attn_selection_dims(derivation->asked_by->selection);
    struct attn_location last = {.layer = ATTN_NO_LAYER};

    for (size_t i = 0; i < N_KIND; i++) {
        struct attn_location at = {.site = kinds[i]->site, .layer = ATTN_NO_LAYER};

        while (kinds[i]->needs_earlier && attn_dims_next_layer(dims, &at))
            if (attn_selection_wants(derivation->asked_by->selection, &at) &&
                (last.layer == ATTN_NO_LAYER || attn_location_order(&at, &last) > 0))
                last = at;
    }
    return last;
}

/* Whether resid_pre of the layer of AT must be kept, because the layer is computed again for its
 * own derived tensors or for those of a later layer. */
static bool is_kept(const struct attn_derivation *derivation, const struct attn_location *at)
{
    const struct attn_location last = last_to_need_earlier(derivation);
    bool is_kept = last.layer != ATTN_NO_LAYER && attn_location_order(at, &last) <= 0;
    struct attn_location own;

    for (size_t i = 0; i < N_KIND; i++)
        is_kept = is_kept || is_wanted(derivation, kinds[i], at, &own);
    return is_kept;
}

static enum attn_status keep_resid(struct attn_derivation *derivation,
                                   const struct attn_trace_event *event, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(derivation->watched);
    float **resid = &derivation->resid_pre[attn_location_index(&event->at)];

    if (!is_kept(derivation, &event->at))
        return ATTN_OK;
    if (!*resid)
        *resid = attn_alloc(dims->n_position, dims->d_model * sizeof **resid, err);
    if (!*resid)
        return ATTN_NO_MEMORY;
    for (size_t r = 0; r < event->n_row; r++)
        memcpy(*resid + (event->row0 + r) * dims->d_model, event->data + r * event->ld,
               dims->d_model * sizeof **resid);
    return ATTN_OK;
}

/* Called when all tensors of the layer of OUTPUT have come: emits the derived ones. */
static enum attn_status finish_layer(struct attn_derivation *derivation,
                                     const struct attn_location *output, struct attn_error *err)
{
    const struct attn_location last = last_to_need_earlier(derivation);
    const size_t layer = attn_location_index(output);
    struct attn_location at, next = *output;
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; status == ATTN_OK && i < N_KIND; i++)
        if (is_wanted(derivation, kinds[i], output, &at))
            status = kinds[i]->derive(derivation, &at, err);
    if (status == ATTN_OK && derivation->contacts &&
        !attn_dims_next_layer(attn_selection_dims(derivation->watched), &next))
        status = attn_contacts_emit(derivation->contacts, err);
    if (last.layer != ATTN_NO_LAYER && attn_location_order(output, &last) < 0)
        return status;
    attn_free(derivation->resid_pre[layer]);
    derivation->resid_pre[layer] = NULL;
    return status;
}

/* An attn_trace_fn: keeps what derived tensors need, and passes on what the other trace wants. */
static enum attn_status on_event(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    struct attn_derivation *derivation = user;
    const struct attn_dims *dims = attn_selection_dims(derivation->watched);

    if (event->at.site == ATTN_SITE_RESID_PRE)
        ATTN_TRY(keep_resid(derivation, event, err));
    if (event->at.site == ATTN_SITE_PATTERN && derivation->contacts)
        attn_contacts_add(derivation->contacts, event);
    ATTN_TRY(attn_trace_hand_on(derivation->asked_by, event, err));
    if (event->at.site == attn_location_output(dims, &event->at) &&
        event->row0 + event->n_row == dims->n_position)
        ATTN_TRY(finish_layer(derivation, &event->at, err));
    return ATTN_OK;
}

static enum attn_status watch(struct attn_derivation *derivation, struct attn_error *err)
{
    const struct attn_selection *asked = derivation->asked_by->selection;
    const struct attn_location last = last_to_need_earlier(derivation),
                               contacts = {.site = ATTN_SITE_CONTACTS, .layer = ATTN_NO_LAYER};

    if (!attn_selection_wants(asked, &contacts))
        return attn_selection_see_stream(asked, all_sites(), last.layer < 0 ? NULL : &last,
                                         &derivation->watched, err);
    ATTN_TRY(attn_contacts_create(&derivation->of, derivation->asked_by, derivation->pool,
                                  &derivation->contacts, err));
    return attn_making_see_patterns(asked, all_sites(), &derivation->watched, err);
}

static void free_derivation(struct attn_making *making)
{
    struct attn_derivation *derivation = (struct attn_derivation *)(void *)making;

    for (size_t layer = 0; derivation->watched && derivation->resid_pre &&
                           layer < attn_selection_dims(derivation->watched)->n_layer;
         layer++)
        attn_free(derivation->resid_pre[layer]);
    attn_free(derivation->resid_pre);
    attn_contacts_free(derivation->contacts);
    attn_selection_free(derivation->watched);
    attn_selection_free(derivation->of_encoder);
    attn_free(derivation);
}

/* Sets what DERIVATION is made of: the text of RUN, or what runs before it. */
static enum attn_status set_scope(struct attn_derivation *derivation, const struct attn_run *run,
                                  enum attn_model_stack stack, struct attn_error *err)
{
    static const struct attn_sequence none = {0};
    const struct attn_before_pass before = attn_run_before(run);

    derivation->of = (struct attn_derived_scope){run->model, &run->text, &run->source,
                                                 attn_run_session_options(run)};
    derivation->of.session.n_max += run->asked.continuations.n_more;
    derivation->of.session.edits = run->edits.items;
    derivation->of.session.n_edit = run->edits.n;
    if (stack != ATTN_STACK_ENCODER)
        return ATTN_OK;
    derivation->of = (struct attn_derived_scope){run->before.model, &none, &none,
                                                 attn_before_session(&before, 0)};
    derivation->of.session.attention = run->before.model->config.attention;
    ATTN_TRY(attn_selection_copy_stack(derivation->asked_by->selection, ATTN_STACK_ENCODER,
                                       &derivation->of_encoder, err));
    derivation->own = *derivation->asked_by;
    derivation->own.selection = derivation->of_encoder;
    derivation->asked_by = &derivation->own;
    return ATTN_OK;
}

static enum attn_status begin(const struct attn_run *run, enum attn_model_stack stack,
                              const struct attn_trace *trace, struct attn_pool *pool,
                              struct attn_making **making, struct attn_error *err)
{
    struct attn_derivation *made;

    if (!attn_sites_meet(attn_selection_sites_of(trace->selection, stack), all_sites()))
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->making.free = free_derivation;
    *making = &made->making;
    made->asked_by = trace;
    made->pool = pool;
    ATTN_TRY(set_scope(made, run, stack, err));
    ATTN_TRY(
        ATTN_ALLOC(made->resid_pre, attn_selection_dims(made->asked_by->selection)->n_layer, err));
    ATTN_TRY(watch(made, err));
    made->making.trace =
        (struct attn_trace){.selection = made->watched, .on_event = on_event, .user = made};
    return ATTN_OK;
}

const struct attn_maker attn_derived_maker = {
    .sites = all_sites, .sites_of = sites_of, .check = check, .begin = begin};
