/*
 * records_internal.h - the formats of records. A format is a row of functions; its
 * struct begins with a struct attn_record_writer, the frame that all share: it opens and names the
 * parts, counts the records and hands out what was made as text.
 */
#ifndef ATTN_RECORDS_RECORDS_INTERNAL_H
#define ATTN_RECORDS_RECORDS_INTERNAL_H

#include "base/buffer.h"
#include "base/sink_internal.h"
#include "records/records.h"

struct attn_record_writer;

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
    bool *has_noted_id;      /* whether form->on_note got an id; borrowed, of all writers */
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

/* Appends the id of a record to OUT as a field of CSV: as it is, for it is a key that others look
 * for, in quotes where it needs them. The first that begins with what a spreadsheet takes for a
 * formula is noted. */
void attn_record_id_append(struct attn_record_writer *writer, struct attn_buffer *out,
                           const struct attn_outcome *outcome);

#endif
