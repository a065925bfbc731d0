/* fold.c - see fold.h: adds items, and creates their table. fold_internal.h lists the other files
 * of the fold. */
#include "means/fold_internal.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "means/rows.h"
#include "means/significance.h"
#include "stream/items_internal.h"
#include "stream/records_internal.h"
#include "tables/table_order.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 96, MOST_OF_COLUMN = 5, MOST_OTHERS = 4 /* p, q, n_cluster, n */ };

/* --- Columns of items ------------------------------------------------------------------------- */

static enum attn_fold_role role_of(const struct attn_fold *fold, size_t place)
{
    const enum attn_value_type type = fold->form.columns[place].type;

    if (attn_fold_has_trait(fold, place, ATTN_TRAIT_DERIVED))
        return ATTN_FOLD_DERIVED;
    if (attn_fold_has_trait(fold, place, ATTN_TRAIT_COUNT))
        return ATTN_FOLD_COUNT;
    if (attn_fold_has_trait(fold, place, ATTN_TRAIT_WEIGHTED))
        return ATTN_FOLD_WEIGHTED;
    return type == ATTN_VALUE_REAL || type == ATTN_VALUE_BOOLEAN ? ATTN_FOLD_MEAN : ATTN_FOLD_KEY;
}

/* Returns how the column at index PLACE of the form is folded. */
static struct attn_fold_column column_of(const struct attn_fold *fold, size_t place)
{
    const enum attn_fold_role role = role_of(fold, place);

    return (struct attn_fold_column){
        .column = fold->form.columns[place],
        .place = place,
        .role = role,
        .has_bounds =
            fold->study->n_bootstrap > 0 &&
            (role == ATTN_FOLD_MEAN || attn_fold_has_trait(fold, place, ATTN_TRAIT_BOUNDED))};
}

/* --- Columns of the table --------------------------------------------------------------------- */

/* The columns of the table of all items. */
struct layout {
    struct attn_column *columns; /* [n] owns */
    /* [n] owns; names of columns that differ from the name in the items' tables */
    char (*names)[NAME_SIZE];
    size_t n;
    const struct attn_fold *fold;
};

/* Returns the prefix of COLUMN beside the labels of the groups and of the items. */
static const char *column_prefix(const struct attn_fold *fold, const struct attn_column *column)
{
    size_t n;
    const char *const *labels = attn_items_labels(fold->study->items, &n);
    const char *prefix = attn_record_column_prefix(labels, n, column);

    return *prefix ? prefix : attn_record_column_prefix(fold->labels, fold->n_label, column);
}

/* Appends a copy of COLUMN whose name has SUFFIX, with TRAIT added. */
static void add_column(struct layout *layout, const struct attn_column *column, const char *suffix,
                       unsigned trait)
{
    struct attn_column *added = &layout->columns[layout->n];
    char *name = layout->names[layout->n++];
    const char *prefix;

    snprintf(name, NAME_SIZE, "%s%s", column->name, suffix);
    *added = *column;
    added->name = name;
    added->traits |= trait;
    prefix = column_prefix(layout->fold, column);
    if (!*prefix)
        prefix = column_prefix(layout->fold, added);
    snprintf(name, NAME_SIZE, "%s%s%s", prefix, column->name, suffix);
}

/* Appends the columns for COLUMN of the items' tables: mean, spread, interval. Differences of pairs
 * have a sign. */
static void add_columns(const struct attn_fold_column *column, bool is_paired,
                        struct layout *layout)
{
    const enum attn_value_range range = is_paired ? ATTN_RANGE_SIGNED : column->column.range;
    struct attn_column added = column->column;

    added.range = range;
    if (added.type == ATTN_VALUE_BOOLEAN)
        attn_column_make_share(&added);
    add_column(layout, &added, "", 0);
    added.quantity = added.help = NULL; /* they describe only the mean */
    if (column->role == ATTN_FOLD_MEAN) {
        added.range = ATTN_RANGE_POSITIVE;
        add_column(layout, &added, "_sd", ATTN_TRAIT_SD);
        add_column(layout, &added, "_se", ATTN_TRAIT_SE);
        added.range = range;
    }
    if (column->has_bounds) {
        add_column(layout, &added, "_low", ATTN_TRAIT_LOW);
        add_column(layout, &added, "_high", ATTN_TRAIT_HIGH);
    }
}

/* Whether COLUMN has the types of rows, which stand at the end. */
static bool is_row_type(const struct attn_fold_column *column)
{
    return column->column.role == ATTN_ROLE_ROW_TYPE;
}

/* Returns the number of columns that add_columns appends. */
static size_t n_cells(const struct attn_fold_column *column)
{
    return 1 + (column->role == ATTN_FOLD_MEAN ? 2 : 0) + (column->has_bounds ? 2 : 0);
}

/* Returns true if the procedure has its own column for the number of items or of other cases. */
static bool has_own_count(const struct attn_fold_column *columns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(columns[i].column.name, "n") == 0)
            return true;
    return false;
}

/* Lays out the table: labels first, then the columns for COLUMNS [n]. A label that has the name of
 * another column is renamed to item.NAME, unless that is a later one. */
static void lay_out(const struct attn_fold *fold, const struct attn_fold_column *columns,
                    size_t n_column, struct layout *layout)
{
    static const struct attn_column n = ATTN_COLUMN_OF(COUNT, "n", INTEGER);
    static const struct attn_column n_cluster = ATTN_COLUMN_OF(COUNT, "n_cluster", INTEGER);
    static const struct attn_column p = ATTN_COLUMN_REAL("p", 6, NULL, SHARE);
    static const struct attn_column q = ATTN_COLUMN_REAL("q", 6, NULL, SHARE);

    for (size_t i = 0; i < fold->n_label; i++) {
        struct attn_column column = {.name = fold->labels[i], .notation = ATTN_NOTATION_LABEL};

        column.type = attn_fold_label_type(fold, i);
        add_column(layout, &column, "", 0);
        layout->columns[i].name = fold->labels[i]; /* unlike other names, of any length */
    }
    for (size_t i = 0; i < n_column; i++)
        if (!is_row_type(&columns[i]))
            add_columns(&columns[i], fold->pairing.of.label != NULL, layout);
    if (fold->study->fdr) {
        add_column(layout, &p, "", 0);
        add_column(layout, &q, "", 0);
    }
    if (fold->study->cluster)
        add_column(layout, &n_cluster, "", 0);
    if (!has_own_count(columns, n_column))
        add_column(layout, &n, "", 0);
    for (size_t i = 0; i < n_column; i++)
        if (is_row_type(&columns[i]))
            add_column(layout, &columns[i].column, "", 0);
    for (size_t i = 0; i < fold->n_label; i++)
        for (size_t k = fold->n_label; k < layout->n; k++)
            if (*attn_record_prefix(fold->labels[i], layout->names[k], layout->columns[k].since,
                                    true)) {
                snprintf(layout->names[i], NAME_SIZE, ATTN_LABEL_PREFIX "%s", fold->labels[i]);
                layout->columns[i].name = layout->names[i];
            }
}

/* Creates the table for the item columns COLUMNS [n], without rows. */
static enum attn_status create_table(const struct attn_fold *fold,
                                     const struct attn_fold_column *columns, size_t n_column,
                                     struct attn_table **table, struct attn_error *err)
{
    const size_t n_most = fold->n_label + MOST_OF_COLUMN * n_column + MOST_OTHERS;
    struct layout layout = {.fold = fold};
    enum attn_status status = ATTN_NO_MEMORY;

    layout.columns = attn_alloc(n_most, sizeof *layout.columns, err);
    layout.names = attn_alloc(n_most, sizeof *layout.names, err);
    if (layout.columns && layout.names) {
        lay_out(fold, columns, n_column, &layout);
        status = attn_table_create(fold->form.name, layout.columns, layout.n, table, err);
    }
    attn_free(layout.columns);
    attn_free(layout.names);
    return status;
}

/* --- Rows of the table
 * ------------------------------------------------------------------------------------- */

/* Appends a row with COLUMNS [n] to TABLE, with some value in every column that a study may
 * fill. */
static enum attn_status fill_row(const struct attn_fold *fold,
                                 const struct attn_fold_column *columns, size_t n_column,
                                 struct attn_table *table, struct attn_error *err)
{
    static const struct attn_cell values[] = {
        [ATTN_VALUE_TEXT] = {.type = ATTN_VALUE_TEXT, .text = ""},
        [ATTN_VALUE_INTEGER] = {.type = ATTN_VALUE_INTEGER},
        [ATTN_VALUE_REAL] = {.type = ATTN_VALUE_REAL},
        [ATTN_VALUE_BOOLEAN] = {.type = ATTN_VALUE_BOOLEAN},
        [ATTN_VALUE_LIST] = {.type = ATTN_VALUE_MISSING},
    };
    const size_t n = attn_table_n_column(table);
    struct attn_cell *cells;
    size_t at = fold->n_label;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(cells, n, err));
    for (size_t i = 0; i < n; i++)
        cells[i] = values[attn_table_column(table, i)->type];
    for (size_t i = 0; i < n_column; i++)
        for (size_t end = at + (is_row_type(&columns[i]) ? 0 : n_cells(&columns[i])); at < end;
             at++)
            if (attn_fold_has_trait(fold, columns[i].place, ATTN_TRAIT_UNFILLED))
                cells[at] = attn_cell_missing();
    status = attn_table_append(table, cells, n, err);
    attn_free(cells);
    return status;
}

/* Returns the p value of CELL in the tested COLUMN; missing if its values do not vary. A derived
 * share already is a p value. */
static struct attn_cell find_p(const struct attn_fold_column *column, const struct attn_cell *cell,
                               const struct attn_fold_spread *spread)
{
    if (cell->type != ATTN_VALUE_REAL || column->role == ATTN_FOLD_DERIVED)
        return *cell;
    return attn_cell_real_or_missing(attn_student_tails(cell->real / spread->se, spread->df));
}

/* Appends ROW of SAMPLE to TABLE. CELLS [its columns] already has the labels at the beginning. */
static enum attn_status append_row(const struct attn_fold *fold,
                                   const struct attn_fold_sample *sample, size_t row,
                                   struct attn_cell *cells, struct attn_table *table,
                                   struct attn_error *err)
{
    size_t n = fold->n_label, first, n_item = 0, n_cluster = 0, mean = row * fold->n_mean;
    size_t bound = row * attn_fold_count_bounded(fold);
    struct attn_cell p = attn_cell_missing(), type = p;

    for (size_t i = 0; i < fold->n_column; i++) {
        const struct attn_fold_column *column = &fold->columns[i];
        const struct attn_cell *cell = &sample->rows[0][row * fold->form.n_column + column->place];
        const struct attn_fold_spread spread =
            attn_fold_spread_find(fold, sample, row * fold->n_column + i, mean);

        mean += column->role == ATTN_FOLD_MEAN;
        n_item = spread.n > n_item ? spread.n : n_item;
        n_cluster = spread.n_cluster > n_cluster ? spread.n_cluster : n_cluster;
        if (fold->study->fdr && strcmp(column->column.name, fold->study->fdr) == 0 &&
            attn_table_total(fold->first, row) == SIZE_MAX)
            p = find_p(column, cell, &spread);
        if (is_row_type(column)) {
            /* data of the difference of two groups are no data */
            type = sample->groups[1] && attn_cell_word(cell, ATTN_ROW_DATA) == 0
                       ? attn_cell_string(ATTN_ROW_DIFFERENCE)
                       : *cell;
            continue;
        }
        first = n;
        cells[n++] = *cell;
        if (column->role == ATTN_FOLD_MEAN) {
            cells[n++] = attn_cell_real_or_missing(spread.sd);
            cells[n++] = attn_cell_real_or_missing(spread.se);
        }
        if (column->has_bounds) {
            attn_fold_sample_bounds(sample, bound++, &cells[n]);
            n += 2;
        }
        /* a procedure may leave out a mean */
        for (size_t k = first; cell->type == ATTN_VALUE_MISSING && k < n; k++)
            cells[k] = *cell;
    }
    if (fold->study->fdr) {
        cells[n++] = p;
        cells[n++] = attn_cell_missing();
    }
    if (fold->study->cluster)
        cells[n++] = attn_cell_integer((int64_t)n_cluster);
    if (!has_own_count(fold->columns, fold->n_column))
        cells[n++] = attn_cell_integer((int64_t)n_item);
    if (type.type != ATTN_VALUE_MISSING)
        cells[n++] = type;
    return attn_table_append(table, cells, n, err);
}

/* --- Pairs ------------------------------------------------------------------------------------ */

/* Items of `paired` are stored in a hash table of ids until their partner comes. */

enum { N_LIST = 1 << 14 };

/* An item whose partner was not read yet. */
struct attn_fold_waiting {
    char *id; /* owns */
    size_t n_id;
    bool is_b;
    struct attn_fold_label *labels; /* [n_copied] owns */
    struct attn_table *table;       /* owns */
    double *more;                   /* [n_more] owns */
    struct attn_fold_waiting *next; /* lists are sorted from oldest to newest */
};

/* Reads `paired`. */
static enum attn_status read_pairs(struct attn_fold *fold, struct attn_error *err)
{
    const char *pair = fold->study->paired;

    if (!pair)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(fold->pairing.lists, N_LIST, err));
    ATTN_TRY(attn_item_sides_read("paired", pair, &fold->pairing.of, err));
    for (size_t i = 0; i < fold->n_copied; i++)
        if (strcmp(fold->labels[i], fold->pairing.of.label) == 0)
            return attn_error_set(err, ATTN_INVALID,
                                  "'%s' cannot be in `%s` and in `paired`, expected one",
                                  attn_quote_string(fold->pairing.of.label).text,
                                  i < fold->n_label ? "group_by" : "cluster");
    return ATTN_OK;
}

static enum attn_status copy_table(const struct attn_table *table, struct attn_table **copy,
                                   struct attn_error *err)
{
    const size_t n_column = attn_table_n_column(table);
    struct attn_column columns[ATTN_MOST_COLUMNS] = {{0}};
    struct attn_cell cells[ATTN_MOST_COLUMNS];
    struct attn_table *made;
    enum attn_status status;

    for (size_t i = 0; i < n_column; i++)
        columns[i] = *attn_table_column(table, i);
    ATTN_TRY(attn_table_create(attn_table_name(table), columns, n_column, &made, err));
    status = ATTN_OK;
    for (size_t row = 0; status == ATTN_OK && row < attn_table_n_row(table); row++) {
        for (size_t i = 0; i < n_column; i++)
            cells[i] = attn_table_cell(table, row, i);
        status = attn_table_append(made, cells, n_column, err);
    }
    ATTN_THEN(status, attn_table_copy_about(table, made, err));
    ATTN_RETURN_MADE(status, copy, made, attn_table_free);
}

static void free_waiting(struct attn_fold_waiting *waiting, size_t n_label)
{
    attn_free(waiting->id);
    attn_fold_labels_free(waiting->labels, n_label);
    attn_table_free(waiting->table);
    attn_free(waiting->more);
    attn_free(waiting);
}

static void release_pairs(struct attn_fold *fold)
{
    for (size_t i = 0; fold->pairing.lists && i < N_LIST; i++)
        for (struct attn_fold_waiting *at = fold->pairing.lists[i], *next; at; at = next) {
            next = at->next;
            free_waiting(at, fold->n_copied);
        }
    attn_free(fold->pairing.lists);
    attn_free(fold->pairing.of.label);
}

/* Returns the list that may contain items with ID. */
static struct attn_fold_waiting **list_of(const struct attn_fold *fold, const char *id, size_t size)
{
    return &fold->pairing.lists[attn_hash_bytes(0, id, size) % N_LIST];
}

/* Removes and returns the oldest waiting partner of ITEM; NULL if there is none. */
static struct attn_fold_waiting *take_partner(struct attn_fold *fold, const struct attn_item *item,
                                              bool is_b)
{
    char text[ATTN_FOLD_ID_SIZE];
    size_t size;
    const char *id = attn_fold_id_of(item, text, &size);

    for (struct attn_fold_waiting **at = list_of(fold, id, size); *at; at = &(*at)->next) {
        struct attn_fold_waiting *found = *at;

        if (found->is_b == is_b || found->n_id != size || memcmp(found->id, id, size) != 0)
            continue;
        *at = found->next;
        return found;
    }
    return NULL;
}

/* Stores a copy of RESULT until its partner comes. Takes ownership of *LABELS, which becomes
 * NULL. */
static enum attn_status wait_for_partner(struct attn_fold *fold,
                                         const struct attn_item_result *result, bool is_b,
                                         struct attn_fold_label **labels, struct attn_error *err)
{
    struct attn_fold_waiting *made;
    char text[ATTN_FOLD_ID_SIZE];
    const char *id;
    struct attn_fold_waiting **at;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->is_b = is_b;
    id = attn_fold_id_of(result->item, text, &made->n_id);
    made->id = attn_strndup(id, made->n_id, err);
    made->more = attn_alloc(fold->n_more, sizeof *made->more, err);
    if (!made->id || !made->more || copy_table(result->answer.rows, &made->table, err) != ATTN_OK) {
        free_waiting(made, 0);
        return ATTN_NO_MEMORY;
    }
    for (size_t i = 0; result->answer.beside && i < fold->n_more; i++)
        made->more[i] = result->answer.beside[i];
    made->labels = *labels;
    *labels = NULL;
    at = list_of(fold, id, made->n_id);
    while (*at)
        at = &(*at)->next;
    *at = made;
    fold->pairing.n_single++;
    return ATTN_OK;
}

/* Adds the difference between RESULT and its partner, or stores RESULT until its partner comes. */
static enum attn_status add_to_pair(struct attn_fold *fold, const struct attn_item_result *result,
                                    bool is_b, struct attn_error *err)
{
    struct attn_fold_label *labels;
    struct attn_result_answer other;
    struct attn_fold_waiting *partner;
    enum attn_status status;

    ATTN_TRY(ATTN_NEW(labels, attn_fold_labels_copy(fold, result->item, err)));
    partner = take_partner(fold, result->item, is_b);
    if (!partner) {
        status = wait_for_partner(fold, result, is_b, &labels, err);
        attn_fold_labels_free(labels, fold->n_copied);
        return status;
    }
    fold->pairing.n_single--;
    fold->pairing.n_pair++;
    other = (struct attn_result_answer){.rows = partner->table, .beside = partner->more};
    status = is_b ? attn_fold_group_add(fold, &partner->labels, &other, &result->answer, err)
                  : attn_fold_group_add(fold, &labels, &result->answer, &other, err);
    free_waiting(partner, fold->n_copied);
    attn_fold_labels_free(labels, fold->n_copied);
    return status;
}

/* Whether the form has means of items, which are resampled and compared. */
static bool has_means(const struct attn_fold *fold)
{
    size_t place = 0;

    while (place < fold->form.n_column && column_of(fold, place).role != ATTN_FOLD_MEAN)
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
    ATTN_THEN(status, read_pairs(made, err));
    ATTN_RETURN_MADE(attn_error_at(status, ATTN_STAGE_OPTIONS, err), fold, made, attn_fold_free);
}

void attn_fold_free(struct attn_fold *fold)
{
    if (!fold)
        return;
    release_pairs(fold);
    for (size_t i = 0; i < fold->n_group; i++)
        attn_fold_group_release(fold, &fold->groups[i]);
    attn_free(fold->groups);
    attn_free(fold->differs);
    attn_free(fold->keys.slots);
    attn_free(fold->keys.following);
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
            columns[n++] = column_of(fold, place);
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
    ATTN_TRY(create_table(fold, columns, n, &table, err));
    status = fill_row(fold, columns, n, table, err);
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
    const size_t n_row = attn_table_n_row(result->answer.rows),
                 n_column = attn_table_n_column(result->answer.rows);

    fold->chosen = result->answer.chosen ? result->answer.chosen : result->answer.metric;
    ATTN_TRY(copy_table(result->answer.rows, &fold->first, err));
    ATTN_TRY(ATTN_ALLOC(fold->columns, n_column, err));
    ATTN_TRY(ATTN_ALLOC(fold->differs, n_row * n_column, err));
    for (size_t i = 0; i < n_column; i++) {
        const struct attn_column *column = attn_table_column(fold->first, i);

        fold->columns[i] = column_of(fold, find_place(&fold->form, column));
        fold->n_mean += fold->columns[i].role == ATTN_FOLD_MEAN;
    }
    if (fold->form.is_keyed)
        attn_table_reset(fold->first);
    fold->n_row = attn_table_n_row(fold->first);
    fold->n_column = n_column;
    fold->n_more = result->answer.n_beside;
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

/* Checks all of the ANSWER about ITEM that comes before its rows. */
static enum attn_status check_item(const struct attn_fold *fold, const struct attn_item *item,
                                   const struct attn_result_answer *answer, struct attn_error *err)
{
    const char *chosen = answer->chosen;
    bool is_of_right;

    ATTN_TRY(attn_fold_labels_check(fold, item, err));
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

enum attn_status attn_fold_check_size(const struct attn_fold *fold, const struct attn_item *item,
                                      const struct attn_result_answer *answer, size_t n_row,
                                      size_t n_column, struct attn_error *err)
{
    ATTN_TRY(check_item(fold, item, answer, err));
    return atomic_load(&fold->has_first)
               ? with_hint(check_size(fold, n_row, n_column, err), fold, err)
               : ATTN_OK;
}

enum attn_status attn_fold_check(const struct attn_fold *fold,
                                 const struct attn_item_result *result, struct attn_error *err)
{
    if (!result->answer.rows || !fold->first)
        return attn_fold_labels_check(fold, result->item, err);
    ATTN_TRY(check_item(fold, result->item, &result->answer, err));
    return with_hint(check_rows(fold, result->answer.rows, err), fold, err);
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
    assert(result->answer.n_beside == fold->n_more);
    if (fold->pairing.of.label)
        return add_to_pair(fold, result, side == 1, err);
    ATTN_TRY(ATTN_NEW(labels, attn_fold_labels_copy(fold, result->item, err)));
    status = attn_fold_group_add(fold, &labels, &result->answer, NULL, err);
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
        row = fold->form.is_keyed ? fold->keys.following[row] : i + 1;
        if (!fold->form.is_keyed || has_row(fold, sample, row - 1))
            status = append_row(fold, sample, row - 1, cells, table, err);
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

    ATTN_TRY(fold->n_group > 0 ? create_table(fold, fold->columns, fold->n_column, &made, err)
                               : create_table(fold, columns, n, &made, err));
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
