/* capture_internal.h - captures that reuse memory. For the library. */
#ifndef ATTN_TRACE_CAPTURE_INTERNAL_H
#define ATTN_TRACE_CAPTURE_INTERNAL_H

#include "base/memory.h"
#include "trace/capture.h"

/* As attn_capture_create, but takes memory from SPARE and returns it there. SPARE may be NULL. */
enum attn_status attn_capture_create_in(struct attn_spare *spare,
                                        const struct attn_selection *selection,
                                        struct attn_capture **capture, struct attn_error *err);

#endif
