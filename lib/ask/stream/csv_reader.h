/*
 * csv_reader.h - parses lines of CSV or TSV (RFC 4180) into the columns that a header names.
 *
 *     struct attn_csv_reader csv = {.separator = ','};
 *     attn_csv_reader_begin(&csv, "id,text,type", 12, &err);
 *     attn_csv_reader_read(&csv, "7,\"one, two\",", 13, &err);
 *                                            // csv.columns[1].text is "one, two", size 8
 *     attn_csv_reader_release(&csv);
 *
 * Lines are passed without their end. Quoted fields may contain line ends, separators and doubled
 * quotes. A quote inside an unquoted field is an error.
 */
#pragma once

#include "base/buffer.h"
#include "stream/record_keys_internal.h"

struct attn_csv_column {
    char *name;                 /* owns; null-terminated, not empty, unique */
    struct attn_record_key key; /* used by the caller */
    const char *text; /* [size] UTF-8; this field of the last line, valid until the next one */
    size_t size;
};

/* Initialize with = {.separator = ','}; end with attn_csv_reader_release. */
struct attn_csv_reader {
    char separator;
    struct attn_csv_column *columns; /* [n_column] owns */
    size_t n_column, capacity;
    struct attn_buffer text; /* all fields of a line */
};

/* Parses the names of the columns. ATTN_FORMAT for an empty or repeated name. */
enum attn_status attn_csv_reader_begin(struct attn_csv_reader *csv, const char *line, size_t size,
                                       struct attn_error *err);

/* Parses the fields of LINE. ATTN_FORMAT for a malformed line, or if the number of fields differs
 * from the header; the fields are then unspecified. */
enum attn_status attn_csv_reader_read(struct attn_csv_reader *csv, const char *line, size_t size,
                                      struct attn_error *err);

void attn_csv_reader_release(struct attn_csv_reader *csv);
