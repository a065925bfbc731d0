/*
 * written.h - what a writer makes of a made-up run.
 *
 *     struct attn_part text = attn_written(&made, "tidy", NULL, ATTN_WHOLE, &err);
 */
#pragma once

#include "tests/support/made_up_run.h"
#include "tests/support/parts.h"

/* How a run is played: in blocks of N_ROW positions, or in feeds of STEP when that is not 0; to a
 * sink that can seek or to one that cannot. */
struct attn_way {
    size_t n_row, step;
    bool is_stream;
};
#define ATTN_WHOLE ((struct attn_way){.n_row = SIZE_MAX})

/* The bytes that a format writes, terminated; no bytes and *ERR after a failure. FORM is its name,
 * which ends with / for a directory: then "=== NAME" and a line end come before the bytes of each
 * file, and the working directory has no entry "written". OPTIONS NULL: the defaults. Predictions
 * are told, too.
 */
struct attn_part attn_written(const struct attn_made_up_run *made, const char *form,
                              const struct attn_writer_options *options, struct attn_way way,
                              struct attn_error *err);

/* The same into the file or directory PATH. */
enum attn_status attn_written_to(const struct attn_made_up_run *made, const char *format,
                                 const struct attn_writer_options *options, const char *path,
                                 struct attn_way way, struct attn_error *err);

/* Removes PATH, and the files in it if it is a directory, of which none may be temporary. */
void attn_written_remove(const char *path);

/* Lets every allocation fail once, writing to PATH in the working directory, which is empty. Fails
 * the current test unless each failure is ATTN_NO_MEMORY and leaves no temporary file and, when
 * PATH is a file, nothing. */
void attn_written_fails_whole(const struct attn_made_up_run *made, const char *format,
                              const char *path);
