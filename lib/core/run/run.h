/*
 * run.h - serves a request: reads its input, computes, and writes its outputs.
 *
 *     struct attn_result result = {0};
 *     if (attn_run_request(host, &request, &result, &err) != ATTN_OK)
 *         fprintf(stderr, "%s: %s\n", attn_request_stage_text(err.stage), err.message);
 *     attn_result_release(&result);
 *
 * The same in two steps, to get the tokens before the run, or to observe tensors:
 *
 *     struct attn_run *run;
 *     attn_run_prepare(host, &request, &run, &err);
 *     const struct attn_labels *labels = attn_run_labels(run);  // the tokens
 *     struct attn_trace trace = {.selection = attn_run_selection(run), .on_event = on_event};
 *     attn_run_perform(run, &trace, &result, &err);
 *     attn_run_free(run);
 *
 * The stage of an error (struct attn_error) is ATTN_STAGE_OPTIONS if parts of the request cannot be
 * combined or do not fit the model, else ATTN_STAGE_MODEL, _INPUT or _OUTPUT.
 */
#ifndef ATTN_RUN_RUN_H
#define ATTN_RUN_RUN_H

#include "run/host.h"
#include "run/request.h"
#include "tables/table.h"
#include "tensors/output.h"

struct attn_capture; /* trace/capture.h */
struct attn_run;     /* a request that was read and checked */

/* The result of a request, in addition to its outputs and its trace. Initialize with = {0}. */
struct attn_result {
    size_t n_token;      /* number of positions; for arrays, of queries */
    size_t n_key;        /* for arrays the number of keys, else n_token */
    int n_thread;        /* number of threads that computed */
    size_t n_edited_row; /* number of rows in which edits changed a value */
    bool is_abandoned; /* standard output was closed by its reader, and there was no other output */
    struct attn_predictions predictions; /* owned, including their texts */
    const void *later[4];                /* NULL: reserved for later versions */
};

/* Reads the input, and determines the attention of each layer and the selection. Computes only the
 * means for `ablate` and, beside edits, the rows of an encoder. HOST and the data of
 * REQUEST are borrowed until attn_run_free. *run is unchanged on failure. */
ATTN_API enum attn_status attn_run_prepare(struct attn_host *host,
                                           const struct attn_request *request,
                                           struct attn_run **run, struct attn_error *err);
ATTN_API void attn_run_free(struct attn_run *run); /* NULL is allowed */

/* Returns the selected tensors and the sizes of the run. Borrowed from RUN. */
ATTN_API const struct attn_selection *attn_run_selection(const struct attn_run *run);

/* Returns the names of rows and columns. Borrowed from RUN. */
ATTN_API const struct attn_labels *attn_run_labels(const struct attn_run *run);

/* Computes the run. A second call returns ATTN_INVALID. OBSERVER, or NULL, gets the tensors of its
 * selection before the outputs do; its selection must include that of the run. An error that it
 * returns ends the run, with or without a message. Files appear only on success. RESULT is
 * unchanged on failure. */
ATTN_API enum attn_status attn_run_perform(struct attn_run *run, const struct attn_trace *observer,
                                           struct attn_result *result, struct attn_error *err);

/* Prepares a run, performs it and frees it. */
ATTN_API enum attn_status attn_run_request(struct attn_host *host,
                                           const struct attn_request *request,
                                           struct attn_result *result, struct attn_error *err);

/* Like attn_run_request, and also captures the tensors that the request selects in *capture, which
 * the caller frees before the host (trace/capture.h). */
ATTN_API enum attn_status attn_run_capture(struct attn_host *host,
                                           const struct attn_request *request,
                                           struct attn_capture **capture,
                                           struct attn_result *result, struct attn_error *err);

/* Creates the predictions as tables. `top` has the columns position (if positions were selected),
 * probability, id and token; `next` has logprob (natural, in nats) and text. A table that was not
 * requested is NULL. The caller frees both. */
ATTN_API enum attn_status attn_result_tables(const struct attn_result *result,
                                             struct attn_table **top, struct attn_table **next,
                                             struct attn_error *err);

ATTN_API void attn_result_release(struct attn_result *result);

#endif
