/*
 * attribute_generated.h - attributions of a generated text: each of its tokens is a target in turn.
 *
 *     attn_attribute_continue(host, &request, 5, NULL, &made, &err);
 *     args.n_target = made.n; // of a request whose input is made.ids
 *     attn_attribute(host, &of_ids, &args, &table, &err);
 *     attn_attribute_matrix(table, &matrix, &err);
 *     attn_generation_release(&made);
 */
#ifndef ATTN_ATTRIBUTE_ATTRIBUTE_GENERATED_H
#define ATTN_ATTRIBUTE_ATTRIBUTE_GENERATED_H

#include "attribute/attribute.h"
#include "score/generate.h"

/* Converts TABLE, which has several targets, to a matrix: one row per target, with the columns
 * `step` and `target`, then a column for each token of the source, "source:0|The", and of the text,
 * "3|eat", then one for each other part. The caller owns *matrix. */
ATTN_API enum attn_status attn_attribute_matrix(const struct attn_table *table,
                                                struct attn_table **matrix, struct attn_error *err);

/* Appends a continuation to the text of REQUEST: the tokens of CONTINUATION or, if it is NULL, up
 * to N_MOST greedily generated tokens. Sets ids, n_prompt and n of MADE, for a request of these ids
 * with n_target = n. The caller releases MADE (score/generate.h). ATTN_INVALID if the
 * continuation is empty. */
ATTN_API enum attn_status attn_attribute_continue(struct attn_host *host,
                                                  const struct attn_request *request, size_t n_most,
                                                  const char *continuation,
                                                  struct attn_generation *made,
                                                  struct attn_error *err);

#endif
