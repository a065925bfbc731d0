/* item_internal.h - an item while it is read, and with what it owns. For the files of this layer.
 */
#ifndef ATTN_RECORDS_ITEM_INTERNAL_H
#define ATTN_RECORDS_ITEM_INTERNAL_H

#include "records/items_internal.h"
#include "records/record_store.h"

/* An item and what it owns. */
struct attn_item_made {
    struct attn_item item;                         /* comes first, and begins with its record */
    struct attn_input inputs[ATTN_N_ITEM_PAIR][2]; /* the only text, until one is chosen, is that of
                                                      the record */
    const char *images[2];          /* paths of the picture and of the corrupted one, which are
                                       also labels */
    struct attn_record_store store; /* owns all texts and arrays of numbers */
    struct attn_item_place *places; /* [item.n_place] owns */
    struct attn_item_label *labels; /* [item.n_label] owns */
    size_t place_capacity, label_capacity;
    struct attn_sha256 read; /* all bytes of the input up to the item's end */
    uint64_t end;            /* of the item, in bytes of the input */
};

/* Fails ITEM, whose line is set, with a formatted message. */
void attn_item_fail(struct attn_item *item, enum attn_record_failure failure, const char *format,
                    ...) ATTN_PRINTF(3, 4);

/* Makes the input of the record the only one. */
void attn_item_choose_only(struct attn_item_made *made);

/* Finishes an item whose values were read. HAS_MARKS: `[verb are]` in its texts are marks. */
enum attn_status attn_item_finish(struct attn_item_made *made, bool has_marks,
                                  struct attn_error *err);

#endif
