/*
 * json_string.h - appends a JSON string: UTF-8 as it is, quotes, backslashes and control characters
 * escaped.
 */
#ifndef ATTN_BASE_JSON_STRING_H
#define ATTN_BASE_JSON_STRING_H

#include "base/buffer.h"

/* TEXT [size bytes] must be UTF-8. */
void attn_json_append_string(struct attn_buffer *out, const char *text, size_t size);

#endif
