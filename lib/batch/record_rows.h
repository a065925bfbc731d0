/*
 * record_rows.h - writes the rows of items as lines (study/each.h): id, labels, the columns of
 * the row, error. It is a format of records (records_internal.h) whose form has `rows`.
 *
 *     struct attn_record_rows rows = {.all = columns, .n_all = n, .form = ATTN_RECORD_ROWS_CSV};
 *     form.rows = &rows;                                     // form of the format "rows"
 *     attn_record_rows_set_labels(&rows, records, labels, n, &err);
 *     attn_records_write(records, &result, &err);           // with result.rows set
 *     attn_record_rows_save(&rows, &state);                  // for a resumed run
 *     attn_record_rows_release(&rows);
 */
#ifndef ATTN_BATCH_RECORD_ROWS_H
#define ATTN_BATCH_RECORD_ROWS_H

#include "base/table.h"
#include "batch/records_internal.h"

enum attn_record_rows_form {
    ATTN_RECORD_ROWS_CSV,
    ATTN_RECORD_ROWS_JSON,
    ATTN_RECORD_ROWS_TEXTS /* only the first column of a row */
};

/* Set the fields up to `form`, and zero the rest. */
struct attn_record_rows {
    /* [n_all] borrowed, with unique names per type and notation; all tables of items have the same
     * subset of these */
    const struct attn_column *all;
    size_t n_all;
    const bool *hidden; /* [n_all] columns to leave out if every item fails */
    bool is_ragged;     /* items have different numbers of rows */
    enum attn_record_rows_form form;

    struct attn_column *columns; /* [n] owns; columns of the tables */
    size_t *places;              /* [n] owns; their indices in `all` */
    size_t n, n_row;             /* n_row: rows per item */
    bool has_columns;            /* the columns are known */
    bool has_labels;             /* the labels of CSV are known */
    /* owns; lines of CSV that are held back until columns and labels are known */
    struct attn_buffer waiting;
};

/* Sets the label columns of RECORDS to LABELS [n], borrowed. ATTN_FORMAT if two would have the same
 * name. */
enum attn_status attn_record_rows_set_labels(struct attn_record_rows *rows,
                                             struct attn_records *records,
                                             const char *const *labels, size_t n,
                                             struct attn_error *err);

/* The first appends the columns and the number of rows as text, the second reads them; *IS_GOOD is
 * false if the text is malformed. */
void attn_record_rows_save(const struct attn_record_rows *rows, struct attn_buffer *out);
enum attn_status attn_record_rows_load(struct attn_record_rows *rows, const char *text,
                                       bool *is_good, struct attn_error *err);

void attn_record_rows_release(struct attn_record_rows *rows);

#endif
