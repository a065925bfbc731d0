/* status_internal.h - what status.h declares for the library alone. */
#ifndef ATTN_BASE_STATUS_INTERNAL_H
#define ATTN_BASE_STATUS_INTERNAL_H

#include "base/status.h"

/* Adds a hint to a failure that is already stored; the first hint wins. ERR may be NULL. */
void attn_error_hint(struct attn_error *err, const char *format, ...) ATTN_PRINTF(2, 3);

/*
 * Says at which stage the failure STATUS happened, unless that was said before, nearer to the
 * failure. Returns STATUS; does nothing for ATTN_OK. ERR may be NULL.
 */
enum attn_status attn_error_at(enum attn_status status, enum attn_request_stage stage,
                               struct attn_error *err);

/*
 * Begins the message of a failed reading of FIELD, of what a caller has asked for, with its name:
 * "heads: bad item '9.9', expected ...". Returns STATUS; does nothing but for ATTN_INVALID. ERR may
 * be NULL.
 */
enum attn_status attn_error_in(enum attn_status status, const char *field, struct attn_error *err);

/* Stores the failure FROM in ERR, unless that holds one. Returns FROM's status. ERR may be NULL. */
enum attn_status attn_error_copy(struct attn_error *err, const struct attn_error *from);

/* Shorthand for the one message of a failed allocation: "out of memory". Returns ATTN_NO_MEMORY. */
enum attn_status attn_error_no_memory(struct attn_error *err);

/* "cannot VERB 'PATH': reason of ERRNO", status ATTN_IO (ATTN_NO_MEMORY for ENOMEM). Returns that
 * status. */
enum attn_status attn_error_errno(struct attn_error *err, const char *verb, const char *path,
                                  int errno_value);

#endif
