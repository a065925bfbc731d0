/* fold.c - see fold.h: adds items, and creates their table. fold_internal.h lists the other files
 * of the fold. */
#include "machine/fold_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "machine/significance.h"
#include "stream/items_internal.h"
#include "tables/table_order.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Whether the form has means of items, which are resampled and compared. */
static bool has_means(const struct attn_fold *fold)
{
    size_t place = 0;

    while (place < fold->form.n_column && attn_fold_column_of(fold, place).role != ATTN_FOLD_MEAN)
        place++;
    return place < fold->form.n_column;
}

enum attn_status attn_fold_create(const struct attn_fold_form *form,
                                  const struct attn_study_args *study, struct attn_fold **fold,
                                  struct attn_error *err)
{
    struct attn_fold *made;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->form = *form;
    made->study = study;
    status = attn_fold_labels_read(made, err);
    if (status == ATTN_OK && form->is_keyed && !has_means(made) &&
        (study->n_bootstrap > 0 || study->cluster || study->paired))
        status = attn_error_set(err, ATTN_INVALID,
                                "`%s` needs items with the same rows, and each text has its own "
                                "tokens",
                                study->paired    ? "paired"
                                : study->cluster ? "cluster"
                                                 : "bootstrap");
    ATTN_THEN(status, attn_fold_pairs_read(made, err));
    ATTN_RETURN_MADE(attn_error_at(status, ATTN_STAGE_OPTIONS, err), fold, made, attn_fold_free);
}

void attn_fold_free(struct attn_fold *fold)
{
    if (!fold)
        return;
    attn_fold_pairs_release(fold);
    for (size_t i = 0; i < fold->n_group; i++)
        attn_fold_group_release(fold, &fold->groups[i]);
    attn_free(fold->groups);
    attn_free(fold->differs);
    attn_free(fold->slots);
    attn_free(fold->following);
    attn_free(fold->columns);
    attn_table_free(fold->first);
    attn_free(fold->names);
    attn_free(fold);
}

/* Lists the columns of the form that are not HIDDEN, and returns their number. */
static size_t list_shown(const struct attn_fold *fold, const bool *hidden,
                         struct attn_fold_column columns[ATTN_MOST_COLUMNS])
{
    size_t n = 0;

    for (size_t place = 0; place < fold->form.n_column; place++)
        if (!hidden[place])
            columns[n++] = attn_fold_column_of(fold, place);
    return n;
}

enum attn_status attn_fold_check_test(const struct attn_fold *fold, const bool *hidden,
                                      struct attn_error *err)
{
    const char *name = fold->study->fdr;
    struct attn_fold_column columns[ATTN_MOST_COLUMNS];
    const size_t n = list_shown(fold, hidden, columns);

    for (size_t i = 0; name && i < n; i++)
        if (strcmp(columns[i].column.name, name) == 0 &&
            (columns[i].role == ATTN_FOLD_MEAN
                 ? columns[i].column.range == ATTN_RANGE_SIGNED || fold->study->paired
                 : columns[i].role == ATTN_FOLD_DERIVED &&
                       columns[i].column.range == ATTN_RANGE_SHARE))
            return ATTN_OK;
    if (!name)
        return ATTN_OK;
    return attn_refuse(err, ATTN_STAGE_OPTIONS,
                       "`fdr` is '%s', expected a column of means on both sides of 0, as change",
                       attn_quote_string(name).text);
}

enum attn_status attn_fold_check_sort(const struct attn_fold *fold, const bool *hidden,
                                      const char *sort, struct attn_error *err)
{
    struct attn_table_order order = ATTN_TABLE_ORDER_DEFAULT;
    struct attn_fold_column columns[ATTN_MOST_COLUMNS];
    const size_t n = list_shown(fold, hidden, columns);
    struct attn_table *table, *sorted = NULL;
    enum attn_status status;

    order.sort = sort;
    order.columns = fold->study->columns;
    order.where = fold->study->where;
    order.n_where = fold->study->n_where;
    ATTN_TRY(attn_fold_layout_create(fold, columns, n, &table, err));
    status = attn_fold_layout_fill(fold, columns, n, table, err);
    ATTN_THEN(status, attn_table_sort(table, &order, &sorted, err));
    attn_table_free(sorted);
    attn_table_free(table);
    return status;
}

/* Returns the index of COLUMN in the form. Shown columns differ in name, type, notation or
 * range. */
static size_t find_place(const struct attn_fold_form *form, const struct attn_column *column)
{
    size_t place = 0;

    while (strcmp(form->columns[place].name, column->name) != 0 ||
           form->columns[place].type != column->type || form->columns[place].role != column->role ||
           form->columns[place].notation != column->notation ||
           form->columns[place].range != column->range) {
        place++;
        assert(place < form->n_column);
    }
    return place;
}

/* Stores the shape and the keys that all items must share, from RESULT, the first item. */
static enum attn_status begin(struct attn_fold *fold, const struct attn_item_result *result,
                              struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(result->rows),
                 n_column = attn_table_n_column(result->rows);

    fold->chosen = result->chosen ? result->chosen : result->metric;
    ATTN_TRY(attn_fold_table_copy(result->rows, &fold->first, err));
    ATTN_TRY(ATTN_ALLOC(fold->columns, n_column, err));
    ATTN_TRY(ATTN_ALLOC(fold->differs, n_row * n_column, err));
    for (size_t i = 0; i < n_column; i++) {
        const struct attn_column *column = attn_table_column(fold->first, i);

        fold->columns[i] = attn_fold_column_of(fold, find_place(&fold->form, column));
        fold->n_mean += fold->columns[i].role == ATTN_FOLD_MEAN;
    }
    if (fold->form.is_keyed)
        attn_table_reset(fold->first);
    fold->n_row = attn_table_n_row(fold->first);
    fold->n_column = n_column;
    fold->n_more = result->n_beside;
    fold->n_value_of_row = (fold->study->cluster           ? 2
                            : fold->study->n_bootstrap > 0 ? 1
                                                           : 0) *
                           fold->n_mean;
    if (fold->study->n_bootstrap > 0 && attn_fold_has_any(fold, ATTN_TRAIT_BOUNDED))
        fold->n_kept = fold->n_more;
    fold->n_value =
        fold->n_row * fold->n_value_of_row + fold->n_kept * (fold->study->cluster ? 2 : 1);
    atomic_store(&fold->has_first, true);
    return ATTN_OK;
}

/* Returns an error if a table of N_ROW rows and N_COLUMN columns does not match the first item. */
static enum attn_status check_size(const struct attn_fold *fold, size_t n_row, size_t n_column,
                                   struct attn_error *err)
{
    return n_column == fold->n_column && (fold->form.is_keyed || n_row == fold->n_row)
               ? ATTN_OK
               : attn_error_set(err, ATTN_INVALID,
                                "its table is %zu rows of %zu columns, that of the first item %zu "
                                "of %zu",
                                n_row, n_column, fold->n_row, fold->n_column);
}

/* Returns an error if the rows of TABLE do not match those of the first item. */
static enum attn_status check_rows(const struct attn_fold *fold, const struct attn_table *table,
                                   struct attn_error *err)
{
    const size_t n_column = attn_table_n_column(table);

    ATTN_TRY(check_size(fold, attn_table_n_row(table), n_column, err));
    if (fold->form.is_keyed)
        return ATTN_OK;
    for (size_t i = 0; i < fold->n_row * n_column; i++) {
        const size_t row = i / n_column, column = i % n_column;
        struct attn_cell cell, first;

        if (!attn_fold_has_trait(fold, fold->columns[column].place, ATTN_TRAIT_NAME))
            continue;
        cell = attn_table_cell(table, row, column);
        first = attn_table_cell(fold->first, row, column);
        if (!attn_cell_is_equal(&cell, &first))
            return attn_error_set(err, ATTN_INVALID,
                                  "row %zu is of '%s', that of the first item "
                                  "of '%s'",
                                  row + 1, attn_quote(cell.text, cell.size).text,
                                  attn_quote(first.text, first.size).text);
    }
    return ATTN_OK;
}

/* Checks all of RESULT that comes before its rows. */
static enum attn_status check_item(const struct attn_fold *fold,
                                   const struct attn_item_result *result, struct attn_error *err)
{
    const char *chosen = result->chosen;
    bool is_of_right;

    ATTN_TRY(attn_fold_labels_check(fold, result->item, err));
    if (!atomic_load(&fold->has_first) || !chosen || !fold->chosen ||
        strcmp(chosen, fold->chosen) == 0)
        return ATTN_OK;
    is_of_right = strncmp(chosen, "right", 5) == 0;
    if (is_of_right && strncmp(fold->chosen, "right", 5) != 0)
        return ATTN_OK; /* the first item has no `right` */
    return attn_error_set(
        err, ATTN_INVALID, "it has %s foil, unlike the first item, so %s",
        strcmp(chosen, "logit_diff") == 0 || strcmp(chosen, ATTN_CHOSEN_OF_FOIL) == 0 ? "a" : "no",
        is_of_right ? "right compares with another answer" : "its metric is another one");
}

/* Adds the hint of the form to the failure STATUS. */
static enum attn_status with_hint(enum attn_status status, const struct attn_fold *fold,
                                  struct attn_error *err)
{
    if (status != ATTN_OK && fold->form.hint)
        attn_error_hint(err, "%s", fold->form.hint);
    return status;
}

enum attn_status attn_fold_check_size(const struct attn_fold *fold,
                                      const struct attn_item_result *result, size_t n_row,
                                      size_t n_column, struct attn_error *err)
{
    ATTN_TRY(check_item(fold, result, err));
    return atomic_load(&fold->has_first)
               ? with_hint(check_size(fold, n_row, n_column, err), fold, err)
               : ATTN_OK;
}

enum attn_status attn_fold_check(const struct attn_fold *fold,
                                 const struct attn_item_result *result, struct attn_error *err)
{
    if (!result->rows || !fold->first)
        return attn_fold_labels_check(fold, result->item, err);
    ATTN_TRY(check_item(fold, result, err));
    return with_hint(check_rows(fold, result->rows, err), fold, err);
}

int attn_fold_side(const struct attn_fold *fold, const struct attn_item *item)
{
    const struct attn_item_label *label =
        fold->pairing.of.label ? attn_item_label(item, fold->pairing.of.label) : NULL;

    for (int side = 0; label && side < 2; side++)
        if (attn_fold_label_size(label) == strlen(fold->pairing.of.sides[side]) &&
            strcmp(label->text, fold->pairing.of.sides[side]) == 0)
            return side;
    return -1;
}

enum attn_status attn_fold_add(struct attn_fold *fold, const struct attn_item_result *result,
                               struct attn_error *err)
{
    const int side = fold->pairing.of.label ? attn_fold_side(fold, result->item) : 0;
    struct attn_fold_label *labels;
    enum attn_status status;

    if (side < 0)
        return ATTN_OK;
    if (!fold->first)
        ATTN_TRY(begin(fold, result, err));
    assert(result->n_beside == fold->n_more);
    if (fold->pairing.of.label)
        return attn_fold_pairs_add(fold, result, side == 1, err);
    ATTN_TRY(ATTN_NEW(labels, attn_fold_labels_copy(fold, result->item, err)));
    status = attn_fold_group_add(fold, &labels, result, NULL, err);
    attn_fold_labels_free(labels, fold->n_copied);
    return status;
}

const char *attn_fold_chosen(const struct attn_fold *fold)
{
    return fold->chosen;
}

void attn_fold_count(const struct attn_fold *fold, struct attn_study_sum *sum, size_t *n_single)
{
    sum->n_group = fold->n_label > 0 ? fold->n_group : 0;
    sum->n_label = fold->n_label;
    sum->n_pair = fold->pairing.n_pair;
    *n_single = fold->pairing.n_single;
}

/* Returns true if some item of SAMPLE has ROW. */
static bool has_row(const struct attn_fold *fold, const struct attn_fold_sample *sample, size_t row)
{
    for (size_t i = 0; i < fold->n_column; i++)
        for (int side = 0; side < 2 && sample->groups[side]; side++)
            if (sample->groups[side]->moments[row * fold->n_column + i].n > 0)
                return true;
    return false;
}

/* Appends the rows of SAMPLE to TABLE. SAMPLE must be {0}. */
static enum attn_status append_sample(const struct attn_fold *fold, size_t number,
                                      struct attn_fold_sample *sample, struct attn_cell *cells,
                                      struct attn_table *table, struct attn_error *err)
{
    struct attn_buffer names[ATTN_FOLD_MOST_LABELS] = {{0}};
    enum attn_status status = attn_fold_sample_begin(fold, number, sample, err);

    if (status == ATTN_OK) {
        status = attn_fold_sample_compute(fold, sample, err);
        if (status != ATTN_OK && fold->n_label > 0)
            attn_error_hint(err, "of the items whose '%s' is '%s'", fold->labels[0],
                            attn_quote_string(sample->groups[0]->labels[0].text).text);
    }
    ATTN_THEN(status, attn_fold_labels_fill(fold, sample->groups, names, cells, err));
    for (size_t i = 0, row = 0; status == ATTN_OK && i < fold->n_row; i++) {
        row = fold->form.is_keyed ? fold->following[row] : i + 1;
        if (!fold->form.is_keyed || has_row(fold, sample, row - 1))
            status = attn_fold_layout_append(fold, sample, row - 1, cells, table, err);
    }
    for (size_t i = 0; i < fold->n_label; i++)
        attn_buffer_release(&names[i]);
    return status;
}

/* Fills the column q of TABLE from the column p before it. */
static enum attn_status find_q(struct attn_table *table, struct attn_error *err)
{
    const size_t n = attn_table_n_row(table), column = attn_table_find(table, "q");
    double *p = attn_alloc(n, sizeof *p, err), **order = attn_alloc(n, sizeof *order, err);
    const enum attn_status status = p && order ? ATTN_OK : ATTN_NO_MEMORY;

    for (size_t row = 0; status == ATTN_OK && row < n; row++) {
        const struct attn_cell cell = attn_table_cell(table, row, column - 1);

        p[row] = attn_fold_number_of(&cell);
    }
    if (status == ATTN_OK)
        attn_false_discovery(p, n, order);
    for (size_t row = 0; status == ATTN_OK && row < n; row++)
        if (!isnan(p[row]))
            attn_table_set_real(table, row, column, p[row]);
    attn_free(order);
    attn_free(p);
    return status;
}

enum attn_status attn_fold_tabulate(const struct attn_fold *fold, const bool *hidden,
                                    struct attn_table **table, struct attn_error *err)
{
    const size_t n_sample =
        fold->n_group + (fold->study->has_contrasts && fold->n_group > 1 ? fold->n_group - 1 : 0);
    /* without items: all columns that tables could have */
    struct attn_fold_column columns[ATTN_MOST_COLUMNS];
    const size_t n = list_shown(fold, hidden, columns);
    struct attn_table *made = NULL;
    struct attn_cell *cells;
    enum attn_status status;

    ATTN_TRY(fold->n_group > 0
                 ? attn_fold_layout_create(fold, fold->columns, fold->n_column, &made, err)
                 : attn_fold_layout_create(fold, columns, n, &made, err));
    status = ATTN_ALLOC(cells, attn_table_n_column(made), err);
    for (size_t i = 0; status == ATTN_OK && i < n_sample; i++) {
        struct attn_fold_sample sample = {.n_unit = 0};

        status = append_sample(fold, i, &sample, cells, made, err);
        attn_store_release(&sample.store);
    }
    if (status == ATTN_OK && fold->study->fdr)
        status = find_q(made, err);
    attn_free(cells);
    ATTN_RETURN_MADE(status, table, made, attn_table_free);
}
