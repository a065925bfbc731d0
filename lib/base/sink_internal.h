/* sink_internal.h - what sink.h declares for the library alone. */
#ifndef ATTN_BASE_SINK_INTERNAL_H
#define ATTN_BASE_SINK_INTERNAL_H

#include "base/sink.h"

/* The number of PATH if it names one of our own descriptors (/dev/stdout, /dev/fd/N), else -1. */
int attn_sink_own_descriptor(const char *path);

/* The same for the name of DIRECTORY, which was made. */
enum attn_status attn_sink_sync_parent(const char *directory, struct attn_error *err);

/* Whether attn_sink_write_at works: files and memory do, pipes do not. */
bool attn_sink_is_seekable(const struct attn_sink *sink);

/* Writes what has been appended so far out, as for a reader who waits for it. */
void attn_sink_flush(struct attn_sink *sink);

/* Writes SIZE bytes at OFFSET from the beginning, past the end too; the place for appending is not
 * moved. */
void attn_sink_write_at(struct attn_sink *sink, uint64_t offset, const void *bytes, size_t size);

/* Bytes appended so far. */
uint64_t attn_sink_position(const struct attn_sink *sink);

/* ATTN_OK, or the failure that stuck. */
enum attn_status attn_sink_check(const struct attn_sink *sink, struct attn_error *err);

/* Whether the reader of a pipe went away: for a tool that is no error. */
bool attn_sink_is_closed_pipe(const struct attn_sink *sink);

#endif
