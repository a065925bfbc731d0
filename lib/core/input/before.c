#include "input/before.h"

#include "base/memory.h"
#include "forward/session_internal.h"
#include "model/model_internal.h"
#include "trace/trace_internal.h"

#include <string.h>

/* --- inputs ----------------------------------------------------------------------------------- */

enum attn_status attn_before_prepare(struct attn_before *before, const struct attn_model *model,
                                     struct attn_sequence *text, struct attn_sequence *source,
                                     struct attn_host_pictures *pictures, struct attn_error *err)
{
    if (!model->encoder && text->seen.n_picture == 0)
        return ATTN_OK;
    before->model = attn_model_before(model);
    before->decoder = model;
    before->is_due = true;
    if (model->encoder) {
        before->reader = source;
        before->inputs = source;
        before->n = before->n_chosen = before->n_shown = 1;
        return ATTN_STORE_ALLOC(&source->store, before->chosen, 1, err);
    }
    before->reader = text;
    return text->reader->prepare(before, text, pictures, err);
}

void attn_before_release(struct attn_before *before)
{
    attn_free(before->has_effect);
}

size_t attn_before_n_float(const struct attn_before *before)
{
    const struct attn_config *config = &before->decoder->config;

    return before->decoder->encoder
               ? before->reader->n * before->model->config.d_model
               : before->reader->n * (1 + config->vision.n_deep) * config->d_embed;
}

struct attn_before_pass attn_before_pass_of(const struct attn_before *before,
                                            const struct attn_session_options *options)
{
    return (struct attn_before_pass){.before = before,
                                     .options = *options,
                                     .edits = before->edits,
                                     .n_edit = before->n_edit,
                                     .n_shown = before->n_shown,
                                     .has_effect = before->has_effect};
}

size_t attn_before_number(const struct attn_before *before, size_t i)
{
    size_t number = 0;

    while (number < before->n_chosen && before->chosen[number] != i)
        number++;
    return number;
}

struct attn_sequence attn_encoder_input(const struct attn_sequence *source)
{
    return (struct attn_sequence){.n = source->n,
                                  .ids = source->ids,
                                  .rows = source->fed,
                                  .key_mask = source->key_mask,
                                  .reader = source->reader,
                                  .pixels = source->pixels,
                                  .grid = source->grid,
                                  .numbers = source->numbers};
}

/* --- one input -------------------------------------------------------------------------------- */

/* The user data of `store_final_rows`: where the final rows go, and the trace that the events are
 * forwarded to. */
struct keeping {
    struct attn_trace trace; /* its selection may be NULL: no events are forwarded */
    struct attn_location at; /* the final rows */
    struct attn_before_rows made;
    const struct attn_vision_config *vision;
    size_t number; /* of the input, among those that are chosen */
};

static enum attn_status store_final_rows(void *user, const struct attn_trace_event *event,
                                         struct attn_error *err)
{
    const struct keeping *keeping = user;
    struct attn_trace_event numbered = *event;

    if (keeping->made.final && event->at.site == keeping->at.site &&
        event->at.layer == keeping->at.layer)
        attn_trace_keep_rows(event, NULL, event->n_col, keeping->made.final);
    for (size_t i = 0; i < keeping->vision->n_deep && event->at.site == ATTN_SITE_RESID_POST; i++)
        if (keeping->made.deep[i] && (size_t)event->at.layer == keeping->vision->deep[i])
            attn_trace_keep_rows(event, NULL, event->n_col, keeping->made.deep[i]);
    numbered.sequence = keeping->number;
    return keeping->trace.selection ? attn_trace_hand_on(&keeping->trace, &numbered, err) : ATTN_OK;
}

/* Creates a selection of the tensors that the trace wants and of the final rows. All rows and heads
 * are computed if they are needed for these, or if edits are counted in them. */
static enum attn_status select_tensors(const struct attn_dims *dims, const struct keeping *keeping,
                                       bool has_edits, struct attn_selection **chosen,
                                       struct attn_error *err)
{
    const struct attn_selection *selection = keeping->trace.selection;
    struct attn_site_set sites =
        keeping->made.final ? ATTN_SITES(keeping->at.site) : (struct attn_site_set){0};

    if (keeping->made.deep[0])
        attn_sites_add(&sites, ATTN_SITE_RESID_POST);
    ATTN_TRY(selection && !keeping->made.final && !has_edits
                 ? attn_selection_copy_stack(selection, ATTN_STACK_ENCODER, chosen, err)
                 : attn_selection_create(dims, chosen, err));
    if (selection) /* the other sites are derived, not computed by the encoder */
        attn_sites_extend(
            &sites,
            attn_sites_common(attn_selection_sites_of(selection, ATTN_STACK_ENCODER), dims->sites));
    attn_selection_clear_sites(*chosen);
    return attn_sites_are_empty(sites) ? ATTN_OK : attn_selection_set_sites(*chosen, sites, err);
}

struct attn_session_options attn_before_session(const struct attn_before_pass *pass, size_t i)
{
    const struct attn_session_options *given = &pass->options;
    const struct attn_before *before = pass->before;
    const struct attn_sequence *input = &before->inputs[i];
    struct attn_session_options own = ATTN_SESSION_OPTIONS_DEFAULT;

    own.n_max = own.n_key_mask = input->n;
    own.cache = ATTN_CACHE_ONE_LAYER;
    own.pool = given->pool;
    own.cancel = given->cancel;
    own.isa = given->isa;
    own.gemm = given->gemm;
    own.needs_float32 = given->needs_float32;
    own.key_mask = input->key_mask;
    own.embeddings_name = input->name;
    own.positions = input->numbers;
    own.reads_once = given->reads_once;
    if (attn_before_number(before, i) < before->n_chosen) {
        own.edits = pass->edits;
        own.n_edit = pass->n_edit;
    }
    return own;
}

enum attn_status attn_before_run_input(struct attn_before_pass *pass, size_t i,
                                       struct attn_before_rows made, struct attn_error *err)
{
    const struct attn_before *before = pass->before;
    const struct attn_config *config = attn_model_config(before->model);
    const struct attn_sequence text = attn_encoder_input(&before->inputs[i]);
    const struct attn_dims dims = attn_config_dims(config, text.n);
    const bool is_at_end = config->has_final_norm;
    /* hidden state 0 is the input of the first layer */
    const size_t state = config->n_layer - config->vision.n_above;
    struct keeping keeping = {
        .at = {.site = is_at_end   ? ATTN_SITE_LN_FINAL
                       : state > 0 ? attn_site_of_output(&dims)
                                   : ATTN_SITE_RESID_PRE,
               .layer = is_at_end ? ATTN_NO_LAYER : (int)(state > 0 ? state - 1 : 0)},
        .made = made,
        .vision = &config->vision,
        .number = attn_before_number(before, i)};
    struct attn_pass own = {.model = before->model,
                            .text = &text,
                            .options = attn_before_session(pass, i),
                            .n_uncounted = pass->n_uncounted,
                            .progress = pass->progress,
                            .resid = pass->resid,
                            .at = pass->at};
    struct attn_trace all = {.on_event = store_final_rows, .user = &keeping};
    struct attn_session *session = NULL;
    struct attn_selection *chosen = NULL;
    enum attn_status status;

    if (pass->options.trace && keeping.number < pass->n_shown)
        keeping.trace = *pass->options.trace;
    status = select_tensors(&dims, &keeping, own.options.n_edit > 0, &chosen, err);
    all.selection = chosen;
    own.options.trace = &all;
    ATTN_THEN(status, attn_pass_run(&own, &session, err));
    if (status == ATTN_OK)
        pass->n_edited += attn_session_n_edited_row(session);
    for (size_t k = 0; status == ATTN_OK && pass->has_effect && k < own.options.n_edit; k++)
        pass->has_effect[k] |= attn_session_edit_has_effect(session, 0, k);
    attn_session_free(session);
    attn_selection_free(chosen);
    return status;
}

enum attn_status attn_before_run(struct attn_before_pass *pass, float *rows, struct attn_error *err)
{
    const struct attn_before *before = pass->before;

    if (before->own)
        return before->reader->reader->make(pass, rows, err);
    if (!rows && (!pass->options.trace || pass->n_shown == 0))
        return ATTN_OK;
    return attn_before_run_input(pass, 0, (struct attn_before_rows){.final = rows}, err);
}

void attn_before_gather(const struct attn_before *before, const float *rows, float *cells)
{
    const struct attn_sequence *text = before->reader;
    const size_t d = before->decoder->config.d_embed;

    for (size_t at = attn_sequence_next_seen(text, 0); at < text->n;
         at = attn_sequence_next_seen(text, at + 1), cells += d)
        memcpy(cells, rows + at * d, d * sizeof *cells);
}

void attn_before_keep_deep(const struct attn_before *before, const struct attn_trace_event *event,
                           float *deep)
{
    const struct attn_config *config = deep ? &before->decoder->config : NULL;

    if (deep && event->at.site == ATTN_SITE_RESID_POST_GRAD &&
        (size_t)event->at.layer < config->vision.n_deep)
        attn_trace_keep_rows(event, NULL, event->n_col,
                             deep + (size_t)event->at.layer * before->reader->n * config->d_embed);
}
