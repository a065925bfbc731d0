/*
 * status.h - error reporting of all functions of the library.
 *
 * A function that can fail returns an enum attn_status and takes a struct attn_error as its last
 * argument. The message is written where the problem is detected; callers forward it unchanged:
 *
 *     struct attn_error err = {0};
 *     if (attn_model_open(&source, &options, &model, &err) != ATTN_OK)
 *         fprintf(stderr, "error: %s\n", err.message);
 *
 * An error of the caller, such as NULL for a required argument, a number outside an enum, or
 * handles that do not belong together, is ATTN_INVALID, and the message names the argument or the
 * field. Functions without a status return NULL, 0 or false then.
 *
 * Messages are lower case without a full stop, with the subject in 'quotes', the value that was
 * found and the values that were expected. Text from a file or a user is escaped, so a message is
 * always one printable line of UTF-8. Fields that the caller sets are in backquotes, sometimes with
 * a value: "choose one, as with `heads 0.0`". A tool replaces it with the option that its user
 * types (cmd/line/field_names.h). The error has their names in `fields`, too.
 */
#ifndef ATTN_BASE_STATUS_H
#define ATTN_BASE_STATUS_H

#include "base/api.h"

#include <stddef.h>

/* X(name, text) */
#define ATTN_STATUS_MAP(X)                                                                         \
    X(OK, 0, "ok")                                                                                 \
    X(NO_MEMORY, 1, "out of memory")   /* an allocation failed */                                  \
    X(IO, 2, "input or output error")  /* a read, write or open failed */                          \
    X(FORMAT, 3, "malformed file")     /* a file violates its format */                            \
    X(UNSUPPORTED, 4, "not supported") /* well-formed, but this version cannot do it */            \
    X(INVALID, 5, "invalid argument")  /* an argument is out of range or unknown */                \
    X(CANCELED, 6, "canceled")         /* stopped by the caller's cancel flag or callback */

enum attn_status {
#define ATTN_STATUS_ENUM(name, number, text) ATTN_##name = (number),
    ATTN_STATUS_MAP(ATTN_STATUS_ENUM)
#undef ATTN_STATUS_ENUM
};

/* X(name, text). The stage of a request at which a failure happened. */
#define ATTN_STAGE_MAP(X)                                                                          \
    X(NONE, 0, "")           /* unknown */                                                         \
    X(OPTIONS, 1, "options") /* parts of the request contradict each other or the model */         \
    X(MODEL, 2, "model")     /* the model or its vocabulary */                                     \
    X(INPUT, 3, "input")     /* text, ids, arrays, masks, a source */                              \
    X(OUTPUT, 4, "output")   /* files and streams that are written */                              \
    X(CHECK, 5, "check")     /* results that do not agree with each other */

enum attn_request_stage {
#define ATTN_STAGE_ENUM(name, number, text) ATTN_STAGE_##name = (number),
    ATTN_STAGE_MAP(ATTN_STAGE_ENUM)
#undef ATTN_STAGE_ENUM
};

/* X(NAME, number, code). Why something failed, for programs. The first have the numbers of the
 * statuses that they are the reasons of, if nothing more is known. Those from BAD_JSON on are what
 * is wrong with an input, which may be one of many items. */
#define ATTN_REASON_MAP(X)                                                                         \
    X(NONE, 0, "")                                                                                 \
    X(NO_MEMORY, 1, "no_memory")                                                                   \
    X(IO, 2, "io")                                                                                 \
    X(MALFORMED, 3, "malformed")     /* a file violates its format */                              \
    X(UNSUPPORTED, 4, "unsupported") /* well-formed, but this version cannot do it */              \
    X(INVALID, 5, "invalid")                                                                       \
    X(CANCELED, 6, "canceled")                                                                     \
    X(NOT_FOUND, 7, "not_found")          /* a file or directory is missing */                     \
    X(NO_ACCESS, 8, "no_access")          /* the system does not allow it */                       \
    X(NO_SPACE, 9, "no_space")            /* the disk is full, or a file would become too large */ \
    X(EXISTS, 10, "exists")               /* a file is there that must not be */                   \
    X(BAD_JSON, 11, "bad_json")           /* the line is not a JSON object */                      \
    X(NO_TEXT, 12, "no_text")             /* it has no text and no ids */                          \
    X(BAD_TEXT, 13, "bad_text")           /* not UTF-8, or has a word that the vocabulary lacks */ \
    X(BAD_IDS, 14, "bad_ids")             /* an id is no whole number, or not in the vocabulary */ \
    X(EMPTY, 15, "empty")                 /* it has no tokens */                                   \
    X(TOO_LONG, 16, "too_long")           /* more tokens than the model or the caller allows */    \
    X(LINE_TOO_LONG, 17, "line_too_long") /* the line has more bytes than are allowed */           \
    X(BAD_SOURCE, 18, "bad_source") /* the source is missing, or the model does not accept it */   \
    X(NO_FIT, 19, "no_fit")         /* a requested position, word or key is missing */             \
    X(BAD_CSV, 20, "bad_csv")       /* the line of CSV does not have the fields of the header */   \
    X(BAD_VALUE, 21, "bad_value")   /* a value has the wrong type for its key */                   \
    X(BAD_IMAGE, 22, "bad_image")   /* the picture cannot be read, or has an unusable size */

enum attn_reason {
#define ATTN_REASON_ENUM(name, number, code) ATTN_REASON_##name = (number),
    ATTN_REASON_MAP(ATTN_REASON_ENUM)
#undef ATTN_REASON_ENUM
};

/* Returns from the calling function if CALL, an enum attn_status, failed. For functions that own
 * nothing at that point. */
#define ATTN_TRY(call)                                                                             \
    do {                                                                                           \
        const enum attn_status attn_try_ = (call);                                                 \
        if (attn_try_ != ATTN_OK)                                                                  \
            return attn_try_;                                                                      \
    } while (0)

/* Makes CALL if nothing failed before, and sets STATUS to its status: the steps of a function that
 * has something to release at its end. */
#define ATTN_THEN(status, call) ((status) = (status) == ATTN_OK ? (call) : (status))

enum { ATTN_ERROR_MESSAGE_SIZE = 768, ATTN_ERROR_HINT_SIZE = 512, ATTN_ERROR_FIELDS_SIZE = 96 };

/* Initialize with = {0}. Not changed by calls that succeed. */
struct attn_error {
    enum attn_status status;               /* ATTN_OK while nothing failed */
    enum attn_request_stage stage;         /* ATTN_STAGE_NONE if unknown */
    enum attn_reason reason;               /* ATTN_REASON_NONE while nothing failed */
    char message[ATTN_ERROR_MESSAGE_SIZE]; /* one line, escaped, always terminated */
    char hint[ATTN_ERROR_HINT_SIZE];       /* the next step to try; may be empty */
    char fields[ATTN_ERROR_FIELDS_SIZE];   /* what the message is about: "pair|key_mask"; or "" */
    const void *later[4];                  /* NULL: room for fields of later versions */
};

/* Reports the progress of work that consists of many runs: DONE of TOTAL. Called on the thread that
 * started the work. */
typedef void (*attn_progress_fn)(void *user, size_t done, size_t total);

/* Returns the general text of a status, "out of memory"; never NULL. */
ATTN_API const char *attn_status_text(enum attn_status status);

/* Stores STATUS and the message in ERR, which may be NULL, and returns STATUS. The first failure
 * wins: an ERR that has one is not changed. A message that is too long is cut at a character
 * boundary. */
ATTN_API enum attn_status attn_error_set(struct attn_error *err, enum attn_status status,
                                         const char *format, ...) ATTN_PRINTF(3, 4);

/* Returns the name of a stage, "input", and the code of a reason, "too_long"; "" for NONE. */
ATTN_API const char *attn_request_stage_text(enum attn_request_stage stage);
ATTN_API const char *attn_reason_text(enum attn_reason reason);

#endif
