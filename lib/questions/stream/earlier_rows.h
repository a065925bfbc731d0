/*
 * earlier_rows.h - reads the rows of items that an earlier run wrote (each_file.h), one item after
 * the other. The file may have any content. Private to lib/questions/stream.
 *
 *     attn_earlier_open("rows.csv.part", records, &earlier, &err);
 *     while (attn_earlier_next(earlier, items, &result, &is_over, &err) == ATTN_OK && !is_over) {
 *         ... result ...
 *         attn_earlier_release(earlier);
 *     }
 *     end = attn_earlier_end(earlier);  // where the rows of the next item begin
 *     attn_earlier_free(earlier);
 */
#ifndef ATTN_STREAM_EARLIER_ROWS_H
#define ATTN_STREAM_EARLIER_ROWS_H

#include "stream/items.h"
#include "stream/records_internal.h"

struct attn_earlier;

/* Opens PATH, which has the rows of RECORDS, borrowed. */
enum attn_status attn_earlier_open(const char *path, struct attn_records *records,
                                   struct attn_earlier **earlier, struct attn_error *err);
void attn_earlier_free(struct attn_earlier *earlier); /* NULL is allowed */

/* Reads the next item of ITEMS, and its rows, into RESULT: with a table if the form of the records
 * says so, or with its failure. Sets *IS_OVER before the last item of the file, which may have only
 * some of its rows; then nothing was read of ITEMS. ATTN_INVALID if the rows are not those of the
 * item, or if two neighbours have one id. */
enum attn_status attn_earlier_next(struct attn_earlier *earlier, struct attn_items *items,
                                   struct attn_item_result *result, bool *is_over,
                                   struct attn_error *err);

/* Frees what the last result refers to. */
void attn_earlier_release(struct attn_earlier *earlier);

/* Returns the offset of the rows of the items that were not returned. */
uint64_t attn_earlier_end(const struct attn_earlier *earlier);

#endif
