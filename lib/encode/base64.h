/*
 * base64.h - bytes as base64 (RFC 4648, section 4), for data inside documents.
 */
#ifndef ATTN_ENCODE_BASE64_H
#define ATTN_ENCODE_BASE64_H

#include "base/buffer.h"

/* Appends BYTES [n] to OUT, padded with '=' unless N is a multiple of 3. */
void attn_base64_append(struct attn_buffer *out, const void *bytes, size_t n);

#endif
