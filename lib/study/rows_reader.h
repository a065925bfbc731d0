/*
 * rows_reader.h - reads the rows that each.h wrote, item by item, with the same values.
 *
 *     attn_rows_reader_open(&options, &reader, &err);
 *     for (...)
 *         attn_rows_reader_next(reader, &table, &message, &err); // its rows; or why it failed
 *     attn_rows_reader_free(reader);
 */
#ifndef ATTN_STUDY_ROWS_READER_H
#define ATTN_STUDY_ROWS_READER_H

#include "base/table.h"

struct attn_rows_reader;

/* The name of COLUMN in these files: `id` is the item's, so a token's is `token_id`. */
const char *attn_rows_written_name(const struct attn_column *column);

struct attn_rows_options {
    const char *path;
    bool is_csv;                       /* else JSON Lines */
    const struct attn_column *columns; /* [n_column] of each row; borrowed */
    size_t n_column;
    size_t n_row; /* of an item that did not fail; 0: it has one line without values */
};

/* OPTIONS are copied. Errors are at the stage of the output. */
enum attn_status attn_rows_reader_open(const struct attn_rows_options *options,
                                       struct attn_rows_reader **reader, struct attn_error *err);
void attn_rows_reader_free(struct attn_rows_reader *reader); /* NULL is allowed */

/* The rows of the next item, or *message, why it failed, and *table NULL. Borrowed until the next
 * call. ATTN_FORMAT for lines that are none of these, and after the last. */
enum attn_status attn_rows_reader_next(struct attn_rows_reader *reader,
                                       const struct attn_table **table, const char **message,
                                       struct attn_error *err);

#endif
