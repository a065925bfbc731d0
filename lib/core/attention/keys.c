/* keys.c - lists the kept keys of a row: those that the kind keeps and the mask leaves; and the
 * kinds of models, which keep all keys or those near the query. */
#include "attention/keys.h"

#include "attention/attention_internal.h"

/* --- spans and steps -------------------------------------------------------------------------- */

size_t attn_keys_put_span(struct attn_key_span span, int32_t *keys)
{
    for (size_t j = span.first; keys && j < span.last; j++)
        keys[j - span.first] = (int32_t)j;
    return span.last - span.first;
}

/* Writes first, first + stride, ... below LAST to KEYS. Returns their number. If KEYS is NULL, only
 * counts. */
static size_t write_steps(size_t first, size_t last, size_t stride, int32_t *keys)
{
    const size_t n = first < last ? (last - first - 1) / stride + 1 : 0;

    for (size_t i = 0; keys && i < n; i++)
        keys[i] = (int32_t)(first + i * stride);
    return n;
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

/* Lists the keys of ROW that the kind keeps, before masking. */
static size_t list_kept(const struct attn_attention *attention, const struct attn_key_row *row,
                        int32_t *keys)
{
    const struct attn_kind *kind = attn_kind_find(attention);
    const size_t i = row->position, n_key = row->n_key, stride = attention->stride;
    struct attn_key_span span;
    /* The first key after the span whose distance is a multiple of the stride. */
    size_t n, after = n_key;

    if (!kind->span)
        return kind->list(attention, row, keys);
    span = kind->span(attention, row);
    if (!kind->has_steps)
        return attn_keys_put_span(span, keys);
    if (i < n_key) {
        const size_t n_step = (span.last - 1 - i) / stride + 1;

        if (n_step <= (n_key - 1 - i) / stride)
            after = i + n_step * stride;
    }
    n = write_steps(i % stride, span.first, stride, keys);
    n += attn_keys_put_span(span, keys ? keys + n : NULL);
    return n + write_steps(after, n_key, stride, keys ? keys + n : NULL);
}

/* Returns the block of positions that see each other to which POSITION belongs; NULL: to none. */
static const struct attn_mask_block *find_block(const struct attn_attention *attention,
                                                size_t position)
{
    for (size_t i = 0; i < attn_attention_n_block(attention); i++) {
        const struct attn_mask_block *block = attn_attention_block(attention, i);

        if (attention->mask == ATTN_MASK_CAUSAL && position >= block->first &&
            position < block->end)
            return block;
    }
    return NULL;
}

size_t attn_keys_ahead(const struct attn_attention *attention, size_t position, size_t n_key)
{
    const struct attn_mask_block *block = find_block(attention, position);
    const size_t end = block ? block->end : position + 1;

    return attention->mask == ATTN_MASK_CAUSAL && end < n_key ? end : n_key;
}

bool attn_keys_are_causal(const struct attn_attention *attention)
{
    return attention->mask == ATTN_MASK_CAUSAL && attention->block.end == 0;
}

/* --- kind and mask together ------------------------------------------------------------------- */

size_t attn_keys_list(const struct attn_attention *attention, const struct attn_key_row *row,
                      int32_t *keys)
{
    const struct attn_mask_matrix *matrix = &attention->matrix;
    struct attn_key_row seen = *row; /* ROW with the keys that a causal mask leaves */
    const unsigned char *cells;
    size_t head, n = 0;

    seen.n_key = attn_keys_ahead(attention, row->position, row->n_key);
    if (attention->mask != ATTN_MASK_MATRIX)
        return list_kept(attention, &seen, keys);
    head = matrix->n_head == 1 ? 0 : (size_t)row->head;
    cells = matrix->cells + (head * matrix->n_query + row->query) * matrix->n_key;
    for (size_t j = 0; j < seen.n_key; j++)
        if (cells[j] && keeps(attention, &seen, j)) {
            if (keys)
                keys[n] = (int32_t)j;
            n++;
        }
    return n;
}

size_t attn_keys_largest(const struct attn_attention *attention, size_t n_key)
{
    const struct attn_kind *kind = attn_kind_find(attention);
    const size_t width = attn_kind_width(attention);
    const size_t largest = kind->largest   ? kind->largest(attention, n_key)
                           : width < n_key ? width
                                           : n_key;
    const size_t n_step = kind->has_steps && n_key > 0 ? (n_key - 1) / attention->stride : 0;

    return n_step < n_key - largest ? largest + n_step : n_key;
}

bool attn_keys_are_near(const struct attn_attention *attention)
{
    const struct attn_kind *kind = attn_kind_find(attention);

    return kind->is_near || (kind->span && !kind->has_steps);
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

enum attn_status attn_key_mask_check(const int32_t *mask, size_t n, int32_t most,
                                     struct attn_error *err)
{
    size_t n_seen = 0;

    for (size_t i = 0; i < n; i++) {
        if (mask[i] < 0 || mask[i] > most)
            return attn_error_set(err, ATTN_INVALID,
                                  "item %zu of `key_mask` is %d, expected 0 or 1", i, (int)mask[i]);
        n_seen += mask[i] == 1;
    }
    if (n_seen > 0)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "`key_mask` is 0 for all keys, expected a 1: then there would be nothing "
                          "to look at");
}

size_t attn_key_mask_count(const int32_t *mask, size_t n)
{
    size_t n_seen = 0;

    for (size_t i = 0; i < n; i++)
        n_seen += attn_key_mask_keeps(mask, i);
    return n_seen;
}

size_t attn_key_mask_last(const int32_t *mask, size_t n)
{
    while (n > 1 && !attn_key_mask_keeps(mask, n - 1))
        n--;
    return n - 1;
}

enum attn_status attn_key_mask_check_kind(const struct attn_attention *attention,
                                          struct attn_error *err)
{
    if (attention->kind != ATTN_ATTENTION_LINEAR && attention->kind != ATTN_ATTENTION_LOWRANK)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "'%s' attention takes no `key_mask`, which makes scores of keys -inf: it "
                          "has none",
                          attn_attention_kind_name(attention->kind));
}

/* --- the kinds of models ---------------------------------------------------------------------- */

struct attn_key_span attn_keys_near(const struct attn_attention *attention,
                                    const struct attn_key_row *row)
{
    const size_t i = row->position, n = row->n_key, width = attn_kind_width(attention);
    const struct attn_mask_block *block = find_block(attention, i);
    const size_t first = i < width || (block && block->ignores_window) ? 0 : i - width + 1;
    const size_t last = !block && i < n && width < n - i ? i + width : n;

    return (struct attn_key_span){first < last ? first : last, last};
}

size_t attn_keys_largest_near(const struct attn_attention *attention, size_t n_key)
{
    const size_t width = attn_kind_width(attention);
    size_t n_block = 0;

    for (size_t i = 0; i < attn_attention_n_block(attention); i++) {
        const struct attn_mask_block *block = attn_attention_block(attention, i);
        const size_t size = block->end - (block->ignores_window ? 0 : block->first);

        n_block = size > n_block ? size : n_block;
    }
    if (width >= n_key || n_block >= n_key - width ||
        (attention->mask != ATTN_MASK_CAUSAL && width > n_key / 2))
        return n_key;
    return attention->mask == ATTN_MASK_CAUSAL ? width + n_block : 2 * width - 1;
}

const struct attn_kind attn_kind_full = {
    ATTN_KIND_NEAR,
    .summary = "all keys",
};

const struct attn_kind attn_kind_window = {
    ATTN_KIND_NEAR,
    .summary = "keys less than W away",
    .params = {ATTN_KIND_COUNT("W", window, false)},
};
