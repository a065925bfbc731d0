/*
 * fold_internal.h - the parts of a fold (fold.h). Each file calls those above it alone.
 *
 *     fold_labels.c     copies the labels of an item that name its group and its cluster
 *     fold_clusters.c   units: items, or clusters of items that depend on each other; their errors
 *     fold_groups.c     the moments of a group, and the means that they give
 *     fold_pairs.c      items that wait for their partner
 *     fold_resamples.c  rows of a group, or of the difference of two, with intervals
 *     fold_layout.c     the columns of the table of all items, and its rows
 *     fold.c            takes items, makes the table
 */
#ifndef ATTN_STUDY_FOLD_INTERNAL_H
#define ATTN_STUDY_FOLD_INTERNAL_H

#include "study/fold.h"
#include "study/rows.h"

enum { ATTN_FOLD_MOST_LABELS = 16, ATTN_FOLD_ID_SIZE = 24 };

/* How a column is folded. */
enum attn_fold_role {
    ATTN_FOLD_KEY,
    ATTN_FOLD_MEAN,
    ATTN_FOLD_SHARE,
    ATTN_FOLD_COUNT,
    ATTN_FOLD_DERIVED
};

/* A column of the items' tables. */
struct attn_fold_column {
    struct attn_column column;
    size_t place; /* among all columns of the form */
    enum attn_fold_role role;
    bool has_bounds;
};

/* A copy of an item's label. */
struct attn_fold_label {
    enum attn_value_type type; /* of the column that shows it */
    struct attn_cell value;
    char *text; /* [size] owns; terminated; as it is in the input */
    size_t size;
};

/* Items that depend on each other. */
struct attn_fold_cluster {
    uint64_t hash;
    char *text; /* [size] owns */
    size_t size;
};

struct attn_fold_group {
    struct attn_fold_label *labels;     /* [n_copied] owns */
    size_t n;                           /* items */
    struct attn_moments *moments;       /* [n_row, n_column] owns; for counts `mean` is the sum */
    struct attn_fold_cluster *clusters; /* [n_unit] owns; or NULL: each item is a unit */
    double *values; /* [n_unit, n_value] owns; the numbers of an item, NaN: missing; of a cluster
                       each sum with the number of items in it */
    size_t n_unit, cluster_capacity, capacity;
    double *more; /* [n_more] owns; means */
};

struct attn_fold_waiting;

struct attn_fold {
    struct attn_fold_form form;
    const struct attn_study_args *study;
    char *names;                                   /* owns; group_by, with a NUL after each label */
    const char *labels[ATTN_FOLD_MOST_LABELS + 1]; /* [n_label] in `names`, then the label of
                                                      clusters */
    size_t n_label, n_copied;                      /* n_copied counts that one, too */
    char *pair;                       /* owns; paired, terminated after the label and each side */
    const char *sides[2];             /* A and B, in `pair` */
    struct attn_fold_waiting **lists; /* owns; of fold_pairs.c */
    size_t n_pair, n_single;

    struct attn_table *first;                        /* owns; of the first item */
    struct attn_fold_column *columns;                /* [n_column] owns */
    size_t n_column, n_row, n_mean, n_more, n_value; /* n_value: numbers of a unit */
    bool *differs;                  /* [n_row, n_column] owns; keys that differ between items */
    struct attn_fold_group *groups; /* [n_group] owns */
    size_t n_group, group_capacity;
};

/* Whether COLUMN of the form has TRAIT. */
static inline bool attn_fold_has_trait(const struct attn_fold *fold, size_t column,
                                       enum attn_column_trait trait)
{
    return (fold->form.columns[column].traits & trait) != 0;
}

/* --- Labels ----------------------------------------------------------------------------------- */

/* Reads `group_by` and `cluster`. */
enum attn_status attn_fold_labels_read(struct attn_fold *fold, struct attn_error *err);

/* Returns the size of the text of LABEL. */
size_t attn_fold_label_size(const struct attn_item_label *label);

/* Fails if ITEM lacks a label of the fold. */
enum attn_status attn_fold_labels_check(const struct attn_fold *fold, const struct attn_item *item,
                                        struct attn_error *err);

/* Returns the id of ITEM, or its number, written into TEXT. */
const char *attn_fold_id_of(const struct attn_item *item, char text[ATTN_FOLD_ID_SIZE],
                            size_t *size);

/* Copies the labels of ITEM that name its group and its cluster [n_copied]; NULL if memory is
 * short. */
struct attn_fold_label *attn_fold_labels_copy(const struct attn_fold *fold,
                                              const struct attn_item *item, struct attn_error *err);
void attn_fold_labels_free(struct attn_fold_label *labels, size_t n); /* NULL is allowed */

/* Returns the type of the column that shows label I of all groups. */
enum attn_value_type attn_fold_label_type(const struct attn_fold *fold, size_t i);

/* Writes the labels of the groups OF into CELLS. The difference of two is "sg - pl", in NAMES; the
 * second may be NULL. */
enum attn_status attn_fold_labels_fill(const struct attn_fold *fold,
                                       const struct attn_fold_group *const of[2],
                                       struct attn_buffer names[ATTN_FOLD_MOST_LABELS],
                                       struct attn_cell *cells, struct attn_error *err);

/* --- Clusters --------------------------------------------------------------------------------- */

/* Returns the number of the cluster TEXT [size] in GROUP; n_unit if it is missing. */
size_t attn_fold_cluster_find(const struct attn_fold_group *group, uint64_t hash, const char *text,
                              size_t size);

/* Finds or appends the unit of an item of CLUSTER: *values are its numbers [n_value]. */
enum attn_status attn_fold_unit_find(const struct attn_fold *fold, struct attn_fold_group *group,
                                     const struct attn_fold_label *cluster, double **values,
                                     struct attn_error *err);

/* Adds the number X of an item to the VALUES of its unit, and returns those that follow. */
double *attn_fold_unit_add(const struct attn_fold *fold, double *values, double x);

/* Standard deviation and error of a mean, or of the difference of two; NaN of too few numbers. */
struct attn_fold_spread {
    double sd, se;
    size_t n, n_cluster, df; /* items and clusters; df: of the t distribution of mean / se */
};

struct attn_fold_sample;

/* Computes the spread of cell I of SAMPLE, which is mean number K of a unit. Two groups without
 * clusters are independent. */
struct attn_fold_spread attn_fold_spread_find(const struct attn_fold *fold,
                                              const struct attn_fold_sample *sample, size_t i,
                                              size_t k);

/* --- Groups ----------------------------------------------------------------------------------- */

/* Returns a cell as a number; NaN if it is missing. */
double attn_fold_number_of(const struct attn_cell *cell);

/* Adds A, or the difference B - A, to the group of *labels. A new group takes them, and *labels
 * becomes NULL. B may be NULL. */
enum attn_status attn_fold_group_add(struct attn_fold *fold, struct attn_fold_label **labels,
                                     const struct attn_fold_entry *a,
                                     const struct attn_fold_entry *b, struct attn_error *err);

/* Fills ROWS [n_row, n_column of the form] with the means, sums and keys of GROUP. */
void attn_fold_group_fill(const struct attn_fold *fold, const struct attn_fold_group *group,
                          struct attn_cell *rows);

/* Fills the derived columns of ROWS. */
enum attn_status attn_fold_group_derive(const struct attn_fold *fold,
                                        const struct attn_fold_group *group, struct attn_cell *rows,
                                        bool is_resample, struct attn_error *err);

void attn_fold_group_release(const struct attn_fold *fold, struct attn_fold_group *group);

/* --- Pairs ------------------------------------------------------------------------------------ */

/* Reads `paired`. */
enum attn_status attn_fold_pairs_read(struct attn_fold *fold, struct attn_error *err);

enum attn_status attn_fold_table_copy(const struct attn_table *table, struct attn_table **copy,
                                      struct attn_error *err);

/* Adds the difference between ENTRY and its partner, or appends ENTRY to the waiting items. */
enum attn_status attn_fold_pairs_add(struct attn_fold *fold, const struct attn_fold_entry *entry,
                                     bool is_b, struct attn_error *err);

void attn_fold_pairs_release(struct attn_fold *fold);

/* --- Resamples -------------------------------------------------------------------------------- */

/* Numbers of resamples, ordered by row and then by bounded column. */
struct attn_fold_bounds {
    double *numbers; /* [n_cell, n_resample] owns */
    size_t n_cell, n_resample;
    double tail; /* below and above the interval */
};

/* The group that rows are about, or two and their difference. Units are numbered over both. */
struct attn_fold_sample {
    const struct attn_fold_group *groups[2]; /* the second is subtracted; or NULL */
    size_t *units[2];                        /* [n_unit of the group] own; their numbers */
    size_t n_unit;                  /* the second group's, then others: clusters may be in both */
    size_t *weights;                /* [n_unit] owns; how often each was drawn */
    double *residuals;              /* [n_unit] owns; NaN: no number */
    double *sums;                   /* [2, n_row * n_mean] owns */
    struct attn_cell *rows[2];      /* [n_row, n_column of the form] own; of each group; first the
                                       difference */
    struct attn_fold_bounds bounds; /* owns its arrays */
};

/* Fills SAMPLE, which is {0}: the groups, then the differences of groups from the first. Release it
 * also after a failure. */
enum attn_status attn_fold_sample_begin(const struct attn_fold *fold, size_t number,
                                        struct attn_fold_sample *sample, struct attn_error *err);
void attn_fold_sample_release(struct attn_fold_sample *sample);

/* Computes the rows of SAMPLE, and their bounds. */
enum attn_status attn_fold_sample_compute(const struct attn_fold *fold,
                                          struct attn_fold_sample *sample, struct attn_error *err);

/* Returns the number of bounded columns, and writes the interval of bounded cell NUMBER. */
size_t attn_fold_count_bounded(const struct attn_fold *fold);
void attn_fold_sample_bounds(const struct attn_fold_sample *sample, size_t number,
                             struct attn_cell cells[2]);

/* --- Layout ----------------------------------------------------------------------------------- */

/* Describes how the column at PLACE of the form is folded. */
struct attn_fold_column attn_fold_column_of(const struct attn_fold *fold, size_t place);

/* Lists the columns of the form that are not HIDDEN, and returns their number. */
size_t attn_fold_layout_list(const struct attn_fold *fold, const bool *hidden,
                             struct attn_fold_column columns[ATTN_MOST_COLUMNS]);

/* Creates the table for the item columns COLUMNS [n], without rows. */
enum attn_status attn_fold_layout_create(const struct attn_fold *fold,
                                         const struct attn_fold_column *columns, size_t n_column,
                                         struct attn_table **table, struct attn_error *err);

/* Appends a row to TABLE, of COLUMNS [n], with a value in each column that a study may fill. */
enum attn_status attn_fold_layout_fill(const struct attn_fold *fold,
                                       const struct attn_fold_column *columns, size_t n_column,
                                       struct attn_table *table, struct attn_error *err);

/* Appends ROW of SAMPLE to TABLE. CELLS [its columns] begin with the labels. */
enum attn_status attn_fold_layout_append(const struct attn_fold *fold,
                                         const struct attn_fold_sample *sample, size_t row,
                                         struct attn_cell *cells, struct attn_table *table,
                                         struct attn_error *err);

#endif
