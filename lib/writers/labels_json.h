/* labels_json.h - parts of a run as JSON: rows, options, tokens, predictions. Each function appends
 * one value. PRECISION is as in attn_number_text; NaN and infinity are null. */
#ifndef ATTN_WRITERS_LABELS_JSON_H
#define ATTN_WRITERS_LABELS_JSON_H

#include "base/buffer.h"
#include "writers/output.h"

/* {"heads": "0.1","sites": "z"} */
void attn_json_append_options(struct attn_buffer *out, const struct attn_labels *labels);

/* ["The"," keys"] of TOKENS [n] of SIZES [n] bytes; null where TOKENS is NULL. */
void attn_json_append_tokens(struct attn_buffer *out, const char *const *tokens,
                             const size_t *sizes, size_t n);

/* [804,5], and [[0,3],[3,8]]: the ids and offsets of the N positions of a run, or null. */
void attn_json_append_ids(struct attn_buffer *out, const struct attn_labels *run, size_t n);
void attn_json_append_offsets(struct attn_buffer *out, const struct attn_labels *run, size_t n);

/* {"top": [{"id": 5, "token": " it", "probability": 0.25}],"next": [{"text": "a", "logprob": -1}]},
 * with HAS_LINES one entry per line. */
void attn_json_append_predictions(struct attn_buffer *out,
                                  const struct attn_predictions *predictions, int precision,
                                  bool has_lines);

#endif
