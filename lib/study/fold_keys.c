/* fold_keys.c - see fold_internal.h: items whose rows differ, as one for each token of a text.
 * Their rows are matched by the columns that name them. */
#include "study/fold_internal.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/status_internal.h"

#include <string.h>

/* Returns a hash of the cells that name ROW of TABLE. */
static uint64_t hash_row(const struct attn_fold *fold, const struct attn_table *table, size_t row)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < fold->n_column; i++) {
        const struct attn_cell cell = attn_table_cell(table, row, i);

        if (fold->columns[i].role != ATTN_FOLD_KEY)
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

        if (fold->columns[i].role == ATTN_FOLD_KEY && !attn_cell_is_equal(&a, &b))
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

/* Appends the rows of TABLE that the fold does not have. */
static enum attn_status add_rows(struct attn_fold *fold, const struct attn_table *table,
                                 struct attn_error *err)
{
    const size_t n = fold->n_row * fold->n_column;
    struct attn_cell cells[ATTN_MOST_COLUMNS];
    size_t n_new;

    for (size_t row = 0; row < attn_table_n_row(table); row++) {
        size_t *slot = find_slot(fold, table, row);

        if (*slot > 0)
            continue;
        for (size_t i = 0; i < fold->n_column; i++)
            cells[i] = attn_table_cell(table, row, i);
        ATTN_TRY(attn_table_append(fold->first, cells, fold->n_column, err));
        *slot = attn_table_n_row(fold->first);
    }
    n_new = attn_table_n_row(fold->first) * fold->n_column;
    if (n_new == n)
        return ATTN_OK;
    ATTN_TRY(lengthen(&fold->differs, n, n_new, sizeof *fold->differs, err));
    for (size_t i = 0; i < fold->n_group; i++)
        ATTN_TRY(
            lengthen(&fold->groups[i].moments, n, n_new, sizeof *fold->groups[i].moments, err));
    fold->n_row = attn_table_n_row(fold->first);
    return ATTN_OK;
}

/* Fills ALIGNED, which is empty, with the rows of the fold: those of TABLE, the others without
 * values. ROWS [n_row] is scratch. */
static enum attn_status fill(const struct attn_fold *fold, const struct attn_table *table,
                             size_t *rows, struct attn_table *aligned, struct attn_error *err)
{
    struct attn_cell cells[ATTN_MOST_COLUMNS];

    for (size_t row = 0; row < attn_table_n_row(table); row++)
        rows[*find_slot(fold, table, row) - 1] = row + 1;
    for (size_t row = 0; row < fold->n_row; row++) {
        for (size_t i = 0; i < fold->n_column; i++)
            cells[i] = fold->columns[i].role == ATTN_FOLD_KEY ? attn_table_cell(fold->first, row, i)
                       : rows[row] > 0 ? attn_table_cell(table, rows[row] - 1, i)
                                       : attn_cell_missing();
        ATTN_TRY(attn_table_append(aligned, cells, fold->n_column, err));
    }
    return ATTN_OK;
}

enum attn_status attn_fold_keys_align(struct attn_fold *fold, const struct attn_table *table,
                                      struct attn_table **aligned, struct attn_error *err)
{
    struct attn_column columns[ATTN_MOST_COLUMNS] = {{0}};
    size_t *rows;
    enum attn_status status;

    ATTN_TRY(grow_index(fold, fold->n_row + attn_table_n_row(table), err));
    ATTN_TRY(add_rows(fold, table, err));
    for (size_t i = 0; i < fold->n_column; i++)
        columns[i] = *attn_table_column(table, i);
    ATTN_TRY(ATTN_ALLOC(rows, fold->n_row + 1, err));
    status = attn_table_create(attn_table_name(table), columns, fold->n_column, aligned, err);
    if (status == ATTN_OK)
        status = fill(fold, table, rows, *aligned, err);
    attn_free(rows);
    return status;
}

bool attn_fold_keys_have(const struct attn_fold *fold, const struct attn_fold_sample *sample,
                         size_t row)
{
    for (size_t i = 0; i < fold->n_column; i++)
        for (int side = 0; side < 2 && sample->groups[side]; side++)
            if (sample->groups[side]->moments[row * fold->n_column + i].n > 0)
                return true;
    return false;
}
