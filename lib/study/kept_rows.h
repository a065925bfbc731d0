/*
 * kept_rows.h - the rows of items as bytes, from which a study that is resumed makes its table:
 * cells with all their bits, and numbers beside them. For the files of this layer.
 *
 *     attn_kept_rows_append(&out, is_first, table, beside, n);      // of each item
 *
 *     attn_kept_rows_open(path, &rows, &kept, &err);                // to resume
 *     attn_kept_rows_next(kept, &item, &err);
 *     attn_kept_rows_free(kept);
 *
 * The file is a header, then for each item the number of its bytes, of its rows and of the numbers
 * beside them, the cells, the numbers. A file from outside is hostile: what is not as it was
 * written is ATTN_FORMAT. Numbers are little-endian, as the processors of this library are.
 */
#ifndef ATTN_STUDY_KEPT_ROWS_H
#define ATTN_STUDY_KEPT_ROWS_H

#include "base/buffer.h"
#include "base/table.h"
#include "batch/record_rows.h"

/* Appends the rows of an item, with BESIDE [n]; TABLE is NULL if it failed. Before the first item
 * of the file goes the header. */
void attn_kept_rows_append(struct attn_buffer *out, bool is_first, const struct attn_table *table,
                           const double *beside, size_t n);

struct attn_kept_rows;

/* An item. Borrowed until the next one. */
struct attn_kept_item {
    const struct attn_table *table; /* NULL: it failed */
    const double *beside;           /* [n_beside] */
    size_t n_beside;
};

/* Opens PATH, whose tables have the columns of ROWS. Errors are at the stage of the output. */
enum attn_status attn_kept_rows_open(const char *path, const struct attn_record_rows *rows,
                                     struct attn_kept_rows **kept, struct attn_error *err);
void attn_kept_rows_free(struct attn_kept_rows *kept); /* NULL is allowed */

/* Reads the next item; ATTN_FORMAT after the last. */
enum attn_status attn_kept_rows_next(struct attn_kept_rows *kept, struct attn_kept_item *item,
                                     struct attn_error *err);

#endif
