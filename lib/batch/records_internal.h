/*
 * records_internal.h - writes the results of many inputs. Files grow as FILE.part and get their
 * names when all are whole; a run that ended early can be resumed.
 *
 *     struct attn_records_item items[] = {{"jsonl", "results.jsonl"}, {"npy", "arrays"}};
 *     struct attn_records_form form = ATTN_RECORDS_FORM_DEFAULT;
 *     form.fields = ATTN_RECORD_FIELD_BIT(MEASURES), form.measures = ATTN_MEASURES_ALL;
 *     form.n_layer = 12, form.n_head = 12;
 *     attn_records_open(items, 2, &form, false, &records, &err);
 *     outcome = attn_record_outcome_of(result);         // in an attn_done_fn
 *     attn_records_write(records, &outcome, &err);      // of each record, in their order
 *     attn_records_flush(records, false, &err);
 *     attn_records_finish(records, false, &err);        // results.jsonl.part is whole
 *     attn_records_commit(records, &err);               // results.jsonl, after the others
 *     attn_records_free(records);                       // without _commit the parts stay
 *
 * Each format is a file and a row of functions. Its struct begins with a struct attn_record_writer,
 * the common frame: it opens and names parts, counts records, and writes the text of a record.
 */
#ifndef ATTN_BATCH_RECORDS_INTERNAL_H
#define ATTN_BATCH_RECORDS_INTERNAL_H

#include "analysis/edges.h"
#include "analysis/measure.h"
#include "base/buffer.h"
#include "base/note.h"
#include "base/sink_internal.h"
#include "batch/records.h"
#include "capture/capture.h"
#include "encode/json_writer.h"
#include "records/items.h"
#include "run/many.h"

struct attn_record_rows;

/* The contents of the outputs, the same for all records. */
struct attn_records_form {
    size_t size;                  /* of this struct */
    attn_record_field_set fields; /* of jsonl: bits of enum attn_record_field */
    attn_measure_set measures;    /* which measures: ATTN_MEASURE_BIT of each */
    size_t n_layer, n_head;       /* L and H */
    size_t n_stack;               /* attentions of a layer: 2 of a decoder with a source, itself and
                                     cross, or 1 */
    size_t n_top;                 /* K: number of predicted next tokens */
    size_t n_next;                /* continuations for all records */
    bool has_positions;           /* predictions are after given positions, not after the last */
    bool adds_predictions;        /* jsonl also has predictions that a record itself asks for */
    enum attn_record_field table; /* of csv: MEASURES, PREDICTIONS or SURPRISAL */
    const struct attn_tokenizer *tokenizer; /* for words of SURPRISAL; borrowed */
    bool has_labels;                        /* jsonl has an object of labels */
    bool has_all_labels;                    /* ... with all labels of a record */
    const char *const *labels; /* [n_label] columns of csv and edges, after the id; borrowed */
    size_t n_label;
    int precision;                 /* digits after the point, 0..17; -1: the shortest exact text */
    attn_note_fn on_note;          /* or NULL */
    void *user;                    /* for on_note */
    const char *unit;              /* the word for a record in notes; NULL: "record" */
    struct attn_record_rows *rows; /* of items (record_rows.h); borrowed, or NULL */
};

#define ATTN_RECORDS_FORM_DEFAULT                                                                  \
    ((struct attn_records_form){.size = sizeof(struct attn_records_form), .precision = -1})

/* The result of a record. Everything is borrowed until attn_records_write returns. */
struct attn_record_outcome {
    size_t number;  /* from 0 */
    const char *id; /* [n_id] UTF-8, or the digits of an integer; NULL: the number */
    size_t n_id;
    bool has_text_id;                          /* the id is a text */
    const char *failure;                       /* a code such as "too_long"; NULL: it succeeded */
    const char *message;                       /* of the failure */
    const struct attn_item_label *item_labels; /* [n_item_label] of its line */
    size_t n_item_label;
    /* Unused after a failure: */
    size_t n_token;
    const struct attn_labels *labels; /* tokens and selection */
    const float *measures;   /* [n_measure, L, H] of the form, in the order of enum attn_measure;
                                NaN: no value. Or NULL */
    const double *surprisal; /* [n_token] nats; NaN: no value. Or NULL */
    const struct attn_predictions *predictions; /* or NULL */
    const struct attn_capture *capture;         /* the selected tensors, or NULL */
    const struct attn_edges *edges;             /* the largest keys of each query, or NULL */
    const struct attn_table *rows;              /* of each.h; or NULL */
    const struct attn_buffer *kept;             /* of each.h: the rows as bytes; or NULL */
    const struct attn_array *matrix;            /* with data, for npz; or NULL */
};

/* The outcome of a result of attn_run_many. Borrows from RESULT. */
struct attn_record_outcome attn_record_outcome_of(const struct attn_many_result *result);

struct attn_records;

/* Opens all N outputs, or none; FORM and ITEMS are copied. With IS_RESUMED existing parts are
 * opened as they are, and attn_records_begin must be called before the first record. ATTN_IO if
 * another process writes one of them. */
enum attn_status attn_records_open(const struct attn_records_item *items, size_t n,
                                   const struct attn_records_form *form, bool is_resumed,
                                   struct attn_records **records, struct attn_error *err);

/* Resumes after N_RECORD records, whose parts had SIZES [n_size] bytes after a flush
 * (attn_records_part): longer parts are cut. Without sizes all parts are emptied. ATTN_IO for a
 * part with fewer bytes. */
enum attn_status attn_records_begin(struct attn_records *records, size_t n_record,
                                    const uint64_t *sizes, size_t n_size, struct attn_error *err);

/* Sets the columns of labels, LABELS [n], borrowed, if they were not known at opening. */
enum attn_status attn_records_set_labels(struct attn_records *records, const char *const *labels,
                                         size_t n, struct attn_error *err);

/* Appends the next record. */
enum attn_status attn_records_write(struct attn_records *records,
                                    const struct attn_record_outcome *outcome,
                                    struct attn_error *err);

/* Writes out all appended records; IS_SYNCED waits for the disk. */
enum attn_status attn_records_flush(struct attn_records *records, bool is_synced,
                                    struct attn_error *err);

/* A file that is being written. */
struct attn_records_part {
    const char *target;  /* its final name; NULL: it becomes part of another file */
    const char *path;    /* its name now */
    uint64_t size;       /* bytes */
    uint64_t n_changing; /* bytes at its beginning that attn_records_finish overwrites */
};

/* Part I, in an order that depends on the items alone; false if there are only I. Sinks, FIFOs and
 * devices are not parts. The first item has the last part, which is renamed last. Borrowed until
 * the next call. */
bool attn_records_part(const struct attn_records *records, size_t i,
                       struct attn_records_part *part);

/* Completes the parts: lengths in headers, the directory of an archive. attn_records_commit then
 * renames them. */
enum attn_status attn_records_finish(struct attn_records *records, bool is_synced,
                                     struct attn_error *err);
enum attn_status attn_records_commit(struct attn_records *records, struct attn_error *err);

/* Whether writing failed because all outputs are pipes without a reader. One such pipe among other
 * outputs is skipped instead. */
bool attn_records_is_abandoned(const struct attn_records *records);

/* Parts without a final name stay. NULL is allowed. */
void attn_records_free(struct attn_records *records);

/* The form for attn_run_many with OPTIONS and a model of CONFIG: measures, sizes and predictions.
 * jsonl has ids, measures and, if requested, predictions. */
struct attn_records_form attn_records_form_of(const struct attn_many_options *options,
                                              const struct attn_config *config);

/* --- Formats --------------------------------------------------------------------------------- */

struct attn_record_writer;
struct attn_record_columns;

struct attn_record_format {
    const char *name; /* "csv" */
    size_t size;      /* bytes of its struct, which is zeroed before `open` */
    bool is_text;     /* it only appends to `text`, and can go to a sink */

    /* Opens the parts at PATH (attn_record_writer_add_part). NULL: PATH is the only part. */
    enum attn_status (*open)(struct attn_record_writer *writer, const char *path, bool is_resumed,
                             struct attn_error *err);

    /* Called when the parts have n_record records: writes the header into empty parts. Or NULL. */
    enum attn_status (*begin)(struct attn_record_writer *writer, struct attn_error *err);

    enum attn_status (*write)(struct attn_record_writer *writer,
                              const struct attn_record_outcome *outcome, struct attn_error *err);

    /* Completes the parts. Or NULL. */
    enum attn_status (*finish)(struct attn_record_writer *writer, struct attn_error *err);

    /* Number of bytes at the beginning of part I that `finish` overwrites. NULL: 0. */
    size_t (*n_changing)(const struct attn_record_writer *writer, size_t i);

    void (*release)(struct attn_record_writer *writer); /* or NULL */
};

struct attn_record_writer {
    const struct attn_record_format *format;
    const struct attn_records_form *form; /* borrowed from the records */
    struct attn_sink **parts;             /* [n_part] owns the array and them */
    size_t n_part, capacity;
    size_t n_inner;          /* the last parts, which become part of another file */
    struct attn_sink *sink;  /* of a text that goes to a sink; borrowed */
    size_t n_record;         /* records so far, with those of earlier runs */
    struct attn_buffer text; /* of the record, for texts */
    /* Shared by all writers, borrowed: */
    bool *has_noted_formula;             /* form->on_note got an id or a label like a formula */
    bool *has_noted_label;               /* ... and a label without a column */
    struct attn_record_columns *columns; /* of the form's labels */
};

/* X(name): attn_record_format_NAME in the file record_NAME.c; of edges in record_csv.c, of state in
 * record_rows.c. */
#define ATTN_RECORD_FORMAT_MAP(X)                                                                  \
    X(jsonl)                                                                                       \
    X(csv)                                                                                         \
    X(edges)                                                                                       \
    X(npy)                                                                                         \
    X(npz)                                                                                         \
    X(rows)                                                                                        \
    X(state)

#define ATTN_RECORD_FORMAT_DECLARE(name)                                                           \
    extern const struct attn_record_format attn_record_format_##name;
ATTN_RECORD_FORMAT_MAP(ATTN_RECORD_FORMAT_DECLARE)
#undef ATTN_RECORD_FORMAT_DECLARE

/* Whether the first part is empty. */
bool attn_record_writer_is_empty(const struct attn_record_writer *writer);

/* Opens PATH as the next part. */
enum attn_status attn_record_writer_add_part(struct attn_record_writer *writer, const char *path,
                                             bool is_resumed, struct attn_error *err);

/* Appends the first fields of a line of CSV: the id and the labels of the form, unescaped, quoted
 * if necessary. Notes the first one that a spreadsheet would run as a formula, and the first label
 * without a column. */
void attn_record_key_append(struct attn_record_writer *writer, struct attn_buffer *out,
                            const struct attn_record_outcome *outcome);

/* Writes the id of OUTCOME, or its number. */
void attn_record_id_push(struct attn_json_writer *json, const struct attn_record_outcome *outcome);

/* Writes the value of LABEL, which is not missing, as it is in the input. */
void attn_record_label_push(struct attn_json_writer *json, const struct attn_item_label *label);

/* A label with the name of a column is written item.NAME. Fails if that is a label, too. */
#define ATTN_LABEL_PREFIX "item."
enum attn_status attn_record_refuse_labels(const char *name, struct attn_error *err);

/* Writes the header: id, the labels, COLUMNS [n], and "error" if it HAS_ERROR. ATTN_FORMAT for two
 * labels with one name (ATTN_LABEL_PREFIX). */
enum attn_status attn_record_header_append(struct attn_record_writer *writer,
                                           const struct attn_column *columns, size_t n,
                                           bool has_error, struct attn_error *err);

#endif
