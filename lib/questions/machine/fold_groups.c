/* fold_groups.c - see fold_internal.h: the moments of the numbers of a group, and the means. */
#include "machine/fold_internal.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

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
                                     const struct attn_item_result *a,
                                     const struct attn_item_result *b, struct attn_error *err)
{
    const struct attn_fold_label *cluster = *labels + fold->n_label;
    struct item_rows rows[2] = {{.table = a->rows, .beside = a->beside},
                                {.table = b ? b->rows : NULL, .beside = b ? b->beside : NULL}};
    struct attn_fold_group *group = NULL;
    enum attn_status status = ATTN_OK;

    for (int i = 0; fold->form.is_keyed && i < 2 && rows[i].table; i++)
        ATTN_TRY(attn_fold_keys_add(fold, rows[i].table, err));
    for (int i = 0; fold->form.is_keyed && status == ATTN_OK && i < 2 && rows[i].table; i++)
        status = attn_fold_keys_find(fold, rows[i].table, &rows[i].places, err);
    ATTN_THEN(status, find_group(fold, labels, &group, err));
    ATTN_THEN(status, add_rows(fold, group, cluster, &rows[0], &rows[1], err));
    attn_free(rows[0].places);
    attn_free(rows[1].places);
    return status;
}
