/* trial.c - see trial.h. */
#include "experiment/trial.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "model/session_internal.h"
#include "model/session_pack_internal.h"

#include <string.h>

enum attn_status attn_trial_check_host(const struct attn_host *host, struct attn_error *err)
{
    const struct attn_model *model = attn_host_model(host);
    const enum attn_status status = attn_host_check_model(host, err);

    if (status != ATTN_OK)
        return status;
    if (attn_model_config(model)->output != ATTN_OUTPUT_NONE)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "'%s' has no output layer, and a prediction needs one",
                   attn_quote_string(attn_model_name(model)).text);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

struct attn_trial attn_trial_of(const struct attn_run *run)
{
    return (struct attn_trial){
        .run = run,
        .pool = run->host->pool,
        .layer = ATTN_NO_LAYER,
        .has_logits = attn_model_config(run->model)->output != ATTN_OUTPUT_NONE,
    };
}

bool attn_trial_can_skip(const struct attn_run *run)
{
    bool can_skip = run->n_edit == 0;

    for (size_t layer = 0; layer < attn_model_config(run->model)->n_layer; layer++)
        can_skip = can_skip && run->attention.layers[layer].dropout == 0;
    return can_skip;
}

/* Whether the text is fed in pieces. */
static bool has_pieces(const struct attn_trial *trial)
{
    const struct attn_run *run = trial->run;
    struct attn_error why_not = {0};

    return trial->n_feed > 0 && trial->n_feed < run->text.n && trial->layer == ATTN_NO_LAYER &&
           attn_layer_attention_check_next(run->attention.layers, attn_model_config(run->model),
                                           &why_not) == ATTN_OK;
}

static enum attn_status create(const struct attn_trial *trial, const struct attn_edit *edits,
                               struct attn_session **session, struct attn_error *err)
{
    const struct attn_run *run = trial->run;
    struct attn_session_options options = attn_run_session_options(run);

    options.n_max += trial->n_more;
    options.n_feed = has_pieces(trial) ? trial->n_feed : 0;
    options.cache = ATTN_CACHE_ALL_LAYERS; /* logits of every position can be had */
    options.has_logits = trial->has_logits;
    options.pool = trial->pool;
    options.trace = trial->trace;
    options.edits = edits;
    options.n_edit = run->n_edit + trial->n_edit;
    return attn_session_create(run->model, &options, session, err);
}

enum attn_status attn_trial_start(const struct attn_trial *trial, struct attn_session **session,
                                  struct attn_error *err)
{
    const struct attn_run *run = trial->run;
    struct attn_edit *edits = attn_alloc(run->n_edit + trial->n_edit, sizeof *edits, err);
    struct attn_session *made = NULL;
    enum attn_status status = edits ? ATTN_OK : ATTN_NO_MEMORY;

    if (status == ATTN_OK && run->n_edit > 0)
        memcpy(edits, run->edits, run->n_edit * sizeof *edits);
    if (status == ATTN_OK && trial->n_edit > 0)
        memcpy(edits + run->n_edit, trial->edits, trial->n_edit * sizeof *edits);
    if (status == ATTN_OK)
        status = attn_error_at(create(trial, edits, &made, err), ATTN_STAGE_OPTIONS, err);
    attn_free(edits);
    if (status == ATTN_OK && run->source.n > 0)
        status = attn_error_at(attn_session_set_source(made, run->source.rows, run->source.n, err),
                               ATTN_STAGE_INPUT, err);
    if (status == ATTN_OK)
        *session = made;
    else
        attn_session_free(made);
    return status;
}

/* The N positions from FIRST on. */
static enum attn_status feed_piece(const struct attn_trial *trial, size_t first, size_t n,
                                   struct attn_session *session, struct attn_error *err)
{
    const struct attn_sequence *text = &trial->run->text;
    const size_t d_model = attn_model_config(trial->run->model)->d_model;

    return text->rows ? attn_session_feed_embeddings(session, text->rows + first * d_model, n, err)
                      : attn_session_feed(session, text->ids + first, n, err);
}

static enum attn_status feed(const struct attn_trial *trial, struct attn_session *session,
                             struct attn_error *err)
{
    const struct attn_sequence *text = &trial->run->text;
    enum attn_status status = ATTN_OK;

    if (trial->layer != ATTN_NO_LAYER)
        return attn_session_feed_layer(session, trial->layer, trial->resid, text->n, err);
    if (!has_pieces(trial))
        return feed_piece(trial, 0, text->n, session, err);
    for (size_t first = 0; status == ATTN_OK && first < text->n; first += trial->n_feed) {
        const size_t rest = text->n - first;

        status =
            feed_piece(trial, first, rest < trial->n_feed ? rest : trial->n_feed, session, err);
    }
    return status;
}

enum attn_status attn_trial_run(const struct attn_trial *trial, struct attn_session **session,
                                struct attn_error *err)
{
    struct attn_session *made = NULL;
    enum attn_status status = attn_trial_start(trial, &made, err);

    if (status != ATTN_OK)
        return status;
    status = feed(trial, made, err);
    if (status == ATTN_OK) /* after the last time that the session looked */
        status = attn_host_check_canceled(trial->run->host, err);
    if (status == ATTN_OK)
        *session = made;
    else
        attn_session_free(made);
    return attn_error_at(status, status == ATTN_INVALID ? ATTN_STAGE_INPUT : ATTN_STAGE_MODEL, err);
}

enum attn_status attn_trial_keep(const struct attn_run *run, const struct attn_selection *selection,
                                 struct attn_capture **capture, struct attn_error *err)
{
    struct attn_trial trial = attn_trial_of(run);
    struct attn_session *session = NULL;
    enum attn_status status = attn_capture_create(selection, capture, err);

    if (status != ATTN_OK)
        return status;
    trial.trace = attn_capture_trace(*capture);
    trial.has_logits = false;
    status = attn_trial_run(&trial, &session, err);
    attn_session_free(session);
    return status;
}

/* --- Several at once -------------------------------------------------------------------------- */

enum attn_status attn_trial_create_packs(const struct attn_run *run, const struct attn_trace *trace,
                                         size_t n_most, struct attn_session **session,
                                         struct attn_error *err)
{
    struct attn_session_options options = attn_run_session_options(run);

    options.n_sequence = n_most;
    options.n_max = n_most * run->text.n;
    options.cache = ATTN_CACHE_ONE_LAYER;
    options.has_logits = true;
    options.trace = trace;
    return attn_error_at(attn_session_create(run->model, &options, session, err), ATTN_STAGE_MODEL,
                         err);
}

/* Feeds SESSION the rows of the layer once for each sequence. */
static enum attn_status feed_pack(const struct attn_trial_pack *pack, struct attn_session *session,
                                  struct attn_error *err)
{
    const float **rows = attn_alloc(2 * pack->n, sizeof *rows, err), **z;
    struct attn_session_start start = {.layer = pack->layer, .resid = rows};
    enum attn_status status;

    if (!rows)
        return ATTN_NO_MEMORY;
    z = rows + pack->n;
    start.z = pack->z ? z : NULL;
    for (size_t i = 0; i < pack->n; i++) {
        rows[i] = pack->resid;
        z[i] = pack->z;
    }
    status = attn_session_feed_from(session, &start, pack->sequences, pack->n, err);
    attn_free(rows);
    return status;
}

enum attn_status attn_trial_run_pack(const struct attn_trial_pack *pack,
                                     struct attn_session *session, struct attn_error *err)
{
    enum attn_status status;

    attn_session_reset(session);
    status = feed_pack(pack, session, err);
    if (status == ATTN_OK)
        status = attn_host_check_canceled(pack->run->host, err);
    return attn_error_at(status, status == ATTN_INVALID ? ATTN_STAGE_INPUT : ATTN_STAGE_MODEL, err);
}
