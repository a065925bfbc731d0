/*
 * diff.c - see diff.h. The patterns of the first run are kept, those of the second are compared row
 * by row when the trace tells of them.
 */
#include "experiment/diff.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "capture/capture.h"
#include "experiment/inquiry.h"
#include "experiment/trial.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

/* What is known of a head so far. */
struct head_sum {
    size_t n_row, at;
    double tv, tv_max, js;
};

/* Which tokens of both texts belong together: prefix and suffix, with what lies between. */
struct alignment {
    size_t n_prefix, n_suffix;
    size_t n_a, n_b; /* tokens */
    bool is_equal;   /* as many tokens: position i belongs to position i */
};

struct job {
    struct attn_run *a, *b;           /* own */
    struct attn_selection *selection; /* owns; patterns of the first run */
    struct attn_selection *other;     /* owns; of the second */
    struct attn_capture *capture;     /* owns */
    struct alignment alignment;
    bool is_causal;        /* rows before the first difference cannot differ */
    size_t first;          /* row that is compared, when the lengths are equal */
    struct head_sum *sums; /* [n_layer * n_head] owns */
    size_t n_layer, n_head;
    float *row;       /* [n_b] owns; of the second run */
    double *parts[2]; /* [n_prefix + 1 + n_suffix] own; a row of each, aligned */
    size_t n_part;
};

/* --- The runs --------------------------------------------------------------------------------- */

static enum attn_status prepare_run(struct attn_host *host, const struct attn_request *given,
                                    struct attn_run **run, struct attn_error *err)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;

    ATTN_TRY(attn_error_at(attn_options_read(given, &request, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_host_check_model(host, err));
    attn_inquiry_choose_nothing(&request);
    request.sites = "pattern";
    return attn_run_prepare(host, &request, run, err);
}

static enum attn_status check_models(const struct job *job, struct attn_error *err)
{
    const struct attn_config *a = attn_model_config(job->a->model);
    const struct attn_config *b = attn_model_config(job->b->model);

    if (a->n_layer == b->n_layer && a->n_head == b->n_head)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "'%s' has %zu layers of %zu heads, '%s' has %zu of %zu",
                   attn_quote_string(attn_model_name(job->a->model)).text, a->n_layer, a->n_head,
                   attn_quote_string(attn_model_name(job->b->model)).text, b->n_layer, b->n_head);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* --- Which rows are compared ------------------------------------------------------------------ */

static bool is_same_token(const struct job *job, size_t a, size_t b)
{
    const struct attn_sequence *x = &job->a->text, *y = &job->b->text;
    const size_t d = attn_model_config(job->a->model)->d_model;

    if (x->ids && y->ids)
        return x->ids[a] == y->ids[b];
    return x->rows && y->rows && memcmp(x->rows + a * d, y->rows + b * d, d * sizeof *x->rows) == 0;
}

/* Rows depend on what came before alone, and both runs compute them in the same way. */
static bool has_causal_rows(const struct job *job)
{
    const struct attn_request *x = &job->a->request, *y = &job->b->request;
    const struct attn_config *config = attn_model_config(job->a->model);
    bool is_causal = job->a->model == job->b->model && job->a->n_edit == 0 && job->b->n_edit == 0 &&
                     x->attention == y->attention && x->changed == y->changed;

    for (size_t layer = 0; layer < config->n_layer; layer++) {
        const struct attn_attention *attention = &job->a->attention.layers[layer];
        const bool has_stride_of_length =
            attention->kind == ATTN_ATTENTION_STRIDED && attention->stride == 0;

        is_causal = is_causal && !config->is_cross[layer] && attention->mask == ATTN_MASK_CAUSAL &&
                    attention->dropout == 0 && !(has_stride_of_length && !job->alignment.is_equal);
    }
    return is_causal;
}

static void align(struct job *job)
{
    struct alignment *found = &job->alignment;
    size_t least;

    found->n_a = job->a->text.n;
    found->n_b = job->b->text.n;
    found->is_equal = found->n_a == found->n_b;
    least = found->n_a < found->n_b ? found->n_a : found->n_b;
    while (found->n_prefix < least && is_same_token(job, found->n_prefix, found->n_prefix))
        found->n_prefix++;
    while (found->n_suffix < least - found->n_prefix &&
           is_same_token(job, found->n_a - 1 - found->n_suffix, found->n_b - 1 - found->n_suffix))
        found->n_suffix++;
    job->is_causal = has_causal_rows(job) && (found->n_prefix < least || !found->is_equal);
    job->first = job->is_causal && found->is_equal ? found->n_prefix : 0;
}

/* The row of the first run that row B of the second is compared with; false: with none. */
static bool find_row(const struct job *job, size_t b, size_t *a)
{
    const struct alignment *by = &job->alignment;

    *a = b;
    if (by->is_equal)
        return b >= job->first;
    if (b < by->n_prefix)
        return !job->is_causal;
    *a = b + by->n_a - by->n_b;
    return b + by->n_suffix >= by->n_b;
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* A row of N keys as parts: keys by themselves, of texts of two lengths those between prefix and
 * suffix as one. */
static void split_row(const struct job *job, const float *row, size_t n, double *parts)
{
    const struct alignment *by = &job->alignment;
    const size_t end = n - by->n_suffix;

    memset(parts, 0, job->n_part * sizeof *parts);
    for (size_t key = 0; key < n; key++) {
        size_t part = key;

        if (!by->is_equal && key >= end)
            part = by->n_prefix + 1 + (key - end);
        else if (!by->is_equal && key >= by->n_prefix)
            part = by->n_prefix;
        parts[part] += (double)row[key];
    }
}

/* a ln (a / m) */
static double share(double a, double m)
{
    return a > 0 ? a * log(a / m) : 0;
}

static void add_row(struct job *job, struct head_sum *sum, size_t query)
{
    double tv = 0, js = 0;

    for (size_t i = 0; i < job->n_part; i++) {
        const double a = job->parts[0][i], b = job->parts[1][i], m = (a + b) / 2;

        tv += fabs(a - b) / 2;
        js += (share(a, m) + share(b, m)) / 2;
    }
    if (sum->n_row++ == 0 || tv > sum->tv_max) {
        sum->tv_max = tv;
        sum->at = query;
    }
    sum->tv += tv;
    sum->js += js;
}

static enum attn_status report_row(const struct attn_trace_event *event, size_t row,
                                   struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID,
                   "row %zu of head %d in layer %d differs, before any token that does", row,
                   event->head, event->layer);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_CHECK, err);
}

/* An attn_trace_fn: a part of one head of the second run. */
static enum attn_status on_rows(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    struct job *job = user;
    const size_t n_a = job->alignment.n_a, n_b = job->alignment.n_b;
    const float *kept =
        attn_capture_head(job->capture, ATTN_SITE_PATTERN, event->layer, event->head);
    struct head_sum *sum = &job->sums[(size_t)event->layer * job->n_head + (size_t)event->head];

    for (size_t r = 0; r < event->n_row; r++) {
        const size_t row = event->row0 + r;
        size_t a;

        attn_event_copy_row(event, r, job->row, n_b);
        if (find_row(job, row, &a)) {
            split_row(job, kept + a * n_a, n_a, job->parts[0]);
            split_row(job, job->row, n_b, job->parts[1]);
            add_row(job, sum, a);
        } else if (job->is_causal && row < job->alignment.n_prefix &&
                   memcmp(kept + row * n_a, job->row, (row + 1) * sizeof *kept) != 0) {
            return report_row(event, row, err);
        }
    }
    return ATTN_OK;
}

static enum attn_status select_patterns(const struct attn_run *run,
                                        struct attn_selection **selection, struct attn_error *err)
{
    enum attn_status status =
        attn_selection_create(attn_selection_dims(run->selection), selection, err);

    if (status == ATTN_OK)
        status = attn_selection_set_sites(*selection, ATTN_SITE_BIT(ATTN_SITE_PATTERN), err);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

static enum attn_status run_with(const struct attn_run *run, const struct attn_trace *trace,
                                 struct attn_error *err)
{
    struct attn_trial trial = attn_trial_of(run);
    struct attn_session *session = NULL;
    enum attn_status status;

    trial.trace = trace;
    trial.has_logits = false;
    status = attn_trial_run(&trial, &session, err);
    attn_session_free(session);
    return status;
}

static enum attn_status compare(struct job *job, struct attn_error *err)
{
    const struct alignment *by = &job->alignment;
    enum attn_status status = select_patterns(job->a, &job->selection, err);

    if (status == ATTN_OK)
        status = select_patterns(job->b, &job->other, err);
    if (status != ATTN_OK)
        return status;
    job->n_part = by->is_equal ? by->n_a : by->n_prefix + 1 + by->n_suffix;
    job->n_layer = attn_selection_dims(job->selection)->n_layer;
    job->n_head = attn_selection_dims(job->selection)->n_head;
    job->sums = attn_alloc(job->n_layer * job->n_head, sizeof *job->sums, err);
    job->row = attn_alloc(by->n_b, sizeof *job->row, err);
    job->parts[0] = attn_alloc(job->n_part, sizeof **job->parts, err);
    job->parts[1] = attn_alloc(job->n_part, sizeof **job->parts, err);
    if (!job->sums || !job->row || !job->parts[0] || !job->parts[1])
        return ATTN_NO_MEMORY;
    status = attn_capture_create(job->selection, &job->capture, err);
    if (status == ATTN_OK)
        status = run_with(job->a, attn_capture_trace(job->capture), err);
    if (status == ATTN_OK) {
        const struct attn_trace trace = {job->other, on_rows, job};

        status = run_with(job->b, &trace, err);
    }
    return status;
}

/* --- The table -------------------------------------------------------------------------------- */

static enum attn_status tabulate(const struct job *job, struct attn_table **table,
                                 struct attn_error *err)
{
#define REAL(label, numbers)                                                                       \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_REAL, .notation = ATTN_NOTATION_FIXED, .digits = 6,    \
        .range = (numbers)                                                                         \
    }
    static const struct attn_column columns[] = {
        {.name = "layer", .type = ATTN_VALUE_INTEGER},
        {.name = "head", .type = ATTN_VALUE_INTEGER},
        {.name = "rows", .type = ATTN_VALUE_INTEGER, .range = ATTN_RANGE_POSITIVE},
        REAL("tv_mean", ATTN_RANGE_SHARE),
        REAL("tv_max", ATTN_RANGE_SHARE),
        {.name = "at", .type = ATTN_VALUE_INTEGER, .range = ATTN_RANGE_POSITIVE},
        REAL("js", ATTN_RANGE_POSITIVE),
    };
#undef REAL
    enum { N = sizeof columns / sizeof *columns };
    struct attn_table *made = NULL;
    enum attn_status status = attn_table_create("diff", columns, N, &made, err);

    for (size_t i = 0; status == ATTN_OK && i < job->n_layer * job->n_head; i++) {
        const struct head_sum *sum = &job->sums[i];
        struct attn_cell row[N] = {attn_cell_integer((int64_t)(i / job->n_head)),
                                   attn_cell_integer((int64_t)(i % job->n_head)),
                                   attn_cell_integer((int64_t)sum->n_row)};

        if (sum->n_row > 0) {
            row[3] = attn_cell_real(sum->tv / (double)sum->n_row);
            row[4] = attn_cell_real(sum->tv_max);
            row[5] = attn_cell_integer((int64_t)sum->at);
            row[6] = attn_cell_real(sum->js / (double)sum->n_row);
        }
        status = attn_table_append(made, row, N, err);
    }
    if (status == ATTN_OK)
        *table = made;
    else
        attn_table_free(made);
    return status;
}

static void release(struct job *job)
{
    attn_capture_free(job->capture);
    attn_selection_free(job->selection);
    attn_selection_free(job->other);
    attn_free(job->sums);
    attn_free(job->row);
    attn_free(job->parts[0]);
    attn_free(job->parts[1]);
    attn_run_free(job->a);
    attn_run_free(job->b);
}

enum attn_status attn_diff(struct attn_host *host, const struct attn_request *request,
                           const struct attn_diff_args *given, struct attn_table **table,
                           struct attn_diff_sum *sum, struct attn_error *err)
{
    if (!attn_is_given(host, "host", err) || !attn_is_given(request, "request", err) ||
        !attn_is_given(table, "table", err) || !attn_is_given(sum, "sum", err))
        return ATTN_INVALID;
    struct attn_diff_args args = ATTN_DIFF_ARGS_DEFAULT;
    struct job job = {.a = NULL};
    enum attn_status status =
        attn_error_at(attn_options_read(given, &args, err), ATTN_STAGE_OPTIONS, err);

    if (status == ATTN_OK)
        status = prepare_run(host, request, &job.a, err);
    if (status == ATTN_OK)
        status = prepare_run(args.host ? args.host : host, args.request ? args.request : request,
                             &job.b, err);
    if (status == ATTN_OK)
        status = check_models(&job, err);
    if (status == ATTN_OK) {
        align(&job);
        status = compare(&job, err);
    }
    if (status == ATTN_OK)
        status = tabulate(&job, table, err);
    if (status == ATTN_OK)
        *sum = (struct attn_diff_sum){.n_same = job.is_causal ? job.alignment.n_prefix : 0,
                                      .n_row = job.sums[0].n_row,
                                      .is_aligned = !job.alignment.is_equal};
    release(&job);
    return status;
}
