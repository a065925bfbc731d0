/* item_internal.h - an item while it is being read, with the memory that it owns. Private to
 * lib/records. */
#ifndef ATTN_RECORDS_ITEM_INTERNAL_H
#define ATTN_RECORDS_ITEM_INTERNAL_H

#include "records/items_internal.h"
#include "records/record_store.h"

/* An item and what it owns. */
struct attn_item_made {
    struct attn_item item; /* must be the first member, and begins with the record */
    /* pairs of texts; a single text is in the record until a pair is selected */
    struct attn_input inputs[ATTN_N_ITEM_PAIR][2];
    /* paths of the picture and of the corrupted picture; both are also labels */
    const char *images[2];
    struct attn_record_store store; /* owns all texts and arrays of numbers of the item */
    struct attn_item_place *places; /* [item.n_place] owns */
    struct attn_item_label *labels; /* [item.n_label] owns */
    struct attn_places keys;        /* the labels as places, whose texts `key:NAME` finds */
    size_t place_capacity, label_capacity;
    bool has_empty_text;     /* its cell `text` is empty */
    struct attn_sha256 read; /* digest of the input up to the end of the item */
    uint64_t end;            /* offset of the end of the item in the input */
};

/* Marks ITEM, whose line is set, as failed with a formatted message. */
void attn_item_fail(struct attn_item *item, enum attn_record_failure failure, const char *format,
                    ...) ATTN_PRINTF(3, 4);

/* Makes the record's input the only input of the item. */
void attn_item_choose_only(struct attn_item_made *made);

/* Completes an item after its values were read. HAS_MARKS: `[verb are]` in its texts is a mark. */
enum attn_status attn_item_finish(struct attn_item_made *made, bool has_marks,
                                  struct attn_error *err);

#endif
