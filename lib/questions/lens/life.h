/*
 * life.h - the life of a position: what each layer knows of its answer, and what heads and MLPs add
 * to it there. Data of `figure life`.
 *
 *     struct attn_table *tokens, *parts;
 *     attn_life(host, &request, NULL, &tokens, &parts, &err);
 *     struct attn_table_picture picture = {.lens = tokens, .life = parts};
 *
 * The tokens are those of a lens (lens.h), the parts direct logit attribution (attribute.h): they
 * add up to the logit, as the scale of the final norm stays as it is in the run.
 */
#ifndef ATTN_LENS_LIFE_H
#define ATTN_LENS_LIFE_H

#include "lens/lens.h"

/*
 * Reads the one query of REQUEST (NULL: the last position). ARGS may be NULL; its answer may have a
 * target and a foil. Without a target it is the model's own answer, the most probable token.
 * *tokens is the table of attn_lens with the best token of each reading. *parts has the columns
 *
 *     part, layer, head, key, token, value
 *
 * and if REQUEST has edits `unchanged`, the value without them. A head that reads a key only
 * without the edits has the value 0. The rows are, in the unit of the logit:
 *
 *     head     what a head brings from a key, whose token is `token`; the largest first
 *     mlp      the output of the MLP of a layer
 *     rest     what else the layer adds, biases for example; without a layer, the embedding,
 *              positions and the biases after the last layer
 *     sum      of all these rows
 *
 * The caller owns both tables. Errors have a stage; those of attn_attribute are possible, and
 * ATTN_INVALID for several queries, for models with two stacks, and for items, layers, sites and
 * other fields that have no effect.
 */
ATTN_API enum attn_status attn_life(struct attn_host *host, const struct attn_request *request,
                                    const struct attn_lens_args *args, struct attn_table **tokens,
                                    struct attn_table **parts, struct attn_error *err);

#endif
