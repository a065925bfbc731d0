/* fold_keys.c - see fold_internal.h: items whose rows differ, as one for each token of a text.
 * Their rows are matched by the columns that name them. */
#include "machine/fold_internal.h"

#include "base/hash.h"
#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Whether column I of the items' tables names the row. */
static bool is_name(const struct attn_fold *fold, size_t i)
{
    return fold->columns[i].role == ATTN_FOLD_KEY &&
           !attn_fold_has_trait(fold, fold->columns[i].place, ATTN_TRAIT_DETAIL);
}

/* Returns a hash of the cells that name ROW of TABLE. */
static uint64_t hash_row(const struct attn_fold *fold, const struct attn_table *table, size_t row)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < fold->n_column; i++) {
        const struct attn_cell cell = attn_table_cell(table, row, i);

        if (!is_name(fold, i))
            continue;
        if (cell.type == ATTN_VALUE_TEXT)
            hash = attn_hash_bytes(hash, cell.text, cell.size);
        else
            hash = attn_hash_bytes(hash, (const char *)&cell.integer, sizeof cell.integer);
    }
    return hash;
}

/* Whether ROW of TABLE has the name of row NUMBER of the fold. */
static bool is_same(const struct attn_fold *fold, const struct attn_table *table, size_t row,
                    size_t number)
{
    for (size_t i = 0; i < fold->n_column; i++) {
        const struct attn_cell a = attn_table_cell(table, row, i);
        const struct attn_cell b = attn_table_cell(fold->first, number, i);

        if (is_name(fold, i) && !attn_cell_is_equal(&a, &b))
            return false;
    }
    return true;
}

/* Returns the slot of ROW of TABLE in the index: one with its number in the fold, or an empty one.
 */
static size_t *find_slot(const struct attn_fold *fold, const struct attn_table *table, size_t row)
{
    size_t at = (size_t)hash_row(fold, table, row) & (fold->n_slot - 1);

    while (fold->slots[at] > 0 && !is_same(fold, table, row, fold->slots[at] - 1))
        at = (at + 1) & (fold->n_slot - 1);
    return &fold->slots[at];
}

/* Gives the index room for N rows. */
static enum attn_status grow_index(struct attn_fold *fold, size_t n, struct attn_error *err)
{
    size_t n_slot = fold->n_slot > 0 ? fold->n_slot : 64;

    while (n_slot < 2 * n)
        n_slot *= 2;
    if (n_slot == fold->n_slot)
        return ATTN_OK;
    attn_free(fold->slots);
    fold->n_slot = 0;
    ATTN_TRY(ATTN_ALLOC(fold->slots, n_slot, err));
    fold->n_slot = n_slot;
    for (size_t row = 0; row < fold->n_row; row++)
        *find_slot(fold, fold->first, row) = row + 1;
    return ATTN_OK;
}

/* Replaces *ARRAY, of N elements of SIZE bytes, by one of N_NEW with zeros at its end. */
static enum attn_status lengthen(void *array, size_t n, size_t n_new, size_t size,
                                 struct attn_error *err)
{
    void *old, *made = attn_alloc(n_new, size, err);

    if (!made)
        return ATTN_NO_MEMORY;
    memcpy(&old, array, sizeof old);
    if (n > 0)
        memcpy(made, old, n * size);
    attn_free(old);
    memcpy(array, &made, sizeof made);
    return ATTN_OK;
}

/* Gives the arrays of the fold and its groups room for N_ROW rows. Units lack the new ones. */
static enum attn_status widen(struct attn_fold *fold, size_t n_row, struct attn_error *err)
{
    const size_t n = fold->n_row * fold->n_column, n_new = n_row * fold->n_column;
    const size_t n_value = fold->n_value_of_row * n_row;

    assert(fold->n_kept == 0);
    ATTN_TRY(lengthen(&fold->differs, n, n_new, sizeof *fold->differs, err));
    for (size_t i = 0; i < fold->n_group; i++) {
        struct attn_fold_group *group = &fold->groups[i];
        double *values;

        ATTN_TRY(lengthen(&group->moments, n, n_new, sizeof *group->moments, err));
        ATTN_TRY(ATTN_ALLOC(values, group->n_unit * n_value, err));
        for (size_t k = 0; k < group->n_unit * n_value; k++)
            values[k] = k % n_value < fold->n_value
                            ? group->values[k / n_value * fold->n_value + k % n_value]
                        : fold->study->cluster ? 0
                                               : (double)NAN;
        attn_free(group->values);
        group->values = values;
        group->capacity = group->n_unit * n_value;
    }
    fold->n_row = n_row;
    fold->n_value = n_value;
    return ATTN_OK;
}

enum attn_status attn_fold_keys_add(struct attn_fold *fold, const struct attn_table *table,
                                    struct attn_error *err)
{
    const size_t n_before = fold->n_row, n = attn_table_n_row(table);
    struct attn_cell cells[ATTN_MOST_COLUMNS];
    size_t n_new;

    ATTN_TRY(grow_index(fold, n_before + n, err));
    ATTN_TRY(ATTN_GROW(fold->following, fold->following_capacity, n_before + n + 1, err));
    if (n_before == 0)
        fold->following[0] = 0;
    for (size_t row = 0, before = 0; row < n; row++) {
        size_t *slot = find_slot(fold, table, row);

        if (*slot == 0) {
            for (size_t i = 0; i < fold->n_column; i++)
                cells[i] = attn_table_cell(table, row, i);
            ATTN_TRY(attn_table_append(fold->first, cells, fold->n_column, err));
            *slot = attn_table_n_row(fold->first);
            fold->following[*slot] = fold->following[before];
            fold->following[before] = *slot;
        }
        before = *slot;
    }
    n_new = attn_table_n_row(fold->first);
    return n_new > n_before ? widen(fold, n_new, err) : ATTN_OK;
}

enum attn_status attn_fold_keys_find(const struct attn_fold *fold, const struct attn_table *table,
                                     size_t **places, struct attn_error *err)
{
    ATTN_TRY(ATTN_ALLOC(*places, fold->n_row + 1, err));
    for (size_t row = 0; row < attn_table_n_row(table); row++)
        (*places)[*find_slot(fold, table, row) - 1] = row + 1;
    return ATTN_OK;
}
