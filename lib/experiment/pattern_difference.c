/* pattern_difference.c - see pattern_difference.h. */
#include "experiment/pattern_difference.h"

#include "base/memory.h"
#include "trace/trace_internal.h"

static size_t key_of(const struct attn_row *row, size_t i)
{
    return row->keys ? (size_t)row->keys[i] : i;
}

/* Merges two rows by key into VALUES and KEYS; returns the number of cells. */
static size_t subtract(const struct attn_row *chosen, const struct attn_row *exact, float *values,
                       int32_t *keys)
{
    size_t i = 0, j = 0, n = 0;

    while (i < chosen->n || j < exact->n) {
        const size_t chosen_key = i < chosen->n ? key_of(chosen, i) : SIZE_MAX;
        const size_t exact_key = j < exact->n ? key_of(exact, j) : SIZE_MAX;
        const float a = chosen_key <= exact_key ? chosen->values[i] : 0;
        const float b = exact_key <= chosen_key ? exact->values[j] : 0;

        keys[n] = (int32_t)(chosen_key < exact_key ? chosen_key : exact_key);
        values[n++] = a - b;
        i += chosen_key <= exact_key;
        j += exact_key <= chosen_key;
    }
    return n;
}

enum attn_status attn_pattern_pairs_tell(const struct attn_pattern_pairs *pairs,
                                         const struct attn_trace_event *chosen,
                                         const struct attn_trace_event *exact,
                                         struct attn_error *err)
{
    const size_t skipped = exact->row0 - chosen->row0;
    struct attn_trace_event part = *chosen, named = *exact;

    part.row0 = exact->row0;
    part.n_row = exact->n_row;
    part.data += skipped * part.ld;
    if (part.keys) {
        part.keys += skipped * part.ld;
        part.n_kept += skipped;
    }
    named.layer = chosen->layer;
    named.head = chosen->head;
    return pairs->on_pair(pairs->user, &part, &named, err);
}

enum attn_status attn_pattern_difference_tell(const struct attn_trace *trace,
                                              const struct attn_trace_event *chosen,
                                              const struct attn_trace_event *exact,
                                              struct attn_error *err)
{
    const size_t ld = chosen->n_col > exact->n_col ? chosen->n_col : exact->n_col;
    const size_t n_row = exact->n_row, skipped = exact->row0 - chosen->row0;
    struct attn_trace_event told = *chosen;
    float *values = attn_alloc_uninitialized(n_row * ld, sizeof *values, err);
    int32_t *keys = attn_alloc_uninitialized(n_row * ld, sizeof *keys, err);
    size_t *n_kept = attn_alloc(n_row, sizeof *n_kept, err);
    enum attn_status status = values && keys && n_kept ? ATTN_OK : ATTN_NO_MEMORY;

    for (size_t r = 0; r < n_row && status == ATTN_OK; r++) {
        const struct attn_row row = attn_event_row(chosen, skipped + r);
        const struct attn_row exact_row = attn_event_row(exact, r);

        n_kept[r] = subtract(&row, &exact_row, values + r * ld, keys + r * ld);
    }
    told.row0 = exact->row0;
    told.n_row = n_row;
    told.n_col = told.ld = ld;
    told.data = values;
    told.keys = keys;
    told.n_kept = n_kept;
    if (status == ATTN_OK)
        status = trace->on_event(trace->user, &told, err);
    attn_free(values);
    attn_free(keys);
    attn_free(n_kept);
    return status;
}
