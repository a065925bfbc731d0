/* item_internal.h - declarations of item.h for use inside the library only. */
#ifndef ATTN_RUN_ITEM_INTERNAL_H
#define ATTN_RUN_ITEM_INTERNAL_H

#include "base/status_internal.h"
#include "base/store.h"
#include "run/item.h"

/* A bit for PAIRS of attn_item_choose: an item may have only a source; its text is then empty. */
#define ATTN_ITEM_SOURCE_ALONE (1U << 31)

/* The approximate size in bytes of the texts and the arrays of ITEM. */
size_t attn_item_n_byte(const struct attn_item *item);

/* Marks ITEM, whose line is set, as failed with a formatted message. */
void attn_item_fail(struct attn_item *item, enum attn_record_failure failure, const char *format,
                    ...) ATTN_PRINTF(3, 4);

/* Frees what ITEM owns, and zeroes it. */
void attn_item_release(struct attn_item *item);

/* Selects the first input that ITEM has, until attn_item_choose is called. Pictures are inputs of
 * items without a text, and all inputs share the second text, the types and the mask of keys. */
void attn_item_choose_first(struct attn_item *item);

#endif
