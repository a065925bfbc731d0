#include "base/buffer.h"

#include "base/memory.h"
#include "base/status_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

char *attn_buffer_reserve(struct attn_buffer *buffer, size_t size)
{
    size_t need;

    if (buffer->has_failed)
        return NULL;
    if (buffer->data && size <= buffer->capacity - buffer->size)
        return buffer->data + buffer->size;
    if (!attn_checked_add(buffer->size, size, &need) ||
        attn_grow(&buffer->data, &buffer->capacity, need > 0 ? need : 1, 1, NULL) != ATTN_OK) {
        buffer->has_failed = true;
        return NULL;
    }
    return buffer->data + buffer->size;
}

void attn_buffer_append(struct attn_buffer *buffer, const void *bytes, size_t size)
{
    char *out = attn_buffer_reserve(buffer, size);

    if (!out || size == 0) /* BYTES may be NULL then */
        return;
    memcpy(out, bytes, size);
    buffer->size += size;
}

void attn_buffer_append_string(struct attn_buffer *buffer, const char *text)
{
    attn_buffer_append(buffer, text, strlen(text));
}

void attn_buffer_append_char(struct attn_buffer *buffer, char c)
{
    attn_buffer_append(buffer, &c, 1);
}

void attn_buffer_append_integer(struct attn_buffer *buffer, int64_t number)
{
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    char text[20]; /* "-9223372036854775808" */
    size_t at = sizeof text;

    do {
        text[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0)
        text[--at] = '-';
    attn_buffer_append(buffer, text + at, sizeof text - at);
}

void attn_buffer_append_format(struct attn_buffer *buffer, const char *format, ...)
{
    va_list args, again;
    int length;
    char *out;

    va_start(args, format);
    va_copy(again, args);
    length = vsnprintf(NULL, 0, format, args);
    out = length < 0 ? NULL : attn_buffer_reserve(buffer, (size_t)length + 1);
    if (out) {
        vsnprintf(out, (size_t)length + 1, format, again);
        buffer->size += (size_t)length;
    } else {
        buffer->has_failed = true;
    }
    va_end(again);
    va_end(args);
}

enum attn_status attn_buffer_check(const struct attn_buffer *buffer, struct attn_error *err)
{
    return buffer->has_failed ? attn_error_no_memory(err) : ATTN_OK;
}

const char *attn_buffer_string(struct attn_buffer *buffer)
{
    char *end = attn_buffer_reserve(buffer, 1);

    if (!end)
        return NULL;
    *end = '\0';
    return buffer->data;
}

char *attn_buffer_take(struct attn_buffer *buffer, struct attn_error *err)
{
    char *text = NULL;

    if (attn_buffer_string(buffer)) {
        text = buffer->data;
        buffer->data = NULL;
    } else {
        attn_error_no_memory(err);
    }
    attn_buffer_release(buffer);
    return text;
}

void attn_buffer_reset(struct attn_buffer *buffer)
{
    buffer->size = 0;
    buffer->has_failed = false;
}

void attn_buffer_release(struct attn_buffer *buffer)
{
    attn_free(buffer->data);
    *buffer = (struct attn_buffer){0};
}
