/*
 * writer.h - writers convert trace events to files. Each format has its own source file.
 *
 *     struct attn_writer_options options = ATTN_WRITER_OPTIONS_DEFAULT;
 *     struct attn_writer *writer;
 *     const struct attn_writer_target target = {.path = "all.npz"};
 *     attn_writer_open(attn_format_find("npz"), &target, &labels, &options, &writer, &err);
 *     ... attn_writer_event(writer, event, &err) for every event of a trace ...
 *     attn_writer_finish(writer, &err);   // the complete file appears
 *     attn_writer_free(writer);           // without _finish, no file appears
 *
 * A format is a source file that defines a `struct attn_format`, and one line in the list below.
 * The struct of a format begins with a struct attn_writer. The code that all formats share opens
 * sinks, checks events against the selection, stores the first failure, and detects when a tensor
 * is complete, so that a format only has to write.
 */
#pragma once

#include "base/note.h"
#include "base/pieces.h"
#include "base/pool.h"
#include "base/sink.h"
#include "params/param.h"
#include "tensors/directory.h"
#include "tensors/format_internal.h"
#include "tensors/output.h"
#include "trace/trace_internal.h"

#include <signal.h>

struct attn_head_mixes;    /* measures/head_mix.h */
struct attn_table;         /* tables/table.h */
struct attn_table_picture; /* figures/table_picture.h */

struct attn_writer_options {
    size_t size;   /* size of this struct */
    int precision; /* decimals, 0..17; -1: shortest exact text */
    /* if it becomes nonzero, stops with ATTN_CANCELED; or NULL. Borrowed */
    const volatile sig_atomic_t *cancel;
    struct attn_pool *pool;                     /* used for text and checksums; or NULL. Borrowed */
    const struct attn_picture_options *picture; /* NULL: the defaults. Borrowed */
    attn_note_fn on_note;                       /* called with notes about the output; or NULL */
    void *user;                                 /* passed to on_note */
    const struct attn_table
        *table; /* a table that a page shows before the patterns; or NULL. Borrowed until opened */
    const struct attn_table_picture *table_picture; /* how the table is drawn */
    bool has_predictions;                           /* attn_writer_predictions will be called */
    bool has_usual_sites; /* none were chosen: an output of one matrix holds the pattern */
    /* [2] how heads divide their weight, complete after the last event: of the text and of an
     * encoder before it; NULL: unknown. Borrowed; or NULL */
    struct attn_head_mixes *const *mixes;
};

#define ATTN_WRITER_OPTIONS_DEFAULT                                                                \
    ((struct attn_writer_options){.size = sizeof(struct attn_writer_options), .precision = -1})

struct attn_writer;

/* Creates a writer for a sink such as standard output, which is neither owned nor committed.
 * ATTN_INVALID for csv unless one matrix is selected, and always for npy. */
enum attn_status attn_writer_create_sink(const struct attn_format *format, struct attn_sink *sink,
                                         const struct attn_labels *labels,
                                         const struct attn_writer_options *options,
                                         struct attn_writer **writer, struct attn_error *err);

/* Writes one event. Events must come in the order of a trace. Returns the sink's failure. */
enum attn_status attn_writer_event(struct attn_writer *writer, const struct attn_trace_event *event,
                                   struct attn_error *err);

/* Completes and commits the output. ATTN_INVALID if selected rows are missing. After a failure, the
 * target (in a directory, each incomplete file) is as before. */
enum attn_status attn_writer_finish(struct attn_writer *writer, struct attn_error *err);

void attn_writer_free(struct attn_writer *writer); /* NULL is allowed */

/* Writes the predictions. Call once, after the last event and before attn_writer_finish. Only
 * formats with has_predictions write them. */
enum attn_status attn_writer_predictions(struct attn_writer *writer,
                                         const struct attn_predictions *predictions,
                                         struct attn_error *err);

/* --- The frame, for the formats ------------------------------------------------------------ */

/* The selected part of a site in one layer. */
struct attn_extent {
    size_t n_row;  /* rows of a head */
    size_t n_head; /* number of heads; 1 for sites without heads */
    /* columns; an event of a matrix may have fewer, if later keys were not computed yet */
    size_t n_col;
};

/* The place of an event in the selected part, counted from 0. */
struct attn_place {
    size_t row;   /* index of the event's first row; its other rows follow */
    size_t head;  /* index of its head; 0 for sites without heads */
    bool is_last; /* with this event, all rows of the site in that layer have arrived */
    struct attn_extent extent;
};

struct attn_shapes; /* pictures/shapes.h */
struct attn_grid;   /* pictures/grid.h */

struct attn_writer_ops {
    size_t size; /* bytes of the format's struct, which is zeroed before `open` */

    /* Checks requirements of the format, such as libraries; or NULL. NAME is the output, for
     * messages. */
    enum attn_status (*check)(const char *name, struct attn_error *err);

    /* Called when the sink or directory is open. A format that writes a directory adds its files to
     * run->files. After a failure `release` is still called. */
    enum attn_status (*open)(struct attn_writer *writer, struct attn_error *err);
    enum attn_status (*event)(struct attn_writer *writer, const struct attn_trace_event *event,
                              const struct attn_place *place, struct attn_error *err);
    /* Called after all events, before the output is committed; or NULL. */
    enum attn_status (*finish)(struct attn_writer *writer, struct attn_error *err);
    /* Writes the predictions, after all events; NULL unless the format has_predictions. */
    enum attn_status (*predictions)(struct attn_writer *writer,
                                    const struct attn_predictions *predictions,
                                    struct attn_error *err);
    void (*release)(struct attn_writer *writer);

    /* Draws SHAPES to SINK; or NULL. *N_UNKNOWN: number of texts with characters that no font
     * has. */
    enum attn_status (*draw)(const struct attn_shapes *shapes, struct attn_sink *sink,
                             size_t *n_unknown, struct attn_error *err);

    /* Writes TABLE, with the layout of DRAWN, in the format's own way. NULL: draws it as a
     * figure. */
    enum attn_status (*draw_table)(const struct attn_table *table,
                                   const struct attn_table_picture *drawn,
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

/* Those that are linked, in this order; ends with NULL. In lib/parts.c. */
extern const struct attn_format *const attn_formats[];

struct attn_event_queue;

struct attn_writer {
    const struct attn_format *format;
    const struct attn_writer_ops *ops; /* functions of the format */
    struct attn_labels labels;         /* a copy; its pointers are borrowed */
    struct attn_writer_options options;
    /* Owns; for a format that shows one stack: the selection of that stack; NULL: all stacks are
     * shown. */
    struct attn_selection *stack;
    enum attn_model_stack shown; /* of these */
    struct attn_sink *sink;      /* NULL if the target is a directory */
    bool owns_sink;
    struct attn_directory *directory; /* NULL if the target is a sink */
    bool owns_directory;
    struct attn_manifest_run *run;  /* borrowed from the directory; lists the files written there */
    bool is_in_order;               /* set by `open`: events are passed in document order */
    struct attn_store *store;       /* owns; has the queue and the arrays below */
    struct attn_event_queue *queue; /* NULL unless is_in_order */
    size_t n_position;              /* number of positions of the run */
    size_t *queries;                /* [n_query] the selected queries, ascending */
    size_t n_query;                 /* their number */
    /* [n_position] index in `queries`, SIZE_MAX for positions that are not selected */
    size_t *query_rank;
    size_t *rows_left;          /* [(n_layer + 1) * ATTN_N_SITE] rows still missing */
    size_t n_row_left;          /* sum of rows_left */
    struct attn_pieces *pieces; /* owns; NULL until rows are written as text */
    struct attn_error failure;  /* the first failure, which is returned from then on */
};

/* The target of a writer: one of the three fields is set. */
struct attn_writer_target {
    const char *path; /* a file, or for some formats a directory, which is created if missing */
    struct attn_sink *sink;
    struct attn_directory *directory; /* locked; borrowed for the lifetime of the writer */
};

/* Creates a writer. A directory gets a manifest, run.json, that lists the written files;
 * attn_writer_finish removes the files that earlier runs wrote there in the same format. ATTN_IO if
 * another writer uses the directory: attn_outputs_create waits, and can write several formats into
 * one directory. ATTN_INVALID if the format does not support the selected sites: tidy requires
 * patterns. */
enum attn_status attn_writer_open(const struct attn_format *format,
                                  const struct attn_writer_target *target,
                                  const struct attn_labels *labels,
                                  const struct attn_writer_options *given,
                                  struct attn_writer **writer, struct attn_error *err);

/* Return the index of the site and layer of AT, and the number of such indices. */
size_t attn_writer_slot(const struct attn_writer *writer, const struct attn_location *at);

static inline size_t attn_writer_n_slot(const struct attn_writer *writer)
{
    return (attn_selection_n_slot(writer->labels.selection) + 1) * ATTN_N_SITE;
}

struct attn_extent attn_writer_extent(const struct attn_writer *writer,
                                      const struct attn_location *at);

/* Returns the number of matrices that each head of SITE has because there are several images: one
 * each, some without rows. The sequence of an event is the number of its image. It is 1 if the
 * format puts them into arrays of its own (attn_format_holds_images). */
size_t attn_writer_n_image(const struct attn_writer *writer, enum attn_site site);

/* The same of the matrices of IMAGE. */
struct attn_extent attn_writer_extent_of(const struct attn_writer *writer,
                                         const struct attn_location *at, size_t image);

/* A head by its number in its batch. Without batches `batch` is 0. */
struct attn_head_number {
    int batch, head;
};
struct attn_head_number attn_writer_head_number(const struct attn_writer *writer,
                                                enum attn_site site, int head);

/* The first lists, the second creates the file of AT in the writer's directory:
 * "L00H03.pattern.csv", "B00H03.pattern.csv", "logits.csv"; if each of several images has one,
 * "L00H03.picture_map.1.csv". */
enum attn_status attn_writer_list_file(struct attn_writer *writer, const struct attn_location *at,
                                       size_t image, struct attn_error *err);
enum attn_status attn_writer_create_file(const struct attn_writer *writer,
                                         const struct attn_location *at, size_t image,
                                         struct attn_sink **sink, struct attn_error *err);

/* Appends the title of a matrix, including the view: "layer 2, head 5: pattern", "batch 0, head 3:
 * pattern, words", "logits", "layer 2, head 5: picture_map.1". */
void attn_matrix_name_append(const struct attn_writer *writer, const struct attn_location *at,
                             size_t image, struct attn_buffer *out);

/* Returns true if HEAD (for k and v a key/value head) is selected. */
bool attn_writer_has_head(const struct attn_writer *writer, const struct attn_location *at,
                          int head);

/* Appends row R of EVENT to TEXT. Called on any thread; failures stay in TEXT. */
typedef void (*attn_row_text_fn)(const struct attn_writer *writer,
                                 const struct attn_trace_event *event,
                                 const struct attn_place *place, size_t r,
                                 struct attn_buffer *text);

/* Writes all rows of EVENT to SINK, using the pool. The caller checks SINK for errors. */
enum attn_status attn_writer_write_rows(struct attn_writer *writer,
                                        const struct attn_trace_event *event,
                                        const struct attn_place *place, attn_row_text_fn append_row,
                                        struct attn_sink *sink, struct attn_error *err);

/* Returns the sizes of the stack of AT. */
const struct attn_dims *attn_writer_dims(const struct attn_writer *writer,
                                         const struct attn_location *at);

/* Returns the heading of row labels: "query", for vectors "token"; for arrays "query" or "key". */
const char *attn_writer_row_name(const struct attn_writer *writer, enum attn_site site);

/* Returns the positions of the rows of SITE, in order. */
const size_t *attn_writer_rows(const struct attn_writer *writer, enum attn_site site);

/* Returns true if the keys of AT are positions of the run, not rows of a source. */
bool attn_writer_has_own_keys(const struct attn_writer *writer, const struct attn_location *at);

/* Returns true if the rows of AT are positions of the run, not of an encoder. */
bool attn_writer_has_own_rows(const struct attn_writer *writer, const struct attn_location *at);
