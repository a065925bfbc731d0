/*
 * unembed.c - what follows the last block: the final norm and the logits.
 *
 * Watched logits are computed a few rows at a time, since a row is as wide as the vocabulary. The
 * logits of the last position alone are computed when they are asked for. Either way a logit is the
 * same chain of products.
 */
#include "model/session_state.h"

#include <string.h>

static float *final_residual(struct attn_session *session)
{
    return session->config->has_final_norm ? session->normed : session->resid;
}

/* logits [n_row, V] of X [n_row, D], positions ROW0 and on, edits applied. */
static void unembed(struct attn_session *session, const float *x, size_t row0, size_t n_row,
                    float *logits)
{
    const struct attn_linear *linear = &session->model->weights.unembed;
    const size_t n_vocab = session->config->n_vocab, d = session->config->d_model;
    const struct attn_linear_args args = {
        .linear = linear,
        .engine = &session->engine,
        .scratch = session->heads.scratch,
        .x = x,
        .ldx = d,
        .n_row = n_row,
        .compute = session->compute,
        .rounded = session->rounded,
        .y = logits,
        .ldy = n_vocab,
        .first_col = 0,
        .last_col = n_vocab,
    };
    const struct attn_edit_target target = {.site = ATTN_SITE_LOGITS,
                                            .layer = ATTN_NO_LAYER,
                                            .head = ATTN_ALL_HEADS,
                                            .row0 = row0,
                                            .n_row = n_row,
                                            .n_col = n_vocab,
                                            .ld = n_vocab,
                                            .data = logits};

    if (session->n_logit_row > 0 && session->n_logit_row < session->step.n_row)
        attn_linear_run(&args, 1, session->step.pool); /* the matrix is read several times */
    else
        attn_session_multiply(session, &args, 1);
    attn_session_apply(session, &target);
}

static void tell_logits(struct attn_session *session)
{
    const size_t row0 = session->step.row0, n_row = session->step.n_row;
    const size_t d = session->config->d_model;
    size_t row = 0;

    while (row < n_row && !attn_session_is_stopped(session)) {
        size_t n = 0;

        while (row + n < n_row && n < session->n_logit_row &&
               attn_session_wants_row(session, row0 + row + n))
            n++;
        if (n > 0) {
            const struct attn_trace_event event = {.site = ATTN_SITE_LOGITS,
                                                   .layer = ATTN_NO_LAYER,
                                                   .head = ATTN_ALL_HEADS,
                                                   .row0 = row0 + row,
                                                   .n_row = n,
                                                   .n_col = session->config->n_vocab,
                                                   .ld = session->config->n_vocab,
                                                   .data = session->logits};

            unembed(session, final_residual(session) + row * d, row0 + row, n, session->logits);
            attn_session_tell(session, &event);
        }
        row += n > 0 ? n : 1;
    }
}

void attn_session_finish(struct attn_session *session)
{
    const struct attn_config *config = session->config;
    const int n_layer = (int)config->n_layer;

    if (!attn_session_needs(session, n_layer, ATTN_SITE_LN_FINAL))
        return;
    if (config->has_final_norm) {
        attn_normalize(session, &session->model->weights.ln_final, session->resid, session->normed);
        attn_session_visit(session, ATTN_SITE_LN_FINAL, ATTN_NO_LAYER, session->normed);
    }
    if (session->options.has_logits)
        memcpy(session->final + session->step.row0 * config->d_model, final_residual(session),
               session->step.n_row * config->d_model * sizeof(float));
    if (attn_session_watches(session, ATTN_SITE_LOGITS, ATTN_NO_LAYER))
        tell_logits(session);
}

static enum attn_status check_has_logits(const struct attn_session *session, struct attn_error *err)
{
    if (!session->options.has_logits)
        return attn_error_set(err, ATTN_INVALID, "the session was created without logits");
    if (session->n_position == 0 || session->is_broken)
        return attn_error_set(err, ATTN_INVALID, "there are no logits before a successful feed");
    return ATTN_OK;
}

enum attn_status attn_session_logits_at(struct attn_session *session, size_t first, size_t n,
                                        float *logits, struct attn_error *err)
{
    const size_t n_position = session->n_position;
    const size_t d = session->config->d_model, n_vocab = session->config->n_vocab;
    enum attn_status status = check_has_logits(session, err);

    if (status != ATTN_OK)
        return status;
    if (first >= n_position || n > n_position - first)
        return attn_error_set(err, ATTN_INVALID,
                              "%zu positions from %zu on are not among the %zu that were fed", n,
                              first, n_position);
    for (size_t row = first; row < first + n; row++)
        if (session->options.cache == ATTN_CACHE_ONE_LAYER && row != n_position - 1 &&
            (session->options.trace == NULL || !attn_session_wants_row(session, row)))
            return attn_error_set(err, ATTN_INVALID,
                                  "position %zu was not computed to its end: nothing watches it",
                                  row);
    session->step.status = ATTN_OK;
    session->step.err = err;
    unembed(session, session->final + first * d, first, n, logits);
    attn_session_check_finite(session, ATTN_NO_LAYER, logits, n * n_vocab);
    return session->step.status;
}

enum attn_status attn_session_logits(struct attn_session *session, const float **logits,
                                     struct attn_error *err)
{
    enum attn_status status = check_has_logits(session, err);

    if (status != ATTN_OK)
        return status;
    if (!session->has_last_logits) {
        session->step.status = ATTN_OK;
        session->step.err = err;
        const size_t last = session->n_position - 1;

        unembed(session, session->final + last * session->config->d_model, last, 1,
                session->last_logits);
        attn_session_check_finite(session, ATTN_NO_LAYER, session->last_logits,
                                  session->config->n_vocab);
        if (session->step.status != ATTN_OK)
            return session->step.status;
        session->has_last_logits = true;
    }
    *logits = session->last_logits;
    return ATTN_OK;
}

enum attn_status attn_session_log_probability(struct attn_session *session, int32_t id,
                                              double *log_probability, struct attn_error *err)
{
    const float *logits;
    enum attn_status status = attn_session_logits(session, &logits, err);

    if (status != ATTN_OK)
        return status;
    if (id < 0 || (size_t)id >= session->config->n_vocab)
        return attn_error_set(err, ATTN_INVALID, "token id %d is out of range, expected 0 to %zu",
                              id, session->config->n_vocab - 1);
    logits = session->last_logits;
    *log_probability =
        (double)logits[id] - session->engine.kernels->log_sum_exp(logits, session->config->n_vocab);
    return ATTN_OK;
}
