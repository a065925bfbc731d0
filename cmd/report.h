/*
 * report.h - what the tool says on standard error: one line an error, at most one hint after it.
 */
#ifndef CMD_REPORT_H
#define CMD_REPORT_H

#include "attn.h"

/* Prints a failure of the library. Returns CODE, or EXIT_INTERNAL when memory ran out. */
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
