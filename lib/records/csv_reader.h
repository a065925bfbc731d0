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
 * A line comes without its end; quoted fields may hold ends of lines, separators, and quotes twice.
 * What is written otherwise, a quote in a field that is not quoted, say, is a failure. An empty
 * field is no member.
 */
#ifndef ATTN_RECORDS_CSV_READER_H
#define ATTN_RECORDS_CSV_READER_H

#include "base/buffer.h"

/* What becomes of a field. */
enum attn_csv_kind {
    ATTN_CSV_TEXT,    /* a string */
    ATTN_CSV_INTEGER, /* an integer as JSON writes it is one; else a string */
    ATTN_CSV_VALUE,   /* a number as JSON writes it, true and false are these; else a string */
    ATTN_CSV_LIST     /* words are elements of a list, each as of ATTN_CSV_VALUE */
};

struct attn_csv_column {
    char *name; /* owns; terminated, not empty, unlike all others */
    enum attn_csv_kind kind;
};

/* Initialize with = {.separator = ','}; end with attn_csv_reader_release. */
struct attn_csv_reader {
    char separator;
    struct attn_csv_column *columns; /* [n_column] owns */
    size_t n_column, capacity;
    struct attn_buffer field; /* scratch */
};

/* Reads the names of the columns, of kind TEXT. ATTN_FORMAT for names that are empty or the
 * same. */
enum attn_status attn_csv_reader_begin(struct attn_csv_reader *csv, const char *line, size_t size,
                                       struct attn_error *err);

/* Appends the object that LINE is. ATTN_FORMAT for one that is none, or has not as many fields as
 * the header: OUT has then anything. */
enum attn_status attn_csv_reader_append(struct attn_csv_reader *csv, const char *line, size_t size,
                                        struct attn_buffer *out, struct attn_error *err);

void attn_csv_reader_release(struct attn_csv_reader *csv);

#endif
