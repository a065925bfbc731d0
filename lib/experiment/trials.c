/* trials.c - see trials.h. */
#include "experiment/trials.h"

#include "base/memory.h"

#include <stdatomic.h>

/* --- The unchanged run ------------------------------------------------------------------------ */

static enum attn_status run_base(struct attn_trials *trials, struct attn_error *err)
{
    struct attn_trial trial = attn_trial_of(trials->run);
    struct attn_session *session = NULL;
    enum attn_status status;

    if (trials->can_skip)
        trial.trace = attn_capture_trace(trials->capture);
    status = attn_trial_run(&trial, &session, err);
    if (status == ATTN_OK)
        status =
            attn_answer_read(trials->answer, session, NULL, trials->logits, &trials->base, err);
    trials->n_feed++;
    attn_session_free(session);
    return status;
}

enum attn_status attn_trials_start(const struct attn_run *run, const struct attn_answer *answer,
                                   struct attn_trials *trials, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(run->selection);
    enum attn_status status;

    *trials =
        (struct attn_trials){.run = run, .answer = answer, .can_skip = attn_trial_can_skip(run)};
    trials->logits = attn_alloc(dims->n_vocab, sizeof *trials->logits, err);
    if (trials->logits == NULL)
        return ATTN_NO_MEMORY;
    status = attn_selection_create(dims, &trials->selection, err);
    if (status == ATTN_OK)
        status =
            attn_selection_set_sites(trials->selection, ATTN_SITE_BIT(ATTN_SITE_RESID_PRE), err);
    if (status == ATTN_OK && trials->can_skip)
        status = attn_capture_create(trials->selection, &trials->capture, err);
    return status == ATTN_OK ? run_base(trials, err) : status;
}

void attn_trials_release(struct attn_trials *trials)
{
    attn_capture_free(trials->capture);
    attn_selection_free(trials->selection);
    attn_free(trials->logits);
    *trials = (struct attn_trials){.run = NULL};
}

/* --- Those with changes ----------------------------------------------------------------------- */

/* Work of the pool. */
struct work {
    const struct attn_trials *trials;
    const struct attn_trial_change *changes;
    struct attn_trial_outcome *outcomes;
    size_t n_total;         /* runs, those before these with them */
    atomic_size_t n_done;   /* likewise */
    atomic_flag has_failed; /* the thread that sets it first writes the failure */
    atomic_bool is_over;    /* something failed: the rest does nothing */
    enum attn_status status;
    struct attn_error *err;
};

static int first_layer(const struct attn_trial_change *change, int n_layer)
{
    int first = n_layer;

    for (size_t i = 0; i < change->n_edit; i++)
        if (change->edits[i].layer < first)
            first = change->edits[i].layer;
    return first;
}

static enum attn_status try(const struct attn_trials *trials,
                            const struct attn_trial_change *change, float *logits,
                            struct attn_trial_outcome *outcome, struct attn_error *err)
{
    const int n_layer = (int)attn_model_config(trials->run->model)->n_layer;
    const int layer = first_layer(change, n_layer);
    struct attn_trial trial = attn_trial_of(trials->run);
    struct attn_session *session = NULL;
    enum attn_status status;

    trial.pool = NULL; /* its threads are busy with other trials */
    trial.edits = change->edits;
    trial.n_edit = change->n_edit;
    if (trials->can_skip && layer < n_layer) {
        trial.layer = layer;
        trial.resid = attn_capture_tensor(trials->capture, ATTN_SITE_RESID_PRE, layer);
    }
    status = attn_trial_run(&trial, &session, err);
    if (status == ATTN_OK) {
        outcome->n_row = attn_session_n_edited_row(session);
        status =
            attn_answer_read(trials->answer, session, trials->logits, logits, &outcome->reply, err);
    }
    attn_session_free(session);
    return status;
}

/* Tells of one more that is done. The caller's own thread tells for all. */
static void tell(struct work *work, int worker)
{
    const struct attn_request *request = &work->trials->run->request;
    const size_t n_done = atomic_fetch_add(&work->n_done, 1) + 1;

    if (worker == 0 && request->on_progress != NULL)
        request->on_progress(request->user, n_done, work->n_total);
}

static void try_task(void *context, size_t task, int worker)
{
    struct work *work = context;
    struct attn_error failure = {0};
    enum attn_status status = ATTN_NO_MEMORY;
    float *logits;

    if (atomic_load(&work->is_over))
        return;
    logits = attn_alloc_uninitialized(attn_model_config(work->trials->run->model)->n_vocab,
                                      sizeof *logits, &failure);
    if (logits != NULL)
        status = try(work->trials, &work->changes[task], logits, &work->outcomes[task], &failure);
    attn_free(logits);
    if (status == ATTN_OK) {
        tell(work, worker);
        return;
    }
    atomic_store(&work->is_over, true);
    if (!atomic_flag_test_and_set(&work->has_failed)) {
        work->status = status;
        attn_error_copy(work->err, &failure);
    }
}

enum attn_status attn_trials_perform(struct attn_trials *trials,
                                     const struct attn_trial_change *changes, size_t n,
                                     struct attn_trial_outcome *outcomes, struct attn_error *err)
{
    struct work work = {.trials = trials,
                        .changes = changes,
                        .outcomes = outcomes,
                        .n_total = trials->n_feed + n > trials->n_expected ? trials->n_feed + n
                                                                           : trials->n_expected,
                        .n_done = trials->n_feed,
                        .has_failed = ATOMIC_FLAG_INIT,
                        .status = ATTN_OK,
                        .err = err};
    const struct attn_dims *dims = attn_selection_dims(trials->selection);
    const double per_trial = 12.0 * (double)dims->n_layer * (double)dims->n_position *
                                 (double)dims->d_model * (double)dims->d_model +
                             (double)dims->n_vocab * (double)dims->d_model;

    attn_pool_run(attn_host_pool(trials->run->host, per_trial * (double)n), n, try_task, &work);
    trials->n_feed += n;
    return work.status;
}
