/*
 * outputs.h - writes one trace in several formats at once.
 *
 *     struct attn_output items[] = {{.format = attn_format_find("npz"), .path = "all.npz"},
 *                                   {.format = attn_format_find("csv"), .path = "matrices"}};
 *     request.outputs.items = items, request.outputs.n = 2;
 *     attn_run_request(host, &request, &result, &err);    // the files appear if it succeeds
 *
 * Failures have the stage ATTN_STAGE_OUTPUT, or ATTN_STAGE_OPTIONS if options do not go together.
 *
 * A closed pipe is not a failure: its output is dropped and the others continue. If no other output
 * is left, the outputs are abandoned: the next event fails, which ends the run, and
 * attn_outputs_is_abandoned returns true.
 */
#ifndef ATTN_TENSORS_OUTPUTS_H
#define ATTN_TENSORS_OUTPUTS_H

#include "base/sink.h"
#include "tensors/format.h"
#include "tensors/output.h"

/* An output: a format, and where it is written. */
struct attn_output {
    const struct attn_format *format;
    const char *path;       /* path of a file or a directory; NULL: writes to the sink */
    struct attn_sink *sink; /* standard output, for example; borrowed and not committed */
    bool is_synced; /* syncs the output to the device, so that it survives a power failure */
};

struct attn_outputs;

#endif
