/*
 * output.h - what is written beside tensors: what their rows and columns are called, and predictions.
 */
#ifndef ATTN_OUTPUT_OUTPUT_H
#define ATTN_OUTPUT_OUTPUT_H

#include "base/pool.h"
#include "base/sink.h"
#include "output/format.h"
#include "trace/trace.h"

#include <signal.h>
#include <stdint.h>

/* An option that shaped a run, as it was given. */
struct attn_option {
    const char *name, *value;
};

/*
 * The axes of arrays that attention is computed on, without a model (attn_attend). To the trace they
 * are one layer, 0, with one list of heads: head h of batch b is b * (n_head / n_batch) + h. Written
 * they get their axes back, and plain names: array `pattern` [T, S], [H, T, S] or [B, H, T, S],
 * `z` [T, Ev], [H, T, Ev] or [B, H, T, Ev]; file pattern.csv, H03.pattern.csv or
 * B00H03.pattern.csv. When heads are selected, `heads` says which the arrays hold: of each batch when
 * all keep the same, [B, H', T, S]; else in that list, and [B, H, T, S] is [H', T, S]. Tidy has the layer 0, and the head of that list.
 */
struct attn_array_axes {
    int rank;       /* of the inputs: 2 [T, E], 3 [H, T, E], 4 [B, H, T, E] */
    size_t n_batch; /* B, which divides n_head and n_kv_head; 1 unless rank is 4 */
};

/* What is being run, for labels and shapes. Borrowed by writers for their life. */
struct attn_labels {
    const struct attn_selection *selection; /* what the events will hold; has the sizes */
    const char *model;                      /* its name, or NULL */
    const struct attn_array_axes *axes;     /* NULL: a model is run, and not attention on arrays */
    const int32_t *ids;                     /* [n_position], or NULL when embeddings were fed */
    const char *const *tokens; /* [n_position] bytes of each token (not terminated), or NULL */
    const size_t *token_sizes; /* [n_position] */
    const char *const *source_tokens;  /* [n_source] of what cross-attention looks at, or NULL */
    const size_t *source_token_sizes;  /* [n_source] */
    const size_t *begin, *end;         /* [n_position] each token's bytes in the text, or NULL */
    const struct attn_option *options; /* [n_option] what shaped the run; json names them */
    size_t n_option;
};

/* What a model expects after the prompt. */
struct attn_candidate {
    size_t position; /* after which it is expected */
    int32_t id;
    const char *token; /* its bytes, or NULL */
    size_t token_size;
    double probability; /* 0..1 */
};

struct attn_continuation {
    const char *text;       /* terminated */
    double log_probability; /* natural, summed over its tokens */
};

struct attn_predictions {
    struct attn_candidate *top; /* [n_top] by position, the most probable first */
    size_t n_top;
    bool has_positions;             /* positions were chosen; else there is the last one alone */
    struct attn_continuation *next; /* [n_next] after the last position */
    size_t n_next;
};

/* --- Inside the library: not installed --------------------------------------------------------- */

/*
 * Writers take trace events and turn them into files, one file of source a format.
 *
 *     struct attn_writer_options options = ATTN_WRITER_OPTIONS_DEFAULT;
 *     struct attn_writer *writer;
 *     attn_writer_create(attn_format_find("npz"), "all.npz", &labels, &options, &writer, &err);
 *     ... attn_writer_event(writer, event, &err) for every event of a trace with labels.selection ...
 *     attn_writer_finish(writer, &err);   // the file appears whole
 *     attn_writer_free(writer);           // without _finish: nothing appears
 */

struct attn_writer_options {
    size_t size;   /* of this struct */
    int precision; /* digits after the point of decimal formats, 0..17; -1: the shortest that reads
                        back the same float32 */
    const char *own;  /* the value of the format's own option; NULL: its default. Borrowed by the
                        writer for its life */
    bool is_addition; /* to a directory: the files that earlier runs wrote there stay */
    const volatile sig_atomic_t *cancel; /* looked at with each event: not 0 stops the writer with
                                            ATTN_CANCELED; NULL: nothing does. Borrowed likewise */
    struct attn_pool *pool; /* its threads make text and checksums while events are taken; NULL: the
                               caller alone. Borrowed likewise */
};

#define ATTN_WRITER_OPTIONS_DEFAULT                                                                \
    ((struct attn_writer_options){.size = sizeof(struct attn_writer_options), .precision = -1})

struct attn_writer;

/*
 * PATH is a file, or for some formats a directory: made when absent, written into when it exists.
 * A directory gets a manifest, run.json, of what was written into it, and _finish removes the files
 * that earlier runs wrote there in the same format, unless options->is_addition. ATTN_IO when another
 * writer is writing into it: attn_outputs_create waits, and writes several formats into one directory.
 * ATTN_INVALID when the format has no place for what is selected: tidy wants patterns.
 */
enum attn_status attn_writer_create(const struct attn_format *format, const char *path,
                                    const struct attn_labels *labels,
                                    const struct attn_writer_options *options,
                                    struct attn_writer **writer, struct attn_error *err);

/* Into a sink instead of a path (standard output). The writer does not own or commit it. csv:
 * ATTN_INVALID unless exactly one matrix is selected; npy, which needs a directory: always. */
enum attn_status attn_writer_create_sink(const struct attn_format *format, struct attn_sink *sink,
                                         const struct attn_labels *labels,
                                         const struct attn_writer_options *options,
                                         struct attn_writer **writer, struct attn_error *err);

/* Takes one event, in the order of a trace. Fails with the sink's failure. */
enum attn_status attn_writer_event(struct attn_writer *writer, const struct attn_trace_event *event,
                                   struct attn_error *err);

/* Completes and commits. ATTN_INVALID when selected rows never came. After a failure of any kind
 * the target is as it was before; of a directory, each file is new and whole or as it was. */
enum attn_status attn_writer_finish(struct attn_writer *writer, struct attn_error *err);

void attn_writer_free(struct attn_writer *writer); /* NULL is allowed */

/* Once, after the last event, before _finish. json has a place for them, other formats do not. */
enum attn_status attn_writer_predictions(struct attn_writer *writer,
                                         const struct attn_predictions *predictions,
                                         struct attn_error *err);

#endif
