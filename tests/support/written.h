/*
 * written.h - what a writer makes of a made-up run.
 *
 *     char *text = attn_written_text(&made, "tidy", &ATTN_WRITER_OPTIONS_DEFAULT);
 */
#ifndef ATTN_TESTS_WRITTEN_H
#define ATTN_TESTS_WRITTEN_H

#include "tests/support/made_up_run.h"

/* All rows in one feed, terminated; free it. */
char *attn_written_text(const struct attn_made_up_run *made, const char *format,
                        const struct attn_writer_options *options);

/* The same in blocks of N_ROW positions, or in feeds of STEP when that is not 0. */
char *attn_written_in_parts(const struct attn_made_up_run *made, const char *format, size_t n_row,
                            size_t step);

/* Into the file or directory PATH. */
void attn_written_to(const struct attn_made_up_run *made, const char *format, const char *path,
                     size_t n_row, size_t step);

/* Creates, plays in blocks of two, tells predictions, finishes; frees whatever happened. */
enum attn_status attn_written_try(const struct attn_made_up_run *made, const char *format,
                                  const char *path, struct attn_error *err);

/* Lets every allocation fail once, writing to PATH in the working directory, which is empty. Fails
 * the current test unless each failure is ATTN_NO_MEMORY and leaves no temporary file and, when
 * PATH is a file, nothing. */
void attn_written_fails_whole(const struct attn_made_up_run *made, const char *format,
                              const char *path);

#endif
