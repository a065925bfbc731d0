/* visit.c - at every site: the edits declared for it, then the trace, before anyone consumes the
 * tensor. */
#include "model/session_state.h"

bool attn_session_watches(const struct attn_session *session, enum attn_site site, int layer)
{
    return session->options.trace != NULL &&
           attn_selection_wants(session->options.trace->selection, site, layer);
}

bool attn_session_wants_row(const struct attn_session *session, size_t position)
{
    const struct attn_selection *selection = session->options.trace->selection;

    return position < attn_selection_dims(selection)->n_position &&
           attn_selection_has_query(selection, position);
}

void attn_session_apply(struct attn_session *session, const struct attn_edit_target *target)
{
    session->n_edited += attn_edits_apply(session->options.edits, session->options.n_edit, target);
}

bool attn_session_is_cross(const struct attn_session *session, int layer)
{
    return layer != ATTN_NO_LAYER && session->config->is_cross[layer];
}

/* Nobody is told NaN or infinity, but for the scores of masked keys. */
static void check_event(struct attn_session *session, const struct attn_trace_event *event)
{
    const bool is_scores = event->site == ATTN_SITE_ATTN_SCORES;

    if (session->options.n_edit > 0 && (is_scores || event->site == ATTN_SITE_QK))
        return; /* an edit masks keys there */
    for (size_t i = 0; i < event->n_row; i++) {
        const size_t position = event->row0 + i;
        const bool is_masked = is_scores && event->is_causal && position < event->n_col;
        /* A softmax that meets a bad score gives NaN everywhere: its first value tells. */
        const bool is_told_by_first =
            event->site == ATTN_SITE_PATTERN && session->options.n_edit == 0;
        size_t n = event->keys != NULL ? event->n_kept[i] : is_masked ? position + 1 : event->n_col;

        n = is_told_by_first && n > 0 ? 1 : n;
        if (!session->engine.kernels->is_finite(event->data + i * event->ld, n)) {
            attn_session_blame(session, event->layer);
            return;
        }
    }
}

void attn_session_tell(struct attn_session *session, const struct attn_trace_event *event)
{
    const struct attn_trace *trace = session->options.trace;
    struct attn_step *step = &session->step;
    struct attn_trace_event part;
    size_t row = 0;

    while (step->status == ATTN_OK && attn_trace_next_part(trace->selection, event, &row, &part)) {
        check_event(session, &part);
        if (step->status == ATTN_OK)
            step->status = trace->on_event(trace->user, &part, step->err);
    }
}

/* One head of a site, or a site without heads. */
static void visit_part(struct attn_session *session, const struct attn_edit_target *target,
                       bool is_watched)
{
    const struct attn_trace_event event = {.site = target->site,
                                           .layer = target->layer,
                                           .head = target->head,
                                           .row0 = target->row0,
                                           .n_row = target->n_row,
                                           .n_col = target->n_col,
                                           .ld = target->ld,
                                           .data = target->data};

    if (session->options.n_edit > 0)
        attn_session_apply(session, target);
    if (is_watched)
        attn_session_tell(session, &event);
}

void attn_session_visit(struct attn_session *session, enum attn_site site, int layer, float *data)
{
    const enum attn_site_layout layout = attn_site_layout(site);
    const size_t width = attn_site_width(site, &session->dims);
    const bool is_watched = attn_session_watches(session, site, layer);
    const size_t n_head =
        layout == ATTN_LAYOUT_KEY ? session->config->n_kv_head : session->config->n_head;
    struct attn_edit_target target = {.site = site,
                                      .layer = layer,
                                      .head = ATTN_ALL_HEADS,
                                      .row0 = session->step.row0,
                                      .n_row = session->step.n_row,
                                      .n_col = width,
                                      .ld = width,
                                      .data = data};

    if (session->step.status != ATTN_OK || (!is_watched && session->options.n_edit == 0))
        return;
    if (layout == ATTN_LAYOUT_KEY && attn_session_is_cross(session, layer)) {
        target.row0 = 0;
        target.n_row = session->n_source;
    }
    if (layout == ATTN_LAYOUT_VECTOR) {
        visit_part(session, &target, is_watched);
        return;
    }
    target.ld = n_head * width;
    for (int head = 0; head < (int)n_head && session->step.status == ATTN_OK; head++) {
        const bool is_key = layout == ATTN_LAYOUT_KEY;
        const struct attn_selection *selection =
            is_watched ? session->options.trace->selection : NULL;
        const bool is_wanted =
            is_watched && (is_key ? attn_selection_has_kv_head(selection, layer, head)
                                  : attn_selection_has_head(selection, layer, head));

        target.head = head;
        target.data = data + (size_t)head * width;
        if (is_key ? attn_session_needs_kv_head(session, layer, head)
                   : attn_session_needs_head(session, layer, head))
            visit_part(session, &target, is_wanted);
    }
}
