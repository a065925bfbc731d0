/*
 * fold_internal.h - the parts of a fold (fold.h). A file only calls files that are
 * listed above it.
 *
 *     fold_labels.c     copies the labels of an item that name its group and its cluster
 *     fold_clusters.c   units: items, or clusters of items that depend on each other; their errors
 *     fold_groups.c     the moments of a group, the means that they give; rows that only some items
 *                       have
 *     fold_resamples.c  rows of a group, or of the difference of two, with intervals
 *     fold.c            takes items, some of which wait for their partner; makes the table
 */
#pragma once

#include "means/fold.h"
#include "means/rows.h"
#include "stream/items_internal.h"

enum { ATTN_FOLD_MOST_LABELS = 16, ATTN_FOLD_ID_SIZE = 24 };

/* How the values of a column are combined. */
enum attn_fold_role {
    ATTN_FOLD_KEY,
    ATTN_FOLD_MEAN,
    ATTN_FOLD_WEIGHTED,
    ATTN_FOLD_COUNT,
    ATTN_FOLD_DERIVED
};

/* A column of the items' tables. */
struct attn_fold_column {
    struct attn_column column;
    size_t place; /* index in the columns of the form */
    enum attn_fold_role role;
    bool has_bounds;
};

/* A copy of an item's label. */
struct attn_fold_label {
    enum attn_value_type type; /* type of the column that shows the label */
    struct attn_cell value;
    char *text; /* [size] owns; null-terminated; the label as written in the input */
    size_t size;
};

/* Items that depend on each other. */
struct attn_fold_cluster {
    uint64_t hash;
    char *text; /* [size] owns */
    size_t size;
};

struct attn_fold_group {
    struct attn_fold_label *labels; /* [n_copied] owns */
    size_t n;                       /* number of items */
    /* [n_row, n_column] owns; for a count, `mean` is the sum; for a weighted mean, `squares` is the
     * sum of the weights */
    struct attn_moments *moments;
    struct attn_fold_cluster *clusters; /* [n_unit] owns; or NULL: each item is a unit */
    /* [n_unit, n_value] owns; for an item its numbers, NaN if missing; for a cluster each sum,
     * followed by its number of items */
    double *values;
    size_t n_unit, cluster_capacity, capacity;
    double *more; /* [n_more] owns; means of the numbers beside the rows */
};

struct attn_fold_waiting;

/* The items of `paired`, which wait for their partners (fold.c). */
struct attn_fold_pairing {
    struct attn_item_sides of;
    struct attn_fold_waiting **lists; /* owns */
    size_t n_pair, n_single;
};

/* With is_keyed: where rows with equal keys are, and their order. Rows count from 1. */
struct attn_fold_keys {
    size_t *slots; /* [n_slot] owns; rows by hash; 0: empty */
    size_t n_slot;
    size_t *following; /* [n_row + 1] owns; the row after each one, from 0 on; 0: the end */
    size_t following_capacity;
};

struct attn_fold {
    struct attn_fold_form form;
    const struct attn_study_args *study;
    char *names; /* owns; the text of group_by, with a NUL after each label */
    /* [n_label] names in `names`, followed by the label of clusters */
    const char *labels[ATTN_FOLD_MOST_LABELS + 1];
    size_t n_label, n_copied; /* n_copied also counts the label of clusters */
    struct attn_fold_pairing pairing;

    const char *chosen;               /* metric of the first item; or NULL */
    struct attn_table *first;         /* owns; table of the first item */
    _Atomic bool has_first;           /* CHOSEN and the sizes below are set, for other threads */
    struct attn_fold_column *columns; /* [n_column] owns */
    size_t n_column, n_row, n_mean, n_more;
    size_t n_value, n_value_of_row; /* numbers per unit; for one row */
    size_t n_kept; /* numbers beside the rows that units have, after those of the rows */
    bool *differs; /* [n_row, n_column] owns; true for keys that differ between items */
    struct attn_fold_group *groups; /* [n_group] owns */
    size_t n_group, group_capacity;
    struct attn_fold_keys keys;
};

/* Returns true if COLUMN of the form has TRAIT. */
static inline bool attn_fold_has_trait(const struct attn_fold *fold, size_t column,
                                       enum attn_column_trait trait)
{
    return (fold->form.columns[column].traits & trait) != 0;
}

/* Returns true if any column of the form has TRAIT. */
static inline bool attn_fold_has_any(const struct attn_fold *fold, enum attn_column_trait trait)
{
    size_t i = 0;

    while (i < fold->form.n_column && !attn_fold_has_trait(fold, i, trait))
        i++;
    return i < fold->form.n_column;
}

/* --- Labels ----------------------------------------------------------------------------------- */

/* Reads `group_by` and `cluster`. */
enum attn_status attn_fold_labels_read(struct attn_fold *fold, struct attn_error *err);

size_t attn_fold_label_size(const struct attn_item_label *label);

/* Returns an error if ITEM lacks a label that the fold needs. */
enum attn_status attn_fold_labels_check(const struct attn_fold *fold, const struct attn_item *item,
                                        struct attn_error *err);

/* Returns the id of ITEM; if it has none, its number, written to TEXT. */
const char *attn_fold_id_of(const struct attn_item *item, char text[ATTN_FOLD_ID_SIZE],
                            size_t *size);

/* Returns a copy of the labels of ITEM that name its group and its cluster [n_copied]; NULL if
 * memory ran out. */
struct attn_fold_label *attn_fold_labels_copy(const struct attn_fold *fold,
                                              const struct attn_item *item, struct attn_error *err);
void attn_fold_labels_free(struct attn_fold_label *labels, size_t n); /* NULL is allowed */

/* Returns the type of the column that shows label I, for the labels of all groups. */
enum attn_value_type attn_fold_label_type(const struct attn_fold *fold, size_t i);

/* Writes the labels of the group OF[0] to CELLS. With OF[1], a label of the difference is "sg -
 * pl", stored in NAMES. */
enum attn_status attn_fold_labels_fill(const struct attn_fold *fold,
                                       const struct attn_fold_group *const of[2],
                                       struct attn_buffer names[ATTN_FOLD_MOST_LABELS],
                                       struct attn_cell *cells, struct attn_error *err);

/* --- Clusters --------------------------------------------------------------------------------- */

/* Returns the index of the cluster TEXT [size] in GROUP; n_unit if it is missing. */
size_t attn_fold_cluster_find(const struct attn_fold_group *group, uint64_t hash, const char *text,
                              size_t size);

/* Finds or appends the unit for an item of CLUSTER. *VALUES are the unit's numbers [n_value]. */
enum attn_status attn_fold_unit_find(const struct attn_fold *fold, struct attn_fold_group *group,
                                     const struct attn_fold_label *cluster, double **values,
                                     struct attn_error *err);

/* Adds the number X of an item to the VALUES of its unit. Returns the position after it. */
double *attn_fold_unit_add(const struct attn_fold *fold, double *values, double x);

/* Standard deviation and error of a mean, or of the difference of two; NaN if there are too few
 * numbers. */
struct attn_fold_spread {
    double sd, se;
    /* numbers of items and of clusters; df: degrees of freedom of mean / se in a t distribution */
    size_t n, n_cluster, df;
};

struct attn_fold_sample;

/* Computes the spread of cell I of SAMPLE, which is mean number K of a unit. Without clusters, two
 * groups are independent. */
struct attn_fold_spread attn_fold_spread_find(const struct attn_fold *fold,
                                              const struct attn_fold_sample *sample, size_t i,
                                              size_t k);

/* --- Groups ----------------------------------------------------------------------------------- */

/* Returns a cell as a number; NaN if it is missing. */
double attn_fold_number_of(const struct attn_cell *cell);

/* Adds A or, if B is not NULL, the difference B - A to the group with *LABELS. A new group takes
 * ownership, and *LABELS becomes NULL. */
enum attn_status attn_fold_group_add(struct attn_fold *fold, struct attn_fold_label **labels,
                                     const struct attn_result_answer *a,
                                     const struct attn_result_answer *b, struct attn_error *err);

void attn_fold_group_release(const struct attn_fold *fold, struct attn_fold_group *group);

/* --- Resamples -------------------------------------------------------------------------------- */

/* The values that resamples give, sorted by row and then by bounded column. */
struct attn_fold_bounds {
    double *numbers; /* [n_cell, n_resample] */
    size_t n_cell, n_resample;
    double tail; /* share of resamples below the interval, and above it */
};

/* The group that rows describe, or two groups and their difference. Units have numbers for both
 * groups together. */
struct attn_fold_sample {
    const struct attn_fold_group *groups[2]; /* the second is subtracted; or NULL */
    size_t *units[2];                        /* [n_unit of the group] number of each unit */
    size_t n_unit;     /* units of the second group come first; clusters may be in both groups */
    size_t *weights;   /* [n_unit] how often each unit was drawn */
    double *residuals; /* [n_unit] NaN: the unit has no number */
    double *sums;      /* [2, n_row * n_mean + n_kept] */
    /* [n_row, n_column of the form] rows of each group; the first becomes the difference */
    struct attn_cell *rows[2];
    double *more; /* [n_more] means of the numbers beside the rows, of a resample */
    struct attn_fold_bounds bounds;
    struct attn_store *store; /* owns; has the arrays */
};

/* Prepares sample NUMBER: first come the groups, then the differences of the other groups from the
 * first. SAMPLE must be {0}; release its store after a failure, too. */
enum attn_status attn_fold_sample_begin(const struct attn_fold *fold, size_t number,
                                        struct attn_fold_sample *sample, struct attn_error *err);

/* Computes the rows of SAMPLE and their intervals. */
enum attn_status attn_fold_sample_compute(const struct attn_fold *fold,
                                          struct attn_fold_sample *sample, struct attn_error *err);

/* The first returns the number of bounded columns, the second writes the interval of bounded cell
 * NUMBER. */
size_t attn_fold_count_bounded(const struct attn_fold *fold);
void attn_fold_sample_bounds(const struct attn_fold_sample *sample, size_t number,
                             struct attn_cell cells[2]);
