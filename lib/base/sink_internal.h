/* sink_internal.h - declarations that only the library uses; and parts, which are resumable
 * files. */
#ifndef ATTN_BASE_SINK_INTERNAL_H
#define ATTN_BASE_SINK_INTERNAL_H

#include "base/sink.h"

/* As attn_sink_sync_name, for DIRECTORY, which was created. */
enum attn_status attn_sink_sync_parent(const char *directory, struct attn_error *err);

/* Whether attn_sink_write_at works: files and memory do, pipes do not. */
bool attn_sink_is_seekable(const struct attn_sink *sink);

/* Writes out all appended bytes, for a reader that waits for them. */
void attn_sink_flush(struct attn_sink *sink);

/* Writes SIZE bytes at OFFSET, past the end too; the place for appending does not move. */
void attn_sink_write_at(struct attn_sink *sink, uint64_t offset, const void *bytes, size_t size);

/* Bytes appended so far. */
uint64_t attn_sink_position(const struct attn_sink *sink);

/* ATTN_OK, or the failure that stuck. */
enum attn_status attn_sink_check(const struct attn_sink *sink, struct attn_error *err);

/* Whether the reader of a pipe went away: for a tool that is no error. */
bool attn_sink_is_closed_pipe(const struct attn_sink *sink);

/*
 * A part is the sink of a file that grows over hours and gets its name only when it is complete.
 * Until then it is `NAME.part` in the same folder, survives any failure, and can be resumed.
 *
 *     struct attn_sink *part;
 *     attn_part_open("results.jsonl", false, &part, &err); // results.jsonl.part, locked
 *     attn_sink_write(part, line, n);
 *     attn_part_flush(part, false, &err);                  // readers see the appended bytes
 *     attn_part_finish(part, &err);                        // all of it is written
 *     attn_part_commit(part, &err);                        // results.jsonl
 *     attn_sink_free(part);                                // not committed: the .part stays
 *
 * Names are resolved as for other sinks: links are followed, and a target that is not a regular
 * file is written directly (attn_sink_is_seekable is false), without a .part, resume or commit.
 */

/* Makes PATH.part, or opens it if IS_RESUMED; locks it until it is freed. ATTN_IO if another
 * process has locked it, if it exists and is not resumed, and if PATH may not be written. */
enum attn_status attn_part_open(const char *path, bool is_resumed, struct attn_sink **part,
                                struct attn_error *err);

/* The final name, and the name until the commit; both are equal for streams. */
const char *attn_part_target(const struct attn_sink *part);
const char *attn_part_path(const struct attn_sink *part);

/* Cuts it to SIZE bytes; appending continues there. Before the first append. ATTN_IO when it has
 * fewer, or is a stream and SIZE is not 0. */
enum attn_status attn_part_cut(struct attn_sink *part, uint64_t size, struct attn_error *err);

/* Puts bytes where some were appended before. Not for streams. */
enum attn_status attn_part_write_at(struct attn_sink *part, uint64_t offset, const void *bytes,
                                    size_t size, struct attn_error *err);

/* Reads SIZE bytes at OFFSET, which are there. Not for streams. */
enum attn_status attn_part_read_at(const struct attn_sink *part, uint64_t offset, void *bytes,
                                   size_t size, struct attn_error *err);

/* Writes out all appended bytes; IS_SYNCED waits until the device has them, and the name. */
enum attn_status attn_part_flush(struct attn_sink *part, bool is_synced, struct attn_error *err);

/* The same, and the last failure that closing could report. No more bytes come. */
enum attn_status attn_part_finish(struct attn_sink *part, bool is_synced, struct attn_error *err);

/* Renames a finished part to its target; after a sync, waits until the device has the name. */
enum attn_status attn_part_commit(struct attn_sink *part, struct attn_error *err);

/* Removes a part that has become part of another. */
enum attn_status attn_part_remove(const struct attn_sink *part, struct attn_error *err);

/* Frees, and removes a .part that _open made; NULL is allowed. */
void attn_part_discard(struct attn_sink *part);

/* A file NAME in DIRECTORY, which no user named: replaces only regular files, follows no link. */
enum attn_status attn_sink_create_file_in(const char *directory, const char *name,
                                          struct attn_sink **sink, struct attn_error *err);

/* Makes the commit wait until the device has the file and, after the rename, its name, so that both
 * survive a power failure; otherwise the previous file or an empty one may be left. No effect on
 * targets that are written directly. */
void attn_sink_sync(struct attn_sink *sink);

/* Waits until the device has the name of PATH, a file that was made or renamed otherwise. */
enum attn_status attn_sink_sync_name(const char *path, struct attn_error *err);

#endif
