/* trial.c - see trial.h. Runs that begin at the same layer are fed together, with their rows
 * stacked, so that matrix products are fast; each run keeps its own edits. */
#include "trials/trial.h"

#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "edits/edits_internal.h"
#include "forward/session_internal.h"
#include "measures/run_measures.h"
#include "model/model_internal.h"
#include "trace/capture.h"
#include "trace/trace_internal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    PACK_ROWS = 128, /* maximum rows of runs that are fed together; more give no speedup */
    /* runs whose logits are computed in one product, so that reading the weights of the output
     * layer costs less than the multiplication */
    WAITING = 48,
};

/* One pass, from a later layer on if a tensor of the unchanged run is given. */
struct trial {
    const struct attn_run *run;
    const struct attn_edit *edits; /* [n_edit] borrowed; applied after those of the run */
    size_t n_edit;
    struct attn_location at;          /* first layer; ATTN_NO_LAYER: begins with the input */
    const float *resid;               /* [T, D] resid_pre of that layer, or NULL */
    const struct attn_capture *whole; /* of the unchanged run, if `resid` is given */
    struct attn_location encoder_at;  /* the same for the encoder, if `edits` has edits of it */
    const float *encoder_resid;
    size_t n_row_before; /* becomes the number of rows that `edits` changed before the text */
};

enum attn_status attn_trial_check_host(const struct attn_host *host, struct attn_error *err)
{
    const struct attn_model *model = attn_host_model(host);

    ATTN_TRY(attn_host_check_model(host, err));
    return attn_run_check_output(model, "and a prediction needs one", err);
}

/* Where a forward pass begins. */
struct beginning_place {
    struct attn_location at; /* first layer; ATTN_NO_LAYER: at the embeddings */
    bool has_z;              /* begins with z of that layer, not with its resid_pre */
};

/* Copies those edits of STACK of RUN that a pass from PLACE on still applies to EDITS (NULL: only
 * counts them). Returns their number. Edits before PLACE are already contained in the tensors with
 * which the pass begins. */
static size_t copy_edits_of(const struct attn_run *run, enum attn_model_stack stack,
                            const struct beginning_place *place, struct attn_edit *edits)
{
    const struct attn_model *model = stack == ATTN_STACK_ENCODER ? run->before.model : run->model;
    const struct attn_dims dims = attn_config_dims(attn_model_config(model), 1);
    size_t n_item, n = 0;
    const struct attn_edit *items = attn_run_edits(run, stack, &n_item);

    for (size_t i = 0; i < n_item; i++) {
        struct attn_edit edit = items[i];
        const bool is_whole =
            place->at.layer == ATTN_NO_LAYER || !attn_site_is_in_layer(edit.at.site);
        /* the edit lies before the beginning, in the first layer */
        const bool is_done =
            !is_whole &&
            !attn_site_is_before(place->has_z ? ATTN_SITE_Z : ATTN_SITE_RESID_PRE, edit.at.site);
        const bool is_each = !is_whole && edit.at.layer == ATTN_ALL_LAYERS;
        const size_t first = is_whole ? 0 : attn_location_index(&place->at) + is_done;
        struct attn_location at = attn_location_in(&dims, &place->at, ATTN_SITE_PATTERN);

        if (!is_whole && edit.at.site == ATTN_SITE_LAYER_INPUT)
            continue; /* inputs of layers are taken with their edits */
        if (is_whole || !is_done || !is_each) {
            if (!is_whole && !is_each && attn_location_index(&edit.at) < first)
                continue;
            if (edits)
                edits[n] = edit;
            n++;
            continue;
        }
        while (attn_dims_next_layer(&dims, &at)) { /* once for each layer that follows */
            at.head = items[i].at.head;
            edit.at = attn_location_in(&dims, &at, edit.at.site);
            if (edits)
                edits[n] = edit;
            n++;
        }
    }
    return n;
}

static size_t copy_edits(const struct attn_run *run, const struct beginning_place *place,
                         struct attn_edit *edits)
{
    return copy_edits_of(run, ATTN_STACK_ONLY, place, edits);
}

/* Copies those of CHANGES [n] that are made before the text (IS_BEFORE), or all others, to EDITS.
 * Returns their number. */
static size_t copy_changes(const struct attn_edit *changes, size_t n, bool is_before,
                           struct attn_edit *edits)
{
    size_t n_copied = 0;

    for (size_t i = 0; i < n; i++)
        if (attn_stack_is_encoder(changes[i].at.stack) == is_before)
            edits[n_copied++] = changes[i];
    return n_copied;
}

/* Copies the edits of RUN from PLACE on to EDITS, followed by CHANGES [n]. Returns how many are
 * from RUN. */
static size_t join_edits(const struct attn_run *run, const struct beginning_place *place,
                         const struct attn_edit *changes, size_t n, struct attn_edit *edits)
{
    const size_t n_run = copy_edits(run, place, edits);

    if (n > 0)
        memcpy(edits + n_run, changes, n * sizeof *edits);
    return n_run;
}

void attn_trial_note_idle(const struct attn_run *run, const struct attn_session *session)
{
    attn_edits_find_effects(&run->edits, session, 0);
    attn_edit_parts_note_idle(attn_request_notes(&run->request), run->edits.parts,
                              run->edits.n_part, 0);
}

static enum attn_status select_tensors(const struct attn_run *run, const struct attn_watch *watch,
                                       struct attn_selection **selection, struct attn_error *err)
{
    struct attn_dims dims =
        watch->of == ATTN_WATCH_ENCODER ? run->before.dims : *attn_selection_dims(run->selection);
    const struct attn_watch_places *at = &watch->places;
    struct attn_selection *made;

    if (!watch->capture) /* layers without rotation also emit what others store in rot_q, rot_k */
        dims.lacking = NULL;
    ATTN_TRY(watch->edits ? attn_edits_select(watch->edits, watch->n_edit, &dims, selection, err)
                          : attn_selection_create(&dims, selection, err));
    made = *selection;
    if (!watch->edits)
        ATTN_TRY(attn_selection_set_sites(made, watch->sites, err));
    if (at->last)
        attn_selection_choose_layers(made, at->first ? at->first : &(struct attn_location){0},
                                     at->last);
    if (at->heads)
        ATTN_TRY(attn_error_in(attn_selection_choose_heads(made, at->heads, err), "heads", err));
    if (at->queries && attn_number_list_is_given(at->queries))
        ATTN_TRY(
            attn_error_in(attn_selection_choose_queries(made, ATTN_STACK_ONLY, at->queries, err),
                          "queries", err));
    if (at->n_query > 0)
        ATTN_TRY(
            attn_selection_add_queries(made, ATTN_STACK_ONLY, at->first_query, at->n_query, err));
    if (watch->takes_rows)
        attn_selection_take_rows(made);
    return ATTN_OK;
}

static enum attn_status watch_text(const struct attn_run *run, const struct attn_watch *watch,
                                   const struct attn_trace *trace, struct attn_error *err)
{
    struct attn_pass pass = attn_run_pass(run);
    struct attn_session *session;

    pass.options.n_max += watch->n_more;
    pass.options.has_logits =
        watch->session && attn_model_config(run->model)->output != ATTN_OUTPUT_NONE;
    pass.options.pool = run->host->pool;
    pass.options.trace = trace;
    pass.n_piece = watch->n_piece;
    pass.options.cache = watch->is_only ? ATTN_CACHE_ONE_LAYER : pass.options.cache;
    pass.options.reads_once = watch->is_only && !run->host->options.reuse;
    ATTN_TRY(attn_pass_run(&pass, &session, err));
    if (watch->is_silent)
        attn_edits_find_effects(&run->edits, session, 0);
    else
        attn_trial_note_idle(run, session);
    if (watch->session)
        *watch->session = session;
    else
        attn_session_free(session);
    return ATTN_OK;
}

static enum attn_status watch_encoder(const struct attn_run *run, const struct attn_trace *trace,
                                      struct attn_error *err)
{
    struct attn_before_pass pass = attn_run_before(run);

    pass.options.pool = run->host->pool;
    pass.options.trace = trace;
    pass.n_shown = run->before.n_chosen;
    return attn_before_run(&pass, NULL, err);
}

/* The two receivers of the events of a pass. */
struct shared_trace {
    const struct attn_watch *watch;
    struct attn_trace capture;
};

static enum attn_status on_shared(void *user, const struct attn_trace_event *event,
                                  struct attn_error *err)
{
    const struct shared_trace *shared = user;

    return attn_sites_have(shared->watch->event_sites, event->at.site)
               ? shared->watch->on_event(shared->watch->user, event, err)
               : shared->capture.on_event(shared->capture.user, event, err);
}

/* Makes the passes of WATCH. TRACE without a selection gets nothing. */
static enum attn_status watch_passes(const struct attn_run *run, const struct attn_watch *watch,
                                     const struct attn_trace *trace, struct attn_error *err)
{
    if (watch->of != ATTN_WATCH_ENCODER)
        ATTN_TRY(watch_text(run, watch, trace->selection ? trace : NULL, err));
    return watch->of == ATTN_WATCH_TEXT ? ATTN_OK : watch_encoder(run, trace, err);
}

/* Finds the parks of WATCH, and gives the events to TRACE. */
static enum attn_status watch_parks(const struct attn_run *run, const struct attn_watch *watch,
                                    const struct attn_trace *trace, struct attn_error *err)
{
    struct attn_watch again = *watch;
    struct attn_parking parking;
    enum attn_status status = attn_run_begin_parking(run, trace->selection ? trace : NULL,
                                                     !watch->capture, &parking, err);

    ATTN_THEN(status, watch_passes(run, watch, &parking.trace, err));
    if (status == ATTN_OK) {
        attn_parking_find(&parking, watch->parks);
        status = watch->on_parks ? watch->on_parks(watch->user, err) : ATTN_OK;
    }
    again.is_silent = true;
    again.session = NULL;
    if (status == ATTN_OK && parking.held)
        status = attn_held_is_whole(parking.held) ? attn_held_play(parking.held, trace, err)
                                                  : watch_passes(run, &again, trace, err);
    attn_parking_release(&parking);
    return status;
}

enum attn_status attn_watch(const struct attn_run *run, const struct attn_watch *watch,
                            struct attn_error *err)
{
    struct attn_selection *made = NULL;
    struct attn_capture *capture = NULL;
    struct attn_trace trace = {.on_event = watch->on_event, .user = watch->user};
    struct shared_trace shared = {.watch = watch};
    enum attn_status status = ATTN_OK;

    if (!watch->selection && (watch->on_event || watch->capture))
        status = attn_error_at(select_tensors(run, watch, &made, err), ATTN_STAGE_OPTIONS, err);
    trace.selection = made ? made : watch->selection;
    if (status == ATTN_OK && watch->capture)
        status = attn_capture_create(trace.selection, &capture, err);
    if (capture)
        trace = *attn_capture_trace(capture);
    if (capture && watch->on_event) {
        shared.capture = trace;
        trace = (struct attn_trace){.selection = made, .on_event = on_shared, .user = &shared};
        status =
            attn_selection_set_sites(made, attn_sites_join(watch->sites, watch->event_sites), err);
    }
    ATTN_THEN(status, watch->parks ? watch_parks(run, watch, &trace, err)
                                   : watch_passes(run, watch, &trace, err));
    attn_selection_free(made);
    if (watch->capture && status == ATTN_OK)
        *watch->capture = capture;
    else
        attn_capture_free(capture);
    return status;
}

/* --- Many: the unchanged run ------------------------------------------------------------------ */

enum attn_status attn_trials_start(const struct attn_run *run, const struct attn_answer *answer,
                                   enum attn_site first, struct attn_trials *trials,
                                   struct attn_error *err)
{
    const size_t n_layer = attn_model_config(run->model)->n_layer;
    struct attn_reading reading = {.replies = &trials->base};
    struct attn_session *session;
    struct attn_watch watch = {.sites = ATTN_SITES(ATTN_SITE_RESID_PRE), .session = &session};
    const struct attn_location logits = {.site = ATTN_SITE_LOGITS, .layer = ATTN_NO_LAYER};
    enum attn_status status;

    /* A pass may begin at a later layer, unless the run has edits of logits, which need rows that
     * would be missing, or dropout, whose random numbers are drawn layer by layer, or the tower is
     * shown. */
    *trials = (struct attn_trials){.run = run,
                                   .answer = answer,
                                   .can_skip =
                                       !attn_model_config(run->model)->stream &&
                                       (!run->before.own || run->before.n_shown == 0) &&
                                       !attn_edits_touch(run->edits.items, run->edits.n, &logits)};
    for (size_t layer = 0; layer < n_layer; layer++)
        trials->can_skip = trials->can_skip && run->attention.layers[layer].dropout == 0;
    /* z is not all that follows in layers with a gate, and layers without attention have none */
    trials->has_z = trials->can_skip && !attn_site_is_before(first, ATTN_SITE_Z) &&
                    !attn_model_config(run->model)->has_attn_gate &&
                    !attn_model_config(run->model)->mixer;
    if (trials->has_z)
        attn_sites_add(&watch.sites, ATTN_SITE_Z);
    watch.sites =
        attn_sites_join(watch.sites, attn_session_left_sites(attn_model_config(run->model)));
    watch.capture = trials->can_skip ? &trials->capture : NULL;
    ATTN_TRY(ATTN_ALLOC(trials->logits, attn_answer_n_logit(answer), err));
    ATTN_TRY(attn_answer_select(answer, &trials->needed, err));
    trials->n_feed++;
    ATTN_TRY(attn_watch(run, &watch, err));
    reading.logits = trials->logits;
    status = attn_answer_read(answer, session, &reading, err);
    attn_session_free(session);
    return status;
}

void attn_trials_release(struct attn_trials *trials)
{
    attn_capture_free(trials->capture);
    attn_capture_free(trials->encoder_capture);
    attn_selection_free(trials->needed);
    attn_free(trials->logits);
    *trials = (struct attn_trials){.run = NULL};
}

/* --- Many: the changed runs ------------------------------------------------------------------- */

/* A change, and the first layer that it affects. */
struct beginning {
    struct attn_location at;
    size_t change; /* index of the change */
};

/* Runs that are fed together. */
struct pack {
    const struct beginning *beginnings; /* [n] all of the same layer */
    size_t n;
};

/* State of a thread, reused for every pack. */
struct worker {
    struct attn_session *session; /* owns; NULL before the first pack */
    /* runs whose reply was not computed yet, at most n_waiting */
    struct attn_kept kept;                   /* owns its rows */
    struct attn_store *store;                /* owns; has `kept.ce`, and what does not say it */
    size_t *changes;                         /* [n_waiting] indices of these runs */
    struct attn_reply *replies;              /* [n_waiting] */
    float *logits;                           /* [n_waiting, V] owns */
    struct attn_session_sequence *sequences; /* [n_together] runs of the current pack */
    /* [n_edit] owns; edits of the runs of the pack, if the unchanged run has edits */
    struct attn_edit *edits;
    size_t n_edit;
    const float **rows;      /* [2, n_together] first rows of each run: resid_pre, z */
    enum attn_status status; /* status of the first failed task of this thread */
    struct attn_error failure;
    size_t failed; /* number of that task */
};

/* The shared state of the tasks of the pool. */
struct work {
    const struct attn_trials *trials;
    const struct attn_edit *edits;
    const struct attn_trial_change *changes;
    struct attn_trial_outcome *outcomes;
    struct beginning *beginnings; /* [n] owns; beginnings of the changes, sorted by layer */
    struct pack *packs;           /* [n_pack] owns */
    size_t n_pack;
    struct worker *workers; /* [n_worker] owns */
    size_t n_worker;
    /* maximum runs per feed; maximum runs per product of the output layer */
    size_t n_together, n_waiting;
    const struct attn_trace *trace; /* trace of all sessions */
    size_t n_total;                 /* number of runs, including earlier calls */
    atomic_size_t n_done;           /* number of finished runs, including earlier calls */
    atomic_size_t failed;           /* number of the first failed task; later tasks do nothing */
};

static int by_layer(const void *a, const void *b)
{
    const struct beginning *x = a, *y = b;

    const int order = attn_location_order(&x->at, &y->at);

    if (order != 0)
        return order;
    return x->change < y->change ? -1 : x->change > y->change;
}

/* Returns true if runs can be fed together: they can begin at a layer, have no source, and their
 * answer reads one row of logits. */
static bool go_together(const struct attn_trials *trials)
{
    return trials->can_skip && trials->run->source.n == 0 && attn_answer_n_row(trials->answer) == 1;
}

/* Returns where RUN's model begins if an edit of AT changes it: at its layer, for edits after the
 * layers at the last, for edits of the encoder at the first that attends to the source. */
static struct attn_location first_layer(const struct attn_run *run, const struct attn_location *at)
{
    const struct attn_dims *dims = attn_selection_dims(run->selection);
    struct attn_location first = {.site = ATTN_SITE_RESID_PRE, .layer = ATTN_NO_LAYER};

    if (at->site == ATTN_SITE_LN_FINAL)
        return attn_layer_at(dims, ATTN_SITE_RESID_PRE, dims->n_layer - 1);
    if (at->stack != ATTN_STACK_ENCODER)
        return attn_location_in(dims, at, ATTN_SITE_RESID_PRE);
    while (attn_dims_next_layer(dims, &first) && !attn_location_is_cross(dims, &first))
        continue;
    return first;
}

/* Begins TRIAL at the first layer of the encoder that its edits change, if there is one. */
static void skip_encoder(const struct attn_trials *trials, struct trial *trial)
{
    const struct attn_location end = attn_dims_end(&trials->run->before.dims);
    struct attn_location first = end;

    for (size_t i = 0; i < trial->n_edit; i++) {
        const struct attn_location *at = &trial->edits[i].at;

        if (at->stack == ATTN_STACK_ENCODER && at->layer < first.layer)
            first.layer = at->layer;
    }
    if (first.layer == end.layer || !trials->encoder_capture)
        return;
    trial->encoder_at = first;
    trial->encoder_resid = attn_capture_tensor(trials->encoder_capture, &first);
}

/* Makes the rows before the text with the edits of run and trial, for which EDITS has room. ROWS, a
 * copy of those of the run, receives them. */
static enum attn_status make_rows(struct trial *trial, struct attn_edit *edits, float *rows,
                                  struct attn_error *err)
{
    const struct attn_run *run = trial->run;
    const struct beginning_place place = {trial->encoder_at, false};
    struct attn_before_pass pass = attn_run_before(run);

    pass.progress.on_part = NULL;
    pass.n_uncounted = copy_edits_of(run, ATTN_STACK_ENCODER, &place, edits);
    pass.edits = edits;
    pass.n_edit = pass.n_uncounted +
                  copy_changes(trial->edits, trial->n_edit, true, edits + pass.n_uncounted);
    pass.has_effect = NULL;
    pass.at = trial->encoder_at;
    pass.resid = trial->encoder_resid;
    ATTN_TRY(attn_before_run(&pass, rows, err));
    trial->n_row_before = pass.n_edited;
    return ATTN_OK;
}

/* Runs the text of TRIAL with READ instead of its source, or of the text if that has pictures,
 * unless it is NULL. EDITS has room for the edits of run and trial. The threads of the host run
 * other trials. */
static enum attn_status run_text(const struct trial *trial, const struct attn_sequence *read,
                                 struct attn_edit *edits, struct attn_session **session,
                                 struct attn_error *err)
{
    const struct beginning_place place = {trial->at, false};
    const size_t n_run = copy_edits(trial->run, &place, edits);
    struct attn_pass pass = attn_run_pass(trial->run);

    if (read)
        *(trial->run->before.own ? &pass.text : &pass.source) = read;
    pass.progress.on_part = NULL;
    pass.options.has_logits = true;
    pass.options.edits = edits;
    pass.options.n_edit = n_run + copy_changes(trial->edits, trial->n_edit, false, edits + n_run);
    pass.n_uncounted = trial->n_edit > 0 ? n_run : 0;
    pass.at = trial->at;
    pass.resid = trial->resid;
    pass.whole = trial->whole;
    return attn_pass_run(&pass, session, err);
}

/* Runs TRIAL. The caller owns the session. */
static enum attn_status run_trial(struct trial *trial, struct attn_session **session,
                                  struct attn_error *err)
{
    const struct attn_run *run = trial->run;
    const size_t n_run = copy_edits(run, &(struct beginning_place){trial->at, false}, NULL);
    struct attn_sequence read;
    float *rows = NULL;
    struct attn_edit *edits;
    enum attn_status status = ATTN_OK;

    ATTN_TRY(ATTN_ALLOC(edits, n_run + run->before.n_edit + trial->n_edit, err));
    if (copy_changes(trial->edits, trial->n_edit, true, edits) > 0) {
        const size_t n = attn_before_n_float(&run->before);

        read = *run->before.reader;
        status = ATTN_ALLOC(rows, n, err);
        if (status == ATTN_OK) {
            memcpy(rows, read.rows, n * sizeof *rows);
            status = make_rows(trial, edits, rows, err);
        }
        read.rows = rows;
    }
    ATTN_THEN(status, run_text(trial, rows ? &read : NULL, edits, session, err));
    attn_free(edits); /* the session has copies */
    attn_free(rows);
    return status;
}

/* Groups the N changes into packs: each of one layer, and of about equal size. */
static enum attn_status make_packs(struct work *work, size_t n, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(work->trials->run->selection);
    const size_t n_most = work->n_together;

    ATTN_TRY(ATTN_ALLOC(work->beginnings, n, err));
    ATTN_TRY(ATTN_ALLOC(work->packs, n, err));
    for (size_t i = 0; i < n; i++) {
        const struct attn_trial_change *change = &work->changes[i];
        struct attn_location first =
            change->n_edit > 0 ? attn_dims_end(dims) : attn_layer_at(dims, ATTN_SITE_RESID_PRE, 0);

        for (size_t k = 0; k < change->n_edit; k++) {
            const struct attn_location at =
                first_layer(work->trials->run, &work->edits[change->first + k].at);

            first = attn_location_order(&at, &first) < 0 ? at : first;
        }
        work->beginnings[i] = (struct beginning){first, i};
    }
    qsort(work->beginnings, n, sizeof *work->beginnings, by_layer);
    for (size_t first = 0, end; first < n; first = end) {
        size_t n_pack;

        end = first + 1;
        while (end < n &&
               attn_location_order(&work->beginnings[end].at, &work->beginnings[first].at) == 0)
            end++;
        for (n_pack = (end - first + n_most - 1) / n_most; n_pack > 0; n_pack--) {
            const size_t size = (end - first) / n_pack;

            work->packs[work->n_pack++] = (struct pack){work->beginnings + first, size};
            first += size;
        }
    }
    return ATTN_OK;
}

/* Runs the only change of PACK in a new session, from the changed layer on if possible, and reads
 * the reply. */
static enum attn_status try_alone(const struct work *work, const struct pack *pack,
                                  struct attn_error *err)
{
    const struct attn_trials *trials = work->trials;
    const size_t n_logit = attn_answer_n_logit(trials->answer);
    const size_t number = pack->beginnings[0].change;
    struct attn_trial_outcome *outcome = &work->outcomes[number];
    struct attn_reading reading = {
        .base = trials->logits, .base_total = trials->base.total, .replies = &outcome->reply};
    struct trial trial = {.run = trials->run,
                          .edits = work->edits + work->changes[number].first,
                          .n_edit = work->changes[number].n_edit,
                          .at.layer = ATTN_NO_LAYER,
                          .encoder_at.layer = ATTN_NO_LAYER};
    struct attn_session *session = NULL;
    enum attn_status status;

    skip_encoder(trials, &trial);
    if (trials->can_skip) {
        trial.at = pack->beginnings[0].at;
        trial.resid = attn_capture_tensor(trials->capture, &trial.at);
        trial.whole = trials->capture;
    }
    ATTN_TRY(
        ATTN_NEW(reading.logits, attn_alloc_uninitialized(n_logit, sizeof *reading.logits, err)));
    status = run_trial(&trial, &session, err);
    if (status == ATTN_OK) {
        outcome->n_row =
            trial.n_edit > 0 ? attn_session_n_edited_row(session) + trial.n_row_before : 0;
        status = attn_answer_read(trials->answer, session, &reading, err);
    }
    attn_session_free(session);
    attn_free(reading.logits);
    return status;
}

/* Ignores its events (attn_trace_fn): only the positions of the trace's selection matter. */
static enum attn_status ignore(void *user, const struct attn_trace_event *event,
                               struct attn_error *err)
{
    (void)user;
    (void)event;
    (void)err;
    return ATTN_OK;
}

static enum attn_status prepare_worker(const struct work *work, struct worker *worker,
                                       struct attn_error *err)
{
    const struct attn_run *run = work->trials->run;
    const struct attn_config *config = attn_model_config(run->model);
    const size_t n = work->n_waiting, n_together = work->n_together;
    struct attn_session_options options = attn_run_session_options(run);

    ATTN_TRY(ATTN_NEW(
        worker->kept.rows,
        attn_alloc_uninitialized(n * attn_answer_width(work->trials->answer), sizeof(float), err)));
    ATTN_TRY(ATTN_STORE_ALLOC(&worker->store, worker->kept.ce, n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&worker->store, worker->changes, n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&worker->store, worker->replies, n, err));
    ATTN_TRY(ATTN_NEW(worker->logits,
                      attn_alloc_uninitialized(n * config->n_vocab, sizeof(float), err)));
    ATTN_TRY(ATTN_STORE_ALLOC(&worker->store, worker->sequences, n_together, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&worker->store, worker->rows, 2 * n_together, err));
    options.n_sequence = n_together;
    options.n_max = n_together * run->text.n;
    options.cache = ATTN_CACHE_ONE_LAYER;
    options.has_logits = true;
    options.trace = work->trace;
    ATTN_TRY(attn_error_at(attn_session_create(run->model, &options, &worker->session, err),
                           ATTN_STAGE_MODEL, err));
    attn_session_add_rows(worker->session, attn_sequence_added(&run->text, run->model));
    attn_session_take_left(worker->session, work->trials->capture);
    return ATTN_OK;
}

/* Computes the replies of the runs that wait for them. */
static enum attn_status read_replies(const struct work *work, struct worker *worker,
                                     struct attn_error *err)
{
    const struct attn_trials *trials = work->trials;
    const size_t n = worker->kept.n;
    const struct attn_reading reading = {.base = trials->logits,
                                         .base_total = trials->base.total,
                                         .logits = worker->logits,
                                         .replies = worker->replies};

    if (n == 0)
        return ATTN_OK;
    ATTN_TRY(attn_answer_read_kept(trials->answer, &worker->kept, worker->session, &reading, err));
    for (size_t i = 0; i < n; i++)
        work->outcomes[worker->changes[i]].reply = worker->replies[i];
    worker->kept.n = 0;
    return ATTN_OK;
}

/* Prepends the edits of the unchanged run, from PLACE on, to those of each run of PACK. */
static enum attn_status add_edits(const struct work *work, const struct pack *pack,
                                  const struct beginning_place *place, struct worker *worker,
                                  struct attn_error *err)
{
    const struct attn_run *run = work->trials->run;
    size_t n = copy_edits(run, place, NULL) * pack->n;

    for (size_t i = 0; i < pack->n; i++)
        n += worker->sequences[i].n_edit;
    ATTN_TRY(ATTN_GROW(worker->edits, worker->n_edit, n, err));
    for (size_t i = 0, at = 0; i < pack->n; at += worker->sequences[i++].n_edit) {
        struct attn_session_sequence *sequence = &worker->sequences[i];

        sequence->n_uncounted =
            join_edits(run, place, sequence->edits, sequence->n_edit, worker->edits + at);
        sequence->edits = worker->edits + at;
        sequence->n_edit += sequence->n_uncounted;
    }
    return ATTN_OK;
}

/* Feeds the runs of PACK to the session of WORKER. Each run starts with a copy of the layer's
 * rows. */
static enum attn_status run_together(const struct work *work, const struct pack *pack,
                                     struct worker *worker, struct attn_error *err)
{
    static const struct attn_edit none; /* for runs without changes */
    const struct attn_trials *trials = work->trials;
    const struct attn_location *at = &pack->beginnings[0].at;
    const struct attn_location of_z = {at->stack, at->layer, ATTN_ALL_HEADS, ATTN_SITE_Z};
    const float *resid = attn_capture_tensor(trials->capture, at);
    const float *z = trials->has_z ? attn_capture_tensor(trials->capture, &of_z) : NULL;
    const float **rows_of_z = worker->rows + pack->n;
    const struct attn_session_start start = {
        .at = *at, .resid = worker->rows, .z = z ? rows_of_z : NULL};

    for (size_t i = 0; i < pack->n; i++) {
        const struct attn_trial_change *change = &work->changes[pack->beginnings[i].change];

        worker->rows[i] = resid;
        rows_of_z[i] = z;
        worker->sequences[i] = (struct attn_session_sequence){
            .n = trials->run->text.n,
            .ids = trials->run->text.ids,
            .edits = change->n_edit > 0 ? work->edits + change->first : &none,
            .n_edit = change->n_edit,
            .logit0 = trials->answer->position,
            .n_logit = 1};
    }
    if (trials->run->edits.n > 0)
        ATTN_TRY(add_edits(work, pack, &(struct beginning_place){*at, z != NULL}, worker, err));
    attn_session_reset(worker->session);
    ATTN_TRY(attn_session_feed_from(worker->session, &start, worker->sequences, pack->n, err));
    return attn_host_check_canceled(trials->run->host, err);
}

static enum attn_status try_together(const struct work *work, const struct pack *pack,
                                     struct worker *worker, struct attn_error *err)
{
    enum attn_status status;

    if (!worker->session)
        ATTN_TRY(prepare_worker(work, worker, err));
    if (worker->kept.n + pack->n > work->n_waiting)
        ATTN_TRY(read_replies(work, worker, err));
    status = run_together(work, pack, worker, err);
    ATTN_TRY(
        attn_error_at(status, status == ATTN_INVALID ? ATTN_STAGE_INPUT : ATTN_STAGE_MODEL, err));
    for (size_t i = 0; i < pack->n; i++) {
        const size_t change = pack->beginnings[i].change;

        worker->changes[worker->kept.n + i] = change;
        work->outcomes[change].n_row = attn_session_n_edited_row_of(worker->session, i);
    }
    return attn_answer_keep(work->trials->answer, worker->session, pack->n, &worker->kept, err);
}

/* Records a failed STATUS of TASK, so that later tasks stop. */
static void note(struct work *work, struct worker *worker, size_t task, enum attn_status status)
{
    size_t failed = atomic_load(&work->failed);

    if (status == ATTN_OK)
        return;
    worker->status = status;
    worker->failed = task;
    while (task < failed && !atomic_compare_exchange_weak(&work->failed, &failed, task))
        ;
}

/* Reports the runs of all threads that are done. The thread of the caller alone calls it. */
static void report(struct work *work)
{
    const struct attn_request *request = &work->trials->run->request;

    if (request->on_progress)
        request->on_progress(request->user, atomic_load(&work->n_done), work->n_total);
}

static void try_task(void *context, size_t task, int worker)
{
    struct work *work = context;
    const struct pack *pack = &work->packs[task];
    struct worker *mine = &work->workers[worker];
    enum attn_status status;

    if (task > atomic_load(&work->failed))
        return;
    status = go_together(work->trials) ? try_together(work, pack, mine, &mine->failure)
                                       : try_alone(work, pack, &mine->failure);
    if (status == ATTN_OK) {
        atomic_fetch_add(&work->n_done, pack->n);
        if (worker == 0)
            report(work);
    }
    note(work, mine, task, status);
}

/* Computes the waiting replies of worker number TASK. */
static void read_task(void *context, size_t task, int worker)
{
    struct work *work = context;
    struct worker *mine = &work->workers[task];

    (void)worker;
    note(work, mine, work->n_pack + task, read_replies(work, mine, &mine->failure));
}

/* Returns the failure of the task with the lowest number, which does not depend on timing. */
static enum attn_status find_failure(const struct work *work, struct attn_error *err)
{
    const size_t failed = atomic_load(&work->failed);

    for (size_t i = 0; i < work->n_worker; i++) {
        const struct worker *worker = &work->workers[i];

        if (worker->status != ATTN_OK && worker->failed == failed) {
            attn_error_copy(err, &worker->failure);
            return worker->status;
        }
    }
    return ATTN_OK;
}

static enum attn_status perform(struct work *work, size_t n, struct attn_error *err)
{
    const struct attn_trials *trials = work->trials;
    const struct attn_dims *dims = attn_selection_dims(trials->run->selection);
    const double d = (double)dims->d_model;
    const double n_product = 12.0 * (double)dims->n_layer * (double)dims->n_position * d * d +
                             (double)dims->n_vocab * d; /* rough cost of one run */
    struct attn_pool *pool = attn_host_pool(trials->run->host, n_product * (double)n);

    work->n_worker = (size_t)attn_pool_n_thread(pool);
    work->workers = attn_alloc(work->n_worker, sizeof *work->workers, err);
    if (!work->workers || make_packs(work, n, err) != ATTN_OK)
        return ATTN_NO_MEMORY;
    attn_pool_run(pool, work->n_pack, try_task, work);
    if (atomic_load(&work->failed) == SIZE_MAX) {
        report(work); /* the caller may have had no task, or not the last one */
        attn_pool_run(pool, work->n_worker, read_task, work);
    }
    return find_failure(work, err);
}

/* Keeps the stream of the encoder of the unchanged run, if one of CHANGES [n] is of the encoder. */
static enum attn_status keep_encoder(struct attn_trials *trials, const struct attn_edit *edits,
                                     const struct attn_trial_change *changes, size_t n,
                                     struct attn_error *err)
{
    const struct attn_watch watch = {.of = ATTN_WATCH_ENCODER,
                                     .sites = ATTN_SITES(ATTN_SITE_RESID_PRE),
                                     .capture = &trials->encoder_capture};
    bool is_needed = false;

    for (size_t i = 0; i < n && !trials->encoder_capture; i++)
        for (size_t k = 0; k < changes[i].n_edit; k++)
            is_needed |= edits[changes[i].first + k].at.stack == ATTN_STACK_ENCODER;
    return is_needed ? attn_watch(trials->run, &watch, err) : ATTN_OK;
}

enum attn_status attn_trials_perform(struct attn_trials *trials, const struct attn_edit *edits,
                                     const struct attn_trial_change *changes, size_t n,
                                     struct attn_trial_outcome *outcomes, struct attn_error *err)
{
    const struct attn_trace trace = {.selection = trials->needed, .on_event = ignore};
    const size_t n_all = trials->n_feed + n, n_row = trials->run->text.n;
    const size_t n_together = go_together(trials) && n_row < PACK_ROWS ? PACK_ROWS / n_row : 1;
    const size_t n_waiting = n_together > WAITING ? n_together : WAITING;
    struct work work = {.trials = trials,
                        .edits = edits,
                        .changes = changes,
                        .outcomes = outcomes,
                        .n_together = n_together,
                        .n_waiting = n_waiting < n ? n_waiting : n,
                        .trace = &trace,
                        .n_total = n_all > trials->n_expected ? n_all : trials->n_expected,
                        .n_done = trials->n_feed,
                        .failed = SIZE_MAX};
    enum attn_status status = keep_encoder(trials, edits, changes, n, err);

    ATTN_THEN(status, perform(&work, n, err));
    for (size_t i = 0; work.workers && i < work.n_worker; i++) {
        struct worker *worker = &work.workers[i];

        attn_session_free(worker->session);
        attn_free(worker->kept.rows);
        attn_store_release(&worker->store);
        attn_free(worker->logits);
        attn_free(worker->edits);
    }
    attn_free(work.workers);
    attn_free(work.packs);
    attn_free(work.beginnings);
    trials->n_feed += n;
    return status;
}
