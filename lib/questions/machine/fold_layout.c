/* fold_layout.c - see fold_internal.h: the columns and rows of the table of all items. */
#include "machine/fold_internal.h"

#include "base/memory.h"
#include "machine/rows.h"
#include "machine/significance.h"

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

struct attn_fold_column attn_fold_column_of(const struct attn_fold *fold, size_t place)
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
};

/* Appends a copy of COLUMN whose name has SUFFIX, with TRAIT added. */
static void add_column(struct layout *layout, const struct attn_column *column, const char *suffix,
                       unsigned trait)
{
    struct attn_column *added = &layout->columns[layout->n];
    char *name = layout->names[layout->n++];

    snprintf(name, NAME_SIZE, "%s%s", column->name, suffix);
    *added = *column;
    added->name = name;
    added->traits |= trait;
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
    added.quantity = NULL; /* the quantity describes only the mean */
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
 * another column is renamed to item.NAME. */
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
            if (strcmp(fold->labels[i], layout->names[k]) == 0) {
                snprintf(layout->names[i], NAME_SIZE, "item.%s", fold->labels[i]);
                layout->columns[i].name = layout->names[i];
                break;
            }
}

enum attn_status attn_fold_layout_create(const struct attn_fold *fold,
                                         const struct attn_fold_column *columns, size_t n_column,
                                         struct attn_table **table, struct attn_error *err)
{
    const size_t n_most = fold->n_label + MOST_OF_COLUMN * n_column + MOST_OTHERS;
    struct layout layout = {.n = 0};
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

/* --- Rows ------------------------------------------------------------------------------------- */

enum attn_status attn_fold_layout_fill(const struct attn_fold *fold,
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

/* Returns the TYPE of a row of SAMPLE: data of the difference of two groups are no data. */
static struct attn_cell find_row_type(const struct attn_fold_sample *sample, struct attn_cell type)
{
    return sample->groups[1] && attn_cell_word(&type, ATTN_ROW_DATA) == 0
               ? attn_cell_string(ATTN_ROW_DIFFERENCE)
               : type;
}

enum attn_status attn_fold_layout_append(const struct attn_fold *fold,
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
            type = find_row_type(sample, *cell);
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
