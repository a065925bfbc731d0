/* ablate_parts.c - lists the parts that `ablate` switches off, their tensors and replacements. */
#include "ablate/ablate_internal.h"

#include "base/memory.h"
#include "base/os/thread.h"
#include "base/status_internal.h"
#include "trace/places_extra.h"
#include "trace/trace_internal.h"

#include <stdlib.h>
#include <string.h>

/* Returns the sizes of the tensors that are switched off. */
static const struct attn_dims *ablated_dims(const struct attn_ablation *ablation)
{
    return attn_ablate_is_of_tower(ablation)
               ? attn_asked_stack_dims(ablation->frame.run, ATTN_STACK_TOWER)
               : attn_asked_dims(ablation->frame.run);
}

/* --- Parts and tensors ------------------------------------------------------------------------ */

/* Drops the convolutions of which SELECTION has some channels and not all. */
static void drop_channels(const struct attn_selection *selection, struct attn_parts *parts)
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    size_t n = 0;

    for (size_t i = 0; i < parts->n; i++) {
        const struct attn_location *at = &parts->items[i].at;

        if (at->site != ATTN_SITE_MIXER_Z || at->head != ATTN_ALL_HEADS ||
            attn_selection_count_heads(selection, at) ==
                attn_dims_n_head_of(dims, attn_location_index(at)))
            parts->items[n++] = parts->items[i];
    }
    parts->n = n;
}

/* Appends the parts of SITE in STACK. LIST chooses heads. */
static enum attn_status list_stack(const struct attn_ablation *ablation,
                                   enum attn_model_stack stack, enum attn_site site,
                                   const struct attn_head_list *list, struct attn_parts *parts,
                                   struct attn_error *err)
{
    const struct attn_location of = {.stack = stack,
                                     .site = site,
                                     .layer = ablation->args->by == ATTN_ABLATE_BY_NEURON &&
                                                      site == ATTN_SITE_MLP_POST
                                                  ? ablation->args->layer
                                                  : ATTN_ALL_LAYERS};
    const struct attn_run *run = ablation->frame.run;
    struct attn_selection *selection;
    enum attn_status status = ATTN_OK;

    ATTN_TRY(stack == ATTN_STACK_TOWER
                 ? attn_select_heads(list, attn_asked_stack_dims(run, stack), &selection, err)
                 : attn_edit_select_heads(list, stack, attn_asked_dims(run), &selection, err));
    if (selection)
        status = attn_selection_set_sites(selection, ATTN_SITES(site), err);
    ATTN_THEN(status, attn_parts_list(selection, &of, 0, parts, err));
    if (status == ATTN_OK && site == ATTN_SITE_MIXER_Z)
        drop_channels(selection, parts);
    attn_selection_free(selection);
    return status;
}

bool attn_ablate_names_encoder(const struct attn_head_list *heads)
{
    for (size_t i = 0; i < heads->n; i++)
        if (heads->items[i].stack == ATTN_STACK_ENCODER)
            return true;
    return heads->n == 0 && attn_list_names_stack(heads->text, ATTN_STACK_ENCODER);
}

/* Appends the parts of SITE in the stacks that are switched off. */
static enum attn_status list_site(const struct attn_ablation *ablation, enum attn_site site,
                                  const struct attn_head_list *heads, struct attn_parts *parts,
                                  struct attn_error *err)
{
    if (attn_ablate_is_of_tower(ablation))
        return list_stack(ablation, ATTN_STACK_TOWER, site, heads, parts, err);
    if (ablation->has_encoder)
        ATTN_TRY(list_stack(ablation, ATTN_STACK_ENCODER, site, heads, parts, err));
    return ablation->args->by == ATTN_ABLATE_BY_NEURON && ablation->args->is_of_encoder
               ? ATTN_OK
               : list_stack(ablation, ATTN_STACK_DECODER, site, heads, parts, err);
}

/* Orders parts as they are computed; those of a layer by their site. */
static int by_place(const void *a, const void *b)
{
    const struct attn_location *x = &((const struct attn_part *)a)->at,
                               *y = &((const struct attn_part *)b)->at;
    const int order = attn_location_order(x, y);

    if (order != 0)
        return order;
    if (x->site != y->site)
        return attn_site_is_before(x->site, y->site) ? -1 : 1;
    return (x->head > y->head) - (x->head < y->head);
}

enum attn_status attn_ablate_list(const struct attn_ablation *ablation, struct attn_site_set sites,
                                  const struct attn_head_list *heads, struct attn_parts *parts,
                                  struct attn_error *err)
{
    const size_t first = parts->n;
    size_t n_site = 0;

    if (!attn_ablate_is_of_tower(ablation) && !ablation->has_encoder &&
        attn_asked_model(ablation->frame.run)->encoder && attn_ablate_names_encoder(heads))
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' names heads of the encoder, and the references have the same "
                              "source: expected zero, mean or uniform in their place",
                              attn_head_list_quote(heads).text);
    for (enum attn_site site = 0; site < ATTN_N_SITE; site++) {
        if (!attn_sites_have(sites, site))
            continue;
        ATTN_TRY(list_site(ablation, site, heads, parts, err));
        n_site++;
    }
    if (n_site > 1)
        qsort(parts->items + first, parts->n - first, sizeof *parts->items, by_place);
    if (parts->n > first || !attn_head_list_is_given(heads))
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "'%s' names no head that can be switched off%s",
                   attn_head_list_quote(heads).text,
                   ablation->args->replacement == ATTN_REPLACEMENT_UNIFORM ? " by uniform weights"
                                                                           : "");
    return attn_error_hint(err, "layers without attention have no weights of attention, blocks "
                                "that are an MLP have no heads, and a convolution is one part, "
                                "'L.*'");
}

/* Finds the sites of a part. In layers without attention mixer_z and mixer_out stand for z and
 * attn_out; nothing of them can be uniform. */
static void find_sites(struct attn_ablation *ablation)
{
    const struct attn_site_set sites[] = {
        [ATTN_ABLATE_BY_HEAD] = ATTN_SITES(ATTN_SITE_Z, ATTN_SITE_MIXER_Z),
        [ATTN_ABLATE_BY_ATTN] = ATTN_SITES(ATTN_SITE_ATTN_OUT, ATTN_SITE_MIXER_OUT),
        [ATTN_ABLATE_BY_MLP] = ATTN_SITES(ATTN_SITE_MLP_OUT),
        [ATTN_ABLATE_BY_LAYER] =
            ATTN_SITES(ATTN_SITE_ATTN_OUT, ATTN_SITE_MIXER_OUT, ATTN_SITE_MLP_OUT),
        [ATTN_ABLATE_BY_NEURON] = ATTN_SITES(ATTN_SITE_MLP_POST),
    };
    const bool is_uniform = ablation->args->replacement == ATTN_REPLACEMENT_UNIFORM;

    ablation->sites = attn_sites_common(sites[ablation->args->by], ablated_dims(ablation)->sites);
    if (is_uniform)
        ablation->sites =
            attn_sites_without(ablation->sites, ATTN_SITES(ATTN_SITE_MIXER_Z, ATTN_SITE_MIXER_OUT));
    for (size_t i = ATTN_N_SITE; i-- > 0;)
        if (attn_sites_have(ablation->sites, attn_site_order[i]))
            ablation->first = attn_site_order[i];
    if (is_uniform)
        ablation->first = ATTN_SITE_QK;
}

enum attn_status attn_ablate_list_tensors(struct attn_ablation *ablation, struct attn_error *err)
{
    static const struct attn_head_list all;
    const struct attn_ablate_args *args = ablation->args;
    struct attn_parts *tensors = &ablation->tensors;

    find_sites(ablation);
    ablation->has_encoder =
        attn_model_before(attn_asked_model(ablation->frame.run)) &&
        (attn_asked_model(ablation->frame.run)->encoder || attn_ablate_is_of_tower(ablation)) &&
        args->replacement != ATTN_REPLACEMENT_RESAMPLE &&
        (args->by != ATTN_ABLATE_BY_NEURON || args->is_of_encoder ||
         attn_ablate_is_of_tower(ablation));
    ATTN_TRY(attn_ablate_list(ablation, ablation->sites, &all, tensors, err));
    if (args->by == ATTN_ABLATE_BY_NEURON) { /* one tensor has all neurons */
        tensors->n = 1;
        tensors->items[0].neuron = -1;
    }
    ablation->n_own = tensors->n;
    if (args->n_control > 0 && args->by != ATTN_ABLATE_BY_HEAD)
        ATTN_TRY(attn_ablate_list(ablation, ATTN_SITES(ATTN_SITE_Z), &all, tensors, err));
    ablation->edits = attn_frame_alloc(&ablation->frame, tensors->n, sizeof *ablation->edits);
    ATTN_TRY(attn_frame_memory(&ablation->frame, err));
    for (size_t i = 0; i < tensors->n; i++) {
        struct attn_edit *edit = &ablation->edits[i];

        *edit = ATTN_EDIT_DEFAULT;
        attn_part_place(&tensors->items[i], attn_asked_dims(ablation->frame.run), edit);
        if (args->replacement == ATTN_REPLACEMENT_UNIFORM)
            attn_edit_make_uniform(attn_ablate_config(ablation, edit->at.stack), edit);
    }
    return ATTN_OK;
}

/* Keeps one part of each layer. The layers of a decoder have both attentions. */
static void keep_layers(struct attn_parts *parts)
{
    size_t n = 0;

    for (size_t i = 0; i < parts->n; i++) {
        const struct attn_part part = parts->items[i];

        if (part.at.stack != ATTN_STACK_CROSS &&
            (n == 0 || attn_location_order(&parts->items[n - 1].at, &part.at) != 0))
            parts->items[n++] = part;
    }
    parts->n = n;
}

enum attn_status attn_ablate_list_parts(struct attn_ablation *ablation, struct attn_error *err)
{
    const struct attn_ablate_args *args = ablation->args;
    struct attn_parts *parts = &ablation->parts;

    if (!attn_ablate_has_sets(ablation))
        ATTN_TRY(attn_error_at(
            attn_error_in(attn_ablate_list(ablation, ablation->sites, &ablation->heads, parts, err),
                          "heads", err),
            ATTN_STAGE_OPTIONS, err));
    if (args->by == ATTN_ABLATE_BY_LAYER)
        keep_layers(parts);
    const size_t n = parts->n;

    ablation->n_row = attn_ablate_has_sets(ablation) ? args->n_set : n;
    ablation->n_head = attn_frame_alloc(&ablation->frame, args->n_set, sizeof *ablation->n_head);
    ablation->order =
        attn_frame_alloc(&ablation->frame, ablation->tensors.n, sizeof *ablation->order);
    ablation->outcomes =
        attn_frame_alloc(&ablation->frame, ablation->n_row, sizeof *ablation->outcomes);
    ablation->drawn = attn_frame_alloc(&ablation->frame, args->n_control, sizeof *ablation->drawn);
    ablation->estimates =
        attn_frame_alloc(&ablation->frame, ablation->n_row, sizeof *ablation->estimates);
    return attn_frame_memory(&ablation->frame, err);
}

/* --- Replacements ----------------------------------------------------------------------------- */

static enum attn_status add_means(struct attn_ablation *ablation, const struct attn_run *run,
                                  struct attn_error *err)
{
    const struct attn_watch watch = {.of = attn_ablate_is_of_tower(ablation) ? ATTN_WATCH_ENCODER
                                           : ablation->has_encoder           ? ATTN_WATCH_BOTH
                                                                             : ATTN_WATCH_TEXT,
                                     .edits = ablation->edits,
                                     .n_edit = ablation->tensors.n,
                                     .is_silent = true,
                                     .on_event = attn_edit_means_add,
                                     .user = &ablation->means};

    return attn_watch(run, &watch, err);
}

/* Lets the edits write the tensors of RUN at the positions of the text. */
static enum attn_status keep_tensors(struct attn_ablation *ablation, const struct attn_run *run,
                                     struct attn_error *err)
{
    const size_t n_row = attn_asked_n(ablation->frame.run);
    struct attn_capture **capture = &ablation->frame.capture;
    const struct attn_watch watch = {.edits = ablation->edits,
                                     .n_edit = ablation->tensors.n,
                                     .places.n_query = n_row,
                                     .is_silent = true,
                                     .capture = capture};

    ATTN_TRY(attn_watch(run, &watch, err));
    for (size_t i = 0; i < ablation->tensors.n; i++) {
        struct attn_edit *edit = &ablation->edits[i];

        edit->op = ATTN_EDIT_REPLACE;
        edit->row1 = n_row;
        edit->ld = attn_location_n_column(attn_asked_dims(run), &edit->at);
        edit->col1 = edit->col1 < edit->ld ? edit->col1 : edit->ld;
        edit->data = edit->at.head == ATTN_ALL_HEADS ? attn_capture_tensor(*capture, &edit->at)
                                                     : attn_capture_head(*capture, &edit->at);
        edit->data += edit->col0;
    }
    return ATTN_OK;
}

/* Reads reference I. *is_short: it has too few rows and is skipped. */
static enum attn_status read_reference(struct attn_ablation *ablation, size_t i, bool *is_short,
                                       struct attn_error *err)
{
    struct attn_frame *frame = &ablation->frame;
    const bool is_mean = ablation->args->replacement == ATTN_REPLACEMENT_MEAN;
    struct attn_run *run;
    enum attn_status status = ATTN_OK;

    frame->request.input = ablation->args->references[i];
    ATTN_TRY(attn_run_open(frame->host, NULL, &frame->request, &run, err));
    *is_short = !is_mean && attn_asked_n(run) < attn_asked_n(frame->run);
    if (!*is_short)
        status = is_mean ? add_means(ablation, run, err) : keep_tensors(ablation, run, err);
    attn_run_free(run);
    return status;
}

/* Lets the edits write the means over all references or, without any, over the text. */
static enum attn_status find_means(struct attn_ablation *ablation, struct attn_error *err)
{
    const struct attn_run *run = ablation->frame.run;
    bool is_short;

    ablation->means = (struct attn_edit_means){.edits = ablation->edits, .n = ablation->tensors.n};
    ATTN_TRY(attn_edit_means_begin(&ablation->means, ablated_dims(ablation), err));
    if (ablation->args->n_reference == 0)
        ATTN_TRY(add_means(ablation, run, err));
    for (size_t i = 0; i < ablation->args->n_reference; i++)
        ATTN_TRY(read_reference(ablation, i, &is_short, err));
    attn_edit_means_finish(&ablation->means);
    return ATTN_OK;
}

/* Finds the means over all references, which are the same for all items without a source. */
static enum attn_status share_means(struct attn_ablation *ablation, struct attn_error *err)
{
    const struct attn_ablate_plan *plan = ablation->frame.plan;
    const struct attn_request *request = &ablation->frame.request;
    const bool has_own_places = /* positions in the references' edits depend on the item */
        request->reading.places && attn_edits_name_positions(&request->edits);
    const size_t n = ablation->tensors.n;
    struct attn_ablate_found *found = plan->found;
    enum attn_status status = ATTN_OK;

    if (!found || attn_asked_source(ablation->frame.run)->n > 0 || has_own_places)
        return find_means(ablation, err);
    attn_monitor_enter(found->monitor);
    if (!found->edits) {
        status = find_means(ablation, err);
        ATTN_THEN(status, ATTN_ALLOC(found->edits, n, err));
        if (status == ATTN_OK) {
            memcpy(found->edits, ablation->edits, n * sizeof *found->edits);
            found->means = ablation->means;
            ablation->means = (struct attn_edit_means){.n = 0};
        }
    }
    if (status == ATTN_OK)
        memcpy(ablation->edits, found->edits, n * sizeof *found->edits);
    attn_monitor_leave(found->monitor);
    return status;
}

enum attn_status attn_ablate_find_values(struct attn_ablation *ablation, struct attn_error *err)
{
    const size_t n = ablation->args->n_reference;
    bool is_short = true;

    if (ablation->args->replacement == ATTN_REPLACEMENT_MEAN) {
        const enum attn_status status = share_means(ablation, err);

        if (status != ATTN_OK && n > 0 && ablation->frame.answer)
            ablation->frame.answer->is_general = true;
        return status;
    }
    if (ablation->args->replacement != ATTN_REPLACEMENT_RESAMPLE)
        return ATTN_OK;
    const double drawn = attn_random_double(&ablation->random) * (double)n;

    for (size_t i = 0; is_short && i < n; i++)
        ATTN_TRY(read_reference(ablation, ((size_t)drawn + i) % n, &is_short, err));
    return is_short ? attn_refuse(err, ATTN_STAGE_INPUT,
                                  "no text of the references has as many tokens as the text, %zu",
                                  attn_asked_n(ablation->frame.run))
                    : ATTN_OK;
}
