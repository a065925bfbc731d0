/* capture_internal.h - captures whose memory is used again. For the library. */
#ifndef ATTN_CAPTURE_CAPTURE_INTERNAL_H
#define ATTN_CAPTURE_CAPTURE_INTERNAL_H

#include "base/memory.h"
#include "capture/capture.h"

/* attn_capture_create() with memory that waits in SPARE, or NULL, and returns to it. */
enum attn_status attn_capture_create_in(struct attn_spare *spare,
                                        const struct attn_selection *selection,
                                        struct attn_capture **capture, struct attn_error *err);

#endif
