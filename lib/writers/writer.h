/*
 * writer.h - writers: they take trace events and turn them into files, one file of source a format.
 *
 *     struct attn_writer_options options = ATTN_WRITER_OPTIONS_DEFAULT;
 *     struct attn_writer *writer;
 *     attn_writer_create(attn_format_find("npz"), "all.npz", &labels, &options, &writer, &err);
 *     ... attn_writer_event(writer, event, &err) for every event of a trace ...
 *     attn_writer_finish(writer, &err);   // the file appears whole
 *     attn_writer_free(writer);           // without _finish: nothing appears
 *
 * A format is one file with one row, a `struct attn_format`, and one line in the list below. Its
 * own struct begins with a struct attn_writer, the frame that all formats share: it opens sinks,
 * checks events against the selection, keeps the first failure, and knows when a tensor is
 * complete; a format only writes.
 */
#ifndef ATTN_WRITERS_WRITER_H
#define ATTN_WRITERS_WRITER_H

#include "base/note.h"
#include "base/param.h"
#include "base/pieces.h"
#include "base/pool.h"
#include "base/sink.h"
#include "trace/trace_internal.h"
#include "writers/directory.h"
#include "writers/format.h"
#include "writers/output.h"
#include "writers/picture.h"

#include <signal.h>

struct attn_table;         /* base/table.h */
struct attn_table_picture; /* figures/table_picture.h */

struct attn_writer_options {
    size_t size;      /* of this struct */
    int precision;    /* decimals, 0..17; -1: the shortest exact text */
    const char *own;  /* the value of the format's option, or NULL. Borrowed */
    bool is_addition; /* to a directory: the files that earlier runs wrote there stay */
    const volatile sig_atomic_t *cancel; /* not 0: stop with ATTN_CANCELED; or NULL. Borrowed */
    struct attn_pool *pool;              /* for text and checksums; or NULL. Borrowed */
    const struct attn_picture_options *picture; /* or NULL: the defaults. Borrowed */
    attn_note_fn on_note;                       /* called with notes about the output; or NULL */
    void *user;                                 /* for on_note */
    bool is_synced;                             /* _finish waits until the device has the output */
    const struct attn_table
        *table; /* a table for a page, before the patterns; or NULL. Borrowed until opened */
    const struct attn_table_picture *table_picture; /* how the table is drawn */
    bool has_predictions;                           /* attn_writer_predictions will be called */
};

#define ATTN_WRITER_OPTIONS_DEFAULT                                                                \
    ((struct attn_writer_options){.size = sizeof(struct attn_writer_options), .precision = -1})

struct attn_writer;

/* PATH is a file, or for some formats a directory: made when absent, written into when it exists. A
 * directory gets a manifest, run.json, of the written files, and _finish removes the files that
 * earlier runs wrote there in the same format, unless options->is_addition. ATTN_IO if another
 * writer is writing into it: attn_outputs_create waits, and writes several formats into one
 * directory. ATTN_INVALID if the format cannot hold the selected sites: tidy requires patterns. */
enum attn_status attn_writer_create(const struct attn_format *format, const char *path,
                                    const struct attn_labels *labels,
                                    const struct attn_writer_options *options,
                                    struct attn_writer **writer, struct attn_error *err);

/* Into a sink, such as standard output, which is not owned or committed. csv: ATTN_INVALID unless
 * one matrix is selected; npy: always. */
enum attn_status attn_writer_create_sink(const struct attn_format *format, struct attn_sink *sink,
                                         const struct attn_labels *labels,
                                         const struct attn_writer_options *options,
                                         struct attn_writer **writer, struct attn_error *err);

/* Takes one event, in the order of a trace. Fails with the sink's failure. */
enum attn_status attn_writer_event(struct attn_writer *writer, const struct attn_trace_event *event,
                                   struct attn_error *err);

/* Whether a run that is compared hands it chosen and exact attention instead of events. */
bool attn_writer_takes_pairs(const struct attn_writer *writer);

/* Instead of an event: rows of CHOSEN attention, and the same rows of EXACT. */
enum attn_status attn_writer_pair(struct attn_writer *writer, const struct attn_trace_event *chosen,
                                  const struct attn_trace_event *exact, struct attn_error *err);

/* Completes and commits. ATTN_INVALID if selected rows are missing. After a failure the target, or
 * each file of a directory not yet complete, is as before. */
enum attn_status attn_writer_finish(struct attn_writer *writer, struct attn_error *err);

void attn_writer_free(struct attn_writer *writer); /* NULL is allowed */

/* Once, after the last event, before _finish. Formats with has_predictions have a place for them.
 */
enum attn_status attn_writer_predictions(struct attn_writer *writer,
                                         const struct attn_predictions *predictions,
                                         struct attn_error *err);

/* --- The frame, for the formats ------------------------------------------------------------ */

/* The kept part of a site in one layer. */
struct attn_extent {
    size_t n_row;  /* of a head */
    size_t n_head; /* 1 for sites without heads */
    size_t n_col;  /* its width; an event of a matrix may have fewer columns so far */
};

/* The place of an event in the kept part, counted from 0. */
struct attn_place {
    size_t row;   /* index of the event's first row; its other rows follow */
    size_t head;  /* index of its head; 0 for sites without heads */
    bool is_last; /* with this event the site of that layer has all its rows */
    struct attn_extent extent;
};

struct attn_shapes; /* encode/shapes.h */
struct attn_grid;   /* figures/figure.h */

struct attn_writer_ops {
    size_t size; /* bytes of the format's struct, which is zeroed before _open */

    /* Checks requirements of the format, such as libraries; or NULL. NAME is the output in
     * messages. */
    enum attn_status (*check)(const char *name, struct attn_error *err);

    /* The sink or directory is open. A format of directories adds its files to run->files. After a
     * failure _release is still called. */
    enum attn_status (*open)(struct attn_writer *writer, struct attn_error *err);
    enum attn_status (*event)(struct attn_writer *writer, const struct attn_trace_event *event,
                              const struct attn_place *place, struct attn_error *err);
    /* Rows of chosen and of exact attention, in order; NULL: it takes their difference. */
    enum attn_status (*pair)(struct attn_writer *writer, const struct attn_trace_event *chosen,
                             const struct attn_trace_event *exact, const struct attn_place *place,
                             struct attn_error *err);
    /* After all events, before the frame commits; or NULL. */
    enum attn_status (*finish)(struct attn_writer *writer, struct attn_error *err);
    /* Writes the predictions, after all events; NULL unless the format has_predictions. */
    enum attn_status (*predictions)(struct attn_writer *writer,
                                    const struct attn_predictions *predictions,
                                    struct attn_error *err);
    void (*release)(struct attn_writer *writer);

    /* Draws SHAPES into SINK; or NULL. *N_UNKNOWN: texts with characters that no font has. */
    enum attn_status (*draw)(const struct attn_shapes *shapes, struct attn_sink *sink,
                             size_t *n_unknown, struct attn_error *err);

    /* Writes TABLE, drawn as DRAWN says, in the form of the format. NULL: a figure of it. */
    enum attn_status (*draw_table)(const struct attn_table *table,
                                   const struct attn_table_picture *drawn,
                                   const struct attn_picture_options *picture,
                                   struct attn_sink *sink, struct attn_error *err);

    /* Writes the numbers of a table, in the rows and columns of GRID, as text; or NULL. */
    enum attn_status (*draw_grid)(const struct attn_grid *grid,
                                  const struct attn_picture_options *picture,
                                  struct attn_sink *sink, struct attn_error *err);
};

/* The formats, one line each, in the order of their options. */
#define ATTN_FORMAT_MAP(X)                                                                         \
    X(text)                                                                                        \
    X(screen)                                                                                      \
    X(csv)                                                                                         \
    X(tidy)                                                                                        \
    X(npy)                                                                                         \
    X(npz)                                                                                         \
    X(safetensors)                                                                                 \
    X(json)                                                                                        \
    X(jsonl)                                                                                       \
    X(latex)                                                                                       \
    X(markdown)                                                                                    \
    X(png)                                                                                         \
    X(svg)                                                                                         \
    X(pdf)                                                                                         \
    X(html)                                                                                        \
    X(heatmap)

#define ATTN_FORMAT_ROW(name) extern const struct attn_format attn_##name##_format;
ATTN_FORMAT_MAP(ATTN_FORMAT_ROW)
#undef ATTN_FORMAT_ROW

struct attn_event_queue;

struct attn_writer {
    const struct attn_format *format;
    const struct attn_writer_ops *ops; /* the format's */
    struct attn_labels labels;         /* a copy; its pointers are borrowed */
    struct attn_writer_options options;
    /* Owns; of a format that holds one stack: the one that it shows; NULL: all */
    struct attn_selection *stack;
    bool is_of_encoder;
    struct attn_sink *sink; /* NULL for a directory */
    bool owns_sink;
    struct attn_directory *directory; /* NULL for a sink */
    bool owns_directory;
    struct attn_manifest_run *run;  /* borrowed from the directory; the files written there */
    bool is_in_order;               /* set by _open: events come in the order of a document */
    struct attn_event_queue *queue; /* owns; NULL unless is_in_order */
    size_t n_position;              /* positions of the run */
    size_t *queries;                /* [n_query] owns; the kept queries, ascending */
    size_t n_query;                 /* their number */
    size_t *query_rank;         /* [n_position] owns; index in `queries`, SIZE_MAX for the others */
    size_t *rows_left;          /* [(n_layer + 1) * ATTN_N_SITE] owns; rows still to come */
    size_t n_row_left;          /* their sum */
    struct attn_pieces *pieces; /* owns; NULL until rows are written as text */
    struct attn_error failure;  /* the first; it is repeated from then on */
};

/* Where a writer writes: one of the three. */
struct attn_writer_target {
    const char *path;
    struct attn_sink *sink;
    struct attn_directory *directory; /* is locked; borrowed for the writer's life */
};

/* The implementation of attn_writer_create and _create_sink, for any target. */
enum attn_status attn_writer_open(const struct attn_format *format,
                                  const struct attn_writer_target *target,
                                  const struct attn_labels *labels,
                                  const struct attn_writer_options *given,
                                  struct attn_writer **writer, struct attn_error *err);

/* The site and layer of AT as an index, and how many there are. */
size_t attn_writer_slot(const struct attn_writer *writer, const struct attn_location *at);

static inline size_t attn_writer_n_slot(const struct attn_writer *writer)
{
    return (attn_selection_n_slot(writer->labels.selection) + 1) * ATTN_N_SITE;
}

struct attn_extent attn_writer_extent(const struct attn_writer *writer,
                                      const struct attn_location *at);

/* A head by its number in the batch. Without batches `batch` is 0. */
struct attn_head_number {
    int batch, head;
};
struct attn_head_number attn_writer_head_number(const struct attn_writer *writer,
                                                enum attn_site site, int head);

/* Lists, and makes, the file of AT in the writer's directory: "L00H03.pattern.csv",
 * "B00H03.pattern.csv", "logits.csv". */
enum attn_status attn_writer_list_file(struct attn_writer *writer, const struct attn_location *at,
                                       struct attn_error *err);
enum attn_status attn_writer_create_file(const struct attn_writer *writer,
                                         const struct attn_location *at, struct attn_sink **sink,
                                         struct attn_error *err);

/* Appends the title of a matrix with its view: "layer 2, head 5: pattern", "batch 0, head 3:
 * pattern, words", "logits". */
void attn_matrix_name_append(const struct attn_writer *writer, const struct attn_location *at,
                             struct attn_buffer *out);

/* Whether HEAD (a key/value head for k and v) is kept. */
bool attn_writer_has_head(const struct attn_writer *writer, const struct attn_location *at,
                          int head);

/* Appends row R of EVENT to TEXT, on any thread; failures stay in TEXT. */
typedef void (*attn_row_text_fn)(const struct attn_writer *writer,
                                 const struct attn_trace_event *event,
                                 const struct attn_place *place, size_t r,
                                 struct attn_buffer *text);

/* Writes all rows of EVENT to SINK, using the pool; the caller checks SINK for errors. */
enum attn_status attn_writer_write_rows(struct attn_writer *writer,
                                        const struct attn_trace_event *event,
                                        const struct attn_place *place, attn_row_text_fn append_row,
                                        struct attn_sink *sink, struct attn_error *err);

/* The sizes of the stack of AT. */
const struct attn_dims *attn_writer_dims(const struct attn_writer *writer,
                                         const struct attn_location *at);

/* The heading of row labels: "query", or for vectors "token"; for arrays "query" or "key". */
const char *attn_writer_row_name(const struct attn_writer *writer, enum attn_site site);

/* The positions of the rows of SITE, in order. */
const size_t *attn_writer_rows(const struct attn_writer *writer, enum attn_site site);

/* Whether the keys of AT are positions of the run, not rows of a source. */
bool attn_writer_has_own_keys(const struct attn_writer *writer, const struct attn_location *at);

/* Whether the rows of AT are positions of the run, not those of an encoder. */
bool attn_writer_has_own_rows(const struct attn_writer *writer, const struct attn_location *at);

#endif
