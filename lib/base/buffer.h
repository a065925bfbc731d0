/* buffer.h - bytes that grow. The first failure sticks: append freely and check once at the end. */
#ifndef ATTN_BASE_BUFFER_H
#define ATTN_BASE_BUFFER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Initialize with = {0}; end with attn_buffer_release. */
struct attn_buffer {
    char *data;      /* owns; NULL before the first append; terminated by attn_buffer_string */
    size_t size;     /* bytes in use */
    size_t capacity; /* bytes at data */
    bool has_failed; /* an allocation failed; further appends have no effect */
};

void attn_buffer_append(struct attn_buffer *buffer, const void *bytes, size_t size);
void attn_buffer_append_string(struct attn_buffer *buffer, const char *text);
void attn_buffer_append_char(struct attn_buffer *buffer, char c);
void attn_buffer_append_integer(struct attn_buffer *buffer, int64_t number); /* in decimal */
void attn_buffer_append_format(struct attn_buffer *buffer, const char *format, ...)
    ATTN_PRINTF(2, 3);

/* Room for SIZE more bytes; returns where they go (size is not changed) or NULL. */
char *attn_buffer_reserve(struct attn_buffer *buffer, size_t size);

/* ATTN_OK, or the sticky failure reported in err. */
enum attn_status attn_buffer_check(const struct attn_buffer *buffer, struct attn_error *err);

/* Terminates the bytes with an uncounted NUL; NULL after a failure. Valid until the next append. */
const char *attn_buffer_string(struct attn_buffer *buffer);

/* The terminated bytes, which the caller owns from here on; NULL after a failure, with err set.
 * Releases the buffer in either case. */
char *attn_buffer_take(struct attn_buffer *buffer, struct attn_error *err);

/* Empties, keeps the memory, clears a failure. */
void attn_buffer_reset(struct attn_buffer *buffer);
void attn_buffer_release(struct attn_buffer *buffer); /* frees and zeroes */

#endif
