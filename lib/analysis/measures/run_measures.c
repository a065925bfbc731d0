/* run_measures.c - see run_measures.h; and the watcher of outputs that show types of heads, or
 * leave out parks. */
#include "measures/run_measures.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "measures/head_mix.h"
#include "run/watcher.h"
#include "tensors/format_internal.h"
#include "trace/trace_internal.h"

#include <string.h>

/* --- Held events ------------------------------------------------------------------------------ */

struct attn_held {
    size_t most, size; /* bytes */
    bool is_full;
    struct attn_trace_event *events; /* [n] owns */
    struct attn_store *store;        /* owns; has their arrays */
    size_t n, capacity;
};

enum attn_status attn_held_create(size_t most, struct attn_held **held, struct attn_error *err)
{
    ATTN_TRY(ATTN_ALLOC(*held, 1, err));
    (*held)->most = most;
    return ATTN_OK;
}

static void drop(struct attn_held *held)
{
    attn_store_release(&held->store);
    attn_free(held->events);
    held->events = NULL;
    held->n = held->capacity = 0;
}

void attn_held_free(struct attn_held *held)
{
    if (!held)
        return;
    drop(held);
    attn_free(held);
}

/* Returns a copy of N rows of SIZE bytes, which are LD bytes apart in ROWS. Returns NULL without
 * ROWS, and on failure, with ERR set. */
static void *copy(struct attn_store **store, const void *rows, size_t n, size_t size, size_t ld,
                  struct attn_error *err)
{
    char *made = NULL;

    if (!rows || ATTN_STORE_ALLOC(store, made, attn_size_mul(n, size), err) != ATTN_OK)
        return NULL;
    for (size_t r = 0; r < n; r++)
        memcpy(made + r * size, (const char *)rows + r * ld, size);
    return made;
}

enum attn_status attn_held_add(void *user, const struct attn_trace_event *event,
                               struct attn_error *err)
{
    struct attn_held *held = user;
    const size_t n = event->n_row, width = event->keys ? event->ld : event->n_col;
    const size_t size = n * (width * sizeof *event->data +
                             (event->keys ? width * sizeof *event->keys + sizeof n : 0));
    struct attn_trace_event *made;

    held->is_full |= size > held->most - held->size;
    if (held->is_full) {
        drop(held);
        return ATTN_OK;
    }
    held->size += size;
    ATTN_TRY(ATTN_GROW(held->events, held->capacity, held->n + 1, err));
    made = &held->events[held->n++];
    *made = *event;
    made->ld = width;
    made->data = copy(&held->store, event->data, n, width * sizeof *event->data,
                      event->ld * sizeof *event->data, err);
    made->keys = copy(&held->store, event->keys, n, width * sizeof *event->keys,
                      event->ld * sizeof *event->keys, err);
    made->n_kept = copy(&held->store, event->n_kept, 1, n * sizeof n, 0, err);
    return !made->data || (event->keys && !made->keys) || (event->n_kept && !made->n_kept)
               ? ATTN_NO_MEMORY
               : ATTN_OK;
}

bool attn_held_is_whole(const struct attn_held *held)
{
    return !held->is_full;
}

enum attn_status attn_held_play(const struct attn_held *held, const struct attn_trace *to,
                                struct attn_error *err)
{
    for (size_t i = 0; i < held->n; i++)
        ATTN_TRY(to->on_event(to->user, &held->events[i], err));
    return ATTN_OK;
}

struct attn_metric_settings attn_run_metric_settings(const struct attn_run *run)
{
    const struct attn_label_list *keys = &run->request.reading.key_labels; /* for arrays */

    if (!run->model)
        return (struct attn_metric_settings){
            .tokens = keys->items, .token_sizes = keys->sizes, .n_token = keys->n};
    return (struct attn_metric_settings){
        .ids = run->text.ids,
        .tokens = run->text.tokens.bytes,
        .token_sizes = run->text.tokens.sizes,
        .n_token = run->text.n,
        .n_front = run->text.grid.n_front,
        .n_patch_column = run->text.grid.n_col,
        .n_shown = run->labels.mask ? *run->labels.mask + 1 : run->text.n - run->labels.n_back,
        .key_mask = run->text.key_mask,
        .source_mask = run->source.key_mask};
}

struct attn_metric_settings attn_run_source_settings(const struct attn_run *run)
{
    return (struct attn_metric_settings){.ids = run->source.ids,
                                         .tokens = run->source.tokens.bytes,
                                         .token_sizes = run->source.tokens.sizes,
                                         .n_token = run->source.n,
                                         .key_mask = run->source.key_mask};
}

/* --- Parking ---------------------------------------------------------------------------------- */

/* Finds parks, and holds what the receiver wants (attn_trace_fn). */
static enum attn_status on_parking_event(void *user, const struct attn_trace_event *event,
                                         struct attn_error *err)
{
    const struct attn_parking *parking = user;
    struct attn_parks *parks = parking->parks[event->at.stack == ATTN_STACK_ENCODER];

    if (parks)
        attn_parks_add(parks, event);
    return parking->kept.selection ? attn_trace_hand_on(&parking->kept, event, err) : ATTN_OK;
}

/* Selects the patterns and the residual streams of all heads, and what TO has beside them. */
static enum attn_status select_all(const struct attn_selection *to, struct attn_selection *all,
                                   struct attn_error *err)
{
    const bool has_encoder = attn_selection_dims(all)->has_pairs;
    struct attn_site_set sites = ATTN_SITES(ATTN_SITE_PATTERN, ATTN_SITE_RESID_PRE);
    struct attn_site_set of_encoder = {{0}};

    if (!to || attn_selection_takes_rows(to))
        attn_selection_take_rows(all);
    attn_selection_clear_sites(all);
    if (to)
        sites = attn_sites_join(sites, attn_selection_sites_of(to, ATTN_STACK_ONLY));
    if (!has_encoder)
        return attn_selection_add_sites(all, ATTN_STACK_ONLY, sites, err);
    ATTN_TRY(attn_selection_add_sites(all, ATTN_STACK_DECODER, sites, err));
    ATTN_TRY(attn_selection_add_sites(all, ATTN_STACK_CROSS, sites, err));
    if (to)
        of_encoder = attn_selection_sites_of(to, ATTN_STACK_ENCODER);
    if (attn_sites_have(of_encoder, ATTN_SITE_PATTERN))
        attn_sites_add(&of_encoder, ATTN_SITE_RESID_PRE);
    return attn_sites_are_empty(of_encoder)
               ? ATTN_OK
               : attn_selection_add_sites(all, ATTN_STACK_ENCODER, of_encoder, err);
}

static enum attn_status begin_parking(const struct attn_run *run, const struct attn_trace *to,
                                      bool is_held, struct attn_parking *parking,
                                      struct attn_error *err)
{
    const struct attn_metric_settings of_text = attn_run_metric_settings(run),
                                      of_source = attn_run_source_settings(run);
    struct attn_selection *all;

    *parking = (struct attn_parking){.trace = {.on_event = on_parking_event, .user = parking}};
    ATTN_TRY(attn_selection_create(attn_selection_dims(run->selection), &parking->all, err));
    parking->trace.selection = all = parking->all;
    ATTN_TRY(select_all(to ? to->selection : NULL, all, err));
    ATTN_TRY(attn_parks_create(&of_text, all, &parking->parks[0], err));
    if (!to)
        return ATTN_OK;
    if (attn_sites_have(attn_selection_sites_of(all, ATTN_STACK_ENCODER), ATTN_SITE_PATTERN)) {
        ATTN_TRY(attn_selection_copy_stack(all, ATTN_STACK_ENCODER, &parking->encoder, err));
        ATTN_TRY(attn_parks_create(&of_source, parking->encoder, &parking->parks[1], err));
    }
    parking->kept = *to;
    if (!is_held)
        return ATTN_OK;
    ATTN_TRY(attn_held_create(ATTN_PARKING_HELD, &parking->held, err));
    parking->kept.on_event = attn_held_add;
    parking->kept.user = parking->held;
    return ATTN_OK;
}

enum attn_status attn_run_begin_parking(const struct attn_run *run, const struct attn_trace *to,
                                        bool is_held, struct attn_parking *parking,
                                        struct attn_error *err)
{
    return attn_error_at(begin_parking(run, to, is_held, parking, err), ATTN_STAGE_OPTIONS, err);
}

void attn_parking_find(struct attn_parking *parking, struct attn_parks *parks[2])
{
    for (int i = 0; i < 2; i++) {
        parks[i] = parking->parks[i];
        parking->parks[i] = NULL;
        if (parks[i])
            attn_parks_find(parks[i]);
    }
}

void attn_parking_release(struct attn_parking *parking)
{
    for (int i = 0; i < 2; i++)
        attn_parks_free(parking->parks[i]);
    attn_held_free(parking->held);
    attn_selection_free(parking->encoder);
    attn_selection_free(parking->all);
    *parking = (struct attn_parking){0};
}

/* --- The watcher ------------------------------------------------------------------------------ */

/* Whether a view shows sinks, or leaves them out: they are found before its outputs get an event.
 */
static bool needs_parks(const struct attn_run *run)
{
    const struct attn_request_outputs *outputs = &run->request.outputs;
    const struct attn_view_options view = attn_view_of(outputs->picture);

    return outputs->n > 0 && (view.hides == ATTN_HIDDEN_PARKS || view.shows_sinks) && run->model &&
           attn_before_n_own(&run->before) == 0 && !attn_selection_is_of_encoder(run->selection);
}

/* Whether the types of all heads are found with the parks, from all rows. */
static bool needs_all_types(const struct attn_run *run)
{
    return needs_parks(run) && attn_view_of(run->request.outputs.picture).shows_sinks;
}

/* Creates the mixes of RUN: of what TEXT selects, and of what ENCODER does if it is not NULL. */
static enum attn_status create_mixes(struct attn_run *run, const struct attn_selection *text,
                                     const struct attn_selection *encoder, struct attn_error *err)
{
    const struct attn_metric_settings of_text = attn_run_metric_settings(run),
                                      of_source = attn_run_source_settings(run);

    const struct attn_blob *types = attn_view_of(run->request.outputs.picture).types;

    ATTN_TRY(attn_head_mixes_create(&of_text, text, &run->mixes[0], err));
    ATTN_TRY(attn_head_mixes_take_types(run->mixes[0], run->model, types, err));
    return encoder ? attn_head_mixes_create(&of_source, encoder, &run->mixes[1], err) : ATTN_OK;
}

/* Creates the mixes of RUN, and the selection of what they need, if an output shows types. */
static enum attn_status begin(struct attn_run *run, struct attn_error *err)
{
    const struct attn_request_outputs *outputs = &run->request.outputs;
    struct attn_site_set sites = attn_selection_sites_of(run->selection, ATTN_STACK_ONLY);
    struct attn_site_set of_encoder = attn_selection_sites_of(run->selection, ATTN_STACK_ENCODER);
    bool is_shown = false;

    for (size_t i = 0; i < outputs->n; i++)
        is_shown |= outputs->items[i].format->shows_types;
    if (!is_shown || needs_all_types(run) || !run->model || attn_before_n_own(&run->before) > 0 ||
        attn_selection_is_of_encoder(run->selection) || !attn_sites_have(sites, ATTN_SITE_PATTERN))
        return ATTN_OK;
    ATTN_TRY(attn_selection_copy(run->selection, &run->watched, err));
    attn_sites_add(&sites, ATTN_SITE_RESID_PRE);
    if (attn_sites_have(of_encoder, ATTN_SITE_PATTERN))
        attn_sites_add(&of_encoder, ATTN_SITE_RESID_PRE);
    attn_selection_clear_sites(run->watched);
    ATTN_TRY(attn_selection_add_sites(run->watched, ATTN_STACK_ONLY, sites, err));
    if (attn_selection_dims(run->watched)->encoder) {
        ATTN_TRY(attn_selection_add_sites(run->watched, ATTN_STACK_ENCODER, of_encoder, err));
        ATTN_TRY(
            attn_selection_copy_stack(run->watched, ATTN_STACK_ENCODER, &run->own_encoder, err));
    }
    return create_mixes(run, run->watched, run->own_encoder, err);
}

static void add(const struct attn_run *run, const struct attn_trace_event *event)
{
    struct attn_head_mixes *mixes = run->mixes[event->at.stack == ATTN_STACK_ENCODER];

    if (mixes)
        attn_head_mixes_add(mixes, event);
}

/* Adds EVENT to the mixes of a run, and hands it on to its parking (attn_trace_fn). */
static enum attn_status add_and_park(void *user, const struct attn_trace_event *event,
                                     struct attn_error *err)
{
    const struct attn_run *run = user;

    add(run, event);
    return run->parking->trace.on_event(run->parking->trace.user, event, err);
}

static enum attn_status park(struct attn_run *run, const struct attn_trace *trace,
                             struct attn_pool *pool, struct attn_result *result,
                             struct attn_error *err)
{
    struct attn_trace all;

    if (!needs_parks(run))
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(run->parking, 1, err));
    ATTN_TRY(attn_run_begin_parking(run, trace, true, run->parking, err));
    all = run->parking->trace;
    if (needs_all_types(run)) {
        ATTN_TRY(create_mixes(run, run->parking->all, run->parking->encoder, err));
        all.on_event = add_and_park;
        all.user = run;
    }
    ATTN_TRY(attn_run_compute(run, &all, pool, result, err));
    attn_parking_find(run->parking, run->parks);
    run->labels.parks = attn_parks_find(run->parks[0]);
    return ATTN_OK;
}

/* Makes the pass again, whose result and notes are known. */
static enum attn_status compute_again(struct attn_run *run, const struct attn_trace *trace,
                                      struct attn_pool *pool, struct attn_error *err)
{
    const attn_note_fn on_note = run->request.on_note;
    struct attn_result again = {0};
    enum attn_status status;

    run->request.on_note = NULL;
    status = attn_run_compute(run, trace, pool, &again, err);
    run->request.on_note = on_note;
    attn_result_release(&again);
    return status;
}

static enum attn_status play(struct attn_run *run, const struct attn_trace *trace,
                             struct attn_pool *pool, struct attn_error *err)
{
    return attn_held_is_whole(run->parking->held) ? attn_held_play(run->parking->held, trace, err)
                                                  : compute_again(run, trace, pool, err);
}

static void release(struct attn_run *run)
{
    for (int i = 0; i < 2; i++) {
        attn_head_mixes_free(run->mixes[i]);
        attn_parks_free(run->parks[i]);
    }
    attn_selection_free(run->watched);
    attn_selection_free(run->own_encoder);
    if (run->parking)
        attn_parking_release(run->parking);
    attn_free(run->parking);
}

const struct attn_watcher attn_head_watcher = {
    .begin = begin, .add = add, .park = park, .play = play, .release = release};
