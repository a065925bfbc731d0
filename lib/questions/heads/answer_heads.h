/*
 * answer_heads.h - the heads that make the next token: what each of the largest eight writes of the
 * first token over another, and where it looks.
 *
 * The target is the most probable token, the foil the most probable other word of the text, if it
 * has a thousandth of the probability of the target, else the second token. They come after the
 * query of REQUEST, or after the last token. Rows, the heads with the largest |share| first:
 *
 *     part: 2.5, a head; then MLPs, embedding, other heads, sums of all that are not above
 *     share, value; position, token, weight: where a head looks hardest beside parks
 *
 * The value is what a part writes of logit(target) - logit(foil) (attribute/attribute.h), the share
 * that of the sum, in whole percent. They add up to 1: that of other heads has what the rounding
 * leaves. Facts about the table are `target`, `foil` and `sum`, that of the values.
 */
#ifndef ATTN_HEADS_ANSWER_HEADS_H
#define ATTN_HEADS_ANSWER_HEADS_H

#include "figures/table_picture.h"

struct attn_host;
struct attn_request;

/* Makes the table of the text of REQUEST, which the caller frees, and PICTURE, which borrows from
 * HOST and REQUEST. Errors have a stage: ATTN_INVALID for models without a next token. */
ATTN_API enum attn_status attn_answer_heads(struct attn_host *host,
                                            const struct attn_request *request,
                                            struct attn_table **table,
                                            struct attn_table_picture *picture,
                                            struct attn_error *err);

#endif
