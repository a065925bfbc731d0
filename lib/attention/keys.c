/* keys.c - the kept keys of a row: what its kind leaves, and the mask of that. */
#include "attention/keys.h"

#include "attention/kind_internal.h"

/* ROW with the keys that a causal mask leaves. */
static struct attn_key_row limit_to_visible(const struct attn_attention *attention,
                                            const struct attn_key_row *row)
{
    struct attn_key_row seen = *row;

    if (attention->mask == ATTN_MASK_CAUSAL && row->position < row->n_key)
        seen.n_key = row->position + 1;
    return seen;
}

static const unsigned char *cells_of(const struct attn_mask_matrix *matrix,
                                     const struct attn_key_row *row)
{
    const size_t head = matrix->n_head == 1 ? 0 : (size_t)row->head;

    return matrix->cells + (head * matrix->n_query + row->query) * matrix->n_key;
}

/* --- spans and steps -------------------------------------------------------------------------- */

size_t attn_keys_put_span(struct attn_key_span span, int32_t *keys)
{
    for (size_t j = span.first; j < span.last; j++)
        keys[j - span.first] = (int32_t)j;
    return span.last - span.first;
}

/* The keys of ROW beside SPAN that are a multiple of STRIDE away: those from `before` on that lie
 * before the span, and those from `after` on. */
struct steps {
    size_t before, after;
};

static struct steps find_steps(const struct attn_key_row *row, struct attn_key_span span,
                               size_t stride)
{
    const size_t i = row->position, n = row->n_key;
    struct steps steps = {i % stride, n};
    size_t n_step;

    if (i >= n)
        return steps;
    n_step = (span.last - 1 - i) / stride + 1;
    if (n_step <= (n - 1 - i) / stride)
        steps.after = i + n_step * stride;
    return steps;
}

static bool keeps(const struct attn_attention *attention, const struct attn_key_row *row, size_t j)
{
    const struct attn_kind *kind = attn_kind_find(attention);
    const size_t i = row->position, distance = i > j ? i - j : j - i;
    struct attn_key_span span;

    if (!kind->span)
        return kind->keeps(attention, row, j);
    span = kind->span(attention, row);
    return (j >= span.first && j < span.last) ||
           (kind->has_steps && distance % attention->stride == 0);
}

static size_t list_kept(const struct attn_attention *attention, const struct attn_key_row *row,
                        int32_t *keys)
{
    const struct attn_kind *kind = attn_kind_find(attention);
    const size_t stride = attention->stride;
    struct attn_key_span span;
    struct steps steps;
    size_t n = 0;

    if (!kind->span)
        return kind->list(attention, row, keys);
    span = kind->span(attention, row);
    if (!kind->has_steps)
        return attn_keys_put_span(span, keys);
    steps = find_steps(row, span, stride);
    for (size_t j = steps.before; j < span.first; j += stride)
        keys[n++] = (int32_t)j;
    n += attn_keys_put_span(span, keys + n);
    for (size_t j = steps.after; j < row->n_key; j += stride)
        keys[n++] = (int32_t)j;
    return n;
}

/* Of first, first + stride, ... those below LAST. */
static size_t count_steps(size_t first, size_t last, size_t stride)
{
    return first < last ? (last - first - 1) / stride + 1 : 0;
}

static size_t count_kept(const struct attn_attention *attention, const struct attn_key_row *row)
{
    const struct attn_kind *kind = attn_kind_find(attention);
    struct attn_key_span span;
    struct steps steps;
    size_t n;

    if (!kind->span)
        return kind->count(attention, row);
    span = kind->span(attention, row);
    n = span.last - span.first;
    if (!kind->has_steps)
        return n;
    steps = find_steps(row, span, attention->stride);
    return n + count_steps(steps.before, span.first, attention->stride) +
           count_steps(steps.after, row->n_key, attention->stride);
}

/* --- kind and mask together ------------------------------------------------------------------- */

size_t attn_keys_list(const struct attn_attention *attention, const struct attn_key_row *row,
                      int32_t *keys)
{
    const struct attn_key_row seen = limit_to_visible(attention, row);
    const unsigned char *cells;
    size_t n = 0;

    if (attention->mask != ATTN_MASK_MATRIX)
        return list_kept(attention, &seen, keys);
    cells = cells_of(&attention->matrix, row);
    for (size_t j = 0; j < seen.n_key; j++)
        if (cells[j] && keeps(attention, &seen, j))
            keys[n++] = (int32_t)j;
    return n;
}

size_t attn_keys_count(const struct attn_attention *attention, const struct attn_key_row *row)
{
    const struct attn_key_row seen = limit_to_visible(attention, row);
    const unsigned char *cells;
    size_t n = 0;

    if (attention->mask != ATTN_MASK_MATRIX)
        return count_kept(attention, &seen);
    cells = cells_of(&attention->matrix, row);
    for (size_t j = 0; j < seen.n_key; j++)
        n += cells[j] && keeps(attention, &seen, j);
    return n;
}

size_t attn_keys_largest(const struct attn_attention *attention, size_t n_key)
{
    const struct attn_kind *kind = attn_kind_find(attention);
    const size_t largest = kind->largest(attention, n_key);
    const size_t n_step = kind->has_steps && n_key > 0 ? (n_key - 1) / attention->stride : 0;

    return n_step < n_key - largest ? largest + n_step : n_key;
}

bool attn_keys_are_contiguous(const struct attn_attention *attention)
{
    const struct attn_kind *kind = attn_kind_find(attention);

    return kind->span && !kind->has_steps;
}

enum attn_status attn_mask_matrix_check(const struct attn_mask_matrix *matrix, const char *what,
                                        size_t n_head, size_t n_query, size_t n_key,
                                        struct attn_error *err)
{
    if (!matrix->cells || (matrix->n_query == n_query && matrix->n_key == n_key &&
                           (matrix->n_head == 1 || matrix->n_head == n_head)))
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "the %s is [%zu, %zu, %zu], expected [1, %zu, %zu] or [%zu, %zu, %zu]: "
                          "heads, queries and keys",
                          what, matrix->n_head, matrix->n_query, matrix->n_key, n_query, n_key,
                          n_head, n_query, n_key);
}
