/*
 * run.h - serves a request: reads its input, computes, and hands out what it asks for.
 *
 *     struct attn_result result = {0};
 *     if (attn_run_request(host, &request, &result, &err) != ATTN_OK)
 *         fprintf(stderr, "%s: %s\n", attn_request_stage_text(err.stage), err.message);
 *     attn_result_release(&result);
 *
 * The same in two steps, to know the tokens first or to watch tensors:
 *
 *     struct attn_run *run;
 *     attn_run_prepare(host, &request, &run, &err);
 *     const struct attn_labels *labels = attn_run_labels(run);    // the tokens
 *     struct attn_trace trace = {attn_run_selection(run), on_event, user};
 *     attn_run_perform(run, &trace, &result, &err);
 *     attn_run_free(run);
 *
 * A failure says its stage (struct attn_error): ATTN_STAGE_OPTIONS where parts of the request do
 * not go together or do not fit the model, _MODEL, _INPUT, _OUTPUT.
 */
#ifndef ATTN_RUN_RUN_H
#define ATTN_RUN_RUN_H

#include "base/table.h"
#include "host/host.h"
#include "run/request.h"
#include "writers/output.h"

struct attn_capture; /* capture/capture.h */
struct attn_run;     /* a request that was read and checked */

/* The result of a request, beside its outputs and its trace. Initialize with = {0}. */
struct attn_result {
    size_t n_token;      /* positions; for arrays queries */
    size_t n_key;        /* for arrays keys, else n_token */
    int n_thread;        /* that computed */
    size_t n_edited_row; /* number of rows in which edits changed a value */
    bool is_abandoned; /* the reader of standard output closed it, and there was no other output */
    struct attn_predictions predictions; /* owned, with its texts */
    const void *later[4];                /* NULL: room for fields of later versions */
};

/* Reads the input, finds the attention of each layer and what is selected; computes nothing but the
 * means of ablate_mean and, unless `is_once` is set, the rows of an encoder. HOST and what REQUEST
 * points to are borrowed until attn_run_free. *run is untouched on failure. */
ATTN_API enum attn_status attn_run_prepare(struct attn_host *host,
                                           const struct attn_request *request,
                                           struct attn_run **run, struct attn_error *err);
ATTN_API void attn_run_free(struct attn_run *run); /* NULL is allowed */

/* The tensors that the request selects, and the sizes of the run. Borrowed from the run. */
ATTN_API const struct attn_selection *attn_run_selection(const struct attn_run *run);

/* The names of rows and columns. Borrowed from the run. */
ATTN_API const struct attn_labels *attn_run_labels(const struct attn_run *run);

/* Computes the run. A second call is ATTN_INVALID. OBSERVER, or NULL, gets the tensors of its
 * selection before the outputs do; its selection must include that of the run. An error that it
 * returns ends the run, with or without a message. Files appear only on success. RESULT is
 * untouched on failure. */
ATTN_API enum attn_status attn_run_perform(struct attn_run *run, const struct attn_trace *observer,
                                           struct attn_result *result, struct attn_error *err);

/* Creates a capture of that selection, for an observer. A reusable host reuses the memory of the
 * last capture that was freed; the capture may outlive run and host. */
ATTN_API enum attn_status attn_run_begin_capture(const struct attn_run *run,
                                                 struct attn_capture **capture,
                                                 struct attn_error *err);

/* Prepares, performs and frees. */
ATTN_API enum attn_status attn_run_request(struct attn_host *host,
                                           const struct attn_request *request,
                                           struct attn_result *result, struct attn_error *err);

/* Also keeps the tensors that the request selects, in *capture, which the caller frees before the
 * host (capture/capture.h). */
ATTN_API enum attn_status attn_run_capture(struct attn_host *host,
                                           const struct attn_request *request,
                                           struct attn_capture **capture,
                                           struct attn_result *result, struct attn_error *err);

/* The predictions as tables: `top` with the columns position (where positions were chosen),
 * probability, id and token, `next` with logprob (natural, in nats) and text; NULL for what was not
 * asked. The caller frees both. */
ATTN_API enum attn_status attn_result_tables(const struct attn_result *result,
                                             struct attn_table **top, struct attn_table **next,
                                             struct attn_error *err);

/* The metric of `predict.answer` as a table, the caller's: position (where positions were chosen),
 * value, metric; NULL where it was not asked. */
ATTN_API enum attn_status attn_result_metric(const struct attn_result *result,
                                             struct attn_table **metric, struct attn_error *err);

ATTN_API void attn_result_release(struct attn_result *result);

#endif
