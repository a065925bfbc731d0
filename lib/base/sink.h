/*
 * sink.h - destinations of bytes. The first failure sticks, so writers append freely and check
 * once, at the end.
 *
 *     struct attn_sink *sink;
 *     attn_sink_create_file("out.npz", &sink, &err);
 *     attn_sink_write(sink, bytes, n);
 *     status = attn_sink_commit(sink, &err);   // flush, close, rename: the file appears whole
 *     attn_sink_free(sink);                    // without a commit: nothing appears
 *
 * A file is written under a temporary name beside its target (`.attn-XXXXXX.tmp`, exclusive, not
 * followed, with the mode of umask or of the file it replaces) and renamed by the commit. A target
 * that is not a regular file (a FIFO, a device) is written directly, one of our descriptors
 * (/dev/stdout, /dev/fd/N) through a copy. Symbolic links are resolved. Read-only files are
 * refused, and files and links that another user may have planted in a world-writable folder
 * (base/path.h).
 */
#ifndef ATTN_BASE_SINK_H
#define ATTN_BASE_SINK_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attn_sink;

ATTN_API enum attn_status attn_sink_create_file(const char *path, struct attn_sink **sink,
                                                struct attn_error *err);

/* Writes to an open descriptor, which stays open; NAME is for messages ("standard output"). */
ATTN_API enum attn_status attn_sink_create_descriptor(int descriptor, const char *name,
                                                      struct attn_sink **sink,
                                                      struct attn_error *err);

/* Collects bytes in memory (tests, embedding hosts); read them with attn_sink_bytes. */
ATTN_API enum attn_status attn_sink_create_memory(struct attn_sink **sink, struct attn_error *err);

/* Appends SIZE bytes. No effect after a failure; after the commit of a file it is a failure. */
ATTN_API void attn_sink_write(struct attn_sink *sink, const void *bytes, size_t size);

/* Memory sinks: the bytes, borrowed until the next write. NULL of others. */
ATTN_API const void *attn_sink_bytes(const struct attn_sink *sink, size_t *size);

/* Flushes, closes, renames. Reports the failure that stuck; the target is as it was then. */
ATTN_API enum attn_status attn_sink_commit(struct attn_sink *sink, struct attn_error *err);

/* Frees; a file that was not committed is removed. NULL is allowed. */
ATTN_API void attn_sink_free(struct attn_sink *sink);

#endif
