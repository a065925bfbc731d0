/*
 * record_rows.h - the rows of items as lines (study/each.h): id, labels, the columns of the row,
 * error. A format of records (records_internal.h), whose form has `rows`.
 *
 *     struct attn_record_rows rows = {.all = columns, .n_all = n, .form = ATTN_RECORD_ROWS_CSV};
 *     form.rows = &rows;                                     // of the records, format "rows"
 *     attn_record_rows_set_labels(&rows, records, labels, n, &err);
 *     attn_records_write(records, &outcome, &err);           // with outcome.rows
 *     attn_record_rows_save(&rows, &state);                  // for a run that is resumed
 *     attn_record_rows_release(&rows);
 */
#ifndef ATTN_BATCH_RECORD_ROWS_H
#define ATTN_BATCH_RECORD_ROWS_H

#include "base/table.h"
#include "batch/records_internal.h"

enum attn_record_rows_form {
    ATTN_RECORD_ROWS_CSV,
    ATTN_RECORD_ROWS_JSON,
    ATTN_RECORD_ROWS_TEXTS /* the first column of the row alone */
};

/* Initialize with the fields up to `form`, and zeros. */
struct attn_record_rows {
    const struct attn_column *all; /* [n_all] borrowed, with unique names per type; the tables of
                                      items show some, all the same ones */
    size_t n_all;
    const bool *hidden; /* [n_all] the columns to leave out if every item fails */
    bool is_ragged;     /* items have different numbers of rows */
    enum attn_record_rows_form form;

    struct attn_column *columns; /* [n] owns; the columns that tables show */
    size_t *places;              /* [n] owns; their places in `all` */
    size_t n, n_row;             /* rows of an item */
    bool has_columns;            /* the columns are known */
    bool has_labels;             /* the labels of CSV are known */
    struct attn_buffer waiting;  /* owns; lines of CSV until both are known */
};

/* Sets the columns of labels of RECORDS, LABELS [n], borrowed. ATTN_FORMAT if two would have one
 * name. */
enum attn_status attn_record_rows_set_labels(struct attn_record_rows *rows,
                                             struct attn_records *records,
                                             const char *const *labels, size_t n,
                                             struct attn_error *err);

/* Appends the columns and the number of rows as text, and reads them; *is_good: they were written
 * so. */
void attn_record_rows_save(const struct attn_record_rows *rows, struct attn_buffer *out);
enum attn_status attn_record_rows_load(struct attn_record_rows *rows, const char *text,
                                       bool *is_good, struct attn_error *err);

void attn_record_rows_release(struct attn_record_rows *rows);

#endif
