/*
 * derived_rollout.c - attention followed through the layers (Abnar & Zuidema 2020, arXiv
 * 2005.00928):
 *
 *     mixed_m = pattern_m, mean over its heads, plus the identity, each row divided by its sum
 *     rollout_l = mixed_l mixed_l-1 ... mixed_0
 *
 * The identity stands for the residual stream. Row q is the vector e_q, which goes down through the
 * layers: r = r mixed_m for m = l .. 0, in double precision, each sum over ascending positions. So
 * a row takes O(T) numbers, and its value depends on no other row. The patterns of the layers below
 * are computed again, some rows of all heads at a time.
 */
#include "run/derived_internal.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/pool_internal.h"
#include "trace/row.h"
#include "trace/selection_internal.h"

#include <string.h>

enum {
    MOST_MIXED = 1 << 20,  /* cells of mixed at a time, where a layer may be fed in pieces */
    MOST_ROLLED = 1 << 22, /* numbers of the queries that go down together, or one query */
    QUERIES_PER_TASK = 4,
};

struct job {
    const struct attn_derivation *derivation;
    size_t n_head, n; /* n: T */
    size_t n_at_once; /* rows of mixed */
    size_t first;     /* the first of those in hand */
    double *mixed;    /* [n_at_once, n] owns */
    size_t *queries;  /* [n_query] owns; that go down now */
    size_t n_query;
    double *from, *to; /* [n_query, n] own: their rows before and behind a layer */
    float *row;        /* [n] owns; one that is told */
};

/* An attn_trace_fn: adds up the heads of the rows in hand. */
static enum attn_status on_pattern(void *user, const struct attn_trace_event *event,
                                   struct attn_error *err)
{
    struct job *job = user;

    (void)err;
    for (size_t r = 0; r < event->n_row; r++) {
        double *mixed = job->mixed + (event->row0 + r - job->first) * job->n;
        struct attn_row row = attn_event_row(event, r);
        struct attn_cells cells;

        while (attn_row_next(&row, &cells))
            for (size_t i = 0; i < cells.n; i++)
                mixed[cells.first + i] += (double)cells.values[i];
    }
    return ATTN_OK;
}

/* An attn_task_fn: the mean of the heads of one row, mixed. */
static void mix_row(void *context, size_t task, int worker)
{
    const struct job *job = context;
    double *row = job->mixed + task * job->n, sum = 0;

    (void)worker;
    for (size_t i = 0; i < job->n; i++)
        row[i] /= (double)job->n_head;
    row[job->first + task] += 1;
    for (size_t i = 0; i < job->n; i++)
        sum += row[i];
    for (size_t i = 0; sum != 0 && i < job->n; i++)
        row[i] /= sum;
}

/* Rows of mixed in hand, and how many. */
struct rolling {
    struct job *job;
    size_t n_row;
};

/* An attn_task_fn: some queries go through those rows. */
static void roll_queries(void *context, size_t task, int worker)
{
    const struct rolling *rolling = context;
    const struct job *job = rolling->job;
    const size_t begin = task * QUERIES_PER_TASK, rest = job->n_query - begin;
    const size_t end = begin + (rest < QUERIES_PER_TASK ? rest : QUERIES_PER_TASK);

    (void)worker;
    for (size_t q = begin; q < end; q++) {
        const double *from = job->from + q * job->n + job->first;
        double *to = job->to + q * job->n;

        for (size_t r = 0; r < rolling->n_row; r++) {
            const double *mixed = job->mixed + r * job->n, weight = from[r];

            for (size_t i = 0; weight != 0 && i < job->n; i++)
                to[i] += weight * mixed[i];
        }
    }
}

/* All queries in hand go through LAYER. */
static enum attn_status roll_layer(struct job *job, int layer, struct attn_session *session,
                                   struct attn_error *err)
{
    struct attn_pool *pool = job->derivation->pool;
    const size_t n_row = attn_derivation_n_row(job->derivation, layer);
    enum attn_status status = ATTN_OK;
    double *rolled;

    memset(job->to, 0, job->n_query * job->n * sizeof *job->to);
    for (job->first = 0; status == ATTN_OK && job->first < n_row; job->first += job->n_at_once) {
        const size_t rest = n_row - job->first;
        struct rolling rolling = {job, rest < job->n_at_once ? rest : job->n_at_once};

        memset(job->mixed, 0, rolling.n_row * job->n * sizeof *job->mixed);
        status =
            attn_derivation_feed(job->derivation, session, layer, job->first, rolling.n_row, err);
        if (status != ATTN_OK)
            break;
        attn_pool_run(pool, rolling.n_row, mix_row, job);
        attn_pool_run(pool, (job->n_query + QUERIES_PER_TASK - 1) / QUERIES_PER_TASK, roll_queries,
                      &rolling);
    }
    rolled = job->to;
    job->to = job->from;
    job->from = rolled;
    return status;
}

/* The same, with the session for it. */
static enum attn_status go_through(struct job *job, int layer, struct attn_error *err)
{
    struct attn_trace trace = {NULL, on_pattern, job};
    struct attn_selection *selection = NULL;
    struct attn_session *session = NULL;
    enum attn_status status = attn_derivation_select(
        job->derivation, ATTN_SITE_BIT(ATTN_SITE_PATTERN), layer, &selection, err);

    trace.selection = selection;
    if (status == ATTN_OK)
        status = attn_derivation_open(
            job->derivation, &(struct attn_again){.trace = &trace, .layer = layer}, &session, err);
    if (status == ATTN_OK)
        status = roll_layer(job, layer, session, err);
    attn_session_free(session);
    attn_selection_free(selection);
    return status;
}

static enum attn_status tell(const struct job *job, int layer, struct attn_error *err)
{
    const struct attn_attention *attention = job->derivation->run->attention.layers;
    bool is_causal = true;

    for (int i = 0; i <= layer; i++)
        is_causal = is_causal && attention[i].mask == ATTN_MASK_CAUSAL;
    for (size_t q = 0; q < job->n_query; q++) {
        const struct attn_trace_event event = {.site = ATTN_SITE_ROLLOUT,
                                               .layer = layer,
                                               .head = ATTN_ALL_HEADS,
                                               .row0 = job->queries[q],
                                               .n_row = 1,
                                               .n_col = job->n,
                                               .ld = job->n,
                                               .data = job->row,
                                               .is_causal = is_causal};

        for (size_t i = 0; i < job->n; i++)
            job->row[i] = (float)job->from[q * job->n + i];
        ATTN_TRY(attn_derivation_tell(job->derivation, &event, err));
    }
    return ATTN_OK;
}

/* The queries in hand, from their own positions down to the input. */
static enum attn_status roll(struct job *job, int layer, struct attn_error *err)
{
    memset(job->from, 0, job->n_query * job->n * sizeof *job->from);
    for (size_t q = 0; q < job->n_query; q++)
        job->from[q * job->n + job->queries[q]] = 1;
    for (int m = layer; m >= 0; m--)
        ATTN_TRY(go_through(job, m, err));
    return tell(job, layer, err);
}

static enum attn_status reserve(struct job *job, size_t n_query, struct attn_error *err)
{
    job->mixed = attn_alloc(job->n_at_once, job->n * sizeof *job->mixed, err);
    job->queries = attn_alloc(n_query, sizeof *job->queries, err);
    job->from = attn_alloc(n_query, job->n * sizeof *job->from, err);
    job->to = attn_alloc(n_query, job->n * sizeof *job->to, err);
    job->row = attn_alloc(job->n, sizeof *job->row, err);
    return job->mixed && job->queries && job->from && job->to && job->row ? ATTN_OK
                                                                          : ATTN_NO_MEMORY;
}

/* Rows of mixed that a layer is fed at a time: all, where one of them cannot be fed in pieces. */
static size_t rows_at_once(const struct attn_derivation *derivation, size_t n)
{
    const size_t fits = n < MOST_MIXED ? MOST_MIXED / n : 1;

    return fits < n && attn_derivation_has_steps(derivation, 0) ? fits : n;
}

static enum attn_status derive(const struct attn_derivation *derivation, int layer,
                               struct attn_error *err)
{
    const struct attn_selection *asked = derivation->told->selection;
    const struct attn_dims *dims = attn_selection_dims(asked);
    const size_t n = dims->n_position, n_asked = attn_selection_n_query(asked);
    const size_t fits = n < MOST_ROLLED ? MOST_ROLLED / n : 1;
    const size_t n_most = n_asked < fits ? n_asked : fits;
    struct job job = {.derivation = derivation,
                      .n_head = dims->n_head,
                      .n = n,
                      .n_at_once = rows_at_once(derivation, n)};
    enum attn_status status = reserve(&job, n_most, err);

    for (size_t query = 0; status == ATTN_OK && query < n; query++) {
        if (attn_selection_has_query(asked, query))
            job.queries[job.n_query++] = query;
        if (job.n_query < n_most && (query + 1 < n || job.n_query == 0))
            continue;
        status = roll(&job, layer, err);
        job.n_query = 0;
    }
    attn_free(job.mixed);
    attn_free(job.queries);
    attn_free(job.from);
    attn_free(job.to);
    attn_free(job.row);
    return status;
}

static enum attn_status check(const struct attn_run *run, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(run->model);
    const struct attn_quote name = attn_quote_string(attn_model_name(run->model));

    if (!config->has_residual)
        return attn_error_set(
            err, ATTN_INVALID,
            "'rollout' mixes the pattern with a residual stream, and '%s' has none", name.text);
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (config->is_cross[layer])
            return attn_error_set(
                err, ATTN_INVALID,
                "'rollout' follows one sequence, and layer %zu of '%s' attends to "
                "a source",
                layer, name.text);
    return ATTN_OK;
}

const struct attn_derived_kind attn_derived_rollout = {
    .site = ATTN_SITE_ROLLOUT,
    .needs_earlier = true,
    .check = check,
    .derive = derive,
};
