/*
 * run_mean_ablation.c - edits that put the mean over the positions of a text instead of a
 * head's context vectors.
 */
#include "run/run_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "model/session.h"
#include "trace/selection_internal.h"

#include <math.h>
#include <string.h>

struct ablation {
    struct attn_run *run;
    const struct attn_dims *dims;
    struct attn_selection *heads; /* owns; z of those that are meant */
    double *sums;                 /* [n_layer, n_head, Ev] owns */
};

/* An attn_trace_fn: rows of z of one head. */
static enum attn_status add_rows(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    const struct ablation *ablation = user;
    double *sums =
        ablation->sums + ((size_t)event->layer * ablation->dims->n_head + (size_t)event->head) *
                             ablation->dims->d_value;

    (void)err;
    for (size_t r = 0; r < event->n_row; r++)
        for (size_t k = 0; k < event->n_col; k++)
            sums[k] += (double)event->data[r * event->ld + k];
    return ATTN_OK;
}

static enum attn_status select_heads(struct ablation *ablation, struct attn_error *err)
{
    const char *spec = ablation->run->request.edits.ablate_mean;

    ATTN_TRY(attn_selection_create(ablation->dims, &ablation->heads, err));
    ATTN_TRY(attn_selection_set_sites(ablation->heads, ATTN_SITE_BIT(ATTN_SITE_Z), err));
    return attn_error_in(attn_selection_set_heads(ablation->heads, spec, err), "ablate_mean", err);
}

static enum attn_status feed(const struct attn_run *run, struct attn_session *session,
                             struct attn_error *err)
{
    if (run->source.n > 0)
        ATTN_TRY(attn_session_set_source(session, run->source.rows, run->source.n, err));
    return attn_sequence_feed(&run->text, session, err);
}

static enum attn_status find_sums(struct ablation *ablation, struct attn_error *err)
{
    const struct attn_run *run = ablation->run;
    const struct attn_trace trace = {ablation->heads, add_rows, ablation};
    struct attn_session_options options = attn_run_session_options(run);
    struct attn_session *session;
    enum attn_status status;

    options.trace = &trace;
    options.cache = ATTN_CACHE_ONE_LAYER;
    options.pool = attn_host_pool(run->host, (double)INFINITY);
    ATTN_TRY(attn_error_at(attn_session_create(run->model, &options, &session, err),
                           ATTN_STAGE_OPTIONS, err));
    status = feed(run, session, err);
    attn_session_free(session);
    return attn_error_at(status, status == ATTN_INVALID ? ATTN_STAGE_INPUT : ATTN_STAGE_MODEL, err);
}

/* The edit of a head, whose rows of means lie at ROWS [n_row, Ev]. */
static struct attn_edit edit_of(const struct ablation *ablation, int layer, int head, float *rows,
                                size_t n_row)
{
    const size_t width = ablation->dims->d_value;
    const double *sums =
        ablation->sums + ((size_t)layer * ablation->dims->n_head + (size_t)head) * width;
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    for (size_t i = 0; i < n_row * width; i++)
        rows[i] = (float)(sums[i % width] / (double)ablation->run->text.n);
    edit.site = ATTN_SITE_Z;
    edit.layer = layer;
    edit.head = head;
    edit.row1 = n_row;
    edit.col1 = width;
    edit.op = ATTN_EDIT_REPLACE;
    edit.data = rows;
    edit.ld = width;
    return edit;
}

/* The positions of continuations have the mean, too. */
static enum attn_status append_edits(struct ablation *ablation, struct attn_error *err)
{
    struct attn_run *run = ablation->run;
    const size_t n_row = run->text.n + run->continuations.n_more;
    const size_t n_layer = ablation->dims->n_layer, n_head = ablation->dims->n_head;
    size_t n = 0, first, capacity = run->n_edit;
    void *block = run->edits;

    for (size_t layer = 0; layer < n_layer; layer++)
        n += attn_selection_n_head(ablation->heads, (int)layer);
    run->means = attn_alloc(n, n_row * ablation->dims->d_value * sizeof *run->means, err);
    if (!run->means)
        return ATTN_NO_MEMORY;
    ATTN_TRY(attn_grow(&block, &capacity, run->n_edit + n, sizeof *run->edits, err));
    run->edits = block;
    first = run->n_edit;
    n = 0;
    for (size_t i = 0; i < n_layer * n_head; i++) {
        const int layer = (int)(i / n_head), head = (int)(i % n_head);

        if (attn_selection_has_head(ablation->heads, layer, head))
            run->edits[run->n_edit++] = edit_of(
                ablation, layer, head, run->means + n++ * n_row * ablation->dims->d_value, n_row);
    }
    return attn_run_link_heads(run, ATTN_EDIT_PART_MEAN, first, run->n_edit, err);
}

static enum attn_status add(struct ablation *ablation, struct attn_error *err)
{
    const struct attn_dims *dims = ablation->dims;

    ATTN_TRY(attn_error_at(select_heads(ablation, err), ATTN_STAGE_OPTIONS, err));
    ablation->sums = attn_alloc(dims->n_layer * dims->n_head, /* of whole heads */
                                dims->d_value * sizeof *ablation->sums, err);
    if (!ablation->sums)
        return ATTN_NO_MEMORY;
    ATTN_TRY(find_sums(ablation, err));
    return append_edits(ablation, err);
}

enum attn_status attn_run_add_mean_ablation(struct attn_run *run, struct attn_error *err)
{
    struct ablation ablation = {.run = run, .dims = attn_selection_dims(run->selection)};
    enum attn_status status;

    if (!run->request.edits.ablate_mean)
        return ATTN_OK;
    status = add(&ablation, err);
    attn_selection_free(ablation.heads);
    attn_free(ablation.sums);
    return status;
}
