/* answer_lines.h - the parts of an answer (heads/answer_heads.h) as lines of a terminal. */
#ifndef ATTN_TERMINAL_ANSWER_LINES_H
#define ATTN_TERMINAL_ANSWER_LINES_H

#include "tables/table.h"

struct attn_sink; /* base/sink.h */

/* Writes the question and its value, "to -> Mary instead of John: 6.1 logits" or "to -> are: 9.3
 * above the mean logit", and the first columns of TABLE, that of attn_answer_heads, in at most
 * WIDTH columns; 0: in as many as it has. */
ATTN_API enum attn_status attn_answer_lines(const struct attn_table *table, size_t width,
                                            struct attn_sink *sink, struct attn_error *err);

#endif
