#pragma once

#include "base/note.h"
#include "base/status.h"

/* Ends a constructor with the status of CALL: on success sets *OUT to MADE, on failure calls
 * RELEASE. Returns the status. */
#define ATTN_RETURN_MADE(call, out, made, release)                                                 \
    ATTN_RETURN_EITHER_(call, *(out) = (made), release(made))

/* The same for a MADE that is a struct: RELEASE gets its address. */
#define ATTN_RETURN_FILLED(call, out, made, release)                                               \
    ATTN_RETURN_EITHER_(call, *(out) = (made), release(&(made)))

#define ATTN_RETURN_EITHER_(call, keep, drop)                                                      \
    do {                                                                                           \
        const enum attn_status attn_made_ = (call);                                                \
        if (attn_made_ == ATTN_OK)                                                                 \
            keep;                                                                                  \
        else                                                                                       \
            drop;                                                                                  \
        return attn_made_;                                                                         \
    } while (0)

/* attn_error_set with ATTN_INVALID, then attn_error_at: sets the error that a request is wrong,
 * found at STAGE. */
enum attn_status attn_refuse(struct attn_error *err, enum attn_request_stage stage,
                             const char *format, ...) ATTN_PRINTF(3, 4);

/* Sets the error that NAME, a key or a tensor, in the file PATH is wrong: "'NAME' in 'PATH' " and
 * FORMAT. */
enum attn_status attn_refuse_in(struct attn_error *err, enum attn_status status, const char *path,
                                const char *name, const char *format, ...) ATTN_PRINTF(5, 6);

/* Adds a hint to a stored failure; the first hint wins. Returns the status of the failure;
 * ATTN_INVALID if ERR is NULL. */
enum attn_status attn_error_hint(struct attn_error *err, const char *format, ...) ATTN_PRINTF(2, 3);

/* Records the STAGE at which the failure STATUS happened, unless one is recorded already. Returns
 * STATUS; ignores ATTN_OK. ERR may be NULL. */
enum attn_status attn_error_at(enum attn_status status, enum attn_request_stage stage,
                               struct attn_error *err);

/* Notes that an ATTN_INVALID is about FIELD, though its message may not name it. Returns STATUS.
 * ERR may be NULL. */
enum attn_status attn_error_of(enum attn_status status, const char *field, struct attn_error *err);

/* Prepends WHAT and a colon to the message of an ATTN_INVALID. Returns STATUS. ERR may be NULL. */
enum attn_status attn_error_under(enum attn_status status, const char *what,
                                  struct attn_error *err);

/* Prepends the name of FIELD, which could not be parsed, to the message of an ATTN_INVALID: "heads:
 * bad item '9.9', expected ...". Returns STATUS. ERR may be NULL. */
enum attn_status attn_error_in(enum attn_status status, const char *field, struct attn_error *err);

/* Sets why the failure STATUS happened, for programs, in place of an earlier reason; out of memory
 * and canceled stay. Returns STATUS. ERR may be NULL. */
enum attn_status attn_error_because(enum attn_status status, enum attn_reason reason,
                                    struct attn_error *err);

/* Copies the failure FROM to ERR, unless ERR has one. Returns FROM's status. ERR may be NULL. */
enum attn_status attn_error_copy(struct attn_error *err, const struct attn_error *from);

/* The recipient of notes. */
struct attn_notes {
    attn_note_fn on_note; /* or NULL */
    void *user;
    attn_counted_note_fn on_counted; /* takes these notes from on_note; or NULL */
};

/* Formats a note and passes it to ON_NOTE. ON_NOTE may be NULL; then the note is dropped. */
void attn_note(attn_note_fn on_note, void *user, enum attn_note code, const char *format, ...)
    ATTN_PRINTF(4, 5);

/* Passes NOTE to on_counted, or formats it for on_note. */
void attn_note_counted(struct attn_notes notes, const struct attn_counted_note *note);

/* Sets the message for a failed allocation: "out of memory". Returns ATTN_NO_MEMORY. */
enum attn_status attn_error_no_memory(struct attn_error *err);

/* Sets the message "cannot VERB 'PATH': reason of ERRNO" and returns ATTN_IO (ATTN_NO_MEMORY for
 * ENOMEM). */
enum attn_status attn_error_errno(struct attn_error *err, const char *verb, const char *path,
                                  int errno_value);
