/*
 * metric.c - the registry of measures, and the sums of heads. The terms of an event's rows are
 * found on the pool and added in the order of the rows, so that sums do not depend on threads.
 */
#include "analysis/metric.h"

#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct attn_metric *const metrics[] = {
#define LIST(name) &attn_metric_##name,
    ATTN_METRIC_MAP(LIST)
#undef LIST
};

struct attn_measurement {
    const struct attn_metric *metric;
    struct attn_metric_settings settings;
    const struct attn_selection *selection;
    struct attn_pool *pool;
    size_t n_layer, n_head;
    const bool *is_cross; /* [n_layer] of the selection; or NULL */
    double *sums;         /* owns; [n_layer, n_head, n_term] */
    double *terms;        /* owns; [n_position, n_term] of the rows of one event */
    bool *is_counted;     /* owns; [n_position] whether those rows count */
};

const struct attn_metric *attn_metric_find(const char *name)
{
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        if (strcmp(metrics[i]->name, name) == 0)
            return metrics[i];
    return NULL;
}

enum attn_status attn_measurement_create(const struct attn_metric *metric,
                                         const struct attn_metric_settings *settings,
                                         const struct attn_selection *selection,
                                         struct attn_pool *pool,
                                         struct attn_measurement **measurement,
                                         struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    struct attn_measurement *m = attn_alloc(1, sizeof *m, err);

    assert(metric->n_term <= ATTN_METRIC_MOST_TERMS);
    if (m == NULL)
        return ATTN_NO_MEMORY;
    m->metric = metric;
    m->settings = *settings;
    m->selection = selection;
    m->pool = pool;
    m->n_layer = dims->n_layer;
    m->n_head = dims->n_head;
    m->is_cross = dims->is_cross;
    m->sums = attn_alloc(dims->n_layer * dims->n_head * metric->n_term, sizeof(double), err);
    m->terms = attn_alloc(dims->n_position * metric->n_term, sizeof(double), err);
    m->is_counted = attn_alloc(dims->n_position, sizeof *m->is_counted, err);
    if (m->sums == NULL || m->terms == NULL || m->is_counted == NULL) {
        attn_measurement_free(m);
        return ATTN_NO_MEMORY;
    }
    *measurement = m;
    return ATTN_OK;
}

void attn_measurement_free(struct attn_measurement *measurement)
{
    if (measurement == NULL)
        return;
    attn_free(measurement->sums);
    attn_free(measurement->terms);
    attn_free(measurement->is_counted);
    attn_free(measurement);
}

static double *sums_of(const struct attn_measurement *m, int layer, int head)
{
    return m->sums + ((size_t)layer * m->n_head + (size_t)head) * m->metric->n_term;
}

static void add(const struct attn_metric *metric, double *sums, const double *terms)
{
    if (metric->add != NULL) {
        metric->add(sums, terms);
        return;
    }
    for (size_t i = 0; i < metric->n_term; i++)
        sums[i] += terms[i];
}

/* Rows of one event whose terms are found. */
struct rows {
    struct attn_measurement *measurement;
    const struct attn_trace_event *event, *exact; /* exact: NULL, or the rows that are added */
};

static bool is_cross(const struct attn_measurement *m, int layer)
{
    return m->is_cross != NULL && m->is_cross[layer];
}

static void find_terms(void *context, size_t task, int worker)
{
    const struct rows *rows = context;
    const struct attn_trace_event *event = rows->event;
    const size_t skipped = rows->exact != NULL ? rows->exact->row0 - event->row0 : 0;
    const struct attn_metric *metric = rows->measurement->metric;
    double *terms = rows->measurement->terms + task * metric->n_term;
    struct attn_metric_row row = {.settings = &rows->measurement->settings,
                                  .site = event->site,
                                  .layer = event->layer,
                                  .head = event->head,
                                  .query = event->row0 + skipped + task,
                                  .is_cross = is_cross(rows->measurement, event->layer),
                                  .cells = attn_event_row(event, skipped + task)};

    (void)worker;
    if (rows->exact != NULL)
        row.exact = attn_event_row(rows->exact, task);
    memset(terms, 0, metric->n_term * sizeof *terms);
    rows->measurement->is_counted[task] = metric->row(&row, terms);
}

void attn_measurement_add(struct attn_measurement *measurement,
                          const struct attn_trace_event *event,
                          const struct attn_trace_event *exact)
{
    const struct attn_metric *metric = measurement->metric;
    const size_t n_row = exact != NULL ? exact->n_row : event->n_row;
    struct rows rows = {measurement, event, exact};
    double *sums = sums_of(measurement, event->layer, event->head);

    attn_pool_run(measurement->pool, n_row, find_terms, &rows);
    for (size_t i = 0; i < n_row; i++)
        if (measurement->is_counted[i])
            add(metric, sums, measurement->terms + i * metric->n_term);
}

/* Adds the selected heads of LAYER to SUMS. */
static void add_layer(const struct attn_measurement *m, int layer, double *sums)
{
    for (int head = 0; head < (int)m->n_head; head++)
        if (attn_selection_has_head(m->selection, layer, head))
            add(m->metric, sums, sums_of(m, layer, head));
}

void attn_measurement_find(const struct attn_measurement *measurement, int layer, int head,
                           double *values)
{
    const struct attn_metric *metric = measurement->metric;
    double all[ATTN_METRIC_MOST_TERMS] = {0};

    if (layer != ATTN_ALL_LAYERS && head != ATTN_ALL_HEADS) {
        metric->finish(sums_of(measurement, layer, head), values);
        return;
    }
    for (int i = 0; i < (int)measurement->n_layer; i++) {
        double sums[ATTN_METRIC_MOST_TERMS] = {0};

        if (layer != ATTN_ALL_LAYERS && i != layer)
            continue;
        add_layer(measurement, i, sums);
        add(metric, all, sums);
    }
    metric->finish(all, values);
}

/* --- For the measures ------------------------------------------------------------------------- */

double attn_metric_weight(const struct attn_row *cells, size_t key)
{
    size_t low = 0, high = cells->n;

    if (cells->keys == NULL)
        return key < cells->n ? (double)cells->values[key] : 0;
    while (low < high) { /* the keys ascend */
        const size_t middle = low + (high - low) / 2;

        if ((size_t)cells->keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < cells->n && (size_t)cells->keys[low] == key ? (double)cells->values[low] : 0;
}

double attn_metric_largest(const struct attn_row *cells, size_t first, size_t end)
{
    double largest = 0;

    for (size_t i = 0; i < cells->n; i++) {
        const size_t key = cells->keys != NULL ? (size_t)cells->keys[i] : i;

        if (key >= first && key < end && !((double)cells->values[i] <= largest))
            largest = (double)cells->values[i];
        if (isnan(largest))
            return largest;
    }
    return largest;
}

enum { N_ROW, SUM };

bool attn_metric_mean_of(double value, bool is_counted, double *terms)
{
    terms[N_ROW] = 1;
    terms[SUM] = value;
    return is_counted;
}

bool attn_metric_mean_of_targets(const struct attn_metric_row *row, attn_metric_target_fn is_target,
                                 double *terms)
{
    const int32_t *ids = row->settings->ids;
    double sum = 0;
    size_t n = 0;

    if (ids == NULL || row->is_cross)
        return false;
    for (size_t key = 0; key <= row->query; key++)
        if (is_target(ids, row->query, key)) {
            sum += attn_metric_weight(&row->cells, key);
            n++;
        }
    return attn_metric_mean_of(sum, n > 0, terms);
}

void attn_metric_mean(const double *sums, double *values)
{
    values[0] = sums[SUM] / sums[N_ROW]; /* NaN without rows */
}

void attn_metric_mean_and_rows(const double *sums, double *values)
{
    values[0] = sums[SUM] / sums[N_ROW];
    values[1] = sums[N_ROW];
}
