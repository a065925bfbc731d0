/*
 * head_types.h - the types of heads that a model brings along. They are those of texts that the
 * model wrote itself, the table of `attn-cli probe texts` as JSON: a part of a model, heads.json,
 * which lies beside its weights or is built in.
 *
 *     attn_head_types_read(model, NULL, &types, &err);
 *     const struct attn_head_type *type = attn_head_types_find(types, &at);
 *     attn_head_types_free(types);
 */
#ifndef ATTN_MEASURES_HEAD_TYPES_H
#define ATTN_MEASURES_HEAD_TYPES_H

#include "measures/head_kind.h"
#include "model/model.h"

struct attn_head_types;

/* Reads the types of MODEL, from GIVEN if that is not NULL. Sets *types to NULL if there are none
 * for the weights as they are, or if they cannot be read: the only failure is ATTN_NO_MEMORY. */
enum attn_status attn_head_types_read(const struct attn_model *model, const struct attn_blob *given,
                                      struct attn_head_types **types, struct attn_error *err);
void attn_head_types_free(struct attn_head_types *types); /* NULL is allowed */

/* Whether MODEL brings types along. */
bool attn_head_types_are_of(const struct attn_model *model);

/* Returns the type of the head AT; NULL if TYPES, which may be NULL, have none. */
const struct attn_head_type *attn_head_types_find(const struct attn_head_types *types,
                                                  const struct attn_location *at);

#endif
