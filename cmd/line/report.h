/* report.h - errors, hints and notes on standard error: one line per error, at most one hint after
 * it. */
#pragma once

#include "attn.h"

struct command;

/* Prints ERR and its hint. COMMAND, which may be NULL, is the command that failed; the hint is left
 * out if it names options that COMMAND doesn't have. Returns the exit code of ERR's stage, but
 * EXIT_MEMORY if memory ran out, and EXIT_MODEL if a file of weights was truncated during the
 * run. */
int report(const struct command *command, const struct attn_error *err);

/* Prints ERR, its hint and the exit code CODE as a line of JSON on standard output. */
void report_json(const struct command *command, const struct attn_error *err, int code);

/* Sets ERR to a failure that the program found, with a message, which is escaped as a whole, STAGE
 * and HINT, which may be NULL. Returns its status. */
enum attn_status problem(struct attn_error *err, enum attn_request_stage stage, const char *hint,
                         const char *format, ...) ATTN_PRINTF(4, 5);

/* Sets ERR like `problem`, at the stage of options and their values. An option in backquotes,
 * "`heads_out`", is shown as --heads-out, and ERR has it in `fields`. */
#define refuse(err, ...) problem(err, ATTN_STAGE_OPTIONS, __VA_ARGS__)

/* Sets the stage of a failure that has none, for functions of the library that are not
 * part of a request. Returns STATUS. */
enum attn_status at_stage(enum attn_request_stage stage, enum attn_status status,
                          struct attn_error *err);

/* Allocates N zeroed elements and sets POINTER to them; free them with free().
 * ATTN_TRY(ALLOCATE(list->items, n, err)). */
#define ALLOCATE(pointer, n, err)                                                                  \
    (((pointer) = calloc((n), sizeof *(pointer))) ? ATTN_OK                                        \
                                                  : (attn_error_no_memory(err), ATTN_NO_MEMORY))

/* Leaves out all notes from here on, for --quiet. */
void note_silence(void);

/* Prints "attn-cli: note: ...", about something that is not a failure. */
void note(const char *format, ...) ATTN_PRINTF(1, 2);

/* An attn_note_fn that does the same for notes of the library. USER is not used. */
void note_message(void *user, enum attn_note code, const char *message);
