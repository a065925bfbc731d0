/*
 * sink.h - destinations for bytes. The first failure is stored, so writers can append freely and
 * check once, at the end.
 *
 *     struct attn_sink *sink;
 *     attn_sink_create_file("out.npz", &sink, &err);
 *     attn_sink_write(sink, bytes, n);
 *     status = attn_sink_commit(sink, &err);   // flush, close, rename: the complete file appears
 *     attn_sink_free(sink);                    // without a commit, no file appears
 *
 * A file is written under a temporary name beside its target (`.attn-XXXXXX.tmp`, opened
 * exclusively, links not followed, with the mode of the file that it replaces, or by umask) and
 * renamed by the commit. A target that is not a regular file (a FIFO, a device) is written
 * directly; one of our descriptors (/dev/stdout, /dev/fd/N) is written through a copy. Symbolic
 * links are resolved. Read-only files are errors, and so are files and links that another user may
 * have planted in a world-writable folder (base/text/path.h).
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

/* Creates a sink for an open descriptor, which stays open. NAME is for messages ("standard
 * output"). */
ATTN_API enum attn_status attn_sink_create_descriptor(int descriptor, const char *name,
                                                      struct attn_sink **sink,
                                                      struct attn_error *err);

/* Creates a sink that collects bytes in memory; read them with attn_sink_bytes. */
ATTN_API enum attn_status attn_sink_create_memory(struct attn_sink **sink, struct attn_error *err);

/* Appends SIZE bytes. No effect after a failure; after the commit of a file it is a failure. */
ATTN_API void attn_sink_write(struct attn_sink *sink, const void *bytes, size_t size);

/* Returns the bytes of a memory sink, borrowed until the next write. NULL for other sinks. */
ATTN_API const void *attn_sink_bytes(const struct attn_sink *sink, size_t *size);

/* Flushes, closes and renames the file. Returns the first failure; the target is then not
 * changed. */
ATTN_API enum attn_status attn_sink_commit(struct attn_sink *sink, struct attn_error *err);

/* Frees the sink; a file that was not committed is removed. NULL is allowed. */
ATTN_API void attn_sink_free(struct attn_sink *sink);

#endif
