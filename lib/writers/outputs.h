/*
 * outputs.h - one trace written in several formats at once.
 *
 *     struct attn_output items[] = {{.format = attn_format_find("npz"), .path = "all.npz"},
 *                                   {.format = attn_format_find("csv"), .path = "matrices"}};
 *     struct attn_outputs *outputs;
 *     attn_outputs_create(items, 2, &labels, &ATTN_WRITER_OPTIONS_DEFAULT, &outputs, &err);
 *     struct attn_trace trace = {labels.selection, attn_outputs_event, outputs};
 *     ... feed a session that has the trace ...
 *     attn_outputs_finish(outputs, &err);   // the files appear
 *     attn_outputs_free(outputs);           // without _finish: those that are not whole do not
 *
 * Failures are at the stage ATTN_STAGE_OUTPUT, or ATTN_STAGE_OPTIONS where options do not go
 * together.
 *
 * A closed pipe is no failure: its output is dropped and the others go on. When there are no others
 * the outputs are abandoned: the next event fails, so that the run ends, and
 * attn_outputs_is_abandoned says that this is the reason.
 */
#ifndef ATTN_WRITERS_OUTPUTS_H
#define ATTN_WRITERS_OUTPUTS_H

#include "base/sink.h"
#include "writers/format.h"
#include "writers/output.h"

/* Something to write: a format and where it goes. */
struct attn_output {
    const struct attn_format *format;
    const char *path;       /* a file, or a directory; NULL: the sink */
    struct attn_sink *sink; /* for example standard output; borrowed, and not committed */
    const char *own;        /* the value of the format's own option, or NULL */
    bool is_addition;       /* to a directory: the files that earlier runs wrote there stay */
    bool is_synced;         /* wait until the device has it: then it survives a power failure */
};

struct attn_outputs;

#endif
