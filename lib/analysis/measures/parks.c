#include "measures/parks.h"

#include "base/memory.h"
#include "base/status_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct attn_parks {
    const struct attn_selection *selection;
    size_t n, n_slot;
    struct attn_store *store;       /* owns; has the arrays */
    bool has_first;                 /* the first position is a park by its place */
    bool sees_later;                /* a row saw a key after its query */
    bool *is_separator, *is_parked; /* [n] */
    double *weights;                /* [n] from the other rows that see the position */
    /* [n + 1] the number of these rows, of all heads, less that of the position before */
    size_t *changes;
    double *shares; /* [n] the weight over that number */
    float *sorted;  /* [n] scratch */
    float *peaks;   /* [n_slot, n] peaks of resid_pre */
    double *ratios; /* [n] */
};

static enum attn_status build(struct attn_parks *parks, const struct attn_metric_settings *settings,
                              struct attn_error *err)
{
    ATTN_TRY(ATTN_STORE_ALLOC(&parks->store, parks->is_separator, parks->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&parks->store, parks->is_parked, parks->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&parks->store, parks->weights, parks->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&parks->store, parks->changes, parks->n + 1, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&parks->store, parks->shares, parks->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&parks->store, parks->ratios, parks->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&parks->store, parks->sorted, parks->n, err));
    ATTN_TRY(
        ATTN_STORE_ALLOC(&parks->store, parks->peaks, attn_size_mul(parks->n_slot, parks->n), err));
    for (size_t i = 0; settings->tokens && i < settings->n_token && i < parks->n; i++)
        parks->is_separator[i] =
            attn_metric_is_separator(settings->tokens[i], settings->token_sizes[i]);
    return ATTN_OK;
}

enum attn_status attn_parks_create(const struct attn_metric_settings *settings,
                                   const struct attn_selection *selection,
                                   struct attn_parks **parks, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    struct attn_parks *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->selection = selection;
    made->n = dims->n_position;
    made->n_slot = attn_selection_n_slot(selection);
    made->has_first = settings->n_patch_column == 0 || settings->n_front > 0;
    ATTN_RETURN_MADE(build(made, settings, err), parks, made, attn_parks_free);
}

void attn_parks_free(struct attn_parks *parks)
{
    if (!parks)
        return;
    attn_store_release(&parks->store);
    attn_free(parks);
}

static void add_peaks(const struct attn_parks *parks, const struct attn_trace_event *event)
{
    float *peaks = parks->peaks +
                   (size_t)attn_selection_slot(parks->selection, &event->at) * parks->n +
                   event->row0;

    for (size_t r = 0; r < event->n_row; r++)
        for (size_t c = 0; c < event->n_col; c++)
            peaks[r] = fmaxf(peaks[r], fabsf(event->data[r * event->ld + c]));
}

/* Adds CELLS of a row, of which those from position FROM to END count. */
static void add_cells(struct attn_parks *parks, const struct attn_cells *cells, size_t from,
                      size_t end)
{
    from = from > cells->first ? from : cells->first;
    end = end < cells->first + cells->n ? end : cells->first + cells->n;
    if (from >= end)
        return;
    for (size_t i = from; i < end; i++)
        parks->weights[i] += (double)cells->values[i - cells->first];
    parks->changes[from]++;
    parks->changes[end]--;
}

static void add_weights(struct attn_parks *parks, const struct attn_trace_event *event, size_t r)
{
    const size_t query = event->row0 + r;
    struct attn_row row = attn_event_row(event, r);
    struct attn_cells cells;

    while (attn_row_next(&row, &cells)) {
        parks->sees_later |= cells.n > 0 && cells.first + cells.n > query + 1;
        add_cells(parks, &cells, 0, query < parks->n ? query : parks->n);
        add_cells(parks, &cells, query + 1, parks->n);
    }
}

void attn_parks_add(struct attn_parks *parks, const struct attn_trace_event *event)
{
    if (event->row0 + event->n_row > parks->n || event->ahead > 0)
        return;
    if (event->at.site == ATTN_SITE_RESID_PRE)
        add_peaks(parks, event);
    if (event->at.site != ATTN_SITE_PATTERN ||
        attn_location_is_cross(attn_selection_dims(parks->selection), &event->at))
        return;
    for (size_t r = 0; r < event->n_row; r++)
        add_weights(parks, event, r);
}

static int by_size(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* Fills `ratios`. The median of an even number of peaks is the lower middle one. */
static void find_ratios(const struct attn_parks *parks)
{
    for (size_t slot = 0; parks->n > 0 && slot < parks->n_slot; slot++) {
        const float *peaks = parks->peaks + slot * parks->n;
        float median;

        memcpy(parks->sorted, peaks, parks->n * sizeof *parks->sorted);
        qsort(parks->sorted, parks->n, sizeof *parks->sorted, by_size);
        median = parks->sorted[(parks->n - 1) / 2];
        for (size_t i = 0; i < parks->n && median > 0; i++)
            parks->ratios[i] = fmax(parks->ratios[i], (double)peaks[i] / (double)median);
    }
}

static bool is_parked(const struct attn_parks *parks, size_t i)
{
    const size_t n_row = parks->n - 1 - (parks->sees_later ? 0 : i);

    if (i == 0 && parks->has_first)
        return true;
    return n_row >= ATTN_PARK_ROWS && parks->shares[i] >= ATTN_PARK_WEIGHT &&
           (parks->ratios[i] >= ATTN_PARK_RATIO || (parks->sees_later && parks->is_separator[i]));
}

const bool *attn_parks_find(struct attn_parks *parks)
{
    size_t n_row = 0;

    find_ratios(parks);
    for (size_t i = 0; i < parks->n; i++) {
        n_row += parks->changes[i];
        parks->shares[i] = parks->weights[i] / (double)n_row;
        parks->is_parked[i] = is_parked(parks, i);
    }
    return parks->is_parked;
}

bool attn_parks_has(const struct attn_parks *parks, size_t position)
{
    return parks->is_parked[position];
}

double attn_parks_ratio(const struct attn_parks *parks, size_t position)
{
    return parks->ratios[position];
}

double attn_parks_weight(const struct attn_parks *parks, size_t position)
{
    return parks->shares[position];
}
