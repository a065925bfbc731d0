/*
 * page_request.h - what a web page shows beside the patterns of its heads: predictions after every
 * position, and the table of an experiment.
 */
#ifndef ATTN_RUN_PAGE_REQUEST_H
#define ATTN_RUN_PAGE_REQUEST_H

#include "host/host.h"
#include "run/request.h"

/* If a page is among the outputs of REQUEST, adds the five most probable tokens after every
 * position, which the page shows. REQUEST stays as it is if it has queries, predictions or a kind
 * of figure, if another output would hold the predictions, too, or if they would take long. HOST
 * may be of any kind. */
ATTN_API void attn_request_predict_for_page(const struct attn_host *host,
                                            struct attn_request *request);

/* Writes the page `outputs.items` [1] of REQUEST with the `outputs.table`, and below the table the
 * patterns of the run that REQUEST asks for. A run without patterns, or with more than a page
 * holds, leaves them out. Selection and predictions of REQUEST are not used, nor are its notes. */
ATTN_API enum attn_status attn_run_table_page(struct attn_host *host,
                                              const struct attn_request *request,
                                              struct attn_error *err);

#endif
