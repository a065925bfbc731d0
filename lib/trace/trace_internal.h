/* trace_internal.h - what trace.h declares for the library alone. */
#ifndef ATTN_TRACE_TRACE_INTERNAL_H
#define ATTN_TRACE_TRACE_INTERNAL_H

#include "trace/trace.h"

/* Whether TRACE, which is not NULL, has a selection and a callback. If not, ERR names the one that
 * is NULL. */
bool attn_trace_is_given(const struct attn_trace *trace, struct attn_error *err);

/*
 * The next rows of EVENT that SELECTION wants, neighbours, as an event of their own; *row begins at
 * 0 and is where the search goes on. False: there are none left.
 */
bool attn_trace_next_part(const struct attn_selection *selection,
                          const struct attn_trace_event *event, size_t *row,
                          struct attn_trace_event *part);

#endif
