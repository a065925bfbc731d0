/*
 * stack.h - one array over all items for each selected site, with ids and labels beside it. For the
 * files of this layer.
 *
 *     attn_stack_open(&args, items, &stack, &err);
 *     attn_stack_add(stack, item, result, position, &err);   // of each item, in their order
 *     attn_stack_finish(stack, &err);                        // the file has its name
 *     attn_stack_free(stack);
 *
 * `resid_pre` is [N, n], with several layers [N, L, n]; sites with heads are [N, L, H, n]. Rows
 * grow in FILE.rows.part, and are copied into the file when their number is known. So memory does
 * not grow with the items, but for their ids and labels. For means only the sums of the groups are
 * kept: in double precision, added in the order of the items.
 */
#ifndef ATTN_STUDY_STACK_H
#define ATTN_STUDY_STACK_H

#include "records/items.h"
#include "run/many.h"

/* Borrowed. */
struct attn_stack_args {
    const char *path;            /* FILE.npz or FILE.npy */
    const char *mean_by, *minus; /* experiment/collect.h; or NULL */
};

struct attn_stack;

/* Opens the file of ARGS. ITEMS are borrowed. Labels are those of the header, or of the first item.
 */
enum attn_status attn_stack_open(const struct attn_stack_args *args, const struct attn_items *items,
                                 struct attn_stack **stack, struct attn_error *err);

/* Adds the tensors of ITEM at POSITION. ATTN_INVALID if it lacks the label of `mean_by`: this is
 * the item's failure. */
enum attn_status attn_stack_add(struct attn_stack *stack, const struct attn_item *item,
                                const struct attn_many_result *result, size_t position,
                                struct attn_error *err);

enum attn_status attn_stack_finish(struct attn_stack *stack, struct attn_error *err);
void attn_stack_free(struct attn_stack *stack); /* an unfinished file is removed; NULL is allowed */

#endif
