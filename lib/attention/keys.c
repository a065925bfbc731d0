/* keys.c - the kept keys of a row, kind and mask together; and what kinds are made of. */
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

size_t attn_keys_list(const struct attn_attention *attention, const struct attn_key_row *row,
                      int32_t *keys)
{
    const struct attn_kind *kind = attn_kind_find(attention);
    const struct attn_key_row seen = limit_to_visible(attention, row);
    const unsigned char *cells;
    size_t n = 0;

    if (attention->mask != ATTN_MASK_MATRIX)
        return kind->list(attention, &seen, keys);
    cells = cells_of(&attention->matrix, row);
    for (size_t j = 0; j < seen.n_key; j++)
        if (cells[j] && kind->keeps(attention, &seen, j))
            keys[n++] = (int32_t)j;
    return n;
}

size_t attn_keys_most(const struct attn_attention *attention, size_t n_key)
{
    return attn_kind_find(attention)->most(attention, n_key);
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

bool attn_keys_are_contiguous(const struct attn_attention *attention)
{
    return attn_kind_find(attention)->is_contiguous;
}

size_t attn_keys_count(const struct attn_attention *attention, const struct attn_key_row *row)
{
    const struct attn_kind *kind = attn_kind_find(attention);
    const struct attn_key_row seen = limit_to_visible(attention, row);
    const unsigned char *cells;
    size_t n = 0;

    if (attention->mask != ATTN_MASK_MATRIX)
        return kind->count(attention, &seen);
    cells = cells_of(&attention->matrix, row);
    for (size_t j = 0; j < seen.n_key; j++)
        n += cells[j] && kind->keeps(attention, &seen, j);
    return n;
}

/* --- Spans and steps ------------------------------------------------------------------------ */

struct attn_key_span attn_keys_near(const struct attn_key_row *row, size_t window)
{
    const size_t i = row->position, n = row->n_key;
    const size_t first = i >= window ? i - window + 1 : 0;
    const size_t last = i < n && window < n - i ? i + window : n;

    return (struct attn_key_span){first < last ? first : last, last};
}

size_t attn_keys_put_span(struct attn_key_span span, int32_t *keys)
{
    for (size_t j = span.first; j < span.last; j++)
        keys[j - span.first] = (int32_t)j;
    return span.last - span.first;
}

size_t attn_keys_most_near(const struct attn_attention *attention, size_t window, size_t n_key)
{
    if (window >= n_key || (attention->mask != ATTN_MASK_CAUSAL && window > n_key / 2))
        return n_key;
    return attention->mask == ATTN_MASK_CAUSAL ? window : 2 * window - 1;
}

/* The first key behind the window, at i + S ceil(W/S); n_key when there is none. */
static size_t first_far(const struct attn_key_row *row, size_t window, size_t stride)
{
    const size_t i = row->position, n = row->n_key;
    const size_t n_step = (window - 1) / stride + 1;

    return i < n && n_step <= (n - 1 - i) / stride ? i + n_step * stride : n;
}

bool attn_keys_is_near_or_far(const struct attn_key_row *row, size_t j, size_t window,
                              size_t stride)
{
    const size_t i = row->position;
    const size_t distance = i > j ? i - j : j - i;

    return distance < window || distance % stride == 0;
}

size_t attn_keys_list_near_and_far(const struct attn_key_row *row, size_t window, size_t stride,
                                   int32_t *keys)
{
    const struct attn_key_span near = attn_keys_near(row, window);
    size_t n = 0;

    for (size_t j = row->position % stride; j < near.first; j += stride)
        keys[n++] = (int32_t)j;
    n += attn_keys_put_span(near, keys + n);
    for (size_t j = first_far(row, window, stride); j < row->n_key; j += stride)
        keys[n++] = (int32_t)j;
    return n;
}

/* Of first, first + stride, ... those below LAST. */
static size_t count_steps(size_t first, size_t last, size_t stride)
{
    return first < last ? (last - first - 1) / stride + 1 : 0;
}

size_t attn_keys_count_near_and_far(const struct attn_key_row *row, size_t window, size_t stride)
{
    const struct attn_key_span near = attn_keys_near(row, window);

    return count_steps(row->position % stride, near.first, stride) + (near.last - near.first) +
           count_steps(first_far(row, window, stride), row->n_key, stride);
}

size_t attn_keys_most_near_and_far(const struct attn_attention *attention, size_t window,
                                   size_t stride, size_t n_key)
{
    const size_t near = attn_keys_most_near(attention, window, n_key);
    const size_t far = n_key > 0 ? (n_key - 1) / stride : 0;

    return far < n_key - near ? near + far : n_key;
}
