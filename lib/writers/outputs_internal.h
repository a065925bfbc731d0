/* outputs_internal.h - what outputs.h declares for the library alone. */
#ifndef ATTN_WRITERS_OUTPUTS_INTERNAL_H
#define ATTN_WRITERS_OUTPUTS_INTERNAL_H

#include "writers/outputs.h"

#include <signal.h>

struct attn_writer_options; /* writers/writer.h */

/* Whether OUTPUT has a format, and a path or a sink. If not, ERR names what is NULL. */
bool attn_output_is_given(const struct attn_output *output, struct attn_error *err);

/* Whether the N outputs can go together, as far as can be said before anything is opened: one of
 * them at most goes to a sink, and its format can; no two are one file. ATTN_INVALID when not. */
enum attn_status attn_outputs_check(const struct attn_output *items, size_t n,
                                    struct attn_error *err);

/* Opens all of the N outputs, or none. Checks them first. LABELS and what OPTIONS point to are
 * borrowed until attn_outputs_free; the items, and not OPTIONS, say own, is_addition and is_synced.
 * N may be 0. */
enum attn_status attn_outputs_create(const struct attn_output *items, size_t n,
                                     const struct attn_labels *labels,
                                     const struct attn_writer_options *options,
                                     struct attn_outputs **outputs, struct attn_error *err);

/* An attn_trace_fn: hands the event to every output. USER is the struct attn_outputs. */
enum attn_status attn_outputs_event(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err);

/* Beside events with differences: rows of CHOSEN attention and the same rows of EXACT, of one
 * head's pattern, for formats that show both. They get no differences then. */
enum attn_status attn_outputs_pair(struct attn_outputs *outputs,
                                   const struct attn_trace_event *chosen,
                                   const struct attn_trace_event *exact, struct attn_error *err);

/* Once, after the last event, before _finish. */
enum attn_status attn_outputs_predictions(struct attn_outputs *outputs,
                                          const struct attn_predictions *predictions,
                                          struct attn_error *err);

/* Completes and commits every output that it can; returns the first failure. */
enum attn_status attn_outputs_finish(struct attn_outputs *outputs, struct attn_error *err);

/* Whether closed pipes have left nothing to write to. */
bool attn_outputs_is_abandoned(const struct attn_outputs *outputs);

void attn_outputs_free(struct attn_outputs *outputs); /* NULL is allowed */

/* A table that goes into a directory. */
struct attn_output_table {
    const struct attn_table *table;
    const char *name; /* of its file, without what the format adds: "compare" */
    int precision;    /* as attn_table_write has it */
};

/* Writes N TABLES into the directory of ITEM, a file each, as outputs of tensors are written there:
 * with the manifest, instead of what earlier runs wrote in the same format, and after waiting for
 * other writers until *CANCEL (which may be NULL) is not 0. LABELS say what was run. */
enum attn_status attn_output_write_tables(const struct attn_output *item,
                                          const struct attn_output_table *tables, size_t n,
                                          const struct attn_labels *labels,
                                          const volatile sig_atomic_t *cancel,
                                          struct attn_error *err);

/* A file of ITEM, whose path is one, to be committed. */
enum attn_status attn_output_create_file(const struct attn_output *item, struct attn_sink **sink,
                                         struct attn_error *err);

/* Writes into SINK. */
typedef enum attn_status (*attn_output_fn)(void *user, struct attn_sink *sink,
                                           struct attn_error *err);

/* Calls WRITE with the sink of ITEM, or with its file, which appears if all is well. */
enum attn_status attn_output_write(const struct attn_output *item, attn_output_fn write, void *user,
                                   struct attn_error *err);

#endif
