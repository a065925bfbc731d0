/*
 * trials.c - see trials.h. Runs that begin at the same layer go through it side by side, as many as
 * make products fast: their rows lie one below the other, each run with its own edits.
 */
#include "experiment/trials.h"

#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "model/session_internal.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    PACK_ROWS = 128, /* more make products no faster */
    WAITING = 48,    /* runs whose logits are found in one product: then the output layer, which is
                        read for each, costs less to read than to multiply by */
};

/* --- The unchanged run ------------------------------------------------------------------------ */

static enum attn_status run_base(struct attn_trials *trials, struct attn_error *err)
{
    struct attn_trial trial = attn_trial_of(trials->run);
    struct attn_session *session = NULL;
    const struct attn_reading reading = {
        .n = 1, .logits = trials->logits, .replies = &trials->base};
    enum attn_status status;

    if (trials->can_skip)
        trial.trace = attn_capture_trace(trials->capture);
    status = attn_trial_run(&trial, &session, err);
    if (status == ATTN_OK)
        status = attn_answer_read(trials->answer, session, &reading, err);
    trials->n_feed++;
    attn_session_free(session);
    return status;
}

enum attn_status attn_trials_start(const struct attn_run *run, const struct attn_answer *answer,
                                   enum attn_site first, struct attn_trials *trials,
                                   struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(run->selection);
    const bool can_skip = attn_trial_can_skip(run);
    uint64_t sites = ATTN_SITE_BIT(ATTN_SITE_RESID_PRE);
    enum attn_status status;

    *trials = (struct attn_trials){.run = run,
                                   .answer = answer,
                                   .can_skip = can_skip,
                                   .has_z = can_skip && first >= ATTN_SITE_Z};
    sites |= trials->has_z ? ATTN_SITE_BIT(ATTN_SITE_Z) : 0;
    trials->logits = attn_alloc(dims->n_vocab, sizeof *trials->logits, err);
    if (!trials->logits)
        return ATTN_NO_MEMORY;
    status = attn_selection_create(dims, &trials->selection, err);
    if (status == ATTN_OK)
        status = attn_selection_set_sites(trials->selection, sites, err);
    if (status == ATTN_OK)
        status = attn_answer_select(answer, &trials->needed, err);
    if (status == ATTN_OK && trials->can_skip)
        status = attn_capture_create(trials->selection, &trials->capture, err);
    return status == ATTN_OK ? run_base(trials, err) : status;
}

void attn_trials_release(struct attn_trials *trials)
{
    attn_capture_free(trials->capture);
    attn_selection_free(trials->selection);
    attn_selection_free(trials->needed);
    attn_free(trials->logits);
    *trials = (struct attn_trials){.run = NULL};
}

/* --- Those with changes ----------------------------------------------------------------------- */

/* A change and the first layer that it changes. */
struct place {
    int layer;
    size_t change; /* its number */
};

/* Runs that go side by side. */
struct pack {
    const struct place *places; /* [n] of one layer */
    size_t n;
};

/* What a thread keeps from pack to pack. */
struct worker {
    struct attn_session *session; /* owns; NULL before the first pack */
    struct attn_kept kept;      /* owns its arrays; runs whose replies wait, [n_waiting] at most */
    size_t *changes;            /* [n_waiting] owns; their numbers */
    struct attn_reply *replies; /* [n_waiting] owns */
    float *logits;              /* [n_waiting, V] owns */
    enum attn_status status;    /* of the task that failed, if one did */
    struct attn_error failure;
    size_t failed; /* its number */
};

/* Work of the pool. */
struct work {
    const struct attn_trials *trials;
    const struct attn_trial_change *changes;
    struct attn_trial_outcome *outcomes;
    struct place *places; /* [n] owns; of the changes, by layer */
    struct pack *packs;   /* [n_pack] owns */
    size_t n_pack;
    struct worker *workers; /* [n_worker] owns */
    size_t n_worker;
    size_t n_together, n_waiting;   /* runs that go side by side; whose logits are found so */
    const struct attn_trace *trace; /* of all sessions */
    size_t n_total;                 /* runs, those before these with them */
    atomic_size_t n_done;           /* likewise */
    atomic_size_t failed;           /* the first task that failed: those behind it do nothing */
};

static int first_layer(const struct attn_trial_change *change, int n_layer)
{
    int first = n_layer;

    for (size_t i = 0; i < change->n_edit; i++)
        if (change->edits[i].layer < first)
            first = change->edits[i].layer;
    return first < n_layer ? first : 0;
}

static int by_layer(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    return x->change < y->change ? -1 : x->change > y->change;
}

/* Whether runs go side by side: they begin at a layer, and have no source. */
static bool packs(const struct attn_trials *trials)
{
    return trials->can_skip && trials->run->source.n == 0;
}

/* The runs that can go side by side. */
static size_t most_together(const struct attn_trials *trials)
{
    const size_t n = trials->run->text.n;

    return packs(trials) && n < PACK_ROWS ? PACK_ROWS / n : 1;
}

/* Puts the N changes together: those of one layer, about as many in each pack. */
static enum attn_status make_packs(struct work *work, size_t n, struct attn_error *err)
{
    const int n_layer = (int)attn_model_config(work->trials->run->model)->n_layer;
    const size_t most = work->n_together;

    work->places = attn_alloc(n, sizeof *work->places, err);
    work->packs = attn_alloc(n, sizeof *work->packs, err);
    if (!work->places || !work->packs)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        work->places[i] = (struct place){first_layer(&work->changes[i], n_layer), i};
    qsort(work->places, n, sizeof *work->places, by_layer);
    for (size_t first = 0, end; first < n; first = end) {
        size_t n_pack;

        end = first + 1;
        while (end < n && work->places[end].layer == work->places[first].layer)
            end++;
        for (n_pack = (end - first + most - 1) / most; n_pack > 0; n_pack--) {
            const size_t size = (end - first) / n_pack;

            work->packs[work->n_pack++] = (struct pack){work->places + first, size};
            first += size;
        }
    }
    return ATTN_OK;
}

/* The one run of PACK, from its first layer on if it can begin there. */
static enum attn_status try_alone(const struct work *work, const struct pack *pack,
                                  struct attn_session **session, struct attn_error *err)
{
    const struct attn_trials *trials = work->trials;
    const struct attn_trial_change *change = &work->changes[pack->places[0].change];
    struct attn_trial trial = attn_trial_of(trials->run);
    enum attn_status status;

    trial.pool = NULL; /* its threads are busy with other trials */
    trial.edits = change->edits;
    trial.n_edit = change->n_edit;
    if (trials->can_skip) {
        trial.layer = pack->places[0].layer;
        trial.resid = attn_capture_tensor(trials->capture, ATTN_SITE_RESID_PRE, trial.layer);
    }
    status = attn_trial_run(&trial, session, err);
    if (status == ATTN_OK)
        work->outcomes[pack->places[0].change].n_row = attn_session_n_edited_row(*session);
    return status;
}

/* What that run, which SESSION was fed, replies. */
static enum attn_status read_reply(const struct work *work, const struct pack *pack,
                                   struct attn_session *session, struct attn_error *err)
{
    const struct attn_trials *trials = work->trials;
    const size_t n_vocab = attn_model_config(trials->run->model)->n_vocab;
    struct attn_reading reading = {.n = 1,
                                   .base = trials->logits,
                                   .base_total = trials->base.total,
                                   .replies = &work->outcomes[pack->places[0].change].reply};
    enum attn_status status = ATTN_NO_MEMORY;

    reading.logits = attn_alloc_uninitialized(n_vocab, sizeof *reading.logits, err);
    if (reading.logits)
        status = attn_answer_read(trials->answer, session, &reading, err);
    attn_free(reading.logits);
    return status;
}

/* An attn_trace_fn that drops its events: the trace is there for the positions of its selection. */
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
    const struct attn_config *config = attn_model_config(work->trials->run->model);
    const size_t n = work->n_waiting;

    worker->kept.rows = attn_alloc_uninitialized(n * config->d_model, sizeof(float), err);
    worker->kept.ce = attn_alloc(n, sizeof *worker->kept.ce, err);
    worker->changes = attn_alloc(n, sizeof *worker->changes, err);
    worker->replies = attn_alloc(n, sizeof *worker->replies, err);
    worker->logits = attn_alloc_uninitialized(n * config->n_vocab, sizeof(float), err);
    if (!worker->kept.rows || !worker->kept.ce || !worker->changes || !worker->replies ||
        !worker->logits)
        return ATTN_NO_MEMORY;
    return attn_trial_create_packs(work->trials->run, work->trace, work->n_together,
                                   &worker->session, err);
}

static void release_worker(struct worker *worker)
{
    attn_session_free(worker->session);
    attn_free(worker->kept.rows);
    attn_free(worker->kept.ce);
    attn_free(worker->changes);
    attn_free(worker->replies);
    attn_free(worker->logits);
}

/* Finds the replies that wait. */
static enum attn_status read_replies(const struct work *work, struct worker *worker,
                                     struct attn_error *err)
{
    const struct attn_trials *trials = work->trials;
    const struct attn_reading reading = {.n = worker->kept.n,
                                         .base = trials->logits,
                                         .base_total = trials->base.total,
                                         .logits = worker->logits,
                                         .replies = worker->replies};
    enum attn_status status = ATTN_OK;

    if (worker->kept.n > 0)
        status =
            attn_answer_read_kept(trials->answer, &worker->kept, worker->session, &reading, err);
    for (size_t i = 0; status == ATTN_OK && i < worker->kept.n; i++)
        work->outcomes[worker->changes[i]].reply = worker->replies[i];
    worker->kept.n = 0;
    return status;
}

/* Feeds the session of WORKER the runs of PACK. */
static enum attn_status run_together(const struct work *work, const struct pack *pack,
                                     struct worker *worker, struct attn_error *err)
{
    static const struct attn_edit none; /* what a run without changes has */
    const struct attn_trials *trials = work->trials;
    struct attn_session_sequence *sequences = attn_alloc(pack->n, sizeof *sequences, err);
    const int layer = pack->places[0].layer;
    struct attn_trial_pack together = {
        .run = trials->run,
        .layer = layer,
        .resid = attn_capture_tensor(trials->capture, ATTN_SITE_RESID_PRE, layer),
        .sequences = sequences,
        .n = pack->n};
    enum attn_status status = sequences ? ATTN_OK : ATTN_NO_MEMORY;

    if (trials->has_z)
        together.z = attn_capture_tensor(trials->capture, ATTN_SITE_Z, layer);
    for (size_t i = 0; sequences && i < pack->n; i++) {
        const struct attn_trial_change *change = &work->changes[pack->places[i].change];

        sequences[i] =
            (struct attn_session_sequence){.n = trials->run->text.n,
                                           .edits = change->n_edit > 0 ? change->edits : &none,
                                           .n_edit = change->n_edit};
    }
    if (status == ATTN_OK)
        status = attn_trial_run_pack(&together, worker->session, err);
    attn_free(sequences); /* their edits are the caller's */
    return status;
}

static enum attn_status try_together(const struct work *work, const struct pack *pack,
                                     struct worker *worker, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    if (!worker->session)
        status = prepare_worker(work, worker, err);
    if (status == ATTN_OK && worker->kept.n + pack->n > work->n_waiting)
        status = read_replies(work, worker, err);
    if (status == ATTN_OK)
        status = run_together(work, pack, worker, err);
    for (size_t i = 0; status == ATTN_OK && i < pack->n; i++) {
        const size_t change = pack->places[i].change;

        worker->changes[worker->kept.n + i] = change;
        work->outcomes[change].n_row = attn_session_n_edited_row_of(worker->session, i);
    }
    if (status == ATTN_OK)
        status =
            attn_answer_keep(work->trials->answer, worker->session, pack->n, &worker->kept, err);
    return status;
}

static enum attn_status try(const struct work *work, const struct pack *pack, struct worker *worker,
                            struct attn_error *err)
{
    struct attn_session *session = NULL;
    enum attn_status status;

    if (packs(work->trials))
        return try_together(work, pack, worker, err);
    status = try_alone(work, pack, &session, err);
    if (status == ATTN_OK)
        status = read_reply(work, pack, session, err);
    attn_session_free(session);
    return status;
}

/* Tells of N more that are done. The caller's own thread tells for all. */
static void tell(struct work *work, size_t n, int worker)
{
    const struct attn_request *request = &work->trials->run->request;
    const size_t n_done = atomic_fetch_add(&work->n_done, n) + n;

    if (worker == 0 && request->on_progress)
        request->on_progress(request->user, n_done, work->n_total);
}

/* Ends all behind TASK, which WORKER did, when STATUS is a failure. */
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

static void try_task(void *context, size_t task, int worker)
{
    struct work *work = context;
    const struct pack *pack = &work->packs[task];
    struct worker *mine = &work->workers[worker];
    enum attn_status status;

    if (task > atomic_load(&work->failed))
        return;
    status = try(work, pack, mine, &mine->failure);
    if (status == ATTN_OK)
        tell(work, pack->n, worker);
    note(work, mine, task, status);
}

/* The replies that still wait with worker number TASK. */
static void read_task(void *context, size_t task, int worker)
{
    struct work *work = context;
    struct worker *mine = &work->workers[task];

    (void)worker;
    note(work, mine, work->n_pack + task, read_replies(work, mine, &mine->failure));
}

/* The failure of the first task that failed, whichever thread was faster. */
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

/* Multiply-adds of a run, roughly. */
static double work_of_run(const struct attn_trials *trials)
{
    const struct attn_dims *dims = attn_selection_dims(trials->selection);

    return 12.0 * (double)dims->n_layer * (double)dims->n_position * (double)dims->d_model *
               (double)dims->d_model +
           (double)dims->n_vocab * (double)dims->d_model;
}

static enum attn_status perform(struct work *work, size_t n, struct attn_error *err)
{
    const struct attn_trials *trials = work->trials;
    struct attn_pool *pool = attn_host_pool(trials->run->host, work_of_run(trials) * (double)n);

    work->n_worker = (size_t)attn_pool_n_thread(pool);
    work->workers = attn_alloc(work->n_worker, sizeof *work->workers, err);
    if (!work->workers || make_packs(work, n, err) != ATTN_OK)
        return ATTN_NO_MEMORY;
    attn_pool_run(pool, work->n_pack, try_task, work);
    if (atomic_load(&work->failed) == SIZE_MAX)
        attn_pool_run(pool, work->n_worker, read_task, work);
    return find_failure(work, err);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

enum attn_status attn_trials_perform(struct attn_trials *trials,
                                     const struct attn_trial_change *changes, size_t n,
                                     struct attn_trial_outcome *outcomes, struct attn_error *err)
{
    const struct attn_trace trace = {.selection = trials->needed, .on_event = ignore};
    const size_t n_all = trials->n_feed + n, most = most_together(trials);
    struct work work = {.trials = trials,
                        .changes = changes,
                        .outcomes = outcomes,
                        .n_together = most,
                        .n_waiting = smaller(most > WAITING ? most : WAITING, n),
                        .trace = &trace,
                        .n_total = n_all > trials->n_expected ? n_all : trials->n_expected,
                        .n_done = trials->n_feed,
                        .failed = SIZE_MAX};
    const enum attn_status status = perform(&work, n, err);

    for (size_t i = 0; work.workers && i < work.n_worker; i++)
        release_worker(&work.workers[i]);
    attn_free(work.workers);
    attn_free(work.packs);
    attn_free(work.places);
    trials->n_feed += n;
    return status;
}
