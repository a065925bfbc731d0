/* spans_effects.c - how an answer changes when the queries do not see a span: a run for each. */
#include "spans/spans_internal.h"

#include "base/status_internal.h"
#include "measures/parks.h"

#include <math.h>
#include <string.h>

/* Appends edits by which the flagged ROWS lose the keys COL0 to COL1 - 1 in AT. A row keeps itself,
 * unless the keys are of the source. */
static enum attn_status mask_columns(const struct attn_spans_run *spans,
                                     const struct attn_location *at, size_t col0, size_t col1,
                                     struct attn_part_edits *edits, struct attn_error *err)
{
    for (size_t row = 0, end; row < spans->n; row = end) {
        const bool is_own = !spans->is_of_source && row >= col0 && row < col1;

        end = row + 1;
        if (!spans->rows[row])
            continue;
        while (!is_own && end < spans->n && spans->rows[end] &&
               (spans->is_of_source || end < col0 || end >= col1))
            end++;
        for (int side = 0; side < (is_own ? 2 : 1); side++) {
            struct attn_edit edit = ATTN_EDIT_DEFAULT;

            edit.at = *at;
            edit.at.site = ATTN_SITE_ATTN_SCORES;
            edit.op = ATTN_EDIT_MASK;
            edit.row0 = row;
            edit.row1 = end;
            edit.col0 = side == 0 ? col0 : row + 1;
            edit.col1 = is_own && side == 0 ? row : col1;
            if (edit.col0 < edit.col1)
                ATTN_TRY(attn_part_edits_add(edits, &edit, err));
        }
    }
    return ATTN_OK;
}

/* Appends the edits by which the flagged rows lose SPAN in HEAD. */
static enum attn_status mask_span(const struct attn_spans_run *spans,
                                  const struct attn_location *head, const struct attn_span *span,
                                  struct attn_part_edits *edits, struct attn_error *err)
{
    for (size_t first = span->first, end; first <= span->last; first = end) {
        end = first + 1;
        if (!span->flags[first])
            continue;
        while (end <= span->last && span->flags[end])
            end++;
        ATTN_TRY(mask_columns(spans, head, first, end, edits, err));
    }
    return ATTN_OK;
}

/* Whether the queries see a key that is not in SPAN. */
static bool sees_other(const struct attn_spans_run *spans, const struct attn_span *span)
{
    for (size_t t = 0; t < spans->keys.n; t++)
        if (!span->flags[t] && spans->keys.is_seen[t])
            return true;
    return false;
}

/* Returns the number of trials of a span: one for each head in which the queries do not see it; or
 * one for all heads, and one in which no other token sees it in them. */
static size_t n_trial_of(const struct attn_spans_run *spans)
{
    return spans->args->by == ATTN_SPANS_BY_HEAD ? spans->heads.n : 2;
}

/* Appends the edits of trial number I (attn_part_edit_fn). */
static enum attn_status add_trial(void *user, size_t i, struct attn_part_edits *edits,
                                  struct attn_error *err)
{
    const struct attn_spans_run *spans = user;
    const size_t n_each = n_trial_of(spans), k = i % n_each;
    const bool is_by_head = spans->args->by == ATTN_SPANS_BY_HEAD,
               is_of_others = !is_by_head && k > 0;
    const struct attn_span *span = &spans->items[i / n_each];

    memset(spans->rows, 0, spans->n);
    for (size_t q = 0; q < spans->n_query; q++)
        spans->rows[spans->queries[q]] = 1;
    for (size_t t = 0; is_of_others && t < spans->n; t++)
        spans->rows[t] = spans->is_of_source || !span->flags[t];
    for (size_t head = is_by_head ? k : 0; head < (is_by_head ? k + 1 : spans->heads.n); head++)
        ATTN_TRY(mask_span(spans, &spans->heads.items[head].at, span, edits, err));
    return ATTN_OK;
}

/* Finds which of MEASURED [n_span] has the largest change; k that differ by rounding alone have 1/k
 * each. */
static void find_largest(const struct attn_spans_run *spans, struct attn_span_numbers *measured)
{
    for (size_t i = 0; i < spans->n_span; i++) {
        size_t n_equal = 0;

        measured[i].largest = 1;
        for (size_t k = 0; k < spans->n_span; k++) {
            const double verdict = attn_verdict(fabs(measured[i].change), fabs(measured[k].change));

            n_equal += isnan(verdict);
            measured[i].largest = verdict == 0 ? 0 : measured[i].largest;
        }
        measured[i].largest /= (double)n_equal; /* at least itself */
    }
}

/* Runs the trials, and takes what each changes. */
static enum attn_status run_trials(struct attn_spans_run *spans, struct attn_error *err)
{
    struct attn_frame *frame = &spans->frame;
    const double sign = spans->n_prompt == spans->n ? 1 : -1; /* of an answer -ln p is computed */
    const size_t n_row = spans->n_span + ATTN_SPANS_N_MORE, n_each = n_trial_of(spans),
                 n = spans->n_span * n_each;
    const bool is_by_head = spans->args->by == ATTN_SPANS_BY_HEAD;
    struct attn_trial_outcome *outcomes = attn_frame_alloc(frame, n, sizeof *outcomes);

    spans->rows = attn_frame_alloc(frame, spans->n, 1);
    ATTN_TRY(attn_frame_memory(frame, err));
    ATTN_TRY(
        attn_trials_start(spans->run, &spans->answer, ATTN_SITE_ATTN_SCORES, &frame->trials, err));
    attn_frame_report_base(frame, &spans->answer, &frame->trials.base);
    ATTN_TRY(attn_parts_try(&frame->trials, n, add_trial, spans, outcomes, err));
    for (size_t i = 0; i < n; i++) {
        const double change = sign * (outcomes[i].reply.value - frame->trials.base.value);
        struct attn_span_numbers *measured =
            spans->measured + (is_by_head ? i % n_each * n_row : 0) + i / n_each;

        *(is_by_head || i % n_each == 0 ? &measured->change : &measured->cut) = change;
    }
    for (size_t i = 0; i < (is_by_head ? spans->heads.n : 1); i++)
        find_largest(spans, spans->measured + i * n_row);
    return ATTN_OK;
}

/* Whether weight is parked on key T; of a source on the first, and on the last that is seen. */
static bool is_parked_on(const struct attn_spans_run *spans, size_t t)
{
    size_t last = spans->keys.n - 1;

    if (spans->parks[0])
        return attn_parks_has(spans->parks[0], t);
    while (last > 0 && !spans->keys.is_seen[last])
        last--;
    return t == 0 || t == last;
}

/* Notes what the effects cost, and the spans where weight is parked. */
static void note_effects(const struct attn_spans_run *spans, size_t n_trial)
{
    const struct attn_request *request = &spans->frame.request;

    if (spans->frame.is_one_of_many)
        return;
    attn_note(request->on_note, request->user, ATTN_NOTE_RUNS,
              "`effect` runs the model %zu times, and hides spans in %zu of %zu heads", n_trial + 1,
              spans->args->by == ATTN_SPANS_BY_HEAD ? 1 : spans->heads.n,
              (size_t)(spans->frame.config->n_layer * spans->frame.config->n_head));
    for (size_t i = 0; i < spans->n_span; i++) {
        const struct attn_span *span = &spans->items[i];
        size_t sink = spans->keys.n;

        for (size_t t = 0; t < spans->keys.n && sink == spans->keys.n; t++)
            if (span->flags[t] && is_parked_on(spans, t))
                sink = t;
        if (sink < spans->keys.n)
            attn_note(request->on_note, request->user, ATTN_NOTE_SINK,
                      "span '%s' holds position %zu, a sink where other tokens park weight: its "
                      "cut need not say anything about its text",
                      attn_quote_string(span->name).text, sink);
    }
}

enum attn_status attn_spans_hide(struct attn_spans_run *spans, struct attn_error *err)
{
    for (size_t i = 0; spans->is_of_source && i < spans->n_span; i++)
        if (!sees_other(spans, &spans->items[i]))
            return attn_refuse(
                err, ATTN_STAGE_OPTIONS,
                "`effect`: without '%s', the whole source, heads have no key to look at",
                attn_quote_string(spans->items[i].name).text);
    note_effects(spans, spans->n_span * n_trial_of(spans));
    return run_trials(spans, err);
}
