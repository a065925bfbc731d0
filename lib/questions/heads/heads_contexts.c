/* heads_contexts.c - the readers of `heads` for long contexts: what a cache of keys that keeps the
 * first keys and a window keeps of a head's weight, and what it loses; and a needle in a haystack.
 */
#include "heads/heads_internal.h"

#include "kernels/kernels.h"
#include "measures/metric.h"
#include "trace/trace_internal.h"

#include <math.h>

/* Returns the weight of CELLS on the keys FIRST .. END - 1. */
static double weight_on(struct attn_row cells, size_t first, size_t end)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    struct attn_cells run;
    double sum = 0;

    while (attn_row_next(&cells, &run) && run.first < end) {
        const size_t begin = run.first < first ? first - run.first : 0;
        const size_t last = end - run.first < run.n ? end - run.first : run.n;

        if (begin < last)
            sum += (double)kernels->sum(run.values + begin, last - begin);
    }
    return sum;
}

/* Whether the rows of EVENT look at the text that they are of. */
static bool is_of_text(const struct attn_heads_run *heads, const struct attn_trace_event *event)
{
    return event->at.stack != ATTN_STACK_ENCODER &&
           !attn_location_is_cross(attn_selection_dims(heads->frame.run->selection), &event->at);
}

/* --- Sinks ------------------------------------------------------------------------------------ */

/* The sums of a head. */
struct sums {
    double sink, distant;
    size_t n_sink, n_distant; /* rows that have such keys */
};

static enum attn_status begin_sinks(struct attn_heads_run *heads, void **reading,
                                    struct attn_error *err)
{
    if (heads->args->n_near == 0)
        return ATTN_OK;
    *reading = attn_frame_alloc(&heads->frame, heads->parts.n, sizeof(struct sums));
    return attn_frame_memory(&heads->frame, err);
}

static enum attn_status add_sinks(const struct attn_heads_run *heads, void *reading,
                                  const struct attn_trace_event *event, struct attn_error *err)
{
    struct sums *sums = (struct sums *)reading + attn_parts_find(&heads->parts, &event->at);
    const size_t n_sink = heads->args->n_sink, n_near = heads->args->n_near;

    (void)err;
    for (size_t r = 0; r < event->n_row && is_of_text(heads, event); r++) {
        const struct attn_row cells = attn_event_row(event, r);
        const size_t query = event->row0 + r + event->ahead;

        if (query < n_sink)
            continue;
        sums->sink += weight_on(cells, 0, n_sink);
        sums->n_sink++;
        if (query - n_sink < n_near)
            continue;
        sums->distant += weight_on(cells, n_sink, query - n_near + 1);
        sums->n_distant++;
    }
    return ATTN_OK;
}

static void find_sinks(const struct attn_heads_run *heads, void *reading, size_t i, double *found)
{
    const struct sums *sums = (const struct sums *)reading + i;

    (void)heads;
    found[ATTN_HEAD_SINK_MASS] = sums->sink / (double)sums->n_sink; /* NaN if there are no rows */
    found[ATTN_HEAD_DISTANT] = sums->distant / (double)sums->n_distant;
}

const struct attn_head_reader attn_head_sinks_reader = {
    .begin = begin_sinks, .add = add_sinks, .find = find_sinks};

/* --- A needle --------------------------------------------------------------------------------- */

/* The sums of a head over the rows of the needle that comes again. */
struct copies {
    double n_found, weight; /* rows whose largest weight is on the token to be copied */
    size_t n;
};

static enum attn_status begin_needle(struct attn_heads_run *heads, void **reading,
                                     struct attn_error *err)
{
    if (!heads->args->is_needle)
        return ATTN_OK;
    *reading = attn_frame_alloc(&heads->frame, heads->parts.n, sizeof(struct copies));
    return attn_frame_memory(&heads->frame, err);
}

static enum attn_status add_needle(const struct attn_heads_run *heads, void *reading,
                                   const struct attn_trace_event *event, struct attn_error *err)
{
    struct copies *copies = (struct copies *)reading + attn_parts_find(&heads->parts, &event->at);
    const struct attn_heads_probe *probe = &heads->args->probe;
    const size_t n = heads->frame.run->text.n, first = n - ATTN_NEEDLE_LENGTH;
    /* the place of the needle among all tokens, of which some may stand in front of the probe */
    const size_t place =
        first - probe->length + attn_needle_place(probe->length, heads->args->needle_depth);

    (void)err;
    for (size_t r = 0; r < event->n_row && is_of_text(heads, event); r++) {
        const size_t query = event->row0 + r;
        const struct attn_metric_row row = {.query = query, .cells = attn_event_row(event, r)};
        size_t key;

        if (query < first || isnan(attn_metric_find_key(&row, false, &key)))
            continue;
        copies->n++;
        copies->n_found += key == place + (query - first) + 1;
        copies->weight += attn_metric_weight(&row.cells, place + (query - first) + 1);
    }
    return ATTN_OK;
}

static void find_needle(const struct attn_heads_run *heads, void *reading, size_t i, double *found)
{
    const struct copies *copies = (const struct copies *)reading + i;

    (void)heads;
    found[ATTN_HEAD_RETRIEVAL] = copies->n_found / (double)copies->n; /* NaN without rows */
    found[ATTN_HEAD_NEEDLE_MASS] = copies->weight / (double)copies->n;
    found[ATTN_HEAD_N_RETRIEVAL] = (double)copies->n;
}

const struct attn_head_reader attn_head_needle_reader = {
    .begin = begin_needle, .add = add_needle, .find = find_needle};
