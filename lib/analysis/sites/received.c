/*
 * received.c - the maker of `received`, the weight that each key gets: with A the pattern of a head
 *
 *     received[h, j] = sum of A[h, i, j] over the chosen queries i
 *
 * H2O (Zhang et al. 2306.14048) keeps the keys with the largest sums over all queries, SnapKV (Li
 * et al. 2404.14469) those over a window of the last ones. Patterns are added up row by row while
 * they come, in double precision, so that no pattern is kept.
 */
#include "sites/derived.h"

#include "attention/attention_internal.h"
#include "base/memory.h"
#include "model/model_internal.h"
#include "run/run_internal.h"
#include "trace/trace_internal.h"

struct receiving {
    struct attn_making making;
    struct attn_trace asked_by;     /* the trace that wants `received` */
    struct attn_selection *own;     /* owns; the encoder's part of its selection, or NULL */
    struct attn_selection *watched; /* owns */
    double **sums;                  /* [n_layer] owns; each [H, S], or NULL */
};

static struct attn_site_set all_sites(void)
{
    return ATTN_SITES(ATTN_SITE_RECEIVED);
}

static enum attn_status check(const struct attn_model *model, const struct attn_attention *layers,
                              struct attn_site_set sites, struct attn_error *err)
{
    (void)sites;
    if (!model)
        return attn_error_set(err, ATTN_INVALID, "'received' is of models, and arrays have none");
    for (size_t layer = 0; layer < attn_model_config(model)->n_layer; layer++)
        if (attn_attention_gives(&layers[layer], ATTN_SITE_PATTERN) == ATTN_GIVES_NOT)
            return attn_error_set(err, ATTN_INVALID,
                                  "'received' is made of patterns, and '%s' has none",
                                  attn_attention_kind_name(layers[layer].kind));
    return ATTN_OK;
}

static struct attn_site_set sites_of(const struct attn_model *model,
                                     const struct attn_attention *layers,
                                     const struct attn_dims *dims)
{
    (void)dims;
    return check(model, layers, all_sites(), NULL) == ATTN_OK ? all_sites()
                                                              : (struct attn_site_set){0};
}

/* Adds the chosen rows of EVENT, of a pattern, to the sums of its layer. */
static enum attn_status add_rows(struct receiving *making, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    const struct attn_selection *asked = making->asked_by.selection;
    const struct attn_dims *dims = attn_selection_dims(asked);
    const struct attn_location at = attn_location_in(dims, &event->at, ATTN_SITE_RECEIVED);
    const size_t n_key = attn_location_n_key(dims, &at);
    double **sums = &making->sums[attn_location_index(&at)];

    if (!attn_selection_wants(asked, &at))
        return ATTN_OK;
    if (!*sums)
        *sums = attn_alloc(dims->n_head * n_key, sizeof **sums, err);
    if (!*sums)
        return ATTN_NO_MEMORY;
    for (size_t r = 0; r < event->n_row; r++) {
        struct attn_row row = attn_event_row(event, r);
        struct attn_cells cells;

        if (!attn_selection_has_query(asked, event->at.stack, event->row0 + r))
            continue;
        while (attn_row_next(&row, &cells))
            for (size_t j = 0; j < cells.n; j++)
                (*sums)[(size_t)event->at.head * n_key + cells.first + j] +=
                    (double)cells.values[j];
    }
    return ATTN_OK;
}

/* Emits the sums of the layer of OUTPUT, which is complete. */
static enum attn_status finish_layer(struct receiving *making, const struct attn_location *output,
                                     struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(making->asked_by.selection);
    struct attn_trace_event event = {
        .at = attn_location_in(dims, output, ATTN_SITE_RECEIVED), .n_col = 1, .ld = 1};
    double **sums = &making->sums[attn_location_index(&event.at)];
    enum attn_status status = ATTN_OK;
    float *rounded;

    if (!*sums)
        return ATTN_OK;
    event.n_row = attn_location_n_key(dims, &event.at);
    ATTN_TRY(ATTN_ALLOC(rounded, event.n_row, err));
    event.data = rounded;
    for (event.at.head = 0; status == ATTN_OK && event.at.head < (int)dims->n_head;
         event.at.head++) {
        for (size_t j = 0; j < event.n_row; j++)
            rounded[j] = (float)(*sums)[(size_t)event.at.head * event.n_row + j];
        status = attn_trace_hand_on(&making->asked_by, &event, err);
    }
    attn_free(rounded);
    attn_free(*sums);
    *sums = NULL;
    return status;
}

/* An attn_trace_fn. */
static enum attn_status on_event(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    struct receiving *making = user;
    const struct attn_dims *dims = attn_selection_dims(making->watched);

    if (event->at.site == ATTN_SITE_PATTERN)
        ATTN_TRY(add_rows(making, event, err));
    ATTN_TRY(attn_trace_hand_on(&making->asked_by, event, err));
    return event->at.site == attn_location_output(dims, &event->at) &&
                   event->row0 + event->n_row == dims->n_position
               ? finish_layer(making, &event->at, err)
               : ATTN_OK;
}

static void free_making(struct attn_making *begun)
{
    struct receiving *making = (struct receiving *)(void *)begun;

    for (size_t layer = 0; making->sums && layer < attn_selection_dims(making->watched)->n_layer;
         layer++)
        attn_free(making->sums[layer]);
    attn_free(making->sums);
    attn_selection_free(making->watched);
    attn_selection_free(making->own);
    attn_free(making);
}

static enum attn_status begin(const struct attn_run *run, enum attn_model_stack stack,
                              const struct attn_trace *trace, struct attn_pool *pool,
                              struct attn_making **making, struct attn_error *err)
{
    struct receiving *made;

    (void)run;
    (void)pool;
    if (!attn_sites_meet(attn_selection_sites_of(trace->selection, stack), all_sites()))
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->making.free = free_making;
    *making = &made->making;
    made->asked_by = *trace;
    if (stack == ATTN_STACK_ENCODER) {
        ATTN_TRY(attn_selection_copy_stack(trace->selection, stack, &made->own, err));
        made->asked_by.selection = made->own;
    }
    ATTN_TRY(attn_making_see_patterns(made->asked_by.selection, all_sites(), &made->watched, err));
    ATTN_TRY(ATTN_ALLOC(made->sums, attn_selection_dims(made->watched)->n_layer, err));
    made->making.trace =
        (struct attn_trace){.selection = made->watched, .on_event = on_event, .user = made};
    return ATTN_OK;
}

const struct attn_maker attn_received_maker = {
    .sites = all_sites, .sites_of = sites_of, .check = check, .begin = begin};
