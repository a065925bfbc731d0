/*
 * print.h - standard output, as a sink: a full device is noticed, a closed pipe ends quietly.
 *
 *     struct attn_sink *out = NULL;
 *     int code = print_open(&out);
 *     if (code == EXIT_DONE)
 *         print(out, "%d\n", 42);
 *     return print_close(out, code);
 */
#ifndef CMD_PRINT_H
#define CMD_PRINT_H

#include "extra.h"

/* Reports a failure. Returns an exit code. */
int print_open(struct attn_sink **out);

/* For pieces of known, small length; text from outside goes through print_text. */
void print(struct attn_sink *out, const char *format, ...) ATTN_PRINTF(2, 3);

/* A string of any length, as it is. */
void print_text(struct attn_sink *out, const char *text);

/* The printable form of a token (INTERFACE.md "Token text"). Reports and returns an exit code. */
int print_escaped(struct attn_sink *out, const char *text, size_t size);

/* Text of several lines as a terminal should get it: lines, tabs and backslashes as they are, the
 * rest printable. Reports and returns an exit code. */
int print_lines(struct attn_sink *out, const char *text, size_t size);

/* TEXT as a string of JSON (base/escape.h). Reports and returns an exit code. */
int print_json_string(struct attn_sink *out, const char *text, size_t size);

/*
 * Flushes and frees OUT, which may be NULL. Returns CODE, or when that is EXIT_DONE and the output
 * could not be written, reports this and returns EXIT_OUTPUT; a closed pipe is no failure.
 */
int print_close(struct attn_sink *out, int code);

#endif
