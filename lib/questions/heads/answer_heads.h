/*
 * answer_heads.h - what makes the answer: what each of the largest eight heads writes of a
 * question, what the question loses without it, and where it looks.
 *
 * The question of REQUEST is its `predict.answer`: a position, a target and a foil. Its value is
 * logit(target) - logit(foil) after the position; the foil "" is nothing, with the mean of all
 * logits. The default position is the query of REQUEST, or the last; the target the first next word
 * that is no special token; the foil a word of the text that could stand there (answer_foil.h), or
 * nothing. Rows, the heads with the largest |writes| first:
 *
 *     part: 2.5, a head; then MLPs, embedding (with biases), other heads: sums of all not above
 *     writes: what the part adds to the value directly (attribute/attribute.h), in logits
 *     missing: what the value loses if the head is switched off (ablate/ablate.h), in logits,
 *         with ATTN_ANSWER_MISSING, unless its runs would take more than about two seconds
 *     position, token, weight: where the head looks hardest beside parks
 *     type: its kind
 *     writes_target, writes_foil: what the part adds to each of the two logits, against the mean of
 *         all; `writes` is their difference. With ATTN_ANSWER_SIDES and a foil
 *     unchanged: with edits of the request, what the part writes without them. Heads are chosen and
 *         placed by the run without edits, whose default question is asked
 *
 * `writes` adds up to `sum`. Facts about the table are target, foil, position, token and sum.
 */
#ifndef ATTN_HEADS_ANSWER_HEADS_H
#define ATTN_HEADS_ANSWER_HEADS_H

#include "figures/table_picture.h"

struct attn_host;
struct attn_request;

/* What more is computed. */
enum { ATTN_ANSWER_SIDES = 1, ATTN_ANSWER_MISSING = 2 };

/* Makes the table of the text of REQUEST, with MORE of ATTN_ANSWER_SIDES and _MISSING, which the
 * caller frees, and PICTURE, which borrows from HOST and REQUEST. Errors have a stage: ATTN_INVALID
 * for models without a next token. */
ATTN_API enum attn_status attn_answer_heads(struct attn_host *host,
                                            const struct attn_request *request, unsigned more,
                                            struct attn_table **table,
                                            struct attn_table_picture *picture,
                                            struct attn_error *err);

#endif
