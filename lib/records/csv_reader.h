/*
 * csv_reader.h - lines of CSV or TSV (RFC 4180) as objects of JSON, whose members are named by the
 * header.
 *
 *     struct attn_csv_reader csv = {.separator = ','};
 *     attn_csv_reader_begin(&csv, "id,text,type", 12, &err);
 *     csv.columns[0].kind = ATTN_CSV_INTEGER;
 *     attn_csv_reader_append(&csv, "7,\"one, two\",", 13, &json, &err);
 *                                                           // {"id":7,"text":"one, two"}
 *     attn_csv_reader_release(&csv);
 *
 * A line is without its end. Quoted fields may have line ends, separators and doubled quotes. A
 * quote in a field without quotes is a failure. An empty field is left out.
 */
#ifndef ATTN_RECORDS_CSV_READER_H
#define ATTN_RECORDS_CSV_READER_H

#include "base/buffer.h"

/* How a field is written in JSON. */
enum attn_csv_kind {
    ATTN_CSV_TEXT,    /* a string */
    ATTN_CSV_INTEGER, /* an integer if JSON would read one; else a string */
    ATTN_CSV_VALUE,   /* a number, true or false if JSON would read one; else a string */
    ATTN_CSV_LIST     /* a list of its words, each like ATTN_CSV_VALUE */
};

struct attn_csv_column {
    char *name; /* owns; terminated, not empty, unique */
    enum attn_csv_kind kind;
};

/* Initialize with = {.separator = ','}; end with attn_csv_reader_release. */
struct attn_csv_reader {
    char separator;
    struct attn_csv_column *columns; /* [n_column] owns */
    size_t n_column, capacity;
    struct attn_buffer field; /* scratch */
};

/* Reads the names of the columns, all of kind TEXT. ATTN_FORMAT for an empty or repeated name. */
enum attn_status attn_csv_reader_begin(struct attn_csv_reader *csv, const char *line, size_t size,
                                       struct attn_error *err);

/* Appends LINE as an object. ATTN_FORMAT for a malformed line, or another number of fields than the
 * header has: the contents of OUT are unspecified then. */
enum attn_status attn_csv_reader_append(struct attn_csv_reader *csv, const char *line, size_t size,
                                        struct attn_buffer *out, struct attn_error *err);

void attn_csv_reader_release(struct attn_csv_reader *csv);

#endif
