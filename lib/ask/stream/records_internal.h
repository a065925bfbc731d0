/*
 * records_internal.h - writes the results of many inputs. Files are written as FILE.part and get
 * their final names when all are complete; an interrupted run can be resumed.
 *
 *     struct attn_records_item item = {"jsonl", "results.jsonl"};
 *     struct attn_records_form form = ATTN_RECORDS_FORM_DEFAULT;
 *     attn_records_open(&item, &form, false, &records, &err);
 *     attn_records_write(records, result, &err);    // each record, in order
 *     attn_records_flush(records, &err);
 *     attn_records_finish(records, &err);           // results.jsonl.part is complete
 *     attn_records_commit(records, &err);           // results.jsonl
 *     attn_records_free(records);                   // without _commit the parts stay
 *
 * Each format is a source file with a struct of functions. Its own struct begins with a struct
 * attn_record_writer; the common code opens and renames parts, counts records, and writes the text
 * of a record.
 */
#pragma once

#include "base/buffer.h"
#include "base/note.h"
#include "base/sink_internal.h"
#include "formats/json_writer.h"
#include "stream/items.h"
#include "stream/many.h"
#include "stream/records.h"
#include "tables/column.h"
#include "trace/capture.h"

#include <string.h>

enum attn_record_rows_form {
    ATTN_RECORD_ROWS_CSV,
    ATTN_RECORD_ROWS_JSON,
    ATTN_RECORD_ROWS_DOCUMENT, /* one document of JSON */
    ATTN_RECORD_ROWS_TEXTS     /* only the first column of a row */
};

/* The contents of the outputs, equal for all records. */
struct attn_records_form {
    size_t size;          /* size of this struct */
    bool has_predictions; /* jsonl has predictions, and for every item that asks for some */
    bool has_tensors;     /* jsonl has the selected tensors */
    attn_note_fn on_note; /* or NULL */
    void *user;           /* passed to on_note */
    const char *unit;     /* name of a record in notes; NULL: "record" */
    const char *name;     /* of the table, for a document of rows */
    const struct attn_items *items; /* for rows and joined: provide the labels; borrowed */
    /* For rows of items: [n_column] columns with unique names per type and notation, of which all
     * tables of items have the same subset; borrowed, or NULL */
    const struct attn_column *columns;
    size_t n_column;
    const bool *hidden; /* [n_column] columns to leave out if every item fails; borrowed */
    bool is_ragged;     /* items have different numbers of rows */
    bool needs_rows;    /* a resumed run reads the rows of the earlier one */
    enum attn_record_rows_form row_form;
    const char *mean_by;  /* for joined: the label whose values have means; or NULL */
    const char *sides[2]; /* two of its values, if the mean of the first is taken from that of the
                             second; or NULL */
};

#define ATTN_RECORDS_FORM_DEFAULT                                                                  \
    ((struct attn_records_form){.size = sizeof(struct attn_records_form)})

struct attn_records;
struct attn_record_rows; /* below */

/* Opens the output ITEM, which is copied like FORM. With IS_RESUMED, an existing part is opened
 * unchanged, and attn_records_begin must be called before the first record. ATTN_IO if another
 * process is writing it. */
enum attn_status attn_records_open(const struct attn_records_item *item,
                                   const struct attn_records_form *form, bool is_resumed,
                                   struct attn_records **records, struct attn_error *err);

/* --- Resuming (each_file.h) --- */

/* The first begins a run. The second removes what follows SIZE bytes. */
enum attn_status attn_records_begin(struct attn_records *records, struct attn_error *err);
enum attn_status attn_records_cut(struct attn_records *records, uint64_t size,
                                  struct attn_error *err);

/* Sets *ROWS, borrowed, to the columns that rows have. */
enum attn_status attn_records_show(struct attn_records *records,
                                   const struct attn_record_rows **rows, struct attn_error *err);

/* Continues with rows after those of an earlier run, whose header is appended to HEADER; of formats
 * without one, nothing. The labels of the items are known. */
enum attn_status attn_records_continue(struct attn_records *records, struct attn_buffer *header,
                                       struct attn_error *err);

/* Expects the records that follow to be the bytes of the file PATH from BEGIN on: these are
 * compared instead of written, and are ATTN_INVALID with the stage of options if they differ.
 * IS_WHOLE: nothing may follow them. */
enum attn_status attn_records_expect(struct attn_records *records, const char *path, uint64_t begin,
                                     bool is_whole, struct attn_error *err);

enum attn_status attn_records_write(struct attn_records *records,
                                    const struct attn_item_result *result, struct attn_error *err);

/* Writes out all appended records. */
enum attn_status attn_records_flush(struct attn_records *records, struct attn_error *err);

/* A file that is being written. */
struct attn_records_part {
    const char *path; /* current name */
    uint64_t size;    /* bytes */
};

/* Describes part I, first that which gets the name of the output. Returns false if I is too large.
 * Sinks, FIFOs and devices have no parts. Borrowed until the next call. */
bool attn_records_part(const struct attn_records *records, size_t i,
                       struct attn_records_part *part);

/* The first completes the parts: lengths in headers, the directory of an archive. The second
 * renames them. */
enum attn_status attn_records_finish(struct attn_records *records, struct attn_error *err);
enum attn_status attn_records_commit(struct attn_records *records, struct attn_error *err);

/* Returns true if writing failed because the output is a pipe without a reader. */
bool attn_records_is_abandoned(const struct attn_records *records);

/* Frees the records. The first keeps parts without a final name, the second removes them. NULL is
 * allowed. */
void attn_records_free(struct attn_records *records);
void attn_records_discard(struct attn_records *records);

/* --- Sinks ----------------------------------------------------------------------------------- */

struct attn_record_writer;
struct attn_record_columns;

/* A format. A new one is a file with such a struct, and a row below. */
struct attn_item_sink {
    const char *name; /* name of the format, "csv" */
    size_t size;      /* bytes of its struct, which is zeroed before `open` */
    bool is_text;     /* it only appends to `text`, so it can be written to a sink */

    /* Opens the parts for PATH (attn_record_writer_add_part), which cannot be resumed. NULL: PATH
     * is the only part. */
    enum attn_status (*open)(struct attn_record_writer *writer, const char *path,
                             struct attn_error *err);

    /* Called before the first record of a run. Or NULL. */
    enum attn_status (*begin)(struct attn_record_writer *writer, struct attn_error *err);

    enum attn_status (*add)(struct attn_record_writer *writer,
                            const struct attn_item_result *result, struct attn_error *err);

    /* Completes the parts. Or NULL. */
    enum attn_status (*finish)(struct attn_record_writer *writer, struct attn_error *err);

    void (*release)(struct attn_record_writer *writer); /* or NULL */
};

/* An open sink. The struct of each format begins with it. */
struct attn_record_writer {
    const struct attn_item_sink *kind;
    const struct attn_records_form *form; /* borrowed from the records */
    struct attn_sink *parts[2];           /* [n_part] owns; the second becomes part of the first */
    size_t n_part;
    struct attn_sink *sink;              /* sink of a text format; borrowed */
    struct attn_buffer text;             /* text of the current record, for text formats */
    bool has_noted_formula;              /* a note about an id or a label like a formula was sent */
    bool has_noted_label;                /* a note about a label without a column was sent */
    struct attn_record_columns *columns; /* borrowed; columns for labels */
    struct attn_record_rows *rows;       /* borrowed; columns of the rows of items */
};

/* The columns of the rows of items, which the first item determines. Set `form`, and zero the
 * rest. */
struct attn_record_rows {
    const struct attn_records_form *form; /* borrowed */
    struct attn_column *columns;          /* [n] owns; columns of the tables */
    size_t *places;                       /* [n] owns; their indices in the columns of the form */
    size_t n, n_row;                      /* n_row: rows per item */
    bool has_columns;                     /* the columns are known */
    bool has_labels;                      /* the labels of CSV are known */
    struct attn_json_writer document;     /* writes a document of rows */
    /* owns; lines of CSV that are held back until columns and labels are known */
    struct attn_buffer waiting;
};

/* Sets the columns that all items have, for the rows of an earlier run. The second then continues
 * with rows, and sets the text of WRITER to the header, unless lines are JSON. */
enum attn_status attn_record_rows_show(struct attn_record_rows *rows, struct attn_error *err);
enum attn_status attn_record_rows_continue(struct attn_record_writer *writer,
                                           struct attn_error *err);

void attn_record_rows_release(struct attn_record_rows *rows);

/* The columns of labels, sorted by name for lookup. */
struct attn_record_columns {
    struct attn_named_column {
        const char *name; /* borrowed */
        size_t i;
    } * sorted;                            /* [n] owns */
    const struct attn_item_label **values; /* [n] owns; labels of the current record */
    const char *const *names;              /* [n] borrowed */
    size_t n;
};

/* Sets COLUMNS to NAMES [n], borrowed. */
enum attn_status attn_record_columns_set(struct attn_record_columns *columns,
                                         const char *const *names, size_t n,
                                         struct attn_error *err);
void attn_record_columns_release(struct attn_record_columns *columns);

/* X(name): attn_item_sink_NAME is defined in record_NAME.c. */
#define ATTN_ITEM_SINK_MAP(X)                                                                      \
    X(jsonl)                                                                                       \
    X(npz)                                                                                         \
    X(joined)                                                                                      \
    X(rows)

#define ATTN_ITEM_SINK_DECLARE(name) extern const struct attn_item_sink attn_item_sink_##name;
ATTN_ITEM_SINK_MAP(ATTN_ITEM_SINK_DECLARE)
#undef ATTN_ITEM_SINK_DECLARE

/* Opens PATH as the next part. */
enum attn_status attn_record_writer_add_part(struct attn_record_writer *writer, const char *path,
                                             bool is_resumed, struct attn_error *err);

/* Appends the first fields of a line of CSV: the id and the labels of the form, unescaped, quoted
 * if necessary. Sends a note about the first text that a spreadsheet would evaluate as a formula,
 * and about the first label without a column. */
void attn_record_key_append(struct attn_record_writer *writer, struct attn_buffer *out,
                            const struct attn_item_result *result);

/* Writes the id of RESULT, or its number. */
void attn_record_id_push(struct attn_json_writer *json, const struct attn_item_result *result);

/* Writes the failure of RESULT: "error":{"code":"too_long","message":"..."}. */
void attn_record_error_push(struct attn_json_writer *json, const struct attn_item_result *result);

/* Writes the value of LABEL, which must not be missing, as in the input. */
void attn_record_label_push(struct attn_json_writer *json, const struct attn_item_label *label);

/* A label that has the name of a column of version 1.0 is written as item.NAME. A later column
 * leaves its name to the label, and is written as attn.NAME. */
#define ATTN_LABEL_PREFIX "item."

/* Returns the prefix of LABEL or, unless IS_LABEL, of the column NAME, which was added SINCE: that
 * of the one that gives way, "" of the other or if the names differ. */
static inline const char *attn_record_prefix(const char *label, const char *name, unsigned since,
                                             bool is_label)
{
    if (is_label == (since > 0) || strcmp(label, name) != 0)
        return "";
    return is_label ? ATTN_LABEL_PREFIX : ATTN_COLUMN_PREFIX;
}

/* Returns the prefix of COLUMN beside LABELS [n]. */
static inline const char *attn_record_column_prefix(const char *const *labels, size_t n,
                                                    const struct attn_column *column)
{
    const char *prefix = "";

    for (size_t i = 0; column->since > 0 && i < n && !*prefix; i++)
        prefix = attn_record_prefix(labels[i], column->name, column->since, false);
    return prefix;
}

/* Sets the error that NAME with ATTN_LABEL_PREFIX is the name of another label. */
enum attn_status attn_record_refuse_labels(const char *name, struct attn_error *err);

/* Writes the header: id, the labels, COLUMNS [n] and "error". ATTN_FORMAT if two labels have the
 * same name (ATTN_LABEL_PREFIX). */
enum attn_status attn_record_header_append(struct attn_record_writer *writer,
                                           const struct attn_column *columns, size_t n,
                                           struct attn_error *err);
