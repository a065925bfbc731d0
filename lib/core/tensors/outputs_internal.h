#pragma once

#include "tensors/outputs.h"

#include <signal.h>

struct attn_writer_options; /* tensors/writer.h */

/* Returns true if OUTPUT has a format, and a path or a sink. Otherwise ERR names the field that is
 * NULL. */
bool attn_output_is_given(const struct attn_output *output, struct attn_error *err);

/* Checks that the N outputs go together: at most one is written to a sink, which its format must
 * support, and no two have the same file. */
enum attn_status attn_outputs_check(const struct attn_output *items, size_t n,
                                    struct attn_error *err);

/* Checks the N outputs, then opens all of them or none; N may be 0. LABELS and pointers in OPTIONS
 * are borrowed until attn_outputs_free. The fields own and is_synced come from the
 * items. */
enum attn_status attn_outputs_create(const struct attn_output *items, size_t n,
                                     const struct attn_labels *labels,
                                     const struct attn_writer_options *options,
                                     struct attn_outputs **outputs, struct attn_error *err);

/* Passes the event to every output (attn_trace_fn; USER is the struct attn_outputs). */
enum attn_status attn_outputs_event(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err);

/* Passes the predictions. Call once, after the last event and before attn_outputs_finish. */
enum attn_status attn_outputs_predictions(struct attn_outputs *outputs,
                                          const struct attn_predictions *predictions,
                                          struct attn_error *err);

/* Completes and commits as many outputs as possible; returns the first failure. */
enum attn_status attn_outputs_finish(struct attn_outputs *outputs, struct attn_error *err);

/* Returns true if the readers of all outputs closed their pipes. */
bool attn_outputs_is_abandoned(const struct attn_outputs *outputs);

void attn_outputs_free(struct attn_outputs *outputs); /* NULL is allowed */

/* Creates the file of ITEM, which must have a path. The caller commits it. */
enum attn_status attn_output_create_file(const struct attn_output *item, struct attn_sink **sink,
                                         struct attn_error *err);

/* Writes to SINK. */
typedef enum attn_status (*attn_output_fn)(void *user, struct attn_sink *sink,
                                           struct attn_error *err);

/* Calls WRITE with the sink of ITEM, or with its file, which is committed on success. */
enum attn_status attn_output_write(const struct attn_output *item, attn_output_fn write, void *user,
                                   struct attn_error *err);
