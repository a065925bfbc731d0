/* items_internal.h - what items.h declares for the library alone. */
#ifndef ATTN_RECORDS_ITEMS_INTERNAL_H
#define ATTN_RECORDS_ITEMS_INTERNAL_H

#include "records/digest.h"
#include "records/items.h"

struct attn_csv_reader; /* csv_reader.h */

/* A bit for the PAIRS of attn_item_choose: a source alone is enough, and the text is empty then. */
#define ATTN_ITEM_SOURCE_ALONE (1U << 31)

/* Whether the input is a seekable file, or memory. *size is its size then, else 0. */
bool attn_items_are_of_file(const struct attn_items *items, uint64_t *size);

/* Opens the input of ITEMS again, from its beginning and without shards. */
enum attn_status attn_items_open_again(const struct attn_items *items, struct attn_items **again,
                                       struct attn_error *err);

/* Reads ahead to item I after the current one, from 0. The items are kept, and *item is borrowed,
 * until attn_items_next returns it. NULL if there are fewer items. */
enum attn_status attn_items_peek(struct attn_items *items, size_t i, struct attn_item **item,
                                 struct attn_error *err);

/* Whether PATH is the input file. */
bool attn_items_are_of_path(const struct attn_items *items, const char *path);

/* The shard, and the number of shards; 0 if there are no shards, or ITEMS is NULL. */
void attn_items_shard(const struct attn_items *items, size_t *shard, size_t *n);

/* Returns the usual separator of a file with this name: ',' for .csv, a tab for .tsv, else 0. */
char attn_items_separator_of(const char *path);

/* Whether a header names all labels. */
bool attn_items_have_header(const struct attn_items *items);

/* Fails if more than MOST of N failed, of the UNIT "items"; a negative MOST allows any number. */
enum attn_status attn_items_check_failures(const char *unit, uint64_t n_failed, uint64_t n,
                                           int64_t most, struct attn_error *err);

/* Returns the label NAME of ITEM, or NULL; and writes the names of all its labels, "a, b", or
 * "none". */
const struct attn_item_label *attn_item_label(const struct attn_item *item, const char *name);
const char *attn_item_list_labels(const struct attn_item *item, char *names, size_t size);

/* Begins CSV with TEXT, the header of a file of items called NAME, and finds the key of each
 * column. Its separator is the one of CSV, or else the first that gives a column of inputs. */
enum attn_status attn_items_read_header(struct attn_csv_reader *csv, const char *name,
                                        const char *text, size_t size, struct attn_error *err);

/* Whether ITEM has a value of one of KEYS, "queries|at". */
bool attn_item_has(const struct attn_item *item, const char *keys);

/* Returns the positions of the place NAME of ITEM, or NULL. */
const char *attn_item_place(const struct attn_item *item, const char *name);

/* The SHA-256 of the input from its beginning to the end of ITEM, and that offset. */
void attn_item_digest(const struct attn_item *item, char hex[ATTN_DIGEST_HEX_SIZE], uint64_t *end);

#endif
