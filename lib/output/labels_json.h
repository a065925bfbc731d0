/*
 * labels_json.h - what labels hold as JSON: texts that are escaped as everywhere (base/escape.h),
 * the options of a run, its tokens. Lack of memory stays in the buffer.
 */
#ifndef ATTN_OUTPUT_LABELS_JSON_H
#define ATTN_OUTPUT_LABELS_JSON_H

#include "output/token_text.h"

/* A string of any bytes [size]; NULL is null. */
void attn_json_append_escaped(struct attn_buffer *out, const char *bytes, size_t size);

/* {"heads": "0.1","sites": "z"} */
void attn_json_append_options(struct attn_buffer *out, const struct attn_labels *labels);

/* ["The"," keys"], or null when there are no tokens. */
void attn_json_append_tokens(struct attn_buffer *out, const struct attn_token_texts *texts);

#endif
