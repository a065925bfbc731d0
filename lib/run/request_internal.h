/* request_internal.h - what the files of this layer say of a request. */
#ifndef ATTN_RUN_REQUEST_INTERNAL_H
#define ATTN_RUN_REQUEST_INTERNAL_H

#include "run/request.h"

/* Tells the request's on_note, if there is one, a line of at most 511 bytes. */
void attn_request_note(const struct attn_request *request, const char *format, ...)
    ATTN_PRINTF(2, 3);

#endif
