/*
 * table_words.h - the words for what is drawn of a table: a title, and what the numbers of the
 * column are.
 *
 *     struct attn_table_words words = {0};
 *     attn_table_words_find(&words, column, &grid);
 *     words.title    "change of logit(are) - logit(is) without each head"
 *     words.quantity "change of logit(are) - logit(is)"
 *     attn_table_words_release(&words);
 */
#ifndef ATTN_FIGURES_TABLE_WORDS_H
#define ATTN_FIGURES_TABLE_WORDS_H

#include "base/buffer.h"
#include "figures/table_picture.h"

/* Printable. Initialize with = {0}. */
struct attn_table_words {
    struct attn_buffer bytes;    /* owns */
    const char *title;           /* NULL: nothing is known of the column */
    const char *quantity, *unit; /* terminated; the unit may be NULL */
};

/* Fills WORDS, which is = {0}; bytes.has_failed says whether there was memory. */
void attn_table_words_find(struct attn_table_words *words, const struct attn_column *column,
                           const struct attn_table_grid *grid);

void attn_table_words_release(struct attn_table_words *words);

#endif
