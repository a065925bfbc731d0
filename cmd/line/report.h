/*
 * report.h - what the tool says on standard error: one line an error, at most one hint after it.
 */
#ifndef CMD_REPORT_H
#define CMD_REPORT_H

#include "attn.h"

/* The exit code of a failure: by its stage, but EXIT_INTERNAL when memory ran out, and EXIT_MODEL
 * when a file of weights was truncated during the run. */
int exit_code_of(const struct attn_error *err);

/* Prints a failure of a request. Returns its exit code. */
int report_error(const struct attn_error *err);

/* Prints a failure that happened outside of a request and has no stage. Returns CODE, but the same
 * two exceptions as in exit_code_of. */
int report(const struct attn_error *err, int code);

/*
 * Prints a failure that the tool itself found, its text escaped as a whole. HINT may be NULL.
 * Returns CODE.
 */
int report_problem(int code, const char *hint, const char *format, ...) ATTN_PRINTF(3, 4);

/* The same for out of memory. Returns EXIT_INTERNAL. */
int report_no_memory(void);

/* "attn-cli: note: ..."; for things worth knowing that are no failure. */
void note(const char *format, ...) ATTN_PRINTF(1, 2);

#endif
