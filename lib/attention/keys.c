/* keys.c - kind and mask together: the kept keys of a row, and how many pairs a matrix has. */
#include "attention/keys.h"

#include "attention/kinds.h"

/* ROW with the keys that a causal mask leaves. */
static struct attn_key_row see(const struct attn_attention *attention,
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
    const struct attn_key_row seen = see(attention, row);
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
    if (matrix->cells == NULL || (matrix->n_query == n_query && matrix->n_key == n_key &&
                                  (matrix->n_head == 1 || matrix->n_head == n_head)))
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "the %s is [%zu, %zu, %zu], expected [1, %zu, %zu] or [%zu, %zu, %zu]: "
                          "heads, queries and keys",
                          what, matrix->n_head, matrix->n_query, matrix->n_key, n_query, n_key,
                          n_head, n_query, n_key);
}

bool attn_keys_are_together(const struct attn_attention *attention)
{
    return attn_kind_find(attention)->is_together;
}

static size_t count_row(const struct attn_attention *attention, const struct attn_key_row *row)
{
    const struct attn_kind *kind = attn_kind_find(attention);
    const struct attn_key_row seen = see(attention, row);
    const unsigned char *cells;
    size_t n = 0;

    if (attention->mask != ATTN_MASK_MATRIX)
        return kind->count(attention, &seen);
    cells = cells_of(&attention->matrix, row);
    for (size_t j = 0; j < seen.n_key; j++)
        n += cells[j] && kind->keeps(attention, &seen, j);
    return n;
}

uint64_t attn_attention_n_pair(const struct attn_attention *attention, size_t n_query, size_t n_key,
                               int layer, int head)
{
    const size_t ahead = attention->mask == ATTN_MASK_CAUSAL ? n_key - n_query : 0;
    uint64_t n_pair = 0;

    if (attention->kind == ATTN_ATTENTION_LINEAR)
        return 0;
    if (attention->kind == ATTN_ATTENTION_LOWRANK)
        return __builtin_mul_overflow(n_query, attention->count, &n_pair) ? UINT64_MAX : n_pair;
    for (size_t query = 0; query < n_query; query++) {
        const struct attn_key_row row = {layer, head, query, query + ahead, n_key};

        n_pair += count_row(attention, &row);
    }
    return n_pair;
}
