/*
 * fold.h - the tables of many items as one: means by group, with what says how sure they are. For
 * the files of this layer.
 *
 *     attn_fold_create(&form, study, &fold, &err);
 *     attn_fold_add(fold, item, table, &err);        // every item, in their order
 *     attn_fold_tabulate(fold, &whole, &err);
 *     attn_fold_free(fold);
 *
 * The table of an item has the columns of one text, and as many rows as that of the first item: row
 * by row they belong together.
 */
#ifndef ATTN_EXPERIMENT_FOLD_H
#define ATTN_EXPERIMENT_FOLD_H

#include "base/table_internal.h"
#include "experiment/study.h"

/* What an experiment says of its rows. Bits count its columns. */
struct attn_fold_form {
    const char *name;                  /* of the table */
    const struct attn_column *columns; /* [n_column] of which tables show some */
    size_t n_column;
    uint64_t counts;  /* columns of integers that are added up */
    uint64_t derived; /* columns of reals that are no means: `derive` finds them. They have no sd
                         and se, and bounds only where they are among `bounded` */
    uint64_t bounded;
    /* Finds the derived columns of ROWS [*n_row, n_column], the means of a group, or of a resample.
     * May make *n_row smaller: the last rows of an item are there for this alone. Or NULL. */
    enum attn_status (*derive)(const void *args, struct attn_cell *rows, size_t *n_row,
                               struct attn_error *err);
    const void *args; /* for `derive` */
};

struct attn_fold;

/* FORM is copied, what it points to borrowed, likewise STUDY. ATTN_INVALID for a `paired` that is
 * not LABEL=A:B. */
enum attn_status attn_fold_create(const struct attn_fold_form *form,
                                  const struct attn_study_args *study, struct attn_fold **fold,
                                  struct attn_error *err);
void attn_fold_free(struct attn_fold *fold); /* NULL is allowed */

/* Why ITEM and its TABLE cannot be added, which is the item's failure: it lacks a label that is
 * asked for, or its rows are others. */
enum attn_status attn_fold_check(const struct attn_fold *fold, const struct attn_item *item,
                                 const struct attn_table *table, struct attn_error *err);

/* Adds TABLE. ATTN_INVALID for more than 1,000 groups. */
enum attn_status attn_fold_add(struct attn_fold *fold, const struct attn_item *item,
                               const struct attn_table *table, struct attn_error *err);

size_t attn_fold_n_group(const struct attn_fold *fold); /* 0: it is not grouped */
size_t attn_fold_n_label(const struct attn_fold *fold); /* leading columns that name a group */
size_t attn_fold_n_pair(const struct attn_fold *fold);
size_t attn_fold_n_single(const struct attn_fold *fold); /* of paired: items without a partner */

/* The table of all, the caller's. Without items it has no rows and the column `n` alone. */
enum attn_status attn_fold_tabulate(const struct attn_fold *fold, struct attn_table **table,
                                    struct attn_error *err);

#endif
