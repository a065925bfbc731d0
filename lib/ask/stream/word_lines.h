/* word_lines.h - items in CSV that have a line for each word, in order of reading (items.h).
 * Private to lib/ask/stream. */
#pragma once

#include "stream/csv_reader.h"

/* Initialize with = {0}; end with attn_word_lines_release. */
struct attn_word_lines {
    size_t word, item, glue;        /* indices of the columns; `glue` SIZE_MAX: there is none */
    struct attn_buffer name;        /* owns; the field `item` of the current item */
    struct attn_buffer text, words; /* own; its text, and its words, each with a NUL */
    size_t capacity;                /* of its row_labels */
    struct attn_word_lines_name {
        uint64_t hash, other; /* both 0: free */
    } * met;                  /* [n_slot] owns; a hash table of the items so far */
    size_t n_met, n_slot;
};

/* Finds the columns of the header of CSV, whose columns become labels. Returns false if `word` or
 * `item` is missing. */
bool attn_word_lines_find(struct attn_word_lines *lines, struct attn_csv_reader *csv);

/* Begins ITEM with the line that CSV read last. ATTN_FORMAT if an earlier item has its name. */
enum attn_status attn_word_lines_begin(struct attn_word_lines *lines,
                                       const struct attn_csv_reader *csv, struct attn_item *item,
                                       struct attn_error *err);

/* Adds the last line of CSV to ITEM, which fails if its word is empty. */
enum attn_status attn_word_lines_add(struct attn_word_lines *lines,
                                     const struct attn_csv_reader *csv, struct attn_item *item,
                                     struct attn_error *err);

/* Gives ITEM its text and its words. */
enum attn_status attn_word_lines_end(struct attn_word_lines *lines, struct attn_item *item,
                                     struct attn_error *err);

/* Forgets the items so far. */
void attn_word_lines_reset(struct attn_word_lines *lines);
void attn_word_lines_release(struct attn_word_lines *lines);
