/* sink_internal.h - declarations of sink.h for use inside the library only; and parts, which are
 * resumable files. */
#pragma once

#include "base/sink.h"

struct attn_buffer; /* base/buffer.h */

/* Returns true if attn_sink_write_at works: for files and memory, not for pipes. */
bool attn_sink_is_seekable(const struct attn_sink *sink);

/* Appends the bytes of BUFFER and empties it. Fails, without that, if BUFFER has failed. */
enum attn_status attn_sink_write_buffer(struct attn_sink *sink, struct attn_buffer *buffer,
                                        struct attn_error *err);

/* Writes out all appended bytes, so that a waiting reader sees them. */
void attn_sink_flush(struct attn_sink *sink);

/* Writes SIZE bytes at OFFSET, which may lie beyond the end. The position for appending does not
 * change. */
void attn_sink_write_at(struct attn_sink *sink, uint64_t offset, const void *bytes, size_t size);

/* Returns the number of bytes appended so far. */
uint64_t attn_sink_position(const struct attn_sink *sink);

/* Returns ATTN_OK, or the first failure. */
enum attn_status attn_sink_check(const struct attn_sink *sink, struct attn_error *err);

/* Returns true if the reader closed the pipe, which a tool does not report as an error. */
bool attn_sink_is_closed_pipe(const struct attn_sink *sink);

/*
 * A part is a sink for a file that may grow over hours and gets its final name only when it is
 * complete. Until then it is `NAME.part` in the same folder, survives any failure, and can be
 * resumed.
 *
 *     struct attn_sink *part;
 *     attn_part_open("results.jsonl", false, &part, &err); // results.jsonl.part, locked
 *     attn_sink_write(part, line, n);
 *     attn_part_flush(part, &err);                         // readers see the appended bytes
 *     attn_part_finish(part, &err);                        // all bytes are written
 *     attn_part_commit(part, &err);                        // results.jsonl
 *     attn_sink_free(part);                                // if not committed, the .part stays
 *
 * Names are resolved as for other sinks: links are followed, and a target that is not a regular
 * file is written directly (attn_sink_is_seekable is false), without a .part, resume or commit.
 */

/* Creates PATH.part, or opens it if IS_RESUMED; locks it until it is freed. ATTN_IO if another
 * process has locked it, if it exists and is not resumed, or if PATH must not be written. */
enum attn_status attn_part_open(const char *path, bool is_resumed, struct attn_sink **part,
                                struct attn_error *err);

/* Opens PATH, a file beside a part, with the same checks and errors; *IS_MADE: it was not there. */
enum attn_status attn_part_open_file(const char *path, unsigned access, bool is_resumed,
                                     int *descriptor, bool *is_made, struct attn_error *err);

/* Returns the path until the commit; of streams the final one. */
const char *attn_part_path(const struct attn_sink *part);

/* Truncates the part to SIZE bytes, where appending continues. Call before the first append.
 * ATTN_IO if it is shorter, or if it is a stream and SIZE is not 0. */
enum attn_status attn_part_cut(struct attn_sink *part, uint64_t size, struct attn_error *err);

/* Reads SIZE existing bytes at OFFSET. Not for streams. */
enum attn_status attn_part_read_at(const struct attn_sink *part, uint64_t offset, void *bytes,
                                   size_t size, struct attn_error *err);

/* Writes out all appended bytes. */
enum attn_status attn_part_flush(struct attn_sink *part, struct attn_error *err);

/* Flushes the part like attn_part_flush, and reports the last failure that closing could report. No
 * more bytes may be appended. */
enum attn_status attn_part_finish(struct attn_sink *part, struct attn_error *err);

/* Renames a finished part to its target. */
enum attn_status attn_part_commit(struct attn_sink *part, struct attn_error *err);

/* Removes a part whose bytes became part of another file. */
enum attn_status attn_part_remove(const struct attn_sink *part, struct attn_error *err);

/* Frees the part, and removes a .part that attn_part_open created. NULL is allowed. */
void attn_part_discard(struct attn_sink *part);

/* Creates a file NAME in DIRECTORY, which no user named: replaces only regular files, and does not
 * follow links. */
enum attn_status attn_sink_create_file_in(const char *directory, const char *name,
                                          struct attn_sink **sink, struct attn_error *err);
