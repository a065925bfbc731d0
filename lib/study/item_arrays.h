/*
 * item_arrays.h - one array over all items for each selected site, with ids and labels beside it.
 * Private to lib/study and lib/experiment.
 *
 *     attn_item_arrays_open(&args, items, &arrays, &err);
 *     attn_item_arrays_add(arrays, result, position, &err);         // every item, in order
 *     attn_item_arrays_finish(arrays, &err);                        // its final name
 *     attn_item_arrays_free(arrays);
 *
 * `resid_pre` is [N, n], with several layers [N, L, n]; sites with heads are [N, L, H, n]. Rows are
 * appended to FILE.rows.part, and copied into the file when their number is known, so that only ids
 * and labels need memory that grows with the items. For means only the sums of groups are stored,
 * in double precision, added in the order of the items.
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

/* Adds the tensors of RESULT at POSITION. ATTN_INVALID if it lacks the label of `mean_by`; only
 * this item fails then. */
enum attn_status attn_item_arrays_add(struct attn_item_arrays *arrays,
                                      const struct attn_item_result *result, size_t position,
                                      struct attn_error *err);

enum attn_status attn_item_arrays_finish(struct attn_item_arrays *arrays, struct attn_error *err);
void attn_item_arrays_free(
    struct attn_item_arrays *arrays); /* removes an unfinished file; NULL is allowed */

#endif
