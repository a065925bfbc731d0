/* head_patterns.c - see head_patterns.h. */
#include "analysis/head_patterns.h"

#include "analysis/analysis_internal.h"
#include "base/memory.h"
#include "trace/trace_internal.h"

#include <math.h>

enum { SIDE = ATTN_PATTERN_SIDE };

/* A cell of a head's pattern: the sum of its weights over N texts. */
struct cell {
    double sum;
    size_t n;
};

struct attn_head_patterns {
    size_t n_head;
    struct cell *cells; /* [n_layer, n_head, SIDE, SIDE] owns */
};

enum attn_status attn_head_patterns_create(size_t n_layer, size_t n_head,
                                           struct attn_head_patterns **patterns,
                                           struct attn_error *err)
{
    struct attn_head_patterns *made;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->n_head = n_head;
    status = ATTN_ALLOC(made->cells, n_layer * n_head * SIDE * SIDE, err);
    if (status == ATTN_OK)
        *patterns = made;
    else
        attn_free(made);
    return status;
}

void attn_head_patterns_free(struct attn_head_patterns *patterns)
{
    if (patterns)
        attn_free(patterns->cells);
    attn_free(patterns);
}

static struct cell *cell_of(const struct attn_head_patterns *patterns,
                            const struct attn_location *at, size_t query, size_t key)
{
    const size_t layer = attn_location_index(at), head = (size_t)at->head;

    return &patterns->cells[((layer * patterns->n_head + head) * SIDE + query) * SIDE + key];
}

void attn_head_patterns_add(struct attn_head_patterns *patterns,
                            const struct attn_trace_event *event)
{
    for (size_t r = 0; r < event->n_row && event->row0 + r < SIDE; r++) {
        struct attn_row row = attn_event_row(event, r);
        struct attn_cells cells;

        while (attn_row_next(&row, &cells))
            for (size_t i = 0; i < cells.n && cells.first + i < SIDE; i++) {
                struct cell *cell = cell_of(patterns, &event->at, event->row0 + r, cells.first + i);

                cell->sum += (double)cells.values[i];
                cell->n++;
            }
    }
}

float attn_head_patterns_mean(const struct attn_head_patterns *patterns,
                              const struct attn_location *at, size_t query, size_t key)
{
    const struct cell *cell = cell_of(patterns, at, query, key);

    return cell->n > 0 ? (float)(cell->sum / (double)cell->n) : NAN;
}
