/*
 * answer_heads.h - the heads that make the next token: what each of the largest eight writes of the
 * first token over another, and where it looks.
 *
 *     attn_answer_heads(host, &request, &table, &picture, &err);
 *     attn_table_picture_write(table, &picture, &options, &output, &err);
 *
 * The target is the most probable token, the foil the most probable other word of the text, if it
 * has a thousandth of the probability of the target, else the second token. They come after the
 * query of REQUEST, or after the last token. Rows, the heads with the largest |share| first:
 *
 *     part, share, value, position, token, weight
 *
 *     2.5            a head; the position at which it looks hardest beside parks, with its token
 *                    and weight
 *     MLPs, embedding, other heads      the sums of all MLPs, of the rest, and of other heads
 *
 * The value is what a part writes of logit(target) - logit(foil) (attribute/attribute.h), the share
 * that of the sum, in whole percent. They add up to 1: that of other heads has what the rounding
 * leaves. Facts about the table are `target`, `foil` and `sum`, that of the values.
 */
#ifndef ATTN_CIRCUIT_ANSWER_HEADS_H
#define ATTN_CIRCUIT_ANSWER_HEADS_H

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
