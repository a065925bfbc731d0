/* status_internal.h - declarations of status.h that only the library uses. */
#ifndef ATTN_BASE_STATUS_INTERNAL_H
#define ATTN_BASE_STATUS_INTERNAL_H

#include "base/note.h"
#include "base/status.h"

/* Ends a constructor with the status of CALL: after success *OUT takes MADE, after a failure
 * RELEASE frees it. Returns that status, as ATTN_TRY does. */
#define ATTN_RETURN_MADE(call, out, made, release)                                                 \
    do {                                                                                           \
        const enum attn_status attn_made_ = (call);                                                \
        if (attn_made_ == ATTN_OK)                                                                 \
            *(out) = (made);                                                                       \
        else                                                                                       \
            release(made);                                                                         \
        return attn_made_;                                                                         \
    } while (0)

/* attn_error_set with ATTN_INVALID, then attn_error_at: a request is refused at STAGE. */
enum attn_status attn_refuse(struct attn_error *err, enum attn_request_stage stage,
                             const char *format, ...) ATTN_PRINTF(3, 4);

/* Adds a hint to a failure that is already stored; the first hint wins. ERR may be NULL. Returns
 * ATTN_INVALID, the status of nearly all failures with a hint. */
enum attn_status attn_error_hint(struct attn_error *err, const char *format, ...) ATTN_PRINTF(2, 3);

/* Records the stage at which the failure STATUS happened, unless a callee has recorded one. Returns
 * STATUS; ignores ATTN_OK. ERR may be NULL. */
enum attn_status attn_error_at(enum attn_status status, enum attn_request_stage stage,
                               struct attn_error *err);

/* Puts the name of FIELD, which could not be parsed, before the message of an ATTN_INVALID: "heads:
 * bad item '9.9', expected ...". Returns STATUS. ERR may be NULL. */
enum attn_status attn_error_in(enum attn_status status, const char *field, struct attn_error *err);

/* Stores the failure FROM in ERR, unless that holds one. Returns FROM's status. ERR may be NULL. */
enum attn_status attn_error_copy(struct attn_error *err, const struct attn_error *from);

/* Where notes go. */
struct attn_notes {
    attn_note_fn on_note; /* or NULL */
    void *user;
};

/* Formats a note for ON_NOTE, which may be NULL: then nothing happens. */
void attn_note(attn_note_fn on_note, void *user, enum attn_note code, const char *format, ...)
    ATTN_PRINTF(4, 5);

/* Shorthand for the one message of a failed allocation: "out of memory". Returns ATTN_NO_MEMORY. */
enum attn_status attn_error_no_memory(struct attn_error *err);

/* "cannot VERB 'PATH': reason of ERRNO" with ATTN_IO (ATTN_NO_MEMORY for ENOMEM), returned. */
enum attn_status attn_error_errno(struct attn_error *err, const char *verb, const char *path,
                                  int errno_value);

#endif
