/*
 * csv_reader.h - lines of CSV or TSV (RFC 4180) as fields of the columns of a header.
 *
 *     struct attn_csv_reader csv = {.separator = ','};
 *     attn_csv_reader_begin(&csv, "id,text,type", 12, &err);
 *     attn_csv_reader_read(&csv, "7,\"one, two\",", 13, &err);
 *                                            // csv.columns[1].text is "one, two", size 8
 *     attn_csv_reader_release(&csv);
 *
 * A line is without its end. Quoted fields may have line ends, separators and doubled quotes. A
 * quote in a field without quotes is a failure.
 */
#ifndef ATTN_RECORDS_CSV_READER_H
#define ATTN_RECORDS_CSV_READER_H

#include "base/buffer.h"
#include "records/record_keys_internal.h"

struct attn_csv_column {
    char *name;                 /* owns; terminated, not empty, unique */
    struct attn_record_key key; /* the caller's */
    const char *text;           /* [size] UTF-8; the field of the last line, until the next one */
    size_t size;
};

/* Initialize with = {.separator = ','}; end with attn_csv_reader_release. */
struct attn_csv_reader {
    char separator;
    struct attn_csv_column *columns; /* [n_column] owns */
    size_t n_column, capacity;
    struct attn_buffer text; /* the fields of a line */
};

/* Reads the names of the columns. ATTN_FORMAT for an empty or repeated name. */
enum attn_status attn_csv_reader_begin(struct attn_csv_reader *csv, const char *line, size_t size,
                                       struct attn_error *err);

/* Reads the fields of LINE. ATTN_FORMAT for a malformed line, or another number of fields than the
 * header has: the fields are unspecified then. */
enum attn_status attn_csv_reader_read(struct attn_csv_reader *csv, const char *line, size_t size,
                                      struct attn_error *err);

void attn_csv_reader_release(struct attn_csv_reader *csv);

#endif
