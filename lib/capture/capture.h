/*
 * capture.h - a trace that keeps what is told: tensors of vectors, for whoever needs them after the
 * event.
 *
 *     struct attn_capture *capture;
 *     attn_capture_create(selection, &capture, &err);
 *     options.trace = attn_capture_trace(capture);
 *     attn_session_feed(session, ids, n, &err);
 *     const float *q = attn_capture_tensor(capture, ATTN_SITE_Q, 3); // [H, T, E]
 *     attn_capture_free(capture);
 *
 * Matrices are not kept: they are large, and are looked at as they come.
 */
#ifndef ATTN_CAPTURE_CAPTURE_H
#define ATTN_CAPTURE_CAPTURE_H

#include "trace/trace.h"

struct attn_capture;

/*
 * Takes the memory for every wanted site, zeroed. SELECTION is borrowed for the capture's life.
 * ATTN_INVALID for sites that are matrices, and when it leaves out queries.
 */
ATTN_API enum attn_status attn_capture_create(const struct attn_selection *selection,
                                              struct attn_capture **capture,
                                              struct attn_error *err);

/* What to give to a session or to attn_attend; borrowed from the capture. */
ATTN_API const struct attn_trace *attn_capture_trace(const struct attn_capture *capture);

/*
 * What was told of a site that is wanted in LAYER (ATTN_NO_LAYER for sites of the model), head by
 * head: [H, T, n] of queries, [G, S, n] of keys, [T, n] of sites without heads; zeros where nothing
 * was told. NULL when it is not wanted. Borrowed from the capture.
 */
ATTN_API const float *attn_capture_tensor(const struct attn_capture *capture, enum attn_site site,
                                          int layer);

ATTN_API void attn_capture_free(struct attn_capture *capture); /* NULL is allowed */

#endif
