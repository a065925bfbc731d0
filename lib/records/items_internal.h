/* items_internal.h - what items.h declares for the library alone. */
#ifndef ATTN_RECORDS_ITEMS_INTERNAL_H
#define ATTN_RECORDS_ITEMS_INTERNAL_H

#include "records/digest.h"
#include "records/items.h"

/* Whether they are of a file that can be sought, or of memory; and then its size. */
bool attn_items_are_of_file(const struct attn_items *items, uint64_t *size);

/* Opens the file or the memory that ITEMS read, from the beginning and without its shards. */
enum attn_status attn_items_open_again(const struct attn_items *items, struct attn_items **again,
                                       struct attn_error *err);

/* Item number I of those that come next, from 0, borrowed until it is handed out; NULL: there are
 * not so many. All up to it are kept until then. */
enum attn_status attn_items_peek(struct attn_items *items, size_t i, struct attn_item **item,
                                 struct attn_error *err);

/* Whether PATH is that file. */
bool attn_items_are_of_path(const struct attn_items *items, const char *path);

/* Which shard they are, of how many; n 0: they are all, or ITEMS is NULL. */
void attn_items_shard(const struct attn_items *items, size_t *shard, size_t *n);

/* The usual separator of fields in a file of that name: ',' for .csv, a tab for .tsv; else 0. */
char attn_items_separator_of(const char *path);

/* Whether a header says which labels they have, so that no item has another. */
bool attn_items_have_header(const struct attn_items *items);

/* The SHA-256 of the input from its beginning to the end of ITEM, and where that is. */
void attn_item_digest(const struct attn_item *item, char hex[ATTN_DIGEST_HEX_SIZE], uint64_t *end);

#endif
