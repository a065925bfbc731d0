/*
 * item_arrays.h - one array over all items for each selected site, with ids and labels beside it.
 * For the files of this layer.
 *
 *     attn_item_arrays_open(&args, items, &arrays, &err);
 *     attn_item_arrays_add(arrays, item, result, position, &err);   // of each item, in their order
 *     attn_item_arrays_finish(arrays, &err);                        // the file has its name
 *     attn_item_arrays_free(arrays);
 *
 * `resid_pre` is [N, n], with several layers [N, L, n]; sites with heads are [N, L, H, n]. Rows
 * grow in FILE.rows.part, and are copied into the file when their number is known. So memory does
 * not grow with the items, but for their ids and labels. For means only the sums of the groups are
 * kept: in double precision, added in the order of the items.
 */
#ifndef ATTN_STUDY_ITEM_ARRAYS_H
#define ATTN_STUDY_ITEM_ARRAYS_H

#include "records/items.h"
#include "run/many.h"

/* Arguments, borrowed. */
struct attn_item_arrays_args {
    const char *path;            /* FILE.npz or FILE.npy */
    const char *mean_by, *minus; /* as in experiment/collect.h; or NULL */
};

struct attn_item_arrays;

/* Opens the file of ARGS. ITEMS are borrowed. The labels are those of the header, or of the first
 * item. */
enum attn_status attn_item_arrays_open(const struct attn_item_arrays_args *args,
                                       const struct attn_items *items,
                                       struct attn_item_arrays **arrays, struct attn_error *err);

/* Adds the tensors of ITEM at POSITION. ATTN_INVALID if it lacks the label of `mean_by`; only this
 * item fails then. */
enum attn_status attn_item_arrays_add(struct attn_item_arrays *arrays, const struct attn_item *item,
                                      const struct attn_many_result *result, size_t position,
                                      struct attn_error *err);

enum attn_status attn_item_arrays_finish(struct attn_item_arrays *arrays, struct attn_error *err);
void attn_item_arrays_free(
    struct attn_item_arrays *arrays); /* removes an unfinished file; NULL is allowed */

#endif
