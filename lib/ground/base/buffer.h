/* buffer.h - bytes that grow. The first failure sticks: append freely and check once at the end. */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Initialize with = {0}; end with attn_buffer_release. */
struct attn_buffer {
    char *data; /* owns; NULL before the first append; null-terminated only by attn_buffer_string */
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

/* Returns memory for SIZE more bytes, without changing the buffer's size; NULL on failure. */
char *attn_buffer_reserve(struct attn_buffer *buffer, size_t size);

/* Returns ATTN_OK, or the sticky failure, which is then set in ERR. */
enum attn_status attn_buffer_check(const struct attn_buffer *buffer, struct attn_error *err);

/* Appends an uncounted NUL and returns the bytes, valid until the next append; NULL after a
 * failure. */
const char *attn_buffer_string(struct attn_buffer *buffer);

/* Returns the null-terminated bytes, owned by the caller; NULL after a failure, with ERR set.
 * Releases the buffer in both cases. */
char *attn_buffer_take(struct attn_buffer *buffer, struct attn_error *err);

/* Empties the buffer and clears a failure; keeps the memory. */
void attn_buffer_reset(struct attn_buffer *buffer);
void attn_buffer_release(struct attn_buffer *buffer); /* frees and zeroes */
