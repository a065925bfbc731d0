/* outputs_internal.h - the part of outputs.h for the library alone. */
#ifndef ATTN_WRITERS_OUTPUTS_INTERNAL_H
#define ATTN_WRITERS_OUTPUTS_INTERNAL_H

#include "writers/outputs.h"

#include <signal.h>

struct attn_writer_options; /* writers/writer.h */

/* Whether OUTPUT has a format, and a path or a sink. If not, ERR names what is NULL. */
bool attn_output_is_given(const struct attn_output *output, struct attn_error *err);

/* Checks that the N outputs go together: at most one, which allows it, goes to a sink, and no two
 * are one file. */
enum attn_status attn_outputs_check(const struct attn_output *items, size_t n,
                                    struct attn_error *err);

/* Checks, then opens all of the N outputs or none; N may be 0. LABELS and pointers of OPTIONS are
 * borrowed until attn_outputs_free. The items set own, is_addition and is_synced. */
enum attn_status attn_outputs_create(const struct attn_output *items, size_t n,
                                     const struct attn_labels *labels,
                                     const struct attn_writer_options *options,
                                     struct attn_outputs **outputs, struct attn_error *err);

/* An attn_trace_fn: hands the event to every output. USER is the struct attn_outputs. */
enum attn_status attn_outputs_event(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err);

/* For formats that show both: rows of CHOSEN and of EXACT attention of a head's pattern. They get
 * no differences. */
enum attn_status attn_outputs_pair(struct attn_outputs *outputs,
                                   const struct attn_trace_event *chosen,
                                   const struct attn_trace_event *exact, struct attn_error *err);

/* Once, after the last event, before _finish. */
enum attn_status attn_outputs_predictions(struct attn_outputs *outputs,
                                          const struct attn_predictions *predictions,
                                          struct attn_error *err);

/* Completes and commits every output that it can; returns the first failure. */
enum attn_status attn_outputs_finish(struct attn_outputs *outputs, struct attn_error *err);

/* Whether every output was a closed pipe. */
bool attn_outputs_is_abandoned(const struct attn_outputs *outputs);

void attn_outputs_free(struct attn_outputs *outputs); /* NULL is allowed */

/* A table that goes into a directory. */
struct attn_output_table {
    const struct attn_table *table;
    const char *name; /* of its file, without the extension of its format: "compare" */
    int precision;    /* as attn_table_write has it */
};

/* Writes N TABLES into the directory of ITEM, a file each, with manifest, replacing those of
 * earlier runs in the same format. Waits for other writers until *CANCEL (or NULL) is set. LABELS
 * are those of the run. */
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
