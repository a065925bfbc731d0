/*
 * records_internal.h - what many inputs came to, written as it comes. Files grow under the name
 * FILE.part and have their own name when all is whole; a run that ended early can be gone on with.
 *
 *     struct attn_records_item items[] = {{"jsonl", "results.jsonl"}, {"npy", "arrays"}};
 *     struct attn_records_form form = ATTN_RECORDS_FORM_DEFAULT;
 *     form.fields = ATTN_RECORD_FIELD_BIT(MEASURES), form.measures = ATTN_MEASURES_ALL;
 *     form.n_layer = 12, form.n_head = 12;
 *     attn_records_open(items, 2, &form, false, &records, &err);
 *     attn_records_write(records, &outcome, &err);      // of each record, in their order, or in an
 *                                                       // attn_done_fn: attn_outcome_of(result)
 *     attn_records_flush(records, false, &err);
 *     attn_records_finish(records, false, &err);        // results.jsonl.part is whole
 *     attn_records_commit(records, &err);               // results.jsonl, after the others
 *     attn_records_free(records);                       // without _commit the parts stay
 *
 * The formats are a file each. A format is a row of functions; its struct begins with a struct
 * attn_record_writer, the frame that all share: it opens and names the parts, counts the records
 * and hands out what was made as text.
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

/* What is written of each record, whatever it is. */
struct attn_records_form {
    size_t size;                  /* of this struct */
    attn_record_field_set fields; /* of jsonl: bits of enum attn_record_field */
    attn_measure_set measures;    /* which measures: ATTN_MEASURE_BIT of each */
    size_t n_layer, n_head;       /* L and H */
    size_t n_top;                 /* K: next tokens that are predicted; 0: none */
    size_t n_next;                /* continuations that are asked of all records */
    bool has_positions;           /* predictions are after positions, and not after the last one */
    bool adds_predictions;        /* jsonl also has those of records that ask for some themselves */
    enum attn_record_field table; /* which csv holds: MEASURES, PREDICTIONS or SURPRISAL */
    const struct attn_tokenizer *tokenizer; /* of SURPRISAL: what begins a word; borrowed */
    bool has_labels;                        /* jsonl has an object of labels */
    bool has_all_labels;                    /* these are all of a record */
    const char *const *labels; /* [n_label] columns of csv and edges, after the id; borrowed */
    size_t n_label;
    int precision;        /* digits after the point of decimal numbers, 0..17; -1: the shortest text
                             that reads back as the same number */
    attn_note_fn on_note; /* told once of ids that a spreadsheet would run; or NULL */
    void *user;           /* for on_note */
    const char *unit;     /* what notes call a record; NULL: "record" */
    const struct attn_record_format *format; /* writes all items, whatever they name; or NULL */
    void *format_owner;                      /* for it */
};

#define ATTN_RECORDS_FORM_DEFAULT                                                                  \
    ((struct attn_records_form){.size = sizeof(struct attn_records_form), .precision = -1})

/* What a record came to. Everything is borrowed until attn_records_write returns. */
struct attn_outcome {
    size_t number;  /* its place among all, from 0 */
    const char *id; /* [n_id] UTF-8, or the digits of an integer; NULL: its number */
    size_t n_id;
    bool has_text_id;    /* the id is a text */
    const char *failure; /* a code as "too_long"; NULL: it did not fail. Of one that failed all that
                            is below is not looked at */
    const char *message; /* and why */
    const struct attn_item_label *item_labels; /* [n_item_label] those of its line; also of one that
                                                  failed */
    size_t n_item_label;
    size_t n_token;                   /* its tokens */
    const struct attn_labels *labels; /* its tokens and what is selected */
    /* [n_measure, L, H] those of the form, in the order of enum attn_measure; NaN where there is
     * none. NULL: there are none. */
    const float *measures;
    const double *surprisal; /* [n_token] nats, NaN where there is none; or NULL */
    const struct attn_predictions *predictions; /* or NULL */
    const struct attn_capture *capture;         /* the selected tensors, or NULL */
    const struct attn_edges *edges;             /* the largest keys of each query, or NULL */
    const struct attn_table *rows;              /* of each.h; or NULL */
};

/* What attn_run_many reports of a record. Borrows from RESULT. */
struct attn_outcome attn_outcome_of(const struct attn_many_result *result);

struct attn_records;

/*
 * Opens all of the N outputs, or none; FORM and ITEMS are copied. With IS_RESUMED parts that are
 * there are opened as they are, and attn_records_begin must be called before the first record; else
 * there may be none. ATTN_IO when another process writes one of them.
 */
enum attn_status attn_records_open(const struct attn_records_item *items, size_t n,
                                   const struct attn_records_form *form, bool is_resumed,
                                   struct attn_records **records, struct attn_error *err);

/*
 * Says where a resumed run begins: after N_RECORD records, whose parts had SIZES [n_size] bytes
 * after a flush, as attn_records_part says of each; longer parts are cut. Without sizes all parts
 * are emptied. ATTN_IO when a part has fewer bytes.
 */
enum attn_status attn_records_begin(struct attn_records *records, size_t n_record,
                                    const uint64_t *sizes, size_t n_size, struct attn_error *err);

/* Makes LABELS [n], borrowed, the columns of labels, if they were not known when it was opened. */
enum attn_status attn_records_set_labels(struct attn_records *records, const char *const *labels,
                                         size_t n, struct attn_error *err);

/* Appends what the next record came to. */
enum attn_status attn_records_write(struct attn_records *records,
                                    const struct attn_outcome *outcome, struct attn_error *err);

/* Writes out all that was appended; IS_SYNCED waits until devices have it. */
enum attn_status attn_records_flush(struct attn_records *records, bool is_synced,
                                    struct attn_error *err);

/* A file that is being written. */
struct attn_records_part {
    const char *target;  /* the name that it will have; NULL of one that will be part of another */
    const char *path;    /* the name that it has */
    uint64_t size;       /* bytes */
    uint64_t n_changing; /* so many of these, from the first on, attn_records_finish writes again */
};

/* Part I, in an order that depends on the items alone; false: there are I of them. Sinks, FIFOs and
 * devices are none. Of the first item is the last part, and it gets its name last. Borrowed until
 * the next call. */
bool attn_records_part(const struct attn_records *records, size_t i,
                       struct attn_records_part *part);

/* Completes the parts: lengths in headers, the list of an archive. Then attn_records_commit gives
 * them their names. IS_SYNCED as above. */
enum attn_status attn_records_finish(struct attn_records *records, bool is_synced,
                                     struct attn_error *err);
enum attn_status attn_records_commit(struct attn_records *records, struct attn_error *err);

/* Whether all outputs are pipes whose readers went away, and this is why writing failed. One such
 * pipe among other outputs is no failure: nothing more goes into it. */
bool attn_records_is_abandoned(const struct attn_records *records);

/* Frees; parts without a name stay as they are. NULL is allowed. */
void attn_records_free(struct attn_records *records);

/* The form of what attn_run_many gives with OPTIONS and a model with the sizes of CONFIG: measures,
 * sizes and predictions. jsonl has ids, measures and, where asked for, predictions. */
struct attn_records_form attn_records_form_of(const struct attn_many_options *options,
                                              const struct attn_config *config);

/* --- Formats --------------------------------------------------------------------------------- */

struct attn_record_writer;
struct attn_record_columns;

struct attn_record_format {
    const char *name; /* "csv" */
    size_t size;      /* bytes of its struct, which is zeroed before `open` */
    bool is_text;     /* it appends to `text` alone, and can go to a sink */

    /* Opens the parts at PATH (attn_record_writer_add_part). NULL: one part, PATH itself. */
    enum attn_status (*open)(struct attn_record_writer *writer, const char *path, bool is_resumed,
                             struct attn_error *err);

    /* The parts hold what n_record records came to. When they are empty, writes what stands before
     * the first. NULL: there is nothing to do. */
    enum attn_status (*begin)(struct attn_record_writer *writer, struct attn_error *err);

    enum attn_status (*write)(struct attn_record_writer *writer, const struct attn_outcome *outcome,
                              struct attn_error *err);

    /* Completes the parts. NULL: they are. */
    enum attn_status (*finish)(struct attn_record_writer *writer, struct attn_error *err);

    /* How many bytes at the beginning of part I `finish` writes again. NULL: none. */
    size_t (*n_changing)(const struct attn_record_writer *writer, size_t i);

    void (*release)(struct attn_record_writer *writer); /* or NULL */
};

struct attn_record_writer {
    const struct attn_record_format *format;
    const struct attn_records_form *form; /* borrowed from the records */
    struct attn_sink **parts;             /* [n_part] owns the array and them */
    size_t n_part, capacity;
    size_t n_inner;         /* of the parts, the last that become part of another and get no name */
    struct attn_sink *sink; /* of a text that goes to a sink; borrowed */
    size_t n_record;        /* records so far, those of earlier runs too */
    struct attn_buffer text; /* of a text: what was made of the record */
    bool *has_noted_formula; /* whether form->on_note got an id or a label that is one; borrowed, of
                                all writers */
    bool *has_noted_label;   /* likewise one without a column */
    struct attn_record_columns *columns; /* of the form's labels; borrowed, of all writers */
};

/* X(name): attn_record_format_NAME in the file record_NAME.c; of edges in record_csv.c. */
#define ATTN_RECORD_FORMAT_MAP(X)                                                                  \
    X(jsonl)                                                                                       \
    X(csv)                                                                                         \
    X(edges)                                                                                       \
    X(npy)                                                                                         \
    X(npz)

#define ATTN_RECORD_FORMAT_DECLARE(name)                                                           \
    extern const struct attn_record_format attn_record_format_##name;
ATTN_RECORD_FORMAT_MAP(ATTN_RECORD_FORMAT_DECLARE)
#undef ATTN_RECORD_FORMAT_DECLARE

/* Whether nothing was written yet. */
bool attn_record_writer_is_empty(const struct attn_record_writer *writer);

/* Opens PATH as the next part. */
enum attn_status attn_record_writer_add_part(struct attn_record_writer *writer, const char *path,
                                             bool is_resumed, struct attn_error *err);

/* The first fields of a line of CSV: the id of a record and the labels that the form has, as they
 * are, for they are keys that others look for, in quotes where they need them. The first that
 * begins with what a spreadsheet takes for a formula is noted, and so is a label without a
 * column. */
void attn_record_key_append(struct attn_record_writer *writer, struct attn_buffer *out,
                            const struct attn_outcome *outcome);

/* Writes the value of LABEL, which has one, as the input has it. */
void attn_record_label_push(struct attn_json_writer *json, const struct attn_item_label *label);

/* A label that is called as a column is item.NAME, which may not be a label, too: */
#define ATTN_LABEL_PREFIX "item."
enum attn_status attn_record_refuse_labels(const char *name, struct attn_error *err);

/* Writes the line of names: id, the labels, COLUMNS ("layer,head,..."). A label that is called as a
 * column is item.NAME, ATTN_FORMAT where that is another label. */
enum attn_status attn_record_header_append(struct attn_record_writer *writer, const char *columns,
                                           struct attn_error *err);

#endif
