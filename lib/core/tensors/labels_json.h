/* labels_json.h - writes parts of a run as JSON: rows, options, tokens, predictions. Each function
 * appends one value. PRECISION is as in attn_number_text; NaN and infinity are null. */
#pragma once

#include "formats/json_writer.h"
#include "tensors/arrays.h"
#include "tensors/output.h"

/* Appends {"heads": "0.1","sites": "z"}. */
void attn_json_append_options(struct attn_buffer *out, const struct attn_labels *labels);

/* Appends ["The"," keys"], the TOKENS [n] of SIZES [n] bytes; null if TOKENS is NULL. */
void attn_json_append_tokens(struct attn_buffer *out, const char *const *tokens,
                             const size_t *sizes, size_t n);

/* Append [804,5] and [[0,3],[3,8]]: the ids and the offsets of the N positions of a run; null if
 * unknown. */
void attn_json_append_ids(struct attn_buffer *out, const struct attn_labels *run, size_t n);
void attn_json_append_offsets(struct attn_buffer *out, const struct attn_labels *run, size_t n);

/* Appends {"top": [{"id": 5, "token": " it", "prob": 0.25}],"next": [{"text": "a",
 * "log_prob": -1}]}. HAS_LINES: one entry per line. */
void attn_json_append_predictions(struct attn_buffer *out,
                                  const struct attn_predictions *predictions, int precision,
                                  bool has_lines);

/* Writes a small ARRAY that lists the queries or heads in other arrays, as a member: NAME and
 * [0,4]. Other small arrays are skipped, because they have fields of their own. */
void attn_json_push_narrowed(struct attn_json_writer *json, const struct attn_array *array);

/* The first begins ROW of GROUP of ARRAY, whose numbers are appended next; a group is a head, or a
 * position if heads are grouped. The second ends all rows. */
void attn_json_begin_row(struct attn_json_writer *json, const struct attn_array *array,
                         size_t group, size_t row);
void attn_json_end_rows(struct attn_json_writer *json, const struct attn_array *array);
