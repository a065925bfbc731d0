/*
 * fold.h - makes the tables of many items one: means by group, with their intervals and errors. For
 * the files of this layer.
 *
 *     attn_fold_create(&form, study, &fold, &err);
 *     attn_fold_add(fold, &entry, &err);             // every item, in their order
 *     attn_fold_tabulate(fold, 0, &whole, &err);
 *     attn_fold_free(fold);
 *
 * The table of an item has the columns of one text, and as many rows as that of the first item: row
 * by row they belong together.
 */
#ifndef ATTN_EXPERIMENT_FOLD_H
#define ATTN_EXPERIMENT_FOLD_H

#include "base/buffer.h"
#include "base/table_internal.h"
#include "experiment/study.h"

/* What came of one item. Borrowed. */
struct attn_fold_entry {
    const struct attn_item *item;
    const struct attn_table *table;
    const double *more; /* [n_more] numbers beside its rows, as many for each item */
    size_t n_more;
};

/* The means of a group, of which an experiment finds what is no mean. */
struct attn_fold_means {
    struct attn_cell *rows; /* [n_row, n_column] */
    size_t n_row;
    const double *more; /* [n_more] */
    size_t n_more;
    bool is_resample; /* of the items; `more` are the means all the same */
    bool is_paired;   /* means of differences */
};

/* Fills the derived columns of MEANS, which are missing before. ARGS: those of the form. */
typedef enum attn_status (*attn_fold_derive_fn)(const void *args,
                                                const struct attn_fold_means *means,
                                                struct attn_error *err);

/* What an experiment says of its rows. Bits count its columns. */
struct attn_fold_form {
    const char *name;                  /* of the table */
    const struct attn_column *columns; /* [n_column] of which tables show some */
    size_t n_column;
    uint64_t counts;  /* columns of integers that are added up */
    uint64_t derived; /* columns of reals that are no means: `derive` finds them. They have no sd
                         and se, and bounds only where they are among `bounded` */
    uint64_t bounded;
    uint64_t names;    /* columns of texts that must be those of the first item */
    uint64_t unfilled; /* columns that stay empty over items: not to be sorted by */
    bool keeps_keys;   /* what says which row it is stays that of the first item if items differ in
                          it; else it is missing then */
    attn_fold_derive_fn derive; /* or NULL */
    const void *args;           /* for it */
    const char *hint;           /* how items could have rows like the first; or NULL */
};

struct attn_fold;

/* FORM is copied, what it points to borrowed, likewise STUDY. ATTN_INVALID for a `paired` that is
 * not LABEL=A:B. */
enum attn_status attn_fold_create(const struct attn_fold_form *form,
                                  const struct attn_study_args *study, struct attn_fold **fold,
                                  struct attn_error *err);
void attn_fold_free(struct attn_fold *fold); /* NULL is allowed */

/* Checks that the table of all items can be sorted by SORT (tables/table_order.h) if items have the
 * columns of the form without the HIDDEN ones. ATTN_INVALID, with the stage of options. */
enum attn_status attn_fold_check_sort(const struct attn_fold *fold, uint64_t hidden,
                                      const char *sort, struct attn_error *err);

/* Why ENTRY cannot be added, which is the item's failure: it lacks a label that is asked for, or
 * its rows are others. */
enum attn_status attn_fold_check(const struct attn_fold *fold, const struct attn_fold_entry *entry,
                                 struct attn_error *err);

/* Adds ENTRY. ATTN_INVALID for more than 1,000 groups. */
enum attn_status attn_fold_add(struct attn_fold *fold, const struct attn_fold_entry *entry,
                               struct attn_error *err);

/* Appends the numbers beside rows, of all groups and of those that wait for a partner, as printable
 * ASCII. To go on, the same entries are added with as many numbers beside their rows, whatever they
 * are, and TEXT is loaded then: false where it is not as it was written. */
void attn_fold_save(const struct attn_fold *fold, struct attn_buffer *out);
bool attn_fold_load(struct attn_fold *fold, const char *text);

/* Which of A and B of `paired` ITEM is: 0, 1, or -1 for neither. */
int attn_fold_side(const struct attn_fold *fold, const struct attn_item *item);

size_t attn_fold_n_group(const struct attn_fold *fold); /* 0: it is not grouped */
size_t attn_fold_n_label(const struct attn_fold *fold); /* leading columns that name a group */
size_t attn_fold_n_more(const struct attn_fold *fold);  /* numbers beside the rows of an item */
size_t attn_fold_n_pair(const struct attn_fold *fold);
size_t attn_fold_n_single(const struct attn_fold *fold); /* of paired: items without a partner */

/* The table of all, the caller's. Without items it has no rows, and the columns that items would
 * have but for those that are HIDDEN. */
enum attn_status attn_fold_tabulate(const struct attn_fold *fold, uint64_t hidden,
                                    struct attn_table **table, struct attn_error *err);

/* The table of all items, without groups, in the form of texts: after the columns of an item come
 * NAME_sd of each column of reals, and the number of items as `texts`. It is the caller's. */
enum attn_status attn_fold_tabulate_texts(const struct attn_fold *fold, struct attn_table **table,
                                          struct attn_error *err);

#endif
