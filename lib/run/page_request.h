/* page_request.h - what a web page shows beside the patterns of its heads: predictions after every
 * position, and the table of an experiment. */
#ifndef ATTN_RUN_PAGE_REQUEST_H
#define ATTN_RUN_PAGE_REQUEST_H

#include "host/host.h"
#include "run/request.h"

/* If a page is among the outputs of REQUEST, adds the five most probable tokens after every
 * position, unless another output would hold them or they would take long. If a page is the only
 * output and gradients come without a list of sites, selects the two sites that a page shows.
 * Changes nothing if REQUEST has queries or a kind of figure. HOST may be of any kind. */
ATTN_API void attn_request_fill_page(const struct attn_host *host, struct attn_request *request);

/* Writes the page `outputs.items` [1] of REQUEST with the `outputs.table`, and below the table the
 * patterns of the run that REQUEST asks for. A run without patterns, or with more than a page
 * holds, leaves them out. Selection and predictions of REQUEST are not used, nor are its notes. */
ATTN_API enum attn_status attn_run_table_page(struct attn_host *host,
                                              const struct attn_request *request,
                                              struct attn_error *err);

#endif
