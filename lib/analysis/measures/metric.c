/* metric.c - the sums of measures for each head. The terms of an event's rows are computed on the
 * pool and added in the order of the rows, so that sums do not depend on threads. */
#include "measures/metric.h"

#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "base/text/utf8.h"
#include "trace/trace_internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct attn_measurement {
    const struct attn_metric *metric;
    struct attn_metric_settings settings;
    const struct attn_selection *selection;
    struct attn_pool *pool;
    size_t n_head;
    struct attn_store *store; /* owns; has the arrays, also of `places` */
    struct attn_metric_places places;
    bool has_places;  /* `places` was filled */
    double *sums;     /* [n_slot, n_head, n_term] */
    double *terms;    /* [n_position, n_term] the terms of the rows of one event */
    bool *is_counted; /* [n_position] whether each of these rows counts */
};

/* --- Places of tokens ------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

bool attn_metric_is_punctuation(const char *text, size_t size)
{
    size_t n = 0; /* number of characters of punctuation */
    bool is_over = false;

    for (size_t at = 0; at < size;) {
        uint32_t character;
        const size_t length = attn_utf8_decode(text + at, size - at, &character);

        at += length;
        if (length > 0 && attn_utf8_is_white_space(character)) {
            is_over = n > 0;
            continue;
        }
        if (length == 0 || is_over || !attn_utf8_is_punctuation(character))
            return false;
        n++;
    }
    return n > 0;
}

bool attn_metric_is_separator(const char *text, size_t size)
{
    return (size == 5 && memcmp(text, "[SEP]", 5) == 0) ||
           (size == 4 && memcmp(text, "</s>", 4) == 0);
}

/* Finds for each position of IDS [n] the first and the next position of the same token, by sorting
 * positions by id and then by number. */
static enum attn_status find_repetitions(const int32_t *ids, size_t n, struct attn_store **store,
                                         struct attn_metric_places *places, struct attn_error *err)
{
    uint64_t *order;

    ATTN_TRY(ATTN_STORE_ALLOC(store, places->first, n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(store, places->next, n, err));
    ATTN_TRY(ATTN_ALLOC(order, n, err));
    for (size_t i = 0; i < n; i++)
        order[i] = (uint64_t)(uint32_t)ids[i] << 32 | i;
    qsort(order, n, sizeof *order, by_number);
    for (size_t i = 0; i < n; i++) {
        const uint32_t place = (uint32_t)order[i];
        const bool is_again = i > 0 && order[i] >> 32 == order[i - 1] >> 32;

        places->first[place] = is_again ? places->first[(uint32_t)order[i - 1]] : (int32_t)place;
        places->next[place] = (int32_t)n;
        if (is_again)
            places->next[(uint32_t)order[i - 1]] = (int32_t)place;
    }
    attn_free(order);
    return ATTN_OK;
}

/* Finds the places that the metric of M needs among N positions, if its settings have the data for
 * that. Fails only with ATTN_NO_MEMORY. */
static enum attn_status find_places(struct attn_measurement *m, size_t n, struct attn_error *err)
{
    const struct attn_metric_settings *settings = &m->settings;
    struct attn_metric_places *places = &m->places;

    if (m->metric->search == ATTN_METRIC_REPETITIONS && settings->ids) {
        m->has_places = true;
        return find_repetitions(settings->ids, n, &m->store, places, err);
    }
    if ((m->metric->search != ATTN_METRIC_PUNCTUATION &&
         m->metric->search != ATTN_METRIC_SEPARATORS) ||
        !settings->tokens)
        return ATTN_OK;
    m->has_places = true;
    ATTN_TRY(ATTN_STORE_ALLOC(&m->store, places->marks, settings->n_token, err));
    for (size_t i = 0; i < settings->n_token; i++)
        if ((m->metric->search == ATTN_METRIC_PUNCTUATION
                 ? attn_metric_is_punctuation
                 : attn_metric_is_separator)(settings->tokens[i], settings->token_sizes[i]))
            places->marks[places->n_mark++] = (int32_t)i;
    return ATTN_OK;
}

/* --- Sums of heads ---------------------------------------------------------------------------- */

static enum attn_status build(struct attn_measurement *m, size_t n_row, struct attn_error *err)
{
    const size_t n_term = m->metric->n_term;
    const size_t n_sum = attn_selection_n_slot(m->selection) * m->n_head * n_term;

    ATTN_TRY(ATTN_STORE_ALLOC(&m->store, m->sums, n_sum, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&m->store, m->terms, n_row * n_term, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&m->store, m->is_counted, n_row, err));
    return find_places(m, attn_selection_dims(m->selection)->n_position, err);
}

enum attn_status attn_measurement_create(const struct attn_metric *metric,
                                         const struct attn_metric_settings *settings,
                                         const struct attn_selection *selection,
                                         struct attn_pool *pool,
                                         struct attn_measurement **measurement,
                                         struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    const struct attn_dims *larger = dims->encoder ? dims->encoder : dims;
    const size_t n_row =
        larger->n_position > dims->n_position ? larger->n_position : dims->n_position;
    struct attn_measurement *m;

    assert(metric->n_term >= 1 && metric->n_term <= ATTN_METRIC_MOST);
    assert(metric->n_value >= 1 && metric->n_value <= ATTN_METRIC_MOST);
    ATTN_TRY(ATTN_ALLOC(m, 1, err));
    m->metric = metric;
    m->settings = *settings;
    m->settings.has_sinks = attn_sites_have(attn_selection_dims(selection)->sites, ATTN_SITE_SINK);
    m->selection = selection;
    m->pool = pool;
    m->n_head = larger->n_head > dims->n_head ? larger->n_head : dims->n_head;
    ATTN_RETURN_MADE(build(m, n_row, err), measurement, m, attn_measurement_free);
}

void attn_measurement_free(struct attn_measurement *measurement)
{
    if (!measurement)
        return;
    attn_store_release(&measurement->store);
    attn_free(measurement);
}

static double *sums_of(const struct attn_measurement *m, const struct attn_location *at, int head)
{
    const size_t layer = (size_t)attn_selection_slot(m->selection, at);

    return m->sums + (layer * m->n_head + (size_t)head) * m->metric->n_term;
}

static void add(const struct attn_metric *metric, double *sums, const double *terms)
{
    if (metric->add)
        metric->add(sums, terms);
    for (size_t i = 0; !metric->add && i < metric->n_term; i++)
        sums[i] += terms[i];
}

/* The rows of an event whose terms tasks compute. */
struct rows {
    struct attn_measurement *measurement;
    const struct attn_trace_event *event;
};

/* Returns the places for the rows of EVENT; NULL if the encoder has them and the places are those
 * of the text, or if there are keys before the first query, which are no tokens of the text. */
static const struct attn_metric_places *places_of(const struct attn_measurement *m,
                                                  const struct attn_trace_event *event)
{
    return m->has_places && event->ahead == 0 &&
                   (event->at.stack != ATTN_STACK_ENCODER ||
                    !attn_selection_dims(m->selection)->encoder)
               ? &m->places
               : NULL;
}

/* Returns a row with the fields that all rows of EVENT share. */
static struct attn_metric_row row_of(const struct attn_measurement *m,
                                     const struct attn_trace_event *event)
{
    return (struct attn_metric_row){
        .settings = &m->settings,
        .places = places_of(m, event),
        .site = event->at.site,
        .is_cross = attn_location_is_cross(attn_selection_dims(m->selection), &event->at)};
}

static void find_terms(void *context, size_t task, int worker)
{
    const struct rows *rows = context;
    const struct attn_trace_event *event = rows->event;
    const struct attn_metric *metric = rows->measurement->metric;
    double *terms = rows->measurement->terms + task * metric->n_term;
    struct attn_metric_row row = row_of(rows->measurement, event);

    (void)worker;
    row.query = event->row0 + task + event->ahead;
    row.cells = attn_event_row(event, task);
    memset(terms, 0, metric->n_term * sizeof *terms);
    rows->measurement->is_counted[task] = metric->row(&row, terms);
}

void attn_measurement_add(struct attn_measurement *measurement,
                          const struct attn_trace_event *event)
{
    const struct attn_metric *metric = measurement->metric;
    struct rows rows = {measurement, event};
    double *sums = sums_of(measurement, &event->at, event->at.head);

    attn_pool_run(measurement->pool, event->n_row, find_terms, &rows);
    for (size_t i = 0; i < event->n_row; i++)
        if (measurement->is_counted[i])
            add(metric, sums, measurement->terms + i * metric->n_term);
}

void attn_measurements_add(struct attn_measurement *const *items, size_t n,
                           const struct attn_trace_event *event)
{
    struct attn_metric_row row = {.query = 0};

    if (n > 0)
        row = row_of(items[0], event);
    for (size_t r = 0; r < event->n_row; r++) {
        row.query = event->row0 + r + event->ahead;
        row.cells = attn_event_row(event, r);
        for (size_t i = 0; i < n; i++) {
            const struct attn_metric *metric = items[i]->metric;
            double terms[ATTN_METRIC_MOST];

            row.settings = &items[i]->settings;
            row.places = places_of(items[i], event);
            for (size_t k = 0; k < metric->n_term; k++)
                terms[k] = 0;
            if (metric->row(&row, terms))
                add(metric, sums_of(items[i], &event->at, event->at.head), terms);
        }
    }
}

bool attn_measurement_add_row(struct attn_measurement *measurement,
                              const struct attn_trace_event *event, size_t r, double *terms)
{
    const struct attn_metric *metric = measurement->metric;
    struct attn_metric_row row = row_of(measurement, event);

    row.query = event->row0 + r + event->ahead;
    row.cells = attn_event_row(event, r);
    memset(terms, 0, metric->n_term * sizeof *terms);
    if (!metric->row(&row, terms))
        return false;
    add(metric, sums_of(measurement, &event->at, event->at.head), terms);
    return true;
}

void attn_measurement_find(const struct attn_measurement *measurement,
                           const struct attn_location *at, double *values)
{
    const struct attn_metric *metric = measurement->metric;
    const struct attn_dims *dims = attn_selection_dims(measurement->selection);
    struct attn_location head = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};
    double all[ATTN_METRIC_MOST] = {0};

    if (at->layer != ATTN_ALL_LAYERS && at->head != ATTN_ALL_HEADS) {
        metric->finish(sums_of(measurement, at, at->head), values);
        return;
    }
    while (attn_dims_next_layer(dims, &head)) {
        double sums[ATTN_METRIC_MOST] = {0};

        if (at->layer != ATTN_ALL_LAYERS && (head.stack != at->stack || head.layer != at->layer))
            continue;
        for (head.head = 0; head.head < (int)measurement->n_head; head.head++)
            if (attn_selection_has_head(measurement->selection, &head))
                add(metric, sums, sums_of(measurement, &head, head.head));
        add(metric, all, sums);
    }
    metric->finish(all, values);
}

/* --- Functions for measures ------------------------------------------------------------------- */

double attn_metric_weight(const struct attn_row *cells, size_t key)
{
    size_t low = 0, high = cells->n;

    if (!cells->keys)
        return key < cells->n ? (double)cells->values[key] : 0;
    while (low < high) { /* the keys are in ascending order */
        const size_t middle = low + (high - low) / 2;

        if ((size_t)cells->keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < cells->n && (size_t)cells->keys[low] == key ? (double)cells->values[low] : 0;
}

/* Returns max(0, VALUES [n]), or NaN if a value is NaN. Four accumulators, so that steps need not
 * wait for each other. */
static double largest_of(const float *values, size_t n)
{
    float a = 0, b = 0, c = 0, d = 0;
    bool has_nan = false;
    size_t i = 0;

    for (size_t k = 0; k < n; k++)
        has_nan |= values[k] != values[k];
    for (; i + 4 <= n; i += 4) {
        a = values[i] > a ? values[i] : a;
        b = values[i + 1] > b ? values[i + 1] : b;
        c = values[i + 2] > c ? values[i + 2] : c;
        d = values[i + 3] > d ? values[i + 3] : d;
    }
    for (; i < n; i++)
        a = values[i] > a ? values[i] : a;
    a = a > b ? a : b;
    c = c > d ? c : d;
    return has_nan ? (double)NAN : (double)(a > c ? a : c);
}

double attn_metric_largest(const struct attn_row *cells, size_t first, size_t end)
{
    size_t low = first, high = end < cells->n ? end : cells->n;

    if (cells->keys) { /* they are in ascending order */
        for (low = 0; low < cells->n && (size_t)cells->keys[low] < first; low++)
            ;
        for (high = low; high < cells->n && (size_t)cells->keys[high] < end; high++)
            ;
    }
    return low < high ? largest_of(cells->values + low, high - low) : 0;
}

size_t attn_metric_keys_end(const struct attn_metric_row *row)
{
    const struct attn_row *cells = &row->cells;

    return !cells->keys || cells->n == 0 ? cells->n : (size_t)cells->keys[cells->n - 1] + 1;
}

size_t attn_metric_source_last(const struct attn_metric_row *row)
{
    const int32_t *mask = row->settings ? row->settings->source_mask : NULL;
    size_t end = attn_metric_keys_end(row);

    while (mask && end > 0 && mask[end - 1] == 0)
        end--;
    return end - (end > 0);
}

/* Whether weight of ROW on KEY may be parked there. */
static bool is_parked_on(const struct attn_metric_row *row, size_t key)
{
    const bool *is_parked = row->settings && !row->is_cross ? row->settings->is_parked : NULL;

    return is_parked ? is_parked[key] : key == 0;
}

double attn_metric_find_key(const struct attn_metric_row *row, bool is_limited, size_t *key)
{
    const size_t last = row->is_cross ? attn_metric_source_last(row) : row->query;
    struct attn_row cells = row->cells;
    struct attn_cells run;
    double most = (double)NAN;

    if (is_limited && !row->is_cross && row->query == 0)
        return most;
    cells.at = 0;
    while (attn_row_next(&cells, &run))
        for (size_t i = 0; i < run.n; i++) {
            const size_t at = run.first + i;

            if ((is_limited && (at == last || is_parked_on(row, at))) ||
                (double)run.values[i] <= most)
                continue;
            most = (double)run.values[i];
            *key = at;
        }
    return most;
}

enum { N_ROW, SUM };

bool attn_metric_mean_of(double value, bool is_counted, double *terms)
{
    terms[N_ROW] = 1;
    terms[SUM] = value;
    return is_counted;
}

bool attn_metric_mean_after(const struct attn_metric_row *row, size_t distance, double *terms)
{
    double sum = 0;
    size_t place;

    if (!row->places || row->is_cross)
        return false;
    place = (size_t)row->places->first[row->query];
    if (place == row->query)
        return false;
    for (; place < row->query; place = (size_t)row->places->next[place])
        sum += attn_metric_weight(&row->cells, place + distance);
    return attn_metric_mean_of(sum, true, terms);
}

void attn_metric_mean(const double *sums, double *values)
{
    values[0] = sums[SUM] / sums[N_ROW]; /* NaN if there are no rows */
}

void attn_metric_mean_and_rows(const double *sums, double *values)
{
    values[0] = sums[SUM] / sums[N_ROW];
    values[1] = sums[N_ROW];
}
