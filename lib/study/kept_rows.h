/*
 * kept_rows.h - stores the rows of items in binary form, exactly, with the numbers beside them, so
 * that a resumed study can compute its table. Private to lib/study.
 *
 *     attn_kept_rows_append(&out, is_first, table, beside, n);      // for each item
 *
 *     attn_kept_rows_open(path, &rows, &kept, &err);                // to resume
 *     attn_kept_rows_next(kept, &item, &err);
 *     attn_kept_rows_free(kept);
 *
 * The file is a header, then for each item the number of its bytes, of its rows and of the numbers
 * beside them, the cells, the numbers. The file may be damaged or malicious: anything invalid is
 * ATTN_FORMAT. Numbers are little-endian, as on all supported processors.
 */
#ifndef ATTN_STUDY_KEPT_ROWS_H
#define ATTN_STUDY_KEPT_ROWS_H

#include "base/buffer.h"
#include "base/table.h"
#include "batch/record_rows.h"

/* Appends the rows of an item, with the numbers BESIDE [n]. TABLE is NULL if the item failed. If
 * IS_FIRST, appends the header of the file before. */
void attn_kept_rows_append(struct attn_buffer *out, bool is_first, const struct attn_table *table,
                           const double *beside, size_t n);

struct attn_kept_rows;

/* An item. Borrowed until the next one. */
struct attn_kept_item {
    const struct attn_table *table; /* NULL if the item failed */
    const double *beside;           /* [n_beside] */
    size_t n_beside;
};

/* Opens PATH, whose tables have the columns of ROWS. Errors have the stage of the output. */
enum attn_status attn_kept_rows_open(const char *path, const struct attn_record_rows *rows,
                                     struct attn_kept_rows **kept, struct attn_error *err);
void attn_kept_rows_free(struct attn_kept_rows *kept); /* NULL is allowed */

/* Reads the next item. ATTN_FORMAT after the last. */
enum attn_status attn_kept_rows_next(struct attn_kept_rows *kept, struct attn_kept_item *item,
                                     struct attn_error *err);

/* Sets the error that the file does not hold the rows of items, for a caller that finds more. */
enum attn_status attn_kept_rows_refuse(const struct attn_kept_rows *kept, struct attn_error *err);

#endif
