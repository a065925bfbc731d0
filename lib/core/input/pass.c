#include "input/pass.h"

#include "base/os/thread.h"
#include "base/status_internal.h"

/* Whether the text is fed in pieces. */
static bool has_pieces(const struct attn_pass *pass)
{
    struct attn_error why_not = {0};

    for (size_t i = 0; pass->n_piece > 0 && i < attn_model_config(pass->model)->n_layer; i++)
        if (pass->options.attention[i].block.end > 0)
            return false;
    return pass->n_piece > 0 && !pass->resid && pass->n_piece < pass->text->n &&
           attn_session_check_next(pass->options.attention, attn_model_config(pass->model),
                                   &why_not) == ATTN_OK;
}

static enum attn_status set_source(const struct attn_pass *pass, struct attn_session *session,
                                   struct attn_error *err)
{
    const struct attn_sequence *source = pass->source;
    const bool has_source = source && source->n > 0;

    if (pass->is_early)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "an encoder has not read its source, and more is asked of the run");
    if (!has_source)
        return ATTN_OK;
    return attn_error_at(attn_session_set_source(session, source->rows, source->n, err),
                         ATTN_STAGE_INPUT, err);
}

enum attn_status attn_pass_start(const struct attn_pass *pass, struct attn_session **session,
                                 struct attn_error *err)
{
    struct attn_session_options options = pass->options;
    struct attn_feed_progress progress = pass->progress;
    struct attn_session *made;
    enum attn_status status;

    options.n_feed = has_pieces(pass) ? pass->n_piece : 0;
    status = attn_session_create(pass->model, &options, &made, err);
    ATTN_TRY(
        attn_error_at(status, status == ATTN_INVALID ? ATTN_STAGE_OPTIONS : ATTN_STAGE_MODEL, err));
    attn_session_count_edits_from(made, pass->n_uncounted);
    progress.n_row = pass->text ? pass->text->n : 0;
    attn_session_report(made, &progress);
    ATTN_RETURN_MADE(set_source(pass, made, err), session, made, attn_session_free);
}

static enum attn_status feed(const struct attn_pass *pass, struct attn_session *session,
                             struct attn_error *err)
{
    const struct attn_sequence *text = pass->text;
    const size_t d_embed = attn_model_config(pass->model)->d_embed;
    const size_t n_most = has_pieces(pass) ? pass->n_piece : text->n;

    if (pass->resid)
        return attn_session_feed_layer(session, &pass->at, pass->resid, text->ids, text->n, err);
    if (pass->embeddings)
        return attn_session_feed_rows(session, &pass->rows, pass->embeddings, err);
    if (text->reader && text->reader->feed)
        return text->reader->feed(session, text, err);
    for (size_t first = 0, n; first < text->n; first += n) {
        n = text->n - first < n_most ? text->n - first : n_most;
        ATTN_TRY(text->rows
                     ? attn_session_feed_embeddings(session, text->rows + first * d_embed, n, err)
                     : attn_session_feed_types(session, text->ids + first,
                                               text->types ? text->types + first : NULL, n, err));
    }
    return ATTN_OK;
}

enum attn_status attn_pass_feed(const struct attn_pass *pass, struct attn_session *session,
                                struct attn_error *err)
{
    enum attn_status status;

    attn_session_add_rows(session, pass->added.rows ? pass->added
                                                    : attn_sequence_added(pass->text, pass->model));
    attn_session_take_left(session, pass->whole);
    status = feed(pass, session, err);
    /* the session has not checked the flag since the last layer */
    if (status == ATTN_OK && attn_is_canceled(pass->options.cancel))
        status = attn_error_set(err, ATTN_CANCELED, "%s", attn_status_text(ATTN_CANCELED));
    return attn_error_at(status, status == ATTN_INVALID ? ATTN_STAGE_INPUT : ATTN_STAGE_MODEL, err);
}

enum attn_status attn_pass_run(const struct attn_pass *pass, struct attn_session **session,
                               struct attn_error *err)
{
    struct attn_session *made;
    enum attn_status status;

    ATTN_TRY(attn_pass_start(pass, &made, err));
    status = attn_pass_feed(pass, made, err);
    if (status == ATTN_OK && session)
        *session = made;
    else
        attn_session_free(made);
    return status;
}
