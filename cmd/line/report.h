/* report.h - errors, hints and notes on standard error: one line per error, at most one hint after
 * it. */
#ifndef CMD_REPORT_H
#define CMD_REPORT_H

#include "attn.h"

struct command;

/* Prints ERR, a failure of COMMAND or NULL, and its hint unless COMMAND lacks the options in it.
 * Returns the exit code of its stage; EXIT_INTERNAL when memory ran out, EXIT_MODEL when a file of
 * weights was truncated during the run. */
int report(const struct command *command, const struct attn_error *err);

/* A failure that the tool found: stores the message, escaped as a whole, STAGE and HINT, or NULL,
 * in ERR. Returns its status. */
enum attn_status problem(struct attn_error *err, enum attn_request_stage stage, const char *hint,
                         const char *format, ...) ATTN_PRINTF(4, 5);

/* The same for options and their values. */
enum attn_status refuse(struct attn_error *err, const char *hint, const char *format, ...)
    ATTN_PRINTF(3, 4);

/* Sets the stage of a failure: for calls of the library that are no part of a request, whose own
 * stages do not fit. Returns STATUS. */
enum attn_status at_stage(enum attn_request_stage stage, enum attn_status status,
                          struct attn_error *err);

/* Sets POINTER to N zeroed elements, to be freed: ATTN_TRY(ALLOCATE(list->items, n, err)). */
#define ALLOCATE(pointer, n, err)                                                                  \
    (((pointer) = calloc((n), sizeof *(pointer))) ? ATTN_OK                                        \
                                                  : (attn_error_no_memory(err), ATTN_NO_MEMORY))

/* "attn-cli: note: ..."; for things worth knowing that are no failure. */
void note(const char *format, ...) ATTN_PRINTF(1, 2);

/* The same for notes of the library; USER is unused. */
void note_message(void *user, enum attn_note code, const char *message);

#endif
