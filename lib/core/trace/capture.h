/* clang-format off */
/*
 * capture.h - a trace that keeps the tensors of its events, for reading after the run.
 *
 *     struct attn_capture *capture;
 *     attn_capture_create(selection, &capture, &err);
 *     options.trace = attn_capture_trace(capture);
 *     attn_session_feed(session, ids, n, &err);
 *     struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = 5, .head = 1};
 *     const float *pattern = attn_capture_head(capture, &at); // [T, S]
 *     printf("%g\n", (double)pattern[4 * n + 2]);             // query 4, key 2
 *     attn_capture_free(capture);
 *
 * Shapes use   T'  selected queries     H'  selected heads of the layer     S  keys
 *              G'  key/value heads that serve selected heads                n  width of the site
 */
/* clang-format on */
#ifndef ATTN_TRACE_CAPTURE_H
#define ATTN_TRACE_CAPTURE_H

#include "trace/trace.h"

struct attn_capture;

/* Creates a capture of the selected tensors, with 4 bytes for each number: a matrix has H' T' S
 * numbers in each layer. Copies SELECTION. Errors: ATTN_NO_MEMORY. */
ATTN_API enum attn_status attn_capture_create(const struct attn_selection *selection,
                                              struct attn_capture **capture,
                                              struct attn_error *err);

/* Returns the trace to give to a session or to attn_attend; borrowed from the capture. */
ATTN_API const struct attn_trace *attn_capture_trace(const struct attn_capture *capture);

/*
 * Returns the kept numbers of the tensor AT. The head of AT is ignored; the layer is ATTN_NO_LAYER
 * for sites outside the layers. The shape is [H', T', S] for matrices, [H', T', n] for queries,
 * [G', S, n] for keys (all keys, whatever queries are chosen) and [T', n] for sites without heads;
 * heads and queries are in ascending order. NULL if the tensor is not selected or does not exist.
 * Borrowed from the capture.
 *
 * Cells that the mask or the kind of attention leaves out are 0 in patterns and minus infinity in
 * attn_scores; in qk they are the product if it was computed, else NaN. A row for which no event
 * came is zeros.
 */
ATTN_API const float *attn_capture_tensor(const struct attn_capture *capture,
                                          const struct attn_location *at);

/* As attn_capture_tensor, but only the head of AT, which is a key/value head for sites of keys:
 * [T', S] for matrices, [T', n] for queries, [S, n] for keys. NULL if the head is not selected or
 * does not exist, or if the site has no heads. */
ATTN_API const float *attn_capture_head(const struct attn_capture *capture,
                                        const struct attn_location *at);

/* Whether number I of the matrix AT is an unmasked cell: neither the mask nor the kind of attention
 * leaves it out, and an event brought its row. A 0 in a pattern may be a masked cell or a computed
 * 0. */
ATTN_API bool attn_capture_has_cell(const struct attn_capture *capture,
                                    const struct attn_location *at, size_t i);

ATTN_API void attn_capture_free(struct attn_capture *capture); /* NULL is allowed */

#endif
