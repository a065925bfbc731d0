/*
 * relevance.c - see relevance.h.
 *
 * Gradients come from the last layer to the first, and the product is computed in the same order:
 * row q begins as the unit vector e_q and is multiplied by I + A from the right, layer by layer. So
 * only the wanted rows are in memory, in double precision, and the matrix A of one layer. Each sum
 * goes over ascending positions.
 */
#include "gradient/relevance.h"

#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "trace/trace_internal.h"

#include <string.h>

struct attn_relevance {
    const struct attn_selection *asked; /* what is wanted; borrowed */
    enum attn_site site;
    struct attn_pool *pool;
    size_t n, n_head, n_layer, n_query;
    struct attn_store *store; /* owns; has the arrays */
    size_t *queries;          /* [n_query] */
    double *mean;             /* [n, n] A of the current layer; while heads still come, their sum */
    size_t n_left;            /* number of rows of heads that have not come yet */
    double **rows;            /* [n_layer] each [n_query, n], or NULL if the layer is not wanted */
    size_t layer;             /* the current layer */
    double *norms;            /* [n] sums of the rows of I + A; NULL: rows are not divided */
    double *before;           /* [n_thread, n] a copy of the row that a thread multiplies */
    float *out;               /* [n] the row that is emitted */
};

static enum attn_status build(struct attn_relevance *relevance, struct attn_error *err)
{
    struct attn_relevance *r = relevance;
    struct attn_location at = {.site = r->site, .layer = ATTN_NO_LAYER};
    size_t n_query = 0;

    ATTN_TRY(ATTN_STORE_ALLOC(&r->store, r->queries, r->n_query, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&r->store, r->mean, attn_size_mul(r->n, r->n), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&r->store, r->rows, r->n_layer, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&r->store, r->out, r->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&r->store, r->before,
                              attn_size_mul((size_t)attn_pool_n_thread(r->pool), r->n), err));
    if (r->site == ATTN_SITE_RELEVANCE_NORM)
        ATTN_TRY(ATTN_STORE_ALLOC(&r->store, r->norms, r->n, err));
    for (size_t query = 0; query < r->n; query++)
        if (attn_selection_has_query(r->asked, ATTN_STACK_ONLY, query))
            r->queries[n_query++] = query;
    while (attn_dims_next_layer(attn_selection_dims(r->asked), &at)) {
        double **rows = &r->rows[attn_location_index(&at)];

        if (!attn_selection_wants(r->asked, &at))
            continue;
        ATTN_TRY(ATTN_STORE_ALLOC(&r->store, *rows, attn_size_mul(r->n_query, r->n), err));
        for (size_t i = 0; i < n_query; i++)
            (*rows)[i * r->n + r->queries[i]] = 1;
    }
    return ATTN_OK;
}

enum attn_status attn_relevance_create(const struct attn_selection *asked, enum attn_site site,
                                       struct attn_pool *pool, struct attn_relevance **relevance,
                                       struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(asked);
    struct attn_relevance *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->asked = asked;
    made->site = site;
    made->pool = pool;
    made->n = dims->n_position;
    made->n_head = dims->n_head;
    made->n_layer = dims->n_layer;
    made->n_query = attn_selection_n_query(asked);
    made->n_left = dims->n_position * dims->n_head;
    ATTN_RETURN_MADE(build(made, err), relevance, made, attn_relevance_free);
}

/* A task: multiplies the row of one query, for each wanted layer from the current one on, by I + A
 * of the current layer. */
static void multiply_row(void *context, size_t task, int worker)
{
    const struct attn_relevance *r = context;
    const size_t n = r->n;
    double *before = r->before + (size_t)worker * n;

    for (size_t layer = r->layer; layer < r->n_layer; layer++) {
        double *row = r->rows[layer] ? r->rows[layer] + task * n : NULL;

        if (!row)
            continue;
        for (size_t q = 0; q < n; q++)
            row[q] = before[q] = r->norms ? row[q] / r->norms[q] : row[q];
        for (size_t q = 0; q < n; q++) {
            const double *mean = r->mean + q * n;

            for (size_t k = 0; before[q] != 0 && k < n; k++)
                row[k] += before[q] * mean[k];
        }
    }
}

void attn_relevance_add(struct attn_relevance *relevance, const struct attn_trace_event *event)
{
    struct attn_relevance *r = relevance;

    for (size_t i = 0; i < event->n_row; i++) {
        double *mean = r->mean + (event->row0 + i) * r->n;
        const float *x = event->data + i * event->ld;

        for (size_t k = 0; k < event->n_col; k++)
            mean[k] += x[k] > 0 ? (double)x[k] : 0;
    }
    r->n_left -= event->n_row;
    if (r->n_left > 0)
        return;
    for (size_t i = 0; i < r->n * r->n; i++)
        r->mean[i] /= (double)r->n_head;
    for (size_t q = 0; r->norms && q < r->n; q++) {
        r->norms[q] = 1;
        for (size_t k = 0; k < r->n; k++)
            r->norms[q] += r->mean[q * r->n + k];
    }
    r->layer = attn_location_index(&event->at);
    attn_pool_run(r->pool, r->n_query, multiply_row, r);
    memset(r->mean, 0, r->n * r->n * sizeof *r->mean);
    r->n_left = r->n * r->n_head;
}

enum attn_status attn_relevance_emit(struct attn_relevance *relevance,
                                     const struct attn_trace *trace, struct attn_error *err)
{
    const struct attn_relevance *r = relevance;
    struct attn_location at = {.site = r->site, .layer = ATTN_NO_LAYER};

    while (attn_dims_next_layer(attn_selection_dims(trace->selection), &at)) {
        const double *rows = r->rows[attn_location_index(&at)];

        for (size_t i = 0; rows && i < r->n_query; i++) {
            const struct attn_trace_event event = {.at = at,
                                                   .row0 = r->queries[i],
                                                   .n_row = 1,
                                                   .n_col = r->n,
                                                   .ld = r->n,
                                                   .data = r->out};

            for (size_t k = 0; k < r->n; k++)
                r->out[k] = (float)rows[i * r->n + k];
            ATTN_TRY(trace->on_event(trace->user, &event, err));
        }
    }
    return ATTN_OK;
}

void attn_relevance_free(struct attn_relevance *relevance)
{
    if (!relevance)
        return;
    attn_store_release(&relevance->store);
    attn_free(relevance);
}
