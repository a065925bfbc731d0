/* fold_groups.c - see fold_internal.h: the moments of the numbers of a group, and the means. */
#include "means/fold_internal.h"

#include "base/hash.h"
#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* --- Keys ------------------------------------------------------------------------------------- */

/* Items whose rows differ, as one for each token of a text. Their rows are matched by the columns
 * that name them. */

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
    size_t at = (size_t)hash_row(fold, table, row) & (fold->keys.n_slot - 1);

    while (fold->keys.slots[at] > 0 && !is_same(fold, table, row, fold->keys.slots[at] - 1))
        at = (at + 1) & (fold->keys.n_slot - 1);
    return &fold->keys.slots[at];
}

/* Gives the index room for N rows. */
static enum attn_status grow_index(struct attn_fold *fold, size_t n, struct attn_error *err)
{
    size_t n_slot = fold->keys.n_slot > 0 ? fold->keys.n_slot : 64;

    while (n_slot < 2 * n)
        n_slot *= 2;
    if (n_slot == fold->keys.n_slot)
        return ATTN_OK;
    attn_free(fold->keys.slots);
    fold->keys.n_slot = 0;
    ATTN_TRY(ATTN_ALLOC(fold->keys.slots, n_slot, err));
    fold->keys.n_slot = n_slot;
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

/* Adds the rows of TABLE, of an item, that the fold does not have, each after the row before it. */
static enum attn_status add_keys(struct attn_fold *fold, const struct attn_table *table,
                                 struct attn_error *err)
{
    const size_t n_before = fold->n_row, n = attn_table_n_row(table);
    struct attn_cell cells[ATTN_MOST_COLUMNS];
    size_t n_new;

    ATTN_TRY(grow_index(fold, n_before + n, err));
    ATTN_TRY(ATTN_GROW(fold->keys.following, fold->keys.following_capacity, n_before + n + 1, err));
    if (n_before == 0)
        fold->keys.following[0] = 0;
    for (size_t row = 0, before = 0; row < n; row++) {
        size_t *slot = find_slot(fold, table, row);

        if (*slot == 0) {
            for (size_t i = 0; i < fold->n_column; i++)
                cells[i] = attn_table_cell(table, row, i);
            ATTN_TRY(attn_table_append(fold->first, cells, fold->n_column, err));
            *slot = attn_table_n_row(fold->first);
            fold->keys.following[*slot] = fold->keys.following[before];
            fold->keys.following[before] = *slot;
        }
        before = *slot;
    }
    n_new = attn_table_n_row(fold->first);
    return n_new > n_before ? widen(fold, n_new, err) : ATTN_OK;
}

/* Finds the rows of the fold in TABLE, whose rows were added: PLACES [n_row] counts from 1; 0: the
 * item lacks the row. The caller owns *PLACES even after a failure. */
static enum attn_status find_keys(const struct attn_fold *fold, const struct attn_table *table,
                                  size_t **places, struct attn_error *err)
{
    ATTN_TRY(ATTN_ALLOC(*places, fold->n_row + 1, err));
    for (size_t row = 0; row < attn_table_n_row(table); row++)
        (*places)[*find_slot(fold, table, row) - 1] = row + 1;
    return ATTN_OK;
}

enum { MOST_GROUPS = 1000 };

/* --- Groups ----------------------------------------------------------------------------------- */

void attn_fold_group_release(const struct attn_fold *fold, struct attn_fold_group *group)
{
    attn_fold_labels_free(group->labels, fold->n_copied);
    for (size_t i = 0; group->clusters && i < group->n_unit; i++)
        attn_free(group->clusters[i].text);
    attn_free(group->clusters);
    attn_free(group->moments);
    attn_free(group->values);
    attn_free(group->more);
}

/* Finds or creates the group with *LABELS. A new group takes ownership, and *LABELS becomes
 * NULL. */
static enum attn_status find_group(struct attn_fold *fold, struct attn_fold_label **labels,
                                   struct attn_fold_group **group, struct attn_error *err)
{
    struct attn_fold_group *made;

    for (size_t i = 0; i < fold->n_group; i++) {
        struct attn_fold_label *known = fold->groups[i].labels;
        size_t k = 0;

        while (k < fold->n_label && known[k].size == (*labels)[k].size &&
               memcmp(known[k].text, (*labels)[k].text, known[k].size) == 0)
            k++;
        if (k < fold->n_label)
            continue;
        for (k = 0; k < fold->n_label; k++) /* compared as text: true and "true" are one group */
            if (known[k].type != (*labels)[k].type)
                known[k].type = ATTN_VALUE_TEXT;
        *group = &fold->groups[i];
        return ATTN_OK;
    }
    if (fold->n_group == MOST_GROUPS)
        return attn_error_set(err, ATTN_INVALID,
                              "`group_by` '%s' has more than %d values, expected a label of "
                              "conditions",
                              attn_quote_string(fold->study->group_by).text, MOST_GROUPS);
    ATTN_TRY(ATTN_GROW(fold->groups, fold->group_capacity, fold->n_group + 1, err));
    made = &fold->groups[fold->n_group];
    *made = (struct attn_fold_group){
        .moments = attn_alloc(fold->n_row * fold->n_column, sizeof *made->moments, err),
        .more = attn_alloc(fold->n_more, sizeof *made->more, err)};
    made->labels = *labels;
    *labels = NULL;
    fold->n_group++;
    if (!made->moments || !made->more)
        return ATTN_NO_MEMORY;
    *group = made;
    return ATTN_OK;
}

/* --- Items ------------------------------------------------------------------------------------ */

double attn_fold_number_of(const struct attn_cell *cell)
{
    return cell->type == ATTN_VALUE_MISSING ? (double)NAN
           : cell->type == ATTN_VALUE_REAL  ? cell->real
                                            : (double)cell->integer;
}

struct item_rows {
    const struct attn_table *table; /* borrowed; or NULL */
    const double *beside;           /* [n_more] borrowed; or NULL */
    size_t *places;                 /* owns; its rows, from 1; NULL: those of the fold */
};

static struct attn_cell cell_at(const struct item_rows *rows, size_t row, size_t column)
{
    if (!rows->places)
        return attn_table_cell(rows->table, row, column);
    return rows->places[row] > 0 ? attn_table_cell(rows->table, rows->places[row] - 1, column)
                                 : attn_cell_missing();
}

/* Returns a cell of A; with B, the difference B - A. */
static struct attn_cell cell_of(const struct item_rows *a, const struct item_rows *b, size_t row,
                                size_t column)
{
    const struct attn_cell x = cell_at(a, row, column);
    struct attn_cell y;

    if (!b->table)
        return x;
    y = cell_at(b, row, column);
    return x.type == ATTN_VALUE_MISSING || y.type == ATTN_VALUE_MISSING
               ? attn_cell_missing()
               : attn_cell_real(attn_fold_number_of(&y) - attn_fold_number_of(&x));
}

/* Adds a CELL with a number to the MOMENTS of its column. *WEIGHT is the last count of the row. */
static void add_cell(enum attn_fold_role role, const struct attn_cell *cell,
                     struct attn_moments *moments, double *weight)
{
    const double x = attn_fold_number_of(cell);

    if (cell->type == ATTN_VALUE_MISSING)
        return;
    if (role == ATTN_FOLD_COUNT) {
        moments->n++;
        moments->mean += *weight = x;
    } else if (role == ATTN_FOLD_WEIGHTED) {
        moments->n++;
        moments->squares += *weight;
        moments->mean +=
            moments->squares > 0 ? (x - moments->mean) * *weight / moments->squares : 0;
    } else {
        attn_moments_add(moments, x);
    }
}

/* Compares the key in COLUMN of ROW, of item A, with that of the first item. */
static void add_key(const struct attn_fold *fold, const struct item_rows *a, size_t row,
                    size_t column, bool *differs)
{
    struct attn_cell cell, first;

    if (*differs || (a->places && a->places[row] == 0))
        return;
    cell = cell_at(a, row, column);
    first = attn_table_cell(fold->first, row, column);
    *differs = !attn_cell_is_equal(&cell, &first);
}

/* Adds the numbers beside the rows of A, or the differences B - A, to the means of GROUP, which
 * already counts the item. VALUES are those of its unit. */
static void add_more(struct attn_fold *fold, struct attn_fold_group *group,
                     const struct item_rows *a, const struct item_rows *b, double *values)
{
    for (size_t i = 0; a->beside && (!b->table || b->beside) && i < fold->n_more; i++) {
        const double x = b->beside ? b->beside[i] - a->beside[i] : a->beside[i];

        group->more[i] += (x - group->more[i]) / (double)group->n;
        if (i < fold->n_kept)
            values = attn_fold_unit_add(fold, values, x);
    }
}

/* Adds the rows of A, or the differences B - A, for an item of CLUSTER. */
static enum attn_status add_rows(struct attn_fold *fold, struct attn_fold_group *group,
                                 const struct attn_fold_label *cluster, const struct item_rows *a,
                                 const struct item_rows *b, struct attn_error *err)
{
    struct attn_moments *moments = group->moments;
    bool *differs = fold->differs;
    double *value = NULL, weight = 0;

    if (fold->n_value > 0)
        ATTN_TRY(attn_fold_unit_find(fold, group, cluster, &value, err));
    for (size_t row = 0; row < fold->n_row; row++)
        for (size_t column = 0; column < fold->n_column; column++, moments++, differs++) {
            const enum attn_fold_role role = fold->columns[column].role;
            struct attn_cell cell;

            /* has no mean, but counts the items that have the row */
            if (role == ATTN_FOLD_DERIVED)
                moments->n += cell_at(a, row, column).type != ATTN_VALUE_MISSING;
            if (role == ATTN_FOLD_KEY)
                add_key(fold, a, row, column, differs);
            if (role == ATTN_FOLD_DERIVED || role == ATTN_FOLD_KEY)
                continue;
            cell = cell_of(a, b, row, column);
            if (role == ATTN_FOLD_MEAN && fold->n_value > 0)
                value = attn_fold_unit_add(fold, value, attn_fold_number_of(&cell));
            add_cell(role, &cell, moments, &weight);
        }
    group->n++;
    add_more(fold, group, a, b, value);
    return ATTN_OK;
}

enum attn_status attn_fold_group_add(struct attn_fold *fold, struct attn_fold_label **labels,
                                     const struct attn_result_answer *a,
                                     const struct attn_result_answer *b, struct attn_error *err)
{
    const struct attn_fold_label *cluster = *labels + fold->n_label;
    struct item_rows rows[2] = {{.table = a->rows, .beside = a->beside},
                                {.table = b ? b->rows : NULL, .beside = b ? b->beside : NULL}};
    struct attn_fold_group *group = NULL;
    enum attn_status status = ATTN_OK;

    for (int i = 0; fold->form.is_keyed && i < 2 && rows[i].table; i++)
        ATTN_TRY(add_keys(fold, rows[i].table, err));
    for (int i = 0; fold->form.is_keyed && status == ATTN_OK && i < 2 && rows[i].table; i++)
        status = find_keys(fold, rows[i].table, &rows[i].places, err);
    ATTN_THEN(status, find_group(fold, labels, &group, err));
    ATTN_THEN(status, add_rows(fold, group, cluster, &rows[0], &rows[1], err));
    attn_free(rows[0].places);
    attn_free(rows[1].places);
    return status;
}
