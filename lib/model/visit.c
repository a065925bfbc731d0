/* visit.c - see visit.h. */
#include "model/visit.h"

#include "base/given.h"
#include "trace/edit_internal.h"
#include "trace/trace_internal.h"

/* No event holds NaN or infinity, but for the scores of masked keys. */
static void check_event(struct attn_forward *f, const struct attn_trace_event *event)
{
    const bool is_scores = event->site == ATTN_SITE_ATTN_SCORES;

    if (f->feed.has_edits && (is_scores || event->site == ATTN_SITE_QK))
        return; /* an edit masks keys there */
    for (size_t i = 0; i < event->n_row; i++) {
        const size_t position = event->row0 + i;
        const bool is_masked = is_scores && event->is_causal && position < event->n_col;
        /* A softmax over a score that is not finite is NaN everywhere: one value is enough. */
        const bool is_first_enough = event->site == ATTN_SITE_PATTERN && !f->feed.has_edits;
        size_t n = event->keys ? event->n_kept[i] : is_masked ? position + 1 : event->n_col;

        n = is_first_enough && n > 0 ? 1 : n;
        if (!f->engine.kernels->is_finite(event->data + i * event->ld, n)) {
            attn_forward_report_non_finite(f);
            return;
        }
    }
}

void attn_visit_count(struct attn_forward *f, size_t sequence, size_t n_edited)
{
    f->parts[sequence].n_edited += n_edited;
    f->n_edited += n_edited;
}

void attn_visit_edit(struct attn_forward *f, size_t sequence, const struct attn_edit_target *target)
{
    const struct attn_feed_part *part = &f->parts[sequence];

    attn_visit_count(f, sequence, attn_edits_apply(part->edits, part->n_edit, target));
}

void attn_visit_tell(struct attn_forward *f, const struct attn_trace_event *event)
{
    struct attn_feed *feed = &f->feed;
    struct attn_trace_event part;
    size_t row = 0;

    while (!f->is_trace_over && feed->status == ATTN_OK &&
           attn_trace_next_part(f->trace->selection, event, &row, &part)) {
        check_event(f, &part);
        if (feed->status == ATTN_OK)
            feed->status = attn_call_status(f->trace->on_event(f->trace->user, &part, feed->err),
                                            "on_event", feed->err);
    }
}

/* One head of a site, or a site without heads, of one sequence. */
static void visit_head(struct attn_forward *f, size_t sequence,
                       const struct attn_edit_target *target, bool is_watched)
{
    const struct attn_trace_event event = {.sequence = sequence,
                                           .site = target->site,
                                           .layer = target->layer,
                                           .head = target->head,
                                           .row0 = target->row0,
                                           .n_row = target->n_row,
                                           .n_col = target->n_col,
                                           .ld = target->ld,
                                           .data = target->data};

    attn_visit_edit(f, sequence, target);
    if (is_watched)
        attn_visit_tell(f, &event);
}

/* Whether the trace wants HEAD of SITE, which it watches. */
static bool watches_head(const struct attn_forward *f, enum attn_site site, int head)
{
    const struct attn_selection *selection = f->trace->selection;

    switch (attn_site_layout(site)) {
    case ATTN_LAYOUT_VECTOR:
        return true;
    case ATTN_LAYOUT_KEY:
        return attn_selection_has_kv_head(selection, f->feed.layer, head);
    default:
        return attn_selection_has_head(selection, f->feed.layer, head);
    }
}

/* The heads of one sequence, whose rows are among DATA. */
static void visit_heads(struct attn_forward *f, size_t sequence, enum attn_site site, float *data)
{
    const bool has_heads = attn_site_layout(site) != ATTN_LAYOUT_VECTOR;
    const bool is_watched = attn_forward_watches(f, site);
    const struct attn_site_part part = attn_forward_part(f, site);
    const struct attn_site_rows rows = attn_forward_rows(f, site, sequence);
    const size_t ld = part.n_head * part.width;

    if (rows.n_row == 0)
        return;
    for (int head = 0; head < (int)part.n_head && f->feed.status == ATTN_OK; head++) {
        const struct attn_edit_target target = {.site = site,
                                                .layer = f->feed.layer,
                                                .head = has_heads ? head : ATTN_ALL_HEADS,
                                                .row0 = rows.row0,
                                                .n_row = rows.n_row,
                                                .n_col = part.width,
                                                .ld = ld,
                                                .data = data + rows.first * ld +
                                                        (size_t)head * part.width};

        if (attn_forward_needs_head(f, site, head))
            visit_head(f, sequence, &target, is_watched && watches_head(f, site, head));
    }
}

void attn_visit(struct attn_forward *f, enum attn_site site, float *data)
{
    const bool is_watched = attn_forward_watches(f, site);

    if (attn_forward_is_over(f))
        return;
    if ((is_watched || f->feed.has_edits) && attn_forward_needs(f, site))
        for (size_t sequence = 0; sequence < f->feed.n_part; sequence++)
            visit_heads(f, sequence, site, data);
    f->feed.is_done = attn_forward_ends_at(f, site);
}
