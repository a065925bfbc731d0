#pragma once

#include "base/note.h"
#include "run/item.h"
#include "stream/items.h"

struct attn_csv_reader; /* csv_reader.h */
struct attn_word_lines; /* word_lines.h */

/* Sets *N to the number of items of the input by reading it, or to 0 if it is a pipe or has more
 * than 16 MiB. Call it before another thread reads items. */
enum attn_status attn_items_count(struct attn_items *items, uint64_t *n, struct attn_error *err);

/* Lets MAKE fill the input of each item, which may use the item's store; the `inputs` of the
 * options are only counted. */
typedef enum attn_status (*attn_item_make_fn)(void *user, struct attn_item *item,
                                              struct attn_error *err);
void attn_items_make(struct attn_items *items, attn_item_make_fn make, void *user);

/* Ends reading, also when it waits for a pipe. May be called on any thread. */
void attn_items_stop(struct attn_items *items);

/* The share of the input before the offset AT, or before input AT; as attn_items_share. */
double attn_items_share_at(const struct attn_items *items, uint64_t at);

/* Returns true if the input is a seekable file, or memory. *SIZE is its size, otherwise 0. */
bool attn_items_are_of_file(const struct attn_items *items, uint64_t *size);

/* Opens the input of ITEMS a second time, from its beginning and without shards. */
enum attn_status attn_items_open_again(const struct attn_items *items, struct attn_items **again,
                                       struct attn_error *err);

/* Reads ahead to item I after the current one, from 0. *ITEM is borrowed until attn_items_next
 * returns it. NULL if there are fewer items. */
enum attn_status attn_items_peek(struct attn_items *items, size_t i, struct attn_item **item,
                                 struct attn_error *err);

/* Sends a note if a byte order mark in front of the input was skipped. */
void attn_items_note_mark(const struct attn_items *items, attn_note_fn on_note, void *user);

/* Returns true if PATH is the input file. */
bool attn_items_are_of_path(const struct attn_items *items, const char *path);

/* Returns the shard and the number of shards; 0 without shards, or if ITEMS is NULL. */
void attn_items_shard(const struct attn_items *items, size_t *shard, size_t *n);

/* Returns true if a header names all labels. */
bool attn_items_have_header(const struct attn_items *items);

/* Returns why an item fails that WHY, a failure of its run or of the question, is about. */
enum attn_reason attn_item_reason(const struct attn_error *why);

/* The first returns the label NAME of ITEM, or NULL. The second writes the names of all its labels,
 * "a, b", or "none". */
const struct attn_item_label *attn_item_label(const struct attn_item *item, const char *name);
const char *attn_item_list_labels(const struct attn_item *item, char *names, size_t size);

/* LABEL=A:B, a label and two of its values. */
struct attn_item_sides {
    char *label;          /* owns; with a NUL behind the label and each value */
    const char *sides[2]; /* A and B, inside `label` */
};

/* Reads TEXT, the value of the parameter NAME. SIDES->label is freed by the caller. */
enum attn_status attn_item_sides_read(const char *name, const char *text,
                                      struct attn_item_sides *sides, struct attn_error *err);

/* Returns the key that WORD [size], the name of a column, probably means; NULL if it is a key, or
 * no such name. */
const char *attn_items_meant(const char *word, size_t size);

/* Returns true if ITEM has a value for one of KEYS, "queries|at". */
bool attn_item_has(const struct attn_item *item, const char *keys);

/* Returns the positions of the place NAME of ITEM, or NULL. */
const struct attn_number_list *attn_item_place(const struct attn_item *item, const char *name);

/* Lets positions of ITEM name its own places, the texts of its keys, and OTHERS, which may be
 * NULL. */
void attn_item_name_places(struct attn_item *item, const struct attn_places *others);

/* Completes an item after its values were read. HAS_MARKS: `[verb are]` in its texts is a mark. */
enum attn_status attn_item_finish(struct attn_item *item, bool has_marks, struct attn_error *err);

/* Returns the names of the labels: those of the header; for JSON Lines, once it was read, those of
 * the first readable item of the whole input. NULL without labels. */
const char *const *attn_items_labels(const struct attn_items *items, size_t *n);

/* Returns the name for messages: the path, or "standard input". */
const char *attn_items_name(const struct attn_items *items);

/* Restarts with the first item. ATTN_INVALID if the input cannot be read twice. */
enum attn_status attn_items_rewind(struct attn_items *items, struct attn_error *err);

/* Returns the share of the input that was read, 0..1; NaN if its size is not known. */
double attn_items_share(const struct attn_items *items);
