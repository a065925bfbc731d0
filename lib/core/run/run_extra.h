/* run_extra.h - captures for observers, the metric of a result as a table, towers and second
 * tokenizers of hosts, pixels, and the lists of the parameters of a request. */
#ifndef ATTN_RUN_RUN_EXTRA_H
#define ATTN_RUN_RUN_EXTRA_H

#include "params/param.h"
#include "run/host.h"
#include "run/request.h"
#include "run/run.h"

/* Creates a capture of the run's selection, for an observer. A reusable host reuses the memory of
 * the last capture that was freed. The capture may outlive run and host. */
ATTN_API enum attn_status attn_run_begin_capture(const struct attn_run *run,
                                                 struct attn_capture **capture,
                                                 struct attn_error *err);

/* Creates the metric of `predict.answer` as a table with the columns position (if positions were
 * selected), value and metric; NULL if it was not requested. The caller frees it. */
ATTN_API enum attn_status attn_result_metric(const struct attn_result *result,
                                             struct attn_table **metric, struct attn_error *err);

/* Sets *found to the host of TOWER, borrowed from HOST. If the directory has two towers (model.h),
 * it is HOST or a second host, whose model is opened at the first call. Else it is HOST. Requests
 * call this themselves: one with a picture runs only the tower for pictures. */
ATTN_API enum attn_status attn_host_tower(struct attn_host *host, enum attn_tower tower,
                                          struct attn_host **found, struct attn_error *err);

/*
 * Lists of the parameters of a request, other than its input: how texts are
 * read, which tensors and predictions to compute, the attention, edits, and how patterns are shown.
 * Options of commands and arguments of Python are made from them. The lists, and the structs that
 * they fill:
 *
 *     reading, selection, array_selection, prediction, gradients
 *                                          struct attn_request
 *     spans                                struct attn_request_labels
 *     target, foil, at, metric             struct attn_answer_args
 *     attention, dropout, array_dropout    struct attn_attention_args
 *     interventions                        struct attn_edit_texts
 *     places                               struct attn_places
 *     picture, view                        struct attn_picture_options
 */

/* Returns the list NAME, such as "selection", or NULL. */
ATTN_API const struct attn_param_list *attn_request_params_find(const char *name);

#endif
