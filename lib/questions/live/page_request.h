/* page_request.h - requests that are served as a page. */
#ifndef ATTN_LIVE_PAGE_REQUEST_H
#define ATTN_LIVE_PAGE_REQUEST_H

#include "run/host.h"
#include "run/request.h"

struct attn_table;         /* tables/table.h */
struct attn_table_picture; /* figures/table_picture.h */

/* If a page is among the outputs of REQUEST, requests the five most probable tokens after every
 * position, unless another output would contain them or computing them would take long. If a page
 * is the only output, and gradients are requested without a list of sites, selects the two sites
 * that a page shows. Does nothing if REQUEST has queries or a kind of figure. HOST may be of any
 * kind. */
ATTN_API void attn_request_fill_page(const struct attn_host *host, struct attn_request *request);

/* Writes the page `outputs.items` [1] of REQUEST: TABLE, drawn as PICTURE says, and below it the
 * patterns of the run that REQUEST describes. If the run has no patterns, or more than a page
 * holds, they are left out. The selection, predictions and notes of REQUEST are not used. */
ATTN_API enum attn_status attn_run_table_page(struct attn_host *host,
                                              const struct attn_request *request,
                                              const struct attn_table *table,
                                              const struct attn_table_picture *picture,
                                              struct attn_error *err);

#endif
